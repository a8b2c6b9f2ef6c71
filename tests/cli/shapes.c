/* SPDX-License-Identifier: MIT */
/*
 * shapes MILLISECONDS THREADS: frames of all shapes for MILLISECONDS in each of THREADS threads:
 * arrays of variable length, realigned stacks, callbacks through libc and its PLT, the vDSO, and a
 * signal handler on a stack of its own that interrupts all of them and calls, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double vector __attribute__((vector_size(32)));

#define STACK_BYTES 65536

static unsigned long limit_ms;
static volatile unsigned long sink;

static int compare(const void *a, const void *b)
{
	sink += *(const unsigned int *)a;
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

__attribute__((noinline)) static unsigned long spin(unsigned long n)
{
	for (unsigned long i = 0; i < 20000; i++)
		sink += i ^ n;
	return sink;
}

__attribute__((noinline)) static unsigned long aligned(unsigned long n)
{
	volatile vector v __attribute__((aligned(64))) = { 1, 2, 3, (double)n };

	return spin((unsigned long)v[3]) + (unsigned long)v[1];
}

__attribute__((noinline)) static unsigned long variable(unsigned int n)
{
	int values[n + 8];

	for (unsigned int i = 0; i < n + 8; i++)
		values[i] = (int)(i * 7919u % 101);
	qsort(values, n + 8, sizeof(*values), compare);
	return aligned(n) + (unsigned long)values[n / 2];
}

__attribute__((noinline)) static unsigned long down(unsigned int n)
{
	return n ? down(n - 1) + variable(n) : spin(n);
}

static void on_signal(int number)
{
	sink += variable((unsigned int)number);
}

static unsigned long elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)((now.tv_sec - since->tv_sec) * 1000 +
			       (now.tv_nsec - since->tv_nsec) / 1000000);
}

static void *run(void *unused)
{
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
	struct timespec since;

	sigaltstack(&stack, NULL);
	clock_gettime(CLOCK_MONOTONIC, &since);
	while (elapsed_ms(&since) < limit_ms) {
		down(6);
		raise(SIGUSR1);
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return unused;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct timespec every = { .tv_nsec = 1000000 };
	struct itimerspec spec = { every, every };
	unsigned long nr = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	pthread_t *threads = calloc(nr + 1, sizeof(*threads));
	timer_t timer;

	limit_ms = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	if (!threads || sigaction(SIGUSR1, &act, NULL) < 0 || sigaction(SIGALRM, &act, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0 ||
	    timer_settime(timer, 0, &spec, NULL) < 0)
		return 1;
	for (unsigned long i = 1; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	run(NULL);
	for (unsigned long i = 1; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
