/* SPDX-License-Identifier: MIT */
/*
 * The frame of a benchmark program: pairs of batches, ours and the peer's in turns, so that
 * whatever else the machine does hits both. Each pair is printed as a line "OURS PEER" in
 * nanoseconds per round; bench/run makes medians, ratios and intervals of them.
 */
#pragma once

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void (*bench_fn)(void *ctx);

static inline uint64_t bench_clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t bench_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t v;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

/* This thread, and what it starts, on one CPU. */
static inline void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		return;
	perror("a CPU of its own");
	exit(1);
}

static inline double bench_batch(bench_fn fn, void *ctx, unsigned int rounds)
{
	uint64_t start_ns = bench_now_ns();

	for (unsigned int i = 0; i < rounds; i++)
		fn(ctx);
	return (double)(bench_now_ns() - start_ns) / rounds;
}

/* @nr_pairs lines; who goes first changes from pair to pair. One batch of each beforehand warms up.
 * Each call of @ours and @peer does @loops of what is measured. */
struct bench_two {
	bench_fn ours, peer;
	void *ctx;
};

static inline void bench_loop_pairs(unsigned int nr_pairs, unsigned int rounds, unsigned int loops,
				    const struct bench_two *two)
{
	bench_fn ours = two->ours, peer = two->peer;
	void *ctx = two->ctx;

	bench_batch(ours, ctx, rounds);
	bench_batch(peer, ctx, rounds);
	for (unsigned int i = 0; i < nr_pairs; i++) {
		double a = i % 2 ? 0 : bench_batch(ours, ctx, rounds);
		double b = bench_batch(peer, ctx, rounds);

		if (i % 2)
			a = bench_batch(ours, ctx, rounds);
		printf("%.2f %.2f\n", a / loops, b / loops);
	}
}

static inline void bench_pairs(unsigned int nr_pairs, unsigned int rounds, bench_fn ours,
			       bench_fn peer, void *ctx)
{
	bench_loop_pairs(nr_pairs, rounds, 1, &(struct bench_two){ ours, peer, ctx });
}
