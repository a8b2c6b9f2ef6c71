/* SPDX-License-Identifier: MIT */
/* Questions about a trace: how good it is, who is in it, what is open, what an event has inside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/leb128.h"
#include "live-read/reader-parts.h"
#include "live-read/reader.h"

const char *coati_trace_kind_name(uint32_t kind)
{
	if (kind == COATI_TRACE_LOST)
		return coati_live_kinds[LIVE_LOST].name;
	if (kind == COATI_TRACE_MISSING)
		return "missing";
	return kind && kind <= LIVE_LABELS ? coati_live_kinds[kind].name : "?";
}

void coati_live_reader_get_quality(const struct coati_live_reader *t,
				   struct coati_trace_quality *ret)
{
	*ret = t->quality;
	ret->events -= t->listed - t->given;
}

const struct coati_error *coati_live_reader_damage(const struct coati_live_reader *t)
{
	return &t->damage;
}

int coati_live_reader_process(const struct coati_live_reader *t, uint32_t i,
			      struct coati_live_process *ret)
{
	if (i >= t->processes.len)
		return -ENOENT;
	*ret = t->processes.v[i]->info;
	ret->nr_open_tasks = (uint32_t)t->processes.v[i]->tasks.len;
	return 0;
}

/* ---- what is open ---- */

static int by_place(const void *a, const void *b)
{
	const struct coati_live_opened *x = a, *y = b;
	const uint64_t left[] = { x->pid, x->id, x->tid, x->slot, x->depth };
	const uint64_t right[] = { y->pid, y->id, y->tid, y->slot, y->depth };

	for (size_t i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int add_regions(struct coati_live_reader *t, const struct stream *s)
{
	for (size_t i = 0; i < s->regions.len; i++) {
		struct coati_live_opened *o = ARRAY_ADD(&t->open);

		if (!o)
			return -ENOMEM;
		*o = (struct coati_live_opened){ .pid = s->process->pid,
						 .tid = s->tid,
						 .slot = s->slot,
						 .depth = (uint32_t)i,
						 .site = s->regions.v[i].site,
						 .began_ns = s->regions.v[i].began_ns };
	}
	return 0;
}

static int add_task(struct coati_live_reader *t, const struct process *p,
		    const struct open_task *task)
{
	struct coati_live_opened *o = ARRAY_ADD(&t->open);

	if (!o)
		return -ENOMEM;
	*o = (struct coati_live_opened){ .pid = p->pid,
					 .tid = task->tid,
					 .site = task->site,
					 .id = task->id,
					 .parent = task->parent,
					 .began_ns = task->began_ns };
	return 0;
}

static int list_open(struct coati_live_reader *t, bool tasks, const struct coati_live_opened **ret,
		     uint32_t *ret_nr)
{
	uint64_t key, value;
	int n = 0;

	t->open.len = 0;
	if (!tasks)
		coati_trace_take_all_back(t);
	for (size_t i = 0; i < t->processes.len; i++) {
		const struct process *p = t->processes.v[i];
		const struct map *m = tasks ? &p->tasks : &p->streams;

		for (size_t pos = 0; n == 0 && coati_map_next(m, &pos, &key, &value);)
			n = tasks ? add_task(t, p, (const struct open_task *)(uintptr_t)value)
				  : add_regions(t, (const struct stream *)(uintptr_t)value);
	}
	if (n < 0)
		return n;
	if (t->open.len)
		qsort(t->open.v, t->open.len, sizeof(*t->open.v), by_place);
	*ret = t->open.v;
	*ret_nr = (uint32_t)t->open.len;
	return 0;
}

int coati_live_reader_open_regions(struct coati_live_reader *t,
				   const struct coati_live_opened **ret, uint32_t *ret_nr)
{
	return list_open(t, false, ret, ret_nr);
}

int coati_live_reader_open_tasks(struct coati_live_reader *t, const struct coati_live_opened **ret,
				 uint32_t *ret_nr)
{
	return list_open(t, true, ret, ret_nr);
}

/* ---- inside an event ---- */

static struct coati_trace_text field_text(const struct coati_live_reader *t,
					  const struct live_text *text)
{
	const struct live_blob *b = text->is_ref && t->current
					    ? coati_live_table_string(&t->current->table, text->ref)
					    : NULL;

	if (!text->is_ref)
		return (struct coati_trace_text){ text->text, text->size, text->size };
	if (!b)
		return (struct coati_trace_text){ "", 0, 0 };
	return (struct coati_trace_text){ (const char *)b->bytes, b->size, b->full_size };
}

int coati_live_reader_field_next(const struct coati_live_reader *t,
				 const struct coati_trace_event *e, struct coati_trace_pos *pos,
				 struct coati_trace_field *ret)
{
	struct live_fields f;
	struct live_field field;
	int n;

	if (e->kind != COATI_TRACE_INSTANT || !e->site || pos->fields > e->site->fields.size ||
	    pos->bytes > e->bytes_size)
		return 0;
	f = coati_live_fields(e->site->fields.text + pos->fields,
			      e->site->fields.size - (uint32_t)pos->fields, e->bytes + pos->bytes,
			      (uint32_t)(e->bytes_size - pos->bytes));
	n = coati_live_field_next(&f, &field);
	if (n <= 0)
		return n;
	pos->fields = (uint64_t)(f.at - e->site->fields.text);
	pos->bytes = (uint64_t)(f.bytes - e->bytes);
	*ret = (struct coati_trace_field){
		.name = { field.name, field.name_size, field.name_size },
		.letter = (uint32_t)(unsigned char)field.letter,
		.number = (int64_t)field.value,
		.real = field.real,
		.text = field.letter == 's' ? field_text(t, &field.text)
					    : (struct coati_trace_text){ "", 0, 0 },
	};
	return 1;
}

static struct coati_trace_text take_text(struct cursor *c)
{
	uint64_t size = cursor_uleb(c);
	const char *text = cursor_bytes(c, size > UINT32_MAX ? SIZE_MAX : (size_t)size);

	return (struct coati_trace_text){ text ? text : "", (uint32_t)size, (uint32_t)size };
}

int coati_trace_label_next(const struct coati_trace_event *e, struct coati_trace_pos *pos,
			   struct coati_trace_text *ret_key, struct coati_trace_text *ret_value)
{
	struct cursor c;
	struct coati_trace_text key, value;

	if (e->kind != COATI_TRACE_LABELS || pos->bytes >= e->bytes_size)
		return 0;
	c = cursor_over(e->bytes + pos->bytes, e->bytes_size - pos->bytes);
	key = take_text(&c);
	value = take_text(&c);
	if (c.bad)
		return -EBADMSG;
	pos->bytes = (uint64_t)(c.at - e->bytes);
	*ret_key = key;
	*ret_value = value;
	return 1;
}
