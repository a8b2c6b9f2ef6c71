/* SPDX-License-Identifier: MIT */
/*
 * Performance counters through their EL0 registers: 31 is the cycle counter, 0 to 30 are the event
 * counters. Each has a register name of its own, so the number is turned into a jump.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARCH_CYCLE_COUNTER 31

/* One case of the jump. */
#define ARCH_READ_(n)                                                                  \
	case n:                                                                        \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(v) : : "memory"); \
		break
#define ARCH_READ4_(a, b, c, d) \
	ARCH_READ_(a);          \
	ARCH_READ_(b);          \
	ARCH_READ_(c);          \
	ARCH_READ_(d)

static inline bool arch_has_counter(void)
{
	return true;
}

static inline bool arch_counter(uint32_t counter, uint64_t *ret)
{
	uint64_t v = 0;

	switch (counter) {
		ARCH_READ4_(0, 1, 2, 3);
		ARCH_READ4_(4, 5, 6, 7);
		ARCH_READ4_(8, 9, 10, 11);
		ARCH_READ4_(12, 13, 14, 15);
		ARCH_READ4_(16, 17, 18, 19);
		ARCH_READ4_(20, 21, 22, 23);
		ARCH_READ4_(24, 25, 26, 27);
		ARCH_READ_(28);
		ARCH_READ_(29);
		ARCH_READ_(30);
	case ARCH_CYCLE_COUNTER:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v) : : "memory");
		break;
	default: /* kernels may give out counters that are newer than this list */
		return false;
	}
	/* the count must be read before the lock is looked at again */
	__asm__ volatile("isb" : : : "memory");
	*ret = v;
	return true;
}

#undef ARCH_READ4_
#undef ARCH_READ_
