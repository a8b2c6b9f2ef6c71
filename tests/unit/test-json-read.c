/* SPDX-License-Identifier: MIT */
/* Reading JSON: values, shapes, escapes, and everything that is none; an independent reader must
 * agree. */
#include "lib/test.h"

#include "base/alloc.h"
#include "base/json-read.h"
#include "base/json.h"
#include "lib/json-check.h"

static int skip_all(const char *text, size_t len)
{
	struct json_reader r;
	int code;

	coati_json_read_init(&r, text, len);
	coati_json_read_skip(&r);
	code = coati_json_read_end(&r);
	coati_json_read_fini(&r);
	return code;
}

TEST(json_reader_gives_values_in_their_order)
{
	static const char text[] =
		" {\"a\" : [1, -2, 2.5e1, true, null, \"x\\n\\u00e4\\ud83d\\ude00\\\\\"], "
		"\"b\":{}, \"c\":[[]] } ";
	struct json_reader r;
	size_t len;

	coati_json_read_init(&r, text, sizeof(text) - 1);
	CHECK(coati_json_read_object(&r));
	CHECK_STR(coati_json_read_key(&r), "a");
	CHECK_INT(coati_json_read_peek(&r), ==, JSON_ARRAY);
	CHECK(coati_json_read_array(&r));
	CHECK(coati_json_read_more(&r));
	CHECK_U64(coati_json_read_u64(&r), ==, 1);
	CHECK(coati_json_read_more(&r));
	CHECK_INT(coati_json_read_i64(&r), ==, -2);
	CHECK(coati_json_read_more(&r));
	CHECK(coati_json_read_double(&r) == 25);
	CHECK(coati_json_read_more(&r));
	CHECK(!coati_json_read_null(&r));
	CHECK(coati_json_read_bool(&r));
	CHECK(coati_json_read_more(&r));
	CHECK(coati_json_read_null(&r));
	CHECK(coati_json_read_more(&r));
	CHECK_STR(coati_json_read_str(&r, &len), "x\n\xc3\xa4\xf0\x9f\x98\x80\\");
	CHECK_U64(len, ==, 9);
	CHECK(!coati_json_read_more(&r));
	CHECK_STR(coati_json_read_key(&r), "b");
	CHECK(coati_json_read_object(&r));
	CHECK(!coati_json_read_key(&r));
	CHECK_STR(coati_json_read_key(&r), "c");
	coati_json_read_skip(&r);
	CHECK(!coati_json_read_key(&r));
	CHECK_OK(coati_json_read_end(&r));
	coati_json_read_fini(&r);
}

TEST(json_reader_agrees_with_the_judge)
{
	static const char *const texts[] = {
		"",
		" ",
		"1",
		"1 2",
		"01",
		"-",
		"-0",
		"1.",
		".5",
		"1e",
		"1e+",
		"1E-2",
		"+1",
		"nul",
		"null",
		"nullx",
		"true",
		"True",
		"\"",
		"\"a",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\\u123g\"",
		"\"\t\"",
		"\"\xff\"",
		"\"\xc3\xa4\"",
		"[",
		"]",
		"[]",
		"[1",
		"[1,",
		"[1,]",
		"[,1]",
		"[1 2]",
		"{",
		"{}",
		"{1:2}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":1,\"b\":[{}]}",
		"[{]}",
		"[1]]",
		"{\"a\":[1,{\"b\":\"\\ud800\"}]}",
		"\xef\xbb\xbf[]",
		"[1]\n",
		"\v[]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if ((skip_all(texts[i], strlen(texts[i])) == 0) !=
		    json_check(texts[i], strlen(texts[i])))
			test_fail_at(__FILE__, __LINE__, "they do not agree about %s", texts[i]);
	CHECK_ERR(skip_all("[]\0", 3), -EBADMSG);
}

TEST(json_reader_refuses_every_shorter_text)
{
	static const char text[] = "{\"a\":[1.5,\"\\u00e4\\n\",{\"b\":null}],\"c\":false}";

	for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
		char *copy = coati_strndup(text, cut);

		CHECK_ERR(skip_all(copy, cut), -EBADMSG);
		coati_free(copy);
	}
	CHECK_OK(skip_all(text, sizeof(text) - 1));
}

TEST(json_reader_refuses_what_was_not_asked_for)
{
	struct json_reader r;

	coati_json_read_init(&r, "[\"1\"]", 5);
	CHECK(coati_json_read_array(&r));
	CHECK(coati_json_read_more(&r));
	CHECK_U64(coati_json_read_u64(&r), ==, 0);
	CHECK(!coati_json_read_more(&r));
	CHECK(!coati_json_read_key(&r));
	CHECK(!coati_json_read_str(&r, NULL));
	CHECK_ERR(coati_json_read_end(&r), -EBADMSG);
	coati_json_read_fini(&r);
	coati_json_read_init(&r, "-1", 2);
	CHECK_U64(coati_json_read_u64(&r), ==, 0);
	CHECK_ERR(coati_json_read_end(&r), -EBADMSG);
	coati_json_read_init(&r, "18446744073709551615", 20);
	CHECK_U64(coati_json_read_u64(&r), ==, UINT64_MAX);
	CHECK_OK(coati_json_read_end(&r));
	coati_json_read_init(&r, "18446744073709551616", 20);
	CHECK_U64(coati_json_read_u64(&r), ==, 0);
	CHECK_ERR(coati_json_read_end(&r), -EBADMSG);
	coati_json_read_fini(&r);
}

TEST(json_reader_has_a_limit_of_depth)
{
	char text[2 * (JSON_READ_DEPTH + 1)];

	memset(text, '[', JSON_READ_DEPTH);
	memset(text + JSON_READ_DEPTH, ']', JSON_READ_DEPTH);
	CHECK_OK(skip_all(text, 2 * JSON_READ_DEPTH));
	memset(text, '[', JSON_READ_DEPTH + 1);
	memset(text + JSON_READ_DEPTH + 1, ']', JSON_READ_DEPTH + 1);
	CHECK_ERR(skip_all(text, sizeof(text)), -E2BIG);
}

TEST(json_reader_gives_back_what_the_writer_wrote)
{
	for (int i = 0; i < 200; i++) {
		struct strbuf s = STRBUF_INIT(10000);
		struct json j = json_to(&s);
		struct json_reader r;
		char text[40];
		size_t len = test_random() % sizeof(text), got;
		const char *back;

		for (size_t at = 0; at < len; at++)
			text[at] = (char)(test_random() % 0x80);
		coati_json_strn(&j, text, len);
		coati_json_read_init(&r, s.text, s.len);
		back = coati_json_read_str(&r, &got);
		CHECK_U64(got, ==, len);
		CHECK_MEM(back, text, len);
		CHECK_OK(coati_json_read_end(&r));
		coati_json_read_fini(&r);
		coati_strbuf_fini(&s);
	}
}

TEST(json_reader_without_memory_says_so)
{
	struct json_reader r;

	coati_alloc_fail_after(0);
	coati_json_read_init(&r, "\"text\"", 6);
	CHECK(!coati_json_read_str(&r, NULL));
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_ERR(coati_json_read_end(&r), -ENOMEM);
	coati_json_read_fini(&r);
}
