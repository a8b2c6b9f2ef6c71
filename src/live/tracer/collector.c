/* SPDX-License-Identifier: MIT */
/*
 * The thread of the recorders: begins a generation when the time has come or the memory fills, and
 * gives back what no recorder keeps. Ordinary code, all signals blocked.
 */
#include "live/tracer/recorder.h"

#include <pthread.h>
#include <string.h>

#include "base/thread.h"
#include "live/tracer/ask.h"
#include "live/tracer/emit.h"
#include "live/tracer/watch.h"

struct coati_recorder *coati_recorders;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static _Atomic bool quit;

void coati_recorders_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void coati_recorders_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

void coati_recorders_wait(void)
{
	pthread_cond_wait(&changed, &mutex);
}

void coati_recorders_signal(void)
{
	pthread_cond_broadcast(&changed);
}

static uint64_t room_of(const struct tracer_generation *g)
{
	return (uint64_t)g->chunks * TRACER_CHUNK;
}

/* The oldest generation that a flight recorder keeps, by its own limits; it always keeps one that
 * is complete. */
static uint64_t first_kept(const struct coati_recorder *rec, uint64_t now)
{
	uint64_t end = rec->from > coati_tracer.oldest ? rec->from : coati_tracer.oldest;
	uint64_t n = coati_tracer.newest + 1, newer = 0;

	for (; n > end; n--) {
		const struct tracer_generation *g = coati_tracer_generation(n - 1);

		if (!g->complete)
			continue;
		if (newer && (newer + room_of(g) > rec->bytes ||
			      (rec->window_ns && now - g->end_ns > rec->window_ns)))
			break;
		newer += room_of(g);
	}
	return n;
}

void coati_collector_give_back(void)
{
	struct tracer *t = &coati_tracer;
	uint64_t now = tracer_ns(), keep = t->newest + 1;
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	for (struct coati_recorder *rec = coati_recorders; rec; rec = rec->next) {
		/* it has what it wants, or says so: "wanted" */
		if (rec->fd >= 0 || rec->stashes)
			continue;
		rec->from = first_kept(rec, now);
		keep = rec->from < keep ? rec->from : keep;
	}
	for (; t->oldest < keep; coati_tracer_drop(coati_tracer_generation(t->oldest))) {
		const struct tracer_generation *g = coati_tracer_generation(t->oldest);

		if (!g->complete || g->pins || g->wanted)
			break;
	}
	coati_tracer_unlock(&guard);
}

void coati_collector_turn(bool stop)
{
	coati_tracer_advance(stop);
	for (struct coati_recorder *rec = coati_recorders; rec; rec = rec->next) {
		coati_recorder_stash(rec);
		coati_recorder_limit(rec);
	}
	coati_collector_give_back();
	for (struct coati_recorder *rec = coati_recorders; rec; rec = rec->next)
		coati_recorder_wake(rec);
}

/* New events are left out, and old ones are not taken: another generation would only take from what
 * is kept back for the tracer's own words. */
static bool is_full_for_good(void)
{
	return atomic_load_explicit(&coati_tracer_hot.exhausted, memory_order_relaxed) &&
	       !coati_tracer_makes_room();
}

static void *run(void *ctx)
{
	struct tracer *t = &coati_tracer;
	uint32_t done = (uint32_t)(uintptr_t)ctx; /* what was asked for so far */
	uint64_t last = tracer_ns();

	while (!atomic_load_explicit(&quit, memory_order_acquire)) {
		uint64_t now = tracer_ns(),
			 next = last + atomic_load_explicit(&t->period_ns, memory_order_relaxed);

		/* what was asked for during a turn is done at once */
		if (now < next && atomic_load_explicit(&t->asked, memory_order_acquire) == done) {
			coati_tracer_wait(&t->asked, done, next - now);
			continue;
		}
		done = atomic_load_explicit(&t->asked, memory_order_acquire);
		coati_recorders_lock();
		if (!atomic_load_explicit(&quit, memory_order_acquire)) {
			if (!is_full_for_good())
				coati_collector_turn(false);
			if (coati_tracer_triggers)
				coati_tracer_triggers->look();
		}
		coati_recorders_unlock();
		coati_tracer_ask_look();
		last = now;
	}
	return NULL;
}

int coati_collector_thread(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	return thread_start(ret, NULL, fn, arg);
}

int coati_collector_start(void)
{
	atomic_store_explicit(&quit, false, memory_order_relaxed);
	return coati_collector_thread(
		&thread, run,
		(void *)(uintptr_t)atomic_load_explicit(&coati_tracer.asked, memory_order_relaxed));
}

void coati_collector_stop(void)
{
	/* pairs with: acquire in run() */
	atomic_store_explicit(&quit, true, memory_order_release);
	coati_tracer_wake(&coati_tracer.asked);
	pthread_join(thread, NULL);
}

void coati_collector_child(void)
{
	if (coati_tracer_triggers)
		coati_tracer_triggers->child();
	/* or the reader of a pipe would never see its end while the child lives */
	for (struct coati_recorder *rec = coati_recorders; rec; rec = rec->next)
		if (rec->fd >= 0)
			coati_tracer_sink_close(&rec->sink);
	coati_recorders = NULL;
	atomic_store_explicit(&quit, true, memory_order_relaxed);
}
