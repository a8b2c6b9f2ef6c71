/* SPDX-License-Identifier: MIT */
/*
 * The task that hogged a thread while the slow ones waited for that thread. In an event loop a task
 * begins, and then no thread works on it until its turn comes: the loop works on others. The thread
 * that a task waits for is the one that works on it next (after its last step: the one that did).
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/kept.h"
#include "trace/timeline.h"
#include "trace/why.h"

#define TASKS_MAX  ((size_t)1 << 20)
#define CLAIM_FROM 0.5 /* of the waiting; below it nothing is claimed */

struct search {
	const struct comparison *c;
	struct map by_type, by_task; /* ns that they took while a slow one waited */
	uint64_t waited;	     /* ns in all */
};

/* Of a task that a timeline or a summary kept. */
static uint64_t end_of(const struct coati_timeline *t, uint32_t task)
{
	return t->kept ? t->kept->tasks.v[task].end : t->tasks.v[task].end;
}

static uint32_t type_of(const struct coati_timeline *t, uint32_t task)
{
	return t->kept ? t->kept->tasks.v[task].type : t->tasks.v[task].type;
}

static uint64_t id_of(const struct coati_timeline *t, uint32_t task)
{
	return t->kept ? t->kept->tasks.v[task].id : t->tasks.v[task].id;
}

static int add_ns(struct map *m, uint64_t key, uint64_t ns)
{
	uint64_t sum = 0;
	int r;

	(void)coati_map_get(m, key, &sum);
	r = coati_map_put(m, key, sum + ns);
	return r == -ENOMEM ? r : 0;
}

/* What a thread worked on between two times, while @task waited for it. */
static int add_gap(struct search *s, uint32_t task, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct thread *th = &s->c->t->threads.v[thread];
	size_t i = coati_timeline_mark_at(th->works.v, th->works.len, from);
	int r = 0;

	s->waited += to - from;
	for (i = i == SIZE_MAX ? 0 : i; r == 0 && i < th->works.len; i++) {
		const struct mark *m = &th->works.v[i];
		uint64_t begin = m->time > from ? m->time : from;
		uint64_t end = i + 1 < th->works.len ? th->works.v[i + 1].time : th->end;

		if (m->time >= to)
			break;
		if (m->task == COATI_TIMELINE_NONE || m->task == task)
			continue;
		end = end < to ? end : to;
		if (end_of(s->c->t, m->task) < end)
			end = end_of(s->c->t, m->task);
		if (end <= begin)
			continue;
		r = add_ns(&s->by_type, type_of(s->c->t, m->task), end - begin);
		if (r == 0)
			r = add_ns(&s->by_task, (uint64_t)m->task << 32 | thread, end - begin);
	}
	return r;
}

/* The times at which no thread worked on an instance. */
static int add_gaps(struct search *s, const struct instance *in)
{
	CLEANUP(freep) struct span *spans = NULL;
	uint64_t at = in->begin;
	size_t nr = 0;
	int r = coati_timeline_spans(s->c->t, in->number, &spans, &nr);

	for (size_t i = 0; r == 0 && i < nr; i++) {
		if (spans[i].begin > at)
			r = add_gap(s, in->number, spans[i].thread, at, spans[i].begin);
		at = spans[i].end > at ? spans[i].end : at;
	}
	if (r == 0 && nr && at < in->end)
		r = add_gap(s, in->number, spans[nr - 1].thread, at, in->end);
	return r;
}

static int add_kept_gaps(struct search *s)
{
	const struct kept *k = s->c->t->kept;
	struct kept_pos pos = { 0 };
	struct kept_instance in;
	struct kept_gap gap;
	int r = 0;

	for (uint32_t row = 0; r == 0 && coati_kept_next(k, false, &pos, &in); row++) {
		uint32_t i = s->c->rows[row];
		bool is_slow = i != COATI_TIMELINE_NONE && s->c->list.v[i].is_slow;

		for (uint32_t n = 0; r == 0 && n < in.nr_gaps; n++) {
			coati_kept_gap_next(k, &pos, &gap);
			if (is_slow)
				r = add_gap(s, in.number, gap.thread, gap.from, gap.to);
		}
	}
	return r;
}

static int add_all_gaps(struct search *s)
{
	const struct comparison *c = s->c;
	int r = 0;

	if (c->t->types.v[c->type].is_region)
		return 0;
	if (c->t->kept)
		return add_kept_gaps(s);
	for (size_t i = 0; r == 0 && i < c->list.len; i++)
		if (c->list.v[i].is_slow)
			r = add_gaps(s, &c->list.v[i]);
	return r;
}

/* The type that took most; the ns. */
static uint64_t best_type(const struct search *s, uint64_t *ret)
{
	uint64_t most = 0, type, ns;

	for (size_t pos = 0; coati_map_next(&s->by_type, &pos, &type, &ns);)
		if (ns > most || (ns == most && type < *ret)) {
			most = ns;
			*ret = type;
		}
	return most;
}

static uint64_t best_task(const struct search *s, uint64_t type)
{
	uint64_t most = 0, best = 0, key, ns;

	for (size_t pos = 0; coati_map_next(&s->by_task, &pos, &key, &ns);)
		if (type_of(s->c->t, (uint32_t)(key >> 32)) == type &&
		    (ns > most || (ns == most && key < best))) {
			most = ns;
			best = key;
		}
	return best;
}

/*
 * The innermost region in which a task spends at least half of its longest one; NULL: it has none.
 */
static const char *region_of(const struct thread *th, uint32_t task)
{
	const struct region *best = NULL;
	uint64_t longest = 0;

	for (size_t i = 0; i < th->regions.len; i++)
		if (th->regions.v[i].task == task &&
		    th->regions.v[i].end - th->regions.v[i].begin > longest)
			longest = th->regions.v[i].end - th->regions.v[i].begin;
	for (size_t i = 0; i < th->regions.len; i++) {
		const struct region *g = &th->regions.v[i];

		if (g->task == task && g->end - g->begin >= longest - longest / 2 &&
		    (!best || g->depth > best->depth))
			best = g;
	}
	return best ? best->name : NULL;
}

static int name_hog(const struct search *s, struct coati_why_row *row)
{
	const struct coati_timeline *t = s->c->t;
	uint64_t type = 0, ns = best_type(s, &type), key;

	if (!ns || (double)ns < CLAIM_FROM * (double)s->waited)
		return 0;
	key = best_task(s, type);
	row->hog = (uint32_t)(key >> 32);
	row->hog_thread = (uint32_t)key;
	row->hog_name = t->types.v[type].name;
	row->hog_id = id_of(t, row->hog);
	row->hog_share = (double)ns / (double)s->waited;
	if (t->kept)
		return coati_why_region_kept(t, row->hog_thread, row->hog, &row->hog_region);
	row->hog_region = region_of(&t->threads.v[row->hog_thread], row->hog);
	return 0;
}

int coati_why_hog(const struct comparison *c, struct coati_why_row *row)
{
	struct search s = { .c = c };
	int r;

	coati_map_init(&s.by_type, TASKS_MAX);
	coati_map_init(&s.by_task, TASKS_MAX);
	r = add_all_gaps(&s);
	if (r == 0)
		r = name_hog(&s, row);
	coati_map_fini(&s.by_type);
	coati_map_fini(&s.by_task);
	return r;
}
