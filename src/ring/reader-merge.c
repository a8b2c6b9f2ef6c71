/* SPDX-License-Identifier: MIT */
/*
 * One order of time over many rings. In a round the ring whose front item is the oldest is always
 * taken from next, so that the rings advance together whatever their order in the set. An item that
 * is at least the delay older than the newest seen may go at once, from where it lies; younger ones
 * are copied (their ring gets its space back) into a heap. They go when the newest has moved on,
 * when our own clock has moved on by the delay and nothing newer came, at a flush, deadline or end,
 * or early when the copies reach their ceiling.
 *
 * Copies lie in blocks that are freed when the last item in them has gone; times are nearly in
 * order, so the blocks are, too.
 */
#include "ring/reader.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ring/heap.h"

#define BLOCK_BYTES (256u * 1024)
#define HELD_MAX    (UINT64_C(1) << 32)

struct block {
	uint32_t live; /* items in it; the one that is being filled has one more */
	size_t size, used;
	uint64_t bytes[];
};

struct held {
	struct block *block;
	struct coati_ring_item item;
	uint64_t bytes[];
};

struct coati_merge {
	uint64_t delay_ns, ceiling, in_use;
	struct heap held, fronts;
	struct block *filling, *spare;
	bool begun;		  /* a round whose fronts are not fetched yet */
	bool release;		  /* everything goes */
	struct held *out;	  /* what the caller looks at */
	struct reader_ring *lent; /* the caller looks at its front */
	uint64_t newest, mark;	  /* times of records: the newest seen; up to mark they may go */
	uint64_t delivered;
	bool waiting; /* since wait_ns of our clock, for wait_newest to be old enough */
	uint64_t wait_ns, wait_newest;
};

int coati_merge_new(uint64_t delay_ns, uint64_t ceiling, struct coati_merge **ret)
{
	struct coati_merge *m = coati_alloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->delay_ns = delay_ns;
	m->ceiling = ceiling;
	m->held.max = HELD_MAX;
	m->fronts.max = READER_RINGS_MAX;
	*ret = m;
	return 0;
}

static void block_put(struct coati_merge *m, struct block *b)
{
	if (--b->live)
		return;
	if (!m->spare && b->size == BLOCK_BYTES) {
		b->used = 0;
		m->spare = b;
		return;
	}
	m->in_use -= b->size;
	coati_free(b);
}

void coati_merge_free(struct coati_merge **merge)
{
	struct coati_merge *m = *merge;

	if (!m)
		return;
	if (m->out)
		block_put(m, m->out->block);
	for (; m->held.len; coati_heap_pop(&m->held))
		block_put(m, ((struct held *)heap_top(&m->held)->what)->block);
	if (m->filling)
		block_put(m, m->filling);
	coati_free(m->spare);
	coati_heap_fini(&m->held);
	coati_heap_fini(&m->fronts);
	coati_free(m);
	*merge = NULL;
}

/* A block with room for @size bytes, or NULL at the ceiling. */
static struct block *room(struct coati_merge *m, size_t size)
{
	struct block *b = m->filling;
	size_t want = size > BLOCK_BYTES ? size : BLOCK_BYTES;

	if (b && size <= b->size - b->used)
		return b;
	if (m->spare && size <= m->spare->size) {
		b = m->spare;
		m->spare = NULL;
	} else {
		if (m->in_use + want > m->ceiling)
			return NULL;
		b = coati_alloc(sizeof(*b) + want);
		if (!b)
			return NULL;
		b->size = want;
		m->in_use += want;
	}
	if (m->filling)
		block_put(m, m->filling);
	b->live = 1;
	m->filling = b;
	return b;
}

static uint64_t sort_time(const struct reader_ring *rr, const struct coati_ring_item *item)
{
	return item->time ? item->time : rr->last_time;
}

/* False when there is no room. */
static bool hold(struct coati_merge *m, uint64_t time, const struct coati_ring_item *item)
{
	size_t size = (sizeof(struct held) + item->size + 7) & ~(size_t)7;
	struct block *b = room(m, size);
	struct held *h;

	if (!b)
		return false;
	h = (struct held *)(void *)((uint8_t *)b->bytes + b->used);
	h->block = b;
	h->item = *item;
	if (item->bytes) {
		memcpy(h->bytes, item->bytes, item->size);
		h->item.bytes = (const uint8_t *)h->bytes;
	}
	if (coati_heap_put(&m->held, time, h) < 0)
		return false;
	b->used += size;
	b->live++;
	return true;
}

void coati_merge_begin(struct coati_merge *m)
{
	m->begun = true;
}

static void fetch_front(struct coati_reader *rd, struct coati_merge *m, struct reader_ring *rr)
{
	if (!coati_reader_pull(rd, rr, &rr->front))
		return;
	rr->in_front = true;
	/* Cannot fail: the heap was given room for this ring when it was added. */
	(void)coati_heap_put(&m->fronts, sort_time(rr, &rr->front), rr);
}

static void fetch_fronts(struct coati_reader *rd, struct coati_merge *m)
{
	m->begun = false;
	for (size_t i = 0; i < rd->rings.len; i++)
		if (!rd->rings.v[i]->in_front)
			fetch_front(rd, m, rd->rings.v[i]);
}

static int deliver(struct coati_merge *m, uint64_t time, const struct coati_ring_item *item,
		   struct coati_ring_item *ret)
{
	*ret = *item;
	if (time < m->delivered)
		ret->flags |= COATI_ITEM_LATE;
	else
		m->delivered = time;
	return 1;
}

static int deliver_held(struct coati_merge *m, struct coati_ring_item *ret)
{
	struct heap_entry top = *heap_top(&m->held);

	coati_heap_pop(&m->held);
	m->out = top.what;
	return deliver(m, top.time, &m->out->item, ret);
}

static void take_front(struct coati_merge *m, struct reader_ring *rr)
{
	coati_heap_pop(&m->fronts);
	rr->in_front = false;
}

/* The oldest front: deliver it, hold it, or make room first. 1: *ret is filled. */
static int advance(struct coati_reader *rd, struct coati_merge *m, struct coati_ring_item *ret)
{
	struct heap_entry front = *heap_top(&m->fronts), *held = heap_top(&m->held);
	struct reader_ring *rr = front.what;

	if (front.time > m->newest)
		m->newest = front.time;
	if (m->newest > m->delay_ns && m->newest - m->delay_ns > m->mark)
		m->mark = m->newest - m->delay_ns;
	if (front.time <= m->mark && (!held || front.time < held->time)) {
		take_front(m, rr);
		m->lent = rr;
		return deliver(m, front.time, &rr->front, ret);
	}
	if (held && held->time <= m->mark)
		return deliver_held(m, ret);
	if (hold(m, front.time, &rr->front)) {
		take_front(m, rr);
		fetch_front(rd, m, rr);
		return 0;
	}
	if (held && held->time <= front.time)
		return deliver_held(m, ret);
	take_front(m, rr);
	m->lent = rr;
	return deliver(m, front.time, &rr->front, ret);
}

/* The rings are read: what may go by our own clock? */
static void let_time_pass(struct coati_reader *rd, struct coati_merge *m)
{
	uint64_t now;

	if (rd->report || rd->nr_ended == rd->rings.len) {
		m->release = true;
		m->waiting = false;
		return;
	}
	now = now_ns();
	if (m->waiting && now - m->wait_ns >= m->delay_ns) {
		if (m->wait_newest > m->mark)
			m->mark = m->wait_newest;
		m->waiting = false;
	}
	if (!m->waiting && m->held.len) {
		m->waiting = true;
		m->wait_ns = now;
		m->wait_newest = m->newest;
	}
}

int coati_merge_take(struct coati_reader *rd, struct coati_merge *m, struct coati_ring_item *ret)
{
	struct heap_entry *held;

	if (m->out)
		block_put(m, m->out->block);
	m->out = NULL;
	if (m->lent)
		fetch_front(rd, m, m->lent);
	m->lent = NULL;
	if (m->begun)
		fetch_fronts(rd, m);
	while (m->fronts.len)
		if (advance(rd, m, ret))
			return 1;
	let_time_pass(rd, m);
	held = heap_top(&m->held);
	if (held && (m->release || held->time <= m->mark))
		return deliver_held(m, ret);
	m->release = false;
	if (!held)
		m->waiting = false;
	return 0;
}

uint64_t coati_merge_due_ns(const struct coati_merge *m)
{
	return m->held.len && m->waiting ? m->wait_ns + m->delay_ns : UINT64_MAX;
}

int coati_merge_reserve(struct coati_merge *m, size_t nr_rings)
{
	return coati_heap_reserve(&m->fronts, nr_rings);
}

void coati_merge_forget(struct coati_merge *m, const struct reader_ring *rr)
{
	if (m->lent == rr)
		m->lent = NULL;
	coati_heap_remove(&m->fronts, rr);
}
