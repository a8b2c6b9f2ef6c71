/* SPDX-License-Identifier: MIT */
/*
 * Judges tests in which chance plays a part: tries and shares come in, verdicts with known error
 * rates go out.
 */
#include "lib/odds.h"

#include <math.h>
#include <stdlib.h>

/* ---- tries ---- */

enum odds_verdict odds_verdict(struct odds_plan plan, unsigned int made, unsigned int off)
{
	if (off > plan.allowed)
		return ODDS_FAILS;
	return off + (plan.nr - made) <= plan.allowed ? ODDS_PASSES : ODDS_OPEN;
}

double odds_of_failure(struct odds_plan plan, double p)
{
	return odds_at_most(plan.nr - plan.allowed - 1, plan.nr, 1 - p);
}

/* ---- distributions ---- */

double odds_at_most(uint64_t most, uint64_t nr, double p)
{
	double sum = 0;

	if (p <= 0 || most >= nr)
		return 1;
	if (p >= 1)
		return 0;
	for (uint64_t i = 0; i <= most; i++)
		sum += exp(lgamma((double)nr + 1) - lgamma((double)i + 1) -
			   lgamma((double)(nr - i) + 1) + (double)i * log(p) +
			   (double)(nr - i) * log1p(-p));
	return fmin(sum, 1);
}

uint64_t odds_limit(uint64_t nr, double p, unsigned int tests)
{
	uint64_t limit = (uint64_t)((double)nr * p);

	/* the upper tail from the other side: 1 - x is not exact where x is nearly 1 */
	while (limit < nr && odds_at_most(nr - limit - 1, nr, 1 - p) > ODDS_FALSE_ALARM / tests)
		limit++;
	return limit;
}

double odds_finds(uint64_t nr, uint64_t limit)
{
	double low = 0, high = 1;

	if (limit >= nr)
		return 1;
	for (int i = 0; i < 50; i++) {
		double middle = (low + high) / 2;

		if (odds_at_most(limit, nr, middle) > 1 - ODDS_POWER)
			low = middle;
		else
			high = middle;
	}
	return high;
}

unsigned int odds_times(void)
{
	const char *text = getenv("COATI_ODDS_TIMES");
	unsigned int times = 0;

	for (; text && *text >= '0' && *text <= '9' && times < 10000; text++)
		times = 10 * times + (unsigned int)(*text - '0');
	return times ? times : 1;
}

double odds_sigmas(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- shares ---- */

/* Half of the rate is for what a binomial distribution has more in its tails than a normal one. */
static double limit_of(unsigned int nr)
{
	return odds_sigmas(ODDS_FALSE_ALARM / 2 / nr);
}

static double sigma_of(double draws, double p)
{
	return p > 0 && p < 1 ? sqrt(draws * p * (1 - p)) : 0;
}

void odds_share_add(struct odds_share *s, uint64_t hits, uint64_t draws, uint64_t part,
		    uint64_t whole)
{
	s->hits += hits;
	s->draws += draws;
	s->expected += (double)draws * (double)part / (double)whole;
}

bool odds_share_fits(const struct odds_share *s, unsigned int nr)
{
	double draws = (double)s->draws;

	return s->draws && fabs((double)s->hits - s->expected) <=
				   limit_of(nr) * sigma_of(draws, s->expected / draws);
}

bool odds_share_is_enough(const struct odds_share *s, unsigned int nr, double error)
{
	double draws = (double)s->draws, p, wrong;

	if (!s->draws)
		return false;
	p = s->expected / draws;
	wrong = fmax(sigma_of(draws, p + error), sigma_of(draws, p - error));
	/*
	 * to one side, which is half of both; a tenth less is missed for what the normal
	 * distribution is off
	 */
	return error * draws >=
	       limit_of(nr) * sigma_of(draws, p) + odds_sigmas(1.8 * (1 - ODDS_POWER)) * wrong;
}
