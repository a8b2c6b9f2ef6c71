/* SPDX-License-Identifier: MIT */
/*
 * Samples of a page as they come in: columns of some bytes each, mostly those that the page will
 * have. A recording has millions of them, and a struct for each would take ten times the memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/columns.h"

/* One or more samples of a call path. The node is the stack in the profile as long as no view has
 * given it names; times are those of the recording until then. */
struct page_sample {
	uint64_t time, weight, count;
	uint32_t node, thread, event, labels;
	int32_t cpu;
};

#define TAKEN_HELD 128

struct taken {
	/* time: the first is put as 0, and all others as they are apart */
	struct column time, stack, thread, weight, count, event, labels, cpu;
	uint64_t first, begin, end; /* times: of the first that came, the first and the last */
	bool is_unordered;	    /* by time */
	uint32_t nr_held;	    /* that are not in the columns yet */
	struct page_sample held[TAKEN_HELD];
};

struct taken_reader {
	const struct taken *of;
	struct column_reader time, stack, thread, weight, count, event, labels, cpu;
	uint64_t left;
};

void coati_taken_init(struct taken *t);
void coati_taken_fini(struct taken *t);
/* All have come. 0, -ENOMEM, -E2BIG. */
int coati_taken_end(struct taken *t);
/* From the first that came to the last; nothing is put meanwhile. */
struct taken_reader coati_taken_read(const struct taken *t);
/* False: there are no more. */
bool coati_taken_next(struct taken_reader *r, struct page_sample *ret);

static inline uint64_t taken_count(const struct taken *t)
{
	return t->time.count + t->nr_held;
}

/* What is held goes into the columns: column by column, and not sample by sample, the numbers that
 * decide stay in registers. */
void coati_taken_flush(struct taken *t);

/* Where the next one is filled in, field by field: a copy of what was written just now would wait
 * for the stores. Hot. */
static inline struct page_sample *taken_slot(struct taken *t)
{
	return &t->held[t->nr_held];
}

/* It is filled in; @length: the time that it takes. Hot. */
static inline void taken_put(struct taken *t, uint64_t length)
{
	uint64_t time = t->held[t->nr_held].time, end = time + length;

	if (!taken_count(t))
		t->first = t->begin = t->time.last = time;
	t->begin = time < t->begin ? time : t->begin;
	t->end = end > t->end ? end : t->end;
	if (++t->nr_held == TAKEN_HELD)
		coati_taken_flush(t);
}
