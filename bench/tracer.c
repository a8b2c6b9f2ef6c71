/* SPDX-License-Identifier: MIT */
/*
 * What an event costs, against what it cannot cost less than: reading the cycle counter and storing
 * 16 bytes. Linked as programs link it, with the shared library.
 *
 *	bench-tracer emit|off|threads|stack|log NR_PAIRS	pairs "OURS FLOOR", ns an event
 *	bench-tracer scale NR_PAIRS [MEBIBYTES]			"THREADS OURS FLOOR DROPPED", ns an
 *								event of one of so many threads: 1
 *								to as many as there are CPUs; and
 *								how
 *								many events found no room
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <coati/live.h>

#include "bench.h"

#define LOOPS  1000
#define ROUNDS 40
#define DEPTH  16

static struct coati_site site = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct coati_site deep =
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "deep", NULL, COATI_SITE_STACK, 0);
static struct coati_site note = COATI_SITE_FOR("", COATI_SITE_LOG, "", "note", NULL, 0, 0);

/* ---- the floor ---- */

static __thread uint64_t ring[2048];

static void floor_events(void *ctx)
{
	for (int i = 0; i < LOOPS; i++) {
		uint64_t *at = &ring[(i * 2) & 2046];

		at[0] = bench_cycles();
		at[1] = (uint64_t)i;
		__asm__ volatile("" ::: "memory");
	}
}

static void nothing(void *ctx)
{
	for (int i = 0; i < LOOPS; i++)
		__asm__ volatile("" : "+r"(ctx));
}

/* ---- ours ---- */

static void regions(void *ctx)
{
	for (int i = 0; i < LOOPS / 2; i++) {
		coati_region_begin(&site);
		coati_region_end(&site);
	}
}

static void gated(void *ctx)
{
	for (int i = 0; i < LOOPS; i++) {
		if (COATI_TRACING())
			coati_region_begin(&site);
		__asm__ volatile("" : "+r"(ctx));
	}
}

/* Half of the events carry a stack: the begins. */
static __attribute__((noinline)) void below(int depth)
{
	if (depth) {
		below(depth - 1);
		__asm__ volatile("");
		return;
	}
	for (int i = 0; i < LOOPS; i++) {
		coati_region_begin(&deep);
		coati_region_end(&deep);
	}
}

static void stacks(void *ctx)
{
	below(DEPTH - 2);
}

/* The same without the stack. */
static void plain(void *ctx)
{
	for (int i = 0; i < LOOPS; i++) {
		coati_region_begin(&site);
		coati_region_end(&site);
	}
}

static void logs(void *ctx)
{
	for (int i = 0; i < LOOPS; i++)
		coati_log_text(&note, "12345678", 8);
}

/* ---- two threads ---- */

static volatile int going;

static void *other(void *fn)
{
	while (going)
		((bench_fn)fn)(NULL);
	return NULL;
}

/* One thread, then beside another that does the same: pairs "BESIDE ALONE". */
static void beside(unsigned int nr_pairs)
{
	for (unsigned int i = 0; i < nr_pairs; i++) {
		double alone = bench_batch(regions, NULL, ROUNDS), both;
		pthread_t thread;

		going = 1;
		if (pthread_create(&thread, NULL, other, (void *)regions))
			exit(1);
		both = bench_batch(regions, NULL, ROUNDS);
		going = 0;
		pthread_join(thread, NULL);
		printf("%.2f %.2f\n", both / LOOPS, alone / LOOPS);
	}
}

/* ---- many threads ---- */

#define SCALE_MAX    64
#define SCALE_ROUNDS 2000

struct lap {
	bench_fn fn;
	double ns;
};

static pthread_barrier_t all_there;

static void *run_lap(void *ctx)
{
	struct lap *lap = ctx;

	lap->fn(NULL);
	pthread_barrier_wait(&all_there);
	lap->ns = bench_batch(lap->fn, NULL, SCALE_ROUNDS) / LOOPS;
	return NULL;
}

/* What an event costs each of @n threads that write at the same time, on average. */
static double together(bench_fn fn, unsigned int n)
{
	struct lap laps[SCALE_MAX];
	pthread_t threads[SCALE_MAX];
	double sum = 0;

	if (pthread_barrier_init(&all_there, NULL, n))
		exit(1);
	for (unsigned int i = 0; i < n; i++) {
		laps[i] = (struct lap){ .fn = fn };
		if (pthread_create(&threads[i], NULL, run_lap, &laps[i]))
			exit(1);
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		sum += laps[i].ns;
	}
	pthread_barrier_destroy(&all_there);
	return sum / n;
}

static uint64_t dropped(const struct coati_recorder *rec)
{
	struct coati_recorder_stats stats = { .size = sizeof(stats) };

	coati_recorder_stats(rec, &stats);
	return stats.dropped;
}

static void scale(const struct coati_recorder *rec, unsigned int nr_pairs)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (unsigned int n = 1; n <= SCALE_MAX && n <= (unsigned long)cpus; n *= 2)
		for (unsigned int i = 0; i < nr_pairs; i++) {
			uint64_t before = dropped(rec);
			double ours = together(regions, n), least = together(floor_events, n);

			printf("%u %.2f %.2f %.1f%%\n", n, ours, least,
			       100.0 * (double)(dropped(rec) - before) /
				       ((double)n * SCALE_ROUNDS * LOOPS));
		}
}

static void pairs(unsigned int nr_pairs, bench_fn ours, bench_fn peer)
{
	bench_loop_pairs(nr_pairs, ROUNDS, LOOPS, &(struct bench_two){ ours, peer, NULL });
}

int main(int argc, char **argv)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	unsigned int nr_pairs;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: bench-tracer emit|off|threads|stack|log|scale NR_PAIRS "
				"[MEBIBYTES]\n");
		return 2;
	}
	nr_pairs = (unsigned int)strtoul(argv[2], NULL, 10);
	if (argc == 4)
		opts.bytes = strtoull(argv[3], NULL, 10) << 20;
	if (!strcmp(argv[1], "off")) {
		pairs(nr_pairs, gated, nothing);
		return 0;
	}
	if (coati_recorder_start(&opts, &rec, &err) < 0) {
		fprintf(stderr, "bench-tracer: %s\n", err.text);
		return 1;
	}
	if (!strcmp(argv[1], "emit"))
		pairs(nr_pairs, regions, floor_events);
	else if (!strcmp(argv[1], "stack"))
		pairs(nr_pairs, stacks, plain);
	else if (!strcmp(argv[1], "log"))
		pairs(nr_pairs, logs, floor_events);
	else if (!strcmp(argv[1], "threads"))
		beside(nr_pairs);
	else if (!strcmp(argv[1], "scale"))
		scale(rec, nr_pairs);
	coati_recorder_stop(&rec, NULL);
	return 0;
}
