/* SPDX-License-Identifier: MIT */
/* splitmix64, and series that are exact to about 1e-12. */
#include "live/profiles/chance.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define LN_2 0.69314718055994530942

void coati_chance_seed(struct chance *c, uint64_t seed, uint64_t nr)
{
	c->state = seed + nr * UINT64_C(0xd1342543de82ef95);
	coati_chance_next(c);
}

uint64_t coati_chance_next(struct chance *c)
{
	uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The natural logarithm of a normal number: its exponent, and the series of the area tangent for
 * the rest, which is between 1 and 2. */
static double log_of(double x)
{
	double s, square, sum = 0;
	uint64_t bits;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&x, &bits, sizeof(x));
	s = (x - 1) / (x + 1); /* at most a third */
	square = s * s;
	for (int n = 25; n > 0; n -= 2)
		sum = sum * square + 1.0 / n;
	return exponent * LN_2 + 2 * s * sum;
}

double coati_chance_distance(struct chance *c, double mean)
{
	/* 53 bits, never 0 */
	double u = (double)((coati_chance_next(c) >> 11) + 1) / 9007199254740992.0;

	return -log_of(u) * mean;
}

/* The series for a small x, and 1 - exp(-2x) = p * (2 - p) back up. */
double coati_chance_within(double x)
{
	double p = 0;
	int halved = 0;

	if (x > 40)
		return 1;
	for (; x > 1.0 / 16; x /= 2)
		halved++;
	for (int n = 9; n > 0; n--)
		p = x / n * (1 - p);
	while (halved--)
		p = p * (2 - p);
	return p;
}

uint64_t coati_chance_any(void)
{
	return now_ns() ^ (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)&coati_chance_any;
}
