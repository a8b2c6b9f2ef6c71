/* SPDX-License-Identifier: MIT */
/*
 * requests NUMBER CAUSE [MICROSECONDS [EVERY]]: a server without a network. Two workers take
 * requests one after the other, each a task with regions parse, lookup and reply that compute for
 * so long in all (1000). Every hundredth (EVERY) request has bad luck, by CAUSE:
 *	none	it has not
 *	lock	somebody holds the lock that it needs, for ten times as long as a request takes
 *	fault	it touches fresh memory, page by page, for as long
 *	cpu	it computes ten times as long
 *	two	lock and cpu by turns
 *	convoy	it computes ten times as long and holds the lock that the other worker needs
 *	kill	the process is killed
 *	sizes	it has not either, but no two requests are of the same size: they compute for so
 *		long on average, in an exponential distribution
 *	loop	one thread works on eight requests by turns, in four steps each; one that has bad
 *		luck computes forty times as long in its second step, in the region hog
 * Prints "NAME TID" of the threads, and how many had bad luck.
 */
#include <coati/live.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <coati/tracer.h>

#define WORKERS 2
#define TIMES	10

static long number, work_us = 1000, every = 100;
static const char *cause;
static atomic_long next_request, unlucky;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ask = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int asked, held, over;
static unsigned long times_held;

/* CPU time, not time: a neighbor on the same CPU must not make it do less. */
static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

__attribute__((noinline)) static void compute(long us)
{
	uint64_t end = cpu_us() + (uint64_t)us;
	volatile uint64_t sum = 0;

	while (cpu_us() < end)
		for (int i = 0; i < 1000; i++)
			sum += (uint64_t)i;
	(void)sum;
}

__attribute__((noinline)) static void burn(long us)
{
	compute(us);
}

__attribute__((noinline)) static void touch_memory(long us)
{
	uint64_t end = cpu_us() + (uint64_t)us;

	while (cpu_us() < end) {
		size_t size = 1u << 20;
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			return;
		madvise(p, size, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		munmap(p, size);
	}
}

/* Holds the table for a while whenever it is asked to, and says when it does. */
static void *hold(void *arg)
{
	struct timespec t = { .tv_sec = work_us * TIMES / 1000000,
			      .tv_nsec = work_us * TIMES % 1000000 * 1000 };

	(void)arg;
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&ask);
	for (;;) {
		while (!asked && !over)
			pthread_cond_wait(&changed, &ask);
		if (over)
			break;
		asked = 0;
		pthread_mutex_lock(&table);
		held = 1;
		times_held++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&ask);
		nanosleep(&t, NULL);
		pthread_mutex_unlock(&table);
		pthread_mutex_lock(&ask);
		held = 0;
	}
	pthread_mutex_unlock(&ask);
	return NULL;
}

/* Who gets no CPU for that long may find that it was held, and is not any more. */
static void wait_for_holder(void)
{
	unsigned long before;

	pthread_mutex_lock(&ask);
	before = times_held;
	asked = 1;
	pthread_cond_broadcast(&changed);
	while (!held && times_held == before)
		pthread_cond_wait(&changed, &ask);
	pthread_mutex_unlock(&ask);
}

static int is(const char *name)
{
	return !strcmp(cause, name);
}

static void lookup(long i, int is_unlucky)
{
	int turn = (int)(i / every % 2);

	COATI_REGION("lookup");
	if (is_unlucky && (is("lock") || (is("two") && turn)))
		wait_for_holder();
	pthread_mutex_lock(&table);
	if (is_unlucky && is("convoy"))
		burn(work_us * TIMES);
	pthread_mutex_unlock(&table);
	if (is_unlucky && (is("cpu") || (is("two") && !turn)))
		burn(work_us * TIMES);
	if (is_unlucky && is("fault"))
		touch_memory(work_us * TIMES);
	if (is_unlucky && is("kill"))
		kill(getpid(), SIGKILL);
}

/* -log2() of a number between 0 and 1 that is drawn by the request's, nearly; its mean is 1 /
 * log(2). */
static long size_of(long i)
{
	uint64_t x = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	int zeros;

	x ^= x >> 31;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x |= 1;
	zeros = __builtin_clzll(x);
	x <<= zeros;
	return (long)((double)work_us * 0.69 * (zeros + 2 - 2 * (double)x * 0x1p-64));
}

static void serve(long i)
{
	int has_size = is("sizes");
	int is_unlucky = !is("none") && !has_size && i % every == every / 2;
	long us = has_size ? size_of(i) : work_us;
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	{
		COATI_TASK_SCOPE(&task);
		{
			COATI_REGION("parse");
			compute(us / 2);
		}
		lookup(i, is_unlucky);
		{
			COATI_REGION("reply");
			compute(us - us / 2);
		}
		if (is_unlucky)
			COATI_LOG("server", "request %ld had bad luck", i);
	}
	coati_task_end(&task);
	atomic_fetch_add(&unlucky, is_unlucky);
}

struct job {
	struct coati_live_task task;
	int steps, is_unlucky;
};

/* One step of a request. */
static void step(struct job *j)
{
	COATI_TASK_SCOPE(&j->task);
	COATI_REGION("step");
	compute(work_us / 4);
	if (j->is_unlucky && j->steps == 3) {
		COATI_REGION("hog");
		burn(work_us * TIMES * 4);
	}
}

/* Requests by turns: the first in line does a step, and goes to the end of the line. */
static void *loop(void *arg)
{
	struct job jobs[8];
	long live = 0, made = 0;

	prctl(PR_SET_NAME, arg);
	while (made < number || live) {
		struct job j;

		for (; live < 8 && made < number; made++) {
			jobs[live] =
				(struct job){ .steps = 4, .is_unlucky = made % every == every / 2 };
			COATI_TASK_BEGIN(&jobs[live].task, "request", NULL);
			atomic_fetch_add(&unlucky, jobs[live++].is_unlucky);
		}
		j = jobs[0];
		live--;
		memmove(jobs, jobs + 1, (size_t)live * sizeof(*jobs));
		step(&j);
		if (--j.steps)
			jobs[live++] = j;
		else
			coati_task_end(&j.task);
	}
	printf("%s %ld\n", (const char *)arg, syscall(SYS_gettid));
	return NULL;
}

static void *work(void *arg)
{
	long i;

	prctl(PR_SET_NAME, arg);
	while ((i = atomic_fetch_add(&next_request, 1)) < number)
		serve(i);
	printf("%s %ld\n", (const char *)arg, syscall(SYS_gettid));
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[WORKERS][16] = { "worker-a", "worker-b" };
	pthread_t workers[WORKERS], holder;
	int nr;

	number = argc > 1 ? atol(argv[1]) : 1000;
	cause = argc > 2 ? argv[2] : "none";
	work_us = argc > 3 ? atol(argv[3]) : work_us;
	every = argc > 4 ? atol(argv[4]) : every;
	pthread_create(&holder, NULL, hold, NULL);
	nr = is("loop") ? 1 : WORKERS;
	for (int i = 0; i < nr; i++)
		pthread_create(&workers[i], NULL, is("loop") ? loop : work, names[i]);
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i], NULL);
	pthread_mutex_lock(&ask);
	over = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&ask);
	pthread_join(holder, NULL);
	printf("unlucky %ld\n", atomic_load(&unlucky));
	return 0;
}
