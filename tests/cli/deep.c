/* SPDX-License-Identifier: MIT */
/* deep FRAMES SECONDS: so much CPU time below a stack of so many frames of about 250 bytes. */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long down(int frames, double until)
{
	volatile char room[200];

	room[0] = (char)frames;
	if (frames > 0)
		return down(frames - 1, until) + (unsigned long)room[0];
	do
		for (unsigned long i = 0; i < 100000; i++)
			sink += i;
	while (used() < until);
	return sink;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	return (int)(down((int)strtol(argv[1], NULL, 10), strtod(argv[2], NULL)) & 0);
}
