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
#include "base/strbuf.h"

enum column_kind {
	COLUMN_UINT = 0, /* LEB128 */
	COLUMN_DELTA,	 /* the difference from the number before, zigzag, LEB128 */
	COLUMN_REAL,	 /* IEEE double, little endian */
	COLUMN_JSON,	 /* one text */
};

struct column {
	const char *name;
	enum column_kind kind;
	struct strbuf bytes;
	uint64_t count, last;
};

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

void coati_column_real(struct column *c, double v);
/* UINT and DELTA.  Hot. */
void coati_column_put(struct column *c, uint64_t v);
