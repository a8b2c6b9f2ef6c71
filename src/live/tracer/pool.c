/* SPDX-License-Identifier: MIT */
/*
 * Chunks and batches. In: who needs room, for how many bytes. Out: batches, back to back in chunks;
 * what a batch leaves over goes to the next one, so that threads that come and go use little. All
 * of it under the lock; safe.
 *
 * A chunk belongs to one generation. It is closed when its batches are and it gives out no more
 * room; its memory is free when the generation is dropped. A thread gets a whole chunk, or less
 * when there are many threads.
 */
#include "live/tracer/emit.h"

#define NONE	  UINT32_MAX
#define WORTH	  512u /* a rest that is smaller is left alone */
#define HEAD	  ((uint32_t)sizeof(struct live_batch))
#define PAIR_NS	  1000u /* a pair that is wider is tried again */
#define MAX_TRIES 3

static struct live_chunk *entry(uint32_t chunk)
{
	return &coati_tracer.directory[chunk];
}

static uint8_t *memory(uint32_t chunk)
{
	return coati_tracer.chunks + (uint64_t)chunk * TRACER_CHUNK;
}

static uint32_t used(uint32_t chunk)
{
	return __atomic_load_n(&entry(chunk)->used, __ATOMIC_RELAXED);
}

struct tracer_generation *coati_tracer_generation(uint64_t number)
{
	return &coati_tracer.generations[number % TRACER_GENERATIONS];
}

/* ---- pairs of clocks ---- */

struct tracer_pair coati_tracer_pair(void)
{
	uint64_t before, after, mid, best = UINT64_MAX;
	struct tracer_pair pair = { 0 };

	for (int i = 0; i < MAX_TRIES && best > PAIR_NS; i++) {
		before = tracer_ns();
		mid = tracer_now();
		after = tracer_ns();
		if (after - before < best) {
			best = after - before;
			pair.cycles = mid;
			pair.ns = before + best / 2;
		}
	}
	/* a counter that ticks slowly is behind by up to a tick, here and in each event */
	best = best / 2 + 1 + 2 * ((uint64_t)coati_tracer.clock.mult >> coati_tracer.clock.shift);
	pair.error_ns = best < UINT32_MAX ? (uint32_t)best : UINT32_MAX;
	if (!coati_tracer.clock.source) {
		pair.cycles = pair.ns;
		pair.error_ns = 0;
	}
	return pair;
}

/* The end pair is where the first one and the rate say; or the machine was stopped, or moved. */
static bool pairs_agree(const struct live_batch *b)
{
	const struct coati_live_clock *clock = &coati_tracer.clock;
	uint64_t ns = b->end_ns - b->pair_ns, cycles = b->end_cycles - b->pair_cycles,
		 said = cycles;

	if (clock->source)
		said = (uint64_t)((unsigned __int128)cycles * clock->mult >> clock->shift);
	return b->end_ns >= b->pair_ns && b->end_cycles >= b->pair_cycles &&
	       (said > ns ? said - ns : ns - said) < 1000000 + ns / 100;
}

/* ---- chunks ---- */

static void close_chunk(uint32_t chunk)
{
	struct live_chunk *c = entry(chunk);
	struct live_map *map = coati_tracer.map;

	if (coati_tracer.fill == chunk)
		coati_tracer.fill = NONE;
	__atomic_store_n(&c->closed, __atomic_add_fetch(&map->closed_chunks, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	/* pairs with: acquire of readers of the mapping */
	__atomic_store_n(&c->state, 2, __ATOMIC_RELEASE);
}

/* It gives out no more room. */
static void retire(uint32_t chunk)
{
	if (chunk != NONE && chunk != coati_tracer.fill && !coati_tracer.chunk_states[chunk].open)
		close_chunk(chunk);
}

static void append(struct tracer_generation *g, uint32_t chunk)
{
	coati_tracer.chunk_states[chunk].next = NONE;
	if (g->first == NONE)
		g->first = chunk;
	else
		coati_tracer.chunk_states[g->last].next = chunk;
	g->last = chunk;
	g->chunks++;
}

/* Whether a complete generation may go before all who want it have taken it. */
static bool may_drop(const struct tracer_generation *g)
{
	const struct tracer *t = &coati_tracer;

	switch (tracer_policy()) {
	case COATI_DROP_OLDEST:
		return true;
	case COATI_BLOCK:
		return !(g->wanted & t->blocking);
	default:
		return t->takers && !g->wanted;
	}
}

/* Drop the oldest generation that no recorder needs; false when there is none. */
static bool make_room(void)
{
	struct tracer *t = &coati_tracer;
	struct tracer_generation *g = coati_tracer_generation(t->oldest);

	if (t->oldest >= t->newest || !g->complete || g->pins || !may_drop(g))
		return false;
	coati_tracer_drop(g);
	return true;
}

static uint32_t take_chunk(struct tracer_generation *g, bool system)
{
	struct tracer *t = &coati_tracer;
	struct live_chunk *c;
	uint32_t chunk;

	while (t->free_count <= (system ? 0 : TRACER_SYSTEM))
		if (!make_room())
			return NONE;
	chunk = t->free_chunk;
	t->free_chunk = t->chunk_states[chunk].next;
	t->free_count--;
	c = entry(chunk);
	/* pairs with: acquire of readers of the mapping, who look again after copying */
	__atomic_store_n(&c->turn, c->turn + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memset(memory(chunk), 0, HEAD);
	__atomic_store_n(&c->generation, g->number, __ATOMIC_RELAXED);
	__atomic_store_n(&c->closed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->used, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->state, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->turn, c->turn + 1, __ATOMIC_RELEASE);
	t->chunk_states[chunk].open = 0;
	append(g, chunk);
	return chunk;
}

/* How much a thread gets at once: less the more there are, so that what they have not used yet
 * stays a small part of the memory. */
static uint32_t piece(void)
{
	const struct tracer *t = &coati_tracer;
	uint64_t share = (uint64_t)t->chunk_count * (TRACER_CHUNK / 16) / (t->threads + 1);

	if (share >= TRACER_CHUNK)
		return TRACER_CHUNK;
	return share < TRACER_PIECE_MIN ? TRACER_PIECE_MIN : (uint32_t)share & ~7u;
}

bool coati_tracer_makes_room(void)
{
	return tracer_policy() != COATI_DROP_NEWEST || coati_tracer.takers;
}

static void ask_for_generation(void)
{
	struct tracer *t = &coati_tracer;
	const struct tracer_generation *g = coati_tracer_generation(t->newest);

	if (g->chunks == t->full_chunks && coati_tracer_makes_room())
		coati_tracer_wake(&t->asked);
}

/* What is left of @chunk goes to the next thread, when that is more than what the present chunk
 * has. */
static void offer(uint32_t chunk, uint32_t left)
{
	struct tracer *t = &coati_tracer;
	uint32_t old = t->fill;

	if (left < WORTH || (old != NONE && entry(old)->generation == t->newest &&
			     TRACER_CHUNK - used(old) >= left)) {
		retire(chunk);
		return;
	}
	t->fill = chunk;
	retire(old);
}

/* Room for @need bytes with the head, or @want where it is there. Its size and its chunk; 0:
 * none. */
static uint32_t grant(struct tracer_generation *g, uint32_t need, uint32_t want, bool system,
		      uint32_t *ret_chunk)
{
	struct tracer *t = &coati_tracer;
	uint32_t chunk = t->fill, left = 0;

	if (need > TRACER_CHUNK)
		return 0;
	if (chunk != NONE && entry(chunk)->generation == g->number)
		left = TRACER_CHUNK - used(chunk);
	if (left < need) {
		chunk = take_chunk(g, system);
		if (chunk == NONE)
			return 0;
		left = TRACER_CHUNK;
		ask_for_generation();
	}
	want = want > need ? want : need;
	if (want > left || left - want < WORTH)
		want = left;
	*ret_chunk = chunk;
	return (want + 7) & ~7u;
}

/* ---- batches ---- */

static struct live_batch *place(uint32_t chunk, uint32_t bytes, const struct live_batch *head)
{
	struct live_chunk *c = entry(chunk);
	uint32_t at = used(chunk);
	struct live_batch *b = (struct live_batch *)(void *)(memory(chunk) + at);

	*b = *head;
	b->capacity = bytes - HEAD;
	coati_tracer.chunk_states[chunk].open++;
	/* pairs with: acquire of readers of the mapping; the head is whole */
	__atomic_store_n(&c->used, at + bytes, __ATOMIC_RELEASE);
	if (coati_tracer.fill == chunk && TRACER_CHUNK - at - bytes < WORTH)
		coati_tracer.fill = NONE;
	else if (coati_tracer.fill != chunk && TRACER_CHUNK - at - bytes >= WORTH)
		offer(chunk, TRACER_CHUNK - at - bytes);
	return b;
}

static struct live_batch head_of(const struct tracer_generation *g, uint16_t kind,
				 const struct tracer_pair *pair)
{
	return (struct live_batch){ .magic = LIVE_BATCH_MAGIC,
				    .version = LIVE_BATCH_VERSION,
				    .kind = kind,
				    .generation = g->number,
				    .pid = coati_tracer.pid,
				    .base = pair->cycles,
				    .pair_cycles = pair->cycles,
				    .pair_ns = pair->ns,
				    .pair_error_ns = pair->error_ns,
				    .flags = coati_tracer.clock.source ? 0
								       : LIVE_BATCH_NANOSECONDS };
}

/* Final words; what is left over goes to the next one. */
static void finish(struct live_batch *b, uint32_t chunk, const struct tracer_pair *ended,
		   uint32_t sum)
{
	uint32_t at = (uint32_t)((uint8_t *)b - memory(chunk)), behind = at + HEAD + b->capacity;
	uint32_t room = (b->used + 7) & ~7u;
	uint16_t flags = b->flags | LIVE_BATCH_CLOSED;

	b->end_cycles = ended->cycles;
	b->end_ns = ended->ns;
	if (ended->error_ns > b->pair_error_ns)
		b->pair_error_ns = ended->error_ns;
	b->checksum = sum;
	if (!pairs_agree(b))
		flags |= LIVE_BATCH_CLOCK_UNKNOWN;
	if (behind == used(chunk) && b->capacity - room >= WORTH) {
		memset((uint8_t *)(b + 1) + room, 0, HEAD);
		__atomic_store_n(&b->capacity, room, __ATOMIC_RELAXED);
		__atomic_store_n(&entry(chunk)->used, at + HEAD + room, __ATOMIC_RELEASE);
	}
	/* pairs with: acquire of readers of the mapping; everything else is final */
	__atomic_store_n(&b->flags, flags, __ATOMIC_RELEASE);
	coati_tracer.events += b->events;
	coati_tracer.batches++;
}

/* One batch less is open in it. */
static void let_go(uint32_t chunk)
{
	coati_tracer.chunk_states[chunk].open--;
	if (chunk == coati_tracer.fill)
		return;
	offer(chunk,
	      entry(chunk)->generation == coati_tracer.newest ? TRACER_CHUNK - used(chunk) : 0);
}

/* No thread looks for room again before the collector has changed something, which it is asked to
 * do. */
static void say_exhausted(bool exhausted)
{
	bool before = atomic_exchange_explicit(&coati_tracer_hot.exhausted, exhausted,
					       memory_order_relaxed);

	/* the one that is written must have a good part of the memory, or the next one gets no
	 * more */
	if (exhausted && !before && coati_tracer_makes_room() &&
	    coati_tracer_generation(coati_tracer.newest)->chunks >= coati_tracer.full_chunks / 2)
		coati_tracer_wake(&coati_tracer.asked);
}

bool coati_tracer_open_batch(struct tracer_thread *t, struct tracer_slot *s, uint32_t need)
{
	struct tracer_generation *g = coati_tracer_generation(tracer_generation());
	uint64_t told = atomic_load_explicit(&t->told, memory_order_relaxed);
	bool tell =
		s->tell || atomic_load_explicit(&s->generation, memory_order_relaxed) != g->number;
	uint32_t room = HEAD + need + 8, bytes, chunk;
	bool pair_is_fresh =
		s->summed != NOT_SUMMED &&
		atomic_load_explicit(&s->generation, memory_order_relaxed) == g->number;
	struct tracer_pair pair;
	struct live_batch head;

	s->summed = NOT_SUMMED;
	tell = tell && (s->tell || told != g->number);
	if (tell)
		room += coati_tracer_tell_bytes(t, s);
	bytes = grant(g, room, piece(), false, &chunk);
	say_exhausted(!bytes && tracer_policy() != COATI_BLOCK);
	if (!bytes)
		return false;
	pair = pair_is_fresh ? s->ended : coati_tracer_pair();
	head = head_of(g, LIVE_BATCH_EVENTS, &pair);
	head.tid = atomic_load_explicit(&t->tid, memory_order_relaxed);
	head.slot = (uint16_t)s->index;
	head.seq = s->seq++;
	/* another CPU, a few cycles behind: every open region began before */
	if (head.base < s->last)
		head.base = s->last;
	s->batch = place(chunk, bytes, &head);
	s->chunk = chunk;
	s->last = head.base;
	s->events = 0;
	s->told = 0;
	if (tell)
		coati_tracer_tell(t, s);
	s->tell = false;
	return true;
}

void coati_tracer_sum_up(struct tracer_slot *s)
{
	s->ended = coati_tracer_pair();
	s->sum = live_checksum(s->batch + 1, s->batch->used);
	s->summed = s->batch->used;
}

void coati_tracer_lose_batch(const struct live_batch *b, uint32_t of)
{
	struct tracer_loss loss = { b->events - b->told, b->pair_ns, b->end_ns, b->tid, b->slot };

	coati_tracer_add_loss(of, &loss);
}

/* Of a thread that was left alone: who has taken its generation did so without this. */
static uint32_t too_late_for(const struct live_batch *b)
{
	const struct tracer_generation *g = coati_tracer_generation(b->generation);

	if (b->generation < coati_tracer.oldest)
		return coati_tracer.running;
	return g->complete ? g->takers & ~g->wanted & coati_tracer.running : 0;
}

/* Not that of a thread that was stuck in an earlier recording, whose memory stays for it. */
static bool is_here(const struct live_batch *b)
{
	return coati_tracer.map && (uint64_t)((const uint8_t *)b - (uint8_t *)coati_tracer.map) <
					   coati_tracer.map_bytes;
}

void coati_tracer_close_batch(struct tracer_slot *s)
{
	if (!is_here(s->batch)) {
		s->batch = &coati_tracer_no_batch;
		s->limit = TRACER_FULL;
		return;
	}
	s->batch->events = (uint32_t)s->events;
	s->batch->told = s->told;
	if (s->summed != s->batch->used)
		coati_tracer_sum_up(s);
	finish(s->batch, s->chunk, &s->ended, s->sum);
	coati_tracer_lose_batch(s->batch, too_late_for(s->batch));
	let_go(s->chunk);
	s->batch = &coati_tracer_no_batch;
	s->limit = TRACER_FULL;
}

struct live_batch *coati_tracer_open_system(struct tracer_generation *g, uint16_t kind,
					    uint32_t need)
{
	struct tracer_pair pair = coati_tracer_pair();
	struct live_batch head = head_of(g, kind, &pair);
	uint32_t bytes, chunk;

	bytes = grant(g, HEAD + need + 8, HEAD + need + 8, true, &chunk);
	if (!bytes)
		return NULL;
	head.seq = coati_tracer.system_seq++;
	return place(chunk, bytes, &head);
}

void coati_tracer_close_system(struct live_batch *b, const uint8_t *end, uint32_t events)
{
	uint32_t chunk = (uint32_t)((uint64_t)((uint8_t *)b - coati_tracer.chunks) / TRACER_CHUNK);
	struct tracer_pair ended = coati_tracer_pair();

	b->used = (uint32_t)(end - (uint8_t *)(b + 1));
	b->events = events;
	finish(b, chunk, &ended, live_checksum(b + 1, b->used));
	let_go(chunk);
}

/* ---- generations ---- */

void coati_tracer_seal(struct tracer_generation *g)
{
	struct tracer *t = &coati_tracer;
	uint32_t fill = t->fill;

	if (fill != NONE && entry(fill)->generation == g->number) {
		t->fill = NONE;
		retire(fill);
	}
	g->end_ns = tracer_ns();
	g->complete = true;
	if (tracer_policy() == COATI_DROP_OLDEST)
		say_exhausted(false); /* it may be dropped now */
}

void coati_tracer_refuse(struct tracer_generation *g, uint32_t of)
{
	of &= g->wanted;
	g->wanted &= ~of;
	for (uint32_t chunk = of ? g->first : NONE; chunk != NONE;
	     chunk = coati_tracer.chunk_states[chunk].next) {
		uint32_t at = 0, end = used(chunk);

		while (at < end) {
			const struct live_batch *b = (const void *)(memory(chunk) + at);

			/* one that is open is counted when it is closed: too_late_for() */
			if (b->kind == LIVE_BATCH_EVENTS && b->flags & LIVE_BATCH_CLOSED)
				coati_tracer_lose_batch(b, of);
			at += HEAD + b->capacity;
		}
	}
}

void coati_tracer_drop(struct tracer_generation *g)
{
	struct tracer *t = &coati_tracer;

	coati_tracer_refuse(g, g->wanted);
	/* before anything of it goes: a reader of the memory of a process that died meanwhile knows
	 * that something is missing */
	__atomic_store_n(&t->oldest, g->number + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->map->oldest, t->oldest, __ATOMIC_RELAXED);
	for (uint32_t chunk = g->first, next; chunk != NONE; chunk = next) {
		next = t->chunk_states[chunk].next;
		/* of a thread that is stuck: never used again */
		if (t->chunk_states[chunk].open)
			continue;
		/* release: behind "oldest"; pairs with: acquire of readers of the mapping */
		__atomic_store_n(&entry(chunk)->state, 0, __ATOMIC_RELEASE);
		t->chunk_states[chunk].next = t->free_chunk;
		t->free_chunk = chunk;
		t->free_count++;
	}
	g->first = g->last = NONE;
	g->chunks = 0;
	say_exhausted(false);
	coati_tracer_wake(&t->freed);
}
