/* SPDX-License-Identifier: MIT */
/*
 * A program for each kind of finding, and one that nearly has it.
 *
 *	trouble KIND [near]
 */
#include <coati/live.h>
#include <coati/tracer.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LENGTH_MS 500
#define MEMORY	  (16u << 20)

static _Thread_local volatile uint64_t sink;
static bool near;

/* Of the CPU time of this thread: a machine that is busy makes it take longer, not do less. */
static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void __attribute__((noinline)) first(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds * 100; i++)
		sink = sink * 5 + i;
}

static void __attribute__((noinline)) second(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds * 100; i++)
		sink = sink * 7 + i;
}

static void __attribute__((noinline)) third(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds * 100; i++)
		sink = sink * 9 + i;
}

static void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static void mixed(uint32_t rounds)
{
	first(rounds);
	second(rounds);
	third(rounds);
}

/* ---- kinds: what one thread does ---- */

static void *spin(void *arg)
{
	for (uint64_t end = now_ms() + LENGTH_MS / 2; now_ms() < end;)
		mixed(20);
	return arg;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Near: the lock is held for a hundredth of the time. */
static void *queue(void *arg)
{
	for (uint64_t end = now_ms() + LENGTH_MS / 4; now_ms() < end;) {
		pthread_mutex_lock(&lock);
		mixed(near ? 1 : 100);
		if (!near)
			nap(200);
		pthread_mutex_unlock(&lock);
		mixed(near ? 300 : 1);
	}
	return arg;
}

/* Near: it waits for 2 ms where the other asks again at once. */
static void *ask(void *arg)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLPRI };
	int pipes[2];

	if (pipe(pipes) < 0)
		return arg;
	fd.fd = pipes[0];
	for (uint64_t end = now_ms() + LENGTH_MS; now_ms() < end;) {
		(void)poll(&fd, 1, near ? 2 : 0);
		if (near)
			mixed(100);
	}
	return arg;
}

/* Near: most of the time goes into computing on the memory. */
static void *touch(void *arg)
{
	for (uint64_t end = now_ms() + LENGTH_MS; now_ms() < end;) {
		char *p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			return arg;
		madvise(p, MEMORY, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < MEMORY / (near ? 16 : 1); i += 4096)
			p[i] = 1;
		munmap(p, MEMORY);
		if (near)
			mixed(20000);
	}
	return arg;
}

static void *hot(void *arg)
{
	for (uint64_t end = now_ms() + LENGTH_MS; now_ms() < end;) {
		first(near ? 100 : 1000);
		second(near ? 100 : 50);
		third(near ? 100 : 50);
	}
	return arg;
}

/* Near: the slow ones take a few times as long as the others. */
static void *serve(void *arg)
{
	for (int i = 0; i < 300; i++) {
		struct coati_live_task task;

		COATI_TASK_BEGIN(&task, "query", NULL);
		nap(i % 50 ? 1000 : near ? 3000 : 30000);
		coati_task_end(&task);
	}
	return arg;
}

static const struct kind {
	const char *name;
	void *(*work)(void *);
	int threads, near_threads;
} kinds[] = {
	{ "run-queue", spin, 8, 1 },   { "lock-convoy", queue, 4, 2 },
	{ "busy-polling", ask, 1, 1 }, { "fault-storm", touch, 1, 1 },
	{ "hot-function", hot, 1, 1 }, { "long-tail", serve, 1, 1 },
};

static int start(const struct kind *k)
{
	int nr = near ? k->near_threads : k->threads;
	pthread_t threads[8];

	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, k->work, NULL))
			return 1;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	near = argc == 3 && !strcmp(argv[2], "near");
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return start(&kinds[i]);
	fprintf(stderr, "usage: trouble KIND [near]\n");
	return 2;
}
