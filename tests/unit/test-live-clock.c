/* SPDX-License-Identifier: MIT */
/* The live clock against CLOCK_MONOTONIC. */
#include "lib/test.h"

#include <coati/live.h>

#include "base/clock.h"

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
