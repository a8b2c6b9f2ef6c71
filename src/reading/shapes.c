/* SPDX-License-Identifier: MIT */
/*
 * Each thread keeps the chains that it has met, as the reader does, and numbers them in this order;
 * a number has the thread in its highest bits and is never given twice. The reader notes what a
 * number led to last, which is wrong as soon as its own chains were forgotten (`generation`).
 */
#include "reading/shapes.h"

#include <string.h>

#include "base/alloc.h"
#include "reading/chain-key.h"
#include "reading/reading.h"
#include "record/batch.h"
#include "record/record.h"
#include "recording/recording.h"

#define NUMBER_BITS 28
#define NOTES	    ((size_t)8192) /* of each thread; a power of two */
#define TRIAL	    16384u	   /* samples after which a thread asks whether this helps */
#define NO_SHARING  128

struct shape_event {
	struct chain_way way;
	bool is_wanted;
};

struct shape_thread {
	struct chains chains;
	uint64_t *room;	 /* CHAIN_WORDS */
	uint32_t before; /* numbers that were given to chains that are forgotten */
	uint32_t looked, met;
	bool gave_up; /* stacks differ too much, or there are no more numbers */
} __attribute__((aligned(NO_SHARING)));

struct shape_note {
	uint64_t space;
	uint32_t number, kernel;
	uint32_t chain, generation;
};

struct shapes {
	const struct coati_format_table *formats;
	struct shape_event *events;
	struct shape_thread *threads;
	struct shape_note *notes; /* NOTES of each thread */
	void *block;		  /* that holds the threads */
	uint32_t nr_events, nr_threads;
};

static void init_event(const struct reading *r, uint32_t event, struct shape_event *ret)
{
	const struct coati_recording_event *e = coati_recording_event(r->recording, event);

	ret->way = coati_reading_way(r, &e->attr);
	ret->is_wanted = !ret->way.unwinds && strcmp(e->name, COATI_LIVE_EVENT) != 0;
}

/* @room is aligned for a thread. */
static bool init_threads(struct shapes *s, void *room)
{
	bool ok = true;

	s->threads = room;
	for (uint32_t i = 0; i < s->nr_threads; i++) {
		coati_chains_init(&s->threads[i].chains);
		s->threads[i].room = coati_alloc_array(CHAIN_WORDS, sizeof(*s->threads[i].room));
		ok &= s->threads[i].room != NULL;
	}
	return ok;
}

struct shapes *coati_shapes_new(const struct reading *r, uint32_t threads)
{
	struct shapes *s = coati_alloc(sizeof(*s));
	uintptr_t at;

	if (!s)
		return NULL;
	s->formats = coati_recording_formats(r->recording);
	s->nr_events = coati_recording_event_count(r->recording);
	s->nr_threads = threads;
	s->events = coati_alloc_array(s->nr_events, sizeof(*s->events));
	s->notes = coati_alloc_array(threads, NOTES * sizeof(*s->notes));
	s->block = coati_alloc_array(threads + 1, sizeof(*s->threads));
	at = ((uintptr_t)s->block + NO_SHARING - 1) & ~(uintptr_t)(NO_SHARING - 1);
	if (!s->events || !s->notes || !s->block || !init_threads(s, (void *)at)) {
		coati_shapes_free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < s->nr_events; i++)
		init_event(r, i, &s->events[i]);
	return s;
}

void coati_shapes_free(struct shapes *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->threads && i < s->nr_threads; i++) {
		coati_chains_fini(&s->threads[i].chains);
		coati_free(s->threads[i].room);
	}
	coati_free(s->block);
	coati_free(s->notes);
	coati_free(s->events);
	coati_free(s);
}

/* Where nearly all stacks differ, looking for them twice is twice the work. */
static void judge(struct shape_thread *t)
{
	if (t->looked < TRIAL)
		return;
	if (t->met < t->looked / 4) {
		t->gave_up = true;
		coati_chains_clear(&t->chains);
	}
	t->looked = t->met = 0;
}

/* Its place among all that the thread has met; UINT32_MAX: no memory. */
static uint32_t place_of(struct shape_thread *t, const struct chain_key *key)
{
	uint64_t hash = coati_chains_hash(&t->chains, key);
	struct chain *chain = coati_chains_find(&t->chains, key, hash, UINT32_MAX);
	size_t nr = t->chains.list.len;

	t->looked++;
	t->met += chain != NULL;
	if (!chain)
		chain = coati_chains_add(&t->chains, key, hash);
	if (!chain)
		return UINT32_MAX;
	if (t->chains.list.len < nr) /* it was full, and was emptied */
		t->before += (uint32_t)nr;
	return t->before + (uint32_t)(chain - t->chains.list.v);
}

uint32_t coati_shapes_look(void *ctx, uint32_t thread, const struct coati_raw *raw, uint32_t event)
{
	struct shapes *s = ctx;
	struct shape_thread *t = &s->threads[thread];
	struct coati_record rec;
	struct chain_key key;
	uint32_t place;

	if (raw->type != COATI_RECORD_SAMPLE || t->gave_up || event >= s->nr_events ||
	    !s->events[event].is_wanted ||
	    coati_record_decode(raw, coati_format_table_get(s->formats, event), &rec) < 0)
		return 0;
	key = (struct chain_key){ .mode = rec.misc & COATI_MISC_CPUMODE_MASK };
	coati_chain_key(&s->events[event].way, &rec.u.sample, t->room, &key);
	place = place_of(t, &key);
	judge(t);
	if (place >= (UINT32_C(1) << NUMBER_BITS) - 1) {
		t->gave_up = true;
		return 0;
	}
	return (thread << NUMBER_BITS | place) + 1;
}

static struct shape_note *note_at(const struct shapes *s, uint32_t number)
{
	uint32_t at = number - 1;

	return &s->notes[(at >> NUMBER_BITS) * NOTES + (at & (NOTES - 1))];
}

struct chain *coati_shapes_find(struct shapes *s, struct chains *c, const struct chain_key *key,
				uint32_t number)
{
	const struct shape_note *n = note_at(s, number);

	if (n->number != number || n->generation != c->generation || n->space != key->space ||
	    n->kernel != key->kernel)
		return NULL;
	return &c->list.v[n->chain];
}

void coati_shapes_expect(const struct shapes *s, uint32_t number)
{
	__builtin_prefetch(note_at(s, number));
}

uint32_t coati_shapes_expect_chain(const struct shapes *s, const struct chains *c, uint32_t number)
{
	const struct shape_note *n = note_at(s, number);

	if (n->number != number || n->generation != c->generation)
		return UINT32_MAX;
	chain_expect(&c->list.v[n->chain]);
	return n->chain;
}

void coati_shapes_put(struct shapes *s, const struct chains *c, const struct chain *chain,
		      uint32_t number)
{
	*note_at(s, number) = (struct shape_note){ .space = chain->key.space,
						   .number = number,
						   .kernel = chain->key.kernel,
						   .chain = (uint32_t)(chain - c->list.v),
						   .generation = c->generation };
}
