/* SPDX-License-Identifier: MIT */
/*
 * RowBinary, ClickHouse's format for rows: little-endian numbers one behind the other, texts and
 * arrays with their length as LEB128 in front. Written into a strbuf; read by a cursor.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/cursor.h"
#include "base/leb128.h"
#include "base/strbuf.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "RowBinary is little-endian, and so are the machines that coati runs on"
#endif

static inline void row_size(struct strbuf *s, uint64_t v)
{
	uint8_t bytes[LEB128_MAX];

	coati_strbuf_add(s, bytes, (size_t)(uleb_put(bytes, v) - bytes));
}

static inline void row_u8(struct strbuf *s, uint8_t v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

static inline void row_u32(struct strbuf *s, uint32_t v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

static inline void row_u64(struct strbuf *s, uint64_t v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

static inline void row_double(struct strbuf *s, double v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

static inline void row_bytes(struct strbuf *s, const void *bytes, size_t len)
{
	row_size(s, len);
	coati_strbuf_add(s, bytes, len);
}

static inline void row_text(struct strbuf *s, const char *text)
{
	row_bytes(s, text, strlen(text));
}

/* A length that what is left could hold, @least bytes for each thing; bad otherwise. */
static inline uint64_t row_read_size(struct cursor *c, size_t least)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 63; shift += 7) {
		uint8_t byte = cursor_u8(c);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (v > cursor_left(c) / (least ? least : 1))
				c->bad = true;
			return c->bad ? 0 : v;
		}
	}
	c->bad = true;
	return 0;
}

/* A text, not terminated. */
static inline const char *row_read_text(struct cursor *c, size_t *ret_len)
{
	uint64_t len = row_read_size(c, 1);
	const char *text = cursor_bytes(c, len);

	*ret_len = text ? len : 0;
	return text;
}
