/* SPDX-License-Identifier: MIT */
/* Percentiles of durations are what sorting all of them says. */
#include "lib/test.h"

#include <stdlib.h>

#include "trace/durations.h"

#define MANY 20000u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of numbers with at most @bits bits. */
static void check_percentiles(unsigned int bits, size_t nr)
{
	static const unsigned int percents[DURATIONS_RANKS] = { 50, 90, 99, 100 };
	static uint64_t all[MANY];
	struct durations d = { 0 };
	uint64_t found[DURATIONS_RANKS];

	for (size_t i = 0; i < nr; i++) {
		all[i] = test_random() >> (64 - bits);
		CHECK_OK(coati_durations_add(&d, all[i]));
	}
	qsort(all, nr, sizeof(*all), compare);
	CHECK_OK(coati_durations_percentiles(&d, percents, found));
	for (int i = 0; i < DURATIONS_RANKS; i++)
		CHECK_U64(found[i], ==, all[(nr * percents[i] + 99) / 100 - 1]);
	coati_durations_fini(&d);
}

TEST(durations_have_the_percentiles_of_the_sorted_ones)
{
	for (unsigned int bits = 1; bits <= 64; bits++) {
		check_percentiles(bits, 1 + test_random() % 100);
		check_percentiles(bits, MANY);
	}
}

TEST(durations_of_nothing_are_zero)
{
	static const unsigned int percents[DURATIONS_RANKS] = { 50, 90, 99, 100 };
	uint64_t found[DURATIONS_RANKS] = { 1, 1, 1, 1 };
	struct durations d = { 0 };

	CHECK_OK(coati_durations_percentiles(&d, percents, found));
	for (int i = 0; i < DURATIONS_RANKS; i++)
		CHECK_U64(found[i], ==, 0);
}
