/* SPDX-License-Identifier: MIT */
/* A list that is sorted when it is asked, or has doubled: adding costs little, and repeated entries
 * take no space. */
#include "image/versions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

#define TIDY_MIN 256

void coati_versions_init(struct versions *v, size_t max)
{
	*v = (struct versions){ .list.max = max };
}

void coati_versions_fini(struct versions *v)
{
	ARRAY_FINI(&v->list);
	v->nr_sorted = 0;
}

int coati_version_compare(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_place_and_order(const void *a, const void *b)
{
	const struct version *x = a, *y = b;
	int order = coati_version_compare(x, y);

	return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* Sorted, and of each address and time the last. */
static void tidy(struct versions *v)
{
	size_t kept = 0;

	if (v->nr_sorted == v->list.len)
		return;
	for (size_t i = 0; i < v->list.len; i++)
		v->list.v[i].order = i;
	qsort(v->list.v, v->list.len, sizeof(*v->list.v), by_place_and_order);
	for (size_t i = 0; i < v->list.len; i++)
		if (i + 1 == v->list.len ||
		    coati_version_compare(&v->list.v[i], &v->list.v[i + 1]) != 0)
			v->list.v[kept++] = v->list.v[i];
	v->list.len = v->nr_sorted = kept;
}

int coati_versions_add(struct versions *v, const struct version *new)
{
	struct version *place;

	if (v->list.len > 2 * v->nr_sorted + TIDY_MIN)
		tidy(v);
	if (v->list.len >= v->list.max)
		return 0;
	place = ARRAY_ADD(&v->list);
	if (!place)
		return -ENOMEM;
	*place = *new;
	return 0;
}

const struct version *coati_versions_find(struct versions *v, uint64_t vaddr, uint64_t time,
					  uint64_t *ret_from, uint64_t *ret_last)
{
	struct version wanted = { .vaddr = vaddr, .from = time };
	const struct version *found = NULL, *list;
	size_t low = 0, high;

	*ret_from = 0;
	*ret_last = UINT64_MAX;
	list = coati_versions_all(v, &high);
	if (high >= v->list.max)
		return NULL;
	low = SEARCH(mid, low, high, coati_version_compare(&list[mid], &wanted) <= 0);
	if (low && list[low - 1].vaddr == vaddr) {
		found = &list[low - 1];
		*ret_from = found->from;
	}
	/* later than @time, so above 0 */
	if (low < v->list.len && list[low].vaddr == vaddr)
		*ret_last = list[low].from - 1;
	return found;
}

const struct version *coati_versions_all(struct versions *v, size_t *ret_nr)
{
	tidy(v);
	*ret_nr = v->list.len;
	return v->list.v;
}
