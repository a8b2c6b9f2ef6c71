/* SPDX-License-Identifier: MIT */
/* The n-th smallest of many numbers is what sorting them says. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "trace/rank.h"

#define MANY 5000u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_ranks(const uint64_t *numbers, size_t nr)
{
	const size_t ranks[] = { 0, nr / 2, nr * 9 / 10, nr * 99 / 100, nr - 1 };
	uint64_t sorted[MANY], v[MANY];

	memcpy(sorted, numbers, nr * sizeof(*numbers));
	qsort(sorted, nr, sizeof(*sorted), compare);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		memcpy(v, numbers, nr * sizeof(*numbers));
		CHECK_U64(coati_rank(v, nr, ranks[i]), ==, sorted[ranks[i]]);
	}
}

TEST(rank_is_that_of_the_sorted_numbers)
{
	uint64_t numbers[MANY];

	/* of every size, so that each digit decides in some round */
	for (unsigned int bits = 1; bits <= 64; bits++) {
		for (size_t i = 0; i < MANY; i++)
			numbers[i] = test_random() >> (64 - bits);
		check_ranks(numbers, MANY);
		check_ranks(numbers, 1 + test_random() % 1024); /* few */
	}
}

TEST(rank_of_equal_and_of_extreme_numbers)
{
	uint64_t numbers[MANY];

	for (size_t i = 0; i < MANY; i++)
		numbers[i] = 7;
	check_ranks(numbers, MANY);
	for (size_t i = 0; i < MANY; i++)
		numbers[i] = i % 3 ? UINT64_MAX : 0;
	check_ranks(numbers, MANY);
	for (size_t i = 0; i < MANY; i++)
		numbers[i] = UINT64_MAX - i;
	check_ranks(numbers, MANY);
}
