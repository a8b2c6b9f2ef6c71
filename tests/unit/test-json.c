/* SPDX-License-Identifier: MIT */
/* Writing JSON: nesting, nasty text, numbers; every text is also read by an independent reader. */
#include "lib/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "lib/json-check.h"

static void check_done(struct strbuf *s, const char *want)
{
	CHECK_INT(s->failed, ==, 0);
	CHECK_STR(s->text, want);
	CHECK(json_check(s->text, s->len));
	coati_strbuf_fini(s);
}

static void check_string(const char *text, size_t len, const char *want)
{
	struct strbuf s = STRBUF_INIT(10000);
	struct json j = json_to(&s);

	coati_json_strn(&j, text, len);
	check_done(&s, want);
}

static void check_double(double v, const char *want)
{
	struct strbuf s = STRBUF_INIT(100);
	struct json j = json_to(&s);

	coati_json_double(&j, v);
	check_done(&s, want);
}

TEST(json_puts_commas_between_and_brackets_around)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct json j = json_to(&s);

	coati_json_object(&j);
	coati_json_kstr(&j, "a", "x");
	coati_json_ku64(&j, "b", UINT64_MAX);
	coati_json_key(&j, "c");
	coati_json_array(&j);
	coati_json_array(&j);
	coati_json_end(&j);
	coati_json_object(&j);
	coati_json_end(&j);
	coati_json_i64(&j, INT64_MIN);
	coati_json_null(&j);
	coati_json_hex(&j, 0x1f);
	coati_json_end(&j);
	coati_json_kbool(&j, "d", true);
	coati_json_ki64(&j, "e", -1);
	coati_json_kdouble(&j, "f", 0.5);
	coati_json_key(&j, "");
	coati_json_bool(&j, false);
	coati_json_end(&j);
	CHECK_U64(j.depth, ==, 0);
	check_done(&s, "{\"a\":\"x\",\"b\":18446744073709551615,\"c\":[[],{},-9223372036854775808,"
		       "null,\"0x1f\"],\"d\":true,\"e\":-1,\"f\":0.5,\"\":false}");
}

TEST(json_goes_on_after_its_text_was_flushed)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct json j = json_to(&s);

	coati_json_array(&j);
	coati_json_u64(&j, 1);
	coati_strbuf_clear(&s);
	coati_json_u64(&j, 2);
	coati_json_end(&j);
	CHECK_STR(s.text, ",2]");
	coati_strbuf_fini(&s);
}

TEST(json_escapes_every_control_character)
{
	check_string("\"\\/\b\f\n\r\t", 8, "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
	check_string("a\0b", 3, "\"a\\u0000b\"");
	check_string("\x1f\x7f", 2, "\"\\u001f\\u007f\"");
	/* what a terminal obeys, also above ASCII */
	check_string("\xc2\x9b"
		     "31m",
		     5, "\"\\u009b31m\"");
	check_string("a\xe2\x80\xaez", 5, "\"a\\u202ez\"");
	check_string("", 0, "\"\"");
}

TEST(json_keeps_good_utf8)
{
	static const char *const good[] = {
		"\xc2\xa0",	    "\xdf\xbf",		"\xe0\xa0\x80",
		"\xed\x9f\xbf",	    "\xee\x80\x80",	"\xef\xbf\xbf",
		"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xe2\x82\xacz",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char want[16];

		snprintf(want, sizeof(want), "\"%s\"", good[i]);
		check_string(good[i], strlen(good[i]), want);
	}
}

#define BAD "\xef\xbf\xbd"

TEST(json_replaces_each_bad_byte)
{
	check_string("\xff", 1, "\"" BAD "\"");
	check_string("a\x80z", 3, "\"a" BAD "z\"");
	check_string("\xc0\x80", 2, "\"" BAD BAD "\"");			/* overlong zero */
	check_string("\xc1\xbf", 2, "\"" BAD BAD "\"");			/* overlong */
	check_string("\xe0\x9f\xbf", 3, "\"" BAD BAD BAD "\"");		/* overlong */
	check_string("\xf0\x8f\xbf\xbf", 4, "\"" BAD BAD BAD BAD "\""); /* overlong */
	check_string("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"");		/* surrogate */
	check_string("\xed\xbf\xbf", 3, "\"" BAD BAD BAD "\"");		/* surrogate */
	check_string("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\""); /* beyond U+10FFFF */
	check_string("\xf5\x80\x80\x80", 4, "\"" BAD BAD BAD BAD "\"");
	check_string("\xe2\x82", 2, "\"" BAD BAD "\"");	  /* cut */
	check_string("\xe2\x82x", 3, "\"" BAD BAD "x\""); /* broken off */
	check_string("\xf0\x9f\xc3\xa4", 4,
		     "\"" BAD BAD "\xc3\xa4\""); /* broken off by a good one */
	check_string("\xe2\x82\xac\x80", 4, "\"\xe2\x82\xac" BAD "\"");
	check_string("\xe2\x82\xac"
		     "tail",
		     2, "\"" BAD BAD "\""); /* cut by its length */
}

TEST(json_turns_every_pair_of_bytes_into_json)
{
	for (unsigned int i = 0; i < 65536; i++) {
		char pair[2] = { (char)(i >> 8), (char)i };
		struct strbuf s = STRBUF_INIT(100);
		struct json j = json_to(&s);

		coati_json_strn(&j, pair, 2);
		CHECK_INT(s.failed, ==, 0);
		CHECK(json_check(s.text, s.len));
		coati_strbuf_fini(&s);
	}
}

TEST(json_turns_random_bytes_into_json)
{
	for (int round = 0; round < 20000; round++) {
		struct strbuf s = STRBUF_INIT(1000);
		struct json j = json_to(&s);
		char text[16];
		size_t len = test_random() % sizeof(text);

		for (size_t i = 0; i < len; i++) {
			/* mostly what makes and breaks multi-byte characters */
			static const unsigned char odd[] = { 0xc0, 0xe0, 0xed, 0xf0, 0xf4,
							     0x80, 0x9f, 0xa0, 0xbf, 0x90 };
			uint64_t r = test_random();

			text[i] = (char)(r & 1 ? odd[(r >> 8) % sizeof(odd)] : r >> 8);
		}
		coati_json_strn(&j, text, len);
		CHECK(json_check(s.text, s.len));
		coati_strbuf_fini(&s);
	}
}

TEST(json_doubles_are_as_short_as_they_can_be)
{
	check_double(0.0, "0");
	check_double(-0.0, "-0");
	check_double(0.1, "0.1");
	check_double(0.1 + 0.2, "0.30000000000000004");
	check_double(1.0 / 3, "0.3333333333333333");
	check_double(1e21, "1e+21");
	check_double(-1.5e-7, "-1.5e-07");
	check_double(DBL_MAX, "1.7976931348623157e+308");
	check_double(0x1p-1074, "4.94065645841247e-324");
	check_double(123456789012345678.0, "1.2345678901234568e+17");
}

TEST(json_doubles_that_are_not_finite_are_null)
{
	check_double(INFINITY, "null");
	check_double(-INFINITY, "null");
	check_double(NAN, "null");
}

TEST(json_doubles_read_back_as_themselves)
{
	for (int i = 0; i < 20000; i++) {
		struct strbuf s = STRBUF_INIT(100);
		struct json j = json_to(&s);
		uint64_t bits = test_random();
		double v, back;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		coati_json_double(&j, v);
		CHECK_OK(coati_parse_double(s.text, &back));
		CHECK(back == v);
		CHECK(json_check(s.text, s.len));
		coati_strbuf_fini(&s);
	}
}

TEST(json_nests_to_its_limit_and_no_deeper)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct json j = json_to(&s);

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		coati_json_array(&j);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		coati_json_end(&j);
	CHECK_INT(s.failed, ==, 0);
	CHECK(json_check(s.text, s.len));
	coati_strbuf_clear(&s);
	for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
		coati_json_array(&j);
	CHECK_ERR(s.failed, -E2BIG);
	coati_strbuf_fini(&s);
}

TEST(json_levels_do_not_remember_the_level_that_was_there_before)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct json j = json_to(&s);

	coati_json_array(&j);
	coati_json_object(&j);
	coati_json_ku64(&j, "a", 1);
	coati_json_end(&j);
	coati_json_array(&j);
	coati_json_u64(&j, 1);
	coati_json_end(&j);
	coati_json_end(&j);
	check_done(&s, "[{\"a\":1},[1]]");
}

TEST(json_refuses_calls_out_of_place)
{
	for (int which = 0; which < 6; which++) {
		struct strbuf s = STRBUF_INIT(1000);
		struct json j = json_to(&s);

		if (which == 0)
			coati_json_end(&j);
		if (which == 1)
			coati_json_key(&j, "at the top");
		if (which == 2) {
			coati_json_array(&j);
			coati_json_key(&j, "in an array");
		}
		if (which > 2)
			coati_json_object(&j);
		if (which == 3)
			coati_json_u64(&j, 1);
		if (which == 4) {
			coati_json_key(&j, "twice");
			coati_json_key(&j, "twice");
		}
		if (which == 5) {
			coati_json_key(&j, "no value");
			coati_json_end(&j);
		}
		CHECK_ERR(s.failed, -EINVAL);
		coati_strbuf_fini(&s);
	}
}

TEST(json_survives_each_failing_allocation)
{
	for (uint64_t n = 0; n < 4; n++) {
		struct strbuf s = STRBUF_INIT(100000);
		struct json j = json_to(&s);

		coati_alloc_fail_after(n);
		coati_json_array(&j);
		for (int i = 0; i < 1000; i++) {
			coati_json_object(&j);
			coati_json_kdouble(&j, "key", 1.0 / 3);
			coati_json_end(&j);
		}
		coati_json_end(&j);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_ERR(s.failed, -ENOMEM);
		coati_strbuf_fini(&s);
	}
}

TEST(json_checker_of_the_tests_refuses_what_is_not_json)
{
	static const char *const bad[] = {
		"",
		"[",
		"]",
		"[1,]",
		"{\"a\"}",
		"{\"a\":}",
		"{a:1}",
		"01",
		"1.",
		".5",
		"+1",
		"1e",
		"nul",
		"truex",
		"\"",
		"\"\n\"",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\xff\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"1 2",
		"\"\xf4\x90\x80\x80\"",
		"[1 2]",
		"{\"a\":1,}",
		"\"\xe2\x82\"",
		"-",
	};
	static const char good[] = " { \"a\" : [ 1 , -0.5e+3 , null , true ] } ";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (json_check(bad[i], strlen(bad[i])))
			test_fail_at(__FILE__, __LINE__, "%s is taken", bad[i]);
	CHECK(json_check(good, strlen(good)));
}
