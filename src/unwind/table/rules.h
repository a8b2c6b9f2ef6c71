/* SPDX-License-Identifier: MIT */
/*
 * The distinct rules of one table while it is made: a rule to its number, with a count of its uses.
 * Rule 0 is the gap. After TABLE_RULES_MAX - 1 different ones (only made-up files have them)
 * everything new is "unsupported".
 */
#pragma once

#include "unwind/table/table.h"

struct rules {
	struct table_packed *v;
	uint32_t *uses;
	uint32_t len, cap;
	uint32_t *slots; /* open addressing: number + 1 */
	uint32_t nr_slots;
	uint32_t last; /* what was found last */
};

/* 0 or -ENOMEM. */
int coati_rules_init(struct rules *r);
void coati_rules_fini(struct rules *r);
/* The number of @rule, added when it is new; -ENOMEM.  Hot. */
int64_t coati_rules_get(struct rules *r, struct table_packed rule);
/* New numbers by falling use, so that the hot ones share cache lines (0 stays): @ret_map[old] =
 * new, @ret_order[new] = old. Both have r->len elements. 0 or -ENOMEM. */
int coati_rules_sort(const struct rules *r, uint32_t *ret_map, uint32_t *ret_order);
