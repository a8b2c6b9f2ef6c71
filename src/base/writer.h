/* SPDX-License-Identifier: MIT */
/*
 * The mirror of the cursor: writing bytes into a caller's buffer with sticky failure. `len` keeps
 * growing past the end, so that a dry run over an empty buffer measures.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct writer {
	uint8_t *start;
	size_t cap;
	size_t len; /* bytes wanted so far; more than cap when full */
	bool swap;  /* write the other byte order */
	bool full;  /* something did not fit; nothing is written any more */
};

static inline struct writer writer_over(void *bytes, size_t cap)
{
	return (struct writer){ .start = bytes, .cap = bytes ? cap : 0 };
}

static inline void writer_bytes(struct writer *w, const void *bytes, size_t size)
{
	if (w->full || size > w->cap - w->len)
		w->full = true;
	else if (size)
		memcpy(w->start + w->len, bytes, size);
	w->len += size;
}

static inline void writer_zeros(struct writer *w, size_t size)
{
	if (w->full || size > w->cap - w->len)
		w->full = true;
	else if (size)
		memset(w->start + w->len, 0, size);
	w->len += size;
}

static inline void writer_u8(struct writer *w, uint8_t v)
{
	writer_bytes(w, &v, 1);
}

#define WRITER_WRITE_(bits)                                                   \
	static inline void writer_u##bits(struct writer *w, uint##bits##_t v) \
	{                                                                     \
		if (w->swap)                                                  \
			v = __builtin_bswap##bits(v);                         \
		writer_bytes(w, &v, sizeof(v));                               \
	}
WRITER_WRITE_(16)
WRITER_WRITE_(32)
WRITER_WRITE_(64)
#undef WRITER_WRITE_

/* Text with its terminator, zero-padded to a multiple of @align (a power of two). */
static inline void writer_text(struct writer *w, const char *text, size_t align)
{
	size_t size = strlen(text) + 1;

	writer_bytes(w, text, size);
	writer_zeros(w, (align - (size & (align - 1))) & (align - 1));
}
