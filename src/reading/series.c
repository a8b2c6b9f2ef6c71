/* SPDX-License-Identifier: MIT */
/* see reading/series.h */
#include "reading/series.h"

#include <errno.h>

#include "reading/parts.h"
#include "reading/profile.h"

/* Room for an item, and for the tail of the entry. */
static int make_room(struct coati_profile *p, uint32_t number)
{
	while (p->tails.len <= number)
		if (!ARRAY_ADD(&p->tails))
			return -ENOMEM;
	if (p->series.len < p->series.cap)
		return 0;
	if (coati_profile_bytes(p) >= p->max_bytes || p->series.len >= p->series.max) {
		p->over++;
		return -E2BIG;
	}
	if (!ARRAY_ADD(&p->series))
		return -ENOMEM;
	p->series.len--;
	return 0;
}

/* Where the tail of the entry is, unless its bin is later. */
static void put_item(struct coati_profile *p, const struct series_item *item)
{
	struct series_tail *tail = &p->tails.v[item->entry];

	p->series.v[p->series.len++] = *item;
	if (!tail->item || item->bin >= tail->bin)
		*tail = (struct series_tail){ .item = (uint32_t)p->series.len, .bin = item->bin };
}

static void add_item(struct series_item *to, uint64_t count, uint64_t weight)
{
	add_weight(&to->count, count);
	add_weight(&to->weight, weight);
}

int coati_series_add(struct coati_profile *p, uint32_t number, const struct coati_profile_entry *e)
{
	const struct series_tail *tail = number < p->tails.len ? &p->tails.v[number] : NULL;
	int r;

	if (tail && tail->item && tail->bin == e->bin) {
		add_item(&p->series.v[tail->item - 1], e->count, e->weight);
		return 0;
	}
	r = make_room(p, number);
	if (r < 0)
		return r;
	put_item(p,
		 &(struct series_item){
			 .entry = number, .bin = e->bin, .count = e->count, .weight = e->weight });
	return 0;
}

void coati_series_join(struct coati_profile *p)
{
	size_t nr = p->series.len;

	for (size_t i = 0; i < p->tails.len; i++)
		p->tails.v[i] = (struct series_tail){ 0 };
	p->series.len = 0;
	for (size_t i = 0; i < nr; i++) {
		struct series_item item = p->series.v[i];
		const struct series_tail *tail = &p->tails.v[item.entry];

		item.bin /= 2;
		if (tail->item && tail->bin == item.bin)
			add_item(&p->series.v[tail->item - 1], item.count, item.weight);
		else
			put_item(p, &item);
	}
}
