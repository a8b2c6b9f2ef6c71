/* SPDX-License-Identifier: MIT */
/* The longest instances of a type, of a timeline that keeps all of them or of a summary that was
 * asked to keep these. Breakdowns are found for those alone that are wanted. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/kept.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

#define NONE COATI_TIMELINE_NONE

struct candidate {
	uint64_t ns, begin;
	uint32_t number; /* of a task, or of a region of the thread */
	uint32_t thread; /* of a region, or NONE */
	uint32_t row;	 /* of what a summary kept */
};

struct slowest {
	const struct coati_timeline *t;
	const struct coati_timeline_query *q;
	ARRAY(struct candidate) list;
	bool failed;
};

static void add(struct slowest *s, const struct candidate *c)
{
	struct candidate *new;

	if (c->begin > s->q->to || c->begin + c->ns < s->q->from)
		return;
	new = ARRAY_ADD(&s->list);
	s->failed |= !new;
	if (new)
		*new = *c;
}

/* The longest first. */
static int by_ns(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- of a timeline that keeps everything ---- */

static void gather_tasks(struct slowest *s)
{
	for (uint32_t i = 0; i < s->t->tasks.len; i++) {
		const struct task *k = &s->t->tasks.v[i];

		if (k->type == s->q->type)
			add(s, &(struct candidate){ .ns = k->end - k->begin,
						    .begin = k->begin,
						    .number = i,
						    .thread = NONE });
	}
}

static void gather_regions(struct slowest *s, uint32_t thread)
{
	const struct thread *th = &s->t->threads.v[thread];

	for (uint32_t i = 0; i < th->regions.len; i++) {
		const struct region *g = &th->regions.v[i];

		if (g->name == s->t->types.v[s->q->type].name)
			add(s, &(struct candidate){ .ns = g->end - g->begin,
						    .begin = g->begin,
						    .number = i,
						    .thread = thread });
	}
}

static void gather_all(struct slowest *s)
{
	if (!s->t->types.v[s->q->type].is_region)
		gather_tasks(s);
	else
		for (uint32_t i = 0; i < s->t->threads.len; i++)
			gather_regions(s, i);
}

static int fill(const struct coati_timeline *t, const struct candidate *c,
		struct coati_timeline_instance *ret)
{
	const struct task *k;

	*ret = (struct coati_timeline_instance){ .begin = c->begin,
						 .end = c->begin + c->ns,
						 .thread = c->thread };
	if (c->thread != NONE) {
		ret->flags = t->threads.v[c->thread].regions.v[c->number].flags;
		coati_ledger_range(&t->threads.v[c->thread], ret->begin, ret->end, &ret->ledger);
		return 0;
	}
	k = &t->tasks.v[c->number];
	ret->id = k->id;
	ret->parent = k->parent_id;
	ret->pid = k->pid;
	ret->flags = k->flags;
	return coati_ledger_task(t, c->number, &ret->ledger);
}

static int fill_all(const struct slowest *s, struct coati_timeline_instance *ret, size_t nr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < nr; i++)
		r = fill(s->t, &s->list.v[i], &ret[i]);
	return r;
}

/* ---- of what a summary kept ---- */

static void gather_kept(struct slowest *s)
{
	bool is_region = s->t->types.v[s->q->type].is_region;
	struct kept_pos pos = { 0 };
	struct kept_instance in;

	for (uint32_t row = 0; coati_kept_next(s->t->kept, is_region, &pos, &in); row++)
		add(s, &(struct candidate){ .ns = in.end - in.begin,
					    .begin = in.begin,
					    .number = in.number,
					    .thread = in.thread,
					    .row = row });
}

/* Which of those that are wanted has a row. */
struct wanted {
	uint32_t row, place;
};

static int by_row(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

static int fill_kept(const struct slowest *s, struct coati_timeline_instance *ret, size_t nr)
{
	CLEANUP(freep) struct wanted *wanted = coati_alloc_array(nr + 1, sizeof(*wanted));
	bool is_region = s->t->types.v[s->q->type].is_region;
	struct kept_pos pos = { 0 };
	struct kept_instance in;
	size_t at = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		wanted[i] = (struct wanted){ s->list.v[i].row, (uint32_t)i };
	qsort(wanted, nr, sizeof(*wanted), by_row);
	for (uint32_t row = 0; at < nr && coati_kept_next(s->t->kept, is_region, &pos, &in); row++)
		if (wanted[at].row == row)
			ret[wanted[at++].place] =
				(struct coati_timeline_instance){ .begin = in.begin,
								  .end = in.end,
								  .id = in.id,
								  .parent = in.parent,
								  .pid = in.pid,
								  .thread = in.thread,
								  .flags = in.flags,
								  .ledger = in.ledger };
	return 0;
}

int coati_timeline_slowest(const struct coati_timeline *t, const struct coati_timeline_query *q,
			   struct coati_timeline_instance **ret, size_t *ret_nr, size_t *ret_all)
{
	struct slowest s = { .t = t, .q = q, .list.max = SIZE_MAX / sizeof(struct candidate) };
	struct coati_timeline_instance *list = NULL;
	size_t nr;
	int r = -ENOMEM;

	if (!t || q->type >= t->types.len || (t->kept && t->kept->name != t->types.v[q->type].name))
		return -EINVAL;
	if (t->kept)
		gather_kept(&s);
	else
		gather_all(&s);
	if (!s.failed && s.list.len)
		qsort(s.list.v, s.list.len, sizeof(*s.list.v), by_ns);
	nr = q->nr < s.list.len ? q->nr : s.list.len;
	if (!s.failed)
		list = coati_alloc_array(nr + 1, sizeof(*list));
	if (list)
		r = t->kept ? fill_kept(&s, list, nr) : fill_all(&s, list, nr);
	if (r == 0) {
		*ret = list;
		*ret_nr = nr;
		*ret_all = s.list.len;
	} else {
		coati_free(list);
	}
	ARRAY_FINI(&s.list);
	return r;
}
