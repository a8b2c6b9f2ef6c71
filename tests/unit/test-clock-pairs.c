/* SPDX-License-Identifier: MIT */
/* From the clock of a writer to nanoseconds: what each pair of readings makes of a time, to the
 * unit. */
#include "lib/test.h"

#include "base/cleanup.h"
#include "live-read/clock.h"

#define ONE (UINT64_C(1) << 32)

static struct live_batch open_at(uint64_t units, uint64_t ns)
{
	return (struct live_batch){ .pair_cycles = units, .pair_ns = ns };
}

static struct live_batch closed(uint64_t units, uint64_t ns, uint64_t end_units, uint64_t end_ns)
{
	return (struct live_batch){ .flags = LIVE_BATCH_CLOSED,
				    .pair_cycles = units,
				    .pair_ns = ns,
				    .end_cycles = end_units,
				    .end_ns = end_ns };
}

static struct clock_base told(uint64_t mult, uint32_t shift)
{
	return (struct clock_base){ .rate = { mult, shift } };
}

static void learn(struct clock_base *b, uint64_t units, uint64_t ns)
{
	struct live_batch h = open_at(units, ns);

	CHECK_INT(coati_clock_learn(b, &h), ==, 0);
}

static void check_pairs(const struct clock_base *b, size_t nr, const uint64_t *units)
{
	CHECK_U64(b->pairs.len, ==, nr);
	for (size_t i = 0; i < nr; i++)
		CHECK_U64(b->pairs.v[i].units, ==, units[i]);
}

/* The rate of an open batch, when its process told (mult, shift) and nothing else is known. */
static struct live_clock clock_of_rate(const struct clock_base *b)
{
	struct live_batch h = open_at(1000, 5000);

	return coati_live_clock(&h, b);
}

TEST(clock_rates_have_a_shift_of_32_whatever_their_own_is)
{
	const struct {
		uint64_t mult;
		uint32_t shift;
		uint64_t want;
	} rates[] = {
		{ ONE / 2, 32, ONE / 2 },
		{ 512, 10, ONE / 2 },
		{ 3, 0, 3 * ONE },
		{ ONE, 33, ONE / 2 },
		{ UINT64_C(1) << 39, 40, ONE / 2 },
		{ UINT64_C(1) << 62, 63, ONE / 2 },
		{ 1000, 0, 1000 * ONE },
	};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct clock_base b = told(rates[i].mult, rates[i].shift);
		struct live_clock c = clock_of_rate(&b);

		CHECK_U64(c.mult, ==, rates[i].want);
		CHECK(c.is_open);
		CHECK(!c.unknown);
		CHECK_U64(c.sure_ns, ==, 5000);
	}
}

TEST(clock_rates_that_make_no_sense_leave_the_clock_unknown)
{
	const struct clock_rate rates[] = { { 0, 32 }, { ONE, 64 }, { 1001, 0 } };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct clock_base b = { .rate = rates[i] };
		struct live_clock c = clock_of_rate(&b);

		CHECK_U64(c.mult, ==, ONE);
		CHECK(c.unknown);
	}
}

TEST(clock_of_a_closed_batch_is_the_line_through_its_pairs)
{
	struct clock_base b = told(0, 0);
	struct live_batch h = closed(1000, 5000, 3000, 6000);
	struct live_clock c;

	h.pair_error_ns = 7;
	c = coati_live_clock(&h, &b);
	CHECK_U64(c.units, ==, 1000);
	CHECK_U64(c.ns, ==, 5000);
	CHECK_U64(c.mult, ==, ONE / 2);
	CHECK_U64(c.last_units, ==, 3000);
	CHECK_U64(c.near, ==, 2000);
	CHECK_U64(c.sure_ns, ==, UINT64_MAX);
	CHECK_U64(c.error_ns, ==, 7);
	CHECK(!c.is_open);
	CHECK(!c.unknown);
	CHECK_U64(live_clock_ns(&c, 1000), ==, 5000);
	CHECK_U64(live_clock_ns(&c, 1001), ==, 5001); /* half a nanosecond is rounded up */
	CHECK_U64(live_clock_ns(&c, 1002), ==, 5001);
	CHECK_U64(live_clock_ns(&c, 3000), ==, 6000);
	CHECK_U64(live_clock_error(&c, 6000), ==, 7);
	h = closed(1000, 5000, 1001, 6000);
	CHECK_U64(coati_live_clock(&h, &b).mult, ==, 1000 * ONE);
	h.flags |= LIVE_BATCH_CLOCK_UNKNOWN;
	CHECK(coati_live_clock(&h, &b).unknown);
}

TEST(clock_of_a_batch_without_a_usable_line_goes_at_the_rate_that_was_told)
{
	struct clock_base none = told(0, 0), known = told(1000, 0), half = told(ONE / 2, 32);
	struct live_batch h = closed(1000, 5000, 1001, 6001); /* 1001 ns a unit */
	struct live_clock c = coati_live_clock(&h, &none);

	CHECK_U64(c.mult, ==, ONE);
	CHECK(c.unknown);
	c = coati_live_clock(&h, &known);
	CHECK_U64(c.mult, ==, 1000 * ONE);
	CHECK(c.unknown);
	h = closed(1000, 5000, 1010, 5000); /* both readings at the same nanosecond */
	c = coati_live_clock(&h, &half);
	CHECK_U64(c.mult, ==, ONE / 2);
	CHECK(!c.unknown);
	h = closed(1000, 5000, 1000, 5100); /* no unit between them */
	c = coati_live_clock(&h, &half);
	CHECK_U64(c.mult, ==, ONE / 2);
	CHECK_U64(c.last_units, ==, 1000);
	CHECK_U64(c.near, ==, 0);
	CHECK(!c.unknown);
	h = closed(1000, 5000, 1010, 0); /* closed, but without a reading */
	c = coati_live_clock(&h, &half);
	CHECK(c.is_open);
}

/* Whether a batch of so many units and 6400 ns agrees with a rate of 1 ns a unit. */
static bool agrees(uint64_t units, uint32_t error_ns)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = closed(100, 1000, 100 + units, 7400);
	struct live_clock c;

	h.pair_error_ns = error_ns;
	c = coati_live_clock(&h, &b);
	if (c.unknown)
		CHECK_U64(c.last_units, ==, UINT64_MAX);
	return !c.unknown;
}

TEST(clock_pairs_agree_within_a_part_in_64_twice_the_error_and_a_microsecond)
{
	CHECK(agrees(6400 + 1100, 0));
	CHECK(!agrees(6400 + 1101, 0));
	CHECK(agrees(6400 - 1100, 0));
	CHECK(!agrees(6400 - 1101, 0));
	CHECK(agrees(6400 + 1200, 50));
	CHECK(!agrees(6400 + 1201, 50));
	CHECK(agrees(6400 - 1200, 50));
	CHECK(!agrees(6400 - 1201, 50));
}

TEST(clock_pairs_that_go_backward_on_either_clock_do_not_agree)
{
	struct clock_base b = told(0, 0);
	struct live_batch h = closed(1000, 5000, 999, 5001);

	CHECK(coati_live_clock(&h, &b).unknown);
	h = closed(1000, 5000, 1001, 4999);
	CHECK(coati_live_clock(&h, &b).unknown);
	h = closed(1000, 5000, 1001, 5001);
	CHECK(!coati_live_clock(&h, &b).unknown);
}

TEST(clock_of_nanoseconds_is_the_identity)
{
	struct clock_base b = told(ONE / 2, 32);
	struct live_batch h = closed(1000, 5000, 3000, 6000);
	struct live_clock c;

	learn(&b, 100, 100);
	learn(&b, 10000, 5050);
	h.flags |= LIVE_BATCH_NANOSECONDS;
	h.base = 777000;
	c = coati_live_clock(&h, &b);
	CHECK_U64(live_clock_ns(&c, 777123), ==, 777123);
	CHECK_U64(live_clock_ns(&c, 776000), ==, 776000);
	CHECK_U64(live_clock_ns(&c, 5), ==, 5);
	CHECK(!c.is_open && !c.unknown);
	CHECK_U64(c.last_units, ==, UINT64_MAX);
	CHECK_U64(c.near, ==, (UINT64_MAX >> 2) / ONE);
	ARRAY_FINI(&b.pairs);
}

/* The time at @units on the line through (1000, @ns) when nothing else is known. */
static uint64_t alone(uint64_t ns, uint64_t units)
{
	struct clock_base b = told(0, 0);
	struct live_batch h = open_at(1000, ns);
	struct live_clock c = coati_live_clock(&h, &b);

	return coati_live_clock_before(&c, units);
}

TEST(clock_times_before_and_behind_a_lone_pair_stay_within_64_bits)
{
	CHECK_U64(alone(5000, 900), ==, 4900);
	CHECK_U64(alone(5000, 1000), ==, 5000);
	CHECK_U64(alone(5000, 1100), ==, 5100);
	CHECK_U64(alone(50, 949), ==, 0);
	CHECK_U64(alone(50, 950), ==, 0);
	CHECK_U64(alone(50, 951), ==, 1);
	CHECK_U64(alone(UINT64_MAX - 5, 1004), ==, UINT64_MAX - 1);
	CHECK_U64(alone(UINT64_MAX - 5, 1005), ==, UINT64_MAX);
	CHECK_U64(alone(UINT64_MAX - 5, 1006), ==, UINT64_MAX);
}

TEST(clock_times_on_a_line_are_rounded_to_the_nearest)
{
	struct clock_base b = told(ONE / 4, 32);
	struct live_batch h = open_at(1000, 5000);
	struct live_clock c = coati_live_clock(&h, &b);

	CHECK_U64(coati_live_clock_before(&c, 999), ==, 5000);
	CHECK_U64(coati_live_clock_before(&c, 998), ==, 4999);
	CHECK_U64(coati_live_clock_before(&c, 997), ==, 4999);
	CHECK_U64(coati_live_clock_before(&c, 995), ==, 4999);
	CHECK_U64(coati_live_clock_before(&c, 994), ==, 4998);
}

TEST(clock_pairs_are_kept_in_order_and_once)
{
	struct clock_base b = told(ONE, 32);
	const uint64_t want[] = { 1000, 2000, 3000, 4000, 5000 };

	learn(&b, 3000, 13000);
	learn(&b, 5000, 15000);
	learn(&b, 1000, 11000);
	learn(&b, 4000, 14000);
	learn(&b, 2000, 12000);
	learn(&b, 4000, 14001);
	learn(&b, 5000, 15001);
	check_pairs(&b, 5, want);
	for (size_t i = 0; i < 5; i++)
		CHECK_U64(b.pairs.v[i].ns, ==, 10000 + want[i]);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_pairs_that_contradict_a_neighbor_are_not_learned)
{
	struct clock_base b = told(ONE, 32);
	const uint64_t want[] = { 100000, 200000 };

	learn(&b, 100000, 500000);
	learn(&b, 200000, 600000);
	learn(&b, 150000, 499999); /* before the one in front of it */
	learn(&b, 150000, 600001); /* behind the one behind it */
	learn(&b, 300000, 650000); /* too slow */
	learn(&b, 50000, 400000);  /* too fast */
	check_pairs(&b, 2, want);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_pairs_with_a_poor_reading_are_learned_only_when_there_is_no_other)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = open_at(1000, 5000);
	const uint64_t want[] = { 1000, 1000000 };

	h.pair_error_ns = 1001;
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	CHECK_U64(b.pairs.len, ==, 1);
	CHECK_U64(b.pairs.v[0].error_ns, ==, 1001);
	h.pair_cycles = 500000;
	h.pair_ns = 504000;
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	h.pair_cycles = 1000000;
	h.pair_ns = 1004000;
	h.pair_error_ns = 1000;
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	check_pairs(&b, 2, want);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_learns_what_a_batch_has)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = closed(1000, 5000, 2000, 6000);
	const uint64_t want[] = { 1000, 2000, 3000 };

	h.flags |= LIVE_BATCH_NANOSECONDS;
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	h.flags = LIVE_BATCH_CLOSED | LIVE_BATCH_CLOCK_UNKNOWN;
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	h.flags = LIVE_BATCH_CLOSED;
	h.pair_ns = 0; /* no reading */
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	h = closed(1000, 5000, 50000, 6000); /* contradicts itself */
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	CHECK_U64(b.pairs.len, ==, 0);
	h = closed(1000, 5000, 2000, 6000);
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	check_pairs(&b, 2, want);
	CHECK_U64(b.pairs.v[0].ns, ==, 5000);
	CHECK_U64(b.pairs.v[1].ns, ==, 6000);
	h = closed(3000, 7000, 4000, 8000);
	h.flags = 0; /* open: the end is not there yet */
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	check_pairs(&b, 3, want);
	h = closed(3000, 7000, 4000, 0);
	CHECK_INT(coati_clock_learn(&b, &h), ==, 0);
	check_pairs(&b, 3, want);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_pairs_beyond_1024_are_thinned_out_and_stay_apart)
{
	struct clock_base b = told(ONE, 32);

	for (uint64_t i = 0; i < 1024; i++)
		learn(&b, 1000 + i * 100, 5000 + i * 100);
	CHECK_U64(b.pairs.len, ==, 1024);
	CHECK_U64(b.apart, ==, 0);
	learn(&b, 1000 + 1024 * 100, 5000 + 1024 * 100);
	/* every other one of the first 1023, the last, and the new one */
	CHECK_U64(b.pairs.len, ==, 512 + 1 + 1);
	CHECK_U64(b.apart, ==, 1023 * 100 / 512);
	for (uint64_t i = 0; i < 512; i++)
		CHECK_U64(b.pairs.v[i].units, ==, 1000 + i * 200);
	CHECK_U64(b.pairs.v[512].units, ==, 1000 + 1023 * 100);
	CHECK_U64(b.pairs.v[513].units, ==, 1000 + 1024 * 100);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_pairs_too_near_to_others_are_dropped_but_the_last_is_the_newest)
{
	struct clock_base b = told(ONE, 32);
	const uint64_t start[] = { 1000, 3000 }, moved[] = { 1000, 3050 };
	const uint64_t grown[] = { 1000, 3050, 3101 }, filled[] = { 1000, 1101, 3050, 3101 };

	learn(&b, 1000, 11000);
	learn(&b, 3000, 13000);
	b.apart = 100;
	learn(&b, 1100, 11100); /* as near as the least distance */
	learn(&b, 2900, 12900);
	check_pairs(&b, 2, start);
	b.apart = 2050;
	learn(&b, 3050, 13050); /* from the last but one: takes the place of the last */
	check_pairs(&b, 2, moved);
	CHECK_U64(b.pairs.v[1].ns, ==, 13050);
	b.apart = 100;
	learn(&b, 3101, 13101);
	check_pairs(&b, 3, grown);
	learn(&b, 1101, 11101);
	check_pairs(&b, 4, filled);
	CHECK_U64(b.pairs.v[1].ns, ==, 11101);
	ARRAY_FINI(&b.pairs);
}

/* The rate of a batch that begins behind all pairs, which are @ns apart. */
static uint64_t rate_behind(uint64_t ns)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = open_at(100000000, 100000000);
	struct live_clock c;

	learn(&b, 1000, 1000);
	learn(&b, 1000 + 4000000 + 2000, 1000 + ns);
	CHECK_U64(b.pairs.len, ==, 2);
	c = coati_live_clock(&h, &b);
	CHECK_U64(c.sure_ns, ==, 100000000);
	CHECK_U64(c.error_ns, ==, 0);
	ARRAY_FINI(&b.pairs);
	return c.mult;
}

TEST(clock_rate_of_all_pairs_needs_four_milliseconds)
{
	CHECK_U64(rate_behind(3999999), ==, ONE);
	CHECK_U64(rate_behind(4000000), ==, (UINT64_C(4000000) << 32) / 4002000);
}

TEST(clock_of_an_open_batch_goes_on_to_the_last_pair_of_its_process)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = open_at(10000, 50000);
	struct live_clock c;

	learn(&b, 10000, 50000);
	learn(&b, 12000, 52100); /* 100 ns above the line */
	learn(&b, 13000, 52940); /* 60 ns below */
	learn(&b, 20000, 60000);
	b.pairs.v[3].error_ns = 30;
	h.pair_error_ns = 20;
	c = coati_live_clock(&h, &b);
	CHECK(c.is_open && !c.unknown);
	CHECK_U64(c.mult, ==, ONE);
	CHECK_U64(c.sure_ns, ==, 60000);
	CHECK_U64(c.error_ns, ==, 30 + 100);
	CHECK_U64(c.last_units, ==, UINT64_MAX);
	h.pair_error_ns = 40;
	c = coati_live_clock(&h, &b);
	CHECK_U64(c.error_ns, ==, 40 + 100);
	CHECK_U64(live_clock_error(&c, 60000), ==, 140);
	CHECK_U64(live_clock_error(&c, 60000 + 2047), ==, 140);
	CHECK_U64(live_clock_error(&c, 60000 + 2048), ==, 141);
	b.pairs.v[2].ns = 52800; /* now the lower one is farther off */
	c = coati_live_clock(&h, &b);
	CHECK_U64(c.error_ns, ==, 40 + 200);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_of_an_open_batch_ignores_a_last_pair_that_is_no_help)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = open_at(10000, 50000);
	const struct clock_pair last[] = {
		{ 10000, 50001, 0 }, { 10001, 50000, 0 }, /* not behind on both clocks */
		{ 9999, 50001, 0 },  { 10001, 49999, 0 },
		{ 90000, 60000, 0 }, /* contradicts the rate that was told */
		{ 10001, 60000, 0 }, /* and a rate of 10000 ns a unit, too */
	};

	learn(&b, 9000, 49000);
	learn(&b, 10000, 50000);
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		struct live_clock c;

		b.pairs.v[1] = last[i];
		c = coati_live_clock(&h, &b);
		CHECK_U64(c.mult, ==, ONE);
		CHECK_U64(c.sure_ns, ==, 50000);
		CHECK_U64(c.error_ns, ==, 0);
	}
	b.rate.mult = 0; /* nothing contradicts, but it makes no sense */
	CHECK(coati_live_clock(&h, &b).unknown);
	CHECK_U64(coati_live_clock(&h, &b).sure_ns, ==, 50000);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_places_times_before_a_batch_between_the_pairs_around_them)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = closed(100000, 200000, 110000, 210000);
	struct live_clock c;

	learn(&b, 10000, 110000);
	learn(&b, 20000, 120000);
	learn(&b, 30000, 130100);
	c = coati_live_clock(&h, &b);
	CHECK_U64(live_clock_ns(&c, 8000), ==, 108000); /* at the rate that was told */
	CHECK_U64(live_clock_ns(&c, 10000), ==, 110000);
	CHECK_U64(live_clock_ns(&c, 15000), ==, 115000);
	CHECK_U64(live_clock_ns(&c, 20000), ==, 120000);
	CHECK_U64(live_clock_ns(&c, 25000), ==, 125050);
	CHECK_U64(live_clock_ns(&c, 30000), ==, 130100);
	/* between the last pair and the batch: 69900 ns in 70000 units */
	CHECK_U64(live_clock_ns(&c, 37000), ==, 130100 + 6990);
	CHECK_U64(live_clock_ns(&c, 99999), ==, 199999);
	ARRAY_FINI(&b.pairs);
	/* the same of the only pair: 79900 ns in 80000 units */
	b = told(ONE, 32);
	learn(&b, 20000, 120100);
	c = coati_live_clock(&h, &b);
	CHECK_U64(live_clock_ns(&c, 19000), ==, 119100);
	CHECK_U64(live_clock_ns(&c, 20000), ==, 120100);
	CHECK_U64(live_clock_ns(&c, 60000), ==, 120100 + 39950);
	ARRAY_FINI(&b.pairs);
}

TEST(clock_of_a_batch_that_begins_where_the_first_pair_is_goes_through_its_own_reading)
{
	struct clock_base b = told(ONE, 32);
	struct live_batch h = closed(100000, 200000, 110000, 210000);
	struct live_clock c;

	learn(&b, 100000, 200005);
	c = coati_live_clock(&h, &b);
	CHECK_U64(live_clock_ns(&c, 90000), ==, 190000);
	b.pairs.v[0].units--;
	CHECK_U64(live_clock_ns(&c, 90000), ==, 200005 - 9999);
	ARRAY_FINI(&b.pairs);
}
