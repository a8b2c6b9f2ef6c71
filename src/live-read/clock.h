/* SPDX-License-Identifier: MIT */
/*
 * From the clock of a writer to CLOCK_MONOTONIC nanoseconds, with what they may be off by. Each
 * batch has a pair of readings of both clocks at its begin, and at its end when it is closed.
 * Times between these two lie on the line through both. All others (of open batches, and of what
 * began before its batch) are placed between the pairs of all batches of the process. Pairs that
 * cannot both be true make every time of the batch a guess.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "record/live-format.h"

/* How much the kernel may speed up or slow down its clock unnoticed, as a shift: 488 millionths. */
#define CLOCK_SLEW_SHIFT 11

/* The rate that a process reported: ns = units * mult >> shift. mult 0: none. */
struct clock_rate {
	uint64_t mult;
	uint32_t shift;
};

/* One moment on both clocks. */
struct clock_pair {
	uint64_t units, ns;
	uint32_t error_ns;
};

/* What a process reported about its clock. */
struct clock_base {
	struct clock_rate rate; /* measured in two milliseconds when it started */
	/* of its batches, both clocks ascending. When there are too many, every other one is
	 * dropped, and from then on they are `apart` units apart */
	ARRAY(struct clock_pair) pairs;
	uint64_t apart;
};

/* Take the pairs of a batch, unless they contradict what is known: 0, or -ENOMEM. */
int coati_clock_learn(struct clock_base *b, const struct live_batch *head);

struct live_clock {
	const struct clock_base *base;
	uint64_t units, ns; /* the first pair */
	uint64_t mult;	    /* with a shift of 32 */
	uint64_t error_ns;
	uint64_t sure_ns;    /* up to here there are pairs on both sides */
	uint64_t last_units; /* no time of the batch is later */
	/* so many units behind the first pair a product has 64 bits, and is not later than that */
	uint64_t near;
	bool is_open, unknown;
};

/* @base: of the process. It stays where it is as long as the clock is used. */
struct live_clock coati_live_clock(const struct live_batch *head, const struct clock_base *base);

/* The same for times before the first pair. */
uint64_t coati_live_clock_before(const struct live_clock *c, uint64_t units);

/* Hot. */
static inline uint64_t live_clock_ns(const struct live_clock *c, uint64_t units)
{
	if (__builtin_expect(units >= c->units, 1))
		return c->ns +
		       (uint64_t)(((unsigned __int128)(units - c->units) * c->mult + (1u << 31)) >>
				  32);
	return coati_live_clock_before(c, units);
}

/* What @ns, made of @units, may be off by.  Hot. */
static inline uint64_t live_clock_error(const struct live_clock *c, uint64_t ns)
{
	return c->error_ns + (ns > c->sure_ns ? (ns - c->sure_ns) >> CLOCK_SLEW_SHIFT : 0);
}
