/* SPDX-License-Identifier: MIT */
/* The course of coati trace: read, choose the view, write. And what its views have in common. */
#pragma once

#include "cli/output.h"
#include "cli/trace/args.h"
#include "live-read/check.h"
#include "trace/timeline.h"

struct trace {
	const struct trace_args *args;
	const struct option_texts *fail_if; /* conditions on the data quality */
	bool is_strict;			    /* faults of the recording are a failure */
	const char *input;		    /* for people */
	struct coati_timeline *timeline;
	struct coati_timeline_info info;
	uint64_t from, to; /* of the timeline's clock */
	struct output out;
};

/* The exit code. */
int coati_trace_session(const struct trace_args *args);

/* The views: the exit code. */
int coati_trace_summary(struct trace *t);
int coati_trace_task(struct trace *t, uint32_t task);
int coati_trace_tasks(struct trace *t, uint32_t type);
int coati_trace_thread(struct trace *t);
int coati_trace_blame(struct trace *t);
int coati_trace_events(struct trace *t);
int coati_trace_check(struct trace *t);
/* How many claims --check finds wrong. */
uint64_t coati_trace_count_wrong(struct trace *t);
