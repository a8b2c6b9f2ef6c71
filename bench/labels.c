/* SPDX-License-Identifier: MIT */
/*
 * What a label costs: begin and end of a scope, against a loop that does nothing. Linked as programs link it, with the shared library.
 *
 *	bench-labels NR_PAIRS
 */
#include <coati/live.h>

#include "bench.h"

#define LOOPS  1000
#define ROUNDS 20

static struct coati_label_key tenant = COATI_LABEL_KEY("tenant");

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

int main(int argc, char **argv)
{
	static char value[] = "acme-corp-4711";

	if (argc != 2) {
		fprintf(stderr, "usage: bench-labels NR_PAIRS\n");
		return 2;
	}
	bench_pairs((unsigned int)strtoul(argv[1], NULL, 10), ROUNDS, scopes, nothing, value);
	return 0;
}
