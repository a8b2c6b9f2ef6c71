/* SPDX-License-Identifier: MIT */
/*
 * Tasks of a fold. When one ends, everything that threads did for it until then is known: events
 * come in order of time. Its breakdown needs the tasks below it, too; so one that has ended is kept
 * as long as a task above it is open, and afterwards a bit says that it was there.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "trace/fold.h"
#include "trace/timeline.h"

#define NONE COATI_TIMELINE_NONE

static bool find_open(const struct fold *f, int32_t pid, uint64_t id, uint32_t *ret)
{
	uint64_t at;

	if (!coati_map_get(&f->open, timeline_task_key(pid, id), &at))
		return false;
	*ret = (uint32_t)at;
	return true;
}

/* ---- room ---- */

static struct fold_task *take_room(struct fold *f, uint32_t *ret)
{
	struct fold_task *task;

	if (f->free != NONE) {
		*ret = f->free;
		task = &f->tasks.v[*ret];
		f->free = task->next;
		return task;
	}
	task = ARRAY_ADD(&f->tasks);
	*ret = (uint32_t)f->tasks.len - 1;
	if (task)
		task->spans.max = f->spans.max;
	return task;
}

static void give_room(struct fold *f, uint32_t at)
{
	struct fold_task *task = &f->tasks.v[at];

	task->spans.len = 0;
	task->id = 0;
	task->next = f->free;
	f->free = at;
}

/* ---- who is below whom ---- */

static void link_child(struct fold *f, uint32_t parent, uint32_t at)
{
	struct fold_task *above = &f->tasks.v[parent], *task = &f->tasks.v[at];

	task->parent = parent;
	task->next = above->first_child;
	above->first_child = at;
}

/* Whether a task above it is open. However many there are, only some levels are looked at: one that
 * is deeper is kept until the topmost has ended. */
static bool is_below_open(const struct fold *f, uint32_t at)
{
	uint32_t depth = 0;

	for (at = f->tasks.v[at].parent; at != NONE; at = f->tasks.v[at].parent)
		if (!f->tasks.v[at].ended || ++depth > LEDGER_DEPTH)
			return true;
	return false;
}

static int add_below(struct fold *f, uint32_t task, uint32_t depth)
{
	struct fold_below *b = ARRAY_ADD(&f->below);

	if (!b)
		return -ENOMEM;
	*b = (struct fold_below){ task, depth };
	return 0;
}

/* A task that has ended with no open one above it, and all below it that have ended. Open ones
 * below it have no parent from now on. */
static int release(struct fold *f, uint32_t at)
{
	int r;

	f->below.len = 0;
	r = add_below(f, at, 0);
	for (size_t i = 0; r == 0 && i < f->below.len; i++) {
		uint32_t task = f->below.v[i].task, next;

		for (uint32_t c = f->tasks.v[task].first_child; r == 0 && c != NONE; c = next) {
			struct fold_task *child = &f->tasks.v[c];

			next = child->next;
			child->parent = child->next = NONE;
			if (child->ended)
				r = add_below(f, c, 0);
		}
		coati_map_del(&f->open,
			      timeline_task_key(f->tasks.v[task].pid, f->tasks.v[task].id));
		r = r == 0 ? coati_idset_add(&f->ended, f->tasks.v[task].pid, f->tasks.v[task].id)
			   : r;
		give_room(f, task);
	}
	return r;
}

/* ---- beginning ---- */

/* In the list of what is kept, by its number. */
static int list_task(struct fold *f, const struct fold_task *task)
{
	struct kept_task *k = ARRAY_ADD(&f->t->kept->tasks);

	if (!k)
		return -ENOMEM;
	*k = (struct kept_task){ .id = task->id, .type = task->type };
	return 0;
}

static int add_task(struct fold *f, const struct fold_task *new, uint32_t *ret)
{
	int32_t pid = new->pid;
	uint64_t id = new->id;
	struct fold_task *task = take_room(f, ret);
	int r;

	if (!task)
		return -ENOMEM;
	r = coati_map_put(&f->open, timeline_task_key(pid, id), *ret);
	if (r < 0) {
		give_room(f, *ret);
		return r;
	}
	task->id = id;
	task->parent_id = new->parent_id;
	task->pid = pid;
	task->number = f->nr_tasks++;
	task->begin = new->begin;
	task->type = new->type;
	task->flags = new->flags;
	task->ended = false;
	task->parent = task->first_child = task->next = task->worker = NONE;
	return fold_keeps_for_why(f) ? list_task(f, task) : 0;
}

int coati_fold_begin_task(struct fold *f, const struct coati_trace_event *e, uint64_t time)
{
	bool again = e->flags & COATI_TRACE_REOPENED;
	struct fold_task new = { .id = e->id,
				 .parent_id = e->parent,
				 .pid = (int32_t)e->pid,
				 .begin = time,
				 .flags = again ? COATI_TIMELINE_OPEN_BEGIN : 0 };
	uint32_t at, parent;
	int r;

	if (find_open(f, new.pid, e->id, &at) || coati_idset_has(&f->ended, new.pid, e->id)) {
		f->t->info.unpaired += !again;
		return 0;
	}
	r = coati_fold_type(f, e, false, &new.type);
	if (r == 0)
		r = add_task(f, &new, &at);
	if (r == 0 && e->parent && e->parent != e->id && find_open(f, new.pid, e->parent, &parent))
		link_child(f, parent, at);
	return r;
}

/* Its begin was not recorded: it was before the recording. */
static int add_unknown(struct fold *f, const struct coati_trace_event *e, uint32_t *ret)
{
	struct coati_trace_event unnamed = { .kind = COATI_TRACE_TASK_BEGIN };
	struct fold_task new = { .id = e->id,
				 .pid = (int32_t)e->pid,
				 .begin = f->t->info.begin,
				 .flags =
					 COATI_TIMELINE_OPEN_BEGIN | COATI_TIMELINE_BEGIN_UNKNOWN };
	int r = coati_fold_type(f, &unnamed, false, &new.type);

	return r < 0 ? r : add_task(f, &new, ret);
}

/* ---- who works on it ---- */

static int add_span(struct fold *f, uint32_t thread, uint64_t end)
{
	const struct fold_thread *th = &f->threads.v[thread];
	struct fold_task *task = &f->tasks.v[th->work];
	uint64_t begin = th->since > task->begin ? th->since : task->begin;
	struct span *s;

	if (end <= begin)
		return 0;
	s = ARRAY_ADD(&task->spans);
	if (!s)
		return -ENOMEM;
	*s = (struct span){ begin, end, thread, th->work };
	return 0;
}

static void leave(struct fold *f, uint32_t thread)
{
	struct fold_thread *th = &f->threads.v[thread];

	if (th->work == NONE)
		return;
	if (th->prev == NONE)
		f->tasks.v[th->work].worker = th->next;
	else
		f->threads.v[th->prev].next = th->next;
	if (th->next != NONE)
		f->threads.v[th->next].prev = th->prev;
	th->work = th->prev = th->next = NONE;
}

static void take_up(struct fold *f, uint32_t thread, uint32_t at, uint64_t time)
{
	struct fold_thread *th = &f->threads.v[thread];
	struct fold_task *task = &f->tasks.v[at];

	th->work = at;
	th->since = time;
	th->next = task->worker;
	if (task->worker != NONE)
		f->threads.v[task->worker].prev = thread;
	task->worker = thread;
}

/* As a timeline that keeps everything has it: also of tasks that have ended. One that is forgotten
 * has no number. */
static int mark_work(struct fold *f, uint32_t thread, uint32_t at,
		     const struct coati_trace_event *e, uint64_t time)
{
	struct thread *th = &f->t->threads.v[thread];
	const struct mark *last = th->works.len ? &th->works.v[th->works.len - 1] : NULL;
	uint32_t number = at == NONE ? NONE : f->tasks.v[at].number;
	struct mark *new;

	if (e->id && at == NONE)
		return FOLD_GIVE_UP;
	if (last && last->task == number)
		return 0;
	if (last && time < last->time)
		return FOLD_GIVE_UP;
	new = ARRAY_ADD(&th->works);
	if (!new)
		return th->works.len >= th->works.max ? -E2BIG : -ENOMEM;
	*new = (struct mark){ .time = time, .task = number };
	return 0;
}

int coati_fold_enter_task(struct fold *f, uint32_t thread, const struct coati_trace_event *e,
			  uint64_t time)
{
	struct fold_thread *th = &f->threads.v[thread];
	uint32_t at = NONE;
	int r = 0;

	/* what was done for tasks that have ended is added up already */
	if (time < e->time && time < f->last_end)
		return FOLD_GIVE_UP;
	if (e->id && !find_open(f, (int32_t)e->pid, e->id, &at) &&
	    !coati_idset_has(&f->ended, (int32_t)e->pid, e->id))
		r = add_unknown(f, e, &at);
	if (r == 0 && fold_keeps_for_why(f))
		r = mark_work(f, thread, at, e, time);
	if (at != NONE && f->tasks.v[at].ended)
		at = NONE;
	if (r != 0 || (at != NONE && th->work == at))
		return r;
	if (th->work != NONE)
		r = add_span(f, thread, time);
	leave(f, thread);
	if (at != NONE)
		take_up(f, thread, at, time);
	return r;
}

/* ---- its end ---- */

/* Adds a span to those of the task that ends at @end, as far as it lies within it. */
static int gather_span(struct fold *f, const struct fold_task *top, struct span s, uint64_t end)
{
	struct span *new;

	s.begin = s.begin > top->begin ? s.begin : top->begin;
	s.end = s.end < end ? s.end : end;
	if (s.end <= s.begin)
		return 0;
	new = ARRAY_ADD(&f->spans);
	if (!new)
		return -ENOMEM;
	*new = s;
	return 0;
}

/* Of those who work on it now, up to @end. */
static int gather_workers(struct fold *f, const struct fold_task *top, uint32_t task, uint64_t end)
{
	int r = 0;

	for (uint32_t i = f->tasks.v[task].worker; r == 0 && i != NONE; i = f->threads.v[i].next) {
		uint64_t since = f->threads.v[i].since, over = f->t->threads.v[i].end;

		if (since < f->tasks.v[task].begin)
			since = f->tasks.v[task].begin;
		r = gather_span(f, top, (struct span){ since, over, i, task }, end);
	}
	return r;
}

static int by_begin_and_thread(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* All spans of the task and of those below it, sorted by their beginning. */
static int gather(struct fold *f, uint32_t at, uint64_t end)
{
	const struct fold_task *top = &f->tasks.v[at];
	int r;

	f->spans.len = f->below.len = 0;
	r = add_below(f, at, 0);
	for (size_t i = 0; r == 0 && i < f->below.len; i++) {
		struct fold_below b = f->below.v[i];
		const struct fold_task *task = &f->tasks.v[b.task];
		uint32_t c = b.depth < LEDGER_DEPTH ? task->first_child : NONE;
		size_t first = f->spans.len;

		for (; r == 0 && c != NONE; c = f->tasks.v[c].next)
			r = add_below(f, c, b.depth + 1);
		for (size_t n = 0; r == 0 && n < task->spans.len; n++)
			r = gather_span(f, top, task->spans.v[n], end);
		if (r == 0)
			r = gather_workers(f, top, b.task, end);
		if (fold_keeps(f, top->type) && f->spans.len > first + 1)
			qsort(f->spans.v + first, f->spans.len - first, sizeof(*f->spans.v),
			      by_begin_and_thread);
	}
	if (f->spans.len > 1)
		qsort(f->spans.v, f->spans.len, sizeof(*f->spans.v), coati_span_by_begin);
	return r;
}

/* The breakdown of a task into the sum of its type. */
static int add_ledger(struct fold *f, const struct fold_task *task, uint64_t ns)
{
	struct coati_ledger *sum = &f->t->types.v[task->type].ledger, own = { .duration = ns };
	const struct span *s = f->spans.v;
	uint64_t parts = 0;
	int r;

	if (f->spans.len == 1) {
		coati_ledger_near(&f->t->threads.v[s->thread], s->begin, s->end,
				  &f->threads.v[s->thread].near, sum);
		sum->duration += ns - (s->end - s->begin);
		sum->parts[COATI_PART_NOBODY] += ns - (s->end - s->begin);
		return 0;
	}
	r = coati_ledger_spans(f->t, s, f->spans.len, &own);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		parts += own.parts[i];
	f->t->info.wrong += parts != ns;
	coati_ledger_sum(sum, &own);
	return 0;
}

/* A thread that still works on it works on nothing that goes on. */
static int stop_workers(struct fold *f, uint32_t at, uint64_t end)
{
	int r = 0;

	while (r == 0 && f->tasks.v[at].worker != NONE) {
		uint32_t thread = f->tasks.v[at].worker;
		uint64_t over = f->t->threads.v[thread].end;

		r = add_span(f, thread, over < end ? over : end);
		leave(f, thread);
	}
	return r;
}

/* ---- what is kept ---- */

/* The times at which no thread worked on the task whose spans are gathered. */
static uint32_t keep_gaps(struct fold *f, const struct kept_instance *in)
{
	const struct span *s = f->spans.v;
	struct kept_gap gap = { .from = in->begin };
	uint32_t nr = 0;

	for (size_t i = 0; i < f->spans.len; i++) {
		gap.to = s[i].begin;
		gap.thread = s[i].thread;
		if (gap.to > gap.from) {
			coati_kept_add_gap(f->t->kept, &gap);
			nr++;
		}
		gap.from = s[i].end > gap.from ? s[i].end : gap.from;
	}
	if (!f->spans.len || gap.from >= in->end)
		return nr;
	gap.to = in->end;
	coati_kept_add_gap(f->t->kept, &gap);
	return nr + 1;
}

/* One that ends, or is open at the end. Its breakdown is counted in the sum of its type, or not. */
static int keep_instance(struct fold *f, uint32_t at, uint64_t end, bool is_counted)
{
	const struct fold_task *task = &f->tasks.v[at];
	struct kept_instance in = { .begin = task->begin,
				    .end = end,
				    .id = task->id,
				    .parent = task->parent_id,
				    .pid = task->pid,
				    .number = task->number,
				    .thread = NONE,
				    .flags = task->flags,
				    .ledger.duration = end - task->begin };
	uint64_t parts = 0;
	int r = gather(f, at, end);

	if (r == 0)
		r = coati_ledger_spans(f->t, f->spans.v, f->spans.len, &in.ledger);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		parts += in.ledger.parts[i];
	f->t->info.wrong += is_counted && parts != in.ledger.duration;
	if (is_counted)
		coati_ledger_sum(&f->t->types.v[task->type].ledger, &in.ledger);
	in.nr_gaps = f->t->kept->for_why ? keep_gaps(f, &in) : 0;
	coati_kept_add_instance(f->t->kept, &in);
	return 0;
}

/* Tasks that only have themselves to count do not need their spans any more. */
static int finish(struct fold *f, uint32_t at, uint64_t end)
{
	struct fold_task *task = &f->tasks.v[at];
	uint64_t ns = end - task->begin;
	int r = coati_fold_count(f, task->type, task->flags, ns);

	if (fold_keeps_for_why(f))
		f->t->kept->tasks.v[task->number].end = end;
	if (r >= 0 && fold_keeps(f, task->type)) {
		r = keep_instance(f, at, end, r > 0);
		return r < 0 ? r : stop_workers(f, at, end);
	}
	if (r > 0)
		r = gather(f, at, end);
	else if (r == 0)
		return stop_workers(f, at, end);
	if (r == 0)
		r = add_ledger(f, &f->tasks.v[at], ns);
	return r < 0 ? r : stop_workers(f, at, end);
}

int coati_fold_end_task(struct fold *f, const struct coati_trace_event *e)
{
	uint64_t end;
	uint32_t at;
	int r = 0;

	if (!find_open(f, (int32_t)e->pid, e->id, &at)) {
		if (coati_idset_has(&f->ended, (int32_t)e->pid, e->id))
			return 0;
		r = add_unknown(f, e, &at);
	}
	if (r < 0 || f->tasks.v[at].ended)
		return r;
	end = e->time > f->tasks.v[at].begin ? e->time : f->tasks.v[at].begin;
	f->last_end = end > f->last_end ? end : f->last_end;
	r = finish(f, at, end);
	if (r < 0)
		return r;
	f->tasks.v[at].ended = true;
	return is_below_open(f, at) ? 0 : release(f, at);
}

int coati_fold_open_tasks(struct fold *f)
{
	uint64_t key, at;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && coati_map_next(&f->open, &pos, &key, &at)) {
		struct fold_task *task = &f->tasks.v[at];
		uint64_t end = f->t->info.end > task->begin ? f->t->info.end : task->begin;

		if (task->ended)
			continue;
		task->flags |= COATI_TIMELINE_OPEN_END;
		r = coati_fold_count(f, task->type, task->flags, 0);
		if (fold_keeps_for_why(f))
			f->t->kept->tasks.v[task->number].end = end;
		if (fold_keeps(f, task->type))
			r = keep_instance(f, (uint32_t)at, end, false);
	}
	return r;
}
