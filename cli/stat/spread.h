/* SPDX-License-Identifier: MIT */
/* Repeated runs: the mean of each cell and how far single runs are from it, kept without storing
 * the runs. */
#pragma once

#include <stdint.h>

#include "cli/stat/meter.h"

struct stat_mean {
	uint64_t nr;
	double mean, m2; /* Welford: sum of squared distances */
	double min, max;
};

struct stat_spread {
	struct stat_mean *cells; /* as in the tally */
	uint32_t nr_cells;
	struct stat_mean wall, user, sys; /* nanoseconds */
	uint32_t nr_runs;
};

/* Take one more run in. -ENOMEM. */
int coati_spread_add(struct stat_spread *s, const struct stat_tally *t);
/* Standard deviation of single runs, and that as a part of the mean (0.01: one percent). 0 below
 * two runs. */
double coati_mean_deviation(const struct stat_mean *m);
double coati_mean_relative(const struct stat_mean *m);
void coati_spread_fini(struct stat_spread *s);
