/* SPDX-License-Identifier: MIT */
/* see live-events.h; here: what an event becomes; live-things.c has fields, counters and
 * resources. */
#include "format/live-events.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "format/text.h"
#include "live-read/reader.h"
#include "reading/parts.h"

#define TABLE_MAX   ((size_t)1 << 24)
#define OPEN_MAX    ((size_t)1 << 16) /* regions of one thread, in each other */
#define ARENA_BYTES ((size_t)2 << 30)
#define TEXT_BYTES  ((size_t)64 << 20)

/* ---- texts and places ---- */

static void add_clean(struct strbuf *s, const struct coati_trace_text *t)
{
	const char *at = t->text, *end = at + t->size;

	while (at < end) {
		const char *zero = memchr(at, 0, (size_t)(end - at));
		size_t len = (size_t)((zero ? zero : end) - at);

		coati_format_text_bytes(s, at, len);
		if (zero)
			coati_strbuf_adds(s, UTF8_REPLACEMENT);
		at += len + (zero != NULL);
	}
}

static const char *intern(struct live *l, const char *text)
{
	uint64_t known;
	char *copy;

	if (coati_map_get_str(&l->strings, text, &known))
		return (const char *)(uintptr_t)known;
	copy = coati_arena_strdup(&l->arena, text);
	if (copy && coati_map_put_str(&l->strings, copy, (uint64_t)(uintptr_t)copy) < 0)
		return NULL;
	return copy;
}

const char *coati_live_text(struct live *l, const struct coati_trace_text *t)
{
	if (!t->size)
		return "";
	coati_strbuf_clear(&l->text);
	add_clean(&l->text, t);
	return l->text.failed ? NULL : intern(l, l->text.text);
}

static int fill_site(struct live *l, struct live_site *s, const struct coati_trace_site *from)
{
	s->name = coati_live_text(l, &from->name);
	s->category = coati_live_text(l, &from->category);
	s->file = coati_live_text(l, &from->file);
	s->function = coati_live_text(l, &from->function);
	s->unit = coati_live_text(l, &from->fields); /* of counters */
	s->line = from->line;
	return s->name && s->category && s->file && s->function && s->unit ? 0 : -ENOMEM;
}

/* Ours of theirs, which stays where it is as long as the trace does. */
static int find_site(struct live *l, const struct coati_trace_site *from,
		     const struct live_site **ret)
{
	uint64_t known;
	struct live_site *s, **slot;

	*ret = NULL;
	if (!from)
		return 0;
	if (coati_map_get(&l->site_index, (uint64_t)(uintptr_t)from, &known)) {
		*ret = l->sites.v[known];
		return 0;
	}
	s = coati_arena_alloc(&l->arena, sizeof(*s));
	slot = s ? ARRAY_ADD(&l->sites) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = s;
	s->number = (uint32_t)(l->sites.len - 1);
	if (fill_site(l, s, from) < 0 ||
	    coati_map_put(&l->site_index, (uint64_t)(uintptr_t)from, s->number) < 0)
		return -ENOMEM;
	*ret = s;
	return 0;
}

/* ---- threads ---- */

static uint64_t task_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* Does the filter want it? By the names that it has now. */
static bool passes(struct live *l, const struct live_thread *t)
{
	struct coati_processes *ps = coati_profile_processes(l->profile, l->file);
	struct coati_thread_info info = { .comm = "", .process_comm = "" };
	struct coati_profile_thread thread = { .file = l->file, .pid = t->pid, .tid = t->tid };

	if (ps)
		coati_processes_thread(ps, t->pid, t->tid, t->first, &info);
	thread.comm = info.comm;
	thread.process_comm = info.process_comm ? info.process_comm : info.comm;
	return coati_conditions_thread(&l->conditions, &thread);
}

int coati_live_thread(struct live *l, uint32_t pid, uint32_t tid, uint64_t time, uint32_t *ret)
{
	uint64_t key = task_of(pid, tid), known;
	struct live_thread *t;

	if (coati_map_get(&l->thread_index, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	t = ARRAY_ADD(&l->threads);
	if (!t)
		return -ENOMEM;
	t->pid = (int32_t)pid;
	t->tid = (int32_t)tid;
	t->file = l->file;
	t->first = time;
	t->open[0].max = t->open[1].max = OPEN_MAX;
	t->passes = passes(l, t);
	*ret = (uint32_t)(l->threads.len - 1);
	return coati_map_put(&l->thread_index, key, *ret) < 0 ||
			       coati_map_put(&l->tids, tid, *ret) < 0
		       ? -ENOMEM
		       : 0;
}

/* ---- items ---- */

/* A place for one more: one that is free, or a new one. */
static struct live_item *find_place(struct live *l)
{
	struct live_item *i;

	if (l->free == LIVE_NONE)
		return ARRAY_ADD(&l->open);
	i = &l->open.v[l->free];
	l->free = i->order;
	*i = (struct live_item){ 0 };
	return i;
}

struct live_item *coati_live_add(struct live *l, const struct coati_trace_event *e,
				 enum live_item_kind kind, uint32_t thread)
{
	struct live_item *i = NULL;

	l->is_full = l->nr_items >= l->max_items;
	if (!l->is_full)
		i = find_place(l);
	if (!i)
		return NULL;
	i->kind = kind & 15;
	i->begin = i->end = e->time;
	i->id = e->id;
	if (kind == ITEM_TASK)
		i->parent = e->parent;
	else if (e->kind == COATI_TRACE_GAUGE)
		i->real = e->real;
	else
		i->number = e->number;
	i->name = "";
	i->thread = thread;
	i->place = LIVE_NONE;
	i->order = (uint32_t)l->nr_items++;
	if (e->flags & COATI_TRACE_CLOCK_UNKNOWN)
		i->flags |= ITEM_CLOCK_UNKNOWN;
	if (e->flags & COATI_TRACE_CUT)
		i->flags |= ITEM_CUT;
	if (e->flags & COATI_TRACE_ILLEGAL)
		i->flags |= ITEM_ILLEGAL;
	if (e->slot)
		i->flags |= ITEM_HANDLER;
	if (l->threads.v[thread].passes)
		i->flags |= ITEM_WANTED;
	return find_site(l, e->site, &i->site) < 0 ? NULL : i;
}

int coati_live_close(struct live *l, struct live_item *i)
{
	int r = i->flags & ITEM_WANTED ? coati_runs_add(&l->runs, i) : 0;

	if (i->begin < l->first_begin)
		l->first_begin = i->begin;
	if (i->end > l->last_time)
		l->last_time = i->end;
	if (i->kind == ITEM_STATE && i->nr_args)
		coati_free((void *)(uintptr_t)i->args);
	*i = (struct live_item){ .kind = ITEM_KINDS, .order = l->free };
	l->free = live_place(l, i);
	return r;
}

/* It ends now; @flags are added. */
static int end_item(struct live *l, struct live_item *i, uint64_t time, uint8_t flags)
{
	i->end = time > i->begin ? time : i->begin;
	i->flags |= flags;
	return coati_live_close(l, i);
}

/* What is open from depth @depth on ends now, without an event of its own. */
static int close_regions(struct live *l, struct live_thread *t, const struct coati_trace_event *e,
			 uint32_t depth)
{
	unsigned int slot = e->slot & 1;
	int r = 0;

	while (r == 0 && t->open[slot].len > depth)
		r = end_item(l, &l->open.v[t->open[slot].v[--t->open[slot].len]], e->time,
			     ITEM_OPEN_END);
	return r;
}

static int begin_region(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_thread *t = &l->threads.v[thread];
	struct live_item *i;
	uint32_t *slot;
	int r;

	if (e->flags & COATI_TRACE_KNOWN)
		return 0;
	r = close_regions(l, t, e, e->depth);
	if (r < 0 || t->open[e->slot & 1].len >= OPEN_MAX)
		return r; /* it would not be visible */
	i = coati_live_add(l, e, ITEM_REGION, thread);
	slot = i ? ARRAY_ADD(&t->open[e->slot & 1]) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = live_place(l, i);
	i->begin = live_began(e);
	i->end = UINT64_MAX;
	if (e->flags & COATI_TRACE_REOPENED)
		i->flags |= ITEM_OPEN_BEGIN;
	return 0;
}

/* The innermost that began when this one says. */
static int end_region(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_thread *t = &l->threads.v[thread];
	unsigned int slot = e->slot & 1;
	int r = 0;

	if (e->flags & COATI_TRACE_NO_BEGIN || !t->open[slot].len) {
		l->no_begin++;
		return 0;
	}
	if (e->depth + 1 < t->open[slot].len)
		r = close_regions(l, t, e, e->depth + 1);
	if (r < 0)
		return r;
	return end_item(l, &l->open.v[t->open[slot].v[--t->open[slot].len]], e->time, 0);
}

static int add_range(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i = coati_live_add(l, e, ITEM_REGION, thread);

	if (!i)
		return -ENOMEM;
	i->begin = live_began(e);
	return coati_live_close(l, i);
}

static int begin_task(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i;

	if (e->flags & COATI_TRACE_KNOWN)
		return 0;
	i = coati_live_add(l, e, ITEM_TASK, thread);
	if (!i)
		return -ENOMEM;
	i->begin = live_began(e);
	i->end = UINT64_MAX;
	if (e->flags & COATI_TRACE_REOPENED)
		i->flags |= ITEM_OPEN_BEGIN;
	return coati_map_put(&l->task_index, live_key(e->pid, e->id, 0), live_place(l, i)) < 0
		       ? -ENOMEM
		       : 0;
}

static struct live_item *find_task(struct live *l, uint32_t pid, uint64_t id)
{
	uint64_t at;

	return id && coati_map_get(&l->task_index, live_key(pid, id, 0), &at) ? &l->open.v[at]
									      : NULL;
}

static int end_task(struct live *l, const struct coati_trace_event *e)
{
	struct live_item *i = find_task(l, e->pid, e->id);

	if (!i) {
		l->no_begin++;
		return 0;
	}
	coati_map_del(&l->task_index, live_key(e->pid, e->id, 0));
	return end_item(l, i, e->time, 0);
}

static int enter_task(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *task = find_task(l, e->pid, e->id), *i;
	const struct live_site *site = task ? task->site : NULL;

	if (task && l->threads.v[thread].passes)
		task->flags |= ITEM_WANTED;
	/* nothing changes */
	if (e->flags & COATI_TRACE_REOPENED && (!e->id || e->flags & COATI_TRACE_KNOWN))
		return 0;
	i = coati_live_add(l, e, ITEM_ENTER, thread);
	if (!i)
		return -ENOMEM;
	if (!i->site)
		i->site = site;
	i->name = i->site ? i->site->name : "";
	return coati_live_close(l, i);
}

static int add_log(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i = coati_live_add(l, e, ITEM_LOG, thread);
	const char *text = i ? coati_live_text(l, &e->text) : NULL;

	if (!text)
		return -ENOMEM;
	i->name = text;
	return coati_live_close(l, i);
}

static int add_flow(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i = coati_live_add(l, e, ITEM_FLOW, thread);

	return i ? coati_live_close(l, i) : -ENOMEM;
}

/* ---- names and losses ---- */

static int set_name(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	const char *name = coati_live_text(l, &e->text);

	if (!name)
		return -ENOMEM;
	if (e->kind == COATI_TRACE_THREAD_NAME) {
		l->threads.v[thread].name = name;
		return 0;
	}
	return coati_map_put(&l->process_names, e->pid, (uint64_t)(uintptr_t)name) < 0 ? -ENOMEM
										       : 0;
}

static int add_loss(struct live *l, const struct coati_trace_event *e, uint32_t thread)
{
	struct live_item *i = coati_live_add(l, e, ITEM_LOSS, thread);

	if (!i)
		return -ENOMEM;
	i->id = 0;
	i->name = e->kind == COATI_TRACE_LOST ? "lost live events" : "missing batches of events";
	return coati_live_close(l, i);
}

/* ---- one event ---- */

int coati_live_event(struct live *l, const struct coati_trace_event *e)
{
	uint32_t thread;
	int r = coati_live_thread(l, e->pid, e->tid, e->time, &thread);

	if (r < 0)
		return r;
	if (e->kind == COATI_TRACE_TASK_END) /* whatever thread reports it */
		return end_task(l, e);
	if (e->kind == COATI_TRACE_TASK_BEGIN) /* others may work on it */
		return begin_task(l, e, thread);
	if (!l->threads.v[thread].passes)
		return 0;
	l->nr_stacks += e->stack_count && e->kind != COATI_TRACE_SAMPLE;
	switch (e->kind) {
	case COATI_TRACE_REGION_BEGIN:
		return begin_region(l, e, thread);
	case COATI_TRACE_REGION_END:
		return end_region(l, e, thread);
	case COATI_TRACE_RANGE:
		return add_range(l, e, thread);
	case COATI_TRACE_TASK_ENTER:
		return enter_task(l, e, thread);
	case COATI_TRACE_LOG:
		return add_log(l, e, thread);
	case COATI_TRACE_COUNTER:
	case COATI_TRACE_GAUGE:
		return coati_live_counter(l, e, thread);
	case COATI_TRACE_FLOW:
		return add_flow(l, e, thread);
	case COATI_TRACE_INSTANT:
	case COATI_TRACE_LABELS:
		return coati_live_with_args(l, e, thread);
	case COATI_TRACE_RESOURCE_NEW:
	case COATI_TRACE_RESOURCE_SET:
	case COATI_TRACE_RESOURCE_END:
		return coati_live_state(l, e, thread);
	case COATI_TRACE_THREAD_NAME:
	case COATI_TRACE_PROCESS_NAME:
		return set_name(l, e, thread);
	case COATI_TRACE_LOST:
	case COATI_TRACE_MISSING:
		return add_loss(l, e, thread);
	case COATI_TRACE_SAMPLE:
		if (!l->first_told || e->time < l->first_told)
			l->first_told = e->time;
		if (e->time > l->last_told)
			l->last_told = e->time;
		return 0;
	default:
		return 0;
	}
}

/* ---- the object ---- */

int coati_live_init(struct live *l, const struct coati_filter *filter, struct coati_error *err)
{
	int r;

	*l = (struct live){ .open.max = LIVE_ITEMS_MAX,
			    .free = LIVE_NONE,
			    .max_items = LIVE_ITEMS_MAX,
			    .first_begin = UINT64_MAX,
			    .threads.max = TABLE_MAX,
			    .resources.max = TABLE_MAX,
			    .counters.max = TABLE_MAX,
			    .sites.max = TABLE_MAX,
			    .cpus.max = LIVE_CPUS_MAX,
			    .max_sched = LIVE_SCHED_MAX,
			    .live_event = LIVE_NONE,
			    .text = STRBUF_INIT(TEXT_BYTES) };
	coati_map_init(&l->thread_index, TABLE_MAX);
	coati_map_init(&l->resource_index, TABLE_MAX);
	coati_map_init(&l->counter_index, TABLE_MAX);
	coati_map_init(&l->task_index, TABLE_MAX);
	coati_map_init(&l->site_index, TABLE_MAX);
	coati_map_init(&l->process_names, TABLE_MAX);
	coati_map_init(&l->tids, TABLE_MAX);
	coati_map_init(&l->cpu_index, LIVE_CPUS_MAX);
	coati_map_init_strings(&l->strings, TABLE_MAX);
	coati_arena_init(&l->arena, ARENA_BYTES);
	coati_runs_init(&l->runs);
	r = coati_conditions_init(&l->conditions, filter, err);
	l->has_conditions = r == 0;
	return r < 0 ? r : coati_limits_read(&l->limits, err);
}

void coati_live_fini(struct live *l)
{
	coati_live_reader_free(&l->trace);
	if (l->has_conditions)
		coati_conditions_fini(&l->conditions);
	for (size_t i = 0; i < l->threads.len; i++) {
		ARRAY_FINI(&l->threads.v[i].open[0]);
		ARRAY_FINI(&l->threads.v[i].open[1]);
		coati_pack_fini(&l->threads.v[i].items);
	}
	for (size_t i = 0; i < l->counters.len; i++)
		coati_pack_fini(&l->counters.v[i].items);
	for (size_t i = 0; i < l->open.len; i++)
		if (l->open.v[i].kind == ITEM_STATE && l->open.v[i].nr_args)
			coati_free((void *)(uintptr_t)l->open.v[i].args);
	coati_pack_fini(&l->items);
	coati_runs_fini(&l->runs);
	ARRAY_FINI(&l->open);
	ARRAY_FINI(&l->threads);
	ARRAY_FINI(&l->resources);
	ARRAY_FINI(&l->counters);
	ARRAY_FINI(&l->sites);
	coati_map_fini(&l->thread_index);
	coati_map_fini(&l->resource_index);
	coati_map_fini(&l->counter_index);
	coati_map_fini(&l->task_index);
	coati_map_fini(&l->site_index);
	coati_map_fini(&l->process_names);
	coati_map_fini(&l->tids);
	coati_tracepoint_free(l->waking);
	for (size_t i = 0; i < l->cpus.len; i++)
		coati_strbuf_fini(&l->cpus.v[i].bytes);
	ARRAY_FINI(&l->cpus);
	coati_map_fini(&l->cpu_index);
	coati_map_fini(&l->strings);
	coati_arena_fini(&l->arena);
	coati_strbuf_fini(&l->text);
}
