/* SPDX-License-Identifier: MIT */
/*
 * A program that is recorded for the benchmarks of the recorder.
 *
 *	bench-mappings COUNT
 *	bench-mappings threads COUNT
 *
 * The first maps COUNT pages of itself executable, one after the other, at addresses that take
 * turns. The second has COUNT threads, which wait, and says "ready".
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES	    64 /* addresses that take turns */
#define STACK_BYTES ((size_t)64 << 10)

static int map_often(unsigned long count)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *base =
		mmap(NULL, (size_t)page * PLACES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || base == MAP_FAILED)
		return EXIT_FAILURE;
	for (unsigned long i = 0; i < count; i++) {
		char *at = base + (long)(i % PLACES) * page;

		if (mmap(at, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static void *wait_for_the_end(void *ctx)
{
	for (;;)
		pause();
	return ctx;
}

static int have_threads(unsigned long count)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned long i = 1; i < count; i++)
		if (pthread_create(&thread, &attr, wait_for_the_end, NULL))
			return EXIT_FAILURE;
	puts("ready");
	fflush(stdout);
	wait_for_the_end(NULL);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "threads"))
		return have_threads(strtoul(argv[2], NULL, 10));
	if (argc == 2)
		return map_often(strtoul(argv[1], NULL, 10));
	fprintf(stderr, "usage: bench-mappings COUNT | threads COUNT\n");
	return 2;
}
