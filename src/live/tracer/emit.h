/* SPDX-License-Identifier: MIT */
/*
 * Writing an event, the part that every event runs through: enter, bytes, leave. Safe.
 *
 * Litmus of the hand-over, writer against who changes the generation ("W" and "G"):
 *	W: state = writing; r1 = generation	G: generation = new; r2 = state
 * r1 old and r2 not writing must not both be: then G would close the batch that W writes into.
 * Both sides need a store before a load kept in order, which no release or acquire does. G runs
 * membarrier(PRIVATE_EXPEDITED) between its two, which puts a full barrier into every running
 * thread of the process, between its instructions: so W needs only that the compiler keeps the
 * order. Without membarrier() both have a seq_cst fence.
 *	W: bytes; used (release); state = generation (release)	G: state != writing (acquire); bytes
 * The second half: G sees the bytes of an event that it saw to be over.
 */
#pragma once

#include <string.h>
#include <time.h>

#include "arch/cycles.h"
#include "live/tracer/tracer.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ALWAYS	    static inline __attribute__((always_inline))

#define HEAD_MAX 9u  /* kind and time */
#define VAR_MAX	 10u /* a number */
_Static_assert(TRACER_REGION == HEAD_MAX + VAR_MAX, "see tracer.h");

ALWAYS uint64_t tracer_generation(void)
{
	return atomic_load_explicit(&coati_tracer_hot.generation, memory_order_relaxed);
}

ALWAYS uint64_t tracer_gate(void)
{
	return __atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED);
}

/* The thread runs something else from now on: what it has kept while no recorder runs is not open
 * in that. */
void coati_tracer_drop_kept(void);

/* Stacks of regions are kept; and no process asks for a recorder from outside, which would set all
 * bits. */
ALWAYS bool tracer_keeps(void)
{
	return (tracer_gate() & (GATE_KEEP | GATE_ASKED)) == GATE_KEEP;
}

/* Its number, which another thread may just be giving it. */
ALWAYS uint32_t tracer_site_id(const struct coati_site *site)
{
	return __atomic_load_n(&site->id, __ATOMIC_RELAXED);
}

static inline uint64_t tracer_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The clock of the batches. */
ALWAYS uint64_t tracer_now(void)
{
	if (likely(atomic_load_explicit(&coati_tracer_hot.cycles, memory_order_relaxed)))
		return arch_cycles();
	return tracer_ns();
}

ALWAYS bool slot_has_batch(const struct tracer_slot *s)
{
	return s->batch != &coati_tracer_no_batch;
}

/* For who may have interrupted its owner. */
ALWAYS bool slot_is_busy(const struct tracer_slot *s)
{
	return atomic_load_explicit(&s->state, memory_order_relaxed) >= SLOT_WAITING;
}

ALWAYS void slot_open(struct tracer_slot *s)
{
	s->limit = (int64_t)s->batch->capacity - TRACER_REGION;
}

/* Where the next event goes. */
ALWAYS uint8_t *slot_at(const struct tracer_slot *s)
{
	return (uint8_t *)(s->batch + 1) + s->batch->used;
}

/* Whether the batch is of the current generation and has room for @worst bytes; 0 asks for no
 * room. */
ALWAYS bool emit_ready(const struct tracer_slot *s, uint32_t worst)
{
	return tracer_generation() == atomic_load_explicit(&s->generation, memory_order_relaxed) &&
	       (!worst || (int64_t)s->batch->used + worst <= s->limit + (int64_t)TRACER_REGION);
}

ALWAYS void emit_set(struct tracer_slot *s)
{
	atomic_store_explicit(&s->state, SLOT_WRITING, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* pairs with: the fence in coati_tracer_advance(), where it has no membarrier() */
	if (unlikely(atomic_load_explicit(&coati_tracer_hot.fenced, memory_order_relaxed)))
		atomic_thread_fence(memory_order_seq_cst);
}

/* Where to write, at most @worst bytes, then emit_leave(). Or NULL: emit_fail(). With @worst 0
 * the slot is entered, but nothing may be written. */
ALWAYS uint8_t *emit_enter(uint32_t worst, struct tracer_slot **ret)
{
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_slot *s;

	if (unlikely(!t || slot_is_busy(&t->slot[0])))
		return coati_tracer_enter(t, worst, ret);
	*ret = s = &t->slot[0];
	emit_set(s);
	if (likely(emit_ready(s, worst)))
		return worst ? slot_at(s) : (uint8_t *)s;
	return coati_tracer_refill(t, s, worst);
}

/* The event is whole. Others may follow before emit_leave(). */
ALWAYS void emit_commit(struct tracer_slot *s, uint8_t *at)
{
	s->events++;
	/* pairs with: acquire of who reads the batch while it is open */
	__atomic_store_n(&s->batch->used, (uint32_t)(at - (uint8_t *)(s->batch + 1)),
			 __ATOMIC_RELEASE);
}

/* The same for what is no event of the program. */
static inline void emit_told(struct tracer_slot *s, uint8_t *at)
{
	s->told++;
	emit_commit(s, at);
}

ALWAYS void emit_leave(struct tracer_slot *s)
{
	/* pairs with: acquire in wait_for() of generation.c */
	atomic_store_explicit(&s->state, atomic_load_explicit(&s->generation, memory_order_relaxed),
			      memory_order_release);
}

/* The end of an event for which emit_enter() had no room. */
static inline void emit_fail(struct tracer_slot *s)
{
	if (!s)
		return;
	if (tracer_generation())
		coati_tracer_lose(s, 1);
	emit_leave(s);
}

/* Kind and time: one byte, one store of eight of which so many count as are needed. */
ALWAYS uint8_t *put_head(struct tracer_slot *s, uint8_t *at, unsigned int kind, uint64_t now)
{
	uint64_t dt = now - s->last;
	unsigned int more;

	if (unlikely((int64_t)dt < 0)) /* another CPU, a few cycles behind */
		dt = 0;
	else
		s->last = now;
	more = (63u - (unsigned int)__builtin_clzll(dt | 1)) >> 3;
	at[0] = (uint8_t)(kind | more << 5);
	memcpy(at + 1, &dt, sizeof(dt));
	return at + 2 + more;
}

ALWAYS uint8_t *put_var(uint8_t *at, uint64_t v)
{
	while (unlikely(v > 0x7f)) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline uint8_t *put_zigzag(uint8_t *at, int64_t v)
{
	return put_var(at, zigzag(v));
}

/* Kind without a time: in batches of the tracer itself. */
static inline uint8_t *put_kind(uint8_t *at, unsigned int kind)
{
	*at++ = (uint8_t)kind;
	*at++ = 0;
	return at;
}

static inline uint8_t *put_bytes(uint8_t *at, const void *bytes, uint32_t size)
{
	at = put_var(at, size);
	memcpy(at, bytes, size);
	return at + size;
}

/* A text in line. */
static inline uint8_t *put_text(uint8_t *at, const char *text, uint32_t size)
{
	at = put_var(at, (uint64_t)size << 1);
	memcpy(at, text, size);
	return at + size;
}

/* At most @max bytes of a text, and no half of a UTF-8 character. */
static inline uint32_t cut_text(const char *text, size_t size, uint32_t max)
{
	uint32_t n = max;

	if (size <= max)
		return (uint32_t)size;
	for (int back = 0; back < 3 && n && ((uint8_t)text[n] & 0xc0) == 0x80; back++)
		n--;
	return ((uint8_t)text[n] & 0xc0) == 0x80 ? max : n;
}

#define LOSS_BYTES (2 + 5 * VAR_MAX)

static inline uint8_t *put_loss(uint8_t *at, const struct tracer_loss *loss)
{
	at = put_kind(at, LIVE_LOST);
	at = put_var(at, loss->tid);
	at = put_var(at, loss->slot);
	at = put_var(at, loss->count);
	at = put_var(at, loss->first_ns);
	return put_var(at, loss->last_ns);
}
