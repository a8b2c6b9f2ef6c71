/* SPDX-License-Identifier: MIT */
/*
 * Judges tests in which chance plays a part. Such a test states two numbers: its false-alarm rate
 * (how often it fails though nothing is wrong, at most ODDS_FALSE_ALARM for the test as a whole)
 * and its power (how often it fails when something named is wrong, at least ODDS_POWER). Every
 * try counts. Only try_often() of the sampler's tests repeats one that was off, if the host took
 * CPU time meanwhile.
 *
 * There are two kinds. Tries that are right or off are judged by how many are off (struct
 * odds_plan). Samples that fall into a function, a thread or a label are added up over all tries
 * and judged once (struct odds_share).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ODDS_FALSE_ALARM 1e-5
#define ODDS_POWER	 0.99

/* A test fails when more than @allowed of @nr tries are off. */
struct odds_plan {
	unsigned int nr, allowed;
};

/*
 * The usual plan. Where at most 1 % of the tries are off by chance its false-alarm rate is 9.9e-6;
 * against what makes 90 % of the tries off its power is 0.991. tests/cli/prelude.sh has the same
 * plan for the cases of the command.
 */
#define ODDS_USUAL	 ((struct odds_plan){ 5, 2 })
#define ODDS_USUAL_OFF	 0.01
#define ODDS_USUAL_WRONG 0.9

enum odds_verdict { ODDS_OPEN, ODDS_PASSES, ODDS_FAILS };

/*
 * The verdict after @made tries of which @off were off. It is given as soon as the other tries
 * cannot change it.
 */
enum odds_verdict odds_verdict(struct odds_plan plan, unsigned int made, unsigned int off);
/* How often the plan fails when each try is off with the probability @p. */
double odds_of_failure(struct odds_plan plan, double p);

/* Probability that @nr draws, each a hit with the probability @p, have @most hits or fewer. */
double odds_at_most(uint64_t most, uint64_t nr, double p);
/*
 * How many of @nr tries may be off, each with the probability @p, in a test that judges @tests such
 * counts: more happen with the probability ODDS_FALSE_ALARM at most in all of them together.
 */
uint64_t odds_limit(uint64_t nr, double p, unsigned int tests);
/* The smallest rate that such a limit finds with the probability ODDS_POWER; 1 when none. */
double odds_finds(uint64_t nr, uint64_t limit);
/*
 * How many times as many tries as usual: 1, or what COATI_ODDS_TIMES says. Tests with limits by
 * odds_limit() print how many were off; a large number measures the rates that their comments
 * state.
 */
unsigned int odds_times(void);
/*
 * How many standard deviations a normal variable passes, to either side, with the probability @p.
 */
double odds_sigmas(double p);

/* Hits and draws of all tries, and how many hits were expected. Starts as zero. */
struct odds_share {
	uint64_t hits, draws;
	double expected;
};

/* Adds a try: @hits of @draws, where the share of hits should be @part / @whole. */
void odds_share_add(struct odds_share *s, uint64_t hits, uint64_t draws, uint64_t part,
		    uint64_t whole);
/*
 * Whether the hits are as many as independent draws may give: a test that judges @nr shares has the
 * false-alarm rate ODDS_FALSE_ALARM at most. Draws at regular distances in work of random length
 * spread less than independent ones.
 */
bool odds_share_fits(const struct odds_share *s, unsigned int nr);
/*
 * Whether there are so many draws that a share which is off by @error (0.05: 5 % of all draws) is
 * found with the probability ODDS_POWER. It depends on the number of draws and not on the hits.
 */
bool odds_share_is_enough(const struct odds_share *s, unsigned int nr, double error);
