/* SPDX-License-Identifier: MIT */
/*
 * From one generation to the next. In: a request for a new one, by the collector or a snapshot.
 * Out: everything that was written before is in closed batches, and what is open is written again
 * into the new one. No thread is stopped: an event that was begun ends in the old generation, the
 * next one goes into the new one. Ordinary code; one at a time.
 */
#include "live/tracer/emit.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STUCK_NS UINT64_C(1000000000)
#define SPINS	 64

/* Between publishing the generation and looking at the flags; see the litmus in emit.h. */
static void barrier(void)
{
	if (atomic_load_explicit(&coati_tracer_hot.fenced, memory_order_relaxed) ||
	    syscall(SYS_membarrier, (long)MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0L, 0L) < 0)
		/* pairs with: the fence in emit_set() */
		atomic_thread_fence(memory_order_seq_cst);
}

/* ---- one thread ---- */

static bool has_state(const struct tracer_thread *t, const struct tracer_slot *s)
{
	return s->depth > s->held || atomic_load_explicit(&t->task, memory_order_relaxed) ||
	       t->labels.size;
}

/* The state of a thread that does nothing, in a batch of its own. */
static void tell_for(struct tracer_thread *t, struct tracer_slot *s, uint64_t next)
{
	if (s->epoch != atomic_load_explicit(&coati_tracer.epoch, memory_order_relaxed) ||
	    !has_state(t, s))
		return;
	s->tell = true;
	if (!coati_tracer_open_batch(t, s, 0))
		return;
	coati_tracer_close_batch(s);
	atomic_store_explicit(&t->told, next, memory_order_relaxed);
}

/* False while it is in an event of before. Under the lock. */
static bool hand_over_slot(struct tracer_thread *t, struct tracer_slot *s, uint64_t next)
{
	/* pairs with: release in emit_leave() and refill() */
	uint64_t state = atomic_load_explicit(&s->state, memory_order_acquire);

	if (next && atomic_load_explicit(&s->generation, memory_order_relaxed) == next)
		return true;
	if (state == SLOT_WRITING)
		return false;
	if (slot_has_batch(s))
		coati_tracer_close_batch(s);
	coati_tracer_collect_loss(s, atomic_load_explicit(&t->tid, memory_order_relaxed));
	if (next && !s->index && atomic_load_explicit(&t->told, memory_order_relaxed) != next)
		tell_for(t, s, next);
	return true;
}

static bool is_gone(const struct tracer_thread *t)
{
	return t->unsure &&
	       syscall(SYS_tgkill, (long)coati_tracer.pid,
		       (long)atomic_load_explicit(&t->tid, memory_order_relaxed), 0L) < 0;
}

static bool hand_over(struct tracer_thread *t, uint64_t next)
{
	if (!atomic_load_explicit(&t->tid, memory_order_relaxed))
		return true;
	if (is_gone(t)) {
		coati_tracer_release(t);
		return true;
	}
	return hand_over_slot(t, &t->slot[0], next) && hand_over_slot(t, &t->slot[1], next);
}

/* Until the thread has left the old generation; one that does not is left alone after a second. */
static void wait_for(struct tracer_thread *t, uint64_t next)
{
	uint64_t start = tracer_ns();
	struct tracer_guard guard;
	bool done;

	for (uint32_t tries = 0;; tries++) {
		coati_tracer_lock(&guard);
		done = hand_over(t, next);
		if (!done && tracer_ns() - start > STUCK_NS) {
			coati_tracer.stuck++;
			done = true;
		}
		coati_tracer_unlock(&guard);
		if (done)
			return;
		if (tries < SPINS)
			sched_yield();
		else
			usleep(100);
	}
}

/* ---- the tracer's own words ---- */

/* What found no room so far; stays for the next time when there is none for this either. */
static void write_losses(struct tracer_generation *g)
{
	struct tracer_account *a = &coati_tracer.accounts[TRACER_FILTERS];
	struct live_batch *b;
	uint8_t *at;

	coati_tracer_collect_orphans();
	if (!a->nr_losses)
		return;
	b = coati_tracer_open_system(g, LIVE_BATCH_LOSS, a->nr_losses * LOSS_BYTES);
	if (!b)
		return;
	at = (uint8_t *)(b + 1);
	for (uint32_t i = 0; i < a->nr_losses; i++)
		at = put_loss(at, &a->losses[i]);
	coati_tracer_close_system(b, at, a->nr_losses);
	a->nr_losses = 0;
}

/* The old one is complete: said in the memory of the next, as that is where there is room. */
static void write_end(const struct tracer_generation *old, struct tracer_generation *g)
{
	struct live_batch *b = coati_tracer_open_system(g, LIVE_BATCH_END, 0);

	if (!b)
		return;
	b->generation = old->number;
	coati_tracer_close_system(b, (uint8_t *)(b + 1), 0);
}

/* ---- generations ---- */

uint64_t coati_tracer_realtime(void)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
}

static struct tracer_generation *prepare(uint64_t number)
{
	struct tracer_generation *g = coati_tracer_generation(number);
	struct tracer_pair pair = coati_tracer_pair();

	*g = (struct tracer_generation){ .number = number,
					 .pair_cycles = pair.cycles,
					 .pair_ns = pair.ns,
					 .pair_error_ns = pair.error_ns,
					 .first = UINT32_MAX,
					 .last = UINT32_MAX };
	g->realtime_ns = coati_tracer_realtime();
	coati_tracer_table_reset(&coati_tracer.strings[number & 1]);
	coati_tracer_table_reset(&coati_tracer.stacks[number & 1]);
	return g;
}

/* The place of the next one in the ring may still hold an old one. */
static bool has_place(void)
{
	struct tracer *t = &coati_tracer;
	struct tracer_generation *g;

	if (t->newest + 1 - t->oldest < TRACER_GENERATIONS)
		return true;
	g = coati_tracer_generation(t->oldest);
	/* a stream for which threads wait has to take it first: it loses nothing */
	if (g->pins || g->wanted & t->blocking)
		return false;
	coati_tracer_drop(g);
	return true;
}

static void publish(uint64_t number)
{
	struct tracer *t = &coati_tracer;

	t->generation_count += number != 0;
	__atomic_store_n(&t->map->generation, number, __ATOMIC_RELAXED);
	/* pairs with: relaxed in emit_ready(), ordered by barrier() */
	atomic_store_explicit(&coati_tracer_hot.generation, number, memory_order_seq_cst);
	coati_tracer_publish_fast();
}

/* Say what belongs behind the old generation and in front of the new one. */
static void write_words(struct tracer_generation *old, struct tracer_generation *next)
{
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	if (next || old)
		write_losses(next ? next : old);
	if (old) {
		/* first: what follows may drop it for room, and its events are counted then */
		old->takers = old->wanted = coati_tracer.takers;
		coati_tracer_seal(old);
		if (next)
			write_end(old, next);
	}
	if (next) {
		coati_tracer_tell_tasks(next);
		coati_tracer_tell_resources(next);
	}
	coati_tracer_unlock(&guard);
}

void coati_tracer_advance(bool stop)
{
	struct tracer *t = &coati_tracer;
	struct tracer_generation *old = NULL, *next = NULL;
	struct tracer_guard guard;
	struct tracer_thread *thread;

	coati_tracer_lock(&guard);
	if (!stop && !has_place()) {
		coati_tracer_unlock(&guard);
		return;
	}
	if (tracer_generation())
		old = coati_tracer_generation(tracer_generation());
	if (!stop) {
		next = prepare(++t->newest);
		if (!old)
			t->first_generation = t->oldest = t->newest;
		if (!old && !t->keeps)
			atomic_fetch_add_explicit(&t->epoch, 1, memory_order_relaxed);
	}
	publish(next ? next->number : 0);
	thread = t->first;
	coati_tracer_unlock(&guard);
	barrier();
	/* at the first one: also the kept regions of threads that do nothing are written */
	for (; (old || t->keeps) && thread; thread = thread->next)
		wait_for(thread, next ? next->number : 0);
	write_words(old, next);
}
