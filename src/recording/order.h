/* SPDX-License-Identifier: MIT */
/*
 * Putting records in the order of their times. A perf.data file holds the records of each ring in
 * order, ring after ring, and a FINISHED_ROUND after each turn: at such a mark everything up to the
 * largest time seen at the mark before can be delivered. Records without a time come ahead of
 * everything that waits, as in perf: they are facts about what is there already, and a recorder
 * that tells its mappings at the end tells them for the samples before. A record older than what
 * was delivered already is delivered at once and flagged late; nothing is dropped. When more waits
 * than the window allows, the older half is delivered as if a round had ended.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>
#include <coati/recording.h>

#include "recording/chunk.h"

struct order_entry {
	uint64_t time; /* sorting key: records without time borrow that of the last one delivered */
	uint64_t offset; /* in the file */
	const uint8_t *record;
	struct chunk *chunk;
	uint32_t flags; /* of coati_recording_item, and ORDER_BORROWED */
	uint32_t event;
	uint32_t note; /* of who looked at it */
	uint32_t reserved;
};

#define ORDER_BORROWED (UINT32_C(1) << 31) /* it has no time of its own */

struct order {
	struct order_entry *v, *scratch;
	size_t len, cap; /* waiting entries are v[at..len) */
	size_t at;	 /* next to deliver */
	size_t ready;	 /* v[at..ready) may be delivered */
	size_t max_entries;
	uint64_t newest;	/* largest time seen */
	uint64_t newest_before; /* the same at the last round */
	uint64_t delivered;	/* time of the last one delivered */
	uint64_t last;		/* time of v[len - 1]; 0: nothing waits */
	bool is_unsorted;	/* v[at..len) is not in order */
	bool file_order;	/* deliver as they come */
};

void coati_order_init(struct order *o, size_t window_bytes);
void coati_order_fini(struct order *o, struct chunk_pool *pool);
/* Room for one more entry; -ENOMEM. */
int coati_order_grow(struct order *o);
/* Add one without a time; takes one use of e->chunk. -ENOMEM. */
int coati_order_add_timeless(struct order *o, const struct order_entry *e);
/* A FINISHED_ROUND was read. */
void coati_order_round(struct order *o);
/* The input has ended: everything may go. */
void coati_order_end(struct order *o);
/* The older half of what waits may go. */
void coati_order_relieve(struct order *o);

/* More waits than the window allows.  Hot. */
static inline bool order_crowded(const struct order *o)
{
	return o->len - o->at >= o->max_entries;
}

/* At the end, as what was there last is older or newer. */
static inline void order_append(struct order *o, const struct order_entry *e)
{
	o->v[o->len++] = *e;
	if (e->time > o->newest)
		o->newest = e->time;
	o->is_unsorted |= e->time < o->last;
	o->last = e->time;
	if (o->file_order)
		o->ready = o->len;
}

/* Add one; takes one use of e->chunk. -ENOMEM.  Hot. */
static inline int order_add(struct order *o, const struct order_entry *e)
{
	if (!e->time)
		return coati_order_add_timeless(o, e);
	if (o->len == o->cap && coati_order_grow(o) < 0)
		return -ENOMEM;
	order_append(o, e);
	return 0;
}

/* The next that may be delivered, or NULL. The caller owns its use of the chunk. Lives until the
 * next call.  Hot. */
static inline struct order_entry *order_next(struct order *o)
{
	struct order_entry *e;

	if (o->at == o->ready)
		return NULL;
	e = &o->v[o->at++];
	if (o->file_order)
		o->delivered = e->time;
	else if (e->time < o->delivered)
		e->flags |= COATI_RECORDING_ITEM_LATE;
	else
		o->delivered = e->time;
	/* e stays valid: nothing is written over it before the next call */
	if (o->at == o->len)
		o->at = o->ready = o->len = o->last = 0;
	return e;
}
