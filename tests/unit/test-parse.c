/* SPDX-License-Identifier: MIT */
/* Numbers from outside: what is accepted, what is refused and with which code. */
#include "lib/test.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/doubles.h"
#include "base/parse.h"

#define MARK 0xdeadbeefu

struct expect {
	const char *text;
	int code;
	uint64_t value; /* when code is 0 */
};

typedef int (*parse_fn)(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

static void check_table(parse_fn parse, const struct expect *e)
{
	for (; e->text; e++) {
		uint64_t v = MARK;
		int r = parse(e->text, 0, UINT64_MAX, &v);

		if (r != e->code || v != (r ? MARK : e->value))
			test_fail_at(__FILE__, __LINE__,
				     "\"%s\": %d, %" PRIu64 ", not %d, %" PRIu64, e->text, r, v,
				     e->code, e->value);
	}
}

TEST(parse_u64_takes_whole_numbers_and_nothing_else)
{
	static const struct expect table[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "018446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999999999999999999", -ERANGE, 0 },
		{ "0x0", 0, 0 },
		{ "0xfF", 0, 255 },
		{ "0X10", 0, 16 },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "x1", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "-0", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "a", -EINVAL, 0 },
		{ "1a", -EINVAL, 0 },
		{ "0x-1", -EINVAL, 0 },
		{ "1_000", -EINVAL, 0 },
		{ "18446744073709551616x", -EINVAL, 0 },
		{ "\xd9\xa1", -EINVAL, 0 }, /* an Arabic digit one */
		{ NULL, 0, 0 },
	};

	check_table(coati_parse_u64, table);
}

TEST(parse_u64_includes_both_ends_of_its_range)
{
	uint64_t v = MARK;

	CHECK_ERR(coati_parse_u64("9", 10, 20, &v), -ERANGE);
	CHECK_ERR(coati_parse_u64("21", 10, 20, &v), -ERANGE);
	CHECK_U64(v, ==, MARK);
	CHECK_OK(coati_parse_u64("10", 10, 20, &v));
	CHECK_U64(v, ==, 10);
	CHECK_OK(coati_parse_u64("0x14", 10, 20, &v));
	CHECK_U64(v, ==, 20);
}

TEST(parse_u32_stops_at_32_bits)
{
	uint32_t v = MARK;

	CHECK_ERR(coati_parse_u32("4294967296", 0, UINT32_MAX, &v), -ERANGE);
	CHECK_ERR(coati_parse_u32("", 0, UINT32_MAX, &v), -EINVAL);
	CHECK_U64(v, ==, MARK);
	CHECK_OK(coati_parse_u32("4294967295", 0, UINT32_MAX, &v));
	CHECK_U64(v, ==, UINT32_MAX);
}

TEST(parse_i64_knows_both_ends)
{
	int64_t v = 42;

	CHECK_ERR(coati_parse_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), -ERANGE);
	CHECK_ERR(coati_parse_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &v), -ERANGE);
	CHECK_ERR(coati_parse_i64("-18446744073709551616", INT64_MIN, INT64_MAX, &v), -ERANGE);
	CHECK_ERR(coati_parse_i64("-3", -2, 2, &v), -ERANGE);
	CHECK_ERR(coati_parse_i64("3", -2, 2, &v), -ERANGE);
	CHECK_INT(v, ==, 42);
	CHECK_OK(coati_parse_i64("9223372036854775807", INT64_MIN, INT64_MAX, &v));
	CHECK_INT(v, ==, INT64_MAX);
	CHECK_OK(coati_parse_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v));
	CHECK(v == INT64_MIN);
	CHECK_OK(coati_parse_i64("-1", -1, -1, &v));
	CHECK_INT(v, ==, -1);
	CHECK_OK(coati_parse_i64("-0x10", INT64_MIN, INT64_MAX, &v));
	CHECK_INT(v, ==, -16);
	CHECK_OK(coati_parse_i64("-0", INT64_MIN, INT64_MAX, &v));
	CHECK_INT(v, ==, 0);
}

TEST(parse_i64_takes_one_minus_in_front_only)
{
	static const char *const bad[] = {
		"", "-", "--1", "+1", "-+1", "- 1", "0x-1", "1-", "-0x"
	};
	int64_t v;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(coati_parse_i64(bad[i], INT64_MIN, INT64_MAX, &v), -EINVAL);
}

TEST(parse_hex_takes_up_to_16_digits_without_a_prefix)
{
	uint64_t v = MARK;

	CHECK_ERR(coati_parse_hex("", &v), -EINVAL);
	CHECK_ERR(coati_parse_hex("0x1", &v), -EINVAL);
	CHECK_ERR(coati_parse_hex("-1", &v), -EINVAL);
	CHECK_ERR(coati_parse_hex("1 ", &v), -EINVAL);
	CHECK_ERR(coati_parse_hex("g", &v), -EINVAL);
	CHECK_ERR(coati_parse_hex("10000000000000000", &v), -ERANGE);
	CHECK_U64(v, ==, MARK);
	CHECK_OK(coati_parse_hex("ffffFFFFffffFFFF", &v));
	CHECK_U64(v, ==, UINT64_MAX);
	CHECK_OK(coati_parse_hex("00000000000000aB", &v));
	CHECK_U64(v, ==, 0xab);
}

TEST(parse_double_reads_the_nearest_number)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{ "0", 0 },
		{ "1.5", 1.5 },
		{ "-3", -3 },
		{ "0.1", 0.1 },
		{ "2.3283064365386962890625e-10", 0x1p-32 },
		{ "1E3", 1000 },
		{ "1e+3", 1000 },
		{ "1.7976931348623157e308", 0x1.fffffffffffffp1023 },
		{ "4.9406564584124654e-324", 0x1p-1074 },
		{ "1e-999999", 0 },
		{ "00001.50000", 1.5 },
	};
	double v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		v = -77;
		CHECK_OK(coati_parse_double(good[i].text, &v));
		CHECK(v == good[i].value);
	}
}

TEST(parse_percent_with_and_without_its_sign)
{
	double v = 7;

	CHECK_OK(coati_parse_percent("95", 50, 99, &v));
	CHECK(v == 95);
	CHECK_OK(coati_parse_percent("0.5%", 0, 100, &v));
	CHECK(v == 0.5);
	CHECK_ERR(coati_parse_percent("101", 0, 100, &v), -ERANGE);
	CHECK_ERR(coati_parse_percent("-1%", 0, 100, &v), -ERANGE);
	CHECK_ERR(coati_parse_percent("%", 0, 100, &v), -EINVAL);
	CHECK_ERR(coati_parse_percent("", 0, 100, &v), -EINVAL);
	CHECK_ERR(coati_parse_percent("5%%", 0, 100, &v), -EINVAL);
	CHECK_ERR(coati_parse_percent("5 %", 0, 100, &v), -EINVAL);
	CHECK_ERR(coati_parse_percent("1111111111111111111111111111111111%", 0, 100, &v), -EINVAL);
	CHECK(v == 0.5);
}

TEST(parse_double_refuses_what_strtod_would_take)
{
	static const char *const bad[] = {
		"",    " 1",   "1 ",   "+1",	".5",  "5.",	"1.e3",
		"e3",  "1e",   "1e+",  "0x1p3", "inf", "nan",	"-inf",
		"1,5", "1.5.", "1.5s", "-",	"--1", "1e5e5", "INFINITY",
	};
	double v = -77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (coati_parse_double(bad[i], &v) != -EINVAL)
			test_fail_at(__FILE__, __LINE__, "\"%s\" is taken", bad[i]);
	CHECK_ERR(coati_parse_double("1e309", &v), -ERANGE);
	CHECK_ERR(coati_parse_double("-1e999999999999", &v), -ERANGE);
	CHECK(v == -77);
}

TEST(parse_size_counts_in_powers_of_1024)
{
	static const struct expect table[] = {
		{ "4096", 0, 4096 },
		{ "4096B", 0, 4096 },
		{ "4096b", 0, 4096 },
		{ "64k", 0, 65536 },
		{ "64K", 0, 65536 },
		{ "512KiB", 0, 524288 },
		{ "512kib", 0, 524288 },
		{ "512kB", 0, 524288 },
		{ "16M", 0, 16 << 20 },
		{ "1g", 0, 1 << 30 },
		{ "2TB", 0, UINT64_C(2) << 40 },
		{ "16777215t", 0, UINT64_C(16777215) << 40 },
		{ "16777216t", -ERANGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551616k", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "k", -EINVAL, 0 },
		{ "1.5k", -EINVAL, 0 },
		{ "1kk", -EINVAL, 0 },
		{ "1ki", -EINVAL, 0 },
		{ "1iB", -EINVAL, 0 },
		{ "1p", -EINVAL, 0 },
		{ "1 k", -EINVAL, 0 },
		{ "-1k", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1kBs", -EINVAL, 0 },
		{ "1\x0b", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};
	uint64_t v;

	check_table(coati_parse_size, table);
	CHECK_ERR(coati_parse_size("1k", 1025, 2048, &v), -ERANGE);
	CHECK_ERR(coati_parse_size("2049", 1025, 2048, &v), -ERANGE);
}

TEST(parse_duration_is_exact_to_the_nanosecond)
{
	static const struct expect table[] = {
		{ "10s", 0, 10 * NSEC_PER_SEC },
		{ "10", 0, 10 * NSEC_PER_SEC },
		{ "0.1", 0, NSEC_PER_SEC / 10 },
		{ "1.5s", 0, 1500000000 },
		{ "250ms", 0, 250000000 },
		{ "3us", 0, 3000 },
		{ "40ns", 0, 40 },
		{ "2m", 0, 120 * NSEC_PER_SEC },
		{ "1h", 0, 3600 * NSEC_PER_SEC },
		{ "1.000000001s", 0, 1000000001 },
		{ "0.999999999s", 0, 999999999 },
		{ "0.9999999999s", 0, 999999999 },
		{ "0.30000000000000004", 0, 300000000 },
		{ "0.0166666666666666666666666666666666667h", 0, 60 * NSEC_PER_SEC },
		{ "0.0166666666666666666666666666666666666h", 0, 60 * NSEC_PER_SEC - 1 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073.709551615s", 0, UINT64_MAX },
		{ "18446744073.709551616s", -ERANGE, 0 },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "5124095h", 0, UINT64_C(5124095) * 3600 * NSEC_PER_SEC },
		{ "5124096h", -ERANGE, 0 },
		{ "99999999999999999999999s", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1,5s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1sec", -EINVAL, 0 },
		{ "1m30s", -EINVAL, 0 },
		{ "1e3s", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};
	uint64_t v;

	check_table(coati_parse_duration, table);
	CHECK_ERR(coati_parse_duration("1ms", NSEC_PER_MSEC + 1, UINT64_MAX, &v), -ERANGE);
	CHECK_ERR(coati_parse_duration("0.1ns", 1, UINT64_MAX, &v), -ERANGE);
}

TEST(parse_rate_wants_whole_numbers_per_second)
{
	static const struct expect table[] = {
		{ "99", 0, 99 },
		{ "1k", 0, 1000 },
		{ "1K", 0, 1000 },
		{ "4.5k", 0, 4500 },
		{ "1M", 0, 1000000 },
		{ "0.001k", 0, 1 },
		{ "2.0", 0, 2 },
		{ "1.5", -EINVAL, 0 },
		{ "0.0001k", -EINVAL, 0 },
		{ "1m", -EINVAL, 0 },
		{ "1g", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "k", -EINVAL, 0 },
		{ "99Hz", -EINVAL, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551615k", -ERANGE, 0 },
		{ NULL, 0, 0 },
	};

	check_table(coati_parse_rate, table);
}

TEST(parse_cpulist_sets_exactly_the_bits_listed)
{
	uint64_t bits[2] = { UINT64_MAX, UINT64_MAX };

	CHECK_OK(coati_parse_cpulist("0-3,7", bits, 128));
	CHECK_U64(bits[0], ==, 0x8f);
	CHECK_U64(bits[1], ==, 0);
	CHECK_OK(coati_parse_cpulist("0-127", bits, 128));
	CHECK_U64(bits[0] & bits[1], ==, UINT64_MAX);
	CHECK_OK(coati_parse_cpulist("63-64", bits, 128));
	CHECK_U64(bits[0], ==, UINT64_C(1) << 63);
	CHECK_U64(bits[1], ==, 1);
	CHECK_OK(coati_parse_cpulist("5,3-3,5,4-5", bits, 128));
	CHECK_U64(bits[0], ==, 0x38);
	CHECK_OK(coati_parse_cpulist("64", bits, 65));
	CHECK_U64(bits[1], ==, 1);
}

TEST(parse_cpulist_refuses_and_leaves_the_bitmap_alone)
{
	static const struct expect table[] = {
		{ "", -EINVAL, 0 },
		{ ",", -EINVAL, 0 },
		{ "1,", -EINVAL, 0 },
		{ ",1", -EINVAL, 0 },
		{ "1,,2", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1-", -EINVAL, 0 },
		{ "1-2-3", -EINVAL, 0 },
		{ "1 -2", -EINVAL, 0 },
		{ "1, 2", -EINVAL, 0 },
		{ "0x1", -EINVAL, 0 },
		{ "a", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "0-6:1/2", -EINVAL, 0 },
		{ "3-0", -ERANGE, 0 },
		{ "128", -ERANGE, 0 },
		{ "0-128", -ERANGE, 0 },
		{ "1,200,2", -ERANGE, 0 },
		{ "200,x", -EINVAL, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0-18446744073709551615", -ERANGE, 0 },
		{ "18446744073709551615-18446744073709551616", -ERANGE, 0 },
		{ NULL, 0, 0 },
	};

	for (const struct expect *e = table; e->text; e++) {
		uint64_t bits[2] = { MARK, MARK };

		if (coati_parse_cpulist(e->text, bits, 128) != e->code)
			test_fail_at(__FILE__, __LINE__, "\"%s\" is not refused with %d", e->text,
				     e->code);
		CHECK(bits[0] == MARK && bits[1] == MARK);
	}
	CHECK_ERR(coati_parse_cpulist("0", NULL, 0), -ERANGE);
}

TEST(parse_durations_and_sizes_round_trip_for_random_numbers)
{
	for (int i = 0; i < 10000; i++) {
		uint64_t want = test_random() >> test_random() % 64, got;
		char text[64];

		snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, want / NSEC_PER_SEC,
			 want % NSEC_PER_SEC);
		CHECK_OK(coati_parse_duration(text, want, want, &got));
		snprintf(text, sizeof(text), "%" PRIu64, want);
		CHECK_OK(coati_parse_size(text, want, want, &got));
		snprintf(text, sizeof(text), "0x%" PRIx64, want);
		CHECK_OK(coati_parse_u64(text, want, want, &got));
	}
}

TEST(double_to_integer_stays_in_range)
{
	CHECK_U64(double_to_u64(-1), ==, 0);
	CHECK_U64(double_to_u64(NAN), ==, 0);
	CHECK_U64(double_to_u64(0.9), ==, 0);
	CHECK_U64(double_to_u64(0x1p63), ==, UINT64_C(1) << 63);
	CHECK_U64(double_to_u64(nextafter(0x1p64, 0)), ==, UINT64_MAX - 2047);
	CHECK_U64(double_to_u64(0x1p64), ==, UINT64_MAX);
	CHECK_U64(double_to_u64(INFINITY), ==, UINT64_MAX);
}
