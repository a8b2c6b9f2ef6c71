/* SPDX-License-Identifier: MIT */
/* A binary heap of things with a time: the least time on top, equal times in the order in which
 * they were put in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	uint64_t time, order;
	void *what;
};

struct heap {
	struct heap_entry *v;
	size_t len, cap, max;
	uint64_t order;
};

static inline struct heap_entry *heap_top(const struct heap *h)
{
	return h->len ? &h->v[0] : NULL;
}

/* 0, -ENOMEM (also over the ceiling h->max). */
int coati_heap_put(struct heap *h, uint64_t time, void *what);
/* Removes the top; there must be one. */
void coati_heap_pop(struct heap *h);
/* Room for @nr entries: putting so many cannot fail. */
int coati_heap_reserve(struct heap *h, size_t nr);
/* Takes every entry of @what out, wherever it is. */
void coati_heap_remove(struct heap *h, const void *what);
void coati_heap_fini(struct heap *h);
