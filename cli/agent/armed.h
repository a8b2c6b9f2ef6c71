/* SPDX-License-Identifier: MIT */
/*
 * An armed agent: threads are traced all the time, into parts in memory of which the last are kept.
 * When a condition holds, what happened around that moment becomes a recording in the directory
 * "kept". Where tracing costs more than the budget allows, it is armed no more: then the past is in
 * the segments as samples, and tracing begins when the condition holds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>

#include "agent/window.h"
#include "cli/agent/conditions.h"
#include "cli/agent/folder.h"
#include "cli/record/live.h"
#include "cli/top/spool.h"

#define ARMED_CONDITIONS 16

struct agent_args;

struct armed {
	const struct agent_args *args;
	struct agent_condition conditions[ARMED_CONDITIONS];
	uint32_t nr;
	struct recent_tasks *tasks;
	struct coati_event_list *list;
	struct coati_capture *cap; /* NULL: not tracing */
	struct top_spool spool;
	const struct record_live *live; /* whose events the trace gets, too; NULL: none */
	bool had_past;			/* and was so when the condition held */
	bool has_past;			/* it is traced all the time */
	uint64_t begun_ns;		/* when tracing began */
	uint64_t fired_ns, until_ns;	/* the moment, and when the recording is over; 0: none */
	uint64_t since_ns;		/* when the slow call or task began, or the moment */
	char reason[256];
	uint64_t kept_ns[64];	    /* when recordings were kept, a ring */
	uint64_t kept, passed_over; /* recordings; moments over the limit per hour */
	struct folder folder;
	char path[4096]; /* of the directory */
};

int coati_armed_open(struct armed *a, const struct agent_args *args, struct coati_error *err);
void coati_armed_close(struct armed *a);
/* Write what the rings hold; after a negative result it is not armed any more. */
int coati_armed_drain(struct armed *a, struct coati_error *err);
/* About once a second: do conditions hold, is a recording over? 1: @ret is one that was kept. */
int coati_armed_look(struct armed *a, uint64_t now_ns, struct agent_kept *ret,
		     struct coati_error *err);
/* Begin again, unless a moment is being recorded: the past is forgotten. */
int coati_armed_restart(struct armed *a, struct coati_error *err);
/* Too expensive: trace no more until a condition holds. True: it was tracing. */
bool coati_armed_shrink(struct armed *a);
