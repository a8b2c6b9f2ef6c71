/* SPDX-License-Identifier: MIT */
/*
 * A reader over many rings: the rounds in which they are read, and what a call reports when a round
 * is over. Which rings there are is reader-set.c, how it waits reader-wait.c, what is lost
 * reader-loss.c, the order of time reader-merge.c.
 */
#include "ring/reader.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "ring/ring.h"

/* ---- items of one ring ---- */

/* Losses want to know the time of the record behind them: fetch it, keep it for the next call. */
static void look_behind(struct coati_reader *rd, struct reader_ring *rr,
			struct coati_ring_item *loss)
{
	uint64_t time = 0;

	if (loss->size > READER_LOSS_MAX) {
		loss->bytes = NULL;
		loss->size = 0;
	} else if (loss->bytes) {
		memcpy(rr->loss_bytes, loss->bytes, loss->size);
		loss->bytes = rr->loss_bytes;
	}
	if (ring_take(rr->ring, &rr->behind) > 0) {
		rr->have_behind = true;
		if (rr->behind.kind == COATI_ITEM_RECORD &&
		    rd->time_fn(rd->time_ctx, &rr->behind, &time) > 0)
			rr->behind.time = time;
	}
	/* A backward ring is walked into the past. */
	if (rr->ring->kind == COATI_RING_BACKWARD) {
		loss->first_time = time;
		loss->last_time = rr->last_time;
	} else {
		loss->first_time = rr->last_time;
		loss->last_time = time;
	}
}

static void add_time(struct coati_reader *rd, struct reader_ring *rr, struct coati_ring_item *item,
		     bool known)
{
	uint64_t time;

	if (item->kind == COATI_ITEM_LOSS) {
		look_behind(rd, rr, item);
		return;
	}
	if (item->kind != COATI_ITEM_RECORD)
		return;
	if (!known && rd->time_fn(rd->time_ctx, item, &time) > 0)
		item->time = time;
	if (item->time)
		rr->last_time = item->time;
}

static int end_of(struct coati_reader *rd, struct reader_ring *rr, struct coati_ring_item *ret)
{
	*ret = (struct coati_ring_item){
		.kind = COATI_ITEM_END,
		.key = rr->ring->key,
		.position = rr->ring->pos,
	};
	rr->ended = true;
	rd->nr_ended++;
	return 1;
}

int coati_reader_pull(struct coati_reader *rd, struct reader_ring *rr, struct coati_ring_item *ret)
{
	if (unlikely(rr->ended))
		return 0;
	if (unlikely(rr->have_behind)) {
		*ret = rr->behind;
		rr->have_behind = false;
		add_time(rd, rr, ret, true);
		return 1;
	}
	for (;;) {
		if (likely(ring_take(rr->ring, ret) > 0)) {
			if (rd->time_fn)
				add_time(rd, rr, ret, false);
			return 1;
		}
		/* It may have become over after the head was looked at. */
		if (!rr->over || rr->last_look || rr->limited)
			break;
		rr->last_look = true;
		if (!coati_ring_look(rr->ring))
			break;
	}
	if ((rr->settle || rr->over) && coati_reader_settle(rd, rr, ret) > 0)
		return 1;
	return rr->over && !rr->limited ? end_of(rd, rr, ret) : 0;
}

/* ---- rounds ---- */

void coati_reader_begin_round(struct coati_reader *rd, bool settle)
{
	for (size_t i = 0; i < rd->rings.len; i++) {
		struct reader_ring *rr = rd->rings.v[i];

		if (rr->ended)
			continue;
		coati_ring_look(rr->ring);
		rr->limited = false;
		if (settle)
			rr->settle = true;
	}
	rd->current = 0;
	rd->looked = rd->round_open = true;
	if (rd->merge)
		coati_merge_begin(rd->merge);
}

/* The round of this ring ends at the mark of the flush, or at once when it is past it. */
static void limit(struct reader_ring *rr)
{
	struct coati_ring *ring = rr->ring;
	uint64_t mark = atomic_load_explicit(&rr->flush_mark, memory_order_relaxed);
	uint64_t left = ring->head - ring->pos, marked = mark - ring->pos;

	if (rr->ended || ring->kind == COATI_RING_BACKWARD || ring->damage)
		return;
	if ((int64_t)marked < 0)
		marked = 0;
	if (marked >= left)
		return;
	rr->limited = true;
	ring->head = ring->pos + marked;
	if (ring->kind == COATI_RING_FORWARD)
		ring_set_piece(ring);
}

/* All that was there when the flush was asked for. The rings are not looked at for good by it: data
 * that came later and has woken us is still to be had. */
static void begin_flush(struct coati_reader *rd, uint32_t requests)
{
	bool looked = rd->looked;

	coati_reader_begin_round(rd, true);
	rd->looked = looked;
	rd->report |= REPORT_FLUSH;
	for (size_t i = 0; !(requests & READER_UNMARKED) && i < rd->rings.len; i++)
		limit(rd->rings.v[i]);
}

/* Flushes that come while one is delivered are delivered together after it. */
static void handle_flush(struct coati_reader *rd, uint32_t requests)
{
	rd->flush_waits |= requests;
	if (rd->report & REPORT_FLUSH)
		return;
	begin_flush(rd, rd->flush_waits);
	rd->flush_waits = 0;
}

static inline int take(struct coati_reader *rd, struct coati_ring_item *ret)
{
	if (unlikely(rd->merge != NULL)) {
		rd->round_open = coati_merge_take(rd, rd->merge, ret) > 0;
		return rd->round_open;
	}
	for (; rd->current < rd->rings.len; rd->current++)
		if (coati_reader_pull(rd, rd->rings.v[rd->current], ret))
			return 1;
	rd->round_open = false;
	return 0;
}

/* The round that a flush or deadline has begun is over: say so, once. The flush first, deadlines
 * stay. */
static int report(struct coati_reader *rd)
{
	if (rd->report & REPORT_FLUSH) {
		rd->report &= ~REPORT_FLUSH;
		return -ECANCELED;
	}
	rd->report &= ~REPORT_DEADLINE;
	return -ETIMEDOUT;
}

/* A BPF ring wakes us only when it has seen that we are at its end. */
static bool safe_to_sleep(struct coati_reader *rd)
{
	bool safe = true;

	for (size_t i = 0; i < rd->rings.len; i++) {
		struct reader_ring *rr = rd->rings.v[i];

		if (rr->ring->kind == COATI_RING_BPF && !rr->ended && !coati_bpf_idle(rr->ring))
			safe = false;
	}
	return safe;
}

static bool loss_check_due(struct coati_reader *rd)
{
	uint64_t now;

	if (!rd->loss_check_ns)
		return false;
	now = now_ns();
	if (now < rd->loss_check_at)
		return false;
	rd->loss_check_at = now + rd->loss_check_ns;
	return true;
}

static bool look_due(struct coati_reader *rd)
{
	uint64_t now;

	if (!rd->look_ns)
		return false;
	now = now_ns();
	if (now < rd->look_at)
		return false;
	rd->look_at = now + rd->look_ns;
	return true;
}

/* There is no wakeup for a snapshot. */
static bool has_snapshot(const struct coati_reader *rd)
{
	for (size_t i = 0; i < rd->rings.len; i++)
		if (!rd->rings.v[i]->ended && rd->rings.v[i]->ring->have_snapshot)
			return true;
	return false;
}

/* Nothing is left of the round: wait for more, or find that the time has come to report. */
static int idle(struct coati_reader *rd, bool block)
{
	int r;

	if (coati_reader_deadline_passed(rd)) {
		rd->report |= REPORT_DEADLINE;
		coati_reader_begin_round(rd, false);
		return 0;
	}
	if (loss_check_due(rd)) {
		coati_reader_begin_round(rd, true);
		return 0;
	}
	if (block && !safe_to_sleep(rd)) {
		rd->looked = false;
		return 0;
	}
	r = coati_reader_sleep(rd, block);
	if (r > 0 || (r == 0 && look_due(rd)))
		rd->looked = false;
	return r < 0 ? r : 0;
}

static int get(struct coati_reader *rd, struct coati_ring_item *ret, bool block)
{
	bool fresh = false;
	uint32_t flush;
	int r;

	for (;;) {
		r = coati_reader_requests(rd, &flush);
		if (unlikely(flush | rd->flush_waits))
			handle_flush(rd, flush);
		if (unlikely(r < 0))
			return r;
		if (likely(take(rd, ret)))
			return 1;
		if (rd->report)
			return report(rd);
		if (rd->nr_ended == rd->rings.len)
			return 0;
		/* A waiting reader leaves it to the kernel when to look again: that is what wakeup
		 * marks are for. */
		if (block ? !rd->looked || has_snapshot(rd) : !fresh) {
			if (coati_reader_deadline_passed(rd))
				rd->report |= REPORT_DEADLINE;
			coati_reader_begin_round(rd, false);
			fresh = true;
			continue;
		}
		r = idle(rd, block);
		if (r < 0)
			return r;
		fresh = false;
	}
}

int coati_reader_next(struct coati_reader *rd, struct coati_ring_item *ret)
{
	return get(rd, ret, true);
}

int coati_reader_try(struct coati_reader *rd, struct coati_ring_item *ret)
{
	return get(rd, ret, false);
}

struct drain {
	int (*fn)(void *ctx, const struct coati_ring_item *);
	void *ctx;
	uint64_t n, max;
	bool stopped;
};

static inline bool hand_over(struct drain *d, const struct coati_ring_item *item)
{
	d->n++;
	d->stopped = d->fn(d->ctx, item) != 0;
	return !d->stopped && d->n < d->max;
}

/* Without merge and times the walk of each ring is one tight loop. */
static void drain_plain(struct coati_reader *rd, struct drain *d)
{
	struct coati_ring_item item;

	while (rd->current < rd->rings.len) {
		struct reader_ring *rr = rd->rings.v[rd->current];

		while (!rr->ended && ring_take(rr->ring, &item) > 0)
			if (!hand_over(d, &item))
				return;
		if (!coati_reader_pull(rd, rr, &item))
			rd->current++;
		else if (!hand_over(d, &item))
			return;
	}
	rd->round_open = false;
}

static void drain_round(struct coati_reader *rd, struct drain *d)
{
	struct coati_ring_item item;

	if (!rd->merge && !rd->time_fn) {
		drain_plain(rd, d);
		return;
	}
	while (take(rd, &item))
		if (!hand_over(d, &item))
			return;
}

int64_t coati_reader_drain(struct coati_reader *rd,
			   int (*fn)(void *ctx, const struct coati_ring_item *), void *ctx,
			   uint64_t max)
{
	struct drain d = { .fn = fn, .ctx = ctx, .max = max ? max : UINT64_MAX };

	if (atomic_load_explicit(&rd->closed, memory_order_relaxed))
		return -EBADF;
	if (rd->round_open)
		drain_round(rd, &d);
	if (rd->round_open || d.stopped || d.n == d.max)
		return (int64_t)d.n;
	if (rd->foreign)
		(void)coati_reader_sleep(rd, false);
	coati_reader_begin_round(rd, rd->settle_due || loss_check_due(rd));
	rd->settle_due = false;
	drain_round(rd, &d);
	return (int64_t)d.n;
}

/* For coati_reader_wait(): 1 some ring has something, or has just come to its end; 0 all are at
 * their end; -EAGAIN. */
static int any_ready(struct coati_reader *rd)
{
	bool all_over = true, ready = false;

	for (size_t i = 0; i < rd->rings.len; i++) {
		struct reader_ring *rr = rd->rings.v[i];
		bool told = rr->over_told;

		if (rr->ended)
			continue;
		if (rr->over)
			rr->over_told = true;
		if ((rr->ring->kind == COATI_RING_BACKWARD && rr->ring->have_snapshot) ||
		    coati_ring_unread_bytes(rr->ring) || (rr->over && !told))
			ready = true;
		all_over = all_over && rr->over;
	}
	return ready ? 1 : all_over ? 0 : -EAGAIN;
}

int coati_reader_wait(struct coati_reader *rd)
{
	uint32_t flush;
	int r;

	for (;;) {
		r = coati_reader_requests(rd, &flush);
		if (r < 0 || flush) {
			/* one at a time: the flush stays for the next call */
			if (flush && r < 0 && r != -EBADF)
				atomic_fetch_or_explicit(&rd->requests, flush,
							 memory_order_seq_cst);
			return r < 0 ? r : -ECANCELED;
		}
		if (rd->round_open)
			return 1;
		if (coati_reader_deadline_passed(rd))
			return -ETIMEDOUT;
		r = any_ready(rd);
		if (r == 0 || (r > 0 && !rd->looked)) {
			rd->looked = true;
			return r;
		}
		if (!safe_to_sleep(rd))
			return 1;
		r = coati_reader_sleep(rd, true);
		if (r < 0)
			return r;
		if (r > 0 || look_due(rd))
			rd->looked = false;
		if (loss_check_due(rd))
			rd->settle_due = true;
		/* our own tick: held records may go, or losses are to be asked for */
		if (rd->settle_due || (rd->merge && coati_merge_due_ns(rd->merge) <= now_ns()))
			return 1;
	}
}
