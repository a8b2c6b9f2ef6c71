/* SPDX-License-Identifier: MIT */
/*
 * JSON text comes in, values go out. Strict as RFC 8259: no comments, no trailing commas, no bare
 * words; strings are UTF-8. Half a surrogate pair, which the grammar allows and no text can hold,
 * becomes U+FFFD.
 */
#include "base/json-read.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

#define NUMBER_MAX 64 /* the longest that a writer with sense would write */

static void fail(struct json_reader *r, int code)
{
	if (!r->failed)
		r->failed = code;
	r->at = r->end;
}

static uint64_t level_bit(const struct json_reader *r)
{
	return r->depth ? UINT64_C(1) << (r->depth - 1) : 0;
}

static void skip_blanks(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
		r->at++;
}

/* The character that comes next, behind blanks; 0 at the end. */
static unsigned char look(struct json_reader *r)
{
	skip_blanks(r);
	return r->at < r->end ? *r->at : 0;
}

static bool take(struct json_reader *r, unsigned char c)
{
	if (look(r) != c)
		return false;
	r->at++;
	return true;
}

void coati_json_read_init(struct json_reader *r, const void *bytes, size_t size)
{
	const unsigned char *p = bytes ? bytes : (const void *)"";

	*r = (struct json_reader){ .start = p,
				   .at = p,
				   .end = p + (bytes ? size : 0),
				   .text = STRBUF_INIT(JSON_READ_TEXT) };
}

void coati_json_read_fini(struct json_reader *r)
{
	coati_strbuf_fini(&r->text);
}

size_t coati_json_read_offset(const struct json_reader *r)
{
	return (size_t)(r->at - r->start);
}

/* ---- strings ---- */

static unsigned int take_hex4(struct json_reader *r)
{
	unsigned int v = 0;

	if (r->end - r->at < 4) {
		fail(r, -EBADMSG);
		return 0;
	}
	for (int i = 0; i < 4; i++) {
		unsigned char c = *r->at++;
		unsigned int digit = 16;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (c | 32) - 'a' + 10;
		if (digit > 15) {
			fail(r, -EBADMSG);
			return 0;
		}
		v = v << 4 | digit;
	}
	return v;
}

static bool is_low_half(const unsigned char *p)
{
	return p[0] == '\\' && p[1] == 'u' && (p[2] == 'd' || p[2] == 'D') &&
	       ((p[3] >= 'c' && p[3] <= 'f') || (p[3] >= 'C' && p[3] <= 'F'));
}

static void take_unicode(struct json_reader *r)
{
	unsigned int code = take_hex4(r);
	char bytes[4];

	if (code >= 0xd800 && code < 0xdc00 && r->end - r->at >= 6 && is_low_half(r->at)) {
		r->at += 2;
		code = 0x10000 + ((code - 0xd800) << 10) + (take_hex4(r) - 0xdc00);
	}
	if (!r->failed)
		coati_strbuf_add(&r->text, bytes, utf8_put(code, bytes));
}

static void take_escape(struct json_reader *r)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	unsigned char c = r->at < r->end ? *r->at++ : 0;
	const char *letter = c ? strchr(letters, c) : NULL;

	if (letter)
		coati_strbuf_addc(&r->text, meant[letter - letters]);
	else if (c == 'u')
		take_unicode(r);
	else
		fail(r, -EBADMSG);
}

/* How many bytes of the string stand for themselves. */
static size_t plain_length(struct json_reader *r)
{
	const unsigned char *p = r->at;

	while (p < r->end && *p >= 0x20 && *p != '"' && *p != '\\') {
		size_t n = *p < 0x80 ? 1 : utf8_length(p, (size_t)(r->end - p));

		if (!n)
			break;
		p += n;
	}
	return (size_t)(p - r->at);
}

/* Behind the opening quote. */
static void take_string(struct json_reader *r)
{
	coati_strbuf_clear(&r->text);
	while (!r->failed) {
		size_t plain = plain_length(r);

		coati_strbuf_add(&r->text, r->at, plain);
		r->at += plain;
		if (r->at >= r->end || (*r->at != '"' && *r->at != '\\'))
			fail(r, -EBADMSG);
		else if (*r->at++ == '"')
			break;
		else
			take_escape(r);
	}
	if (r->text.failed)
		fail(r, r->text.failed);
}

/* ---- the shape ---- */

/* In front of every value: it must be one that may stand here. */
static bool begin_value(struct json_reader *r)
{
	bool in_object = r->is_object & level_bit(r);

	if (r->failed)
		return false;
	if (in_object != r->after_key || (!r->depth && r->started)) {
		fail(r, -EBADMSG);
		return false;
	}
	r->started = true;
	r->after_key = false;
	return true;
}

static bool enter(struct json_reader *r, unsigned char bracket)
{
	if (!begin_value(r))
		return false;
	if (!take(r, bracket) || r->depth == JSON_READ_DEPTH) {
		fail(r, r->depth == JSON_READ_DEPTH ? -E2BIG : -EBADMSG);
		return false;
	}
	r->depth++;
	r->has_items &= ~level_bit(r);
	r->is_object &= ~level_bit(r);
	if (bracket == '{')
		r->is_object |= level_bit(r);
	return true;
}

bool coati_json_read_object(struct json_reader *r)
{
	return enter(r, '{');
}

bool coati_json_read_array(struct json_reader *r)
{
	return enter(r, '[');
}

/* At an item or the end of a level: false, and the level is left, at the end. */
static bool next_item(struct json_reader *r, bool in_object)
{
	if (r->failed)
		return false;
	if (!r->depth || r->after_key || !(r->is_object & level_bit(r)) == in_object) {
		fail(r, -EBADMSG);
		return false;
	}
	if (take(r, in_object ? '}' : ']')) {
		r->depth--;
		return false;
	}
	if (r->has_items & level_bit(r) && !take(r, ','))
		fail(r, -EBADMSG);
	r->has_items |= level_bit(r);
	return !r->failed;
}

const char *coati_json_read_key(struct json_reader *r)
{
	if (!next_item(r, true))
		return NULL;
	if (!take(r, '"')) {
		fail(r, -EBADMSG);
		return NULL;
	}
	take_string(r);
	if (!r->failed && !take(r, ':'))
		fail(r, -EBADMSG);
	r->after_key = true;
	return r->failed ? NULL : r->text.text;
}

bool coati_json_read_more(struct json_reader *r)
{
	return next_item(r, false);
}

/* ---- values ---- */

enum json_kind coati_json_read_peek(struct json_reader *r)
{
	switch (r->failed ? 0 : look(r)) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	case '-':
	case '0' ... '9':
		return JSON_NUMBER;
	default:
		return JSON_NOTHING;
	}
}

const char *coati_json_read_str(struct json_reader *r, size_t *ret_len)
{
	if (begin_value(r) && !take(r, '"'))
		fail(r, -EBADMSG);
	if (!r->failed)
		take_string(r);
	if (r->failed)
		return NULL;
	if (ret_len)
		*ret_len = r->text.len;
	return r->text.text;
}

static size_t take_digits(const unsigned char **at, const unsigned char *end)
{
	const unsigned char *from = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		(*at)++;
	return (size_t)(*at - from);
}

/* A number as the grammar has it, terminated in @text. */
static bool take_number(struct json_reader *r, char text[NUMBER_MAX])
{
	const unsigned char *at, *from;
	size_t digits;
	bool good;

	if (!begin_value(r))
		return false;
	look(r);
	at = from = r->at;
	if (at < r->end && *at == '-')
		at++;
	good = at < r->end && (*at != '0' || r->end - at < 2 || at[1] < '0' || at[1] > '9');
	digits = take_digits(&at, r->end);
	good = good && digits;
	if (at < r->end && *at == '.') {
		at++;
		good = take_digits(&at, r->end) && good;
	}
	if (at < r->end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < r->end && (*at == '+' || *at == '-'))
			at++;
		good = take_digits(&at, r->end) && good;
	}
	if (!good || at - from >= NUMBER_MAX) {
		fail(r, -EBADMSG);
		return false;
	}
	memcpy(text, from, (size_t)(at - from));
	text[at - from] = '\0';
	r->at = at;
	return true;
}

uint64_t coati_json_read_u64(struct json_reader *r)
{
	char text[NUMBER_MAX];
	uint64_t v = 0;

	if (take_number(r, text) && coati_parse_u64(text, 0, UINT64_MAX, &v) < 0)
		fail(r, -EBADMSG);
	return v;
}

int64_t coati_json_read_i64(struct json_reader *r)
{
	char text[NUMBER_MAX];
	int64_t v = 0;

	if (take_number(r, text) && coati_parse_i64(text, INT64_MIN, INT64_MAX, &v) < 0)
		fail(r, -EBADMSG);
	return v;
}

uint64_t coati_json_read_fixed(struct json_reader *r, uint32_t decimals)
{
	char text[NUMBER_MAX], *point;
	uint64_t v = 0;
	size_t behind;

	if (!take_number(r, text))
		return 0;
	point = strchr(text, '.');
	behind = point ? strlen(point + 1) : 0;
	if (behind > decimals || strlen(text) + decimals >= NUMBER_MAX) {
		fail(r, -EBADMSG);
		return 0;
	}
	if (point)
		memmove(point, point + 1, behind + 1);
	for (size_t len = strlen(text); behind < decimals; behind++) {
		text[len++] = '0';
		text[len] = '\0';
	}
	if (coati_parse_u64(text, 0, UINT64_MAX, &v) < 0)
		fail(r, -EBADMSG);
	return r->failed ? 0 : v;
}

double coati_json_read_double(struct json_reader *r)
{
	char text[NUMBER_MAX];
	double v = 0;

	if (take_number(r, text) && coati_parse_double(text, &v) < 0)
		fail(r, -EBADMSG);
	return v;
}

static bool take_word(struct json_reader *r, const char *word)
{
	size_t len = strlen(word);

	look(r);
	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

bool coati_json_read_bool(struct json_reader *r)
{
	bool v;

	if (!begin_value(r))
		return false;
	v = take_word(r, "true");
	if (!v && !take_word(r, "false"))
		fail(r, -EBADMSG);
	return v;
}

bool coati_json_read_null(struct json_reader *r)
{
	if (coati_json_read_peek(r) != JSON_NULL || !begin_value(r))
		return false;
	if (!take_word(r, "null"))
		fail(r, -EBADMSG);
	return !r->failed;
}

/* A value that holds no others, or the beginning of one that does. */
static void skip_one(struct json_reader *r)
{
	char text[NUMBER_MAX];

	switch (coati_json_read_peek(r)) {
	case JSON_OBJECT:
		coati_json_read_object(r);
		break;
	case JSON_ARRAY:
		coati_json_read_array(r);
		break;
	case JSON_STRING:
		coati_json_read_str(r, NULL);
		break;
	case JSON_NUMBER:
		take_number(r, text);
		break;
	case JSON_BOOL:
		coati_json_read_bool(r);
		break;
	case JSON_NULL:
		coati_json_read_null(r);
		break;
	default:
		fail(r, -EBADMSG);
	}
}

void coati_json_read_skip(struct json_reader *r)
{
	uint32_t depth = r->depth;

	skip_one(r);
	while (r->depth > depth && !r->failed) {
		bool in_object = r->is_object & level_bit(r);

		if (in_object ? coati_json_read_key(r) != NULL : coati_json_read_more(r))
			skip_one(r);
	}
}

int coati_json_read_end(struct json_reader *r)
{
	skip_blanks(r);
	if (r->depth || r->after_key || r->at < r->end || !r->started)
		fail(r, -EBADMSG);
	return r->failed;
}
