/* SPDX-License-Identifier: MIT */
/*
 * A program that is recorded for the benchmarks of the timeline: so many tasks, one after the
 * other, each with two regions. A task has eight events: it begins and ends, a thread takes it up
 * and leaves it, and both regions begin and end.
 *
 *	bench-tasks COUNT
 */
#include <stdlib.h>

#include <coati/live.h>

static volatile unsigned long sum;

static void work(unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++)
		sum += i;
}

static void run_task(unsigned long number)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	{
		COATI_TASK_SCOPE(&task);
		{
			COATI_REGION("parse");
			work(100);
		}
		{
			COATI_REGION("look up");
			work(number % 100 ? 100 : 2000); /* one in a hundred is slow */
		}
	}
	coati_task_end(&task);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++)
		run_task(i);
	return count ? 0 : 2;
}
