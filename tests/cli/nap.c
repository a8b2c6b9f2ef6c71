/* SPDX-License-Identifier: MIT */
/*
 * nap ROUNDS: thread "napper" sleeps in take_a_nap(), while thread "spinner" computes in
 * spin_here() on the same CPU: the timer that ends a nap interrupts the spinner.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_bool over;
static int rounds;

__attribute__((noinline)) static void take_a_nap(void)
{
	usleep(1000);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) static void spin_here(void)
{
	while (!atomic_load(&over))
		;
}

static void *spin(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "spinner");
	spin_here();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t spinner;
	cpu_set_t all, one;

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return 1;
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return 1;
	prctl(PR_SET_NAME, "napper");
	if (pthread_create(&spinner, NULL, spin, NULL) != 0)
		return 1;
	for (int i = 0; i < rounds; i++)
		take_a_nap();
	atomic_store(&over, 1);
	pthread_join(spinner, NULL);
	return 0;
}
