/* SPDX-License-Identifier: MIT */
/*
 * A trace from a certain time on. Events before it are taken and left out, so that the trace
 * knows what is open. The first event behind it has been taken, too, when that is asked: what it
 * changed is put right. Then come the tasks that were open, who worked on which, the regions, and
 * that event.
 */
#include <errno.h>

#include "live-read/reader-parts.h"
#include "live-read/reader.h"

static struct process *process_of(const struct coati_live_reader *t, uint32_t pid)
{
	uint64_t v;

	return coati_map_get(&t->by_pid, pid, &v) ? (struct process *)(uintptr_t)v : NULL;
}

static struct coati_trace_event *keep(struct coati_live_reader *t, uint32_t kind, uint32_t pid,
				      uint32_t tid)
{
	struct coati_trace_event *e = ARRAY_ADD(&t->kept);
	const struct process *p = process_of(t, pid);

	if (e)
		*e = (struct coati_trace_event){ .time = t->from_ns,
						 .kind = (uint16_t)kind,
						 .pid = pid,
						 .tid = tid,
						 .flags = COATI_TRACE_REOPENED,
						 .generation = p ? p->left_out : 0,
						 .duration = COATI_TRACE_NO_DURATION,
						 .text.text = "" };
	return e;
}

/* The task that a thread works on. */
static uint64_t scope_of(const struct coati_live_reader *t, uint32_t pid, uint32_t tid)
{
	const struct process *p = process_of(t, pid);
	uint64_t v;

	return p && coati_map_get(&p->streams, (uint64_t)tid << 16, &v)
		       ? ((const struct stream *)(uintptr_t)v)->task
		       : 0;
}

/* Of a region (id 0) or a task. */
static int keep_open(struct coati_live_reader *t, const struct coati_live_opened *o)
{
	struct coati_trace_event *e;

	if (o->began_ns >= t->from_ns)
		return 0;
	e = keep(t, o->id ? COATI_TRACE_TASK_BEGIN : COATI_TRACE_REGION_BEGIN, o->pid, o->tid);
	if (!e)
		return -ENOMEM;
	e->slot = (uint16_t)o->slot;
	e->depth = o->depth;
	e->site = o->site;
	e->id = o->id;
	e->parent = o->parent;
	e->task = o->id ? 0 : scope_of(t, o->pid, o->tid);
	e->duration = t->from_ns - o->began_ns;
	return 0;
}

/* What the first event ended was open until then. */
static int keep_ended(struct coati_live_reader *t, const struct coati_trace_event *first)
{
	struct coati_live_opened o = { .pid = first->pid,
				       .tid = first->tid,
				       .slot = first->slot,
				       .depth = first->depth,
				       .site = first->site,
				       .id = first->kind == COATI_TRACE_TASK_END ? first->id : 0,
				       .parent = first->parent,
				       .began_ns = first->time - first->duration };

	if (first->flags & COATI_TRACE_NO_BEGIN || first->duration == COATI_TRACE_NO_DURATION)
		return 0;
	return keep_open(t, &o);
}

/* The first event tells it itself. */
static bool is_told(const struct coati_trace_event *first, uint32_t kind, uint32_t pid)
{
	return first->kind == kind && first->pid == pid && !(first->flags & COATI_TRACE_KNOWN);
}

static int keep_tasks(struct coati_live_reader *t, const struct coati_trace_event *first)
{
	const struct coati_live_opened *open;
	uint32_t nr;
	int n = coati_live_reader_open_tasks(t, &open, &nr);

	for (uint32_t i = 0; i < nr && n == 0; i++)
		if (!is_told(first, COATI_TRACE_TASK_BEGIN, open[i].pid) || first->id != open[i].id)
			n = keep_open(t, &open[i]);
	if (n == 0 && first->kind == COATI_TRACE_TASK_END)
		n = keep_ended(t, first);
	return n;
}

/* Who works on which task. */
static int keep_scopes(struct coati_live_reader *t, const struct coati_trace_event *first)
{
	uint64_t key, value;

	for (size_t i = 0; i < t->processes.len; i++) {
		const struct process *p = t->processes.v[i];

		for (size_t pos = 0; coati_map_next(&p->streams, &pos, &key, &value);) {
			const struct stream *s = (const struct stream *)(uintptr_t)value;
			struct coati_trace_event *e;

			if (!s->task || s->slot ||
			    (first->kind == COATI_TRACE_TASK_ENTER && first->pid == p->pid &&
			     first->tid == s->tid))
				continue;
			e = keep(t, COATI_TRACE_TASK_ENTER, p->pid, s->tid);
			if (!e)
				return -ENOMEM;
			e->id = e->task = s->task;
		}
	}
	return 0;
}

static int keep_regions(struct coati_live_reader *t, const struct coati_trace_event *first)
{
	const struct coati_live_opened *open;
	uint32_t nr;
	int n = coati_live_reader_open_regions(t, &open, &nr);

	for (uint32_t i = 0; i < nr && n == 0; i++)
		if (!is_told(first, COATI_TRACE_REGION_BEGIN, open[i].pid) ||
		    first->tid != open[i].tid || first->slot != open[i].slot ||
		    first->depth != open[i].depth)
			n = keep_open(t, &open[i]);
	/* the innermost of its thread: behind the others */
	if (n == 0 && first->kind == COATI_TRACE_REGION_END)
		n = keep_ended(t, first);
	return n;
}

static int keep_resource(struct coati_live_reader *t, const struct process *p,
			 const struct open_resource *r, uint32_t state)
{
	struct coati_trace_event *e;

	if (r->began_ns >= t->from_ns)
		return 0;
	e = keep(t, COATI_TRACE_RESOURCE_NEW, p->pid, 0);
	if (!e)
		return -ENOMEM;
	e->type = coati_live_names_type(&p->names, r->type);
	e->type_id = (uint32_t)r->type;
	e->id = r->id;
	e->to = state;
	e->duration = t->from_ns - r->began_ns;
	return 0;
}

static int keep_resources(struct coati_live_reader *t, const struct coati_trace_event *first)
{
	uint64_t key, value;
	int n = 0;

	for (size_t i = 0; i < t->processes.len; i++) {
		const struct process *p = t->processes.v[i];
		struct open_resource ended = { first->type_id, first->id,
					       first->time - first->duration, 0, 0 };
		bool is_of = first->pid == p->pid;

		for (size_t pos = 0; n == 0 && coati_map_next(&p->resources, &pos, &key, &value);) {
			const struct open_resource *r =
				(const struct open_resource *)(uintptr_t)value;
			bool is_it = is_of && r->type == first->type_id && r->id == first->id;

			if (is_it && is_told(first, COATI_TRACE_RESOURCE_NEW, p->pid))
				continue;
			is_it = is_it && first->kind == COATI_TRACE_RESOURCE_SET;
			n = keep_resource(t, p, r, is_it ? first->from : r->state);
		}
		if (n == 0 && is_of && first->kind == COATI_TRACE_RESOURCE_END &&
		    first->duration != COATI_TRACE_NO_DURATION)
			n = keep_resource(t, p, &ended, first->from);
	}
	return n;
}

static int cross(struct coati_live_reader *t, const struct coati_trace_event *found)
{
	struct coati_trace_event first = *found, *e;
	int n = keep_tasks(t, &first);

	if (n == 0)
		n = keep_scopes(t, &first);
	if (n == 0)
		n = keep_regions(t, &first);
	if (n == 0)
		n = keep_resources(t, &first);
	e = n == 0 ? ARRAY_ADD(&t->kept) : NULL;
	if (!e)
		return -ENOMEM;
	*e = first;
	t->from_ns = 0;
	return 1;
}

/* Names and labels hold for what comes later. */
static bool lasts(const struct coati_trace_event *e)
{
	return e->kind == COATI_TRACE_THREAD_NAME || e->kind == COATI_TRACE_PROCESS_NAME ||
	       e->kind == COATI_TRACE_LABELS;
}

int coati_trace_next_clipped(struct coati_live_reader *t, const struct coati_trace_event **ret)
{
	const struct coati_trace_event *e;
	struct process *p;
	int n;

	while (t->from_ns) {
		n = coati_trace_next_of_all(t, &e);
		if (n <= 0)
			return n;
		p = process_of(t, e->pid);
		if (p)
			p->left_out = e->generation;
		if (e->time >= t->from_ns) {
			n = cross(t, e);
			if (n < 0)
				return n;
			break;
		}
		if (lasts(e)) {
			t->kept.len = t->kept_at = 0;
			if (!ARRAY_ADD(&t->kept))
				return -ENOMEM;
			t->kept.v[0] = *e;
			t->kept.v[0].time = t->from_ns;
			t->kept_at = 1;
			*ret = &t->kept.v[0];
			return 1;
		}
		t->quality.left_out++;
		t->quality.events--;
		if (e->kind == COATI_TRACE_LOST)
			t->quality.lost -= (uint64_t)e->number;
	}
	*ret = &t->kept.v[t->kept_at++];
	return 1;
}
