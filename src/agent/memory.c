/* SPDX-License-Identifier: MIT */
/* see memory.h */
#include "agent/memory.h"

#define CALM_PAUSES 4 /* under the limit for so long: the next time is the first again */

static uint64_t next_pause(const struct memory_guard *g, uint64_t passed)
{
	if (!g->pause_ns || passed >= CALM_PAUSES * g->pause_ns)
		return MEMORY_PAUSE_FIRST;
	return g->pause_ns < MEMORY_PAUSE_MOST / 2 ? 2 * g->pause_ns : MEMORY_PAUSE_MOST;
}

bool coati_memory_guard(struct memory_guard *g, uint64_t now_ns, uint64_t bytes, uint64_t limit)
{
	uint64_t passed = now_ns - g->last_ns;

	if (bytes <= limit || (g->pause_ns && passed < g->pause_ns))
		return false;
	g->pause_ns = next_pause(g, passed);
	g->last_ns = now_ns;
	g->restarts++;
	return true;
}
