/* SPDX-License-Identifier: MIT */
/* see heap.h */
#include "live-read/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_rank(const void *a, const void *b)
{
	return comes_first(((const struct waiting *)a)->stream, ((const struct waiting *)b)->stream)
		       ? -1
		       : comes_first(((const struct waiting *)b)->stream,
				     ((const struct waiting *)a)->stream);
}

int coati_trace_heap_put(struct coati_live_reader *t, struct stream *s)
{
	struct waiting new = { s->time, s }, *v;
	size_t at = t->heap.len;

	if (!ARRAY_ADD(&t->heap))
		return -ENOMEM;
	v = t->heap.v;
	s->in_heap = true;
	if (t->heap.len <= FEW) {
		for (; at && comes_first(s, v[at - 1].stream); at--)
			v[at] = v[at - 1];
		v[at] = new;
		t->top = (size_t)(first_of(v, FEW) - v);
		return 0;
	}
	t->top = 0;
	v[at] = new;
	if (t->heap.len == FEW + 1) {
		for (size_t i = t->heap.len / 2; i-- > 0;)
			sift_down(v, t->heap.len, i);
		return 0;
	}
	while (at && earlier(&new, &v[(at - 1) / 2])) {
		v[at] = v[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	v[at] = new;
	return 0;
}

void coati_trace_heap_pop(struct coati_live_reader *t)
{
	struct waiting *v = t->heap.v;
	size_t top = t->top;

	v[top].stream->in_heap = false;
	coati_trace_ahead_free(v[top].stream);
	if (t->heap.len-- > FEW) {
		v[0] = v[t->heap.len];
		sift_down(v, t->heap.len, 0);
		if (t->heap.len == FEW)
			qsort(v, FEW, sizeof(*v), by_rank);
	} else {
		memmove(v + top, v + top + 1, (t->heap.len - top) * sizeof(*v));
		v[t->heap.len].time = UINT64_MAX;
	}
	t->top = t->heap.len <= FEW ? (size_t)(first_of(v, FEW) - v) : 0;
}

int coati_trace_heap_init(struct coati_live_reader *t)
{
	for (size_t i = 0; i < FEW; i++) {
		struct waiting *w = ARRAY_ADD(&t->heap);

		if (!w)
			return -ENOMEM;
		w->time = UINT64_MAX;
	}
	t->heap.len = 0;
	return 0;
}
