/* SPDX-License-Identifier: MIT */
/* touch-pages N: touches N fresh pages, one fault each. With 0 it shows what a program costs
 * anyway. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p;

	if (!nr)
		return 0;
	p = mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	/* Large pages would take many of our pages with one fault. */
	madvise((void *)(size_t)p, nr * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr; i++)
		p[i * page] = 1;
	return 0;
}
