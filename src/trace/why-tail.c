/* SPDX-License-Identifier: MIT */
/*
 * How far a distribution reaches by itself. The slowest hundredth was chosen for being slow: whatever varies is large there, and that alone is no cause. The body of the
 * distribution (from its median up to where the slow ones may begin) says how fast it thins out, and going on like that says what the slow ones are to be expected to have.
 *
 * Above a high enough value nearly every distribution is a generalised Pareto one; its shape is what Pickands' estimator takes from quantiles, here from four of them that are
 * equally far from each other by the logarithm of what lies above: 1/2 ... 1/16.
 *
 * Where many are of the other kind they are within the body, and it seems to go on for ever. But then there is a valley: past its peak one distribution only gets thinner from
 * each value to half as much again, and two of them get thicker once more.
 */
#include <math.h>

#include "trace/why.h"

#define TOP_LEAST  (1.0 / 16) /* a body ends where this much lies above, */
#define TOP_MOST   0.3	      /* and is none when it would end before this */
#define SHAPE_MOST 1.0	      /* more has no mean: two kinds are mixed within the body */
#define SHAPE_USED 0.9

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
	/* no tail is shorter than an exponential one: of those that are the body tells too little */
	shape = shape < 0.01 ? 0.01 : shape > SHAPE_USED ? SHAPE_USED : shape;
	scale = (q[3] - q[1]) * shape / (1 - exp(-2 * shape * step));
	at = q[3] + scale * (exp(shape * log(top / share)) - 1) / shape;
	return at + (scale + shape * (at - q[3])) / (1 - shape);
}

double coati_why_tail(const double *sorted, size_t nr, double share)
{
	double top = fmax(TOP_LEAST, 1.5 * share), tail = -1;

	for (; nr && tail < 0 && top <= TOP_MOST; top *= 2)
		tail = go_on(sorted, nr, share, top);
	return tail;
}

/* How many of @sorted are below @value. */
static size_t below(const double *sorted, size_t nr, double value)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (sorted[mid] < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool coati_why_valley(const double *sorted, size_t nr, double upto)
{
	double at = nr ? quantile(sorted, nr, VALLEY_ABOVE) : 0;

	for (; at > 0 && at * VALLEY_WIDTH <= upto; at *= VALLEY_STEP) {
		size_t first = below(sorted, nr, at);
		size_t next = below(sorted, nr, at * VALLEY_WIDTH);
		size_t end = below(sorted, nr, at * VALLEY_WIDTH * VALLEY_WIDTH);
		double inner = (double)(next - first), outer = (double)(end - next);

		if (outer - inner > VALLEY_SURE * sqrt(outer + inner))
			return true;
	}
	return false;
}
