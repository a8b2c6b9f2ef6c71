/* SPDX-License-Identifier: MIT */
/* The live clock against CLOCK_MONOTONIC. */
#include "lib/test.h"

#include "base/clock.h"
#include "live/clock.h"

TEST(live_clock_agrees_with_monotonic_within_its_stated_error)
{
	struct coati_live_clock clock;

	if (test_emulated())
		test_skip("the emulator steps the cycle counter by 1 us, which its frequency does "
			  "not tell");
	CHECK_OK(coati_live_clock_init(&clock, 0));
	for (int i = 0; i < 1000; i++) {
		uint64_t before = now_ns();
		uint64_t now = coati_live_clock_now(&clock);
		uint64_t after = now_ns();
		/* the rate was measured over 2 ms: allow its error to grow with the distance from
		 * the base */
		uint64_t slack = clock.error_ns * (2 + (after - clock.ns_base) / 2000000);

		if (clock.source == 0)
			slack = 0;
		CHECK_U64(now + slack, >=, before);
		CHECK_U64(now, <=, after + slack);
	}
}

TEST(live_clock_refuses_an_absurd_budget)
{
	struct coati_live_clock clock;

	CHECK_OK(coati_live_clock_init(&clock, 1));
	CHECK_ERR(coati_live_clock_init(&clock, 1000000001), -EINVAL);
	CHECK_ERR(coati_live_clock_init(&clock, UINT64_MAX), -EINVAL);
	CHECK_ERR(coati_live_clock_init(NULL, 0), -EINVAL);
}

TEST(live_clock_without_a_cycle_counter_is_clock_gettime)
{
	struct coati_live_clock clock = { .source = 0 };
	uint64_t before = now_ns();
	uint64_t now = coati_live_clock_now(&clock);

	CHECK_U64(now, >=, before);
	CHECK_U64(now, <=, now_ns());
}

TEST(live_clock_measures_at_least_as_long_as_it_is_told)
{
	struct coati_live_clock clock;
	uint64_t before = now_ns();

	CHECK_OK(coati_live_clock_init(&clock, 5000000));
	if (!clock.source)
		test_skip("this machine has no invariant cycle counter");
	CHECK_U64(now_ns() - before, >=, 5000000);
	CHECK_U64(clock.ns_base - before, >=, 5000000);
	before = now_ns();
	CHECK_OK(coati_live_clock_init(&clock, 0));
	CHECK_U64(clock.ns_base - before, >=, 2000000);
}

TEST(live_clock_of_two_pairs_has_their_rate_base_and_error)
{
	const struct arch_pair a = { 1000000, 5000, 30 }, b = { 1004000, 17000, 51 };
	struct coati_live_clock c = coati_live_clock_of(&a, &b);

	CHECK_INT(c.source, ==, 1);
	CHECK_INT(c.shift, ==, 24);
	CHECK_INT(c.mult, ==, (UINT64_C(4000) << 24) / 12000);
	CHECK_U64(c.ns_base, ==, 1004000);
	CHECK_U64(c.cycles_base, ==, 17000);
	CHECK_U64(c.hz, ==, 3000000000);
	CHECK_U64(c.error_ns, ==, 40 + 0 + 2); /* a tick is a third of a nanosecond */
	c = coati_live_clock_of(&a, &(struct arch_pair){ 1090000, 35000, 51 });
	CHECK_U64(c.error_ns, ==, 40 + 2 * 3 + 2);
	CHECK_U64(c.hz, ==, 333333333);
}

TEST(live_clock_of_pairs_that_contradict_each_other_is_clock_gettime)
{
	const struct arch_pair a = { 1000000, 5000, 30 };
	const struct {
		struct arch_pair b;
		int source;
	} pairs[] = {
		{ { 1000000, 6000, 30 }, 0 },
		{ { 999999, 6000, 30 }, 0 },
		{ { 1001000, 5000, 30 }, 0 },
		{ { 1001000, 4999, 30 }, 0 },
		{ { 1000001, 5001, 30 }, 1 },
		{ { 1000000 + 255, 5001, 30 }, 1 },
		{ { 1000000 + 256, 5001, 30 }, 0 }, /* slower than 4 MHz */
		{ { 1000001, 5000 + (1 << 24), 30 }, 1 },
		{ { 1000001, 5000 + (1 << 24) + 1, 30 }, 0 }, /* faster than any CPU */
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct coati_live_clock c = coati_live_clock_of(&a, &pairs[i].b);

		CHECK_INT(c.source, ==, pairs[i].source);
		CHECK_U64(c.ns_base, ==, pairs[i].source ? pairs[i].b.ns : 0);
	}
}

/* What a clock says that counts three nanoseconds in 2^44 cycles, of the upper bits of the counter
 * alone, and whose base is @ahead times 2^40 cycles behind @high, or ahead of it. */
static uint64_t coarse(uint64_t high, int64_t ahead)
{
	struct coati_live_clock c = { .source = 1, .mult = 3, .shift = 44, .ns_base = 1000 };

	c.cycles_base = (high + (uint64_t)ahead) << 40;
	return coati_live_clock_now(&c);
}

TEST(live_clock_counts_from_its_base_in_both_directions)
{
	uint64_t high, at, before, early;

	if (!arch_cycles_invariant())
		test_skip("this machine has no invariant cycle counter");
	do { /* again when the upper bits changed meanwhile */
		high = arch_cycles() >> 40;
		at = coarse(high, 0);
		before = coarse(high, 1 + 16);
		early = coarse(high, 1 + 32);
	} while (arch_cycles() >> 40 != high);
	CHECK_U64(at, ==, 1000);
	CHECK_U64(before, ==, 1000 - 3);
	CHECK_U64(early, ==, 1000 - 6);
	do {
		high = arch_cycles() >> 40;
		at = coarse(0, 0);
	} while (arch_cycles() >> 40 != high);
	CHECK_U64(at, >=, 1000 + (high * 3 >> 4));
	CHECK_U64(at, <=, 1000 + ((high * 3 + 2) >> 4));
}

TEST(live_clock_takes_the_narrowest_bracket_and_the_first_of_equal_ones)
{
	struct arch_pair p = { 0, 0, UINT64_MAX };

	p = arch_narrower(p, 1000, 7, 1101);
	CHECK_U64(p.ns, ==, 1050);
	CHECK_U64(p.cycles, ==, 7);
	CHECK_U64(p.width_ns, ==, 101);
	p = arch_narrower(p, 2000, 8, 2101);
	CHECK_U64(p.cycles, ==, 7);
	p = arch_narrower(p, 3000, 9, 2999); /* the clock went back */
	CHECK_U64(p.cycles, ==, 7);
	p = arch_narrower(p, 4000, 10, 4100);
	CHECK_U64(p.cycles, ==, 10);
	p = arch_narrower(p, 5000, 11, 5000);
	CHECK_U64(p.cycles, ==, 11);
	CHECK_U64(p.ns, ==, 5000);
	CHECK_U64(p.width_ns, ==, 0);
	p = arch_take_pair();
	CHECK_U64(p.width_ns, <, UINT64_MAX);
}
