/* SPDX-License-Identifier: MIT */
/* Text that grows up to its ceiling; after the first failure nothing is added any more. */
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

char coati_strbuf_empty[1];

/* Room for @more bytes and the terminator. */
static int reserve(struct strbuf *s, size_t more)
{
	size_t want, cap;
	char *text;

	if (s->failed)
		return s->failed;
	if (s->len > s->max || more > s->max - s->len ||
	    __builtin_add_overflow(s->len + more, (size_t)1, &want))
		return s->failed = -E2BIG;
	if (want <= s->cap)
		return 0;
	cap = s->cap ? s->cap * 2 : 64;
	if (cap < want)
		cap = want;
	if (cap - 1 > s->max) /* so that room below cap is room below the ceiling */
		cap = s->max + 1;
	text = coati_realloc_array(s->cap ? s->text : NULL, cap, 1);
	if (!text)
		return s->failed = -ENOMEM;
	s->text = text;
	s->cap = cap;
	s->text[s->len] = '\0';
	return 0;
}

void coati_strbuf_fini(struct strbuf *s)
{
	if (s->cap)
		coati_free(s->text);
	*s = (struct strbuf)STRBUF_INIT(s->max);
}

void coati_strbuf_clear(struct strbuf *s)
{
	s->len = 0;
	s->failed = 0;
	if (s->cap)
		s->text[0] = '\0';
}

char *coati_strbuf_grow(struct strbuf *s, size_t size)
{
	return reserve(s, size) < 0 ? NULL : s->text + s->len;
}

void coati_strbuf_add(struct strbuf *s, const void *bytes, size_t len)
{
	if (!len || reserve(s, len) < 0)
		return;
	memcpy(s->text + s->len, bytes, len);
	s->len += len;
	s->text[s->len] = '\0';
}

void coati_strbuf_adds(struct strbuf *s, const char *text)
{
	coati_strbuf_add(s, text, strlen(text));
}

void coati_strbuf_addc(struct strbuf *s, char c)
{
	coati_strbuf_add(s, &c, 1);
}

void coati_strbuf_pad(struct strbuf *s, char c, size_t count)
{
	if (!count || reserve(s, count) < 0)
		return;
	memset(s->text + s->len, c, count);
	s->len += count;
	s->text[s->len] = '\0';
}

static unsigned int nr_digits(uint64_t v)
{
	unsigned int nr = 1;

	for (; v >= 10000; v /= 10000)
		nr += 4;
	return nr + (v >= 10) + (v >= 100) + (v >= 1000);
}

/* Two digits a division, which is what takes the time. */
static void add_number(struct strbuf *s, uint64_t v, bool negative)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233"
		"34353637383940414243444546474849505152535455565758596061626364656667"
		"6869707172737475767778798081828384858687888990919293949596979899";
	size_t len = nr_digits(v) + negative;
	char *text = strbuf_room(s, len), *at;

	if (!text)
		return;
	*text = '-';
	for (at = text + len; v >= 100; v /= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (v % 100), 2);
	}
	if (v >= 10)
		memcpy(at - 2, pairs + 2 * v, 2);
	else
		at[-1] = (char)('0' + v);
	s->len += len;
	text[len] = '\0';
}

void coati_strbuf_u64(struct strbuf *s, uint64_t v)
{
	add_number(s, v, false);
}

void coati_strbuf_i64(struct strbuf *s, int64_t v)
{
	add_number(s, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
}

void coati_strbuf_hex(struct strbuf *s, uint64_t v)
{
	size_t len = v ? (67 - (size_t)__builtin_clzll(v)) / 4 : 1;
	char *text = strbuf_room(s, len);

	if (!text)
		return;
	for (size_t at = len; at; v >>= 4)
		text[--at] = "0123456789abcdef"[v & 15];
	s->len += len;
	text[len] = '\0';
}

void coati_strbuf_vprintf(struct strbuf *s, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int len;

	if (s->failed)
		return;
	va_copy(again, ap);
	room = s->cap ? s->cap - s->len : 0;
	len = vsnprintf(s->cap ? s->text + s->len : NULL, room, fmt, ap);
	if (len < 0) {
		s->failed = -EINVAL;
	} else if (reserve(s, (size_t)len) == 0) {
		if ((size_t)len >= room) /* was cut */
			vsnprintf(s->text + s->len, (size_t)len + 1, fmt, again);
		s->len += (size_t)len;
	}
	va_end(again);
	if (s->cap)
		s->text[s->len] = '\0';
}

void coati_strbuf_printf(struct strbuf *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(s, fmt, ap);
	va_end(ap);
}

void coati_strbuf_grouped(struct strbuf *s, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			coati_strbuf_addc(s, ',');
		coati_strbuf_addc(s, digits[i]);
	}
}

char *coati_strbuf_take(struct strbuf *s)
{
	char *text;

	if (reserve(s, 0) < 0)
		return NULL;
	text = s->text;
	*s = (struct strbuf)STRBUF_INIT(s->max);
	return text;
}

void coati_strbuf_clean(struct strbuf *s, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t done = 0, i = 0;

	while (i < len) {
		size_t n = utf8_printable(p + i, len - i);

		if (n) {
			i += n;
			continue;
		}
		coati_strbuf_add(s, text + done, i - done);
		coati_strbuf_printf(s, "\\x%02x", p[i]);
		done = ++i;
	}
	coati_strbuf_add(s, text + done, len - done);
}
