/* SPDX-License-Identifier: MIT */
/*
 * What the host took, charged to the intervals in which it took it. The recorder reads the count of
 * stolen time several times a second, so there are windows with an amount each. An instance can be
 * excused by no more than the windows hold in which it ran, and the same amount excuses only one.
 */
#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/timeline.h"
#include "trace/why.h"

/* What is left of the windows, and of all together. */
struct purse {
	double *left;
	double total;
};

static double take(struct purse *p, size_t window, double want)
{
	double ns = fmin(want, fmin(p->left[window], p->total));

	p->left[window] -= ns;
	p->total -= ns;
	return ns;
}

static double charge_one(const struct coati_timeline *t, const struct instance *in, double want,
			 struct purse *p)
{
	double sum = 0;

	for (size_t i = 0; sum < want && i < t->thefts.len; i++)
		if (t->thefts.v[i].begin < in->end && t->thefts.v[i].end > in->begin)
			sum += take(p, i, want - sum);
	return sum;
}

int coati_why_charge(const struct comparison *c, const double *v, double typical, struct group g,
		     double *ret)
{
	const struct coati_timeline *t = c->t;
	CLEANUP(freep) double *left = coati_alloc_array(t->thefts.len + 1, sizeof(*left));
	struct purse p = { left, (double)t->info.stolen_ns };

	if (!left)
		return -ENOMEM;
	for (size_t i = 0; i < t->thefts.len; i++)
		left[i] = (double)t->thefts.v[i].ns;
	left[t->thefts.len] = p.total;
	for (size_t i = 0; i < g.nr; i++) {
		double want = fmax(0, v[g.who[i]] - typical);

		/* recordings without windows have the sum alone */
		ret[i] = t->thefts.len ? charge_one(t, &c->list.v[g.who[i]], want, &p)
				       : take(&p, 0, want);
	}
	return 0;
}
