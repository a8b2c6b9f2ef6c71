/* SPDX-License-Identifier: MIT */
/*
 * A service of two versions for `make demo-fleet`: version B needs 30 % more in price_order().
 *
 *	regression A SECONDS
 *	regression B SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sum;

static __attribute__((noinline)) void work(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++)
		sum += sum * 31 + i;
}

static __attribute__((noinline)) void read_order(uint32_t rounds)
{
	work(rounds);
	sum += 3; /* not the same code as its neighbors, and no tail call */
}

static __attribute__((noinline)) void price_order(uint32_t rounds)
{
	work(rounds);
	sum += 5;
}

static __attribute__((noinline)) void store_order(uint32_t rounds)
{
	work(rounds);
	sum += 7;
}

int main(int argc, char **argv)
{
	time_t end;

	if (argc != 3) {
		fprintf(stderr, "usage: %s A|B SECONDS\n", argv[0]);
		return 2;
	}
	end = time(NULL) + strtol(argv[2], NULL, 10);
	while (time(NULL) < end) {
		read_order(100000);
		price_order(argv[1][0] == 'B' ? 130000 : 100000);
		store_order(100000);
	}
	return 0;
}
