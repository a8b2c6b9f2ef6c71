/* SPDX-License-Identifier: MIT */
/*
 * All percentiles of a list in two walks, whatever is in it: the first counts the upper halves of
 * the numbers, the second counts the lower halves of those whose upper half one of the percentiles
 * has.
 */
#include "trace/durations.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/rank.h"

#define HALF   16u
#define HALVES (UINT32_C(1) << HALF)
#define FEW    4096u

int coati_durations_add(struct durations *d, uint64_t ns)
{
	uint32_t *small;
	uint64_t *large;

	d->small.max = d->large.max = SIZE_MAX / sizeof(uint64_t);
	if (ns <= UINT32_MAX) {
		small = ARRAY_ADD(&d->small);
		if (small)
			*small = (uint32_t)ns;
		return small ? 0 : -ENOMEM;
	}
	large = ARRAY_ADD(&d->large);
	if (large)
		*large = ns;
	return large ? 0 : -ENOMEM;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The first half whose count reaches beyond @rank, which becomes the rank within it. */
static uint32_t find_half(const uint32_t *counts, size_t *rank)
{
	uint32_t half = 0;

	while (half < HALVES - 1 && *rank >= counts[half])
		*rank -= counts[half++];
	return half;
}

/* @upper: counts of upper halves; @lower: room for those of lower halves. */
static void find_many(const uint32_t *v, size_t nr, size_t ranks[DURATIONS_RANKS], uint32_t *counts,
		      uint64_t ret[DURATIONS_RANKS])
{
	uint32_t *upper = counts, *lower = counts + HALVES, tops[DURATIONS_RANKS];

	for (size_t i = 0; i < nr; i++)
		upper[v[i] >> HALF]++;
	for (int n = 0; n < DURATIONS_RANKS; n++)
		tops[n] = find_half(upper, &ranks[n]);
	for (size_t i = 0; i < nr; i++)
		for (int n = 0; n < DURATIONS_RANKS; n++)
			if (v[i] >> HALF == tops[n])
				lower[(uint32_t)n << HALF | (v[i] & (HALVES - 1))]++;
	for (int n = 0; n < DURATIONS_RANKS; n++)
		ret[n] = (uint64_t)tops[n] << HALF |
			 find_half(lower + ((size_t)n << HALF), &ranks[n]);
}

static int find_small(struct durations *d, size_t ranks[DURATIONS_RANKS],
		      uint64_t ret[DURATIONS_RANKS])
{
	CLEANUP(freep) uint32_t *counts = NULL;

	if (d->small.len <= FEW) {
		qsort(d->small.v, d->small.len, sizeof(*d->small.v), by_value);
		for (int n = 0; n < DURATIONS_RANKS; n++)
			ret[n] = d->small.v[ranks[n]];
		return 0;
	}
	counts = coati_alloc_array((1 + DURATIONS_RANKS) * HALVES, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	find_many(d->small.v, d->small.len, ranks, counts, ret);
	return 0;
}

int coati_durations_percentiles(struct durations *d, const unsigned int percents[DURATIONS_RANKS],
				uint64_t ret[DURATIONS_RANKS])
{
	size_t nr = d->small.len + d->large.len, ranks[DURATIONS_RANKS], within[DURATIONS_RANKS];
	int r = 0;

	for (int n = 0; n < DURATIONS_RANKS; n++) {
		size_t rank = (nr * percents[n] + 99) / 100;

		ret[n] = 0;
		ranks[n] = rank ? rank - 1 : 0;
		/* those that are not among the small ones are found below */
		within[n] = ranks[n] < d->small.len ? ranks[n] : 0;
	}
	if (d->small.len)
		r = find_small(d, within, ret);
	for (int n = 0; r == 0 && n < DURATIONS_RANKS; n++)
		if (nr && ranks[n] >= d->small.len)
			ret[n] = coati_rank(d->large.v, d->large.len, ranks[n] - d->small.len);
	return r;
}

void coati_durations_fini(struct durations *d)
{
	ARRAY_FINI(&d->small);
	ARRAY_FINI(&d->large);
}
