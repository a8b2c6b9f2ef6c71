/* SPDX-License-Identifier: MIT */
/* Virtual count register of the generic timer: one rate on all CPUs by architecture. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t arch_cycles(void)
{
	uint64_t v;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v) : : "memory");
	return v;
}

static inline bool arch_cycles_invariant(void)
{
	return true;
}
