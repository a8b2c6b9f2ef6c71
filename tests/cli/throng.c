/* SPDX-License-Identifier: MIT */
/*
 * throng THREADS MAPPINGS PAGES: THREADS threads, all there at once, each of which touches PAGES
 * pages of its own below a few frames, while MAPPINGS mappings of code are made. Prints how many
 * pages were touched.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE	    4096
#define STACK_BYTES 65536
#define DEPTH	    10

static pthread_barrier_t all;
static volatile char *pages;
static size_t nr_pages;

__attribute__((noinline)) static int down(size_t number, int n)
{
	volatile int kept = n;

	if (n)
		return down(number, n - 1) + kept;
	for (size_t i = 0; i < nr_pages; i++)
		pages[(number * nr_pages + i) * PAGE] = 1;
	return kept;
}

static void *run(void *number)
{
	pthread_barrier_wait(&all);
	down((size_t)number, DEPTH);
	pthread_barrier_wait(&all);
	return NULL;
}

/* Every other one can be written to: they stay apart. */
static int map_code(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC | (i % 2 ? PROT_WRITE : 0),
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	size_t nr = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_attr_t attr;
	pthread_t *threads = calloc(nr + 1, sizeof(*threads));
	size_t bytes;

	nr_pages = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	bytes = nr * nr_pages * PAGE;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!threads || pages == MAP_FAILED)
		return 1;
	madvise((void *)(size_t)pages, bytes, MADV_NOHUGEPAGE);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_barrier_init(&all, NULL, (unsigned int)nr + 1);
	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, run, (void *)i))
			return 2;
	pthread_barrier_wait(&all);
	if (map_code(strtoul(argv[2], NULL, 10)) < 0)
		return 3;
	pthread_barrier_wait(&all);
	for (size_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("%zu %zu %zu\n", nr * nr_pages, (size_t)pages, (size_t)pages + bytes);
	free(threads);
	return 0;
}
