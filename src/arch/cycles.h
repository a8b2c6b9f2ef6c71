/* SPDX-License-Identifier: MIT */
/* The cycle counter of this CPU: reading it, and whether it runs at one rate and never stops. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64/cycles.h"
#elif defined(__aarch64__)
#include "arch/aarch64/cycles.h"
#else
static inline uint64_t arch_cycles(void)
{
	return 0;
}
static inline bool arch_cycles_invariant(void)
{
	return false;
}
#endif
