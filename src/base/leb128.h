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

static inline void writer_uleb(struct writer *w, uint64_t v)
{
	do {
		uint8_t more = v > 0x7f ? 0x80 : 0;

		writer_u8(w, (uint8_t)((v & 0x7f) | more));
		v >>= 7;
	} while (v);
}
