/* SPDX-License-Identifier: MIT */
/*
 * Buckets for durations: exact up to 63 ns, then 32 for each doubling, so that a bucket is at most
 * 1/32 wide. The numbers are stored by the agent: they never change.
 */
#pragma once

#include <stdint.h>

#define BUCKET_BITS  5
#define BUCKETS_EACH (1u << BUCKET_BITS)
#define BUCKETS_MAX  ((64 - BUCKET_BITS + 1) * BUCKETS_EACH)

static inline uint32_t bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < 2 * BUCKETS_EACH)
		return (uint32_t)ns;
	shift = 63 - (uint32_t)__builtin_clzll(ns) - BUCKET_BITS;
	return shift * BUCKETS_EACH + (uint32_t)(ns >> shift);
}

/* Its upper bound, which is in it. */
static inline uint64_t bucket_end(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < 2 * BUCKETS_EACH)
		return bucket;
	shift = bucket / BUCKETS_EACH - 1;
	return ((uint64_t)(bucket - shift * BUCKETS_EACH + 1) << shift) - 1;
}
