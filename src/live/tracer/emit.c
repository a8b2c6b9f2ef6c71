/* SPDX-License-Identifier: MIT */
/*
 * Regions: the hot path. In: a site. Out: four bytes in the thread's batch, and an entry on its stack of open regions, from which they are told again in
 * the next generation. Lazy ones stay on that stack alone, until something is written inside or they end.
 */
#include "live/tracer/emit.h"

#include "live/tracer/stacks.h"

#define REGION_WORST (HEAD_MAX + VAR_MAX)

/* A page of its own, as the gate is in a program that gets a copy of it. */
uint64_t coati_tracer_gate __attribute__((aligned(64)));
struct tracer_hot coati_tracer_hot;
struct tracer coati_tracer;
TRACER_TLS struct tracer_thread *coati_tracer_self;
TRACER_TLS uint64_t coati_tracer_task;

ALWAYS void push(struct tracer_slot *s, uint32_t site, uint64_t began, uint32_t flags)
{
	if (likely(s->depth < s->regions_max))
		s->regions[s->depth] = (struct tracer_region){ began, site, flags };
	s->depth++;
}

ALWAYS void begin(struct tracer_slot *s, uint8_t *at, uint32_t id)
{
	uint64_t now = tracer_now();

	at = put_head(s, at, LIVE_REGION_BEGIN, now);
	at = put_var(at, id);
	push(s, id, s->last, 0);
	emit_commit(s, at);
}

/* There was no room for the begin: remember, so that the end is left out, too. */
static void begin_lost(struct tracer_slot *s, uint32_t id)
{
	if (s && tracer_generation())
		push(s, id, 0, REGION_LOST);
	emit_fail(s);
}

/* On the stack alone. From now on the next event takes the slow way, which writes the begin first. */
static void hold(const struct coati_site *site)
{
	struct tracer_slot *s;
	uint8_t *at = emit_enter(0, &s);

	if (!at) {
		begin_lost(s, site->id);
		return;
	}
	push(s, site->id, tracer_now(), REGION_HELD);
	s->held++;
	s->end = 0;
	emit_leave(s);
}

static __attribute__((noinline)) void begin_slow(struct coati_site *site)
{
	uint64_t frames[LIVE_STACK_MAX];
	struct tracer_slot *s;
	uint32_t count, stack;
	uint8_t *at;

	if (!coati_tracer_site(site))
		return;
	if (site->flags & COATI_SITE_LAZY) {
		hold(site);
		return;
	}
	count = coati_tracer_frames(site, frames);
	at = emit_enter(REGION_WORST + stack_worst(count), &s);
	if (!at) {
		begin_lost(s, site->id);
		return;
	}
	at = coati_tracer_put_stack(s, at, frames, count, &stack);
	begin(s, at, site->id);
	coati_tracer_put_stacked(s, stack);
	emit_leave(s);
}

void coati_region_begin(struct coati_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
	struct tracer_slot *s;
	uint8_t *at;

	if (unlikely(!(tracer_gate() & __atomic_load_n(&site->mask, __ATOMIC_RELAXED))))
		return;
	if (unlikely(!id || __atomic_load_n(&site->flags, __ATOMIC_RELAXED) ||
		     atomic_load_explicit(&coati_tracer_hot.stacks, memory_order_relaxed))) {
		begin_slow(site);
		return;
	}
	at = emit_enter(REGION_WORST, &s);
	if (unlikely(!at)) {
		begin_lost(s, id);
		return;
	}
	begin(s, at, id);
	emit_leave(s);
}

/* Depth of the innermost open region of @site, or UINT32_MAX. */
static uint32_t find(const struct tracer_slot *s, uint32_t site)
{
	uint32_t i = s->depth;

	if (i > s->regions_max)
		return i - 1; /* it is not known which they are */
	while (i-- > 0)
		if (s->regions[i].site == site)
			return i;
	return UINT32_MAX;
}

static uint64_t length_ns(uint64_t length)
{
	const struct coati_live_clock *clock = &coati_tracer.clock;

	return clock->source ? (uint64_t)((unsigned __int128)length * clock->mult >> clock->shift)
			     : length;
}

/* The innermost was held back to its end: an event of its own when that was long enough. @s is entered. */
static void end_held(struct tracer_slot *s, const struct coati_site *site)
{
	uint64_t began = s->regions[s->depth - 1].began, now = tracer_now();
	uint8_t *at;

	s->depth--;
	s->held--;
	if (site->min_ns && length_ns(now > began ? now - began : 0) >= site->min_ns) {
		at = coati_tracer_refill(coati_tracer_self, s, HEAD_MAX + 2 * VAR_MAX);
		if (!at) {
			emit_fail(s);
			return;
		}
		at = put_head(s, at, LIVE_RANGE, now);
		at = put_var(at, site->id);
		emit_commit(s, put_var(at, s->last > began ? s->last - began : 0));
	} else if (!s->held && s->batch) {
		s->end = (uintptr_t)(s->batch + 1) + s->batch->capacity;
	}
	emit_leave(s);
}

/* Regions from the innermost down to @depth end: written ones with an event, lost ones with a count. @at NULL: there is no room. */
static void end_down_to(struct tracer_slot *s, uint8_t *at, uint32_t depth)
{
	uint64_t lost = 0, now = tracer_now();

	while (s->depth > depth) {
		bool known = --s->depth < s->regions_max;
		uint32_t flags = known ? s->regions[s->depth].flags : 0;

		if (flags & REGION_HELD)
			s->held--;
		else if (flags & REGION_LOST || !at)
			lost++;
		else
			emit_commit(s, at = put_head(s, at, LIVE_REGION_END, now));
	}
	if (!at)
		s->tell = true; /* or the reader would take the next end for one of these */
	if (lost)
		coati_tracer_lose(s, lost);
}

/* How many of the regions from @depth on have an event to be written at their end. */
static uint32_t written_from(const struct tracer_slot *s, uint32_t depth)
{
	uint32_t n = 0;

	for (; depth < s->depth; depth++)
		n += depth >= s->regions_max || !s->regions[depth].flags;
	return n;
}

/* What coati_region_end() does not do at once. */
static __attribute__((noinline)) void end_slow(struct coati_site *site)
{
	struct tracer_slot *s;
	uint32_t depth, events;
	uint8_t *at = emit_enter(0, &s);

	if (!at) {
		emit_fail(s);
		return;
	}
	depth = find(s, site->id);
	if (depth == UINT32_MAX) {
		emit_leave(s);
		return;
	}
	if (depth + 1 == s->depth && depth < s->regions_max &&
	    s->regions[depth].flags & REGION_HELD) {
		end_held(s, site);
		return;
	}
	events = written_from(s, depth);
	if (events && !emit_ready(s, events * HEAD_MAX))
		at = coati_tracer_refill(coati_tracer_self, s, events * HEAD_MAX);
	end_down_to(s, at ? s->at : NULL, depth);
	emit_leave(s);
}

void coati_region_end(struct coati_site *site)
{
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_slot *s;
	uint8_t *at;
	uint32_t top;

	if (unlikely(!t))
		return;
	s = &t->slot[0];
	top = s->depth - 1;
	if (unlikely(atomic_load_explicit(&s->writing, memory_order_relaxed) ||
		     top >= s->regions_max || s->regions[top].site != site->id ||
		     s->regions[top].flags)) {
		end_slow(site);
		return;
	}
	emit_set(s);
	if (unlikely(!emit_ready(s, HEAD_MAX))) {
		emit_leave(s);
		end_slow(site);
		return;
	}
	at = put_head(s, s->at, LIVE_REGION_END, tracer_now());
	s->depth = top;
	emit_commit(s, at);
	emit_leave(s);
}
