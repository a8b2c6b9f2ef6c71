/* SPDX-License-Identifier: MIT */
/*
 * Regions: the hot path. In: a site. Out: four bytes in the thread's batch, and an entry on its
 * stack of open regions, from which they are repeated in the next generation. Lazy ones stay on
 * that stack alone, until something is written inside or they end.
 */
#include "live/tracer/emit.h"

#include "live/tracer/stacks.h"

/* A page of its own, as the gate is in a program that gets a copy of it. */
struct tracer_hot coati_tracer_hot;
struct tracer coati_tracer;
struct live_batch coati_tracer_no_batch;
TRACER_TLS struct tracer_thread *coati_tracer_self;
TRACER_TLS uint64_t coati_tracer_task;
TRACER_TLS char coati_tracer_name[TRACER_NAME];

ALWAYS void push(struct tracer_slot *s, uint32_t site, uint64_t began, uint32_t flags)
{
	if (likely(s->depth < s->regions_max))
		s->regions[s->depth] =
			(struct tracer_region){ .began = began, .site = site, .flags = flags };
	if (likely(s->depth < TRACER_DEPTH_MAX))
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

/* ---- while no recorder runs ---- */

/* Entered, for a change of the stack of a thread whose regions are kept; NULL: a recorder runs by
 * now, or there is no stack to be changed. */
static struct tracer_slot *enter_kept(void)
{
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_slot *s;

	t = t ? t : coati_tracer_first_use();
	/* a handler that interrupted a change of the stack leaves it alone, with begin and end */
	if (!t || slot_is_busy(&t->slot[0]))
		return NULL;
	s = &t->slot[0];
	emit_set(s);
	if (tracer_generation()) {
		emit_leave(s);
		return NULL;
	}
	return s;
}

/* On the stack alone: a recorder that starts tells it as open. One inside of lazy ones makes
 * ordinary ones of them. */
static void push_kept(struct tracer_slot *s, const struct coati_site *site, uint64_t now)
{
	bool lazy = site->flags & COATI_SITE_LAZY && s->depth < s->regions_max;

	coati_tracer_settle(s);
	coati_tracer_renew(s);
	for (; s->held && !lazy; s->held--)
		s->regions[s->depth - s->held].flags &= ~REGION_HELD;
	s->held += lazy;
	push(s, tracer_site_id(site),
	     atomic_load_explicit(&coati_tracer.clock_source, memory_order_relaxed) ? now
										    : tracer_ns(),
	     lazy ? REGION_HELD : 0);
}

/* The region begins while no recorder runs, at @now in cycles; false: one runs. */
static bool begin_kept(struct coati_site *site, uint64_t now)
{
	struct tracer_slot *s;

	if (tracer_generation() || !tracer_keeps())
		return false;
	/* for its number, which is not used */
	if (unlikely(!tracer_site_id(site)))
		coati_tracer_site(site);
	if (!tracer_site_id(site) || !__atomic_load_n(&site->mask, __ATOMIC_RELAXED))
		return true;
	s = enter_kept();
	if (!s)
		return !tracer_generation();
	push_kept(s, site, now);
	emit_leave(s);
	return true;
}

/* Depth of the innermost open region of @site, or UINT32_MAX. */
static uint32_t find(const struct tracer_slot *s, uint32_t site)
{
	uint32_t i = s->depth;

	if (i > s->regions_max)
		return i - 1; /* it is not known which they are */
	while (i-- > 0)
		if (s->regions[i].site == site || s->regions[i].flags & REGION_ANY)
			return i;
	return UINT32_MAX;
}

static void pop_kept(struct tracer_slot *s, const struct coati_site *site)
{
	uint32_t depth;

	coati_tracer_settle(s);
	coati_tracer_renew(s);
	depth = find(s, tracer_site_id(site));
	for (; depth != UINT32_MAX && s->depth > depth; s->depth--) {
		s->held -= s->held > 0;
		s->deep_lost -= s->deep_lost > 0;
	}
}

static bool end_kept(const struct coati_site *site)
{
	struct tracer_slot *s;

	if (tracer_generation() || !tracer_keeps())
		return false;
	s = enter_kept();
	if (!s)
		return !tracer_generation();
	pop_kept(s, site);
	emit_leave(s);
	return true;
}

void coati_tracer_drop_kept(void)
{
	struct tracer_slot *s = tracer_generation() || !tracer_keeps() ? NULL : enter_kept();

	if (!s)
		return;
	coati_tracer_settle(s);
	s->depth = 0;
	s->held = s->deep_lost = 0;
	emit_leave(s);
}

/* ---- what is not written ---- */

/* There was no room for the begin: remember, so that the end is left out, too. Or the recording has
 * just ended, and it is kept. */
static void begin_lost(struct tracer_slot *s, const struct coati_site *site)
{
	if (s && tracer_generation()) {
		coati_tracer_lose_held(s);
		s->deep_lost += s->depth >= s->regions_max && s->depth < TRACER_DEPTH_MAX;
		push(s, tracer_site_id(site), 0, REGION_LOST);
	} else if (s && tracer_keeps()) {
		push_kept(s, site, arch_cycles());
	}
	emit_fail(s);
}

/* On the stack alone. From now on the next event takes the slow way, which writes the begin first.
 * False: it is too deep for the stack. */
static bool hold(const struct coati_site *site)
{
	struct tracer_slot *s;
	uint8_t *at = emit_enter(0, &s);
	uint64_t now = tracer_now();

	if (!at) {
		begin_lost(s, site);
		return true;
	}
	if (s->depth >= s->regions_max) {
		emit_leave(s);
		return false;
	}
	push(s, tracer_site_id(site), now > s->last ? now : s->last, REGION_HELD);
	s->held++;
	s->limit = TRACER_FULL;
	emit_leave(s);
	return true;
}

static void begin_slow(struct coati_site *site, const void *frame)
{
	uint64_t frames[LIVE_STACK_MAX];
	struct tracer_slot *s;
	uint32_t count, stack;
	uint8_t *at;

	if (!coati_tracer_site(site))
		return;
	if (site->flags & COATI_SITE_LAZY && hold(site))
		return;
	count = coati_tracer_frames(site, frame, frames);
	at = emit_enter(TRACER_REGION + stack_worst(count), &s);
	/* inside one without a begin that the stack does not have: only their order identifies the
	 * ends */
	if (!at || s->deep_lost) {
		begin_lost(s, site);
		return;
	}
	at = coati_tracer_put_stack(s, at, frames, count, &stack);
	begin(s, at, tracer_site_id(site));
	coati_tracer_put_stacked(s, stack);
	emit_leave(s);
}

/* ---- the short way ----
 *
 * What nearly every event of a region is: of a site that was seen before, in slot 0, with room, in
 * a generation in which nothing but the time has to be looked at (hot.fast), less than 65536 cycles
 * after the one before. A store of eight bytes, all of which were known but for the time. The clock
 * is read first: it takes longest, and what follows does not wait for it. */

#define SHORT	   UINT64_C(0xffff)    /* times of two bytes */
#define ONE_EVENT  (UINT64_C(1) << 24) /* in tracer_slot.both */
#define ONE_REGION (UINT64_C(1) << 4)
#define REGIONS	   ((uint64_t)TRACER_DEPTH_MAX * ONE_REGION)
/* begins with a line of the cache: a tenth of a nanosecond */
#define LINE __attribute__((aligned(64)))

/* These are called as the last thing, so that their frame is that of the caller of
 * coati_region_begin(); a frame there would cost half a nanosecond. A compiler that makes no jump
 * of such a call adds a frame of the library to the stack. */
static __attribute__((noinline)) void begin_long(struct coati_site *site, uint64_t now)
{
	if (!begin_kept(site, now))
		begin_slow(site, __builtin_frame_address(0));
}

/* Everything is as it should be, but the time takes more bytes, or runs backwards. */
static __attribute__((noinline)) void begin_late(struct coati_site *site)
{
	struct tracer_slot *s = &coati_tracer_self->slot[0];

	begin(s, slot_at(s), tracer_site_id(site));
	emit_leave(s);
}

/* Enters the slot. What its state was: that of hot.fast, or it may not be used, and leave_short().
 * A handler that comes between the two looks at the slot leaves it as it was, or in a newer
 * generation; nothing else of it is looked at before. */
ALWAYS uint64_t enter_short(struct tracer_slot *s)
{
	uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed);

	atomic_store_explicit(&s->state, SLOT_WRITING, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* see the litmus in emit.h */
	return state;
}

ALWAYS bool is_fast(uint64_t state)
{
	return atomic_load_explicit(&coati_tracer_hot.fast, memory_order_relaxed) == state;
}

/* It was entered for nothing: maybe by a handler that interrupted an event, which goes on. */
static void leave_short(struct tracer_slot *s, uint64_t state)
{
	if (state >= SLOT_WAITING)
		atomic_store_explicit(&s->state, state, memory_order_release);
	else
		emit_leave(s);
}

/* The slot was good, but there is no room. */
static __attribute__((noinline)) void begin_full(struct coati_site *site, uint64_t now)
{
	emit_leave(&coati_tracer_self->slot[0]);
	if (!begin_kept(site, now))
		begin_slow(site, __builtin_frame_address(0));
}

static __attribute__((noinline)) void begin_again(struct coati_site *site, uint64_t state,
						  uint64_t now)
{
	leave_short(&coati_tracer_self->slot[0], state);
	if (!begin_kept(site, now))
		begin_slow(site, __builtin_frame_address(0));
}

/* An event of at most eight bytes. */
struct short_event {
	uint64_t word, size;
};

ALWAYS void short_commit(struct tracer_slot *s, uint64_t state, struct live_batch *b, uint64_t used,
			 struct short_event e)
{
	uint8_t *at = (uint8_t *)(b + 1) + used;

	/* or gcc adds to a copy of it before the address is made, and runs out of registers */
	__asm__("" : "+r"(at), "+r"(used));
	memcpy(at, &e.word, sizeof(e.word));
	/* the line of the events that follow, while there is time */
	__builtin_prefetch(at + 256, 1);
	/* pairs with: acquire of who reads the batch while it is open */
	__atomic_store_n(&b->used, (uint32_t)(used + e.size), __ATOMIC_RELEASE);
	/* pairs with: acquire in hand_over_slot() of generation.c */
	atomic_store_explicit(&s->state, state, memory_order_release);
}

ALWAYS struct tracer_region *region_at(struct tracer_thread *t, uint64_t depth)
{
	return (struct tracer_region *)(void *)((char *)t->regions + depth);
}

LINE void coati_region_begin(struct coati_site *site)
{
	uint64_t now = arch_cycles(), quick = __atomic_load_n(&site->quick, __ATOMIC_RELAXED), dt,
		 used, depth, state;
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_region *r;
	struct tracer_slot *s;
	struct live_batch *b;

	if (unlikely(!quick || !t)) {
		begin_long(site, now);
		return;
	}
	s = &t->slot[0];
	state = enter_short(s);
	if (unlikely(!is_fast(state))) {
		begin_again(site, state, now);
		return;
	}
	b = s->batch;
	used = b->used;
	depth = __atomic_load_n(&s->both, __ATOMIC_RELAXED) & REGIONS;
	if (unlikely((int64_t)used > s->limit || depth >= LIVE_REGION_DEPTH * ONE_REGION)) {
		begin_full(site, now);
		return;
	}
	dt = now - s->last;
	if (unlikely(dt > SHORT)) {
		begin_late(site);
		return;
	}
	r = region_at(t, depth);
	r->began = now;
	r->id = tracer_site_id(site);
	s->both += ONE_EVENT + ONE_REGION;
	s->last = now;
	short_commit(s, state, b, used, (struct short_event){ quick + (dt << 8), quick >> 56 });
}

static uint64_t length_ns(uint64_t length)
{
	const struct coati_live_clock *clock = &coati_tracer.clock;

	return clock->source ? (uint64_t)((unsigned __int128)length * clock->mult >> clock->shift)
			     : length;
}

/* The innermost was held back to its end: an event of its own when that was long enough. @s is
 * entered. */
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
		at = put_var(at, tracer_site_id(site));
		emit_commit(s, put_var(at, s->last > began ? s->last - began : 0));
	} else if (!s->held) {
		slot_open(s);
	}
	emit_leave(s);
}

/* Regions from the innermost down to @depth end: written ones with an event, lost ones with a
 * count. @at NULL: there is no room. */
static void end_down_to(struct tracer_slot *s, uint8_t *at, uint32_t depth)
{
	uint64_t lost = 0, now = tracer_now();

	while (s->depth > depth) {
		bool known = --s->depth < s->regions_max;
		uint32_t flags = known		? s->regions[s->depth].flags
				 : s->deep_lost ? REGION_LOST
						: 0;

		s->deep_lost -= !known && s->deep_lost;

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

	for (; depth < s->depth - s->deep_lost; depth++)
		n += depth >= s->regions_max || !s->regions[depth].flags;
	return n;
}

void coati_tracer_end_regions(struct tracer_slot *s, uint32_t depth)
{
	uint32_t events = written_from(s, depth);
	bool room = true;

	if (events && !emit_ready(s, events * HEAD_MAX))
		room = coati_tracer_refill(coati_tracer_self, s, events * HEAD_MAX);
	end_down_to(s, room ? slot_at(s) : NULL, depth);
}

/* What coati_region_end() does not do at once. */
static __attribute__((noinline)) void end_slow(struct coati_site *site)
{
	struct tracer_slot *s;
	uint32_t depth;
	uint8_t *at;

	if (end_kept(site))
		return;
	at = emit_enter(0, &s);
	if (!at) {
		/* the recording has just ended */
		if (s && !tracer_generation() && tracer_keeps())
			pop_kept(s, site);
		emit_fail(s);
		return;
	}
	depth = find(s, tracer_site_id(site));
	if (depth == UINT32_MAX) {
		emit_leave(s);
		return;
	}
	if (depth + 1 == s->depth && depth < s->regions_max &&
	    s->regions[depth].flags & REGION_HELD) {
		end_held(s, site);
		return;
	}
	coati_tracer_end_regions(s, depth);
	emit_leave(s);
}

static __attribute__((noinline)) void end_left(struct coati_site *site)
{
	emit_leave(&coati_tracer_self->slot[0]);
	end_slow(site);
}

static __attribute__((noinline)) void end_again(struct coati_site *site, uint64_t state)
{
	leave_short(&coati_tracer_self->slot[0], state);
	end_slow(site);
}

LINE void coati_region_end(struct coati_site *site)
{
	const uint64_t quick = LIVE_REGION_END | 1 << 5;
	uint64_t now = arch_cycles(), dt, used, top, state;
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_slot *s;
	struct live_batch *b;

	if (unlikely(!t))
		return;
	s = &t->slot[0];
	state = enter_short(s);
	if (unlikely(!is_fast(state))) {
		end_again(site, state);
		return;
	}
	b = s->batch;
	used = b->used;
	dt = now - s->last;
	top = (__atomic_load_n(&s->both, __ATOMIC_RELAXED) & REGIONS) - ONE_REGION;
	if (unlikely(top >= LIVE_REGION_DEPTH * ONE_REGION ||
		     region_at(t, top)->id != tracer_site_id(site) || (int64_t)used > s->limit ||
		     dt > SHORT)) {
		end_left(site);
		return;
	}
	s->both += ONE_EVENT - ONE_REGION;
	s->last = now;
	short_commit(s, state, b, used, (struct short_event){ quick + (dt << 8), 3 });
}
