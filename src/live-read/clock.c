/* SPDX-License-Identifier: MIT */
/* see clock.h */
#include "live-read/clock.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"

#define ONE (UINT64_C(1) << 32)

#define PAIRS_MAX 1024u
/* Two pairs that are as far apart tell the rate better than what the process measured when it
 * started. */
#define LONG_NS UINT64_C(4000000)
/* A reading that was interrupted: others are better. */
#define POOR_NS 1000u

/* The rate with a shift of 32; 0: it is malformed. */
static uint64_t rate_32(const struct clock_rate *rate)
{
	__uint128_t v = rate->mult;

	if (!rate->mult || rate->shift > 63)
		return 0;
	v = rate->shift > 32 ? v >> (rate->shift - 32) : v << (32 - rate->shift);
	return v > ONE * 1000 ? 0 : (uint64_t)v;
}

/* Of the line through both, which differ; 0: it is malformed. */
static uint64_t rate_between(const struct clock_pair *a, const struct clock_pair *b)
{
	__uint128_t mult = ((__uint128_t)(b->ns - a->ns) << 32) / (b->units - a->units);

	return mult > ONE * 1000 ? 0 : (uint64_t)mult;
}

/* The time at @units on the line through @p. */
static uint64_t on_line(const struct clock_pair *p, uint64_t mult, uint64_t units)
{
	uint64_t way = units > p->units ? units - p->units : p->units - units;
	__uint128_t ns = ((__uint128_t)way * mult + (ONE >> 1)) >> 32;

	if (units > p->units)
		return ns > UINT64_MAX - p->ns ? UINT64_MAX : p->ns + (uint64_t)ns;
	return ns > p->ns ? 0 : p->ns - (uint64_t)ns;
}

/* Both pairs on a line whose rate is what the process measured, give or take a part in 64 and the
 * errors of the readings. */
static bool agrees(const struct clock_pair *a, const struct clock_pair *b, uint64_t mult)
{
	uint64_t ns = b->ns - a->ns;
	__uint128_t want = (__uint128_t)(b->units - a->units) * mult >> 32;
	uint64_t room = ns / 64 + 2 * (uint64_t)b->error_ns + 1000;

	if (b->units < a->units || b->ns < a->ns)
		return false;
	return !mult || (want <= (__uint128_t)ns + room && want + room >= ns);
}

/* ---- the pairs of a process ---- */

/* The first pair behind @units. */
static size_t place_of(const struct clock_base *b, uint64_t units)
{
	size_t from = 0, to = b->pairs.len;

	if (to && b->pairs.v[to - 1].units <= units)
		return to; /* nearly always */
	from = SEARCH(mid, from, to, b->pairs.v[mid].units <= units);
	return from;
}

/* Half of them, with the first and the last. */
static void thin_out(struct clock_base *b)
{
	const struct clock_pair *last = &b->pairs.v[b->pairs.len - 1];
	size_t kept = 0;

	b->apart = (last->units - b->pairs.v[0].units) / (PAIRS_MAX / 2);
	for (size_t i = 0; i < b->pairs.len - 1; i += 2)
		b->pairs.v[kept++] = b->pairs.v[i];
	b->pairs.v[kept++] = *last;
	b->pairs.len = kept;
}

static int learn_pair(struct clock_base *b, const struct clock_pair *new)
{
	uint64_t told = rate_32(&b->rate);
	size_t at = place_of(b, new->units), len = b->pairs.len;
	struct clock_pair *v = b->pairs.v;

	if (len && new->error_ns > POOR_NS)
		return 0;
	if ((at && !agrees(&v[at - 1], new, told)) || (at < len && !agrees(new, &v[at], told)))
		return 0;
	if (at && at < len &&
	    (new->units - v[at - 1].units <= b->apart || v[at].units - new->units <= b->apart))
		return 0;
	if (at == len && len >= 2 && new->units - v[len - 2].units <= b->apart) {
		v[len - 1] = *new; /* the last is always the newest */
		return 0;
	}
	if (at && v[at - 1].units == new->units)
		return 0;
	if (len == PAIRS_MAX) {
		thin_out(b);
		at = place_of(b, new->units);
		len = b->pairs.len;
	}
	b->pairs.max = PAIRS_MAX;
	if (!ARRAY_ADD(&b->pairs))
		return -ENOMEM;
	v = b->pairs.v;
	memmove(&v[at + 1], &v[at], (len - at) * sizeof(*v));
	v[at] = *new;
	return 0;
}

int coati_clock_learn(struct clock_base *b, const struct live_batch *h)
{
	struct clock_pair begin = { h->pair_cycles, h->pair_ns, h->pair_error_ns };
	struct clock_pair end = { h->end_cycles, h->end_ns, h->pair_error_ns };
	int n;

	if (h->flags & (LIVE_BATCH_NANOSECONDS | LIVE_BATCH_CLOCK_UNKNOWN) || !h->pair_ns)
		return 0;
	if (!(h->flags & LIVE_BATCH_CLOSED) || !h->end_ns)
		return learn_pair(b, &begin);
	if (!agrees(&begin, &end, rate_32(&b->rate)))
		return 0;
	n = learn_pair(b, &begin);
	return n < 0 ? n : learn_pair(b, &end);
}

/* The rate over all that is known. */
static uint64_t long_rate(const struct clock_base *b)
{
	const struct clock_pair *first = b->pairs.v, *last;
	uint64_t mult = 0;

	if (b->pairs.len > 1) {
		last = first + b->pairs.len - 1;
		mult = last->ns - first->ns >= LONG_NS ? rate_between(first, last) : 0;
	}
	return mult ? mult : rate_32(&b->rate);
}

/* ---- the clock of a batch ---- */

uint64_t coati_live_clock_before(const struct live_clock *c, uint64_t units)
{
	const struct clock_base *b = c->base;
	struct clock_pair own = { c->units, c->ns, 0 };
	size_t at = place_of(b, units);
	const struct clock_pair *v = b->pairs.v;
	uint64_t mult = long_rate(b), ns;

	if (!mult || (c->units == c->ns && c->mult == ONE)) /* nothing is known, or nanoseconds */
		return on_line(&own, ONE, units);
	if (!at)
		return on_line(b->pairs.len && v->units < c->units ? v : &own, mult, units);
	if (at < b->pairs.len && v[at].units <= c->units)
		mult = rate_between(&v[at - 1], &v[at]);
	else if (v[at - 1].units < c->units && v[at - 1].ns < c->ns)
		mult = rate_between(&v[at - 1], &own);
	ns = on_line(&v[at - 1], mult, units);
	return ns < c->ns ? ns : c->ns;
}

static void between_pairs(struct live_clock *c, const struct live_batch *h, uint64_t told)
{
	struct clock_pair begin = { h->pair_cycles, h->pair_ns, h->pair_error_ns };
	struct clock_pair end = { h->end_cycles, h->end_ns, h->pair_error_ns };

	if (!agrees(&begin, &end, told)) {
		c->unknown = true;
		return;
	}
	c->last_units = end.units;
	if (begin.units == end.units)
		return;
	c->mult = rate_between(&begin, &end);
	if (!c->mult) {
		c->mult = told ? told : ONE;
		c->unknown = end.ns != begin.ns;
	}
}

/* How far the pairs between two are off the line through both. */
static uint64_t bend(const struct clock_base *b, const struct clock_pair *from, uint64_t mult)
{
	uint64_t most = 0;

	for (size_t i = place_of(b, from->units); i + 1 < b->pairs.len; i++) {
		uint64_t want = on_line(from, mult, b->pairs.v[i].units), ns = b->pairs.v[i].ns;
		uint64_t off = want > ns ? want - ns : ns - want;

		most = off > most ? off : most;
	}
	return most;
}

/* Up to the last pair of the process; what is later goes on at the rate of the whole. */
static void without_end(struct live_clock *c, const struct live_batch *h)
{
	const struct clock_base *b = c->base;
	struct clock_pair own = { h->pair_cycles, h->pair_ns, h->pair_error_ns };
	const struct clock_pair *last = b->pairs.len ? &b->pairs.v[b->pairs.len - 1] : NULL;
	uint64_t mult;

	c->is_open = true;
	c->sure_ns = h->pair_ns;
	c->mult = long_rate(b);
	if (!c->mult) {
		c->mult = ONE;
		c->unknown = true;
	}
	if (!last || last->units <= own.units || last->ns <= own.ns ||
	    !agrees(&own, last, rate_32(&b->rate)))
		return;
	mult = rate_between(&own, last);
	if (!mult)
		return;
	c->mult = mult;
	c->sure_ns = last->ns;
	c->error_ns =
		(last->error_ns > c->error_ns ? last->error_ns : c->error_ns) + bend(b, &own, mult);
}

static void set_near(struct live_clock *c)
{
	c->near = (UINT64_MAX >> 2) / c->mult;
	if (c->near > c->last_units - c->units)
		c->near = c->last_units - c->units;
}

struct live_clock coati_live_clock(const struct live_batch *h, const struct clock_base *base)
{
	struct live_clock c = { .base = base,
				.units = h->pair_cycles,
				.ns = h->pair_ns,
				.error_ns = h->pair_error_ns,
				.sure_ns = UINT64_MAX,
				.last_units = UINT64_MAX,
				.unknown = h->flags & LIVE_BATCH_CLOCK_UNKNOWN };
	uint64_t told = rate_32(&base->rate);

	c.mult = told ? told : ONE;
	if (h->flags & LIVE_BATCH_NANOSECONDS) {
		c.units = c.ns = h->base;
		c.mult = ONE;
	} else if (h->flags & LIVE_BATCH_CLOSED && h->end_ns) {
		between_pairs(&c, h, told);
	} else {
		without_end(&c, h);
	}
	set_near(&c);
	return c;
}
