/* SPDX-License-Identifier: MIT */
/* see probed.h */
#include "probed.h"

__attribute__((noinline)) int coati_test_target(int n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n + 1;
}

__attribute__((noinline)) int coati_test_recursive(int n)
{
	int below = n > 1 ? coati_test_recursive(n - 1) : 0;

	__asm__ volatile("" : "+r"(below) : : "memory"); /* no tail call, no loop */
	return below + 1;
}

/* A USDT probe made by hand: one instruction, a note that points to it, and the counter that a
 * tracer raises while it listens. */
__attribute__((section(".probes"), used)) volatile uint16_t coati_test_semaphore;

__attribute__((noinline)) void coati_test_tick(void)
{
	__asm__ volatile("1:	nop\n"
			 "	.pushsection .note.stapsdt, \"\", %note\n"
			 "	.balign 4\n"
			 "	.4byte 3f - 2f, 5f - 4f, 3\n"
			 "2:	.asciz \"stapsdt\"\n"
			 "3:	.balign 4\n"
			 "4:	.8byte 1b, 0, coati_test_semaphore\n"
			 "	.asciz \"coati_test\", \"tick\", \"\"\n"
			 "5:	.balign 4\n"
			 "	.popsection\n");
}
