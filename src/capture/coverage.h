/* SPDX-License-Identifier: MIT */
/*
 * How much of what an event counted has samples. In: the samples on their way into the recording,
 * and the counts of the events when a recording ends. Out: two sums for each event.
 *
 * A sampling event counts all the time, also where it takes no sample, and an inherited event adds
 * the counts of threads and children that ended to its own. So its count is the CPU time (of a
 * clock), or the number of cycles, of everything that was recorded, and costs nothing. It lacks
 * only what the kernel still does for a thread after it took the event away from it: 0.07 ms of the
 * 0.75 ms that wait4() reports for /bin/true. What is missing in the sum of the samples' periods
 * was not seen: a process that ends before its first period is over has no sample at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/event.h>

#include "base/map.h"

#define COVERAGE_NONE UINT32_MAX

struct coverage_event {
	uint64_t sampled, counted;		 /* since the capture was opened */
	uint64_t sampled_before, counted_before; /* as of the end of the last recording */
	uint64_t nr;				 /* of samples */
	uint64_t period;			 /* of each sample; 0: as the sample says */
	uint32_t period_at;			 /* there */
	bool is_followed;			 /* it takes samples that all stay */
	bool is_unknown;			 /* it could not be read */
};

struct coverage {
	struct coverage_event *v; /* one for each event; NULL: nothing is followed */
	uint32_t nr;
	struct map ids; /* to the number of the event */
};

/* Of a list of @nr events. -ENOMEM. */
int coati_coverage_init(struct coverage *w, uint32_t nr);
void coati_coverage_fini(struct coverage *w);
/* Event @event was opened with @attr and has this id. -ENOMEM. */
int coati_coverage_add(struct coverage *w, uint32_t event, uint64_t id,
		       const struct coati_attr *attr);
/* A sample with its header, of @size bytes, of any event.  Hot. */
void coati_coverage_sample(struct coverage *w, const uint8_t *sample, size_t size);
/* The counts are read again: the ids of each event one after the other. @value NULL: one of them
 * cannot be read. */
void coati_coverage_restart(struct coverage *w);
void coati_coverage_count(struct coverage *w, uint32_t event, const uint64_t *value);
/* A recording has ended, the next begins. */
void coati_coverage_next(struct coverage *w);
/* The event that tells best how much was seen: the first clock, else the first hardware event at a
 * rate, of those that are followed. @attrs: of all events. COVERAGE_NONE: none does. */
uint32_t coati_coverage_lead(const struct coverage *w, const struct coati_attr *attrs);
/* What a sample stands for on average; 0: not known. */
uint64_t coati_coverage_period(const struct coverage_event *e, const struct coati_attr *attr);
/* Does the event take samples only where it is asked to, but count everywhere? So do clocks. */
bool coati_coverage_is_clock(const struct coati_attr *attr);
bool coati_coverage_is_partial(const struct coati_attr *attr);
