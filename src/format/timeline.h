/* SPDX-License-Identifier: MIT */
/*
 * The samples of an export by thread: those of each thread together and in order of time, the
 * threads by weight. Times count from the first sample on; where the recording has none, samples
 * are a millisecond apart, and a note says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "format/format.h"

#define TIMELINE_STEP_NS UINT64_C(1000000) /* between samples without a time */

struct timeline {
	struct format_input *in;
	uint32_t *order;   /* numbers of samples */
	size_t *first;	   /* by thread of the profile, and one more: its samples in @order */
	uint64_t *weights; /* by thread of the profile */
	uint32_t *threads; /* those that have samples, the heaviest first */
	uint32_t nr_threads;
	uint64_t start_ns; /* of the first sample or live event of the recording that has a time */
	bool has_times;
};

int coati_timeline_init(struct timeline *t, struct format_input *in, struct coati_error *err);
void coati_timeline_fini(struct timeline *t);

/* Since the first sample. @number: of the sample.  Hot. */
static inline uint64_t timeline_time_ns(const struct timeline *t, size_t number)
{
	uint64_t time = t->in->samples[number].time;

	if (!t->in->quality.first_time)
		return number * TIMELINE_STEP_NS;
	return time > t->start_ns ? time - t->start_ns : 0;
}

/* The same for what is no sample; 0 for what has no time. */
static inline uint64_t timeline_since_ns(const struct timeline *t, uint64_t time)
{
	return t->has_times && time > t->start_ns ? time - t->start_ns : 0;
}

/* A note, where samples have labels. */
void coati_timeline_say_labels(struct format_input *in, const char *format);

/* What was said so far, as the list "notes". */
void coati_timeline_put_notes(const struct format_input *in, struct json *j);

/* Which functions of the view occur in the samples: a number for each from 0 on, UINT32_MAX for
 * those that do not. Freed by the caller; NULL: out of memory. */
uint32_t *coati_timeline_functions(const struct timeline *t, uint32_t *ret_nr);
