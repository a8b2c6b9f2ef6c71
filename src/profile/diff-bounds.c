/* SPDX-License-Identifier: MIT */
/*
 * The interval of one change, and its verdict. Each side has an interval of its own that stays
 * within what is possible, and the interval of the difference is made from both (R. Newcombe, G.
 * Zou and A. Donner). Where a side varies little this is the usual estimate plus and minus t
 * standard deviations; where it varies much, that would go below nothing or above all.
 */
#include "profile/diff-parts.h"

#include <errno.h>
#include <math.h>

#include "profile/diff.h"
#include "profile/resample.h"

#define CLEARLY 2 /* an interval of counting alone that is so many times narrower decides */

struct range {
	double low, high;
};

/* A share: E. B. Wilson's interval, of as many independent samples as would vary like this. */
static struct range range_of_share(double x, double variance, double t)
{
	double inverse, middle, half;

	if (!(x > 0) || !(x < 1)) {
		half = t * sqrt(variance);
		half = half < 1 ? half : 1;
		return x > 0 ? (struct range){ 1 - half, 1 } : (struct range){ 0, half };
	}
	inverse = t * t * variance / (x * (1 - x));
	middle = (x + inverse / 2) / (1 + inverse);
	half = t * sqrt(variance + inverse * inverse / (4 * t * t)) / (1 + inverse);
	return (struct range){ middle > half ? middle - half : 0,
			       middle + half < 1 ? middle + half : 1 };
}

/* A weight, which is not below 0 and has no upper end. */
static struct range range_of(const struct coati_diff_value *v, int side, double t)
{
	double x = side ? v->after : v->before;
	double variance = side ? v->variance_after : v->variance_before, half = t * sqrt(variance);

	if (v->flags & COATI_DIFF_IS_SHARE)
		return range_of_share(x, variance, t);
	return (struct range){ x > 0 ? x / (1 + half / x) : 0, x + half };
}

/*
 * E. C. Fieller's interval of after / before at @t: those ratios at which the difference would not
 * show.
 */
static void put_ratio(struct coati_diff_value *v, double t)
{
	double a = v->before * v->before - t * t * v->variance_before;
	double c = v->after * v->after - t * t * v->variance_after;
	double b = v->before * v->after, root = b * b - a * c;

	root = root > 0 ? sqrt(root) : 0;
	v->ratio_low = 0;
	v->ratio_high = (double)INFINITY;
	if (a > 0) {
		v->ratio_low = b > root ? (b - root) / a : 0;
		v->ratio_high = (b + root) / a;
	} else if (c > 0 && a < 0) {
		v->ratio_low = (b - root) / a;
	} else if (c > 0 && b > 0) {
		v->ratio_low = c / (2 * b);
	}
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/*
 * Fieller's interval may hold everything where that of the difference does not: it is what follows
 * from that, then.
 */
static void put_one_side(struct coati_diff_value *v, double most_before)
{
	if (!(most_before > 0))
		return;
	if (v->verdict == COATI_DIFF_MORE)
		v->ratio_low = larger(v->ratio_low, 1 + v->low / most_before);
	else
		v->ratio_high = smaller(v->ratio_high, 1 + v->high / most_before);
}

/*
 * Not even that it is gone, or twice as much, would show, though there are samples enough: did they
 * not vary with time, these would tell it from nothing, whose interval is t times the root of their
 * number.
 */
static bool is_undecided(const struct coati_diff_value *v, double half, double t)
{
	double samples = (double)v->before_samples + (double)v->after_samples;

	return v->flags & COATI_DIFF_IN_BLOCKS && half >= larger(v->before, v->after) &&
	       samples >= CLEARLY * CLEARLY * t * t;
}

void coati_diff_put_bounds(struct coati_diff_value *v, double t)
{
	struct range before = range_of(v, 0, t), after = range_of(v, 1, t);
	double half = t * sqrt(v->variance_before + v->variance_after);

	v->low = v->change - hypot(v->after - after.low, before.high - v->before);
	v->high = v->change + hypot(after.high - v->after, v->before - before.low);
	put_ratio(v, t);
	/*
	 * the verdict is that of the test; where intervals differ from it by their shape they
	 * follow it
	 */
	if (v->change > 0 && (v->change > half || v->flags & COATI_DIFF_ONE_SIDE)) {
		v->verdict = COATI_DIFF_MORE;
		v->low = larger(v->low, larger(v->change - half, 0));
	} else if (v->change < 0 && (v->change < -half || v->flags & COATI_DIFF_ONE_SIDE)) {
		v->verdict = COATI_DIFF_LESS;
		v->high = smaller(v->high, smaller(v->change + half, 0));
	} else {
		v->verdict = is_undecided(v, half, t) ? COATI_DIFF_UNDECIDED : COATI_DIFF_SAME;
		v->low = smaller(v->low, 0);
		v->high = larger(v->high, 0);
	}
	if (v->flags & COATI_DIFF_ONE_SIDE)
		put_one_side(v, before.high);
}

int coati_diff_bounds(const struct coati_diff_value *v, double confidence, uint32_t nr,
		      struct coati_diff_value *ret)
{
	struct coati_diff_value out = *v;

	if (!(v->freedom > 0))
		return -ENODATA;
	if (!(confidence >= 0.5 && confidence <= 0.9999) || !nr)
		return -EINVAL;
	coati_diff_put_bounds(
		&out,
		coati_resample_student(coati_resample_quantile((1 - confidence) / nr), v->freedom));
	*ret = out;
	return 0;
}
