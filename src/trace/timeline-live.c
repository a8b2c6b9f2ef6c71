/* SPDX-License-Identifier: MIT */
/*
 * What the program tells of itself: tasks, who works on them, regions, logs, labels. Kept as it
 * comes, by thread; what follows from all of it together (which task a region belongs to, how deep
 * it lies, who worked on a task when) is found at the end.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

static int no_room(size_t len, size_t max)
{
	return len >= max ? -E2BIG : -ENOMEM;
}

/* ---- types ---- */

int coati_timeline_need_type(struct coati_timeline *t, const char *name, bool is_region,
			     uint32_t *ret)
{
	struct map *index = is_region ? &t->region_types : &t->task_types;
	struct task_type *type;
	uint64_t at;
	int r;

	if (coati_map_get_str(index, name, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	type = ARRAY_ADD(&t->types);
	if (!type)
		return no_room(t->types.len, t->types.max);
	*type = (struct task_type){ .name = name, .is_region = is_region };
	*ret = (uint32_t)t->types.len - 1;
	r = coati_map_put_str(index, name, *ret);
	return r < 0 ? r : 0;
}

/* ---- tasks ---- */

static int add_task(struct coati_timeline *t, const struct coati_timeline_event *e,
		    const char *name, uint32_t *ret)
{
	struct task *task = ARRAY_ADD(&t->tasks);
	uint32_t type = 0;
	int r;

	if (!task)
		return no_room(t->tasks.len, t->tasks.max);
	name = coati_timeline_text(t, name && *name ? name : TIMELINE_UNNAMED);
	r = name ? coati_timeline_need_type(t, name, false, &type) : -ENOMEM;
	if (r == 0)
		r = coati_map_put(&t->task_ids, timeline_task_key(e->pid, e->id), t->tasks.len - 1);
	if (r < 0) {
		t->tasks.len--;
		return r;
	}
	*task = (struct task){ .id = e->id,
			       .parent_id = e->parent,
			       .pid = e->pid,
			       .type = type,
			       .begin = e->time,
			       .flags = e->flags & COATI_TIMELINE_AGAIN ? COATI_TIMELINE_OPEN_BEGIN
									: 0,
			       .begin_thread = COATI_TIMELINE_NONE,
			       .end_thread = COATI_TIMELINE_NONE,
			       .first_child = COATI_TIMELINE_NONE,
			       .next_child = COATI_TIMELINE_NONE };
	*ret = (uint32_t)t->tasks.len - 1;
	return 0;
}

static bool find_task(const struct coati_timeline *t, int32_t pid, uint64_t id, uint32_t *ret)
{
	uint64_t at;

	if (!coati_map_get(&t->task_ids, timeline_task_key(pid, id), &at))
		return false;
	*ret = (uint32_t)at;
	return true;
}

static int begin_task(struct coati_timeline *t, const struct thread *th,
		      const struct coati_timeline_event *e)
{
	uint32_t at;
	int r;

	if (!find_task(t, e->pid, e->id, &at)) {
		r = add_task(t, e, e->text, &at);
		/* a repeated begin carries the thread that repeats it, not the one that began it */
		if (r == 0 && !(e->flags & COATI_TIMELINE_AGAIN))
			t->tasks.v[at].begin_thread = (uint32_t)(th - t->threads.v);
		return r;
	}
	/* repeated in a later generation; or reported late, after a thread worked on it */
	t->info.unpaired += !(e->flags & COATI_TIMELINE_AGAIN);
	return 0;
}

/* Its begin was not recorded: it was before the recording. */
static int add_unknown(struct coati_timeline *t, const struct coati_timeline_event *e,
		       uint32_t *ret)
{
	struct coati_timeline_event begun = *e;
	int r;

	begun.time = t->info.begin;
	begun.flags = COATI_TIMELINE_AGAIN;
	begun.parent = 0;
	r = add_task(t, &begun, NULL, ret);
	if (r == 0)
		t->tasks.v[*ret].flags |= COATI_TIMELINE_BEGIN_UNKNOWN;
	return r;
}

static int end_task(struct coati_timeline *t, const struct thread *th,
		    const struct coati_timeline_event *e)
{
	uint32_t at;
	int r = 0;

	if (!find_task(t, e->pid, e->id, &at))
		r = add_unknown(t, e, &at);
	if (r < 0)
		return r;
	if (!t->tasks.v[at].ended) {
		struct task *task = &t->tasks.v[at];

		task->ended = true;
		task->end_thread = (uint32_t)(th - t->threads.v);
		task->end = e->time > task->begin ? e->time : task->begin;
	}
	return 0;
}

static int enter_task(struct coati_timeline *t, struct thread *th,
		      const struct coati_timeline_event *e)
{
	uint32_t at = COATI_TIMELINE_NONE;
	struct mark *m;
	int r = 0;

	if (e->id && !find_task(t, e->pid, e->id, &at))
		r = add_unknown(t, e, &at);
	if (r < 0)
		return r;
	m = th->works.len ? &th->works.v[th->works.len - 1] : NULL;
	if (m && m->task == at)
		return 0;
	m = ARRAY_ADD(&th->works);
	if (!m)
		return no_room(th->works.len, th->works.max);
	*m = (struct mark){ .time = e->time, .task = at };
	return 0;
}

/* ---- regions ---- */

static int add_region(struct coati_timeline *t, struct thread *th, struct region g,
		      const char *name)
{
	struct region *new = ARRAY_ADD(&th->regions);
	uint32_t unused;
	int r;

	if (!new)
		return no_room(th->regions.len, th->regions.max);
	g.name = coati_timeline_text(t, name && *name ? name : TIMELINE_UNNAMED);
	r = g.name ? coati_timeline_need_type(t, g.name, true, &unused) : -ENOMEM;
	if (r < 0) {
		th->regions.len--;
		return r;
	}
	*new = g;
	return 0;
}

static int begin_region(struct coati_timeline *t, struct thread *th,
			const struct coati_timeline_event *e)
{
	struct region g = { .begin = e->time, .flags = COATI_TIMELINE_OPEN_END };
	uint32_t *open;
	int r;

	if (e->flags & COATI_TIMELINE_AGAIN)
		g.flags |= COATI_TIMELINE_OPEN_BEGIN;
	r = add_region(t, th, g, e->text);
	if (r < 0)
		return r;
	open = ARRAY_ADD(&th->open);
	if (!open)
		return no_room(th->open.len, th->open.max);
	*open = (uint32_t)th->regions.len - 1;
	return 0;
}

static int end_region(struct coati_timeline *t, struct thread *th,
		      const struct coati_timeline_event *e)
{
	struct region *g;

	if (!th->open.len) {
		t->info.unpaired++;
		return 0;
	}
	g = &th->regions.v[th->open.v[--th->open.len]];
	g->end = e->time > g->begin ? e->time : g->begin;
	g->flags &= ~COATI_TIMELINE_OPEN_END;
	return 0;
}

static int add_range(struct coati_timeline *t, struct thread *th,
		     const struct coati_timeline_event *e)
{
	struct region g = { .begin = e->number < e->time ? e->time - e->number : 0,
			    .end = e->time };

	return add_region(t, th, g, e->text);
}

/* ---- the rest ---- */

static int add_log(struct coati_timeline *t, struct thread *th,
		   const struct coati_timeline_event *e)
{
	struct log_line *l = ARRAY_ADD(&th->logs);

	if (!l)
		return no_room(th->logs.len, th->logs.max);
	*l = (struct log_line){ .time = e->time, .text = coati_timeline_text(t, e->text) };
	return l->text ? 0 : -ENOMEM;
}

static int set_labels(struct coati_timeline *t, struct thread *th,
		      const struct coati_timeline_event *e)
{
	struct mark *m = ARRAY_ADD(&th->labels);

	if (!m)
		return no_room(th->labels.len, th->labels.max);
	*m = (struct mark){ .time = e->time, .text = coati_timeline_text(t, e->text) };
	return m->text ? 0 : -ENOMEM;
}

int coati_timeline_add_live(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	struct thread *th = coati_timeline_need_live_thread(t, e->pid, e->tid, e->time);

	t->info.has |= COATI_TIMELINE_HAS_LIVE;
	if (!th)
		return coati_timeline_no_thread(t);
	t->info.live_events += e->kind != COATI_TIMELINE_LIVE_LOST;
	switch (e->kind) {
	case COATI_TIMELINE_TASK_BEGIN:
		return begin_task(t, th, e);
	case COATI_TIMELINE_TASK_END:
		return end_task(t, th, e);
	case COATI_TIMELINE_TASK_ENTER:
		return enter_task(t, th, e);
	case COATI_TIMELINE_REGION_BEGIN:
		return begin_region(t, th, e);
	case COATI_TIMELINE_REGION_END:
		return end_region(t, th, e);
	case COATI_TIMELINE_RANGE:
		return add_range(t, th, e);
	case COATI_TIMELINE_LABELS:
		return set_labels(t, th, e);
	case COATI_TIMELINE_LOG:
		return add_log(t, th, e);
	default:
		t->info.live_lost += e->number;
		return 0;
	}
}

/* ---- the end ---- */

size_t coati_timeline_mark_at(const struct mark *marks, size_t nr, uint64_t time)
{
	size_t low = SEARCH(mid, 0, nr, marks[mid].time <= time);

	return low ? low - 1 : SIZE_MAX;
}

uint32_t coati_timeline_work_at(const struct thread *th, uint64_t time)
{
	size_t i = coati_timeline_mark_at(th->works.v, th->works.len, time);

	return i == SIZE_MAX ? COATI_TIMELINE_NONE : th->works.v[i].task;
}

/* Outer ones first: by beginning, the longer first. */
static int by_begin(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return 0;
}

static int settle_regions(struct thread *th)
{
	for (size_t i = 0; i < th->regions.len; i++) {
		struct region *g = &th->regions.v[i];

		if (g->flags & COATI_TIMELINE_OPEN_END)
			g->end = th->end > g->begin ? th->end : g->begin;
	}
	if (th->regions.len)
		qsort(th->regions.v, th->regions.len, sizeof(*th->regions.v), by_begin);
	th->open.len = 0;
	for (size_t i = 0; i < th->regions.len; i++) {
		struct region *g = &th->regions.v[i];
		uint32_t *open;

		while (th->open.len && th->regions.v[th->open.v[th->open.len - 1]].end <= g->begin)
			th->open.len--;
		g->depth = (uint32_t)th->open.len;
		g->task = coati_timeline_work_at(th, g->begin);
		open = ARRAY_ADD(&th->open);
		if (!open)
			return no_room(th->open.len, th->open.max);
		*open = (uint32_t)i;
	}
	return 0;
}

static int add_span(struct coati_timeline *t, uint32_t thread, const struct mark *m, uint64_t end)
{
	const struct task *task = &t->tasks.v[m->task];
	uint64_t begin = m->time > task->begin ? m->time : task->begin;
	struct span *s;

	if (end > task->end)
		end = task->end;
	if (end <= begin)
		return 0;
	s = ARRAY_ADD(&t->spans);
	if (!s)
		return no_room(t->spans.len, t->spans.max);
	*s = (struct span){ .begin = begin, .end = end, .thread = thread, .task = m->task };
	return 0;
}

static int add_spans(struct coati_timeline *t, uint32_t thread)
{
	const struct thread *th = &t->threads.v[thread];
	int r = 0;

	for (size_t i = 0; r == 0 && i < th->works.len; i++)
		if (th->works.v[i].task != COATI_TIMELINE_NONE)
			r = add_span(t, thread, &th->works.v[i],
				     i + 1 < th->works.len ? th->works.v[i + 1].time : th->end);
	return r;
}

static int by_task(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void settle_tasks(struct coati_timeline *t)
{
	for (uint32_t i = 0; i < t->tasks.len; i++) {
		struct task *task = &t->tasks.v[i];
		uint32_t parent;

		if (!task->ended) {
			task->flags |= COATI_TIMELINE_OPEN_END;
			task->end = t->info.end > task->begin ? t->info.end : task->begin;
		}
		/* a parent is older than its children, so that no task is its own ancestor */
		if (task->parent_id && find_task(t, task->pid, task->parent_id, &parent) &&
		    parent < i) {
			task->next_child = t->tasks.v[parent].first_child;
			t->tasks.v[parent].first_child = i;
		}
	}
}

int coati_timeline_end_live(struct coati_timeline *t)
{
	int r = 0;

	settle_tasks(t);
	for (uint32_t i = 0; r == 0 && i < t->threads.len; i++) {
		r = settle_regions(&t->threads.v[i]);
		if (r == 0)
			r = add_spans(t, i);
	}
	if (r < 0 && r != -E2BIG)
		return r;
	t->info.refused += r == -E2BIG;
	if (t->spans.len)
		qsort(t->spans.v, t->spans.len, sizeof(*t->spans.v), by_task);
	for (uint32_t i = 0; i < t->spans.len; i++) {
		struct task *task = &t->tasks.v[t->spans.v[i].task];

		if (!task->nr_spans++)
			task->first_span = i;
	}
	return 0;
}

/* ---- asking ---- */

int coati_timeline_region(const struct coati_timeline *t, uint32_t thread, uint32_t i,
			  struct coati_timeline_region *ret)
{
	const struct thread *th = thread < t->threads.len ? &t->threads.v[thread] : NULL;
	const struct region *g;

	if (!th || i >= th->regions.len)
		return -ENOENT;
	g = &th->regions.v[i];
	*ret = (struct coati_timeline_region){ .begin = g->begin,
					       .end = g->end,
					       .name = g->name,
					       .thread = thread,
					       .depth = g->depth,
					       .task = g->task,
					       .flags = g->flags };
	return 0;
}

int coati_timeline_log(const struct coati_timeline *t, uint32_t thread, uint32_t i,
		       struct coati_timeline_log *ret)
{
	const struct thread *th = thread < t->threads.len ? &t->threads.v[thread] : NULL;

	if (!th || i >= th->logs.len)
		return -ENOENT;
	*ret = (struct coati_timeline_log){ .time = th->logs.v[i].time,
					    .text = th->logs.v[i].text,
					    .thread = thread,
					    .task = coati_timeline_work_at(th,
									   th->logs.v[i].time) };
	return 0;
}

uint32_t coati_timeline_task_count(const struct coati_timeline *t)
{
	return (uint32_t)t->tasks.len;
}

int coati_timeline_task(const struct coati_timeline *t, uint32_t i, struct coati_timeline_task *ret)
{
	const struct task *task;

	if (i >= t->tasks.len)
		return -ENOENT;
	task = &t->tasks.v[i];
	*ret = (struct coati_timeline_task){ .id = task->id,
					     .parent = task->parent_id,
					     .pid = task->pid,
					     .type = task->type,
					     .name = t->types.v[task->type].name,
					     .begin = task->begin,
					     .end = task->end,
					     .flags = task->flags,
					     .nr_spans = task->nr_spans,
					     .begin_thread = task->begin_thread,
					     .end_thread = task->end_thread };
	return 0;
}

uint32_t coati_timeline_find_task(const struct coati_timeline *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->tasks.len; i++)
		if (t->tasks.v[i].id == id)
			return i;
	return COATI_TIMELINE_NONE;
}

int coati_timeline_span(const struct coati_timeline *t, uint32_t task, uint32_t i,
			struct coati_timeline_span *ret)
{
	const struct span *s;

	if (task >= t->tasks.len || i >= t->tasks.v[task].nr_spans)
		return -ENOENT;
	s = &t->spans.v[t->tasks.v[task].first_span + i];
	*ret = (struct coati_timeline_span){
		.begin = s->begin, .end = s->end, .thread = s->thread, .task = s->task
	};
	return 0;
}
