/* SPDX-License-Identifier: MIT */
/*
 * Programs of different kinds for scripts/study diff. In each the function target does PERCENT of
 * its usual work.
 *
 *	kinds KIND MILLISECONDS PERCENT		about so much CPU time
 *
 * steady: the same again and again. phased: phases of random length, in each the functions have
 * other parts. bursty: steady with bursts of compress at random times. threaded: four threads, each
 * with its own mix. noisy: steady, with functions that need memory, for a machine on which "kinds
 * neighbor" runs beside it. tiny: target is one part in a hundred. sorting: arrays of random length
 * and contents are sorted by the C library, which calls target for each comparison; coati diff was
 * finished before this one was written. neighbor: not to be recorded; busy and idle at random,
 * until it is killed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define WORDS (1u << 20) /* 8 MiB */

static _Thread_local volatile uint64_t sink;
static uint64_t memory[WORDS];

WORKER(target)
WORKER(parse)
WORKER(sort)
WORKER(hash)
WORKER(copy)
WORKER(compress)
WORKER(encode)

static void __attribute__((noinline)) walk_memory(uint32_t rounds)
{
	uint64_t x = sink | 1;

	for (uint32_t i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695041;
		x += memory[x >> 44 & (WORDS - 1)]++;
	}
	sink = x;
}

struct run {
	long milliseconds;
	uint32_t percent;
	clockid_t clock;
	uint64_t random;
};

static uint32_t draw(struct run *r, uint32_t below)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(r->random >> 33) % below;
}

static int goes_on(const struct run *r)
{
	struct timespec now;

	clock_gettime(r->clock, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 < r->milliseconds;
}

static void rest(uint32_t scale)
{
	parse(90 * scale);
	sort(70 * scale);
	hash(50 * scale);
	copy(30 * scale);
	encode(10 * scale);
}

static void run_steady(struct run *r)
{
	while (goes_on(r))
		for (int i = 0; i < 20; i++) {
			target(100 * r->percent);
			rest(100);
		}
}

static void run_phased(struct run *r)
{
	static void (*const kinds[])(uint32_t) = { parse, sort, hash, encode };

	while (goes_on(r)) {
		uint32_t kind = draw(r, 4), steps = 100 + draw(r, 1000); /* some 5 to 60 ms */

		for (uint32_t i = 0; i < steps; i++) {
			target(100 * r->percent);
			kinds[kind](20000);
			copy(5000);
		}
	}
}

static void run_bursty(struct run *r)
{
	while (goes_on(r)) {
		for (int i = 0; i < 20; i++) {
			target(100 * r->percent);
			rest(100);
		}
		if (draw(r, 100) < 4)
			compress(2000000 + draw(r, 12000000));
	}
}

static void run_noisy(struct run *r)
{
	while (goes_on(r))
		for (int i = 0; i < 20; i++) {
			target(100 * r->percent);
			walk_memory(120);
			rest(60);
		}
}

static void run_tiny(struct run *r)
{
	while (goes_on(r))
		for (int i = 0; i < 20; i++) {
			target(4 * r->percent);
			rest(160);
		}
}

struct thread {
	struct run run;
	uint32_t number;
};

static void *run_thread(void *ctx)
{
	struct thread *t = ctx;

	while (goes_on(&t->run))
		for (int i = 0; i < 20; i++) {
			target(100 * t->run.percent);
			rest(40 + 20 * t->number);
			if (t->number % 2)
				compress(6000);
		}
	return NULL;
}

static void run_threaded(struct run *r)
{
	struct thread threads[4];
	pthread_t ids[4];

	for (uint32_t i = 0; i < 4; i++) {
		threads[i] = (struct thread){ .run = *r, .number = i };
		threads[i].run.milliseconds /= 4;
		threads[i].run.clock = CLOCK_THREAD_CPUTIME_ID;
		if (pthread_create(&ids[i], NULL, run_thread, &threads[i]) != 0)
			exit(1);
	}
	for (uint32_t i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

static const struct run *sorting;

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	target(sorting->percent);
	return x < y ? -1 : x > y;
}

static void run_sorting(struct run *r)
{
	static uint32_t numbers[4096];

	sorting = r;
	while (goes_on(r)) {
		uint32_t nr = 64 + draw(r, 4000);

		for (uint32_t i = 0; i < nr; i++)
			numbers[i] = draw(r, UINT32_C(1) << 30);
		qsort(numbers, nr, sizeof(numbers[0]), compare);
		hash(1200 * nr);
		encode(draw(r, 300000));
	}
}

static void run_neighbor(struct run *r)
{
	for (;;) {
		for (uint32_t i = 0, nr = draw(r, 40); i < nr; i++)
			walk_memory(300000);
		usleep(draw(r, 100000));
	}
}

static const struct {
	const char *name;
	void (*fn)(struct run *r);
} kinds[] = {
	{ "steady", run_steady },     { "phased", run_phased },	    { "bursty", run_bursty },
	{ "threaded", run_threaded }, { "noisy", run_noisy },	    { "tiny", run_tiny },
	{ "sorting", run_sorting },   { "neighbor", run_neighbor },
};

int main(int argc, char **argv)
{
	struct run r = { .milliseconds = argc > 2 ? atol(argv[2]) : 1000,
			 .percent = argc > 3 ? (uint32_t)atol(argv[3]) : 100,
			 .clock = CLOCK_PROCESS_CPUTIME_ID,
			 .random = (uint64_t)getpid() * 2654435761u };

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].fn(&r);
			return 0;
		}
	fprintf(stderr, "usage: kinds KIND MILLISECONDS PERCENT\n");
	return 2;
}
