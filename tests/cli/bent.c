/* SPDX-License-Identifier: MIT */
/*
 * bent KIND SECONDS: CPU time in a function whose unwind data is wrong. "still": the caller has the
 * same stack pointer, so that a walk would never move. "far": the caller's frame is 8 MiB above.
 * "loop": the caller is the function itself.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#if defined(__x86_64__)
#define SPIN(name, cfi)                                           \
	void name(unsigned long n);                               \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n" \
		".cfi_startproc\n" cfi "\n"                       \
		"1: dec %rdi\n2: jnz 1b\nret\n"                   \
		".cfi_endproc\n.size " #name ", .-" #name "\n");

SPIN(spin_still, ".cfi_def_cfa_offset 0")
SPIN(spin_far, ".cfi_def_cfa_offset 8388608")
/* the return address is said to be in the register that holds an address of this very code */
SPIN(spin_loop, "lea 2f(%rip), %rax\n.cfi_register rip, rax\n.cfi_def_cfa_offset 0")
#else
static void spin_still(unsigned long n)
{
	while (n--)
		sink++;
}
#define spin_far  spin_still
#define spin_loop spin_still
#endif

int main(int argc, char **argv)
{
	double until = argc == 3 ? strtod(argv[2], NULL) : 0;

	if (argc != 3)
		return 2;
	do {
		if (!strcmp(argv[1], "still"))
			spin_still(1000000);
		else if (!strcmp(argv[1], "far"))
			spin_far(1000000);
		else
			spin_loop(1000000);
		sink++;
	} while (used() < until);
	return 0;
}
