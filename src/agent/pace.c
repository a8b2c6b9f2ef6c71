/* SPDX-License-Identifier: MIT */
/* see pace.h */
#include "agent/pace.h"

#include "base/map.h"

#define STEPS 2001

uint64_t coati_pace_period(double rate_hz, uint64_t hour)
{
	uint64_t step = coati_hash_u64(hour, 1) % STEPS;
	double part = ((double)step / (STEPS / 2) - 1) / PACE_DITHER;

	return (uint64_t)(1e9 / rate_hz * (1 + part));
}

uint64_t coati_pace_end(uint64_t wall_ns, uint64_t window_ns)
{
	return ((wall_ns + window_ns / 2) / window_ns + 1) * window_ns;
}
