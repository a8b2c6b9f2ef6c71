/* SPDX-License-Identifier: MIT */
/* A lock of the program's own in the mutex profile, which is printed as text: spinlock */
#include <coati/locks.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_flag taken = ATOMIC_FLAG_INIT;
static long rounds;

static void lock(void)
{
	struct coati_wait wait;

	if (!atomic_flag_test_and_set(&taken))
		return;
	coati_wait_begin(&wait, &taken);
	while (atomic_flag_test_and_set(&taken))
		sched_yield();
	coati_wait_end(&wait);
}

static void unlock(void)
{
	coati_wait_release(&taken); /* the waits of others are charged to this thread */
	atomic_flag_clear(&taken);
}

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++) {
		lock();
		rounds++;
		usleep(100);
		unlock();
	}
	return arg;
}

int main(void)
{
	struct coati_locks_opts opts = { .size = sizeof(opts), .mutex_fraction = 1 };
	struct coati_locks_stats stats = { .size = sizeof(stats) };
	struct coati_error err = { 0, 0, "" };
	pthread_t thread;
	int r = coati_locks_start(&opts, &err);

	if (r < 0 || pthread_create(&thread, NULL, work, NULL))
		return 1;
	work(NULL);
	pthread_join(thread, NULL);
	r = coati_locks_write(COATI_LOCKS_MUTEX, STDOUT_FILENO, COATI_LOCKS_TEXT, &err);
	coati_locks_stats(&stats);
	printf("%ld rounds, %llu waits untracked\n", rounds, (unsigned long long)stats.untracked);
	coati_locks_stop();
	return r < 0;
}
