/* SPDX-License-Identifier: MIT */
/*
 * sandwich MILLISECONDS: again and again a system call (getppid), a live event, and the system call
 * again, now on one CPU, now on another. The event's time must lie between the end of the first and
 * the beginning of the second, as the kernel tells them. Prints how many.
 */
#include <coati/live.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void move(long i)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)(i % nr), &one);
	sched_setaffinity(0, sizeof(one), &one); /* not all may be ours */
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 100);
	struct timespec pause = { .tv_nsec = 50000 };
	long i = 0;

	for (; now() < end; i++) {
		if (i % 16 == 0)
			move(i / 16);
		syscall(SYS_getppid);
		COATI_LOG("sandwich", "filling");
		syscall(SYS_getppid);
		nanosleep(&pause, NULL);
	}
	printf("%ld\n", i);
	return 0;
}
