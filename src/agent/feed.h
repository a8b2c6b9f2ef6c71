/* SPDX-License-Identifier: MIT */
/*
 * From a recording that is being made to what windows are built of: its samples, with the numbers
 * that the profile of that recording has for their stacks, threads and labels. A feed is about one
 * recording; live events of programs come a few seconds behind the samples that they are about, and
 * are shared by the feeds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>
#include <coati/trace.h>

#include "base/array.h"
#include "base/arena.h"
#include "base/map.h"
#include "reading/follow.h"
#include "reading/hooks.h"

/* A task that ended. */
struct agent_task_end {
	uint64_t time_ns, duration_ns;
	int32_t pid;
	const char *type;
};

/* What programs that link libcoati-live say. */
struct agent_live {
	struct coati_contexts *contexts;
	bool has_events; /* there were some */
	ARRAY(struct agent_task_end) tasks;
	struct map types; /* names of task types, each once */
	struct arena arena;
	uint64_t left_out; /* tasks over the ceiling */
	/* Called with each task that ended, may be NULL. */
	void (*on_task)(void *ctx, const struct agent_task_end *t);
	void *ctx;
};

int coati_agent_live_init(struct agent_live *l, struct coati_error *err);
void coati_agent_live_fini(struct agent_live *l);
/* All is known up to now: labels of before @before_ns are not needed any more. */
int coati_agent_live_trim(struct agent_live *l, uint64_t before_ns);

struct agent_feed {
	struct agent_live *live;
	struct coati_profile *profile;
	struct coati_follow *follow;
	ARRAY(struct coati_profile_sample) pending;
	uint64_t lost, throttled, refused; /* since the last window */
	uint64_t refused_before;	   /* by the profile */
};

struct agent_feed_opts {
	struct agent_live *live;
	struct coati_images *images;
	uint64_t begin_ns;
	uint64_t max_bytes;
};

/* Follow the recording in @fd, which is taken over. */
int coati_agent_feed_open(struct agent_feed *f, int fd, const struct agent_feed_opts *opts,
			  struct coati_error *err);
/* What is new. -ENOMEM, -EBADMSG. */
int coati_agent_feed_take(struct agent_feed *f);
/* The recording has all its records: the rest of it. */
int coati_agent_feed_end(struct agent_feed *f);
void coati_agent_feed_close(struct agent_feed *f);
