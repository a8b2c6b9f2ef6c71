/* SPDX-License-Identifier: MIT */
/*
 * When windows end, and how far apart samples are: the same on all agents of a fleet. Rows of many
 * hosts then have few distinct times and weights, which a database stores in half the space.
 */
#pragma once

#include <stdint.h>

#define PACE_DITHER 16 /* the period is off by at most 1/16 */

/* The hour that a time of day is in, by which the period is chosen. */
static inline uint64_t pace_hour(uint64_t wall_ns)
{
	return wall_ns / (3600 * UINT64_C(1000000000));
}

/* The period in ns of a clock with @rate_hz: a little beside 1/rate, another one each hour, so that
 * what happens at a steady beat is not always hit, or always missed. */
uint64_t coati_pace_period(double rate_hz, uint64_t hour);

/* The end of the window that begins at @wall_ns: a multiple of @window_ns since 1970. The window is
 * between half as long and half again as long. */
uint64_t coati_pace_end(uint64_t wall_ns, uint64_t window_ns);
