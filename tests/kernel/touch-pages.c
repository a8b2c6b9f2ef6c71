/* SPDX-License-Identifier: MIT */
/*
 * A program whose page faults are known: maps 1000 fresh pages, writes to each, ends. No libc and
 * no dynamic linking, so that nothing before or after adds faults that differ from run to run.
 */
#define NR_PAGES  1000
#define PAGE_STEP 4096

#if defined(__x86_64__)
#define NR_MMAP	   9
#define NR_MADVISE 28
#define NR_EXIT	   231
static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
#define NR_MMAP	   222
#define NR_MADVISE 233
#define NR_EXIT	   94
static long call(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = -1;
	register long x5 __asm__("x5") = 0;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system calls for this architecture yet"
#endif

void _start(void);
void _start(void)
{
	/* PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MADV_NOHUGEPAGE */
	volatile char *p = (volatile char *)call(NR_MMAP, 0, (long)NR_PAGES * PAGE_STEP, 3, 0x22);

	call(NR_MADVISE, (long)p, (long)NR_PAGES * PAGE_STEP, 15, 0);
	for (long i = 0; i < NR_PAGES; i++)
		p[i * PAGE_STEP] = 1;
	call(NR_EXIT, 0, 0, 0, 0);
	for (;;)
		;
}
