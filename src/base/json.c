/* SPDX-License-Identifier: MIT */
/*
 * Values come in, JSON text goes out. What is written is valid UTF-8 and valid JSON whatever bytes
 * the strings hold; a call out of place (a value without its key, an end too many) sets out->failed
 * to -EINVAL, nesting beyond JSON_DEPTH_MAX to -E2BIG.
 */
#include "base/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

static void fail(struct json *j, int code)
{
	if (!j->out->failed)
		j->out->failed = code;
}

static uint64_t level_bit(const struct json *j)
{
	return j->depth ? UINT64_C(1) << (j->depth - 1) : 0;
}

/* What was written behind the text ends at @end now. Hot: per value, as everything that does not go
 * through printf. */
static void wrote(struct strbuf *out, char *end)
{
	*end = '\0';
	out->len = (size_t)(end - out->text);
}

static void write_char(struct strbuf *out, char c)
{
	char *at = strbuf_room(out, 1);

	if (!at)
		return;
	*at = c;
	wrote(out, at + 1);
}

/* Comma between the items of a level. */
static void separate(struct json *j)
{
	uint64_t bit = level_bit(j);

	if (j->has_items & bit)
		write_char(j->out, ',');
	j->has_items |= bit;
}

/* In front of every value. False when nothing may be written. */
static bool begin_value(struct json *j)
{
	bool in_object = j->is_object & level_bit(j);

	if (in_object != j->after_key)
		fail(j, -EINVAL);
	if (j->out->failed)
		return false;
	if (!in_object)
		separate(j);
	j->after_key = false;
	return true;
}

static void open_level(struct json *j, char bracket, bool is_object)
{
	if (!begin_value(j))
		return;
	if (j->depth == JSON_DEPTH_MAX) {
		fail(j, -E2BIG);
		return;
	}
	j->depth++;
	j->has_items &= ~level_bit(j);
	j->is_object &= ~level_bit(j);
	if (is_object)
		j->is_object |= level_bit(j);
	write_char(j->out, bracket);
}

/* What stands for an ASCII character that cannot stand for itself; 0 when it can. */
static char short_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

/* What does not stand for itself: how many bytes of it. A terminal must not obey it, so it is
 * written as a number. */
static size_t write_special(struct strbuf *out, const unsigned char *p, size_t left)
{
	size_t len = utf8_length(p, left);
	char letter = short_escape(*p);

	if (!len)
		coati_strbuf_adds(out, UTF8_REPLACEMENT);
	else if (letter)
		coati_strbuf_add(out, (const char[]){ '\\', letter }, 2);
	else if (len == 1)
		coati_strbuf_printf(out, "\\u%04x", *p);
	else if (len == 2)
		coati_strbuf_printf(out, "\\u%04x", (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu));
	else
		coati_strbuf_printf(out, "\\u%04x",
				    (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu));
	return len ? len : 1;
}

/* ASCII that stands for itself. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many of the first bytes do. */
static size_t plain_length(const unsigned char *p, size_t len)
{
	size_t i = 0;

	while (i < len && is_plain(p[i]))
		i++;
	return i;
}

static void write_string(struct strbuf *out, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = plain_length(p, len), copied = i;
	char *at = strbuf_room(out, i + 2);

	if (!at)
		return;
	*at++ = '"';
	memcpy(at, text, i);
	at += i;
	if (i == len)
		*at++ = '"';
	wrote(out, at);
	if (i == len)
		return;
	while (i < len) {
		size_t n = utf8_printable(p + i, len - i);

		if (n && !short_escape(p[i])) {
			i += n;
			continue;
		}
		coati_strbuf_add(out, p + copied, i - copied);
		i += write_special(out, p + i, len - i);
		copied = i;
	}
	coati_strbuf_add(out, p + copied, i - copied);
	write_char(out, '"');
}

#define KEY_SHORT 32

/* Most keys are short and plain: one look at each byte is enough for them. */
static void write_key(struct strbuf *out, const char *key)
{
	char *at = strbuf_room(out, KEY_SHORT + 3);
	size_t i = 0;

	if (!at)
		return;
	*at++ = '"';
	for (; i < KEY_SHORT && is_plain((unsigned char)key[i]); i++)
		at[i] = key[i];
	if (!key[i]) {
		at[i] = '"';
		at[i + 1] = ':';
		wrote(out, at + i + 2);
		return;
	}
	write_string(out, key, strlen(key));
	write_char(out, ':');
}

/* 15 digits are enough for most numbers, 17 for all. */
static void format_double(char *buf, size_t size, double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		double back;

		snprintf(buf, size, "%.*g", digits, v);
		if (coati_parse_double(buf, &back) == 0 && back == v)
			return;
	}
}

void coati_json_object(struct json *j)
{
	open_level(j, '{', true);
}

void coati_json_array(struct json *j)
{
	open_level(j, '[', false);
}

void coati_json_end(struct json *j)
{
	if (!j->depth || j->after_key)
		fail(j, -EINVAL);
	if (j->out->failed)
		return;
	write_char(j->out, j->is_object & level_bit(j) ? '}' : ']');
	j->depth--;
}

void coati_json_key(struct json *j, const char *key)
{
	if (!(j->is_object & level_bit(j)) || j->after_key)
		fail(j, -EINVAL);
	if (j->out->failed)
		return;
	separate(j);
	write_key(j->out, key);
	j->after_key = true;
}

void coati_json_str(struct json *j, const char *text)
{
	coati_json_strn(j, text, strlen(text));
}

void coati_json_strn(struct json *j, const char *text, size_t len)
{
	if (begin_value(j))
		write_string(j->out, text, len);
}

void coati_json_u64(struct json *j, uint64_t v)
{
	if (begin_value(j))
		coati_strbuf_u64(j->out, v);
}

void coati_json_i64(struct json *j, int64_t v)
{
	if (begin_value(j))
		coati_strbuf_i64(j->out, v);
}

void coati_json_fixed(struct json *j, uint64_t v, uint32_t decimals)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t unit = 1;

	for (uint32_t i = 0; i < decimals && i < 19; i++)
		unit *= 10;
	if (!begin_value(j))
		return;
	coati_strbuf_u64(j->out, v / unit);
	if (!(v % unit))
		return;
	for (v = v % unit + unit; !(v % 10);)
		v /= 10; /* zeros at the end say nothing */
	for (; v > 9; v /= 10)
		digits[--at] = (char)('0' + v % 10);
	digits[--at] = '.';
	coati_strbuf_add(j->out, digits + at, sizeof(digits) - at);
}

void coati_json_double(struct json *j, double v)
{
	char digits[32];
	locale_t c_locale, before;

	if (!isfinite(v)) {
		coati_json_null(j);
		return;
	}
	if (!begin_value(j))
		return;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale) {
		fail(j, -ENOMEM);
		return;
	}
	before = uselocale(c_locale); /* of this thread alone */
	format_double(digits, sizeof(digits), v);
	uselocale(before);
	freelocale(c_locale);
	coati_strbuf_adds(j->out, digits);
}

void coati_json_bool(struct json *j, bool v)
{
	if (begin_value(j))
		coati_strbuf_adds(j->out, v ? "true" : "false");
}

void coati_json_null(struct json *j)
{
	if (begin_value(j))
		coati_strbuf_adds(j->out, "null");
}

void coati_json_hex(struct json *j, uint64_t v)
{
	if (!begin_value(j))
		return;
	coati_strbuf_add(j->out, "\"0x", 3);
	coati_strbuf_hex(j->out, v);
	write_char(j->out, '"');
}

void coati_json_kstr(struct json *j, const char *key, const char *text)
{
	coati_json_key(j, key);
	coati_json_str(j, text);
}

void coati_json_ku64(struct json *j, const char *key, uint64_t v)
{
	coati_json_key(j, key);
	coati_json_u64(j, v);
}

void coati_json_ki64(struct json *j, const char *key, int64_t v)
{
	coati_json_key(j, key);
	coati_json_i64(j, v);
}

void coati_json_kbool(struct json *j, const char *key, bool v)
{
	coati_json_key(j, key);
	coati_json_bool(j, v);
}

void coati_json_kdouble(struct json *j, const char *key, double v)
{
	coati_json_key(j, key);
	coati_json_double(j, v);
}
