/* SPDX-License-Identifier: MIT */
/* Durations as a person reads them. */
#include "lib/test.h"

#include "base/clock.h"

static void check(uint64_t ns, const char *want)
{
	struct strbuf s = STRBUF_INIT(100);

	coati_format_duration(&s, ns);
	CHECK_STR(s.text, want);
	coati_strbuf_fini(&s);
}

TEST(clock_prints_three_digits_in_every_unit)
{
	check(0, "0 ns");
	check(7, "7 ns");
	check(999, "999 ns");
	check(1000, "1.00 us");
	check(12345, "12.3 us");
	check(123456, "123 us");
	check(1234567, "1.23 ms");
	check(1500000000, "1.50 s");
	check(90 * NSEC_PER_SEC, "1.50 m");
	check(3600 * NSEC_PER_SEC, "1.00 h");
	check(100 * 3600 * NSEC_PER_SEC, "100 h");
}

TEST(clock_rounds_to_the_nearest_and_into_the_next_unit)
{
	check(9994, "9.99 us");
	check(9995, "10.0 us");
	check(99949, "99.9 us");
	check(99950, "100 us");
	check(999499, "999 us");
	check(999500, "1.00 ms");
	check(59949999999, "59.9 s");
	check(59950000000, "1.00 m");
	check(UINT64_C(59949) * 60 * NSEC_PER_MSEC, "59.9 m");
	check(UINT64_C(59950) * 60 * NSEC_PER_MSEC, "1.00 h");
}

TEST(clock_prints_the_largest_duration)
{
	check(UINT64_MAX, "5124096 h");
}

TEST(clock_does_not_run_backwards)
{
	uint64_t before = now_ns();

	CHECK_U64(now_ns(), >=, before);
}
