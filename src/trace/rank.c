/* SPDX-License-Identifier: MIT */
/*
 * Digit by digit from the highest on: how many numbers that begin as the one that is looked for
 * have each next digit. A digit has 11 bits, so that the counters stay in the nearest cache.
 */
#include "trace/rank.h"

#include <stdlib.h>

#define DIGIT_BITS 11u
#define DIGITS	   (UINT64_C(1) << DIGIT_BITS)
#define FIRST	   55u /* the highest digit: 9 bits are left for it */
#define FEW	   1024u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The digit at @shift of the number of that rank among those whose bits above are those of @prefix;
 * *rank becomes the rank among those that have this digit. */
static uint64_t find_digit(const uint64_t *v, size_t nr, uint64_t prefix, unsigned int shift,
			   size_t *rank)
{
	uint64_t mask = shift == FIRST ? 0 : UINT64_MAX << (shift + DIGIT_BITS), digit = 0;
	size_t counts[DIGITS] = { 0 };

	for (size_t i = 0; i < nr; i++)
		if (((v[i] ^ prefix) & mask) == 0)
			counts[v[i] >> shift & (DIGITS - 1)]++;
	while (digit < DIGITS - 1 && *rank >= counts[digit])
		*rank -= counts[digit++];
	return digit;
}

uint64_t coati_rank(uint64_t *v, size_t nr, size_t rank)
{
	uint64_t prefix = 0;

	if (nr <= FEW) {
		qsort(v, nr, sizeof(*v), compare);
		return v[rank];
	}
	for (unsigned int shift = FIRST;; shift -= DIGIT_BITS) {
		prefix |= find_digit(v, nr, prefix, shift, &rank) << shift;
		if (!shift)
			return prefix;
	}
}
