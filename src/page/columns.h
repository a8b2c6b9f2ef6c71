/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a page's data: named columns of numbers, and texts as JSON. docs/formats/page.md has
 * them byte by byte. Failure is sticky; one look at the end tells.
 *
 *	struct columns c = { 0 };
 *	struct column *time = coati_columns_add(&c, "s.time", COLUMN_DELTA);
 *	column_put(time, 12);
 *	coati_columns_join(&c, &bytes);
 *	coati_columns_fini(&c);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/leb128.h"
#include "base/strbuf.h"

enum column_kind {
	COLUMN_UINT = 0, /* LEB128 */
	COLUMN_DELTA,	 /* the difference from the number before, zigzag, LEB128 */
	COLUMN_REAL,	 /* IEEE double, little endian */
	COLUMN_JSON,	 /* one text */
	/* LEB128 of twice the number, plus 1 where it stands for several in a row: then their
	 * count follows */
	COLUMN_RUNS,
};

#define COLUMN_BYTES_MAX ((size_t)1 << 30)

struct column {
	const char *name;
	enum column_kind kind;
	struct strbuf bytes;
	uint64_t count, last;
	uint64_t run; /* RUNS: how many of @last are not in @bytes yet */
};
#define COLUMN_INIT(of_kind)                                               \
	{                                                                  \
		.kind = (of_kind), .bytes = STRBUF_INIT(COLUMN_BYTES_MAX), \
	}

struct columns {
	ARRAY(struct column *) v;
	struct column spare; /* takes what there is no memory for */
	int failed;
};

/* A new column, never NULL. It lives until coati_columns_fini(). */
struct column *coati_columns_add(struct columns *c, const char *name, enum column_kind kind);
/* All of them behind @ret. 0, -ENOMEM, -E2BIG. */
int coati_columns_join(struct columns *c, struct strbuf *ret);
void coati_columns_fini(struct columns *c);

/* The same with what @from holds, of which nothing is left: it was filled before there was a place
 * for it. */
void coati_columns_move(struct columns *c, const char *name, struct column *from);

void coati_column_real(struct column *c, double v);
/* Behind the last number of a column: all of them are in the bytes. */
void coati_column_end(struct column *c);
/* UINT, DELTA and RUNS. */
void coati_column_put(struct column *c, uint64_t v);

/* ---- for those who put by the million ---- */

/* The bytes of one number; there is room for COLUMN_NUMBER_MAX. Their end. Hot. */
#define COLUMN_NUMBER_MAX (2 * LEB128_MAX)

static inline uint8_t *column_delta(uint8_t *to, uint64_t *last, uint64_t v)
{
	int64_t step = (int64_t)(v - *last);

	*last = v;
	return uleb_put(to, (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
}

/* Twice the number may have 65 bits: its lowest seven are put by themselves. */
static inline uint8_t *column_run(uint8_t *to, uint64_t v, uint64_t run)
{
	uint64_t more = v >> 6;

	*to++ = (uint8_t)((more ? 0x80 : 0) | (v & 0x3f) << 1 | (run > 1));
	if (more)
		to = uleb_put(to, more);
	return run > 1 ? uleb_put(to, run) : to;
}

/* Room for that many @numbers; column_filled() tells how much of it was used. NULL: no memory. */
static inline uint8_t *column_room(struct column *c, size_t numbers)
{
	return (uint8_t *)strbuf_room(&c->bytes, numbers * COLUMN_NUMBER_MAX);
}

static inline void column_filled(struct column *c, const uint8_t *end)
{
	c->bytes.len = (size_t)(end - (const uint8_t *)c->bytes.text);
	c->bytes.text[c->bytes.len] = '\0';
}

static inline void column_put_uint(struct column *c, uint64_t v)
{
	uint8_t *to = column_room(c, 1);

	c->count++;
	if (to)
		column_filled(c, uleb_put(to, v));
}

static inline void column_put_delta(struct column *c, uint64_t v)
{
	uint8_t *to = column_room(c, 1);

	c->count++;
	if (to)
		column_filled(c, column_delta(to, &c->last, v));
}

static inline void column_put_run(struct column *c, uint64_t v)
{
	if (v != c->last) {
		coati_column_end(c);
		c->last = v;
	}
	c->run++;
	c->count++;
}

/* The numbers of a column that has ended, one after the other. */
struct column_reader {
	struct cursor at;
	enum column_kind kind;
	uint64_t last, run;
};

static inline struct column_reader column_read(const struct column *c)
{
	return (struct column_reader){ .at = cursor_over(c->bytes.text, c->bytes.len),
				       .kind = c->kind };
}

/* RUNS: on to the next. */
void coati_column_read_run(struct column_reader *r);

/* Hot. */
static inline uint64_t column_next(struct column_reader *r)
{
	uint64_t v;

	if (r->kind == COLUMN_RUNS) {
		if (!r->run)
			coati_column_read_run(r);
		r->run--;
		return r->last;
	}
	v = cursor_uleb(&r->at);
	return r->kind == COLUMN_DELTA ? (r->last += v >> 1 ^ -(v & 1)) : v;
}

/* RUNS: all that are the same, but not more than @most, which is not 0. */
static inline uint64_t column_next_run(struct column_reader *r, uint64_t most, uint64_t *ret_nr)
{
	uint64_t v = column_next(r);

	*ret_nr = 1 + (r->run < most ? r->run : most - 1);
	r->run -= *ret_nr - 1;
	return v;
}
