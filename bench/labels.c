/* SPDX-License-Identifier: MIT */
/*
 * What a label costs: begin and end of a scope, against a loop that does nothing and one that does
 * two stores and two loads of thread-local memory. Linked as programs link it, with the shared
 * library.
 *
 *	bench-labels ROUNDS
 *
 * Prints for each round "SCOPE EMPTY MEMORY SCOPE EMPTY MEMORY" in nanoseconds: the mean of many
 * short batches of each, in turns, and then the least.
 */
#include <coati/live.h>

#include "bench.h"

#define LOOPS	1000
#define BATCHES 200

static struct coati_label_key tenant = COATI_LABEL_KEY("tenant");
static __thread volatile uint64_t first, second;

static void scopes(void *ctx)
{
	for (int i = 0; i < LOOPS; i++) {
		struct coati_label_scope scope = coati_label_begin(&tenant, ctx);

		coati_label_end(&scope);
	}
}

static void nothing(void *ctx)
{
	for (int i = 0; i < LOOPS; i++)
		__asm__ volatile("" : "+r"(ctx));
}

/* Each load needs the store before it, as a scope's do. */
static void memory(void *ctx)
{
	for (int i = 0; i < LOOPS; i++) {
		first = second + 1;
		second = first + 1;
	}
}

static void run_round(void *value)
{
	static const bench_fn fns[] = { scopes, nothing, memory };
	double sums[3] = { 0 }, least[3] = { 0 };

	for (int i = 0; i < BATCHES; i++)
		for (int f = 0; f < 3; f++) {
			double ns = bench_batch(fns[f], value, 1) / LOOPS;

			sums[f] += ns;
			if (i == 0 || ns < least[f])
				least[f] = ns;
		}
	printf("%.3f %.3f %.3f %.3f %.3f %.3f\n", sums[0] / BATCHES, sums[1] / BATCHES,
	       sums[2] / BATCHES, least[0], least[1], least[2]);
}

int main(int argc, char **argv)
{
	static char value[] = "acme-corp-4711";

	if (argc != 2) {
		fprintf(stderr, "usage: bench-labels ROUNDS\n");
		return 2;
	}
	for (unsigned long i = strtoul(argv[1], NULL, 10); i > 0; i--)
		run_round(value);
	return 0;
}
