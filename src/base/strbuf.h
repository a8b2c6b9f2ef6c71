/* SPDX-License-Identifier: MIT */
/*
 * Building text. A strbuf has a ceiling and sticky failure: additions after the first failure do
 * nothing, and one look at the end tells.
 *
 *	struct strbuf s = STRBUF_INIT(64 * 1024);
 *	coati_strbuf_printf(&s, "%s:%s", sys, name);
 *	if (s.failed) ...           -ENOMEM or -E2BIG
 *	use(s.text, s.len);         always terminated, never NULL
 *	coati_strbuf_fini(&s);
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf {
	char *text; /* "" before the first addition */
	size_t len; /* without the terminator */
	size_t cap; /* 0: text is not ours to free */
	size_t max; /* ceiling for len */
	int failed; /* 0, -ENOMEM, -E2BIG; -EINVAL for a format that cannot be printed */
};

extern char coati_strbuf_empty[];
#define STRBUF_INIT(ceiling)                                 \
	{                                                    \
		.text = coati_strbuf_empty, .max = (ceiling) \
	}

void coati_strbuf_fini(struct strbuf *s);
/* Empty it and forget a failure; memory is kept for the next use. */
void coati_strbuf_clear(struct strbuf *s);
char *coati_strbuf_grow(struct strbuf *s, size_t size);
/* Where @size bytes and a terminator may be written; the caller does both and sets len. NULL after
 * a failure. Hot: inline, because JSON is written in pieces of a few bytes (`coati dump --json`
 * took a third longer without). */
static inline char *strbuf_room(struct strbuf *s, size_t size)
{
	return size < s->cap - s->len && !s->failed ? s->text + s->len : coati_strbuf_grow(s, size);
}
void coati_strbuf_add(struct strbuf *s, const void *bytes, size_t len);
void coati_strbuf_adds(struct strbuf *s, const char *text);
void coati_strbuf_addc(struct strbuf *s, char c);
void coati_strbuf_pad(struct strbuf *s, char c, size_t count);
/* Numbers without printf: for what is written by the million.  Hot. */
void coati_strbuf_u64(struct strbuf *s, uint64_t v);
void coati_strbuf_i64(struct strbuf *s, int64_t v);
void coati_strbuf_hex(struct strbuf *s, uint64_t v); /* lower case, nothing in front */
void coati_strbuf_printf(struct strbuf *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void coati_strbuf_vprintf(struct strbuf *s, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* Untrusted text, made safe for a terminal: escape sequences and control characters become \xNN. */
void coati_strbuf_clean(struct strbuf *s, const char *text, size_t len);
/* 1234567 as "1,234,567". */
void coati_strbuf_grouped(struct strbuf *s, uint64_t value);
/* Hand the text over; the strbuf is empty afterwards. NULL after a failure. Free with
 * coati_free(). */
char *coati_strbuf_take(struct strbuf *s);
