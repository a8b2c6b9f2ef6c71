/* SPDX-License-Identifier: MIT */
/* see live-runs.h */
#include "format/live-runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/live-events.h"

#define RUN_ITEMS  ((size_t)1 << 15)
#define RUN_PLACES (2 * RUN_ITEMS) /* those that came later than that are sorted apart */
#define RUN_ARGS   ((size_t)4 << 20)
#define ARGS_MAX   ((size_t)1 << 30)
#define RUNS_MAX   ((size_t)1 << 24)
#define MOVES_EACH 4 /* places that items may move by, on average */

int coati_live_compare(const void *a, const void *b)
{
	const struct live_item *x = a, *y = b;
	bool x_is_state = x->kind == ITEM_STATE, y_is_state = y->kind == ITEM_STATE;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	/* regions lie in each other; states of a resource follow each other, however short */
	if (x_is_state != y_is_state)
		return x_is_state ? 1 : -1;
	if (!x_is_state && x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- runs ---- */

void coati_runs_init(struct live_runs *r)
{
	*r = (struct live_runs){ .items.max = RUN_ITEMS, .runs.max = RUNS_MAX };
	coati_arena_init(&r->args, ARGS_MAX);
}

void coati_runs_fini(struct live_runs *r)
{
	for (size_t i = 0; i < r->runs.len; i++)
		coati_pack_fini(&r->runs.v[i].pack);
	ARRAY_FINI(&r->runs);
	ARRAY_FINI(&r->items);
	coati_arena_fini(&r->args);
	coati_free(r->places);
	r->places = NULL;
}

/* What is not moves a little. Data that is far from the order is sorted as anything. */
static void sort(struct live_item *v, size_t nr)
{
	size_t room = MOVES_EACH * nr;
	struct live_item moved;

	for (size_t i = 1; i < nr; i++) {
		size_t at = i;

		if (coati_live_compare(&v[i - 1], &v[i]) <= 0)
			continue;
		moved = v[i];
		for (; at && room && coati_live_compare(&v[at - 1], &moved) > 0; at--, room--)
			v[at] = v[at - 1];
		v[at] = moved;
		if (!room) {
			qsort(v, nr, sizeof(*v), coati_live_compare);
			return;
		}
	}
}

/* Back into the order in which they began to come, which is nearly that of their begin. */
static void arrange(struct live_item *v, size_t nr, struct live_item *room, uint32_t *places)
{
	uint32_t most = 0, least;
	size_t early = 0;

	for (size_t i = 0; i < nr; i++)
		most = v[i].order > most ? v[i].order : most;
	least = most >= RUN_PLACES ? most - (uint32_t)RUN_PLACES + 1 : 0;
	memset(places, 0, RUN_PLACES * sizeof(*places));
	for (size_t i = 0; i < nr; i++) {
		if (v[i].order < least)
			room[early++] = v[i];
		else
			places[v[i].order - least] = (uint32_t)i + 1;
	}
	qsort(room, early, sizeof(*room), coati_live_compare);
	for (size_t i = 0; i < RUN_PLACES; i++)
		if (places[i])
			room[early++] = v[places[i] - 1];
}

static int pack_run(struct live_runs *r)
{
	size_t nr = r->items.len;
	struct live_item *sorted = coati_realloc_array(NULL, nr + 1, sizeof(*sorted));
	struct live_run *run = sorted ? ARRAY_ADD(&r->runs) : NULL;
	int n = run ? 0 : -ENOMEM;

	if (!r->places)
		r->places = coati_realloc_array(NULL, RUN_PLACES, sizeof(*r->places));
	if (!r->places)
		n = -ENOMEM;
	if (n == 0) {
		arrange(r->items.v, nr, sorted, r->places);
		sort(sorted, nr);
		run->first = sorted->begin;
	}
	for (size_t i = 0; n == 0 && i < nr; i++)
		n = coati_pack_add(&run->pack, &sorted[i]);
	coati_free(sorted);
	r->items.len = 0;
	coati_arena_fini(&r->args);
	coati_arena_init(&r->args, ARGS_MAX);
	return n;
}

int coati_runs_add(struct live_runs *r, const struct live_item *i)
{
	struct live_item *slot = ARRAY_ADD(&r->items);

	if (!slot)
		return -ENOMEM;
	*slot = *i;
	if (i->nr_args) {
		struct live_arg *copy = coati_arena_alloc(&r->args, i->nr_args * sizeof(*copy));

		if (!copy) {
			r->items.len--;
			return -ENOMEM;
		}
		memcpy(copy, i->args, i->nr_args * sizeof(*copy));
		slot->args = copy;
	}
	return r->items.len == RUN_ITEMS || r->args.used_bytes > RUN_ARGS ? pack_run(r) : 0;
}

static int by_first(const void *a, const void *b)
{
	const struct live_run *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

int coati_runs_end(struct live_runs *r)
{
	int n = r->items.len ? pack_run(r) : 0;

	ARRAY_FINI(&r->items);
	coati_free(r->places);
	r->places = NULL;
	if (n == 0 && r->runs.len)
		qsort(r->runs.v, r->runs.len, sizeof(*r->runs.v), by_first);
	return n;
}

/* ---- all of them ---- */

struct merge_head {
	struct live_item item;
	struct live_unpack from;
};

static bool comes_first(const struct merge_head *a, const struct merge_head *b)
{
	return coati_live_compare(&a->item, &b->item) < 0;
}

static void sift_down(struct live_merge *m)
{
	struct merge_head **v = m->heads.v, *moved = v[0];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->heads.len)
			break;
		if (child + 1 < m->heads.len && comes_first(v[child + 1], v[child]))
			child++;
		if (!comes_first(v[child], moved))
			break;
		v[at] = v[child];
		at = child;
	}
	v[at] = moved;
}

static void sift_up(struct live_merge *m)
{
	struct merge_head **v = m->heads.v, *moved = v[m->heads.len - 1];
	size_t at = m->heads.len - 1;

	for (; at && comes_first(moved, v[(at - 1) / 2]); at = (at - 1) / 2)
		v[at] = v[(at - 1) / 2];
	v[at] = moved;
}

static void free_head(struct merge_head *h)
{
	coati_unpack_fini(&h->from);
	coati_free(h);
}

static int open_run(struct live_merge *m, struct live_run *run)
{
	struct merge_head *h = coati_alloc(sizeof(*h)), **slot;

	if (!h)
		return -ENOMEM;
	coati_unpack_consume(&h->from, &run->pack, m->sites);
	slot = coati_unpack_next(&h->from, &h->item) ? ARRAY_ADD(&m->heads) : NULL;
	if (!slot) {
		free_head(h);
		return -ENOMEM;
	}
	*slot = h;
	sift_up(m);
	return 0;
}

/* Those that begin before what is on top, or with it. */
static void open_runs(struct live_merge *m)
{
	const struct live_runs *r = m->runs;

	while (!m->failed && m->next < r->runs.len &&
	       (!m->heads.len || r->runs.v[m->next].first <= m->heads.v[0]->item.begin))
		m->failed = open_run(m, &r->runs.v[m->next++]) < 0;
}

static void pass_top(struct live_merge *m)
{
	struct merge_head *top = m->heads.v[0];

	if (!coati_unpack_next(&top->from, &top->item)) {
		m->failed |= top->from.failed;
		free_head(top);
		m->heads.v[0] = m->heads.v[--m->heads.len];
	}
	if (m->heads.len)
		sift_down(m);
}

int coati_merge_init(struct live_merge *m, struct live_runs *r, struct live_site *const *sites)
{
	*m = (struct live_merge){ .runs = r, .sites = sites, .heads.max = RUNS_MAX };
	open_runs(m);
	return m->failed ? -ENOMEM : 0;
}

void coati_merge_fini(struct live_merge *m)
{
	for (size_t i = 0; i < m->heads.len; i++)
		free_head(m->heads.v[i]);
	ARRAY_FINI(&m->heads);
}

const struct live_item *coati_merge_next(struct live_merge *m)
{
	if (m->is_taken)
		pass_top(m);
	m->is_taken = false;
	open_runs(m);
	if (m->failed || !m->heads.len)
		return NULL;
	m->is_taken = true;
	return &m->heads.v[0]->item;
}
