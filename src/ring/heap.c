/* SPDX-License-Identifier: MIT */
/* The heap of the merge: an array in which every entry is not later than its two children. */
#include "ring/heap.h"

#include <errno.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/array.h"

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

int coati_heap_put(struct heap *h, uint64_t time, void *what)
{
	struct heap_entry entry = { time, h->order++, what };
	size_t i = h->len;

	if (!ARRAY_ADD(h))
		return -ENOMEM;
	for (; i && before(&entry, &h->v[(i - 1) / 2]); i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = entry;
	return 0;
}

void coati_heap_pop(struct heap *h)
{
	struct heap_entry last = h->v[--h->len];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->len) {
		if (child + 1 < h->len && before(&h->v[child + 1], &h->v[child]))
			child++;
		if (!before(&h->v[child], &last))
			break;
		h->v[i] = h->v[child];
		i = child;
	}
	if (h->len)
		h->v[i] = last;
}

int coati_heap_reserve(struct heap *h, size_t nr)
{
	struct heap_entry *v;

	if (nr <= h->cap)
		return 0;
	v = nr <= h->max ? coati_realloc_array(h->v, nr, sizeof(*v)) : NULL;
	if (!v)
		return -ENOMEM;
	h->v = v;
	h->cap = nr;
	return 0;
}

void coati_heap_remove(struct heap *h, const void *what)
{
	size_t len = h->len;

	/* Put all others in again: the part that is a heap again never reaches the one that is
	 * read. */
	h->len = 0;
	for (size_t i = 0; i < len; i++)
		if (h->v[i].what != what)
			(void)coati_heap_put(h, h->v[i].time, h->v[i].what);
}

void coati_heap_fini(struct heap *h)
{
	ARRAY_FINI(h);
}
