/* SPDX-License-Identifier: MIT */
/*
 * Instances of a comparison out of what a summary kept (kept.h), in the order that a timeline has
 * them which keeps everything: tasks as they began, regions by thread and time. Which task a region
 * belongs to is known when all is read.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/kept.h"
#include "trace/why.h"

#define NONE COATI_TIMELINE_NONE

static int by_place(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

static int add_instance(struct comparison *c, const struct kept_instance *in, uint32_t row)
{
	struct instance *new = ARRAY_ADD(&c->list);

	if (!new)
		return -ENOMEM;
	*new = (struct instance){ .begin = in->begin,
				  .end = in->end,
				  .number = in->thread == NONE ? in->number : NONE,
				  .thread = in->thread,
				  .row = row };
	return 0;
}

int coati_why_gather_kept(struct comparison *c)
{
	const struct kept *k = c->t->kept;
	bool is_region = c->t->types.v[c->type].is_region;
	struct kept_pos pos = { 0 };
	struct kept_instance in;
	int r = 0;

	c->rows = coati_alloc_array(k->logs[is_region].nr + 1, sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	for (uint32_t row = 0; r == 0 && coati_kept_next(k, is_region, &pos, &in); row++) {
		c->rows[row] = NONE;
		if (why_is_whole(in.flags))
			r = add_instance(c, &in, row);
	}
	if (r == 0 && c->list.len)
		qsort(c->list.v, c->list.len, sizeof(*c->list.v), by_place);
	for (size_t i = 0; r == 0 && i < c->list.len; i++)
		c->rows[c->list.v[i].row] = (uint32_t)i;
	return r;
}

void coati_why_fill_kept(struct comparison *c)
{
	struct kept_pos pos = { 0 };
	struct kept_instance in;

	for (uint32_t row = 0;
	     coati_kept_next(c->t->kept, c->t->types.v[c->type].is_region, &pos, &in); row++)
		if (c->rows[row] != NONE)
			coati_why_set(c, c->rows[row], &in.ledger);
}

/* ---- regions ---- */

/* What of the regions of a type comes first where all of them are sorted by thread and time. */
struct first {
	struct kept_region g;
	uint32_t column; /* and 1; 0: none */
	bool is_there;
};

/* Walks over regions inside of instances. */
struct walk {
	struct kept_pos pos;
	struct kept_region g;
	uint32_t instance;
	size_t *near; /* by thread: the mark that was found last */
};

static uint32_t work_at(const struct thread *th, uint64_t time, size_t *near)
{
	const struct mark *m = th->works.v;
	size_t i = *near;

	if (i >= th->works.len || m[i].time > time ||
	    (i + 1 < th->works.len && m[i + 1].time <= time))
		i = coati_timeline_mark_at(m, th->works.len, time);
	if (i == SIZE_MAX)
		return NONE;
	*near = i;
	return m[i].task;
}

static bool next(const struct comparison *c, struct walk *w)
{
	while (coati_kept_region_next(c->t->kept, &w->pos, &w->g)) {
		uint32_t task =
			work_at(&c->t->threads.v[w->g.thread], w->g.begin, &w->near[w->g.thread]);

		if (task != NONE && why_find(c, task, &w->instance))
			return true;
	}
	return false;
}

static bool is_before(const struct kept_region *a, const struct kept_region *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->end != b->end ? a->end > b->end : a->order < b->order;
}

/* The column of the type that comes first of those without one; false: all have one, or there are
 * too many. -ENOMEM. */
static int add_next_column(struct comparison *c, struct first *firsts)
{
	struct first *best = NULL;

	for (size_t i = 0; i < c->t->types.len; i++)
		if (firsts[i].is_there && !firsts[i].column &&
		    (!best || is_before(&firsts[i].g, &best->g)))
			best = &firsts[i];
	if (!best || c->columns.len >= c->columns.max)
		return 0;
	if (!coati_why_add_column(c, COATI_WHY_REGION, 0, c->t->types.v[best->g.type].name))
		return -ENOMEM;
	best->column = (uint32_t)c->columns.len;
	return 1;
}

int coati_why_regions_kept(struct comparison *c)
{
	CLEANUP(freep) struct first *firsts = NULL;
	CLEANUP(freep) size_t *near = NULL;
	struct walk w;
	int r;

	if (c->t->types.v[c->type].is_region)
		return 0;
	firsts = coati_alloc_array(c->t->types.len + 1, sizeof(*firsts));
	near = coati_alloc_array(c->t->threads.len + 1, sizeof(*near));
	if (!firsts || !near)
		return -ENOMEM;
	for (w = (struct walk){ .near = near }; next(c, &w);) {
		struct first *f = &firsts[w.g.type];

		if (!f->is_there || is_before(&w.g, &f->g))
			f->g = w.g;
		f->is_there = true;
	}
	do {
		r = add_next_column(c, firsts);
	} while (r > 0);
	for (w = (struct walk){ .near = near }; r == 0 && next(c, &w);)
		if (firsts[w.g.type].column)
			c->columns.v[firsts[w.g.type].column - 1].v[w.instance] +=
				(double)(w.g.end - w.g.begin);
	return r;
}

/* ---- regions of one task ---- */

static int by_begin(const void *a, const void *b)
{
	const struct kept_region *x = a, *y = b;

	return is_before(x, y) ? -1 : is_before(y, x);
}

struct regions {
	ARRAY(struct kept_region) list;
};

/* All regions of a thread, outer ones first, that overlap what is between the first and the last
 * beginning of those of the task. */
static int gather_around(const struct coati_timeline *t, uint32_t thread, uint32_t task,
			 struct regions *ret)
{
	const struct thread *th = &t->threads.v[thread];
	uint64_t from = UINT64_MAX, to = 0;
	struct kept_region g, *new;
	struct kept_pos pos;
	size_t near = 0;

	for (pos = (struct kept_pos){ 0 }; coati_kept_region_next(t->kept, &pos, &g);)
		if (g.thread == thread && work_at(th, g.begin, &near) == task) {
			from = g.begin < from ? g.begin : from;
			to = g.begin > to ? g.begin : to;
		}
	for (pos = (struct kept_pos){ 0 }; coati_kept_region_next(t->kept, &pos, &g);) {
		if (g.thread != thread || g.begin > to || g.end < from)
			continue;
		new = ARRAY_ADD(&ret->list);
		if (!new)
			return -ENOMEM;
		*new = g;
	}
	if (ret->list.len)
		qsort(ret->list.v, ret->list.len, sizeof(*ret->list.v), by_begin);
	return 0;
}

/* The innermost of those of the task that take at least half of its longest. */
static const struct kept_region *innermost(const struct thread *th, uint32_t task,
					   struct regions *all, size_t *open)
{
	const struct kept_region *best = NULL, *v = all->list.v;
	uint64_t longest = 0;
	size_t nr_open = 0, deepest = 0, near = 0;

	for (size_t i = 0; i < all->list.len; i++)
		if (v[i].end - v[i].begin > longest && work_at(th, v[i].begin, &near) == task)
			longest = v[i].end - v[i].begin;
	for (size_t i = 0; i < all->list.len; i++) {
		while (nr_open && v[open[nr_open - 1]].end <= v[i].begin)
			nr_open--;
		if (v[i].end - v[i].begin >= longest - longest / 2 &&
		    work_at(th, v[i].begin, &near) == task && (!best || nr_open > deepest)) {
			best = &v[i];
			deepest = nr_open;
		}
		open[nr_open++] = i;
	}
	return best;
}

int coati_why_region_kept(const struct coati_timeline *t, uint32_t thread, uint32_t task,
			  const char **ret)
{
	struct regions all = { .list.max = SIZE_MAX / sizeof(struct kept_region) };
	CLEANUP(freep) size_t *open = NULL;
	const struct kept_region *best;
	int r = gather_around(t, thread, task, &all);

	*ret = NULL;
	if (r == 0)
		open = coati_alloc_array(all.list.len + 1, sizeof(*open));
	if (open) {
		best = innermost(&t->threads.v[thread], task, &all, open);
		*ret = best ? t->types.v[best->type].name : NULL;
	}
	ARRAY_FINI(&all.list);
	return open ? 0 : -ENOMEM;
}
