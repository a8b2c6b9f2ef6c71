/* SPDX-License-Identifier: MIT */
/*
 * The statistics of coati diff where each side has several recordings, on banks of runs that are
 * only numbers: how often a difference is seen where there is none, and how often where there is
 * one, beside Welch's test and that of Mann and Whitney with Holm's correction over the same lines.
 * The seeds are fixed, so that the counts are too.
 */
#include "lib/test.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/resample.h"

#define FUNCTIONS 10
#define RUNS_MAX  8
#define SAMPLES	  1000.0 /* of a run */

enum kind {
	STEADY,	 /* runs differ by much less than independent samples would */
	COUNTED, /* by just as much */
	BURSTY,	 /* one in seven has much more of a third of the functions */
	WILD,	 /* any function of any run may be far out */
	SPARSE,	 /* a few samples of each function, most of them in one */
	UNEVEN,	 /* short and long runs; the longer, the less have the first functions */
};
static const char *const names[] = { "steady", "counted", "bursty", "wild", "sparse", "uneven" };

static uint64_t state;

static double uniform(void)
{
	return (double)(coati_resample_random(&state) >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* What each function costs in a run that is as long as @length; @more is of function 0. */
static void make_costs(enum kind kind, double more, double length, double *to)
{
	bool burst = kind == BURSTY && uniform() < 0.15;

	for (uint32_t f = 0; f < FUNCTIONS; f++) {
		double base = kind == SPARSE && f ? 0.006 : 1.0 / (f ? f : 1), e = 0.02 * normal();

		if (kind == UNEVEN)
			e += 0.1 * normal() - (f < 5 ? 0.3 * log(length) : 0);
		if (kind == WILD && uniform() < 0.1)
			e += 0.2 * (1 + uniform());
		to[f] = base * exp(e) * (burst && f % 3 == 0 ? 1 + 0.3 * uniform() : 1);
	}
	to[0] *= 1 + more;
}

/* A run as one block: whole samples, regular ones, or drawn independently. */
static void put_run(enum kind kind, double more, struct resample_side *s, uint32_t run)
{
	bool draws = kind == COUNTED || kind == SPARSE;
	double costs[FUNCTIONS], sum = 0, at = uniform(), until = 0;
	double length = kind == UNEVEN ? exp(normal()) : 1;
	uint32_t drawn[FUNCTIONS] = { 0 };

	make_costs(kind, more, length, costs);
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		sum += costs[f];
	for (uint32_t i = 0; draws && i < SAMPLES; i++) {
		double u = uniform() * sum;
		uint32_t f = 0;

		while (f < FUNCTIONS - 1 && u >= costs[f])
			u -= costs[f++];
		drawn[f]++;
	}
	for (uint32_t f = 0; f < FUNCTIONS; f++) {
		double from = until, nr;

		until += SAMPLES * length * costs[f] / sum;
		nr = draws ? drawn[f] : floor(until + at) - floor(from + at);
		s->values[(size_t)f * s->nr + run] = nr;
		s->weight[run] += nr;
	}
	s->samples += s->weight[run];
	s->run[run] = run;
	s->span[run] = 1e9 * length;
}

static void alloc_side(uint32_t runs, struct resample_side *s)
{
	s->nr = s->nr_runs = runs;
	s->run = coati_alloc_array(runs, sizeof(*s->run));
	s->weight = coati_alloc_array(runs, sizeof(double));
	s->span = coati_alloc_array(runs, sizeof(double));
	s->values = coati_alloc_array((size_t)runs * FUNCTIONS, sizeof(double));
}

static void fill_side(enum kind kind, double more, uint32_t runs, struct resample_side *s)
{
	alloc_side(runs, s);
	for (uint32_t run = 0; run < runs; run++)
		put_run(kind, more, s, run);
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

/* ---- the two usual tests ---- */

static double share(const struct resample_side *s, uint32_t line, uint32_t run)
{
	return s->values[(size_t)line * s->nr + run] / s->weight[run];
}

static double welch_z(const struct resample *r, uint32_t line)
{
	double mean[2] = { 0 }, variance[2] = { 0 }, freedom[2];

	for (int i = 0; i < 2; i++) {
		const struct resample_side *s = &r->sides[i];

		for (uint32_t k = 0; k < s->nr; k++)
			mean[i] += share(s, line, k) / s->nr;
		for (uint32_t k = 0; k < s->nr; k++)
			variance[i] += pow(share(s, line, k) - mean[i], 2) / (s->nr - 1) / s->nr;
		freedom[i] = s->nr - 1;
	}
	if (!(variance[0] + variance[1] > 0))
		return 0;
	return coati_resample_normal((mean[1] - mean[0]) / sqrt(variance[0] + variance[1]),
				     coati_resample_welch(variance, freedom));
}

/*
 * What part of all divisions into sides of @n has a rank sum as far out, on either side, by
 * counting them.
 */
static void fill_parts(uint32_t n, double *part)
{
	static double ways[RUNS_MAX + 1][RUNS_MAX + 1][RUNS_MAX * RUNS_MAX + 1];
	double all = 0, sum = 0;

	memset(ways, 0, sizeof(ways));
	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t k = 0; k <= n; k++)
			for (uint32_t u = 0; u <= i * k; u++)
				ways[i][k][u] =
					!i || !k ? 1
						 : (u >= k ? ways[i - 1][k][u - k] : 0) +
							   (u <= i * (k - 1) ? ways[i][k - 1][u]
									     : 0);
	for (uint32_t u = 0; u <= n * n; u++)
		all += ways[n][n][u];
	for (uint32_t u = 0; u <= n * n; u++) {
		sum += ways[n][n][u];
		part[u] = 2 * sum / all;
	}
}

static double rank_z(const struct resample *r, uint32_t line, const double *part)
{
	uint32_t n = r->sides[0].nr, most = n * n;
	double u = 0, chance;

	for (uint32_t i = 0; i < most; i++) {
		double d = share(&r->sides[1], line, i % n) - share(&r->sides[0], line, i / n);

		u += d > 0 ? 1 : d == 0 ? 0.5 : 0;
	}
	chance = part[(uint32_t)ceil(u < most - u ? u : most - u)];
	return chance < 1 ? (u > most / 2.0 ? 1 : -1) * coati_resample_quantile(chance) : 0;
}

struct seen {
	bool any, first; /* something, function 0 as more */
};

/* S. Holm: the largest must pass for all lines, the next for one less. */
static struct seen holm(const double *z)
{
	struct seen s = { 0 };
	bool passed[FUNCTIONS] = { 0 };

	for (uint32_t left = FUNCTIONS; left; left--) {
		uint32_t most = FUNCTIONS;

		for (uint32_t f = 0; f < FUNCTIONS; f++)
			if (!passed[f] && (most == FUNCTIONS || fabs(z[f]) > fabs(z[most])))
				most = f;
		if (!(fabs(z[most]) >= coati_resample_quantile(0.05 / left)))
			break;
		passed[most] = s.any = true;
		s.first |= most == 0 && z[0] > 0;
	}
	return s;
}

/* ---- banks ---- */

enum test { OURS, WELCH, RANKS, TESTS };

struct bank {
	uint32_t any[TESTS], first[TESTS];
};

static void count(struct bank *b, enum test test, struct seen s)
{
	b->any[test] += s.any;
	b->first[test] += s.first;
}

static struct bank compare_many(enum kind kind, double more, uint32_t runs, uint32_t times)
{
	struct bank b = { 0 };
	double part[RUNS_MAX * RUNS_MAX + 1];

	fill_parts(runs, part);
	state = 1 + kind;
	for (uint32_t i = 0; i < times; i++) {
		struct resample r = { .confidence = 0.95, .seed = i, .nr_lines = FUNCTIONS };
		double welch[FUNCTIONS], ranks[FUNCTIONS];
		struct seen ours = { 0 };

		fill_side(kind, 0, runs, &r.sides[0]);
		fill_side(kind, more, runs, &r.sides[1]);
		r.lines = coati_alloc_array(FUNCTIONS, sizeof(*r.lines));
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			r.lines[f].is_known = r.lines[f].is_tested = true;
			welch[f] = welch_z(&r, f);
			ranks[f] = rank_z(&r, f, part);
		}
		CHECK_OK(coati_resample(&r));
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			ours.any |= fabs(r.lines[f].z) > r.lines[f].critical;
		ours.first = r.lines[0].z > r.lines[0].critical;
		count(&b, OURS, ours);
		count(&b, WELCH, holm(welch));
		count(&b, RANKS, holm(ranks));
		free_resample(&r);
	}
	test_note("%s, %u runs a side, %+.0f %%: any %u/%u/%u, function 0 %u/%u/%u of %u (ours, "
		  "Welch's, Mann and Whitney's)",
		  names[kind], runs, 100 * more, b.any[OURS], b.any[WELCH], b.any[RANKS],
		  b.first[OURS], b.first[WELCH], b.first[RANKS], times);
	return b;
}

/* How many comparisons: always the same ones, for where everything is slow the first of them. */
static uint32_t times_of(uint32_t runs)
{
	return (test_emulated() ? 4 : test_slow() ? 25 : 100) * (runs < RUNS_MAX ? 4 : 1);
}

/*
 * At most 5 %: of 3,000 comparisons of each kind with 4, 5 and 6 runs a side, between 2.2 and 5.5 %
 * show something (the test is exact, so that this is 5 % and luck). Of few, a rate of 5 % goes over
 * the limit for a kind, five standard deviations, with a chance below 1e-5 for other seeds.
 */
TEST_LIMIT(diff_of_equal_runs_is_rarely_seen, 120)
{
	uint32_t seen = 0, all = 0;

	for (int kind = STEADY; kind <= UNEVEN; kind++)
		for (uint32_t runs = 4; runs <= RUNS_MAX; runs += 2) {
			uint32_t times = times_of(runs);
			struct bank b = compare_many((enum kind)kind, 0, runs, times);

			CHECK(b.any[OURS] <= 0.05 * times + 5 * sqrt(0.05 * 0.95 * times));
			seen += b.any[OURS];
			all += times;
		}
	CHECK_INT(seen * 100, <=, all * 5);
}

TEST_LIMIT(diff_of_runs_sees_no_less_than_welch_or_mann_and_whitney, 120)
{
	static const double changes[] = { 0.05, 0.1, 0.2 };

	for (int kind = STEADY; kind <= SPARSE; kind++)
		for (uint32_t runs = 4; runs <= RUNS_MAX; runs += 4)
			for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
				struct bank b = compare_many((enum kind)kind, changes[i], runs,
							     times_of(runs) / 4);

				CHECK_INT(b.first[OURS], >=, b.first[WELCH]);
				CHECK_INT(b.first[OURS], >=, b.first[RANKS]);
			}
}

/* The critical value of the runs of @all, of which the first @swap change sides. */
static double divided(const struct resample *all, enum coati_diff_measure measure, uint32_t swap)
{
	struct resample r = { .measure = measure, .confidence = 0.95, .nr_lines = FUNCTIONS };
	uint32_t n = all->sides[0].nr;
	double critical;

	for (int side = 0; side < 2; side++) {
		struct resample_side *s = &r.sides[side];

		alloc_side(n, s);
		for (uint32_t run = 0; run < n; run++) {
			const struct resample_side *from = &all->sides[run < swap ? !side : side];

			for (uint32_t f = 0; f < FUNCTIONS; f++)
				s->values[f * n + run] = from->values[f * n + run];
			s->run[run] = run;
			s->weight[run] = from->weight[run];
			s->span[run] = from->span[run];
			s->samples += from->weight[run];
		}
	}
	r.lines = coati_alloc_array(FUNCTIONS, sizeof(*r.lines));
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		r.lines[f].is_known = r.lines[f].is_tested = true;
	CHECK_OK(coati_resample(&r));
	critical = r.critical;
	free_resample(&r);
	return critical;
}

/*
 * The critical value is that of all divisions of the runs: it is the same whichever of them was
 * recorded. With estimates of the one at hand it was not where runs are short and long, and of 5
 * against 5 such runs three in ten comparisons with nothing to see showed something.
 */
TEST(diff_of_runs_has_one_critical_value_for_all_divisions)
{
	state = 3;
	for (enum coati_diff_measure m = COATI_DIFF_SHARE; m <= COATI_DIFF_RUN; m++)
		for (int kind = STEADY; kind <= UNEVEN; kind++) {
			struct resample all = { 0 };
			double critical;

			fill_side((enum kind)kind, 0, 5, &all.sides[0]);
			fill_side((enum kind)kind, 0, 5, &all.sides[1]);
			critical = divided(&all, m, 0);
			for (uint32_t swap = 1; swap < 5; swap++)
				CHECK(fabs(divided(&all, m, swap) - critical) < 1e-6);
			free_resample(&all);
		}
}

/*
 * Seven of eight runs have more, one has so little that the mean is less: the ranks would call it
 * more, and the row shows less. It is not called changed.
 */
TEST(diff_of_runs_changes_in_the_direction_that_is_shown)
{
	state = 11;
	for (uint32_t i = 0; i < 16; i++) {
		struct resample r = { .confidence = 0.95, .nr_lines = FUNCTIONS };
		bool far_out = i % 2;

		fill_side(STEADY, 0, 8, &r.sides[0]);
		fill_side(STEADY, 0.15, 8, &r.sides[1]);
		if (far_out)
			r.sides[1].values[i / 2] = 0;
		r.lines = coati_alloc_array(FUNCTIONS, sizeof(*r.lines));
		r.lines[0].is_known = r.lines[0].is_tested = true;
		CHECK_OK(coati_resample(&r));
		CHECK_INT(r.lines[0].x[1] < r.lines[0].x[0], ==, far_out);
		CHECK_INT(fabs(r.lines[0].z) > r.lines[0].critical, ==, !far_out);
		free_resample(&r);
	}
}

/*
 * Function 0 has a quarter of the samples: as independent ones they would differ by 5.5 % from run
 * to run.
 */
TEST(diff_of_steady_runs_finds_five_percent)
{
	struct bank b = compare_many(STEADY, 0.05, 8, 25);

	CHECK_INT(b.first[OURS], >=, 20);
	b = compare_many(STEADY, 0.1, 4, 25);
	CHECK_INT(b.first[OURS], >=, 15);
}

/*
 * Equal numbers of samples on both sides are ties, however they were computed; and differ by a
 * sample at most.
 */
TEST(diff_of_runs_that_are_all_alike_is_not_seen)
{
	for (uint32_t odd = 0; odd <= 1; odd++) {
		struct resample r = { .confidence = 0.95, .nr_lines = FUNCTIONS };

		for (int side = 0; side < 2; side++) {
			struct resample_side *s = &r.sides[side];

			state = 1;
			fill_side(STEADY, 0, 5, s);
			for (uint32_t i = 0; i < 5 * FUNCTIONS; i++)
				s->values[i] = 100 + (odd && side && i / 5 == 3);
			for (uint32_t i = 0; i < 5; i++)
				s->weight[i] = 100 * FUNCTIONS + (odd && side);
		}
		r.lines = coati_alloc_array(FUNCTIONS, sizeof(*r.lines));
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			r.lines[f].is_known = r.lines[f].is_tested = true;
		CHECK_OK(coati_resample(&r));
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			CHECK(odd ? r.lines[f].variance[0] > 0 : fabs(r.lines[f].z) < 1e-6);
			CHECK(isfinite(r.lines[f].z) && r.lines[f].p > 0 && r.lines[f].p <= 1);
		}
		free_resample(&r);
	}
}

TEST(diff_of_runs_by_rank_has_an_interval_without_zero)
{
	uint32_t by_rank = 0;

	state = 9;
	for (uint32_t i = 0; i < 40; i++) {
		struct resample r = { .confidence = 0.95, .nr_lines = FUNCTIONS };

		fill_side(WILD, 0, 7, &r.sides[0]);
		fill_side(WILD, 0.2, 7, &r.sides[1]);
		r.lines = coati_alloc_array(FUNCTIONS, sizeof(*r.lines));
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			r.lines[f].is_known = r.lines[f].is_tested = true;
		CHECK_OK(coati_resample(&r));
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			const struct resample_line *l = &r.lines[f];

			CHECK(!l->by_rank || fabs(l->z) > l->critical);
			CHECK(!l->by_rank || (l->z > 0 ? l->low > 0 : l->high < 0));
			CHECK(!l->by_rank || l->low < l->high);
			by_rank += l->by_rank;
		}
		free_resample(&r);
	}
	CHECK_INT(by_rank, >, 3);
}
