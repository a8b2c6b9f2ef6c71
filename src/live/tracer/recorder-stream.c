/* SPDX-License-Identifier: MIT */
/*
 * Recorders that take a copy of each generation. A stream writes to a descriptor: complete
 * generations, each once, by a thread of its own. A generation is copied out of the memory first;
 * what waits for a reader is this copy, without any lock, so that a reader that stops reading holds
 * up only this thread. Generations that have to wait do so in the memory, where the policy of the
 * recorder decides what becomes of them; those of one that leaves out new events wait in a stash of
 * its own, so that they take no room from others. Ordinary code, all signals blocked.
 */
#include "live/tracer/recorder.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "live/tracer/carry.h"
#include "live/tracer/emit.h"
#include "live/tracer/output.h"

#define MAX_BYTES (UINT64_C(1) << 36)

static void lose(void *rec, const struct live_batch *head)
{
	if (head->kind == LIVE_BATCH_EVENTS)
		coati_tracer_lose_batch(head, coati_recorder_bit(rec));
}

/* What the reader did not get: everything behind the first @written bytes. */
static void lose_rest(struct coati_recorder *rec, const struct strbuf *bytes, size_t written)
{
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	coati_tracer_carry_rest(bytes->text, bytes->len, written, lose, rec);
	coati_tracer_unlock(&guard);
}

static void fail(struct coati_recorder *rec, int r)
{
	int none = 0;

	if (rec->fd >= 0)
		atomic_compare_exchange_strong(&rec->error, &none, r);
}

static void write_out(struct coati_recorder *rec, const struct strbuf *bytes)
{
	size_t written = 0;
	int r = atomic_load(&rec->error);

	if (!r)
		r = coati_tracer_sink_write(&rec->sink, bytes->text, bytes->len, &written);
	if (r < 0) {
		lose_rest(rec, bytes, written);
		fail(rec, r);
	}
}

/* What stands in front of a generation that began at @time_ns in a stream: the head, once, and the
 * code that may run from now on. */
static void begin(struct coati_recorder *rec, uint64_t time_ns, struct strbuf *ret)
{
	uint64_t loaded;

	if (rec->fd < 0)
		return;
	loaded = coati_tracer_loaded();
	if (!rec->begun)
		coati_tracer_carry_head(ret);
	if (!rec->begun || loaded != rec->loaded)
		coati_tracer_carry_maps(ret, rec->begun ? time_ns : 0);
	rec->begun = true;
	rec->loaded = loaded;
}

/* The generation as bytes, or its events count as lost. */
static void copy(struct coati_recorder *rec, struct tracer_generation *g, struct strbuf *ret)
{
	struct tracer_guard guard;
	int r = atomic_load(&rec->error);

	if (!r) {
		begin(rec, g->pair_ns, ret);
		r = coati_tracer_generation_bytes(g, coati_recorder_bit(rec), ret);
	}
	if (!r)
		return;
	coati_strbuf_clear(ret);
	fail(rec, r);
	coati_tracer_lock(&guard);
	coati_tracer_refuse(g, coati_recorder_bit(rec));
	coati_tracer_unlock(&guard);
}

/* ---- copies that are kept ---- */

static uint64_t room_of(const struct tracer_generation *g)
{
	return (uint64_t)g->chunks * TRACER_CHUNK;
}

void coati_recorder_stash_begin(struct coati_recorder *rec)
{
	struct tracer *t = &coati_tracer;
	struct tracer_guard guard;

	if (rec->stashes)
		return;
	rec->stashes = true;
	rec->last = &rec->first;
	coati_tracer_lock(&guard);
	t->takers |= coati_recorder_bit(rec);
	/* those that a flight recorder has kept in the memory until now */
	for (uint64_t n = rec->from > t->oldest ? rec->from : t->oldest; n < t->newest; n++) {
		coati_tracer_generation(n)->takers |= coati_recorder_bit(rec);
		coati_tracer_generation(n)->wanted |= coati_recorder_bit(rec);
	}
	coati_tracer_unlock(&guard);
}

static void stash_one(struct coati_recorder *rec, struct tracer_generation *g)
{
	struct recorder_copy *c = coati_alloc(sizeof(*c));
	struct tracer_guard guard;

	if (!c) {
		coati_tracer_lock(&guard);
		coati_tracer_refuse(g, coati_recorder_bit(rec));
		coati_tracer_unlock(&guard);
		return;
	}
	*c = (struct recorder_copy){ .room = room_of(g), .bytes = STRBUF_INIT(MAX_BYTES) };
	copy(rec, g, &c->bytes);
	*rec->last = c;
	rec->last = &c->next;
	rec->stashed += c->room;
}

void coati_recorder_stash(struct coati_recorder *rec)
{
	uint32_t bit = coati_recorder_bit(rec);
	struct tracer_guard guard;

	/* the writer calls this when it has copied what it found before */
	if (!rec->stashes || rec->copying)
		return;
	for (; rec->from < coati_tracer.newest && rec->from <= rec->until; rec->from++) {
		struct tracer_generation *g = coati_tracer_pin(rec->from, bit);

		if (!g)
			continue;
		if (!rec->stashed || rec->stashed + room_of(g) <= rec->bytes) {
			stash_one(rec, g);
		} else {
			coati_tracer_lock(&guard);
			coati_tracer_refuse(g, bit);
			coati_tracer_unlock(&guard);
		}
		coati_tracer_unpin(g, bit);
	}
}

void coati_recorder_limit(struct coati_recorder *rec)
{
	uint64_t room = 0;
	struct tracer_guard guard;

	if (rec->fd < 0 || rec->stashes || rec->policy != COATI_DROP_OLDEST)
		return;
	coati_tracer_lock(&guard);
	for (uint64_t n = coati_tracer.newest; n-- > rec->from && n >= coati_tracer.oldest;) {
		struct tracer_generation *g = coati_tracer_generation(n);

		if (n > rec->until)
			continue; /* it ends before */
		if (room && room + room_of(g) > rec->bytes)
			coati_tracer_refuse(g, coati_recorder_bit(rec));
		room += room_of(g);
	}
	coati_tracer_unlock(&guard);
}

void coati_recorder_stash_free(struct coati_recorder *rec)
{
	for (struct recorder_copy *c = rec->first, *next; c; c = next) {
		next = c->next;
		coati_strbuf_fini(&c->bytes);
		coati_free(c);
	}
	rec->first = NULL;
}

/* ---- the thread of a stream ---- */

/* What to do next. */
struct work {
	struct recorder_copy *copy; /* that is to be written, or NULL */
	uint64_t number;	    /* of a generation that is to be copied and written */
};

static bool take_copy(struct coati_recorder *rec, struct work *ret)
{
	ret->copy = rec->first;
	if (!rec->first)
		return false;
	rec->first = rec->first->next;
	if (!rec->first)
		rec->last = &rec->first;
	return true;
}

/* 1; 0 there is nothing now; -1 there will be nothing. */
static int next(struct coati_recorder *rec, struct work *ret)
{
	int r = 0;

	coati_recorders_lock();
	if (take_copy(rec, ret)) {
		r = 1;
	} else if (!rec->stashes && rec->from < coati_tracer.newest && rec->from <= rec->until) {
		ret->number = rec->from++;
		rec->copying = true;
		r = 1;
	} else if (rec->from > rec->until) {
		r = -1;
	}
	coati_recorders_unlock();
	return r;
}

static void write_copy(struct coati_recorder *rec, struct recorder_copy *c)
{
	write_out(rec, &c->bytes);
	coati_recorders_lock();
	rec->stashed -= c->room;
	coati_recorders_unlock();
	coati_strbuf_fini(&c->bytes);
	coati_free(c);
}

/* One that made room for others before is not there: who did that counted its events. */
static void write_generation(struct coati_recorder *rec, uint64_t number, struct strbuf *bytes)
{
	struct tracer_generation *g = coati_tracer_pin(number, coati_recorder_bit(rec));

	coati_strbuf_clear(bytes);
	if (g) {
		copy(rec, g, bytes);
		coati_tracer_unpin(g, coati_recorder_bit(rec));
	}
	coati_recorders_lock();
	rec->copying = false;
	coati_recorder_stash(rec);
	coati_collector_give_back();
	coati_recorders_unlock();
	write_out(rec, bytes);
}

/* What was lost behind the last generation that could be written. */
static void tell_losses(struct coati_recorder *rec, struct strbuf *bytes)
{
	struct tracer_guard guard;
	bool any;
	int r;

	/* it was never started: the account is that of another recorder */
	if (rec->from == UINT64_MAX)
		return;
	coati_tracer_lock(&guard);
	any = coati_tracer.accounts[rec->index].nr_losses > 0;
	coati_tracer_unlock(&guard);
	if (!any || atomic_load(&rec->error))
		return;
	coati_strbuf_clear(bytes);
	begin(rec, 0, bytes);
	r = coati_tracer_loss_bytes(rec->until + 1, coati_recorder_bit(rec), false, bytes);
	if (r < 0)
		fail(rec, r);
	write_out(rec, bytes);
}

static void *run(void *ctx)
{
	struct strbuf bytes = STRBUF_INIT(MAX_BYTES);
	struct coati_recorder *rec = ctx;
	int r;

	do {
		/* pairs with: release in coati_recorder_wake() */
		uint32_t seen = atomic_load_explicit(&rec->work, memory_order_acquire);
		struct work work = { 0 };

		r = next(rec, &work);
		if (r > 0 && work.copy)
			write_copy(rec, work.copy);
		else if (r > 0)
			write_generation(rec, work.number, &bytes);
		else if (!r)
			coati_tracer_wait(&rec->work, seen, 0);
	} while (r >= 0);
	tell_losses(rec, &bytes);
	coati_strbuf_fini(&bytes);
	return NULL;
}

int coati_recorder_stream_start(struct coati_recorder *rec, int fd, uint64_t patience_ns)
{
	int r;

	coati_tracer_sink_open(&rec->sink, fd, patience_ns);
	rec->from = rec->until = UINT64_MAX;
	r = coati_collector_thread(&rec->writer, run, rec);
	if (r < 0)
		coati_tracer_sink_close(&rec->sink);
	return r;
}

void coati_recorder_wake(struct coati_recorder *rec)
{
	if (rec->fd >= 0)
		coati_tracer_wake(&rec->work);
}

void coati_recorder_stream_end(struct coati_recorder *rec)
{
	/* pairs with: acquire in patience() of sink.c */
	atomic_store_explicit(&rec->sink.ending_ns, tracer_ns(), memory_order_release);
	coati_recorder_wake(rec);
	pthread_join(rec->writer, NULL);
	coati_tracer_sink_close(&rec->sink);
}
