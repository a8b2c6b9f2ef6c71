/* SPDX-License-Identifier: MIT */
/*
 * The memory of a flight recorder as batches: its tables, then its chunks. A batch counts only when
 * the turn of its chunk is the same before and after it was copied.
 *
 * Of a chunk only what its batches say is read, so that a file with little in it costs little,
 * whatever size it claims. A batch belongs to the process and the generation of its chunk: the
 * reader then has one process, and generations in order.
 */
#include "live-read/flight-parts.h"

#include <string.h>

#include "live-read/flight.h"

#define TRIES	   8
#define BATCH_ROOM (LIVE_BATCH_MAX - LIVE_HEAD)

static int take_entry(const struct coati_flight *f, const struct flight_chunk *w,
		      struct live_chunk *ret)
{
	return coati_flight_take(f, f->map.directory_at + w->index * sizeof(*ret), ret,
				 sizeof(*ret));
}

static uint64_t place_of(const struct coati_flight *f, const struct flight_chunk *w)
{
	return f->map.chunks_at + (uint64_t)w->index * f->map.chunk_bytes;
}

/* 1: its batches can be read. 0: it was given to another thread meanwhile. */
static int enter_chunk(struct coati_flight *f, const struct flight_chunk *w)
{
	struct live_chunk entry;
	int n;

	f->at = f->used = 0;
	f->is_closing = false;
	for (int i = 0; i < TRIES; i++) {
		n = take_entry(f, w, &entry);
		if (n < 0)
			return n;
		if (entry.turn & 1)
			continue;
		if (!entry.state || entry.generation != w->generation)
			return 0;
		f->turn = entry.turn;
		f->used = entry.used < f->map.chunk_bytes ? entry.used : f->map.chunk_bytes;
		return 1;
	}
	return 0;
}

static void remember_first(struct coati_flight *f, const struct live_batch *h)
{
	if (!h->pair_ns)
		return;
	f->first_base = h->base;
	f->first_cycles = h->pair_cycles;
	f->first_ns = h->pair_ns;
}

/* Whether a batch can be where it is. The end mark of a generation stands in the one behind it. */
static bool belongs(const struct coati_flight *f, const struct live_batch *h,
		    const struct flight_chunk *w)
{
	if (h->magic != LIVE_BATCH_MAGIC || h->pid != f->map.pid ||
	    h->capacity > f->map.chunk_bytes - f->at - LIVE_HEAD || h->used > h->capacity ||
	    h->capacity > BATCH_ROOM)
		return false;
	return h->kind == LIVE_BATCH_END ? h->generation <= w->generation
					 : h->generation == w->generation;
}

/* Whether there is no batch any more: what one did not use is cleared before the chunk says that it
 * ends there. */
static bool is_given_back(const struct coati_flight *f, const struct live_batch *h,
			  const struct live_chunk *now)
{
	static const struct live_batch none;

	return now->turn == f->turn &&
	       (f->at >= now->used || (f->is_closing && !memcmp(h, &none, LIVE_HEAD)));
}

/* The batch at f->at into f->batch, its head first: what that says is written is there. 1, 0 when
 * the chunk ends here. */
static int copy_batch(struct coati_flight *f, const struct flight_chunk *w, struct live_batch *ret)
{
	uint64_t at = place_of(f, w) + f->at;
	struct live_chunk after;
	bool fits;
	int n = coati_flight_take(f, at, ret, LIVE_HEAD);

	if (n < 0)
		return n;
	fits = belongs(f, ret, w);
	memcpy(f->batch, ret, LIVE_HEAD);
	if (fits)
		n = coati_flight_take(f, at + LIVE_HEAD, f->batch + LIVE_HEAD, ret->used);
	n = n < 0 ? n : take_entry(f, w, &after);
	if (n < 0)
		return n;
	if (after.turn == f->turn && fits)
		return 1;
	f->used = 0;
	if (is_given_back(f, ret, &after))
		return 0;
	f->info.nr_changed += after.turn != f->turn;
	f->info.nr_damaged += after.turn == f->turn;
	return 0;
}

/* The next batch of the chunk that was entered: 1, 0 when there is none. */
static int next_in_chunk(struct coati_flight *f, size_t *ret_size, uint64_t *ret_where)
{
	const struct flight_chunk *w;
	struct live_batch h;
	int n;

	while (f->at + LIVE_HEAD <= f->used) {
		w = &f->chunks.v[f->chunk - 1];
		n = copy_batch(f, w, &h);
		if (n <= 0)
			return n;
		*ret_where = place_of(f, w) + f->at;
		f->at += (uint32_t)LIVE_HEAD + h.capacity;
		f->is_closing = !(h.flags & LIVE_BATCH_CLOSED) &&
				h.capacity == ((h.used + 7) & ~UINT32_C(7));
		if (h.kind != LIVE_BATCH_END) {
			coati_flight_note_loss(f, &h);
			*ret_size = LIVE_HEAD + h.used;
			return 1;
		}
		/* comes when the others of its generation are through */
		memcpy(f->end_mark, &h, LIVE_HEAD);
		f->ended = h.generation;
	}
	return 0;
}

static int give_end(struct coati_flight *f, size_t *ret_size)
{
	f->ended = 0;
	memcpy(f->batch, f->end_mark, LIVE_HEAD);
	*ret_size = LIVE_HEAD;
	return 1;
}

static int give_chunk(struct coati_flight *f, size_t *ret_size, uint64_t *ret_where)
{
	int n;

	for (;;) {
		n = next_in_chunk(f, ret_size, ret_where);
		if (n != 0)
			return n;
		if (f->ended &&
		    (f->chunk == f->chunks.len || f->chunks.v[f->chunk].generation != f->ended))
			return give_end(f, ret_size);
		if (f->chunk == f->chunks.len)
			return 0;
		n = enter_chunk(f, &f->chunks.v[f->chunk++]);
		if (n < 0)
			return n;
		f->info.nr_changed += !n;
	}
}

/* The clock of the first batch that there is: it dates what was open before. */
static int find_first(struct coati_flight *f)
{
	struct live_batch h;
	int n = 0;

	if (f->chunks.len)
		n = enter_chunk(f, &f->chunks.v[0]);
	if (n > 0 && f->used >= LIVE_HEAD) {
		n = coati_flight_take(f, place_of(f, &f->chunks.v[0]), &h, LIVE_HEAD);
		if (n == 0)
			remember_first(f, &h);
	}
	f->at = f->used = 0;
	return n < 0 ? n : 0;
}

int coati_flight_next(struct coati_flight *f, const void **ret, size_t *ret_size,
		      uint64_t *ret_where)
{
	int n = 0;

	*ret_where = 0;
	while (n == 0 && f->stage < STAGE_END) {
		switch (f->stage) {
		case STAGE_PROCESS:
			n = find_first(f);
			n = n < 0 ? n : coati_flight_give_process(f, ret_size);
			f->stage = STAGE_SITES;
			break;
		case STAGE_SITES:
			*ret_where = f->map.sites_at + f->site;
			n = coati_flight_give_sites(f, ret_size);
			break;
		case STAGE_TASKS:
			*ret_where = f->map.tasks_at;
			n = coati_flight_give_tasks(f, ret_size);
			break;
		case STAGE_CHUNKS:
			n = give_chunk(f, ret_size, ret_where);
			break;
		default:
			n = coati_flight_give_loss(f, ret_size);
		}
		if (n == 0)
			f->stage++;
	}
	*ret = f->batch;
	return n;
}
