/* SPDX-License-Identifier: MIT */
/* The validator of live events. */
#pragma once

#include <stdint.h>

#include <coati/error.h>
#include <coati/trace.h>

/* Looks at events one by one with a memory of its own and says what cannot be: time that runs
 * backwards in a thread, regions and tasks that end without having begun, begin twice or end in
 * the wrong order, states that do not follow from each other, references to nothing. A trace that
 * has lost something is allowed to have gaps there, and only there. */
struct coati_trace_check;

struct coati_trace_finding {
	uint64_t event; /* number of the event, from 0 */
	uint64_t time;
	uint32_t pid, tid;
	char text[160]; /* a sentence */
};

int coati_trace_check_new(struct coati_trace_check **ret, struct coati_error *err);

void coati_trace_check_free(struct coati_trace_check **c);

/* 1: something is wrong, see *ret; 0: nothing; -ENOMEM, -E2BIG.  Hot. */
int coati_trace_check_event(struct coati_trace_check *c, const struct coati_trace_event *e,
			    struct coati_trace_finding *ret);

/* The same of some: how many of them are wrong; *ret tells of the first of those.  Hot. */
int coati_trace_check_events(struct coati_trace_check *c,
			     const struct coati_trace_event *const *events, uint32_t nr,
			     struct coati_trace_finding *ret);
