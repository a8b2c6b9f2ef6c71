/* SPDX-License-Identifier: MIT */
/*
 * The thread of the recorders: begins a generation when the time has come or the memory fills, and gives back what nobody keeps.
 * Ordinary code, all signals blocked.
 */
#include "live/tracer/recorder.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

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

/* Whether a flight recorder keeps the generation, with @newer bytes of newer ones kept. */
static bool keeps(const struct coati_recorder *rec, const struct tracer_generation *g,
		  uint64_t newer, uint64_t now)
{
	if (rec->fd >= 0 || g->number < rec->from)
		return false;
	if (!newer)
		return true; /* one is always kept */
	return newer + (uint64_t)g->chunks * TRACER_CHUNK <= rec->bytes &&
	       (!rec->window_ns || now - g->end_ns <= rec->window_ns);
}

static bool is_kept(const struct tracer_generation *g, uint64_t newer, uint64_t now)
{
	for (const struct coati_recorder *rec = coati_recorders; rec; rec = rec->next)
		if (keeps(rec, g, newer, now))
			return true;
	return g->wanted || g->pins || !g->complete;
}

/* Give back the generations that nobody keeps: the oldest ones. */
static void give_back(void)
{
	struct tracer *t = &coati_tracer;
	uint64_t newer = 0, now = tracer_ns(), keep = t->newest + 1;
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	while (keep > t->oldest) {
		const struct tracer_generation *g = coati_tracer_generation(keep - 1);

		if (!is_kept(g, newer, now))
			break;
		if (g->complete)
			newer += (uint64_t)g->chunks * TRACER_CHUNK;
		keep--;
	}
	while (t->oldest < keep && !coati_tracer_generation(t->oldest)->pins &&
	       !coati_tracer_generation(t->oldest)->wanted)
		coati_tracer_drop(coati_tracer_generation(t->oldest));
	coati_tracer_unlock(&guard);
}

void coati_collector_turn(bool stop)
{
	coati_tracer_advance(stop);
	give_back();
	for (struct coati_recorder *rec = coati_recorders; rec; rec = rec->next)
		coati_recorder_wake(rec);
}

void coati_collector_give_back(void)
{
	coati_recorders_lock();
	give_back();
	coati_recorders_unlock();
}

/* New events are left out, and nobody takes the old ones: another generation would only take from what is kept back for the tracer's own words. */
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
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
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
	coati_recorders = NULL;
	atomic_store_explicit(&quit, true, memory_order_relaxed);
}
