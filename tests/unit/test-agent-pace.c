/* SPDX-License-Identifier: MIT */
/* When windows end, and how far apart samples are. */
#include "lib/test.h"

#include "agent/pace.h"

#define SEC UINT64_C(1000000000)

TEST(agent_windows_end_at_multiples_of_their_length)
{
	static const uint64_t lengths[] = { SEC / 10, SEC, 10 * SEC, 60 * SEC };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint64_t window = lengths[i], begin = 1794787200 * SEC;

		for (uint64_t at = begin; at < begin + 3 * window; at += window / 40 + 1) {
			uint64_t end = coati_pace_end(at, window);

			CHECK_U64(end % window, ==, 0);
			CHECK_U64(2 * (end - at), >, window);
			CHECK_U64(2 * (end - at), <=, 3 * window);
		}
		/* one whose clock was set by a little has its whole length */
		CHECK_U64(coati_pace_end(begin - 1, window), ==, begin + window);
		CHECK_U64(coati_pace_end(begin, window), ==, begin + window);
		CHECK_U64(coati_pace_end(begin + 1, window), ==, begin + window);
	}
}

/* The mean over many hours is that of the rate: of a step of 1/16 in both directions, evenly, over
 * 10,000 hours, the mean is off by 5.5 standard deviations, 1/16 / sqrt(3) / 100 each, with a
 * probability of 4e-8; the hours are always the same ones, so that this passes always or never. */
TEST(agent_periods_change_by_the_hour_around_the_rate_that_was_asked_for)
{
	uint64_t period = (uint64_t)(1e9 / 19), same = 0;
	double sum = 0;

	for (uint64_t hour = 498552; hour < 498552 + 10000; hour++) {
		uint64_t p = coati_pace_period(19, hour);

		CHECK_U64(p, >=, period - period / PACE_DITHER - 1);
		CHECK_U64(p, <=, period + period / PACE_DITHER + 1);
		CHECK_U64(p, ==, coati_pace_period(19, hour));
		same += p == coati_pace_period(19, hour + 1);
		sum += (double)p / (double)period;
	}
	CHECK_U64(same, <, 40); /* 5 are meant */
	CHECK(sum / 10000 > 1 - 0.002 && sum / 10000 < 1 + 0.002);
}

TEST(agent_hours_are_those_of_the_day)
{
	const uint64_t hour = UINT64_C(3600000000000);

	CHECK_U64(pace_hour(0), ==, 0);
	CHECK_U64(pace_hour(hour - 1), ==, 0);
	CHECK_U64(pace_hour(hour), ==, 1);
	CHECK_U64(pace_hour(500000 * hour - 1), ==, 499999);
	CHECK_U64(pace_hour(500000 * hour), ==, 500000);
}
