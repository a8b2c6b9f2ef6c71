/* SPDX-License-Identifier: MIT */
/* The one clock: CLOCK_MONOTONIC nanoseconds. And durations as a person reads them. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/strbuf.h"

#define NSEC_PER_SEC  UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* 1234567 ns as "1.23 ms": three significant digits, unit ns, us, ms, s, m, h. */
void coati_format_duration(struct strbuf *s, uint64_t ns);
