/* SPDX-License-Identifier: MIT */
/*
 * A program in phases for coati diff: phases of random length follow each other, and in each the
 * same functions have other parts. The function target has the same part in all of them.
 *
 *	phases MILLISECONDS PERCENT	about so much CPU time; target does PERCENT of its usual
 *					work
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

static volatile uint64_t sink;

WORKER(target)
WORKER(parse)
WORKER(sort)
WORKER(hash)
WORKER(copy)
WORKER(compress)
WORKER(encode)
WORKER(send)

static void read_phase(void)
{
	parse(9000);
	copy(4000);
	hash(2000);
	send(500);
}

static void work_phase(void)
{
	sort(8000);
	hash(6000);
	compress(1500);
}

static void write_phase(void)
{
	encode(5000);
	compress(7000);
	send(2500);
	copy(1000);
}

int main(int argc, char **argv)
{
	static void (*const kinds[])(void) = { read_phase, work_phase, write_phase };
	uint64_t state = (uint64_t)getpid() * 2654435761u;
	long milliseconds = argc > 1 ? atol(argv[1]) : 1000;
	long percent = argc > 2 ? atol(argv[2]) : 100;
	struct timespec now;

	do {
		uint32_t kind, steps;

		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		kind = (uint32_t)(state >> 33) % 3;
		steps = 20 + (uint32_t)(state >> 40) % 200; /* some 0.5 to 6 ms */
		for (uint32_t i = 0; i < steps; i++) {
			target((uint32_t)(120 * percent));
			kinds[kind]();
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
	return 0;
}
