/* SPDX-License-Identifier: MIT */
/* see live-events.h; here: events with fields or labels, counters, and resources with their
 * states. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "format/live-events.h"
#include "live-read/reader.h"

/* ---- fields and labels ---- */

struct args {
	ARRAY(struct live_arg) v;
};

static int read_fields(struct live *l, const struct coati_trace_event *e, struct args *a)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_field f;

	while (coati_live_reader_field_next(l->trace, e, &pos, &f) > 0) {
		struct live_arg *arg = ARRAY_ADD(&a->v);

		if (!arg)
			return -ENOMEM;
		*arg = (struct live_arg){ .name = coati_live_text(l, &f.name),
					  .text = f.letter == 's' ? coati_live_text(l, &f.text)
								  : "",
					  .number = f.number,
					  .real = f.real,
					  .letter = f.letter };
		if (!arg->name || !arg->text)
			return -ENOMEM;
	}
	return 0;
}

static int read_labels(struct live *l, const struct coati_trace_event *e, struct args *a)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_text key, value;

	while (coati_trace_label_next(e, &pos, &key, &value) > 0) {
		struct live_arg *arg = ARRAY_ADD(&a->v);

		if (!arg)
			return -ENOMEM;
		*arg = (struct live_arg){ .name = coati_live_text(l, &key),
					  .text = coati_live_text(l, &value),
					  .letter = 's' };
		if (!arg->name || !arg->text)
			return -ENOMEM;
	}
	return 0;
}

int coati_live_with_args(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	bool labels = e->kind == COATI_TRACE_LABELS;
	struct live_item *i = coati_live_add(l, e, labels ? ITEM_LABELS : ITEM_INSTANT, thread);
	struct args a = { .v.max = LIVE_ARGS_MAX };
	int r = i ? 0 : -ENOMEM;

	if (r == 0)
		r = labels ? read_labels(l, e, &a) : read_fields(l, e, &a);
	if (r == 0 && a.v.len) {
		i->args = a.v.v;
		i->nr_args = (uint16_t)a.v.len;
	}
	if (r == 0)
		r = coati_live_close(l, i);
	ARRAY_FINI(&a.v);
	return r;
}

/* ---- counters ---- */

static int find_counter(struct live *l, const struct live_item *i, uint32_t *ret)
{
	const struct live_thread *t = &l->threads.v[i->thread];
	const char *name = i->site ? i->site->name : "?";
	/* names are interned: the same text is the same place */
	uint64_t key = live_key((uint32_t)t->pid, (uint64_t)(uintptr_t)name, 1), known;
	struct live_counter *c;

	if (coati_map_get(&l->counter_index, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	c = ARRAY_ADD(&l->counters);
	if (!c)
		return -ENOMEM;
	*c = (struct live_counter){ .pid = t->pid,
				    .thread = i->thread,
				    .name = name,
				    .unit = i->site ? i->site->unit : "" };
	*ret = (uint32_t)(l->counters.len - 1);
	return coati_map_put(&l->counter_index, key, *ret) < 0 ? -ENOMEM : 0;
}

int coati_live_counter(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i;

	if (e->kind == COATI_TRACE_GAUGE && !isfinite(e->real)) {
		l->not_finite++;
		return 0;
	}
	i = coati_live_add(l, e, ITEM_COUNTER, thread);
	if (!i)
		return -ENOMEM;
	if (e->kind == COATI_TRACE_GAUGE)
		i->flags |= ITEM_IS_REAL;
	return find_counter(l, i, &i->place) < 0 ? -ENOMEM : coati_live_close(l, i);
}

/* ---- resources ---- */

static int find_resource(struct live *l, const struct coati_trace_event *e, uint32_t thread,
			 uint32_t *ret)
{
	uint64_t key = live_key(e->pid, e->type_id, e->id), known;
	struct live_resource *r;

	if (coati_map_get(&l->resource_index, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	r = ARRAY_ADD(&l->resources);
	if (!r)
		return -ENOMEM;
	*r = (struct live_resource){
		.pid = (int32_t)e->pid, .thread = thread, .id = e->id, .item = LIVE_NONE, .name = ""
	};
	r->type = e->type ? coati_live_text(l, &e->type->name) : "resource";
	if (e->kind == COATI_TRACE_RESOURCE_NEW)
		r->name = coati_live_text(l, &e->text);
	if (!r->type || !r->name)
		return -ENOMEM;
	*ret = (uint32_t)(l->resources.len - 1);
	return coati_map_put(&l->resource_index, key, *ret) < 0 ? -ENOMEM : 0;
}

static const char *state_name(struct live *l, const struct coati_trace_event *e)
{
	const char *name;

	if (e->type && e->to < e->type->nr_states)
		return coati_live_text(l, &e->type->states[e->to]);
	name = coati_arena_printf(&l->arena, "state %u", e->to);
	return name;
}

static int begin_state(struct live *l, const struct coati_trace_event *e, uint32_t thread,
		       uint32_t resource)
{
	struct live_item *i = coati_live_add(l, e, ITEM_STATE, thread);
	struct live_arg *reason;

	if (!i)
		return -ENOMEM;
	/* one that is repeated may have begun while another one was reported as current */
	i->begin = live_began(e);
	if (i->begin < l->resources.v[resource].since)
		i->begin = l->resources.v[resource].since;
	i->end = UINT64_MAX;
	i->place = resource;
	i->name = state_name(l, e);
	if (e->flags & COATI_TRACE_REOPENED)
		i->flags |= ITEM_OPEN_BEGIN;
	l->resources.v[resource].item = live_place(l, i);
	if (!i->name || e->kind != COATI_TRACE_RESOURCE_SET || !e->text.size)
		return i->name ? 0 : -ENOMEM;
	reason = coati_alloc(sizeof(*reason)); /* until the state ends */
	if (!reason)
		return -ENOMEM;
	*reason = (struct live_arg){ .name = "reason",
				     .text = coati_live_text(l, &e->text),
				     .letter = 's' };
	i->args = reason;
	i->nr_args = 1;
	return reason->text ? 0 : -ENOMEM;
}

int coati_live_state(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	uint32_t resource;
	int r;

	if (e->flags & COATI_TRACE_KNOWN)
		return 0;
	r = find_resource(l, e, thread, &resource);
	if (r == 0 && l->resources.v[resource].item != LIVE_NONE) {
		struct live_item *i = &l->open.v[l->resources.v[resource].item];

		i->end = e->time > i->begin ? e->time : i->begin;
		l->resources.v[resource].item = LIVE_NONE;
		l->resources.v[resource].since = i->end;
		r = coati_live_close(l, i);
	}
	if (r < 0 || e->kind == COATI_TRACE_RESOURCE_END)
		return r;
	return begin_state(l, e, thread, resource);
}
