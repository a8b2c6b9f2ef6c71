/* SPDX-License-Identifier: MIT */
/*
 * Whether a part of the ledger is what makes the slow ones slow. They were chosen for being slow, so they have more of whatever varies; a cause is more than that:
 *
 *	it matters	more than half of what a typical one takes, with 99 % confidence
 *	it is apart	twice as far out as the part's own tail would reach, or behind a valley (why-tail.c)
 *	it is theirs	time on a CPU is theirs when they ran more than twice as long, which sharing a core does not do to them, and were seen running:
 *			a sampler ticks in time that the host takes away no more than once
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/why.h"

#define ROUNDS	      2000
#define OUTSIDE	      10   /* rounds on each side: 99 % of them lie between */
#define MANY	      2000 /* their mean is normal: 99 % lie within */
#define MANY_ERRORS   2.576
#define MATTERS	      0.5 /* of what a typical one takes */
#define APART	      2.0 /* times the distance of the tail */
#define SHARED_CORE   1.0 /* of what a typical one runs: two on a core run half as fast */
#define SAMPLES_LEAST 20  /* of typical ones, to know how many there are to be */
#define TICKS_LEAST   3.0 /* extra samples of a slow one: one is there after any interruption */

/* ---- chance ---- */

/* The same numbers every time. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Nearly normal. */
static double draw_normal(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(draw(state) >> 11) * 0x1p-53;
	return sum;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* How far off the mean may be. */
static double error_of(const struct comparison *c, const double *v, bool slow, double mean)
{
	double sum = 0, nr = 0;

	for (size_t i = 0; i < c->list.len; i++)
		if (slow ? c->list.v[i].is_slow : c->list.v[i].is_typical) {
			sum += (v[i] - mean) * (v[i] - mean);
			nr++;
		}
	return nr > 1 ? sqrt(sum / (nr - 1) / nr) : 0;
}

/* Whether all are equal: then every mean of some of them is the same. */
static bool is_constant(const double *v, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

/* What slow ones have more, and between what that lies with 99 % confidence. */
struct interval {
	double extra, low, high;
};

static void resample(const double *slow, size_t nr, double *extra, double typical, double error)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	for (int n = 0; n < ROUNDS; n++) {
		double sum = 0;

		for (size_t i = 0; i < nr; i++)
			sum += slow[(draw(&state) >> 32) * nr >> 32];
		extra[n] = sum / (double)nr - typical + error * draw_normal(&state);
	}
	qsort(extra, ROUNDS, sizeof(*extra), by_value);
}

static int find_interval(const struct comparison *c, const double *v, struct interval *ret)
{
	double mean = coati_why_mean(c, v, true), typical = coati_why_mean(c, v, false);
	double error = error_of(c, v, false, typical);
	CLEANUP(freep) double *slow = coati_alloc_array(c->list.len + ROUNDS, sizeof(*slow));
	size_t nr = 0;

	if (!slow)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.len; i++)
		if (c->list.v[i].is_slow)
			slow[nr++] = v[i];
	*ret = (struct interval){ .extra = mean - typical };
	/* most parts are zero in every instance: nothing is drawn for them */
	if (nr > MANY || (error <= 0 && is_constant(slow, nr))) {
		error = MANY_ERRORS * hypot(error, error_of(c, v, true, mean));
		ret->low = ret->extra - error;
		ret->high = ret->extra + error;
		return 0;
	}
	resample(slow, nr, slow + nr, typical, error);
	ret->low = slow[nr + OUTSIDE];
	ret->high = slow[nr + ROUNDS - 1 - OUTSIDE];
	return 0;
}

/* ---- apart ---- */

/* Sets the tail. */
static int judge_tail(const struct comparison *c, const double *v, const struct coati_why *w,
		      struct coati_why_row *row)
{
	CLEANUP(freep) double *sorted = coati_alloc_array(c->list.len, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.len; i++)
		sorted[i] = v[i];
	qsort(sorted, c->list.len, sizeof(*sorted), by_value);
	row->tail = coati_why_tail(sorted, c->list.len, (double)w->nr_slow / (double)w->nr);
	if (row->tail >= 0 && row->low <= APART * (row->tail - row->typical) &&
	    !coati_why_valley(sorted, c->list.len, row->typical + row->low))
		row->verdict = COATI_WHY_SPREAD;
	return 0;
}

/* ---- theirs ---- */

/* Could the host have taken it all? Nobody tells: it could not. */
static bool is_in_budget(const struct comparison *c, const struct coati_why *w,
			 const struct coati_why_row *row)
{
	return c->t->info.has & COATI_TIMELINE_HAS_STEAL &&
	       row->low * w->nr_slow <= (double)c->t->info.stolen_ns;
}

/* Sets what share of the extra time samples saw, when there are enough to say. */
static int judge_running(const struct comparison *c, struct coati_why *w, struct coati_why_row *row)
{
	const double *run = c->columns.v[COATI_WAIT_RUNNING].v;
	double typical = coati_why_mean(c, c->seen, false),
	       rate = typical / fmax(1, coati_why_mean(c, run, false));
	struct interval seen = { 0 };
	int r = 0;

	if (row->low <= SHARED_CORE * row->typical) {
		row->verdict = COATI_WHY_MACHINE;
	} else if (typical * w->nr_typical >= SAMPLES_LEAST && rate * row->extra >= TICKS_LEAST) {
		r = find_interval(c, c->seen, &seen);
		w->seen = fmin(1, fmax(0, seen.extra / (rate * row->extra)));
		if (seen.low - 1 <= rate * fmax(MATTERS * w->typical, SHARED_CORE * row->typical))
			row->verdict = COATI_WHY_MACHINE;
	} else if (is_in_budget(c, w, row)) {
		row->verdict = COATI_WHY_MACHINE;
	}
	return r;
}

/* ---- the whole ---- */

int coati_why_judge(const struct comparison *c, const struct column *col, struct coati_why *w,
		    struct coati_why_row *row)
{
	struct interval in;
	int r = find_interval(c, col->v, &in);

	if (r < 0)
		return r;
	row->extra = in.extra;
	row->low = in.low;
	row->high = in.high;
	row->tail = -1;
	if (row->low <= MATTERS * w->typical ||
	    (row->kind == COATI_WHY_PART && row->part == COATI_WAIT_UNKNOWN))
		return 0;
	row->verdict = COATI_WHY_CAUSE;
	if (row->kind == COATI_WHY_PART && why_is_machine(row->part)) {
		row->verdict = COATI_WHY_MACHINE;
		return 0;
	}
	r = judge_tail(c, col->v, w, row);
	if (r == 0 && row->verdict == COATI_WHY_CAUSE && row->kind == COATI_WHY_PART &&
	    row->part == COATI_WAIT_RUNNING)
		r = judge_running(c, w, row);
	return r;
}
