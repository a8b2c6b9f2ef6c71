/* SPDX-License-Identifier: MIT */
/*
 * Who is behind a cause: the waker that ended most of the waiting of the slow ones and its code,
 * or, where an interrupt did, the code in which they waited; or the code in which they were seen
 * running most.
 */
#include <errno.h>

#include "base/alloc.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "trace/why.h"

#define KINDS_MAX ((size_t)1 << 20)

/* Sums by key; the largest is the answer. */
struct votes {
	struct map sums;
	uint64_t best, most;
};

static int vote(struct votes *v, uint64_t key, uint64_t weight)
{
	uint64_t sum = 0;
	int r;

	(void)coati_map_get(&v->sums, key, &sum);
	sum += weight;
	r = coati_map_put(&v->sums, key, sum);
	if (sum > v->most) {
		v->most = sum;
		v->best = key;
	}
	return r == -ENOMEM ? r : 0;
}

/* Is the thread busy with a slow one at that time? */
static bool is_slow_at(const struct comparison *c, uint32_t thread, uint64_t time)
{
	uint32_t task = coati_timeline_work_at(&c->t->threads.v[thread], time);
	uint32_t i;

	return task != COATI_TIMELINE_NONE && why_find(c, task, &i) && c->list.v[i].is_slow &&
	       time <= c->list.v[i].end;
}

static int blame_wakers(const struct comparison *c, struct coati_why_row *row)
{
	struct votes v = { .most = 0 };
	int r = 0;

	coati_map_init(&v.sums, KINDS_MAX);
	for (uint32_t i = 0; r == 0 && i < c->t->wakes.len; i++) {
		struct coati_timeline_wake w;

		coati_timeline_wake(c->t, i, &w);
		if (w.waker == COATI_TIMELINE_NONE)
			w.stack = coati_timeline_waiter_stack(c->t, i);
		if ((uint32_t)w.wait == row->part && is_slow_at(c, w.woken, w.time))
			r = vote(&v, (uint64_t)w.waker << 32 | w.stack, w.blocked_ns + 1);
	}
	coati_map_fini(&v.sums);
	if (r == 0 && v.most) {
		row->waker = (uint32_t)(v.best >> 32);
		row->stack = (uint32_t)v.best;
	}
	return r;
}

static int blame_code(const struct comparison *c, struct coati_why_row *row)
{
	bool faults = row->kind == COATI_WHY_FAULTS;
	struct votes v = { .most = 0 };
	int r = 0;

	coati_map_init(&v.sums, KINDS_MAX);
	for (uint32_t i = 0; r == 0 && i < c->t->threads.len; i++) {
		const struct thread *th = &c->t->threads.v[i];

		for (size_t n = 0; r == 0 && n < th->samples.len; n++) {
			const struct seen *s = &th->samples.v[n];

			if (s->in_fault == faults && is_slow_at(c, i, s->time))
				r = vote(&v, s->stack, 1);
		}
	}
	coati_map_fini(&v.sums);
	if (r == 0 && v.most)
		row->stack = (uint32_t)v.best;
	return r;
}

int coati_why_blame(const struct comparison *c, struct coati_why_row *row)
{
	if (row->part == COATI_PART_NOBODY)
		return coati_why_hog(c, row);
	return row->part == COATI_WAIT_RUNNING ? blame_code(c, row) : blame_wakers(c, row);
}
