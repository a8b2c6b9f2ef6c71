/* SPDX-License-Identifier: MIT */
/* Performance counters through RDPMC; fixed counters have bit 30 set in the number that the kernel
 * gives. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool arch_has_counter(void)
{
	return true;
}

static inline bool arch_counter(uint32_t counter, uint64_t *ret)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter) : "memory");
	*ret = (uint64_t)high << 32 | low;
	return true;
}
