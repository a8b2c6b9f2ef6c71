/* SPDX-License-Identifier: MIT */
/*
 * Runs a command once, its output thrown away, and prints "WALL_NS PEAK_BYTES CPU_NS". A program
 * of its own because the peak that the kernel reports for a child starts from the size of the
 * process that started it: this one is small.
 *
 *	bench-spawn COMMAND [ARGUMENT...]
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

extern char **environ;

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	uint64_t start_ns;
	int status, r;
	pid_t pid;

	if (argc < 2)
		return 2;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	start_ns = bench_now_ns();
	r = posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ);
	if (r) {
		fprintf(stderr, "bench-spawn: %s: %s\n", argv[1], strerror(r));
		return 127;
	}
	if (wait4(pid, &status, 0, &usage) < 0)
		return 1;
	printf("%llu %llu %llu\n", (unsigned long long)(bench_now_ns() - start_ns),
	       (unsigned long long)usage.ru_maxrss * 1024,
	       (unsigned long long)(time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime)));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
