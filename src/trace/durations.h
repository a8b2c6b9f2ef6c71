/* SPDX-License-Identifier: MIT */
/* Durations of which exact percentiles are wanted: four bytes for each that is below four seconds,
 * eight for the others. */
#pragma once

#include <stdint.h>

#include "base/array.h"

/* Zeros are an empty one. */
struct durations {
	ARRAY(uint32_t) small;
	ARRAY(uint64_t) large; /* more than a small one can be */
};

/* -ENOMEM. */
int coati_durations_add(struct durations *d, uint64_t ns);
#define DURATIONS_RANKS 4
/* The percentiles @percents, which rise: the smallest duration that this part of all durations does
 * not exceed. 0 where there are none. May change their order. -ENOMEM. */
int coati_durations_percentiles(struct durations *d, const unsigned int percents[DURATIONS_RANKS],
				uint64_t ret[DURATIONS_RANKS]);
void coati_durations_fini(struct durations *d);
