/* SPDX-License-Identifier: MIT */
/* Who woke whom, and what he was working on then; and with it the way that the end of a task
 * depended on, backwards from wake to wake. */
#include <errno.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

#define STEPS_MAX ((size_t)1 << 20)

/* ---- wakes ---- */

/* The wait of the woken one: its state right before. NULL: not known. */
static const struct stretch *wait_of(const struct thread *th, const struct wake *w)
{
	size_t i = coati_timeline_stretch_at(th, w->time);

	while (i != SIZE_MAX && i > 0 && !is_away(th->stretches.v[i].wait) &&
	       th->stretches.v[i].begin >= w->time)
		i--;
	if (i == SIZE_MAX || !is_away(th->stretches.v[i].wait))
		return NULL;
	return &th->stretches.v[i];
}

uint32_t coati_timeline_waiter_stack(const struct coati_timeline *t, uint32_t i)
{
	const struct wake *w = &t->wakes.v[i];
	const struct stretch *s = wait_of(&t->threads.v[w->woken], w);

	return s ? s->stack : COATI_TIMELINE_NONE;
}

static const char *labels_at(const struct thread *th, uint64_t time)
{
	size_t i = coati_timeline_mark_at(th->labels.v, th->labels.len, time);

	return i == SIZE_MAX ? "" : th->labels.v[i].text;
}

uint32_t coati_timeline_wake_count(const struct coati_timeline *t)
{
	return (uint32_t)t->wakes.len;
}

int coati_timeline_wake(const struct coati_timeline *t, uint32_t i, struct coati_timeline_wake *ret)
{
	const struct wake *w = i < t->wakes.len ? &t->wakes.v[i] : NULL;
	const struct thread *woken, *waker;
	const struct stretch *wait;

	if (!w)
		return -ENOENT;
	woken = &t->threads.v[w->woken];
	waker = w->waker == COATI_TIMELINE_NONE || w->flags & COATI_TIMELINE_IRQ
			? NULL
			: &t->threads.v[w->waker];
	wait = wait_of(woken, w);
	*ret = (struct coati_timeline_wake){
		.time = w->time,
		.waker = waker ? w->waker : COATI_TIMELINE_NONE,
		.woken = w->woken,
		/* an interrupt has no code of its own: what ran then has nothing to do with it */
		.stack = waker ? w->stack : COATI_TIMELINE_NONE,
		.waker_task = waker ? coati_timeline_work_at(waker, w->time) : COATI_TIMELINE_NONE,
		.woken_task = coati_timeline_work_at(woken, w->time),
		.flags = w->flags,
		.blocked_ns = w->blocked_ns,
		.wait = wait ? (enum coati_wait)wait->wait : COATI_WAIT_UNKNOWN,
		.labels = waker ? labels_at(waker, w->time) : "",
	};
	return 0;
}

/* ---- the path ---- */

/* A thread to come back to, and how far it is followed then. */
struct turn {
	uint32_t thread;
	uint64_t least;
};

struct path {
	const struct coati_timeline *t;
	uint32_t task;
	ARRAY(struct coati_timeline_step) steps; /* backwards */
	ARRAY(struct turn) turns;
	uint32_t thread;
	uint64_t least; /* how far the thread is followed */
	uint64_t at;	/* everything from here to the task's end is covered */
};

static int add_step(struct path *p, uint64_t from, uint32_t part, uint32_t stack)
{
	uint64_t begin = p->t->tasks.v[p->task].begin;
	struct coati_timeline_step *s;
	uint32_t work = COATI_TIMELINE_NONE;

	/* the walk goes on from the task's beginning at the latest */
	if (from < begin)
		from = begin;
	if (from >= p->at)
		return 0;
	if (part != COATI_PART_NOBODY)
		work = coati_timeline_work_at(&p->t->threads.v[p->thread], from);
	s = ARRAY_ADD(&p->steps);
	if (!s)
		return p->steps.len >= p->steps.max ? -E2BIG : -ENOMEM;
	*s = (struct coati_timeline_step){ .begin = from,
					   .end = p->at,
					   .thread = part == COATI_PART_NOBODY ? COATI_TIMELINE_NONE
									       : p->thread,
					   .part = part,
					   .stack = stack,
					   .task = work };
	p->at = from;
	return 0;
}

/* The last span that begins before @time. */
static const struct span *span_before(const struct span *spans, size_t nr, uint64_t time)
{
	const struct span *best = NULL;

	for (size_t i = 0; i < nr && spans[i].begin < time; i++)
		if (!best || spans[i].end >= best->end || spans[i].end >= time)
			best = &spans[i];
	return best;
}

/* While the thread that we are at waits, its waker is followed; when the waiting began, it is its
 * turn again. */
static int follow_waker(struct path *p, const struct stretch *s, const struct wake *w)
{
	uint64_t since = s[-1].begin > p->least ? s[-1].begin : p->least;
	struct turn *turn;

	if (since >= p->at || w->waker == COATI_TIMELINE_NONE || w->waker == p->thread ||
	    w->flags & COATI_TIMELINE_IRQ || p->t->threads.v[w->waker].outside)
		return 0;
	turn = ARRAY_ADD(&p->turns); /* never too many: each has a step of its own */
	if (!turn)
		return -ENOMEM;
	*turn = (struct turn){ p->thread, p->least };
	p->thread = w->waker;
	p->least = since;
	return 0;
}

/* One state backwards on the thread that we are at. */
static int step_back(struct path *p)
{
	const struct thread *th = &p->t->threads.v[p->thread];
	size_t i = coati_timeline_stretch_at(th, p->at - 1);
	const struct stretch *s = i == SIZE_MAX ? NULL : &th->stretches.v[i];
	bool woken = i && s && s->wait == COATI_WAIT_RUNNABLE && s->stack != COATI_TIMELINE_NONE;
	uint64_t from = s && s->begin > p->least ? s->begin : p->least;
	int r;

	if (s && p->at > th->end) {
		s = NULL; /* it has ended by then */
		from = th->end > p->least ? th->end : p->least;
	}
	r = add_step(p, from, s ? s->wait : COATI_WAIT_UNKNOWN,
		     s && s->wait != COATI_WAIT_RUNNABLE ? s->stack : COATI_TIMELINE_NONE);
	/* one that ran at once was woken anyway */
	if (r == 0 && s && !woken && i > 1 && s[-1].wait == COATI_WAIT_RUNNABLE &&
	    s[-1].begin == s->begin && s[-1].stack != COATI_TIMELINE_NONE) {
		woken = true;
		s--;
	}
	if (r == 0 && woken && p->at == s->begin && p->at > p->least)
		r = follow_waker(p, s, &p->t->wakes.v[s->stack]);
	return r;
}

/* Who worked on the task before, down to when he took it up; no thread worked on it between. */
static int change_span(struct path *p, const struct span *spans, size_t nr)
{
	const struct span *s = span_before(spans, nr, p->at);
	int r = 0;

	if (!s)
		return add_step(p, p->t->tasks.v[p->task].begin, COATI_PART_NOBODY,
				COATI_TIMELINE_NONE);
	if (s->end < p->at)
		r = add_step(p, s->end, COATI_PART_NOBODY, COATI_TIMELINE_NONE);
	p->thread = s->thread;
	p->least = s->begin;
	return r;
}

static int walk(struct path *p, const struct span *spans, size_t nr)
{
	uint64_t begin = p->t->tasks.v[p->task].begin;
	int r = 0;

	p->least = p->at;
	while (r == 0 && p->at > begin) {
		if (p->at > p->least) {
			r = step_back(p);
		} else if (p->turns.len) {
			const struct turn *turn = &p->turns.v[--p->turns.len];

			p->thread = turn->thread;
			p->least = turn->least;
		} else {
			r = change_span(p, spans, nr);
		}
	}
	return r;
}

int coati_timeline_path(const struct coati_timeline *t, uint32_t task,
			struct coati_timeline_step **ret, size_t *ret_nr, struct coati_error *err)
{
	struct path p = { .t = t, .task = task, .steps.max = STEPS_MAX, .turns.max = STEPS_MAX };
	struct span *spans = NULL;
	size_t nr = 0;
	int r;

	if (!t || task >= t->tasks.len)
		return coati_fail(err, -EINVAL, "there is no such task");
	p.at = t->tasks.v[task].end;
	r = coati_timeline_spans(t, task, &spans, &nr);
	if (r == 0)
		r = walk(&p, spans, nr);
	coati_free(spans);
	ARRAY_FINI(&p.turns);
	if (r < 0) {
		ARRAY_FINI(&p.steps);
		return coati_fail(err, r, "critical path: %m");
	}
	for (size_t i = 0; i < p.steps.len / 2; i++) {
		struct coati_timeline_step s = p.steps.v[i];

		p.steps.v[i] = p.steps.v[p.steps.len - 1 - i];
		p.steps.v[p.steps.len - 1 - i] = s;
	}
	*ret = p.steps.v;
	*ret_nr = p.steps.len;
	return 0;
}

void coati_timeline_path_free(struct coati_timeline_step **steps)
{
	coati_free(*steps);
	*steps = NULL;
}
