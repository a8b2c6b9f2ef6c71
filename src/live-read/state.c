/* SPDX-License-Identifier: MIT */
/*
 * What is open in a process: the regions of each thread and slot, tasks, resources. Events come in,
 * and leave with what follows from those before them: how long it lasted, what it was called when
 * it began, whether it may be.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "live-read/reader-parts.h"

/* ---- regions ---- */

void coati_trace_forget(struct stream *s)
{
	s->regions.len = 0;
	s->deeper = 0;
	s->task = 0;
}

static uint32_t depth_of(const struct stream *s)
{
	uint64_t depth = s->regions.len + s->deeper;

	return depth > UINT32_MAX ? UINT32_MAX : (uint32_t)depth;
}

int coati_trace_region_begin(struct stream *s, struct coati_trace_event *e)
{
	struct open_region *r;

	e->depth = depth_of(s);
	if (s->deeper || s->regions.len == s->regions.max) {
		s->deeper++;
		return 0;
	}
	r = s->regions.len < s->regions.cap ? &s->regions.v[s->regions.len++]
					    : ARRAY_ADD(&s->regions);
	if (!r)
		return -ENOMEM;
	*r = (struct open_region){ e->site, e->time, s->event.time };
	return 0;
}

void coati_trace_region_end(struct stream *s, struct coati_trace_event *e)
{
	const struct open_region *r;

	if (s->deeper) {
		s->deeper--;
		e->depth = depth_of(s);
		return;
	}
	if (!s->regions.len) {
		e->flags |= COATI_TRACE_NO_BEGIN;
		return;
	}
	r = &s->regions.v[--s->regions.len];
	e->site = r->site;
	e->depth = depth_of(s);
	e->duration = e->time - r->began_ns;
}

/* Known ones that were not repeated have ended where it was not recorded. */
void coati_trace_regions_told(struct stream *s)
{
	if (s->told < s->regions.len)
		s->regions.len = s->told;
	s->deeper = 0;
	s->telling = false;
}

int coati_trace_region_again(struct stream *s, uint64_t depth, uint64_t began,
			     struct coati_trace_event *e)
{
	struct open_region *r;

	/* those for whose begin there was no room are left out, and have no end either */
	if (s->telling)
		depth = s->told;
	e->flags |= COATI_TRACE_REOPENED;
	e->depth = depth > UINT32_MAX ? UINT32_MAX : (uint32_t)depth;
	if (depth >= s->regions.max)
		return 0;
	if (depth < s->regions.len) {
		r = &s->regions.v[depth];
		if (r->site == e->site && r->began_units == began) {
			e->flags |= COATI_TRACE_KNOWN;
			e->duration = e->time - r->began_ns;
		}
	}
	while (s->regions.len <= depth)
		if (!ARRAY_ADD(&s->regions))
			return -ENOMEM;
	if (!(e->flags & COATI_TRACE_KNOWN))
		s->regions.v[depth] = (struct open_region){ e->site, e->time - e->duration, began };
	s->told = (uint32_t)depth + 1;
	s->telling = true;
	return 0;
}

/* ---- tasks ---- */

static struct open_task *find_task(const struct process *p, uint64_t id)
{
	uint64_t v;

	return coati_map_get(&p->tasks, id, &v) ? (struct open_task *)(uintptr_t)v : NULL;
}

int coati_trace_task_begin(struct process *p, struct coati_trace_event *e)
{
	bool again = e->flags & COATI_TRACE_REOPENED;
	struct open_task *task = find_task(p, e->id);
	int n;

	if (task && again) {
		e->flags |= COATI_TRACE_KNOWN;
		return 0;
	}
	if (!task) {
		task = p->spare ? p->spare : coati_alloc(sizeof(*task));
		p->spare = NULL;
		n = task ? coati_map_put(&p->tasks, e->id, (uint64_t)(uintptr_t)task) : -ENOMEM;
		if (n < 0) {
			coati_free(task);
			return n;
		}
	}
	*task = (struct open_task){ e->id, e->parent, again ? e->time - e->duration : e->time,
				    e->site, e->tid };
	return 0;
}

void coati_trace_task_end(struct process *p, struct coati_trace_event *e)
{
	struct open_task *task = find_task(p, e->id);

	if (!task) {
		e->flags |= COATI_TRACE_NO_BEGIN;
		return;
	}
	e->site = task->site;
	e->parent = task->parent;
	e->duration = e->time - task->began_ns;
	coati_map_del(&p->tasks, e->id);
	coati_free(p->spare);
	p->spare = task;
}

/* ---- resources ---- */

static uint64_t resource_key(const struct coati_trace_event *e)
{
	return e->id ^ (uint64_t)e->type_id << 48;
}

static struct open_resource *find_resource(const struct process *p,
					   const struct coati_trace_event *e)
{
	struct open_resource *r;
	uint64_t v;

	if (!coati_map_get(&p->resources, resource_key(e), &v))
		return NULL;
	r = (struct open_resource *)(uintptr_t)v;
	return r->type == e->type_id && r->id == e->id ? r : NULL;
}

static int add_resource(struct process *p, struct coati_trace_event *e)
{
	struct open_resource *r = find_resource(p, e);
	uint64_t began = e->time;
	int n;

	if (r && e->flags & COATI_TRACE_REOPENED && r->state == e->to) {
		e->flags |= COATI_TRACE_KNOWN;
		e->duration = e->time - r->began_ns;
		return 0;
	}
	if (r) {
		began = e->flags & COATI_TRACE_REOPENED ? r->began_ns : e->time;
	} else {
		uint64_t old;

		if (coati_map_get(&p->resources, resource_key(e), &old))
			/* two that share a key by their maker's choice: the first is followed */
			return 0;
		r = coati_alloc(sizeof(*r));
		n = r ? coati_map_put(&p->resources, resource_key(e), (uint64_t)(uintptr_t)r)
		      : -ENOMEM;
		if (n < 0) {
			coati_free(r);
			return n;
		}
	}
	*r = (struct open_resource){ e->type_id, e->id, began, e->time, e->to };
	return 0;
}

static bool is_legal(const struct coati_trace_event *e)
{
	const struct coati_trace_type *t = e->type;

	return !t ||
	       (e->from < t->nr_states && e->to < t->nr_states && t->next[e->from] >> e->to & 1);
}

static void set_resource(struct open_resource *r, struct coati_trace_event *e)
{
	if (!is_legal(e) || (r && r->state != e->from))
		e->flags |= COATI_TRACE_ILLEGAL;
	if (!r) {
		e->flags |= COATI_TRACE_NO_BEGIN;
		return;
	}
	e->duration = e->time - r->since_ns;
	r->state = e->to;
	r->since_ns = e->time;
}

static void end_resource(struct process *p, struct open_resource *r, struct coati_trace_event *e)
{
	if (!r) {
		e->flags |= COATI_TRACE_NO_BEGIN;
		return;
	}
	e->from = r->state;
	e->duration = e->time - r->began_ns;
	coati_map_del(&p->resources, resource_key(e));
	coati_free(r);
}

int coati_trace_resource(struct process *p, struct coati_trace_event *e)
{
	if (e->kind == COATI_TRACE_RESOURCE_NEW)
		return add_resource(p, e);
	if (e->kind == COATI_TRACE_RESOURCE_SET)
		set_resource(find_resource(p, e), e);
	else
		end_resource(p, find_resource(p, e), e);
	return 0;
}

static void free_all(struct map *m)
{
	uint64_t key, value;

	for (size_t pos = 0; coati_map_next(m, &pos, &key, &value);)
		coati_free((void *)(uintptr_t)value);
	coati_map_fini(m);
}

void coati_trace_state_free(struct process *p)
{
	free_all(&p->tasks);
	coati_free(p->spare);
	p->spare = NULL;
	free_all(&p->resources);
}
