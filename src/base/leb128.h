/* SPDX-License-Identifier: MIT */
/*
 * Numbers of variable length, seven bits a byte, low bits first (DWARF's LEB128; our own formats
 * use the unsigned kind). Reading goes through the cursor: a number that does not end, or does not
 * fit 64 bits, sets `bad`. Padding with zero bits is allowed, as assemblers do it.
 */
#pragma once

#include "base/cursor.h"
#include "base/writer.h"

#define LEB128_MAX 10 /* bytes of the longest number without padding */

/* Hot. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	while (c->at < c->end && !c->bad) {
		uint8_t b = *c->at++;
		uint64_t bits = b & 0x7f;

		if (shift < 64)
			v |= bits << shift;
		if ((shift == 63 && bits > 1) || (shift > 63 && bits))
			break;
		if (!(b & 0x80))
			return v;
		shift += shift < 64 ? 7 : 0;
	}
	c->bad = true;
	return 0;
}

/* Hot. */
static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	while (c->at < c->end && !c->bad) {
		uint8_t b = *c->at++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (b & 0x80)
			continue;
		if (shift < 64 && (b & 0x40))
			v |= ~UINT64_C(0) << shift;
		return (int64_t)v;
	}
	c->bad = true;
	return 0;
}

/* Behind the next number. */
static inline void cursor_skip_leb(struct cursor *c)
{
	while (c->at < c->end)
		if (!(*c->at++ & 0x80))
			return;
	c->bad = true;
}

/* Puts a number where there is room for LEB128_MAX bytes; returns the end. Hot. */
static inline uint8_t *uleb_put(uint8_t *at, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static inline void writer_uleb(struct writer *w, uint64_t v)
{
	uint8_t bytes[LEB128_MAX];

	writer_bytes(w, bytes, (size_t)(uleb_put(bytes, v) - bytes));
}
