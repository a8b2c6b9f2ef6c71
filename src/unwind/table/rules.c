/* SPDX-License-Identifier: MIT */
/* Rules come in, numbers go out; equal rules have equal numbers. */
#include "unwind/table/rules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

static uint32_t slot_for(const struct rules *r, struct table_packed rule)
{
	uint64_t h =
		(rule.rule ^ (uint64_t)(uint32_t)rule.other << 29) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32) & (r->nr_slots - 1);
}

static bool is_equal(struct table_packed a, struct table_packed b)
{
	return a.rule == b.rule && a.other == b.other;
}

static void enter(struct rules *r, uint32_t id)
{
	uint32_t slot = slot_for(r, r->v[id]);

	while (r->slots[slot])
		slot = (slot + 1) & (r->nr_slots - 1);
	r->slots[slot] = id + 1;
}

/* Twice the room; the slots stay half empty. */
static int grow(struct rules *r)
{
	uint32_t cap = r->cap ? r->cap * 2 : 512;
	struct table_packed *v = coati_realloc_array(r->v, cap, sizeof(*v));
	uint32_t *uses, *slots;

	if (!v)
		return -ENOMEM;
	r->v = v;
	uses = coati_realloc_array(r->uses, cap, sizeof(*uses));
	if (!uses)
		return -ENOMEM;
	r->uses = uses;
	slots = coati_alloc_array(cap * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	coati_free(r->slots);
	r->slots = slots;
	r->nr_slots = cap * 2;
	r->cap = cap;
	for (uint32_t i = 0; i < r->len; i++)
		enter(r, i);
	return 0;
}

static int64_t add(struct rules *r, struct table_packed rule)
{
	int ret;

	if (r->len == r->cap) {
		ret = grow(r);
		if (ret < 0)
			return ret;
	}
	r->v[r->len] = rule;
	r->uses[r->len] = 1;
	enter(r, r->len);
	return r->len++;
}

int coati_rules_init(struct rules *r)
{
	int64_t id;

	*r = (struct rules){ 0 };
	id = add(r, (struct table_packed){ .rule = TABLE_CFA_GAP });
	if (id >= 0)
		id = add(r, (struct table_packed){ .rule = TABLE_CFA_UNSUPPORTED });
	if (id < 0)
		coati_rules_fini(r);
	return id < 0 ? (int)id : 0;
}

void coati_rules_fini(struct rules *r)
{
	coati_free(r->v);
	coati_free(r->uses);
	coati_free(r->slots);
	*r = (struct rules){ 0 };
}

int64_t coati_rules_get(struct rules *r, struct table_packed rule)
{
	uint32_t slot = slot_for(r, rule);

	for (; r->slots[slot]; slot = (slot + 1) & (r->nr_slots - 1)) {
		uint32_t id = r->slots[slot] - 1;

		if (is_equal(r->v[id], rule)) {
			r->uses[id]++;
			return id;
		}
	}
	if (r->len == TABLE_RULES_MAX)
		return 1; /* unsupported */
	return add(r, rule);
}

struct use {
	uint32_t uses, id;
};

static int by_use(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses < y->uses ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int coati_rules_sort(const struct rules *r, uint32_t *ret_map, uint32_t *ret_order)
{
	struct use *u = coati_alloc_array(r->len, sizeof(*u));

	if (!u)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->len; i++)
		u[i] = (struct use){ .uses = i ? r->uses[i] : UINT32_MAX, .id = i };
	u[0].uses = UINT32_MAX;
	qsort(u + 1, r->len - 1, sizeof(*u), by_use);
	for (uint32_t i = 0; i < r->len; i++) {
		ret_order[i] = u[i].id;
		ret_map[u[i].id] = i;
	}
	coati_free(u);
	return 0;
}
