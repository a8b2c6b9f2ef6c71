/* SPDX-License-Identifier: MIT */
/* What a count means beside the others of its scope: instructions per cycle, misses in percent,
 * CPUs used, per second. */
#pragma once

#include <stdbool.h>

#include "cli/stat/meter.h"

struct stat_ratio {
	double value;
	const char *unit; /* "per cycle", "% of branches", "CPUs used", "/s", "GHz" */
};

/* The ratio of cell @i, by its partner in the same scope with the same restrictions (u, k, h).
 * False: it has none. */
bool coati_stat_ratio(const struct stat_meter *m, const struct stat_tally *t, uint32_t i,
		      struct stat_ratio *ret);
