/* SPDX-License-Identifier: MIT */
/*
 * The table of formats from inside, for those who go through all records of a recording: what they
 * ask for each record is answered without a call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>

#include "base/array.h"
#include "base/map.h"
#include "record/raw-word.h"
#include "record/record.h"

struct coati_format_table {
	ARRAY(struct coati_sample_format) formats;
	struct map ids;
	/* Positions that all events agree on; id_pos and id_end are -1 where they do not. */
	struct coati_sample_format common;
};

/* Events that were found by their ids, which are few and come again and again. An id that belongs
 * to an event belongs to it for good. */
#define LOCATOR_SLOTS 64 /* a power of two: ids are numbered one after the other */

struct locator {
	struct {
		uint64_t id; /* 0: empty */
		uint32_t event;
	} slots[LOCATOR_SLOTS];
};

/* NULL: there is no such event.  Hot. */
static inline const struct coati_sample_format *format_table_get(const struct coati_format_table *t,
								 uint32_t index)
{
	return index < t->formats.len ? &t->formats.v[index] : NULL;
}

/* The event of one of several, where its id was met before.  Hot. */
static inline bool locator_knows(const struct locator *l, const struct coati_format_table *t,
				 const struct coati_raw *raw, uint64_t *ret_id, uint32_t *ret_index)
{
	if (!raw_word(raw, t->common.id_pos, t->common.id_end, ret_id) || !*ret_id ||
	    l->slots[*ret_id % LOCATOR_SLOTS].id != *ret_id)
		return false;
	*ret_index = l->slots[*ret_id % LOCATOR_SLOTS].event;
	return true;
}

/* As coati_format_table_locate(). Hot. */
static inline int locator_find(struct locator *l, const struct coati_format_table *t,
			       const struct coati_raw *raw, uint32_t *ret_index, uint64_t *ret_time)
{
	const struct coati_sample_format *fmt;
	uint64_t id = 0;
	int r;

	*ret_index = 0;
	if (t->formats.len != 1 && !locator_knows(l, t, raw, &id, ret_index)) {
		r = coati_format_table_locate(t, raw, ret_index, ret_time);
		if (r == 0 && id) {
			l->slots[id % LOCATOR_SLOTS].id = id;
			l->slots[id % LOCATOR_SLOTS].event = *ret_index;
		}
		return r;
	}
	fmt = &t->formats.v[*ret_index];
	*ret_time = 0;
	(void)raw_word(raw, fmt->time_pos, fmt->time_end, ret_time);
	return 0;
}
