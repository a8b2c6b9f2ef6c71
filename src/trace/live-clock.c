/* SPDX-License-Identifier: MIT */
/* see live-clock.h */
#include "trace/live-clock.h"

#define ONE (UINT64_C(1) << 32)

/* The rate with a shift of 32; 0: it makes no sense. */
static uint64_t rate_32(const struct clock_rate *rate)
{
	__uint128_t v = rate->mult;

	if (!rate->mult || rate->shift > 63)
		return 0;
	v = rate->shift > 32 ? v >> (rate->shift - 32) : v << (32 - rate->shift);
	return v > ONE * 1000 ? 0 : (uint64_t)v;
}

/* Both pairs on a line whose rate is what the process measured, give or take a part in 64 and the errors of the readings. */
static bool agrees(const struct live_batch *h, uint64_t mult)
{
	uint64_t ns = h->end_ns - h->pair_ns;
	__uint128_t want = (__uint128_t)(h->end_cycles - h->pair_cycles) * mult >> 32;
	uint64_t room = ns / 64 + 2 * (uint64_t)h->pair_error_ns + 1000;

	return want <= (__uint128_t)ns + room && want + room >= ns;
}

static void between_pairs(struct live_clock *c, const struct live_batch *h, uint64_t told)
{
	uint64_t units = h->end_cycles - h->pair_cycles, ns = h->end_ns - h->pair_ns;
	__uint128_t mult;

	if (h->end_cycles < h->pair_cycles || h->end_ns < h->pair_ns ||
	    (told && !agrees(h, told))) {
		c->unknown = true;
		return;
	}
	c->last_units = h->end_cycles;
	mult = units ? ((__uint128_t)ns << 32) / units : told;
	if (mult > ONE * 1000)
		c->unknown = true;
	else if (mult)
		c->mult = (uint64_t)mult;
}

static void set_near(struct live_clock *c)
{
	c->near = (UINT64_MAX >> 2) / c->mult;
	if (c->near > c->last_units - c->units)
		c->near = c->last_units - c->units;
}

struct live_clock coati_live_clock(const struct live_batch *h, const struct clock_rate *rate)
{
	struct live_clock c = { .units = h->pair_cycles,
				.ns = h->pair_ns,
				.error_ns = h->pair_error_ns,
				.last_units = UINT64_MAX,
				.unknown = h->flags & LIVE_BATCH_CLOCK_UNKNOWN };
	uint64_t told = rate_32(rate);

	c.mult = told ? told : ONE;
	if (h->flags & LIVE_BATCH_NANOSECONDS) {
		c.units = c.ns = h->base;
		c.mult = ONE;
	} else if (h->flags & LIVE_BATCH_CLOSED && h->end_ns) {
		between_pairs(&c, h, told);
	} else {
		c.is_open = true;
		c.unknown = c.unknown || !told;
	}
	set_near(&c);
	return c;
}
