/* SPDX-License-Identifier: MIT */
/*
 * The clock of one batch: values of the writer's clock to CLOCK_MONOTONIC nanoseconds, with what they may be off by. A closed batch has a pair of
 * readings at each end, and times between them lie on the line through both; an open one has the first pair and the rate that its process
 * measured. Pairs that cannot both be true make every time of the batch a guess.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/live-format.h"

/* What the kernel may speed up or slow down its clock by while nobody looks, as a shift: 488 millionths. */
#define CLOCK_SLEW_SHIFT 11

/* The rate that a process told: ns = units * mult >> shift. mult 0: it told none. */
struct clock_rate {
	uint64_t mult;
	uint32_t shift;
};

struct live_clock {
	uint64_t units, ns; /* the first pair */
	uint64_t mult;	    /* with a shift of 32 */
	uint64_t error_ns;
	uint64_t last_units; /* no time of the batch is later */
	uint64_t
		near; /* so many units behind the first pair a product has 64 bits, and is not later than that */
	bool is_open, unknown;
};

/* @rate: of the process, for what the batch does not tell itself. */
struct live_clock coati_live_clock(const struct live_batch *head, const struct clock_rate *rate);

/* Hot. */
static inline uint64_t live_clock_ns(const struct live_clock *c, uint64_t units)
{
	__int128 since = (int64_t)(units - c->units);

	if (__builtin_expect(units >= c->units, 1)) /* one multiplication instead of three */
		return c->ns +
		       (uint64_t)(((unsigned __int128)(units - c->units) * c->mult + (1u << 31)) >>
				  32);
	return c->ns + (uint64_t)((since * (__int128)c->mult + (1u << 31)) >> 32);
}

/* What @ns, made of @units, may be off by.  Hot. */
static inline uint64_t live_clock_error(const struct live_clock *c, uint64_t ns)
{
	return c->error_ns + (c->is_open && ns > c->ns ? (ns - c->ns) >> CLOCK_SLEW_SHIFT : 0);
}
