/* SPDX-License-Identifier: MIT */
/*
 * The live clock. Two pairs of (monotonic, cycles, monotonic) are taken @budget apart; the
 * midpoints give rate and base, the widths of the brackets and the tick of the counter give the
 * error. Needs clock_gettime alone.
 */
#include "live/clock.h"

#include <errno.h>

#include <coati/version.h>

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

struct coati_live_clock coati_live_clock_of(const struct arch_pair *a, const struct arch_pair *b)
{
	const struct coati_live_clock none = { .source = 0 };
	uint64_t ns = b->ns - a->ns, cycles = b->cycles - a->cycles;
	unsigned __int128 mult;

	/* the pairs contradict each other */
	if (b->cycles <= a->cycles || b->ns <= a->ns)
		return none;
	mult = ((unsigned __int128)ns << SHIFT) / cycles;
	if (!mult || mult > UINT32_MAX)
		return none; /* slower than 4 MHz or faster than any CPU */
	return (struct coati_live_clock){
		.source = 1,
		.mult = (uint32_t)mult,
		.shift = SHIFT,
		.cycles_base = b->cycles,
		.ns_base = b->ns,
		.error_ns = (a->width_ns + b->width_ns) / 2 +
			    2 * cycles_to_ns(1, (uint32_t)mult, SHIFT) + 2,
		.hz = (uint64_t)((unsigned __int128)cycles * 1000000000u / ns),
	};
}

static struct coati_live_clock measure(uint64_t budget_ns)
{
	struct arch_pair a = arch_take_pair(), b;

	do
		b = arch_take_pair();
	while (b.ns - a.ns < budget_ns);
	return coati_live_clock_of(&a, &b);
}

int coati_live_clock_init(struct coati_live_clock *ret, uint64_t budget_ns)
{
	if (!ret || budget_ns > MAX_BUDGET_NS)
		return -EINVAL;
	*ret = arch_cycles_invariant() ? measure(budget_ns ? budget_ns : DEFAULT_BUDGET_NS)
				       : (struct coati_live_clock){ .source = 0 };
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
