/* SPDX-License-Identifier: MIT */
/*
 * Parts lie in a ring: those from `first` on are waited for in this order, those before `claimed`
 * are made or have been made. One thread at a time reads (`is_reading`); what it needs to go on
 * behind the chunk before, the offset and the start of a record that did not fit, belongs to it
 * then. The caller of peek() makes parts, too, as long as the one that it waits for is not ready.
 */
#include "recording/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "record/record.h"

#define MORE_PARTS 2 /* than threads: some wait while others are made */
#define PARTS_MAX  (RECORDING_THREADS_MAX + MORE_PARTS)
#define TAIL_MAX   UINT16_MAX
#define FIRST_CAP  2048

struct slot {
	struct ahead_part part; /* its chunk is one to be filled, or filled */
	size_t end;		/* of the last whole record */
	bool is_ready;
};

struct worker {
	struct ahead *ahead;
	uint32_t number;
	pthread_t thread;
};

struct ahead {
	struct ahead_input in;
	struct coati_ahead_opts opts;
	struct worker workers[RECORDING_THREADS_MAX];
	uint32_t nr_workers;
	bool has_taken; /* the part before `first` is the caller's */

	pthread_mutex_t lock;
	pthread_cond_t work, ready; /* for workers, and for the caller */
	/* under the lock */
	struct slot slots[PARTS_MAX];
	size_t nr_slots;
	uint64_t first, claimed;
	bool is_reading, has_ended, stops;
	/* of the one who reads */
	uint64_t offset;
	size_t tail_len;
	uint8_t tail[TAIL_MAX];
};

/* ---- one part ---- */

/* Does it change what is known of the events, or is there something behind it that is no record? */
static bool is_for_the_stream(uint32_t type)
{
	switch (type) {
	case COATI_RECORD_HEADER_ATTR:
	case COATI_RECORD_HEADER_FEATURE:
	case COATI_RECORD_EVENT_UPDATE:
	case COATI_RECORD_TRACING_DATA:
	case COATI_RECORD_AUXTRACE:
	case COATI_RECORD_COMPRESSED:
	case COATI_RECORD_COMPRESSED2:
		return true;
	default:
		return false;
	}
}

/* As much as there is room for. False: the file has no more, or cannot be read. */
static bool fill(struct ahead *a, struct chunk *c)
{
	while (c->filled < c->size) {
		uint64_t left = a->in.end - a->offset, room = c->size - c->filled;
		ssize_t n;

		if (a->offset >= a->in.end)
			return false;
		n = pread(a->in.fd, c->data + c->filled, room < left ? room : left,
			  (off_t)a->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		a->offset += (uint64_t)n;
		c->filled += (size_t)n;
	}
	return true;
}

/* Where the last whole record ends that the stream is not needed for; true: it could go on. */
static bool find_end(const struct ahead *a, struct slot *s)
{
	const struct chunk *c = s->part.chunk;
	const uint8_t *at = c->data;
	size_t left = c->filled;
	struct coati_raw raw;
	int r;

	for (;;) {
		s->end = c->filled - left;
		r = coati_raw_next(&at, &left, a->in.swap, &raw);
		if (r <= 0)
			return r == 0 || r == -ENODATA;
		if (is_for_the_stream(raw.type))
			return false;
	}
}

/* Read behind what was read before. */
static void read_chunk(struct ahead *a, struct slot *s)
{
	struct chunk *c = s->part.chunk;

	memcpy(c->data, a->tail, a->tail_len);
	c->filled = a->tail_len;
	c->offset = a->offset - a->tail_len;
	s->part.is_last = !fill(a, c);
	s->part.is_last |= !find_end(a, s);
	if (s->part.is_last)
		return;
	a->tail_len = c->filled - s->end;
	memcpy(a->tail, c->data + s->end, a->tail_len);
}

static bool has_room(struct ahead_part *p)
{
	struct ahead_record *v;
	size_t cap = p->cap ? 2 * p->cap : FIRST_CAP;

	if (p->nr < p->cap)
		return true;
	v = coati_realloc_array(p->records, cap, sizeof(*v));
	if (!v)
		return false;
	p->records = v;
	p->cap = cap;
	return true;
}

/* What its records are. Without memory it is the last part, and ends early. Hot. */
static void look(const struct ahead *a, struct slot *s, uint32_t thread)
{
	struct ahead_part *p = &s->part;
	const uint8_t *at = p->chunk->data;
	size_t left = s->end;
	struct coati_raw raw;

	p->nr = 0;
	while (left) {
		struct ahead_record *rec;
		int r = 0;

		if (!has_room(p)) {
			p->is_last = true;
			return;
		}
		rec = &p->records[p->nr++];
		*rec = (struct ahead_record){ .at = (uint32_t)(s->end - left) };
		coati_raw_next(&at, &left, a->in.swap, &raw);
		if (raw.type >= COATI_RECORD_HEADER_ATTR)
			continue;
		r = coati_format_table_locate(a->in.table, &raw, &rec->event, &rec->time);
		rec->no_event = r == -ENOENT;
		if (a->opts.look && !rec->no_event)
			rec->note = a->opts.look(a->opts.ctx, thread, &raw, rec->event);
	}
}

/* ---- threads ---- */

/* Make the next part that no thread makes. Called with the lock; gives it away meanwhile. False:
 * there is nothing to make now. */
static bool make_part(struct ahead *a, uint32_t thread)
{
	struct slot *s = &a->slots[a->claimed % a->nr_slots];

	if (a->is_reading || a->has_ended || a->claimed - a->first >= a->nr_slots || !s->part.chunk)
		return false;
	a->claimed++;
	a->is_reading = true;
	pthread_mutex_unlock(&a->lock);
	read_chunk(a, s);
	pthread_mutex_lock(&a->lock);
	a->is_reading = false;
	a->has_ended |= s->part.is_last;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	look(a, s, thread);
	pthread_mutex_lock(&a->lock);
	/* parts behind it are of no use to who goes on alone behind this one */
	a->has_ended |= s->part.is_last;
	s->is_ready = true;
	pthread_cond_signal(&a->ready);
	return true;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct ahead *a = w->ahead;

	pthread_mutex_lock(&a->lock);
	while (!a->stops)
		if (!make_part(a, w->number))
			pthread_cond_wait(&a->work, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static bool start(struct ahead *a)
{
	while (a->nr_workers + 1 < a->opts.threads.nr) {
		struct worker *w = &a->workers[a->nr_workers];

		*w = (struct worker){ .ahead = a, .number = a->nr_workers + 1 };
		if (thread_start(&w->thread, NULL, work, w) < 0)
			break;
		a->nr_workers++;
	}
	return a->nr_workers;
}

struct ahead *coati_ahead_new(const struct ahead_input *in, const struct coati_ahead_opts *o)
{
	struct ahead *a = coati_alloc(sizeof(*a));

	if (!a)
		return NULL;
	a->in = *in;
	a->opts = *o;
	a->offset = in->offset;
	a->nr_slots = a->opts.threads.nr + MORE_PARTS;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->ready, NULL);
	for (size_t i = 0; i < a->nr_slots; i++)
		a->slots[i].part.chunk = coati_chunk_spare(in->pool);
	if (!start(a)) {
		coati_ahead_free(a);
		return NULL;
	}
	return a;
}

void coati_ahead_free(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stops = true;
	pthread_cond_broadcast(&a->work);
	pthread_mutex_unlock(&a->lock);
	for (uint32_t i = 0; i < a->nr_workers; i++)
		pthread_join(a->workers[i].thread, NULL);
	for (size_t i = 0; i < a->nr_slots; i++) {
		coati_chunk_unspare(a->in.pool, a->slots[i].part.chunk);
		coati_free(a->slots[i].part.records);
	}
	pthread_cond_destroy(&a->ready);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	coati_free(a);
}

/* The slot of the part that was taken can be made again. */
static void reuse_slot(struct ahead *a)
{
	struct slot *s = &a->slots[a->first % a->nr_slots];

	s->part.chunk = coati_chunk_spare(a->in.pool);
	s->is_ready = false;
	a->has_taken = false;
	a->first++;
	pthread_cond_signal(&a->work);
}

struct ahead_part *coati_ahead_peek(struct ahead *a)
{
	struct slot *s;
	bool is_ready;

	pthread_mutex_lock(&a->lock);
	if (a->has_taken)
		reuse_slot(a);
	s = &a->slots[a->first % a->nr_slots];
	while (!s->is_ready) {
		if (make_part(a, 0))
			continue;
		if (a->claimed == a->first)
			break; /* nothing is being made, and nothing can be */
		pthread_cond_wait(&a->ready, &a->lock);
	}
	is_ready = s->is_ready;
	pthread_mutex_unlock(&a->lock);
	return is_ready ? &s->part : NULL;
}

struct chunk *coati_ahead_take(struct ahead *a)
{
	struct ahead_part *p = &a->slots[a->first % a->nr_slots].part;
	struct chunk *c = p->chunk;

	p->chunk = NULL;
	a->has_taken = true;
	return c;
}
