/* SPDX-License-Identifier: MIT */
/* see resample.h */
#include "profile/resample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/doubles.h"
#include "profile/diff.h"

#define WORK_MAX	4e9  /* additions; with more lines there are fewer rounds */
#define CORRELATION_MAX 0.9  /* what neighbors can have in common before nothing can be said */
#define FREEDOM_LEAST	3    /* of blocks that are very much alike */
#define DOUBT		0.25 /* of a correlation, in its own standard deviations */
#define SAMPLES_MANY	100  /* of what is on one side only: so many are no luck */
#define HARDLY		50   /* one in so many samples of the other side */

/* ---- quantiles ---- */

/* D. L. Wallace's approximation (1959) of the normal deviate of a t: good to a few thousandths from
 * 3 degrees of freedom on. */
double coati_resample_normal(double t, double freedom)
{
	double z = sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);

	return t < 0 ? -z : z;
}

double coati_resample_student(double z, double freedom)
{
	double x = z * (8 * freedom + 3) / (8 * freedom + 1);

	return sqrt(freedom * expm1(x * x / freedom));
}

double coati_resample_quantile(double part)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > part)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ---- blocks ---- */

static double *values_of(const struct resample_side *s, uint32_t line, uint32_t stride)
{
	return s->values + (size_t)line * stride;
}

static double sum(const double *v, uint32_t nr)
{
	double total = 0;

	for (uint32_t i = 0; i < nr; i++)
		total += v[i];
	return total;
}

/* Every block goes into that of number to[i]; @nr of them remain. */
static void join(struct resample_side *s, uint32_t nr_lines, const uint32_t *to, uint32_t nr)
{
	uint32_t old = s->nr;

	for (uint32_t line = 0; line < nr_lines + 2; line++) {
		double *from = line == nr_lines	 ? s->weight
			       : line > nr_lines ? s->span
						 : values_of(s, line, old);
		double *into = line < nr_lines ? values_of(s, line, nr) : from;

		for (uint32_t i = 0; i < old; i++) {
			double value = from[i];

			/* no block goes behind its place: what is written was read */
			if (i && to[i] == to[i - 1])
				into[to[i]] += value;
			else
				into[to[i]] = value;
		}
	}
	for (uint32_t i = 0; i < old; i++)
		s->run[to[i]] = s->run[i];
	s->nr = nr;
}

/* Runs become blocks, or neighbors in a run become one. */
static uint32_t plan_join(const struct resample_side *s, bool runs, uint32_t *to)
{
	uint32_t nr = 0, in_run = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		bool same_run = i && s->run[i] == s->run[i - 1];

		in_run = same_run ? in_run + 1 : 0;
		if (i && (!same_run || (!runs && in_run % 2 == 0)))
			nr++;
		to[i] = nr;
	}
	return nr + 1;
}

/* ---- one line of a side ---- */

/* What the values are divided by. */
struct base {
	double sum;
	const double *of_block; /* NULL: each run counts one */
};

static struct base base_of(const struct resample_side *s, enum coati_diff_measure measure)
{
	switch (measure) {
	case COATI_DIFF_SHARE:
		return (struct base){ sum(s->weight, s->nr), s->weight };
	case COATI_DIFF_SECOND:
		return (struct base){ sum(s->span, s->nr) / 1e9, s->span };
	default:
		return (struct base){ s->nr_runs, NULL };
	}
}

double coati_resample_base(const struct resample_side *s, enum coati_diff_measure measure,
			   uint32_t block)
{
	return measure == COATI_DIFF_SHARE    ? s->weight[block]
	       : measure == COATI_DIFF_SECOND ? s->span[block] / 1e9
					      : 1;
}

/*
 * Values to deviations that add up to nothing: how much each block pulls the estimate. A run that
 * is known by its blocks alone tells how its weight is divided, not how much of it there is: its
 * blocks deviate in their shares.
 */
static double deviate(const struct resample_side *s, enum coati_diff_measure measure, double *v)
{
	struct base b = base_of(s, measure);
	double whole = sum(v, s->nr), weight = sum(s->weight, s->nr);
	double x = b.sum > 0 ? whole / b.sum : 0;

	for (uint32_t i = 0; i < s->nr && b.sum > 0; i++) {
		double expected;

		if (measure == COATI_DIFF_SECOND)
			expected = x * s->span[i] / 1e9;
		else if (measure == COATI_DIFF_SHARE)
			expected = x * s->weight[i];
		else
			expected = s->by_run ? x : weight > 0 ? whole / weight * s->weight[i] : 0;
		v[i] = (v[i] - expected) / b.sum;
	}
	return x;
}

/* The sum of products and of squares over neighboring blocks of a run. */
static void neighbors(const struct resample_side *s, const double *v, double *products,
		      double *squares)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		*squares += v[i] * v[i];
		if (i && s->run[i] == s->run[i - 1])
			*products += v[i] * v[i - 1];
	}
}

/*
 * Blocks that are alike tell less than as many that are not: how many of them are worth one. The
 * correlation of few blocks is hardly known; it is taken to be larger than it looks, by the less
 * the more there are.
 */
static double alike(const struct resample_side *s, double products, double squares)
{
	double c = squares > 0 ? products / squares : 0;

	if (s->by_run)
		return 1;
	c = (c > s->correlation ? c : s->correlation) + 1.0 / s->nr_units +
	    DOUBT / sqrt(s->nr_units);
	c = c < 0 ? 0 : c > CORRELATION_MAX ? CORRELATION_MAX : c;
	return (1 + c) / (1 - c);
}

/* By how much the few runs that there are differ. */
static double variance_of_runs(const struct resample_side *s, const double *v)
{
	double total = 0, of_run = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		of_run += v[i];
		if (i + 1 == s->nr || s->run[i + 1] != s->run[i]) {
			total += of_run * of_run;
			of_run = 0;
		}
	}
	return s->nr_runs > 1 ? total * s->nr_runs / (s->nr_runs - 1) : 0;
}

/* *ret_freedom: how many degrees of it that variance has. */
static double variance_of(const struct resample_side *s, const double *v, double *ret_freedom)
{
	double products = 0, squares = 0, worth, variance, runs;

	*ret_freedom = 1;
	if (s->nr_units < 2)
		return 0;
	neighbors(s, v, &products, &squares);
	worth = alike(s, products, squares);
	variance = squares * s->nr_units / (s->nr_units - 1) * worth;
	*ret_freedom =
		s->nr_units / worth > FREEDOM_LEAST + 1 ? s->nr_units / worth - 1 : FREEDOM_LEAST;
	if (s->by_run)
		return variance;
	runs = variance_of_runs(s, v);
	return variance > runs ? variance : runs;
}

/* ---- how long a block must be ---- */

static void deviations(const struct resample *r, const struct resample_side *s, uint32_t line,
		       double *to)
{
	const double *v = values_of(s, line, s->nr);

	for (uint32_t i = 0; i < s->nr; i++)
		to[i] = v[i];
	deviate(s, r->measure, to);
}

/* Over all lines that are known, those that vary most counting most. */
static double side_correlation(const struct resample *r, const struct resample_side *s,
			       double *scratch)
{
	double products = 0, squares = 0;

	for (uint32_t line = 0; line < r->nr_lines; line++) {
		if (!r->lines[line].is_known)
			continue;
		deviations(r, s, line, scratch);
		neighbors(s, scratch, &products, &squares);
	}
	return squares > 0 ? products / squares : 0;
}

static uint32_t count_units(const struct resample_side *s)
{
	uint32_t nr = 0;

	/* a run with nothing in it is a measurement too */
	for (uint32_t i = 0; i < s->nr; i++)
		nr += s->by_run || s->weight[i] > 0;
	return nr;
}

static int make_units(struct resample *r, struct resample_side *s)
{
	CLEANUP(freep) uint32_t *to = coati_alloc_array((size_t)s->nr + 1, sizeof(*to));
	CLEANUP(freep) double *scratch = coati_alloc_array((size_t)s->nr + 1, sizeof(*scratch));

	if (!to || !scratch)
		return -ENOMEM;
	s->by_run = s->nr_runs >= RESAMPLE_RUNS;
	if (s->by_run && s->nr)
		join(s, r->nr_lines, to, plan_join(s, true, to));
	while (!s->by_run && s->nr) {
		uint32_t nr = plan_join(s, false, to);

		s->correlation = side_correlation(r, s, scratch);
		if (nr < RESAMPLE_LEAST || s->correlation < 1 / sqrt(s->nr))
			break;
		join(s, r->nr_lines, to, nr);
	}
	s->nr_units = count_units(s);
	return 0;
}

/* ---- estimates ---- */

/*
 * Samples are drawn, whatever the blocks show: less than the variance of counting is luck. Both
 * sides are taken as one, so that a side on which something was never seen does not pass for
 * certain.
 */
static double counting(const struct resample *r, int side, double x, double share)
{
	double samples = r->sides[side].samples;

	return samples > 0 && share > 0 && share < 1 ? x * x * (1 - share) / share / samples : 0;
}

/*
 * Runs show by how much they differ, counting included: a program that does the same again and
 * again differs by much less than independent samples would. But samples are whole: that runs have
 * the same number of them is known to one sample only, which is a variance of 1/4 at most in each
 * run.
 */
static double rounding(const struct resample *r, int side)
{
	const struct resample_side *s = &r->sides[side];
	double weight = sum(s->weight, s->nr), base = base_of(s, r->measure).sum, one;

	if (!(s->samples > 0) || !(base > 0))
		return 0;
	one = weight / s->samples / (base / s->nr_runs);
	return one * one / 4 / s->nr_runs;
}

static void add_least(struct resample *r, struct resample_line *l, const double *sums)
{
	double weight[2], share, x = (l->x[0] + l->x[1]) / 2;

	for (int i = 0; i < 2; i++)
		weight[i] = sum(r->sides[i].weight, r->sides[i].nr);
	share = weight[0] + weight[1] > 0 ? (sums[0] + sums[1]) / (weight[0] + weight[1]) : 0;
	for (int i = 0; i < 2; i++) {
		l->least[i] = r->sides[i].by_run ? rounding(r, i) : counting(r, i, x, share);
		if (l->variance[i] < l->least[i])
			l->variance[i] = l->least[i];
	}
}

/* Welch's degrees of freedom of a difference. */
double coati_resample_welch(const double *variance, const double *freedom)
{
	double total = variance[0] + variance[1], parts = 0;

	for (int i = 0; i < 2; i++)
		parts += variance[i] * variance[i] / freedom[i];
	return parts > 0 ? total * total / parts : 1;
}

/* What is taken for granted of runs that are too few to show it. A function that takes longer has a
 * larger part of a whole that it makes larger too. */
static double variance_between(const struct resample *r, const struct resample_side *s, double x)
{
	double deviation = r->spread * x * (r->measure == COATI_DIFF_SHARE ? 1 - x : 1);

	return s->by_run ? 0 : deviation * deviation / s->nr_runs;
}

/* Is it in every run of a side? @v are values. */
static bool is_in_all(const struct resample_side *s, const double *v)
{
	double of_run = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		of_run += v[i];
		if (i + 1 < s->nr && s->run[i + 1] == s->run[i])
			continue;
		if (!(of_run > 0))
			return false;
		of_run = 0;
	}
	return s->nr > 0;
}

/*
 * Is it in all runs of a side, and not on the other (or hardly, the first samples of a program that
 * was stopped early), where so many samples were to be expected that this is no luck? How it is
 * spread over the time of the side that has it does not matter then. The side that lacks it, or -1.
 */
static int find_lacking(const struct resample *r, uint32_t line, const double *sums)
{
	double share[2], fewest = r->sides[0].samples;
	const struct resample_side *s;
	int lacks;

	if (r->sides[0].by_run && r->sides[1].by_run)
		return -1;
	for (int i = 0; i < 2; i++) {
		double weight = sum(r->sides[i].weight, r->sides[i].nr);

		share[i] = weight > 0 ? sums[i] / weight : 0;
		fewest = r->sides[i].samples < fewest ? r->sides[i].samples : fewest;
	}
	lacks = share[1] < share[0];
	s = &r->sides[!lacks];
	if (share[lacks] * HARDLY > share[!lacks] || share[!lacks] * fewest < SAMPLES_MANY)
		return -1;
	return is_in_all(s, values_of(s, line, s->nr)) ? lacks : -1;
}

/*
 * The side that lacks it has what was counted, and a sample more; for the other, counting tells
 * that it is there.
 */
static void judge_one_side(const struct resample *r, struct resample_line *l, int lacks)
{
	const struct resample_side *s = &r->sides[lacks];
	double base = base_of(s, r->measure).sum, one = 0;

	l->one_side = true;
	if (base > 0 && s->samples > 0)
		one = sum(s->weight, s->nr) / s->samples / base;
	l->variance[lacks] = one * (l->x[lacks] + one);
	l->z = (lacks ? -1 : 1) * sqrt(SAMPLES_MANY);
}

static void estimate(struct resample *r, uint32_t line)
{
	struct resample_line *l = &r->lines[line];
	double sums[2], freedom[2], units[2], variance;
	int lacks;

	for (int i = 0; i < 2; i++)
		sums[i] = sum(values_of(&r->sides[i], line, r->sides[i].nr), r->sides[i].nr);
	lacks = find_lacking(r, line, sums);
	for (int i = 0; i < 2; i++) {
		struct resample_side *s = &r->sides[i];
		double *v = values_of(s, line, s->nr);

		l->x[i] = deviate(s, r->measure, v);
		l->variance[i] = variance_of(s, v, &freedom[i]);
		units[i] = s->nr_units > 2 ? s->nr_units - 1 : 1;
	}
	add_least(r, l, sums);
	l->z = 0;
	l->p = 1;
	if (!r->is_able || !l->is_tested) {
		l->freedom = l->units = 0;
		return;
	}
	for (int i = 0; i < 2; i++)
		l->variance[i] += variance_between(r, &r->sides[i], l->x[i]);
	l->freedom = coati_resample_welch(l->variance, freedom);
	l->units = coati_resample_welch(l->variance, units);
	variance = l->variance[0] + l->variance[1];
	if (variance > 0)
		l->z = coati_resample_normal((l->x[1] - l->x[0]) / sqrt(variance), l->freedom);
	if (lacks >= 0)
		judge_one_side(r, l, lacks);
}

/* ---- resampling ---- */

/* splitmix64: every seed is as good as any. */
uint64_t coati_resample_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void draw_signs(uint64_t *state, double *signs, uint32_t nr)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (i % 64 == 0)
			bits = coati_resample_random(state);
		signs[i] = bits >> i % 64 & 1 ? 1 : -1;
	}
}

struct flipped {
	double sum, variance;
};

/* A line's deviations under these signs: their sum, and the variance of it that would be seen.
 * Hot. */
static struct flipped flip(const struct resample_side *s, const double *v, const double *signs,
			   double square)
{
	double total = 0, n = s->nr_units;

	for (uint32_t i = 0; i < s->nr; i++)
		total += signs[i] * v[i];
	return (struct flipped){ total, (square - total * total / n) * n / (n - 1) };
}

/* The squares of the deviations do not change with their signs. */
static double *squares_of(const struct resample *r, const struct resample_side *s)
{
	double *squares = coati_alloc_array((size_t)r->nr_lines + 1, sizeof(*squares));

	for (uint32_t line = 0; squares && line < r->nr_lines; line++) {
		double products = 0;

		neighbors(s, values_of(s, line, s->nr), &products, &squares[line]);
	}
	return squares;
}

/* How far the line that strays furthest strays in one round. */
static double largest(const struct resample *r, double *const *signs, double *const *squares)
{
	double most = 0;

	for (uint32_t line = 0; line < r->nr_lines; line++) {
		struct flipped f[2];
		double z;

		if (!r->lines[line].is_tested)
			continue;
		for (int i = 0; i < 2; i++)
			f[i] = flip(&r->sides[i], values_of(&r->sides[i], line, r->sides[i].nr),
				    signs[i], squares[i][line]);
		if (!(f[0].variance + f[1].variance > 0))
			continue;
		z = fabs(coati_resample_normal((f[1].sum - f[0].sum) /
						       sqrt(f[0].variance + f[1].variance),
					       r->lines[line].units));
		if (z > most)
			most = z;
	}
	return most;
}

/* As many as the confidence needs to be more than a guess, and no more than a user would wait
 * for. */
static uint32_t choose_rounds(const struct resample *r)
{
	double work = (double)r->nr_lines * (r->sides[0].nr + r->sides[1].nr) + 1;
	double rounds = 100 / (1 - r->confidence);

	if (rounds > RESAMPLE_ROUNDS_MAX)
		rounds = RESAMPLE_ROUNDS_MAX;
	if (rounds * work > WORK_MAX)
		rounds = WORK_MAX / work;
	return rounds < RESAMPLE_ROUNDS_LEAST ? RESAMPLE_ROUNDS_LEAST : (uint32_t)rounds;
}

/* The critical value, and what share of the rounds went further than each line. */
static void judge(struct resample *r, double *most)
{
	uint32_t at = (uint32_t)ceil((r->rounds + 1) * r->confidence);
	double alone = coati_resample_quantile(1 - r->confidence);

	qsort(most, r->rounds, sizeof(*most), double_compare);
	r->critical = most[at > r->rounds ? r->rounds - 1 : at - 1];
	if (r->critical < alone)
		r->critical = alone;
	for (uint32_t line = 0; line < r->nr_lines; line++) {
		struct resample_line *l = &r->lines[line];
		uint32_t further = 0;

		for (uint32_t i = r->rounds; l->is_tested && i > 0 && most[i - 1] >= fabs(l->z);
		     i--)
			further++;
		if (!l->is_tested)
			continue;
		l->critical = r->critical;
		l->p = (further + 1.0) / (r->rounds + 1.0);
		/* what is taken for granted of runs does not show in the rounds */
		if (l->p < erfc(fabs(l->z) / sqrt(2)))
			l->p = erfc(fabs(l->z) / sqrt(2));
	}
}

static int calibrate(struct resample *r)
{
	CLEANUP(freep) double *before = squares_of(r, &r->sides[0]);
	CLEANUP(freep) double *after = squares_of(r, &r->sides[1]);
	uint32_t nr = r->sides[0].nr + r->sides[1].nr;
	CLEANUP(freep) double *signs = coati_alloc_array((size_t)nr + 1, sizeof(*signs));
	CLEANUP(freep) double *most = NULL;
	uint64_t state = r->seed;

	r->rounds = choose_rounds(r);
	most = coati_alloc_array(r->rounds, sizeof(*most));
	if (!before || !after || !signs || !most)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->rounds; i++) {
		draw_signs(&state, signs, nr);
		most[i] = largest(r, (double *[]){ signs, signs + r->sides[0].nr },
				  (double *[]){ before, after });
	}
	judge(r, most);
	return 0;
}

int coati_resample(struct resample *r)
{
	int ret = make_units(r, &r->sides[0]);

	if (ret == 0)
		ret = make_units(r, &r->sides[1]);
	if (ret < 0)
		return ret;
	r->is_able =
		r->sides[0].nr_units >= RESAMPLE_UNITS && r->sides[1].nr_units >= RESAMPLE_UNITS;
	for (uint32_t line = 0; line < r->nr_lines; line++)
		estimate(r, line);
	r->critical = coati_resample_quantile(1 - r->confidence);
	if (!r->is_able)
		return 0;
	return r->sides[0].by_run && r->sides[1].by_run ? coati_permute(r) : calibrate(r);
}
