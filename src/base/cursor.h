/* SPDX-License-Identifier: MIT */
/*
 * Reading foreign bytes. A cursor never reads past its end: such a read gives zero and sets `bad`,
 * which stays set; a decoder checks it once at its end, and before any loop whose bound it read.
 *
 *	struct cursor c = cursor_over(body, size);
 *	uint64_t id = cursor_u64(&c);
 *	uint64_t count = cursor_u64(&c);
 *	if (c.bad)
 *		return -EBADMSG;
 *
 * One read per statement: C leaves the order inside an initializer or argument list open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool swap; /* the bytes have the other byte order */
	bool bad;  /* something was read past the end */
};

static inline struct cursor cursor_over(const void *bytes, size_t size)
{
	/* no bytes are somewhere, too: arithmetic on NULL is undefined */
	const uint8_t *p = bytes ? bytes : (const void *)"";

	return (struct cursor){ .at = p, .end = p + (bytes ? size : 0) };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* A view of the next @size bytes, or NULL (and bad) when there are fewer. */
static inline const void *cursor_bytes(struct cursor *c, size_t size)
{
	const uint8_t *p = c->at;

	if (c->bad || size > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += size;
	return p;
}

static inline void cursor_skip(struct cursor *c, size_t size)
{
	(void)cursor_bytes(c, size);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

#define CURSOR_READ_(bits)                                               \
	static inline uint##bits##_t cursor_u##bits(struct cursor *c)    \
	{                                                                \
		const void *p = cursor_bytes(c, sizeof(uint##bits##_t)); \
		uint##bits##_t v = 0;                                    \
                                                                         \
		if (p)                                                   \
			memcpy(&v, p, sizeof(v));                        \
		return c->swap ? __builtin_bswap##bits(v) : v;           \
	}
CURSOR_READ_(16)
CURSOR_READ_(32)
CURSOR_READ_(64)
#undef CURSOR_READ_

/* A terminated string inside the next @size bytes (all of them are consumed); NULL and bad when no
 * terminator is there. */
static inline const char *cursor_text(struct cursor *c, size_t size)
{
	const char *p = cursor_bytes(c, size);

	if (p && !memchr(p, 0, size)) {
		c->bad = true;
		return NULL;
	}
	return p;
}

/* A cursor over the next @size bytes, same byte order; bad when there are fewer. */
static inline struct cursor cursor_sub(struct cursor *c, size_t size)
{
	const void *p = cursor_bytes(c, size);
	struct cursor sub = cursor_over(p, p ? size : 0);

	sub.swap = c->swap;
	sub.bad = c->bad;
	return sub;
}
