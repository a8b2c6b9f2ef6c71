/* SPDX-License-Identifier: MIT */
/* Functions that compute, for programs that are recorded; `sink` is the program's. */
#pragma once

#include <stdint.h>

/* Each stays a function of its own, though they do the same. */
#define WORKER(name)                                                        \
	static void __attribute__((noinline)) name(uint32_t rounds)         \
	{                                                                   \
		uint64_t x = sink | 1;                                      \
                                                                            \
		for (uint32_t i = 0; i < rounds; i++)                       \
			x = x * UINT64_C(6364136223846793005) + 1442695041; \
		sink = x;                                                   \
		__asm__ volatile("# " #name);                               \
	}
