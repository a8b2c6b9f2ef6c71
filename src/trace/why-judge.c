/* SPDX-License-Identifier: MIT */
/*
 * Whether a part of the breakdown is what makes the slow ones slow. They were chosen for being
 * slow, so they have more of whatever varies; a cause is more than that:
 *
 *	it matters	more than half of what a typical one takes, with 99 % confidence
 *	it is apart	twice as far out as the part's own tail would reach, or behind a valley
 *			(why-tail.c)
 *	it is theirs	time on a CPU is theirs when they ran more than twice as long, which
 *			sharing a core does not do to them, and when the host did not take it:
 *			samples saw them running, for a sampler ticks in time that the host
 *			takes away no more than once; or, where samples are too few to tell, the
 *			host took less in these intervals (why-steal.c)
 *
 * Slow ones may be slow for different reasons: a lock convoy has one that holds the lock and others
 * that wait for it. A mean over all of them hides each reason, the more the fewer they are. So a
 * part is judged twice: over all slow ones, and over those in which it stands out by itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "trace/why.h"

#define ROUNDS	     2000
#define OUTSIDE	     10	  /* rounds on each side: 99 % of them lie between */
#define MANY	     2000 /* their mean is normal: 99 % lie within */
#define MANY_ERRORS  2.576
#define APART	     2.0 /* times the distance of the tail, */
#define APART_FEW    3.0 /* and of fewer than FEW, whose mean is less certain */
#define FEW	     10
#define SHARED_CORE  1.0 /* of what a typical one runs: two on a core run half as fast */
#define TICKS_LEAST  3.0 /* extra samples of a slow one: one is there after any interruption */
#define STANDS_OUT   0.5 /* of what an instance takes longer than a typical one */
#define UNSURE_LEAST 0.1 /* of the slow ones; a single one of twenty is an accident */

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

/* Mean of the typical ones, and how far off it may be. */
static double typical_of(const struct comparison *c, const double *v, double *ret_error)
{
	double mean = coati_why_mean(c, v, false), sum = 0, nr = 0;

	for (size_t i = 0; i < c->list.len; i++)
		if (c->list.v[i].is_typical) {
			sum += (v[i] - mean) * (v[i] - mean);
			nr++;
		}
	*ret_error = nr > 1 ? sqrt(sum / (nr - 1) / nr) : 0;
	return mean;
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

/* Mean of @nr values, and how far off it may be. */
static double mean_of(const double *v, size_t nr, double *ret_error)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < nr; i++)
		mean += v[i] / (double)nr;
	for (size_t i = 0; i < nr; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	*ret_error = nr > 1 ? sqrt(sum / (double)(nr - 1) / (double)nr) : 0;
	return mean;
}

/* @slow has room for ROUNDS behind its @nr values. */
static void find_interval(double *slow, size_t nr, double typical, double error,
			  struct interval *ret)
{
	double own_error, mean = mean_of(slow, nr, &own_error);

	*ret = (struct interval){ .extra = mean - typical };
	/* most parts are zero in every instance: nothing is drawn for them */
	if (nr > MANY || (error <= 0 && own_error <= 0)) {
		error = MANY_ERRORS * hypot(error, own_error);
		ret->low = ret->extra - error;
		ret->high = ret->extra + error;
		return;
	}
	resample(slow, nr, slow + nr, typical, error);
	ret->low = slow[nr + OUTSIDE];
	ret->high = slow[nr + ROUNDS - 1 - OUTSIDE];
}

/* Of the values @v of a group, each less @minus of it; NULL: of none. */
static int interval_of(const struct comparison *c, const double *v, struct group g,
		       const double *minus, struct interval *ret)
{
	CLEANUP(freep) double *slow = coati_alloc_array(g.nr + ROUNDS, sizeof(*slow));
	double error, typical = typical_of(c, v, &error);

	if (!slow)
		return -ENOMEM;
	for (size_t i = 0; i < g.nr; i++)
		slow[i] = v[g.who[i]] - (minus ? minus[i] : 0);
	find_interval(slow, g.nr, typical, error, ret);
	return 0;
}

/* ---- theirs ---- */

/* What is left when the host took as much as it can have taken. */
static int judge_steal(const struct comparison *c, struct group g, struct coati_why *w,
		       struct coati_why_row *row)
{
	const double *run = c->columns.v[COATI_WAIT_RUNNING].v;
	CLEANUP(freep) double *charge = coati_alloc_array(g.nr, sizeof(*charge));
	struct interval left;
	int r = charge ? coati_why_charge(c, run, row->typical, g, charge) : -ENOMEM;

	if (r == 0)
		r = interval_of(c, run, g, charge, &left);
	if (r < 0)
		return r;
	w->stolen = 0;
	for (size_t i = 0; i < g.nr; i++)
		w->stolen += charge[i];
	row->number = left.low;
	if (row->number <= row->limit)
		row->verdict = COATI_WHY_STOLEN;
	return 0;
}

/* What samples saw of it, less the one that may come after any interruption. */
static int judge_seen(const struct comparison *c, struct group g, double extra, struct coati_why *w,
		      struct coati_why_row *row)
{
	struct interval seen;
	int r = interval_of(c, c->seen, g, NULL, &seen);

	if (r < 0)
		return r;
	w->seen = fmin(1, fmax(0, seen.extra / (c->rate * extra)));
	row->number = (seen.low - 1) / c->rate;
	if (row->number <= row->limit)
		row->verdict = COATI_WHY_STOLEN;
	return 0;
}

static int judge_running(const struct comparison *c, struct group g, const struct interval *in,
			 struct coati_why *w, struct coati_why_row *row)
{
	row->limit = fmax(WHY_MATTERS * w->typical, SHARED_CORE * row->typical);
	if (in->low <= SHARED_CORE * row->typical) {
		row->verdict = COATI_WHY_MACHINE;
		return 0;
	}
	if (c->rate * in->extra >= TICKS_LEAST)
		return judge_seen(c, g, in->extra, w, row);
	return c->t->info.has & COATI_TIMELINE_HAS_STEAL ? judge_steal(c, g, w, row) : 0;
}

/* ---- a part ---- */

/* A part, and all values of it in order. */
struct part {
	const struct comparison *c;
	const struct column *col;
	double *sorted;
};

/* Set the verdict by a group of slow ones. */
static int judge_group(const struct part *p, struct group g, struct coati_why *w,
		       struct coati_why_row *row)
{
	const struct comparison *c = p->c;
	struct interval in;
	double tail, apart;
	int r = interval_of(c, p->col->v, g, NULL, &in);

	if (r < 0)
		return r;
	row->verdict = COATI_WHY_SAME;
	row->number = in.low;
	row->limit = WHY_MATTERS * w->typical;
	if (in.low <= row->limit)
		return 0;
	row->verdict = COATI_WHY_CAUSE;
	tail = coati_why_tail(p->sorted, c->list.len, (double)g.nr / (double)w->nr,
			      WHY_FLOOR * w->typical);
	row->tail = tail;
	apart = (g.nr < FEW ? APART_FEW : APART) * (tail - row->typical);
	if (tail >= 0 && in.low <= apart &&
	    !coati_why_valley(p->sorted, c->list.len, row->typical + in.low,
			      WHY_FLOOR * w->typical)) {
		row->verdict = COATI_WHY_SPREAD;
		row->limit = apart;
		return 0;
	}
	if (row->kind == COATI_WHY_PART && row->part == COATI_WAIT_RUNNING)
		return judge_running(c, g, &in, w, row);
	return 0;
}

/*
 * Whether samples saw at least half of what an instance ran longer, not counting the one after an
 * interruption. They cannot tell of less than three of them: then @otherwise.
 */
static bool is_seen(const struct comparison *c, uint32_t instance, double extra, bool otherwise)
{
	double ticks = c->rate * extra;

	if (ticks < TICKS_LEAST)
		return otherwise;
	return c->seen[instance] - c->seen_typical - 1 >= (ticks - 1) / 2;
}

/*
 * The slow ones in which the part stands out: it is most of what they take longer than a typical
 * one, each of them is farther out than the tail reaches, and if it ran longer, samples saw it;
 * @unseen: those of which samples cannot tell, too.
 */
static size_t find_affected(const struct part *p, const struct coati_why *w,
			    const struct coati_why_row *row, bool unseen, uint32_t *ret)
{
	const struct comparison *c = p->c;
	double tail = coati_why_tail(p->sorted, c->list.len, (double)w->nr_slow / (double)w->nr,
				     WHY_FLOOR * w->typical);
	double least = fmax(WHY_MATTERS * w->typical, APART * (tail - row->typical));
	bool runs = row->kind == COATI_WHY_PART && row->part == COATI_WAIT_RUNNING;
	size_t nr = 0;

	for (uint32_t i = 0; i < w->nr_slow; i++) {
		const struct instance *in = &c->list.v[c->slow[i]];
		double extra = p->col->v[c->slow[i]] - row->typical;
		double longer = (double)why_length(in, w->without_cpu) - w->typical;

		if (extra > least && extra >= STANDS_OUT * longer &&
		    (!runs || is_seen(c, c->slow[i], extra, unseen)))
			ret[nr++] = c->slow[i];
	}
	return nr;
}

/* By all of the slow ones; and when they do not show a cause, by those in which it stands out. */
static int judge_part(const struct part *p, struct coati_why *w, struct coati_why_row *row)
{
	const struct comparison *c = p->c;
	CLEANUP(freep) uint32_t *out = coati_alloc_array(w->nr_slow, sizeof(*out));
	struct group all = { c->slow, w->nr_slow };
	struct coati_why_row other = *row;
	size_t nr;
	int r = out ? judge_group(p, all, w, row) : -ENOMEM;

	if (r < 0)
		return r;
	nr = find_affected(p, w, row, false, out);
	/* where the host took time, those of which samples cannot tell are no witnesses */
	if (nr < why_needed(w->nr_slow) && row->verdict != COATI_WHY_STOLEN)
		nr = find_affected(p, w, row, true, out);
	row->nr_affected = (uint32_t)nr;
	if (row->verdict == COATI_WHY_CAUSE)
		return 0;
	if (nr >= why_needed(w->nr_slow)) {
		r = judge_group(p, (struct group){ out, nr }, w, &other);
		other.nr_affected = (uint32_t)nr;
		if (r == 0 &&
		    (other.verdict == COATI_WHY_CAUSE || other.verdict == COATI_WHY_STOLEN))
			*row = other;
	} else if (nr && (double)nr >= UNSURE_LEAST * w->nr_slow &&
		   row->verdict == COATI_WHY_SAME) {
		row->verdict = COATI_WHY_UNSURE;
	}
	return r;
}

int coati_why_judge(const struct comparison *c, const struct column *col, struct coati_why *w,
		    struct coati_why_row *row)
{
	struct part p = { c, col, NULL };
	CLEANUP(freep) double *sorted = NULL;
	struct interval in;
	int r = interval_of(c, col->v, (struct group){ c->slow, w->nr_slow }, NULL, &in);

	if (r < 0)
		return r;
	row->extra = in.extra;
	row->low = row->number = in.low;
	row->high = in.high;
	row->tail = -1;
	row->limit = WHY_MATTERS * w->typical;
	if (row->slow <= 0 || (row->kind == COATI_WHY_PART && row->part == COATI_WAIT_UNKNOWN))
		return 0;
	if (row->kind == COATI_WHY_PART && why_is_machine(row->part)) {
		row->verdict = row->low > row->limit ? COATI_WHY_MACHINE : COATI_WHY_SAME;
		return 0;
	}
	p.sorted = sorted = coati_alloc_array(c->list.len, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.len; i++)
		sorted[i] = col->v[i];
	qsort(sorted, c->list.len, sizeof(*sorted), by_value);
	r = judge_part(&p, w, row);
	/* with fewer than it takes nothing is claimed */
	if (w->nr_slow < WHY_SLOW_LEAST || w->nr_typical < WHY_TYPICAL_LEAST)
		row->verdict = row->extra > row->limit ? COATI_WHY_UNSURE : COATI_WHY_SAME;
	return r;
}
