/* SPDX-License-Identifier: MIT */
/* Time stamp counter. */
#pragma once

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

static inline uint64_t arch_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/* Constant rate in every P-, C- and T-state: what the CPU promises in leaf 0x80000007. */
static inline bool arch_cycles_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
