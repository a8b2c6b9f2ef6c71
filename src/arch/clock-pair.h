/* SPDX-License-Identifier: MIT */
/* The cycle counter and CLOCK_MONOTONIC at the same moment. */
#pragma once

#include <time.h>

#include "arch/cycles.h"

struct arch_pair {
	uint64_t ns, cycles, width_ns; /* the moment is somewhere in that width around ns */
};

static inline uint64_t arch_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The narrower of a pair and of a bracket around one reading of the counter; of two that are as
 * narrow, the pair. */
static inline struct arch_pair arch_narrower(struct arch_pair best, uint64_t before,
					     uint64_t cycles, uint64_t after)
{
	if (after >= before && after - before < best.width_ns)
		return (struct arch_pair){ before + (after - before) / 2, cycles, after - before };
	return best;
}

/* The narrowest of a few brackets: a preempted one is wide. */
static inline struct arch_pair arch_take_pair(void)
{
	struct arch_pair best = { 0, 0, UINT64_MAX };

	for (int i = 0; i < 8; i++) {
		uint64_t before = arch_monotonic_ns();
		uint64_t cycles = arch_cycles();

		best = arch_narrower(best, before, cycles, arch_monotonic_ns());
	}
	return best;
}
