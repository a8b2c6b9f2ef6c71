/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of slow tasks: when a task of a program with a flight recorder took too long, what the
 * recorder holds becomes a recording in the directory "kept". The program takes no part in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "agent/feed.h"
#include "agent/window.h"
#include "cli/agent/folder.h"
#include "cli/record/live.h"

#define SLOW_RULES  16
#define SLOW_RECENT 64

struct agent_args;

struct slow_rule {
	char type[128]; /* of tasks; "*": all */
	uint64_t limit_ns;
};

struct slow_tasks {
	const struct agent_args *args;
	struct slow_rule rules[SLOW_RULES];
	uint32_t nr;
	/* the slowest task since the last look */
	bool is_due;
	struct agent_task_end worst;
	struct {
		uint64_t time_ns;
		int32_t pid;
	} kept[SLOW_RECENT]; /* a ring */
	uint64_t nr_kept, passed_over;
	struct folder folder;
	char path[4096], reason[256];
};

/* "TYPE > TIME". -EINVAL with a sentence. */
int coati_slow_parse(struct slow_rule *r, const char *text, struct coati_error *err);
int coati_slow_open(struct slow_tasks *s, const struct agent_args *args, struct coati_error *err);
void coati_slow_close(struct slow_tasks *s);
void coati_slow_task(struct slow_tasks *s, const struct agent_task_end *t);
/* About once a second. 1: @ret is a snapshot that was kept. */
int coati_slow_look(struct slow_tasks *s, const struct record_live *live, uint64_t now_ns,
		    struct agent_kept *ret, struct coati_error *err);
