/* SPDX-License-Identifier: MIT */
/*
 * A load that changes when it is told to: for coati top.
 *
 *	shift		a tenth of a CPU in alpha; from SIGUSR1 on in beta; at SIGUSR2 once 0.8 s of
 *			CPU
 *			time in planted_spike
 *	shift NAME	the same with NAME as the name of its thread, whatever bytes it has
 *	shift -c	starts a thread and a process again and again, each with a name of its own
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define MS 1000000

static volatile uint64_t sink;
static volatile sig_atomic_t shifted, spikes;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

WORKER(alpha)
WORKER(beta)
WORKER(planted_spike)

static void spend(void (*work)(uint32_t rounds), uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		work(100000);
}

static void on_signal(int number)
{
	if (number == SIGUSR1)
		shifted = 1;
	else
		spikes++;
}

static void *name_myself(void *name)
{
	prctl(PR_SET_NAME, name);
	spend(alpha, MS);
	return NULL;
}

static void crowd(void)
{
	for (unsigned int i = 0;; i++) {
		char name[16];
		pthread_t t;

		snprintf(name, sizeof(name), "crowd-%u", i);
		if (pthread_create(&t, NULL, name_myself, name) == 0)
			pthread_join(t, NULL);
		if (i % 16 == 0 && fork() == 0) {
			name_myself(name);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

int main(int argc, char **argv)
{
	const struct timespec rest = { .tv_nsec = 45 * MS };

	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	if (argc > 1 && !strcmp(argv[1], "-c"))
		crowd();
	if (argc > 1)
		prctl(PR_SET_NAME, argv[1]);
	for (;;) {
		spend(shifted ? beta : alpha, 5 * MS);
		for (; spikes; spikes--)
			spend(planted_spike, 800 * MS);
		nanosleep(&rest, NULL);
	}
}
