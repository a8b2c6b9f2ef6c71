/* SPDX-License-Identifier: MIT */
/* Running mean and variance of repeated runs. */
#include "cli/stat/spread.h"

#include <errno.h>

#include "base/alloc.h"

static void mean_add(struct stat_mean *m, double x)
{
	double d = x - m->mean;

	m->nr++;
	m->mean += d / (double)m->nr;
	m->m2 += d * (x - m->mean);
	if (m->nr == 1 || x < m->min)
		m->min = x;
	if (m->nr == 1 || x > m->max)
		m->max = x;
}

/* Newton's way, so that the tool need not load the mathematics library for one call. */
static double square_root(double x)
{
	double root = x > 1 ? x : 1;

	if (x <= 0)
		return 0;
	for (double next = (root + x / root) / 2; next < root; next = (root + x / root) / 2)
		root = next;
	return root;
}

int coati_spread_add(struct stat_spread *s, const struct stat_tally *t)
{
	if (!s->cells) {
		s->cells = coati_alloc_array(t->nr_cells, sizeof(*s->cells));
		if (!s->cells)
			return -ENOMEM;
		s->nr_cells = t->nr_cells;
	}
	/* CPUs may come and go between runs; cells are compared only while they are the same
	 * ones. */
	for (uint32_t i = 0; i < t->nr_cells && i < s->nr_cells; i++) {
		if (t->cells[i].counted)
			mean_add(&s->cells[i], (double)t->cells[i].count);
	}
	mean_add(&s->wall, (double)(t->end_ns - t->start_ns));
	if (t->has_usage) {
		mean_add(&s->user, (double)t->user_ns);
		mean_add(&s->sys, (double)t->sys_ns);
	}
	s->nr_runs++;
	return 0;
}

double coati_mean_deviation(const struct stat_mean *m)
{
	return m->nr > 1 ? square_root(m->m2 / (double)(m->nr - 1)) : 0;
}

double coati_mean_relative(const struct stat_mean *m)
{
	return m->mean > 0 ? coati_mean_deviation(m) / m->mean : 0;
}

void coati_spread_fini(struct stat_spread *s)
{
	coati_free(s->cells);
	s->cells = NULL;
}
