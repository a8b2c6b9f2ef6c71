/* SPDX-License-Identifier: MIT */
/* A handler that calls, runs again and again in the midst of other calls. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int hits;

__attribute__((noinline)) static void inner(int n)
{
	hits += n;
}

static void handler(int sig)
{
	inner(sig);
	if (hits % 3 == 0)
		inner(1);
}

__attribute__((noinline)) static int work(int depth)
{
	volatile int x = depth;

	if (depth % 4 == 0)
		raise(SIGUSR1);
	if (depth % 5 == 0)
		kill(getpid(), SIGUSR2);
	return depth ? work(depth - 1) + x : 0;
}

int main(void)
{
	struct sigaction act = { .sa_handler = handler };

	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	return work(40) < 0;
}
