/* SPDX-License-Identifier: MIT */
/*
 * A recorder that writes to a descriptor: complete generations, each once, by a thread of its own. A
 * generation is copied out of the memory first; what waits for a reader is this copy, without any
 * lock, so that a reader that stops reading holds up nobody but this thread. Ordinary code, all
 * signals blocked.
 */
#include "live/tracer/recorder.h"

#include <errno.h>

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

static void write_out(struct coati_recorder *rec, const struct strbuf *bytes)
{
	size_t written = 0;
	int r = rec->error;

	if (!r)
		r = coati_tracer_sink_write(&rec->sink, bytes->text, bytes->len, &written);
	if (r < 0) {
		lose_rest(rec, bytes, written);
		rec->error = r;
	}
}

/* What stands in front of a generation that began at @time_ns: the head, once, and the code that may
 * run from now on. */
static void begin(struct coati_recorder *rec, uint64_t time_ns, struct strbuf *ret)
{
	uint64_t loaded = coati_tracer_loaded();

	if (!rec->begun)
		coati_tracer_carry_head(ret);
	if (!rec->begun || loaded != rec->loaded)
		coati_tracer_carry_maps(ret, rec->begun ? time_ns : 0);
	rec->begun = true;
	rec->loaded = loaded;
}

/* The next generation as bytes; none when it made room for others before, which counted its events. */
static void copy(struct coati_recorder *rec, uint64_t number, struct strbuf *ret)
{
	struct tracer_generation *g = coati_tracer_pin(number);
	struct tracer_guard guard;
	int r;

	if (!g)
		return;
	begin(rec, g->pair_ns, ret);
	r = coati_tracer_generation_bytes(g, coati_recorder_bit(rec), ret);
	if (r < 0) {
		coati_strbuf_clear(ret);
		rec->error = rec->error ? rec->error : r;
		coati_tracer_lock(&guard);
		coati_tracer_refuse(g, coati_recorder_bit(rec));
		coati_tracer_unlock(&guard);
	}
	coati_tracer_unpin(g, coati_recorder_bit(rec));
}

/* Takes the number of the next generation: 1; 0 there is none now; -1 there will be none. */
static int next(struct coati_recorder *rec, uint64_t *ret)
{
	int r = 0;

	coati_recorders_lock();
	if (rec->from < coati_tracer.newest && rec->from <= rec->until) {
		*ret = rec->from++;
		r = 1;
	} else if (rec->from > rec->until) {
		r = -1;
	}
	coati_recorders_unlock();
	return r;
}

/* What was lost behind the last generation that could be written. */
static void tell_losses(struct coati_recorder *rec, struct strbuf *bytes)
{
	struct tracer_guard guard;
	bool any;

	coati_tracer_lock(&guard);
	any = coati_tracer.accounts[rec->index].nr_losses > 0;
	coati_tracer_unlock(&guard);
	if (!any || rec->error)
		return;
	coati_strbuf_clear(bytes);
	begin(rec, 0, bytes);
	rec->error = coati_tracer_loss_bytes(rec->until + 1, coati_recorder_bit(rec), bytes);
	write_out(rec, bytes);
}

static void *run(void *ctx)
{
	struct strbuf bytes = STRBUF_INIT(MAX_BYTES);
	struct coati_recorder *rec = ctx;
	uint64_t number;
	int r;

	do {
		/* pairs with: release in coati_recorder_wake() */
		uint32_t work = atomic_load_explicit(&rec->work, memory_order_acquire);

		r = next(rec, &number);
		if (r > 0) {
			coati_strbuf_clear(&bytes);
			copy(rec, number, &bytes);
			coati_collector_give_back();
			write_out(rec, &bytes);
		} else if (!r) {
			coati_tracer_wait(&rec->work, work, 0);
		}
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
