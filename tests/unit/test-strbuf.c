/* SPDX-License-Identifier: MIT */
/* Text building: ceilings and sticky failure. */
#include <stdio.h>

#include "lib/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"

TEST(strbuf_is_a_terminated_string_before_the_first_addition)
{
	struct strbuf s = STRBUF_INIT(10);

	CHECK_STR(s.text, "");
	coati_strbuf_fini(&s);
}

TEST(strbuf_stops_at_its_ceiling_and_says_so)
{
	struct strbuf s = STRBUF_INIT(5);

	coati_strbuf_adds(&s, "12345");
	CHECK_INT(s.failed, ==, 0);
	coati_strbuf_addc(&s, '6');
	CHECK_ERR(s.failed, -E2BIG);
	CHECK_STR(s.text, "12345");
	coati_strbuf_clear(&s);
	coati_strbuf_printf(&s, "%d", 123456);
	CHECK_ERR(s.failed, -E2BIG);
	CHECK_STR(s.text, "");
	coati_strbuf_fini(&s);
}

TEST(strbuf_printf_grows_over_every_length)
{
	for (int len = 0; len < 300; len++) {
		struct strbuf s = STRBUF_INIT(1000);

		coati_strbuf_printf(&s, "%*s|", len, "");
		CHECK_U64(s.len, ==, len + 1);
		CHECK_INT(s.text[len], ==, '|');
		CHECK_INT(s.text[len + 1], ==, 0);
		coati_strbuf_fini(&s);
	}
}

TEST(strbuf_printf_fills_and_outgrows_the_room_that_is_left)
{
	for (int len = 0; len < 200; len++) {
		struct strbuf s = STRBUF_INIT(1000);

		coati_strbuf_addc(&s, '<');
		coati_strbuf_printf(&s, "%*s>", len, "");
		CHECK_U64(s.len, ==, len + 2);
		CHECK_U64(strlen(s.text), ==, s.len);
		CHECK_INT(s.text[0], ==, '<');
		CHECK_INT(s.text[len + 1], ==, '>');
		coati_strbuf_fini(&s);
	}
}

TEST(strbuf_survives_each_failing_allocation)
{
	for (uint64_t n = 0; n < 4; n++) {
		struct strbuf s = STRBUF_INIT(100000);

		coati_alloc_fail_after(n);
		for (int i = 0; i < 1000; i++)
			coati_strbuf_adds(&s, "text ");
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_ERR(s.failed, -ENOMEM);
		CHECK_U64(strlen(s.text), ==, s.len);
		coati_strbuf_fini(&s);
	}
}

TEST(strbuf_groups_digits_by_three)
{
	struct strbuf s = STRBUF_INIT(100);

	coati_strbuf_grouped(&s, 7);
	coati_strbuf_addc(&s, ' ');
	coati_strbuf_grouped(&s, 1234567);
	coati_strbuf_addc(&s, ' ');
	coati_strbuf_grouped(&s, UINT64_MAX);
	CHECK_STR(s.text, "7 1,234,567 18,446,744,073,709,551,615");
	coati_strbuf_fini(&s);
}

TEST(strbuf_refuses_a_length_that_wraps_whatever_its_ceiling)
{
	struct strbuf s = STRBUF_INIT(SIZE_MAX);

	coati_strbuf_addc(&s, 'x');
	coati_strbuf_pad(&s, ' ', SIZE_MAX - 1);
	CHECK_ERR(s.failed, -E2BIG);
	CHECK_STR(s.text, "x");
	coati_strbuf_fini(&s);
}

TEST(strbuf_adds_nothing_after_its_first_failure)
{
	struct strbuf s = STRBUF_INIT(3);

	coati_strbuf_adds(&s, "12");
	coati_strbuf_adds(&s, "too long");
	coati_strbuf_addc(&s, 'x');
	coati_strbuf_pad(&s, 'x', 1);
	coati_strbuf_printf(&s, "x");
	coati_strbuf_grouped(&s, 1);
	CHECK_STR(s.text, "12");
	CHECK(!coati_strbuf_take(&s));
	coati_strbuf_fini(&s);
}

TEST(strbuf_prints_up_to_its_ceiling_also_into_room_that_it_has)
{
	struct strbuf s = STRBUF_INIT(10);

	coati_strbuf_printf(&s, "%s", "1234567890");
	CHECK_STR(s.text, "1234567890");
	coati_strbuf_printf(&s, "%s", "");
	CHECK_INT(s.failed, ==, 0);
	coati_strbuf_printf(&s, "%s", "1");
	CHECK_ERR(s.failed, -E2BIG);
	CHECK_STR(s.text, "1234567890");
	coati_strbuf_fini(&s);
}

TEST(strbuf_hands_its_text_over_and_is_empty)
{
	struct strbuf s = STRBUF_INIT(10);
	char *text;

	text = coati_strbuf_take(&s);
	CHECK_STR(text, "");
	coati_free(text);
	coati_strbuf_pad(&s, '-', 3);
	text = coati_strbuf_take(&s);
	CHECK_STR(text, "---");
	CHECK_STR(s.text, "");
	CHECK_U64(s.len, ==, 0);
	coati_free(text);
	coati_strbuf_fini(&s);
}

static void check_number(struct strbuf *s, uint64_t v)
{
	char expected[24];

	snprintf(expected, sizeof(expected), "%llu", (unsigned long long)v);
	coati_strbuf_clear(s);
	coati_strbuf_u64(s, v);
	CHECK_STR(s->text, expected);
	snprintf(expected, sizeof(expected), "%lld", (long long)v);
	coati_strbuf_clear(s);
	coati_strbuf_i64(s, (int64_t)v);
	CHECK_STR(s->text, expected);
	snprintf(expected, sizeof(expected), "%llx", (unsigned long long)v);
	coati_strbuf_clear(s);
	coati_strbuf_hex(s, v);
	CHECK_STR(s->text, expected);
}

TEST(strbuf_writes_numbers_as_printf_does)
{
	struct strbuf s = STRBUF_INIT(20);
	uint64_t v = 1;

	for (int digits = 1; digits <= 20; digits++, v *= 10)
		for (uint64_t near = 0; near < 3; near++)
			check_number(&s, v - 1 + near);
	for (int bit = 0; bit < 64; bit++)
		for (uint64_t near = 0; near < 3; near++)
			check_number(&s, (UINT64_C(1) << bit) - 1 + near);
	coati_strbuf_fini(&s);
}

TEST(strbuf_leaves_a_number_out_that_would_pass_its_ceiling)
{
	struct strbuf s = STRBUF_INIT(4);

	coati_strbuf_i64(&s, -123);
	coati_strbuf_u64(&s, 5);
	CHECK_STR(s.text, "-123");
	CHECK_ERR(s.failed, -E2BIG);
	coati_strbuf_clear(&s);
	coati_strbuf_i64(&s, -1234);
	CHECK_ERR(s.failed, -E2BIG);
	coati_strbuf_clear(&s);
	coati_strbuf_hex(&s, 0x12345);
	CHECK_ERR(s.failed, -E2BIG);
	CHECK_STR(s.text, "");
	coati_strbuf_fini(&s);
}

TEST(strbuf_cleans_what_a_terminal_would_obey)
{
	static const char text[] = "a\x1b[2J\xc3\xa4\xc2\x9b"
				   "1m\x7f\xe2\x80\xae\xe2\x82\xac\x80\n";
	struct strbuf s = STRBUF_INIT(256);

	coati_strbuf_clean(&s, text, sizeof(text) - 1);
	CHECK_STR(s.text,
		  "a\\x1b[2J\xc3\xa4\\xc2\\x9b1m\\x7f\\xe2\\x80\\xae\xe2\x82\xac\\x80\\x0a");
	coati_strbuf_fini(&s);
}
