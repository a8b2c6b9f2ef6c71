/* SPDX-License-Identifier: MIT */
/*
 * The live clock. Two pairs of (monotonic, cycles, monotonic) are taken @budget apart; the
 * midpoints give rate and base, the widths of the brackets and the tick of the counter give the
 * error. Needs clock_gettime alone.
 */
#include <coati/live.h>

#include <errno.h>

#include <coati/version.h>

#include "arch/clock-pair.h"

#define SHIFT		  24
#define DEFAULT_BUDGET_NS 2000000u
#define MAX_BUDGET_NS	  1000000000u

static uint64_t cycles_to_ns(uint64_t cycles, uint32_t mult, uint32_t shift)
{
	return (uint64_t)(((unsigned __int128)cycles * mult) >> shift);
}

const char *coati_live_version(void)
{
	return COATI_VERSION_STRING;
}

int coati_live_clock_init(struct coati_live_clock *ret, uint64_t budget_ns)
{
	unsigned __int128 mult;
	struct arch_pair a, b;

	if (!ret || budget_ns > MAX_BUDGET_NS)
		return -EINVAL;
	*ret = (struct coati_live_clock){ .source = 0 };
	if (!arch_cycles_invariant())
		return 0;
	a = arch_take_pair();
	do
		b = arch_take_pair();
	while (b.ns - a.ns < (budget_ns ? budget_ns : DEFAULT_BUDGET_NS));
	if (b.cycles <= a.cycles || b.ns <= a.ns)
		return 0; /* the pairs contradict each other */
	mult = ((unsigned __int128)(b.ns - a.ns) << SHIFT) / (b.cycles - a.cycles);
	if (!mult || mult > UINT32_MAX)
		return 0; /* slower than 4 MHz or faster than any CPU */
	*ret = (struct coati_live_clock){
		.source = 1,
		.mult = (uint32_t)mult,
		.shift = SHIFT,
		.cycles_base = b.cycles,
		.ns_base = b.ns,
		.error_ns = (a.width_ns + b.width_ns) / 2 +
			    2 * cycles_to_ns(1, (uint32_t)mult, SHIFT) + 2,
		.hz = (uint64_t)((unsigned __int128)(b.cycles - a.cycles) * 1000000000u /
				 (b.ns - a.ns)),
	};
	return 0;
}

uint64_t coati_live_clock_now(const struct coati_live_clock *clock)
{
	uint64_t cycles;

	if (clock->source != 1)
		return arch_monotonic_ns();
	cycles = arch_cycles();
	if (cycles < clock->cycles_base) /* a CPU a few cycles behind */
		return clock->ns_base -
		       cycles_to_ns(clock->cycles_base - cycles, clock->mult, clock->shift);
	return clock->ns_base +
	       cycles_to_ns(cycles - clock->cycles_base, clock->mult, clock->shift);
}
