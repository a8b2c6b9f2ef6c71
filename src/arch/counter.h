/* SPDX-License-Identifier: MIT */
/*
 * Reading a hardware counter of this CPU from user space. @counter is the index of the control page
 * less one. Only right between two equal readings of the page's lock: elsewhere the counter may
 * belong to another event, or the instruction may not be allowed. False: a counter that we cannot
 * read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64/counter.h"
#elif defined(__aarch64__)
#include "arch/aarch64/counter.h"
#else
static inline bool arch_has_counter(void)
{
	return false;
}
static inline bool arch_counter(uint32_t counter, uint64_t *ret)
{
	return false;
}
#endif
