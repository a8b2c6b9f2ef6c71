/* SPDX-License-Identifier: MIT */
/* What a loop that waits for another CPU does in between: lets the sibling thread run, saves
 * power. */
#pragma once

static inline void arch_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}
