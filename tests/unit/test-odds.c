/* SPDX-License-Identifier: MIT */
/*
 * The judgment of tests in which chance plays a part: its false-alarm rate and its power, computed
 * and simulated. The simulations start from a fixed seed, so that they give the same result each
 * time.
 */
#include "lib/test.h"

#include <math.h>

#include "lib/odds.h"

#define ROUNDS (test_slow() ? 20000 : 200000)

static uint64_t state;

static bool happens(double p)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53 < p;
}

/* ---- distributions ---- */

TEST(odds_of_the_binomial_distribution_are_known_values)
{
	CHECK(fabs(odds_at_most(0, 10, 0.5) - 1 / 1024.0) < 1e-12);
	CHECK(fabs(odds_at_most(5, 10, 0.5) - 638 / 1024.0) < 1e-12);
	CHECK(fabs(odds_at_most(2, 5, 0.9) - 0.00856) < 1e-9);
	CHECK(odds_at_most(10, 10, 0.5) == 1 && odds_at_most(3, 10, 1) == 0 &&
	      odds_at_most(0, 10, 0) == 1);
	CHECK(fabs(odds_sigmas(0.0455002638963584) - 2) < 1e-9);
	CHECK(fabs(odds_sigmas(0.0026997960632601) - 3) < 1e-9);
}

TEST(odds_limits_keep_the_false_alarm_rate_and_state_what_they_find)
{
	static const struct {
		uint64_t nr;
		double p;
		unsigned int tests;
	} cases[] = { { 100, 0.05, 1 }, { 25, 0.05, 3 }, { 4500, 0.05, 16 }, { 100, 0.01, 2 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t nr = cases[i].nr, limit = odds_limit(nr, cases[i].p, cases[i].tests);
		double found = odds_finds(nr, limit);

		/* no more than allowed, and one less would be more */
		CHECK(1 - odds_at_most(limit, nr, cases[i].p) <=
		      ODDS_FALSE_ALARM / cases[i].tests + 1e-12);
		CHECK(1 - odds_at_most(limit - 1, nr, cases[i].p) >
		      ODDS_FALSE_ALARM / cases[i].tests);
		CHECK(fabs(odds_at_most(limit, nr, found) - (1 - ODDS_POWER)) < 1e-9);
	}
	CHECK_U64(odds_limit(100, 0.05, 1), ==, 16);
	CHECK_U64(odds_limit(5, 0.01, 1), ==, 2); /* the usual plan */
	CHECK_U64(odds_limit(10, 1, 1), ==, 10);
	CHECK(odds_finds(10, 10) == 1);
}

/* ---- tries ---- */

TEST(odds_of_the_usual_plan_are_within_the_stated_rates)
{
	CHECK(odds_of_failure(ODDS_USUAL, ODDS_USUAL_OFF) <= ODDS_FALSE_ALARM);
	CHECK(odds_of_failure(ODDS_USUAL, ODDS_USUAL_WRONG) >= ODDS_POWER);
	/*
	 * one that passes when a single try of five does would miss the same wrong behavior more
	 * often than it may
	 */
	CHECK(odds_of_failure((struct odds_plan){ 5, 4 }, ODDS_USUAL_WRONG) < 0.6);
}

/* All tries, as if none were left out. */
static bool all_tries_fail(struct odds_plan plan, uint32_t which)
{
	unsigned int off = 0;

	for (unsigned int i = 0; i < plan.nr; i++)
		off += which >> i & 1;
	return off > plan.allowed;
}

static bool tries_fail(struct odds_plan plan, uint32_t which)
{
	enum odds_verdict v = ODDS_OPEN;
	unsigned int made = 0, off = 0;

	while (v == ODDS_OPEN) {
		CHECK_INT(made, <, plan.nr);
		off += which >> made++ & 1;
		v = odds_verdict(plan, made, off);
	}
	return v == ODDS_FAILS;
}

TEST(odds_verdict_before_the_last_try_is_that_of_all_tries)
{
	for (unsigned int nr = 1; nr <= 10; nr++)
		for (unsigned int allowed = 0; allowed < nr; allowed++)
			for (uint32_t which = 0; which < UINT32_C(1) << nr; which++) {
				struct odds_plan plan = { nr, allowed };

				CHECK_INT(tries_fail(plan, which), ==, all_tries_fail(plan, which));
			}
}

static double simulated_tries(struct odds_plan plan, double p)
{
	int failed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t which = 0;

		for (unsigned int k = 0; k < plan.nr; k++)
			which |= (uint32_t)happens(p) << k;
		failed += tries_fail(plan, which);
	}
	return (double)failed / ROUNDS;
}

/* Five standard deviations of the simulation itself. */
#define CHECK_RATE(seen, want) \
	CHECK(fabs((seen) - (want)) <= 5 * sqrt((want) * (1 - (want)) / ROUNDS) + 1.0 / ROUNDS)

TEST(odds_of_simulated_tries_are_as_computed)
{
	static const double chances[] = { ODDS_USUAL_OFF, 0.1, 0.5, ODDS_USUAL_WRONG };

	state = 1;
	for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
		double seen = simulated_tries(ODDS_USUAL, chances[i]);

		test_note("%g of the tries off: %g of the tests fail", chances[i], seen);
		CHECK_RATE(seen, odds_of_failure(ODDS_USUAL, chances[i]));
	}
}

/* ---- shares ---- */

static const double shares[] = { 0.2, 0.3, 0.5, 2 / 3.0 };
#define NR_SHARES (sizeof(shares) / sizeof(shares[0]))

/* So many draws that it is enough, in steps as tries would bring them. */
static struct odds_share enough_draws(double p, unsigned int nr, double error)
{
	struct odds_share s = { 0 };

	while (!odds_share_is_enough(&s, nr, error))
		odds_share_add(&s, 0, 100, (uint64_t)(p * 1e6), 1000000);
	return s;
}

static bool hits_fit(struct odds_share s, unsigned int nr, uint64_t hits)
{
	s.hits = hits;
	return odds_share_fits(&s, nr);
}

/* How often a share that is @p leaves the limits of @s, from the distribution itself. */
static double computed_share(const struct odds_share *s, unsigned int nr, double p)
{
	uint64_t low = 0, high = s->draws;

	while (!hits_fit(*s, nr, low))
		low++;
	while (!hits_fit(*s, nr, high))
		high--;
	return (low ? odds_at_most(low - 1, s->draws, p) : 0) +
	       odds_at_most(s->draws - high - 1, s->draws, 1 - p);
}

TEST(odds_of_shares_are_within_the_stated_rates)
{
	for (size_t i = 0; i < NR_SHARES; i++)
		for (unsigned int nr = 1; nr <= 3; nr++) {
			struct odds_share s = enough_draws(shares[i], nr, 0.05);
			double p = shares[i], alarm = computed_share(&s, nr, p);

			test_note("%.3f, %u at once, %llu draws: false alarms %.2g", p, nr,
				  (unsigned long long)s.draws, alarm);
			CHECK(nr * alarm <= ODDS_FALSE_ALARM);
			CHECK(computed_share(&s, nr, p + 0.05) >= ODDS_POWER);
			CHECK(computed_share(&s, nr, p - 0.05) >= ODDS_POWER);
		}
}

static double simulated_share(const struct odds_share *s, double p, int rounds)
{
	int failed = 0;

	for (int i = 0; i < rounds; i++) {
		uint64_t hits = 0;

		for (uint64_t k = 0; k < s->draws; k++)
			hits += happens(p);
		failed += !hits_fit(*s, 1, hits);
	}
	return (double)failed / rounds;
}

TEST(odds_of_simulated_shares_are_within_the_stated_rates)
{
	int rounds = test_slow() ? 300 : 3000;

	state = 2;
	for (size_t i = 0; i < NR_SHARES; i++) {
		struct odds_share s = enough_draws(shares[i], 1, 0.05);
		double more = simulated_share(&s, shares[i] + 0.05, rounds);
		double less = simulated_share(&s, shares[i] - 0.05, rounds);

		test_note("%.3f: found %.4f and %.4f", shares[i], more, less);
		CHECK(simulated_share(&s, shares[i], rounds) <= 0);
		CHECK(more >= ODDS_POWER - 5 * sqrt(ODDS_POWER * (1 - ODDS_POWER) / rounds));
		CHECK(less >= ODDS_POWER - 5 * sqrt(ODDS_POWER * (1 - ODDS_POWER) / rounds));
	}
}

TEST(odds_of_a_share_without_draws_are_never_enough)
{
	struct odds_share s = { 0 };

	CHECK(!odds_share_is_enough(&s, 1, 0.05));
	CHECK(!odds_share_fits(&s, 1));
}
