/* SPDX-License-Identifier: MIT */
/*
 * The waiting entries are one array. When a round ends it is sorted by a natural merge sort, unless
 * its entries came in order; runs that are sorted already, as the records of one ring are, cost one
 * pass.
 */
#include "recording/order.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

#define FIRST_CAP 1024
/* Kept free in front of what waits, for the mark of each round: without room there it would have to
 * be sorted in, and all that waits with it. */
#define FRONT 16

void coati_order_init(struct order *o, size_t window_bytes)
{
	/* two arrays of them, which may be a third longer than what waits: not more than the window
	 * again */
	*o = (struct order){ .max_entries = window_bytes / (3 * sizeof(struct order_entry)) };
	if (o->max_entries < FIRST_CAP)
		o->max_entries = FIRST_CAP;
}

void coati_order_fini(struct order *o, struct chunk_pool *pool)
{
	for (size_t i = o->at; i < o->len; i++)
		coati_chunk_put(pool, o->v[i].chunk);
	coati_free(o->v);
	coati_free(o->scratch);
	*o = (struct order){ 0 };
}

/* At the end: first by moving what waits to the front. */
int coati_order_grow(struct order *o)
{
	struct order_entry *v;
	size_t cap;

	if (o->at > FRONT && o->at > o->len / 4) {
		size_t by = o->at - FRONT;

		memmove(o->v + FRONT, o->v + o->at, (o->len - o->at) * sizeof(*o->v));
		o->len -= by;
		o->ready -= by;
		o->at = FRONT;
	}
	if (o->len < o->cap)
		return 0;
	cap = o->cap ? o->cap * 2 : FIRST_CAP;
	v = coati_realloc_array(o->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->v = v;
	v = coati_realloc_array(o->scratch, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->scratch = v;
	o->cap = cap;
	return 0;
}

/* Where one without a time comes ahead of all that waits, and there is room in front: the mark of a
 * round is such a record, and need not make the round unsorted. NULL: it must be sorted in. */
static struct order_entry *take_front(struct order *o)
{
	if (o->file_order || o->at != o->ready || !o->at || o->at == o->len || o->is_unsorted ||
	    o->v[o->at].time <= o->delivered)
		return NULL;
	o->ready--;
	return &o->v[--o->at];
}

int coati_order_add_timeless(struct order *o, const struct order_entry *e)
{
	struct order_entry *slot = take_front(o);
	struct order_entry own = *e;

	own.time = o->delivered;
	own.flags |= ORDER_BORROWED;
	if (slot) {
		*slot = own;
		return 0;
	}
	if (o->len == o->cap && coati_order_grow(o) < 0)
		return -ENOMEM;
	order_append(o, &own);
	return 0;
}

/* End of the run that starts at @i: entries whose times do not fall. */
static size_t run_end(const struct order_entry *v, size_t i, size_t len)
{
	while (++i < len && v[i - 1].time <= v[i].time)
		;
	return i < len ? i : len;
}

/* Merge two neighboring runs of @from into @to; equal times keep their order. */
static void merge_runs(const struct order_entry *from, struct order_entry *to, size_t start,
		       size_t mid, size_t end)
{
	size_t a = start, b = mid, at = start;

	while (a < mid && b < end)
		to[at++] = from[b].time < from[a].time ? from[b++] : from[a++];
	memcpy(to + at, from + a, (mid - a) * sizeof(*to));
	at += mid - a;
	memcpy(to + at, from + b, (end - b) * sizeof(*to));
}

/* One pass over all pairs of runs; returns the number of runs that are left. */
static size_t merge_pass(const struct order_entry *from, struct order_entry *to, size_t start,
			 size_t len)
{
	size_t runs = 0;

	while (start < len) {
		size_t mid = run_end(from, start, len);
		size_t end = mid < len ? run_end(from, mid, len) : len;

		merge_runs(from, to, start, mid, end);
		start = end;
		runs++;
	}
	return runs;
}

static void sort_waiting(struct order *o)
{
	size_t runs;

	if (o->at == o->len || !o->is_unsorted)
		return;
	do {
		struct order_entry *v = o->v;

		runs = merge_pass(o->v, o->scratch, o->at, o->len);
		o->v = o->scratch;
		o->scratch = v;
	} while (runs > 1);
	o->last = o->v[o->len - 1].time;
	o->is_unsorted = false;
}

/* Everything with a time up to @limit may go. */
static void allow(struct order *o, uint64_t limit)
{
	size_t lo, hi;

	if (o->file_order)
		return;
	sort_waiting(o);
	lo = o->at;
	hi = o->len;
	lo = SEARCH(mid, lo, hi, o->v[mid].time <= limit);
	o->ready = lo;
}

void coati_order_round(struct order *o)
{
	allow(o, o->newest_before);
	o->newest_before = o->newest;
}

void coati_order_end(struct order *o)
{
	allow(o, UINT64_MAX);
}

void coati_order_relieve(struct order *o)
{
	sort_waiting(o);
	allow(o, o->v[o->at + (o->len - o->at) / 2].time);
}
