/* SPDX-License-Identifier: MIT */
/* From an event of a batch to one that is shown: names for numbers, nanoseconds for units, and what
 * follows from the events before it. */
#include <errno.h>
#include <string.h>

#include "live-read/reader-parts.h"
#include "live-read/reader.h"

_Static_assert((int)COATI_TRACE_REGION_BEGIN == LIVE_REGION_BEGIN &&
		       (int)COATI_TRACE_LABELS == LIVE_LABELS,
	       "what is shown as it is has the number that it has in a batch");

/* Looks once through the whole generation when something is not there: it may stand behind its
 * first use. */
static const struct live_blob *look_up(struct coati_live_reader *t, struct stream *s, uint64_t id,
				       bool is_stack)
{
	struct generation *g = s->queue.v[s->at]->generation;
	const struct live_blob *b = is_stack ? coati_live_table_stack(&g->table, id)
					     : coati_live_table_string(&g->table, id);

	if (b || g->scanned || coati_trace_scan(t, s->process, g) < 0)
		return b;
	return is_stack ? coati_live_table_stack(&g->table, id)
			: coati_live_table_string(&g->table, id);
}

static void set_text(struct coati_live_reader *t, struct stream *s, const struct live_text *text,
		     struct coati_trace_event *e)
{
	const struct live_blob *b;

	if (!text->is_ref) {
		e->text = (struct coati_trace_text){ text->text, text->size, text->size };
		return;
	}
	if (!text->ref)
		return; /* number 0 is the empty string */
	b = look_up(t, s, text->ref, false);
	if (!b) {
		e->flags |= COATI_TRACE_UNRESOLVED;
		return;
	}
	e->text = (struct coati_trace_text){ (const char *)b->bytes, b->size, b->full_size };
	if (b->full_size > b->size)
		e->flags |= COATI_TRACE_CUT;
}

static void set_stack(struct coati_live_reader *t, struct stream *s, uint64_t id,
		      struct coati_trace_event *e)
{
	const struct live_blob *b = id ? look_up(t, s, id, true) : NULL;
	struct live_event stack;
	uint32_t pos = 0;
	uint64_t address = 0;

	if (id && !b)
		e->flags |= COATI_TRACE_UNRESOLVED;
	if (!b)
		return;
	stack.rest = b->bytes;
	stack.rest_size = b->size;
	while (e->stack_count < LIVE_STACK_MAX && coati_live_stack_next(&stack, &pos, &address) > 0)
		t->stack[e->stack_count++] = address;
	e->stack = t->stack;
}

void coati_trace_show_stack(struct coati_live_reader *t, struct stream *s,
			    const struct live_event *stacked, struct coati_trace_event *e)
{
	set_stack(t, s, stacked->v[0], e);
	t->quality.unresolved += !!(e->flags & COATI_TRACE_UNRESOLVED) && !e->stack;
}

static void set_site(const struct stream *s, uint64_t id, struct coati_trace_event *e)
{
	e->site = live_names_site(&s->process->names, id);
	if (!e->site)
		e->flags |= COATI_TRACE_UNRESOLVED;
}

static void set_type(const struct stream *s, uint64_t type, uint64_t id,
		     struct coati_trace_event *e)
{
	e->type = coati_live_names_type(&s->process->names, type);
	e->type_id = (uint32_t)type;
	e->id = id;
	if (!e->type)
		e->flags |= COATI_TRACE_UNRESOLVED;
}

/* The age of something that a generation repeats. Returns its begin in clock units. */
static uint64_t set_age(const struct stream *s, uint64_t units, struct coati_trace_event *e)
{
	uint64_t base = s->queue.v[s->at]->view.head.base;
	uint64_t began = units < base ? base - units : 0;
	uint64_t began_ns = live_clock_ns(&s->clock, began);

	e->duration = began_ns < e->time ? e->time - began_ns : 0;
	e->flags |= COATI_TRACE_REOPENED;
	return began;
}

static uint64_t task_of(const struct stream *s)
{
	const struct stream *outer;
	uint64_t v;

	/* A handler that says nothing else works on what it interrupted. */
	if (s->task || s->slot != 1 ||
	    !coati_map_get(&s->process->streams, (uint64_t)s->tid << 16, &v))
		return s->task;
	outer = (const struct stream *)(uintptr_t)v;
	return outer->task;
}

static int show_task(struct stream *s, const struct live_event *raw, struct coati_trace_event *e)
{
	switch (raw->kind) {
	case LIVE_TASK_BEGIN:
	case LIVE_OPEN_TASK:
		e->kind = COATI_TRACE_TASK_BEGIN;
		set_site(s, raw->v[0], e);
		e->id = raw->v[1];
		e->parent = raw->v[2];
		if (raw->kind == LIVE_OPEN_TASK) {
			set_age(s, raw->v[3], e);
			e->tid = 0;
		}
		return coati_trace_task_begin(s->process, e);
	case LIVE_TASK_END:
		e->id = raw->v[0];
		coati_trace_task_end(s->process, e);
		return 0;
	default:
		e->id = s->task = raw->v[0];
		e->task = task_of(s);
		return 0;
	}
}

/* The state of a thread, reported by itself or by another. */
static int show_again(struct coati_live_reader *t, struct stream *s, const struct live_event *raw,
		      struct coati_trace_event *e)
{
	bool itself = s->slot < 2 && s->tid == (uint32_t)raw->v[0];
	struct stream *other = s;
	int n = itself ? 0
		       : coati_trace_stream(t, s->process, (uint64_t)(uint32_t)raw->v[0] << 16,
					    &other);

	if (n < 0)
		return n;
	coati_trace_take_back(other);
	e->tid = other->tid;
	e->slot = other->slot;
	other->plain = false;
	if (raw->kind == LIVE_OPEN_ENTER) {
		e->kind = COATI_TRACE_TASK_ENTER;
		e->flags |=
			COATI_TRACE_REOPENED | (other->task == raw->v[1] ? COATI_TRACE_KNOWN : 0);
		e->id = e->task = other->task = raw->v[1];
		other->telling = itself; /* no region is open but those that follow */
		other->told = 0;
		return 0;
	}
	e->kind = COATI_TRACE_REGION_BEGIN;
	e->task = task_of(other);
	set_site(s, raw->v[1], e);
	return coati_trace_region_again(other, raw->v[2], set_age(s, raw->v[3], e), e);
}

static int show_resource(struct coati_live_reader *t, struct stream *s,
			 const struct live_event *raw, struct coati_trace_event *e)
{
	set_type(s, raw->v[0], raw->v[1], e);
	if (raw->kind == LIVE_OPEN_RESOURCE) {
		e->kind = COATI_TRACE_RESOURCE_NEW;
		e->flags |= COATI_TRACE_REOPENED;
	}
	if (e->kind == COATI_TRACE_RESOURCE_SET) {
		e->from = (uint32_t)raw->v[2];
		e->to = (uint32_t)raw->v[3];
	} else if (e->kind == COATI_TRACE_RESOURCE_NEW) {
		e->to = (uint32_t)raw->v[2];
	}
	if (e->kind != COATI_TRACE_RESOURCE_END)
		set_text(t, s, &raw->text[0], e);
	return coati_trace_resource(s->process, e);
}

static void show_lost(struct coati_live_reader *t, const struct live_event *raw,
		      struct coati_trace_event *e)
{
	e->kind = COATI_TRACE_LOST;
	e->tid = (uint32_t)raw->v[0];
	e->slot = (uint16_t)raw->v[1];
	e->number = (int64_t)raw->v[2];
	e->id = raw->v[3];
	e->parent = raw->v[4];
	e->duration = raw->v[4] > raw->v[3] ? raw->v[4] - raw->v[3] : 0;
	t->quality.lost += raw->v[2];
}

static int show_value(struct coati_live_reader *t, struct stream *s, const struct live_event *raw,
		      struct coati_trace_event *e)
{
	set_site(s, raw->v[0], e);
	switch (raw->kind) {
	case LIVE_LOG:
		set_text(t, s, &raw->text[0], e);
		break;
	case LIVE_COUNTER:
		e->number = (int64_t)raw->v[1];
		break;
	case LIVE_GAUGE:
		e->real = raw->real;
		break;
	case LIVE_FLOW:
		e->id = raw->v[1];
		e->number = (int64_t)raw->v[2];
		break;
	default:
		e->bytes = raw->rest;
		e->bytes_size = raw->rest_size;
	}
	return 0;
}

static int show_about(struct coati_live_reader *t, struct stream *s, const struct live_event *raw,
		      struct coati_trace_event *e)
{
	switch (raw->kind) {
	case LIVE_THREAD_NAME:
		set_text(t, s, &raw->text[0], e);
		break;
	case LIVE_PROCESS_NAME:
		set_text(t, s, &raw->text[0], e);
		return coati_live_names_text(
			&s->process->names,
			&(struct live_text){ .text = e->text.text, .size = e->text.size },
			&s->process->info.name);
	case LIVE_SAMPLE:
		set_stack(t, s, raw->v[0], e);
		e->number = (int64_t)raw->v[1];
		break;
	default: /* LIVE_LABELS */
		e->bytes = raw->rest;
		e->bytes_size = raw->rest_size;
	}
	return 0;
}

static int show_range(struct stream *s, const struct live_event *raw, struct coati_trace_event *e)
{
	uint64_t began = live_clock_ns(&s->clock, raw->time - raw->v[1]);

	set_site(s, raw->v[0], e);
	e->duration = raw->v[1] <= raw->time && began < e->time ? e->time - began : 0;
	e->depth = (uint32_t)(s->regions.len + s->deeper);
	return 0;
}

int coati_trace_show_kind(struct coati_live_reader *t, struct stream *s,
			  const struct live_event *raw, struct coati_trace_event *e)
{
	switch (raw->kind) {
	case LIVE_REGION_BEGIN:
		set_site(s, raw->v[0], e);
		return coati_trace_region_begin(s, e);
	case LIVE_REGION_END:
		coati_trace_region_end(s, e);
		return 0;
	case LIVE_RANGE:
		return show_range(s, raw, e);
	case LIVE_TASK_BEGIN:
	case LIVE_TASK_END:
	case LIVE_TASK_ENTER:
	case LIVE_OPEN_TASK:
		return show_task(s, raw, e);
	case LIVE_OPEN_REGION:
	case LIVE_OPEN_ENTER:
		return show_again(t, s, raw, e);
	case LIVE_RESOURCE_NEW:
	case LIVE_RESOURCE_SET:
	case LIVE_RESOURCE_END:
	case LIVE_OPEN_RESOURCE:
		return show_resource(t, s, raw, e);
	case LIVE_LOST:
		show_lost(t, raw, e);
		return 0;
	case LIVE_LOG:
	case LIVE_COUNTER:
	case LIVE_GAUGE:
	case LIVE_FLOW:
	case LIVE_INSTANT:
		return show_value(t, s, raw, e);
	default:
		return show_about(t, s, raw, e);
	}
}

/* Definitions are learnt and not shown. */
static bool is_shown(uint8_t kind)
{
	return (kind >= LIVE_REGION_BEGIN && kind <= LIVE_LABELS) ||
	       (kind >= LIVE_OPEN_REGION && kind <= LIVE_LOST);
}

void coati_trace_blank(struct stream *s, const struct held *h)
{
	s->blank = (struct coati_trace_event){ .pid = s->process->pid,
					       .tid = s->tid,
					       .slot = s->slot < 2 ? s->slot : 0,
					       .generation = h->generation->number,
					       .error = s->clock.error_ns,
					       .duration = COATI_TRACE_NO_DURATION,
					       .text.text = "" };
	s->stale = UINT64_MAX;
	if (!h->generation->ended)
		s->blank.flags |= COATI_TRACE_INCOMPLETE;
}

/* No gap, no news, nothing repeated, a clock that is known, and a task of its own: what
 * set_identity() and the like would have to look at. */
void coati_trace_settle_plain(struct stream *s)
{
	s->plain = s->slot == 0 && !s->gap && !s->news && !s->telling && !s->process->after &&
		   !s->clock.unknown && !s->clock.is_open;
}

static void set_identity(struct coati_live_reader *t, struct stream *s, struct coati_trace_event *e)
{
	*e = s->blank;
	e->time = s->time;
	if (s->plain) {
		e->task = s->task;
		return;
	}
	e->task = task_of(s);
	e->flags |= s->news;
	s->news = 0;
	if (s->process->after)
		e->flags |= COATI_TRACE_NEW_PROCESS;
	s->process->after = false;
	if (s->clock.unknown)
		e->flags |= COATI_TRACE_CLOCK_UNKNOWN;
	if (s->clock.is_open) {
		e->error = live_clock_error(&s->clock, s->time);
		if (!s->clock.unknown && e->error > t->quality.clock_error_ns)
			t->quality.clock_error_ns = e->error;
	}
}

/* More than we follow: texts, threads, tasks, resources. */
static int leave_out(struct coati_live_reader *t, const struct held *h,
		     const struct live_event *raw)
{
	if (t->nr_streams >= t->max_streams)
		coati_trace_over(t, LIMIT_THREADS, t->max_streams);
	else
		coati_trace_damaged(t, h, raw->offset,
				    "its process has more texts or open tasks than are kept");
	return 0;
}

int coati_trace_show(struct coati_live_reader *t, struct stream *s, struct coati_trace_event *e)
{
	const struct held *h = s->queue.v[s->at];
	const struct live_event *raw = &s->event;
	int n;

	if (s->gap) {
		set_identity(t, s, e);
		e->kind = COATI_TRACE_MISSING;
		e->number = (int64_t)s->gap;
		return 1;
	}
	if (!is_shown(raw->kind)) {
		n = coati_live_table_add(&h->generation->table, raw);
		return n == -E2BIG ? leave_out(t, h, raw) : n;
	}
	set_identity(t, s, e);
	e->kind = raw->kind;
	if (s->telling && raw->kind != LIVE_OPEN_REGION)
		coati_trace_regions_told(s);
	n = coati_trace_show_kind(t, s, raw, e);
	if (n == -E2BIG)
		return leave_out(t, h, raw);
	if (n < 0)
		return n;
	t->quality.unresolved += !!(e->flags & COATI_TRACE_UNRESOLVED);
	return 1;
}
