/* SPDX-License-Identifier: MIT */
/* see watch.h; safe */
#include "live/tracer/watch.h"

#include <errno.h>
#include <string.h>

#include "live/tracer/emit.h"

struct tracer_watches coati_tracer_watches;
const struct tracer_triggers *coati_tracer_triggers;

static bool is_same(const char *a, const char *b)
{
	for (uint32_t i = 0; i < WATCH_TYPE; i++)
		if (a[i] != b[i])
			return false;
		else if (!a[i])
			return true;
	return true;
}

void coati_tracer_watch_site(uint32_t id, const char *name)
{
	struct tracer_watches *w = &coati_tracer_watches;
	uint16_t set = WATCH_KNOWN;

	if (id > LIVE_SITES_MAX || !name ||
	    atomic_load_explicit(&w->of_site[id], memory_order_relaxed))
		return;
	/* pairs with: release in coati_recorder_when(), which forgets all sites after it has added
	 * one */
	for (uint32_t i = 0; i < WATCHES; i++)
		if (w->v[i].type[0] && is_same(w->v[i].type, name))
			set |= (uint16_t)(1u << i);
	atomic_store_explicit(&w->of_site[id], set, memory_order_relaxed);
}

/* Two bits behind the highest one. */
static uint32_t bucket_of(uint64_t v)
{
	unsigned int top = 63u - (unsigned int)__builtin_clzll(v | 4);

	return (top << 2 | (uint32_t)(v >> (top - 2) & 3)) & (WATCH_BUCKETS - 1);
}

/* Does not wake the thread for what is not written: every turn of the thread begins a generation,
 * and many small ones hold less. */
static void fire(struct tracer_watch *w)
{
	if (tracer_ns() < atomic_load_explicit(&w->next_ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&w->fired, 1, memory_order_release);
	coati_tracer_wake(&coati_tracer.asked);
}

void coati_tracer_watch_task(uint32_t site, uint64_t units)
{
	struct tracer_watches *w = &coati_tracer_watches;
	uint16_t set = site <= LIVE_SITES_MAX
			       ? atomic_load_explicit(&w->of_site[site], memory_order_relaxed)
			       : 0;

	for (uint32_t i = 0; i < WATCHES; i++) {
		struct tracer_watch *one = &w->v[i];
		uint64_t limit = atomic_load_explicit(&one->limit, memory_order_relaxed);

		if (!(set & 1u << i))
			continue;
		atomic_fetch_add_explicit(&one->durations[bucket_of(units)], 1,
					  memory_order_relaxed);
		if (limit && units > limit)
			fire(one);
	}
}

void coati_tracer_watch_signal(int sig)
{
	int keep = errno;

	for (uint32_t i = 0; i < WATCHES; i++)
		if (atomic_load_explicit(&coati_tracer_watches.v[i].signal, memory_order_relaxed) ==
		    sig)
			fire(&coati_tracer_watches.v[i]);
	errno = keep;
}
