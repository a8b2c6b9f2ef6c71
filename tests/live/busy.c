/* SPDX-License-Identifier: MIT */
/*
 * A program whose profiles are known, for tests/live/run: three quarters of its memory in use are
 * keep_much()'s, with a label, and one quarter keep_little()'s; hold_long() lets wait_for_it()
 * wait; a thread spins in spin_around(). Serves on a free port of localhost, which it prints, until
 * its input ends.
 */
#include <coati/heap.h>
#include <coati/live.h>
#include <coati/locks.h>
#include <coati/serve.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/heap-hook.h>
#include <coati/locks-hook.h>

#define BLOCKS 4000

static void *kept[4 * BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool ending;

static __attribute__((noinline)) void keep_much(int i)
{
	COATI_LABEL("tenant", "acme");
	for (int k = 0; k < 3; k++)
		kept[4 * i + k] = malloc(1000);
}

static __attribute__((noinline)) void keep_little(int i)
{
	kept[4 * i + 3] = malloc(1000);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void keep_both(int i)
{
	keep_much(i);
	keep_little(i);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void keep_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep_both(i);
}

static __attribute__((noinline)) void hold_long(void)
{
	pthread_mutex_lock(&lock);
	usleep(2000);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void wait_for_it(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");
}

static void *hold(void *arg)
{
	while (!atomic_load(&ending)) {
		hold_long();
		usleep(200);
	}
	return arg;
}

static void *wait(void *arg)
{
	while (!atomic_load(&ending)) {
		wait_for_it();
		usleep(200);
	}
	return arg;
}

static __attribute__((noinline)) void spin_around(void)
{
	while (!atomic_load(&ending))
		__asm__ volatile("");
}

static void *spin(void *arg)
{
	spin_around();
	return arg;
}

int main(void)
{
	struct coati_heap_opts heap = { .size = sizeof(heap), .rate_bytes = 8192, .seed = 1 };
	struct coati_locks_opts locks = { .size = sizeof(locks),
					  .mutex_fraction = 1,
					  .block_rate_ns = 1 };
	void *(*const starts[])(void *) = { hold, wait, spin };
	struct coati_server *server;
	struct coati_error err;
	pthread_t threads[3];

	if (coati_heap_start(&heap, &err) < 0 || coati_locks_start(&locks, &err) < 0 ||
	    coati_serve("localhost:0", NULL, &server, &err) < 0) {
		fprintf(stderr, "busy: %s\n", err.text);
		return 1;
	}
	keep_all();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, starts[i], NULL);
	printf("http://127.0.0.1:%u/debug/pprof/\n", coati_server_port(server));
	fflush(stdout);
	while (getchar() != EOF)
		;
	atomic_store(&ending, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	coati_server_stop(server);
	for (int i = 0; i < 4 * BLOCKS; i++)
		free(kept[i]);
	return 0;
}
