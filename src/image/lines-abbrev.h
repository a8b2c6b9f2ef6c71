/* SPDX-License-Identifier: MIT */
/*
 * Abbreviation tables of DWARF: which attributes an entry has, in which form, and how to step over
 * all of them at once. Most entries of a unit are stepped over, so that each abbreviation carries a
 * short list of steps with neighboring fixed sizes joined.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/map.h"

#define ABBREVS_MAX	 (256u << 10) /* of one table */
#define ABBREV_ATTRS_MAX 256	      /* of one entry; compilers stay below 40 */
#define ABBREV_SLOTS	 64
#define ABBREV_BUILT_MAX (UINT64_C(64) << 20)

enum abbrev_step_kind {
	STEP_BYTES, /* that many */
	STEP_LEB,
	STEP_STRING,
	STEP_BLOCK1, /* a length of 1, 2, 4 bytes or LEB128, and that many bytes */
	STEP_BLOCK2,
	STEP_BLOCK4,
	STEP_BLOCK,
	STEP_INDIRECT, /* the form comes with the value */
	STEP_UNKNOWN,  /* no way past it */
};

struct abbrev_step {
	uint8_t kind;
	uint16_t bytes;
};

struct abbrev_attr {
	uint16_t name, form;
	int64_t implicit; /* the value of DW_FORM_implicit_const */
};

struct abbrev {
	uint64_t code;
	uint32_t attrs, steps; /* first of each */
	uint16_t nr_attrs, nr_steps;
	uint16_t tag;
	bool has_children;
	bool has_code; /* a function or an inlined piece with addresses */
};

/* What sizes depend on. */
struct abbrev_key {
	uint64_t offset;
	uint8_t address_size, offset_size, is_version2;
};

struct abbrev_table {
	struct abbrev_key key;
	struct abbrev *v;
	struct abbrev_attr *attrs;
	struct abbrev_step *steps;
	size_t nr, nr_attrs, nr_steps;
	struct map by_code; /* those whose code is not their place + 1 */
};

struct abbrev_cache {
	struct abbrev_table *slots[ABBREV_SLOTS];
	/* attributes read in all: tables that push each other out have an end, too */
	uint64_t built;
};

/* The table for @key out of @bytes (.debug_abbrev from key->offset on); lives until the next call.
 * -EBADMSG, -ENOMEM. */
int coati_abbrevs_get(struct abbrev_cache *cache, const struct abbrev_key *key, struct cursor bytes,
		      const struct abbrev_table **ret);
void coati_abbrevs_fini(struct abbrev_cache *cache);

/* The step over a value of @form. */
struct abbrev_step coati_form_step(const struct abbrev_key *key, uint64_t form);
/* Take a step that is not STEP_BYTES. */
void coati_step_take(const struct abbrev_key *key, struct abbrev_step step, struct cursor *c);

/* NULL: no such code.  Hot. */
static inline const struct abbrev *abbrev_find(const struct abbrev_table *t, uint64_t code)
{
	uint64_t i;

	if (code - 1 < t->nr && t->v[code - 1].code == code)
		return &t->v[code - 1];
	return coati_map_get(&t->by_code, code, &i) ? &t->v[i] : NULL;
}

/* Over all values of an entry.  Hot. */
static inline void abbrev_skip(const struct abbrev_table *t, const struct abbrev *a,
			       struct cursor *c)
{
	for (unsigned int i = 0; i < a->nr_steps; i++) {
		const struct abbrev_step *s = &t->steps[a->steps + i];

		if (s->kind == STEP_BYTES)
			cursor_skip(c, s->bytes);
		else
			coati_step_take(&t->key, *s, c);
	}
}
