/* SPDX-License-Identifier: MIT */
/*
 * The statistics of coati diff on programs that are only numbers: how often a difference is seen
 * where there is none, and how often where there is one. The seeds are fixed, so that the counts
 * are too.
 */
#include "lib/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/diff.h"
#include "profile/resample.h"

#define FUNCTIONS 12

/* A program in phases: in each it calls other functions. */
struct program {
	uint32_t samples, runs;
	double phase;	   /* samples that a phase lasts, on average; below 2: no phases */
	double factor;	   /* how much longer function 0 takes */
	double run_spread; /* function 1 takes more or less in each run */
};

static uint64_t state;

static double uniform(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* How much of its time phase @phase spends in each function; cumulated. */
static void mix_of(uint32_t phase, const double *cost, double *to)
{
	double sum = 0;

	for (uint32_t f = 0; f < FUNCTIONS; f++) {
		/* function 0 has some part in every phase, the others come and go */
		double part = f ? ((f + phase) % 4 == 0 ? 3.0 : 0.3) / f : 3.0;

		sum += part * cost[f];
		to[f] = sum;
	}
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		to[f] /= sum;
}

static void run_once(const struct program *p, uint32_t run, struct resample_side *s)
{
	uint32_t blocks = RESAMPLE_BLOCKS, phase = (uint32_t)(4 * uniform());
	double cost[FUNCTIONS], mix[FUNCTIONS];

	for (uint32_t f = 0; f < FUNCTIONS; f++)
		cost[f] = 1;
	cost[0] = p->factor;
	cost[1] = exp(p->run_spread * normal());
	for (uint32_t i = 0; i < p->samples; i++) {
		uint32_t block = run * blocks + (uint32_t)((uint64_t)i * blocks / p->samples),
			 f = 0;
		double u = uniform();

		if (!i || p->phase < 2 || uniform() * p->phase < 1) {
			phase = p->phase < 2 ? 0 : (uint32_t)(4 * uniform());
			mix_of(phase, cost, mix);
		}
		while (u >= mix[f] && f < FUNCTIONS - 1)
			f++;
		s->run[block] = run;
		s->span[block] += 1e6;
		s->weight[block]++;
		s->values[(size_t)f * s->nr + block]++;
	}
}

static void fill_side(const struct program *p, struct resample_side *s)
{
	s->nr_runs = p->runs;
	s->nr = p->runs * RESAMPLE_BLOCKS;
	s->samples = (double)p->samples * p->runs;
	s->run = coati_alloc_array(s->nr, sizeof(*s->run));
	s->weight = coati_alloc_array(s->nr, sizeof(double));
	s->span = coati_alloc_array(s->nr, sizeof(double));
	s->values = coati_alloc_array((size_t)s->nr * FUNCTIONS, sizeof(double));
	for (uint32_t run = 0; run < p->runs; run++)
		run_once(p, run, s);
}

struct outcome {
	uint32_t any;	/* pairs in which something was seen */
	uint32_t first; /* in which function 0 was seen */
};

static void compare(const struct program *a, const struct program *b, struct resample *r)
{
	fill_side(a, &r->sides[0]);
	fill_side(b, &r->sides[1]);
	r->lines = coati_alloc_array(FUNCTIONS, sizeof(*r->lines));
	r->nr_lines = FUNCTIONS;
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		r->lines[f].is_known = r->lines[f].is_tested = true;
	CHECK_OK(coati_resample(r));
}

static void free_resample(struct resample *r)
{
	for (int i = 0; i < 2; i++) {
		coati_free(r->sides[i].run);
		coati_free(r->sides[i].weight);
		coati_free(r->sides[i].span);
		coati_free(r->sides[i].values);
	}
	coati_free(r->lines);
}

static struct outcome many(const struct program *a, const struct program *b,
			   enum coati_diff_measure measure, uint32_t pairs)
{
	struct outcome o = { 0 };

	state = 1;
	for (uint32_t i = 0; i < pairs; i++) {
		struct resample r = { .measure = measure, .confidence = 0.95, .seed = i };
		bool any = false;

		compare(a, b, &r);
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			any |= fabs(r.lines[f].z) > r.critical;
		o.any += any;
		o.first += r.lines[0].z > r.critical;
		free_resample(&r);
	}
	return o;
}

static uint32_t seen_of_nothing(struct program p, uint32_t pairs)
{
	p.factor = 1;
	return many(&p, &p, COATI_DIFF_SHARE, pairs).any;
}

/* How many programs are compared with themselves: always the same ones, for where everything is
 * slow the first of them. */
static uint32_t many_pairs(void)
{
	return test_emulated() ? 5 : test_slow() ? 25 : 100;
}

/* At most 5 % of the pairs. The true rates are between 1 and 4 %. */
TEST_LIMIT(diff_of_two_equal_programs_is_rarely_seen, 120)
{
	CHECK_INT(seen_of_nothing((struct program){ .samples = 500, .runs = 1 }, many_pairs()), <=,
		  5);
	CHECK_INT(seen_of_nothing((struct program){ .samples = 8000, .runs = 1 }, many_pairs()), <=,
		  5);
}

TEST_LIMIT(diff_of_two_equal_programs_with_phases_is_rarely_seen, 120)
{
	CHECK_INT(seen_of_nothing((struct program){ .samples = 8000, .runs = 1, .phase = 20 },
				  many_pairs()),
		  <=, 5);
	CHECK_INT(seen_of_nothing((struct program){ .samples = 8000, .runs = 1, .phase = 100 },
				  many_pairs()),
		  <=, 5);
	CHECK_INT(seen_of_nothing((struct program){ .samples = 8000, .runs = 1, .phase = 800 },
				  many_pairs()),
		  <=, 5);
}

TEST_LIMIT(diff_of_two_equal_programs_that_vary_from_run_to_run_is_rarely_seen, 120)
{
	struct program p = { .samples = 2000, .runs = 5, .phase = 400, .run_spread = 0.2 };

	CHECK_INT(seen_of_nothing(p, many_pairs()), <=, 8);
	p = (struct program){ .samples = 1000, .runs = 10, .phase = 400, .run_spread = 0.1 };
	CHECK_INT(seen_of_nothing(p, many_pairs()), <=, 5);
}

TEST_LIMIT(diff_of_samples_as_if_they_were_independent_would_be_seen_everywhere, 120)
{
	struct program p = { .samples = 8000, .runs = 1, .phase = 300, .factor = 1 };
	uint32_t wrong = 0;

	/* why there are blocks: the same pairs by the variance of counting alone */
	state = 1;
	for (uint32_t i = 0; i < 50; i++) {
		struct resample r = { .confidence = 0.95, .seed = i };
		double most = 0;

		compare(&p, &p, &r);
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			double a = r.lines[f].x[0], b = r.lines[f].x[1], m = (a + b) / 2;
			double z = fabs(a - b) / sqrt(2 * m * (1 - m) / p.samples);

			most = z > most ? z : most;
		}
		wrong += most > coati_resample_quantile(0.05 / FUNCTIONS);
		free_resample(&r);
	}
	CHECK_INT(wrong, >, 25);
}

TEST_LIMIT(diff_of_ten_percent_is_found, 120)
{
	struct program a = { .samples = 32000, .runs = 1, .factor = 1 }, b = a;
	struct outcome o;

	b.factor = 1.1;
	o = many(&a, &b, COATI_DIFF_SHARE, many_pairs());
	CHECK_INT(o.first * 100, >=, many_pairs() * 95);
	o = many(&b, &a, COATI_DIFF_SHARE, 20);
	CHECK_INT(o.any, >=, 19);
	CHECK_INT(o.first, ==, 0); /* it is less, not more */
	/* with phases as short as a block's fifth it takes more runs */
	a = (struct program){ .samples = 16000, .runs = 8, .phase = 50, .factor = 1 };
	b = a;
	b.factor = 1.1;
	o = many(&a, &b, COATI_DIFF_SHARE, 20);
	CHECK_INT(o.first, >=, 19);
}

TEST(diff_quantiles_are_those_of_the_tables)
{
	CHECK(fabs(coati_resample_quantile(0.05) - 1.959964) < 1e-5);
	CHECK(fabs(coati_resample_quantile(0.001) - 3.290527) < 1e-5);
	CHECK(fabs(coati_resample_student(1.959964, 10) - 2.228) < 0.01);
	CHECK(fabs(coati_resample_student(1.959964, 5) - 2.571) < 0.02);
	CHECK(fabs(coati_resample_student(2.575829, 30) - 2.750) < 0.01);
	for (double f = 1; f < 100; f *= 2)
		for (double z = 0; z < 6; z += 0.5)
			CHECK(fabs(coati_resample_normal(coati_resample_student(z, f), f) - z) <
			      1e-9);
}

TEST(diff_resampling_is_the_same_for_the_same_seed)
{
	struct program p = { .samples = 2000, .runs = 1, .phase = 50, .factor = 1 };
	double z[2][FUNCTIONS], critical[2];

	for (int i = 0; i < 2; i++) {
		struct resample r = { .confidence = 0.95, .seed = 7 };

		state = 3;
		compare(&p, &p, &r);
		critical[i] = r.critical;
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			z[i][f] = r.lines[f].p;
		free_resample(&r);
	}
	CHECK(critical[0] == critical[1]);
	CHECK_MEM(z[0], z[1], sizeof(z[0]));
}

TEST(diff_needs_blocks_on_both_sides)
{
	struct program a = { .samples = 2000, .runs = 1, .factor = 1 }, none = { .runs = 1 };
	struct resample r = { .confidence = 0.95 };

	compare(&a, &none, &r);
	CHECK(!r.is_able);
	CHECK(r.lines[0].p == 1);
	CHECK_INT(r.sides[1].nr_units, ==, 0);
	free_resample(&r);
}

TEST(diff_joins_blocks_until_neighbours_differ)
{
	struct program even = { .samples = 8000, .runs = 1, .factor = 1 }, uneven = even;
	struct resample r = { .confidence = 0.95 };

	state = 5;
	uneven.phase = 400;
	compare(&even, &uneven, &r);
	CHECK_INT(r.sides[0].nr, ==, RESAMPLE_BLOCKS);
	CHECK_INT(r.sides[1].nr, <=, RESAMPLE_BLOCKS / 2);
	CHECK_INT(r.sides[1].nr, >=, RESAMPLE_LEAST);
	free_resample(&r);
}
