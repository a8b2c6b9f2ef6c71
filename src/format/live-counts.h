/* SPDX-License-Identifier: MIT */
/* How many live events an export has. */
#pragma once

#include <stdint.h>

struct live_counts {
	uint64_t slices, slice_ns; /* regions, tasks, states, and how long they are */
	uint64_t points;	   /* logs, instants, flows and whatever else has no length */
	uint64_t counters;	   /* values */
};
