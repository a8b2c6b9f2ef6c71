/* SPDX-License-Identifier: MIT */
/*
 * A program to watch: ten threads, each busy for a tenth of the time in a few functions, until it
 * is killed. Says "ready" when all of them run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define THREADS 10
#define MS	1000000

static volatile uint64_t sink;
static pthread_barrier_t started;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define WORK(name)                                              \
	static void __attribute__((noinline)) name(uint64_t ns) \
	{                                                       \
		uint64_t end = cpu_ns() + ns;                   \
                                                                \
		while (cpu_ns() < end)                          \
			for (uint32_t i = 0; i < 20000; i++)    \
				sink = sink * 3 + i;            \
		__asm__ volatile("# " #name);                   \
	}
WORK(parse)
WORK(look_up)
WORK(render)

static void *serve(void *unused)
{
	const struct timespec rest = { .tv_nsec = 36 * MS };

	pthread_barrier_wait(&started);
	for (;;) {
		parse(2 * MS);
		look_up(MS);
		render(MS);
		nanosleep(&rest, NULL);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&started, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	pthread_barrier_wait(&started);
	puts("ready");
	fflush(stdout);
	pthread_join(threads[0], NULL);
}
