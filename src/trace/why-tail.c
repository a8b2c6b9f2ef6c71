/* SPDX-License-Identifier: MIT */
/*
 * How far a distribution reaches by itself. The slowest hundredth was chosen for being slow:
 * whatever varies is large there, and that alone is no cause. The body of the distribution (from
 * its median up to where the slow ones may begin) says how fast it thins out, and going on like
 * that says what the slow ones are to be expected to have.
 *
 * Above a high enough value nearly every distribution is a generalized Pareto one; its shape is
 * what Pickands' estimator takes from quantiles, here from four of them that are equally far from
 * each other by the logarithm of what lies above: 1/2 ... 1/16.
 *
 * Many instances do not wait for a lock or in a queue at all. They are left out: with them the
 * distribution seems to begin within its tail, and to go on for ever.
 *
 * Where many are of the other kind they are within the body, and it seems to go on for ever. But
 * then there is a valley: past its peak one distribution only gets thinner from each value to half
 * as much again, and two of them get thicker once more.
 */
#include <math.h>

#include "base/doubles.h"
#include "trace/why.h"

#define TOP_LEAST  (1.0 / 16) /* a body ends where this much lies above, */
#define TOP_MOST   0.3	      /* and is none when it would end before this */
#define TOPS_MAX   8
#define SHAPE_MOST 1.0 /* more has no mean: two kinds are mixed within the body */
#define SHAPE_USED 0.9

#define ZEROS_LEAST 0.1 /* of all have nothing of it: the distribution is that of the others */

#define VALLEY_ABOVE 0.3 /* of all: there one distribution is past its peak */
#define VALLEY_WIDTH 1.5 /* a stretch is from one value to so many times as much, */
#define VALLEY_STEP  1.1
#define VALLEY_SURE  4.0 /* and two differ by so many of their errors */

/* The value that @above of all exceed. */
static double quantile(const double *sorted, size_t nr, double above)
{
	double at = (1 - above) * (double)(nr - 1);
	size_t i = (size_t)at;

	return i + 1 < nr ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* With a body that ends at @top. Negative: it is of two kinds. */
static double go_on(const double *sorted, size_t nr, double share, double top)
{
	double step = log(0.5 / top) / 3, q[4], shape, scale, at;

	for (int i = 0; i < 4; i++)
		q[i] = quantile(sorted, nr, 0.5 * exp(-step * i));
	if (q[3] <= q[0])
		return q[3];
	if (q[2] <= q[0])
		return -1;
	shape = log((q[3] - q[1]) / (q[2] - q[0])) / step;
	if (shape > SHAPE_MOST)
		return -1;
	/*
	 * no tail is shorter than an exponential one: of those that are the body tells too little
	 */
	shape = shape < 0.01 ? 0.01 : shape > SHAPE_USED ? SHAPE_USED : shape;
	scale = (q[3] - q[1]) * shape / (1 - exp(-2 * shape * step));
	at = q[3] + scale * (exp(shape * log(top / share)) - 1) / shape;
	return at + (scale + shape * (at - q[3])) / (1 - shape);
}

static double median(double *v, int nr)
{
	for (int i = 1; i < nr; i++)
		for (int n = i; n > 0 && v[n] < v[n - 1]; n--) {
			double tmp = v[n];

			v[n] = v[n - 1];
			v[n - 1] = tmp;
		}
	return v[nr / 2];
}

/* How many have as good as nothing of it, and say nothing about the others; 0: few do. */
static size_t count_zeros(const double *sorted, size_t nr, double floor)
{
	size_t zeros = double_below(sorted, nr, floor);

	return (double)zeros >= ZEROS_LEAST * (double)nr ? zeros : 0;
}

/* Four quantiles alone are a matter of luck: bodies that end at several places have to agree. */
double coati_why_tail(const double *sorted, size_t nr, double share, double floor)
{
	size_t zeros = count_zeros(sorted, nr, floor);
	double tails[TOPS_MAX];
	int tops = 0, known = 0;

	if (zeros == nr)
		return 0;
	share *= (double)nr / (double)(nr - zeros);
	for (double top = fmax(TOP_LEAST, 1.5 * share); top <= TOP_MOST; top *= M_SQRT2) {
		tails[known] = go_on(sorted + zeros, nr - zeros, share, top);
		known += tails[known] >= 0;
		tops++;
	}
	return 2 * known > tops ? median(tails, known) : -1;
}

bool coati_why_valley(const double *sorted, size_t nr, double upto, double floor)
{
	size_t zeros = count_zeros(sorted, nr, floor);
	double at;

	sorted += zeros;
	nr -= zeros;
	at = nr ? quantile(sorted, nr, VALLEY_ABOVE) : 0;
	for (; at > 0 && at * VALLEY_WIDTH <= upto; at *= VALLEY_STEP) {
		size_t first = double_below(sorted, nr, at);
		size_t next = double_below(sorted, nr, at * VALLEY_WIDTH);
		size_t end = double_below(sorted, nr, at * VALLEY_WIDTH * VALLEY_WIDTH);
		double inner = (double)(next - first), outer = (double)(end - next);

		if (outer - inner > VALLEY_SURE * sqrt(outer + inner))
			return true;
	}
	return false;
}

/* ---- two kinds ---- */

#define BIN_WIDTH 1.25 /* the upper edge of a bin divided by its lower edge */
#define BINS_MAX  256
#define BINS_ENDS 0.01 /* of all on each side are in none */

/* Fills @bins with how many of @sorted are in each; how many bins there are. */
static size_t fill_bins(const double *sorted, size_t nr, double *bins)
{
	double at = fmax(1, quantile(sorted, nr, 1 - BINS_ENDS));
	double last = quantile(sorted, nr, BINS_ENDS);
	size_t n = 0;

	for (; n < BINS_MAX && at <= last; at *= BIN_WIDTH)
		bins[n++] = (double)(double_below(sorted, nr, at * BIN_WIDTH) -
				     double_below(sorted, nr, at));
	return n;
}

static double most(const double *bins, size_t from, size_t to)
{
	double max = 0;

	for (size_t i = from; i < to; i++)
		max = fmax(max, bins[i]);
	return max;
}

static bool is_less(double a, double b)
{
	return b - a > VALLEY_SURE * sqrt(a + b);
}

double coati_why_mixture(const double *sorted, size_t nr)
{
	double bins[BINS_MAX], above = 0, best = 0;
	size_t n = nr ? fill_bins(sorted, nr, bins) : 0;

	for (size_t i = n; i-- > 0; above += bins[i]) {
		double share = (above + bins[i] / 2) / (double)nr;

		if (is_less(bins[i], most(bins, 0, i)) && is_less(bins[i], most(bins, i + 1, n)) &&
		    share >= WHY_MIXED && share <= 1 - WHY_MIXED)
			best = share;
	}
	return best;
}
