/* SPDX-License-Identifier: MIT */
/*
 * Streams by the time of their next event: a heap with the earliest on top, or, while there are
 * few, all of them in the order of those of the same instant. Hot: asked for each event.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live-read/reader-parts.h"

static inline bool comes_first(const struct stream *a, const struct stream *b)
{
	if (a->process->pid != b->process->pid)
		return a->process->pid < b->process->pid;
	if ((a->slot == SLOT_STATUS) != (b->slot == SLOT_STATUS))
		return a->slot == SLOT_STATUS;
	if (a->tid != b->tid)
		return a->tid < b->tid;
	return a->slot < b->slot;
}

static inline bool earlier(const struct waiting *a, const struct waiting *b)
{
	return a->time != b->time ? a->time < b->time : comes_first(a->stream, b->stream);
}

static inline void sift_down(struct waiting *v, size_t len, size_t at)
{
	struct waiting moved = v[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= len)
			break;
		if (child + 1 < len && earlier(&v[child + 1], &v[child]))
			child++;
		if (!earlier(&v[child], &moved))
			break;
		v[at] = v[child];
		at = child;
	}
	v[at] = moved;
}

/* Which is first changes with nearly every event, and no processor guesses it: no branch. A few lie
 * in the order of those of the same instant; behind them there is what is never first. Hot. */
static inline struct waiting *first_of(struct waiting *v, size_t nr)
{
	struct waiting *first = v;
	uint64_t time = v->time;

#pragma GCC unroll 8
	for (size_t i = 1; i < nr; i++) {
		first = v[i].time < time ? &v[i] : first;
		time = v[i].time < time ? v[i].time : time;
	}
	return first;
}

/* The earliest of all, when the time of the one that was has changed. */
static inline struct waiting *find_first(struct coati_live_reader *t)
{
	if (t->heap.len <= 4)
		return first_of(t->heap.v, 4);
	if (t->heap.len <= FEW)
		return first_of(t->heap.v, FEW);
	sift_down(t->heap.v, t->heap.len, 0);
	return t->heap.v;
}

static inline uint64_t next_time(const struct stream *s)
{
	return s->next < s->end ? s->next->time : s->time;
}

/* The next event of the one on top has another time. */
static inline void reorder(struct coati_live_reader *t, uint64_t time)
{
	t->heap.v[t->top].time = time;
	t->top = (size_t)(find_first(t) - t->heap.v);
}

/* A few are not sorted by time; a heap is made when there are more. -ENOMEM. */
int coati_trace_heap_put(struct coati_live_reader *t, struct stream *s);
/* The one on top leaves. */
void coati_trace_heap_pop(struct coati_live_reader *t);
