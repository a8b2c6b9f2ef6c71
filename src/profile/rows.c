/* SPDX-License-Identifier: MIT */
/*
 * Tables. Rows of frames: a stack counts for the innermost frame as self and once for each row that
 * occurs in it as total. Rows of everything else: an entry counts for one row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/sized.h"
#include "profile/view.h"
#include "reading/labels.h"
#include "reading/parts.h"

static int by_self(const void *a, const void *b)
{
	const struct coati_row *x = a, *y = b;
	int r;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	r = strcmp(x->name, y->name);
	if (r == 0 && x->image && y->image)
		r = strcmp(x->image, y->image);
	if (r == 0 && x->address != y->address)
		r = x->address < y->address ? -1 : 1;
	if (r == 0 && x->tid != y->tid)
		r = x->tid < y->tid ? -1 : 1;
	return r;
}

static int by_total(const void *a, const void *b)
{
	const struct coati_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return by_self(a, b);
}

static int by_time(const void *a, const void *b)
{
	const struct coati_row *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* What a row of frames is called. */
static int describe(struct coati_view *v, enum coati_by by, uint32_t frame, struct coati_row *row)
{
	const struct coati_view_frame *f = &v->frames.v[frame];

	row->name = coati_view_key_name(v, by, frame);
	row->frame = frame;
	row->image = f->image;
	row->pid = row->tid = row->cpu = -1;
	if (by == COATI_BY_LINE || by == COATI_BY_ADDRESS) {
		row->file = f->file;
		row->line = f->line;
	}
	if (by == COATI_BY_IMAGE)
		row->file = coati_view_image_path(v, frame);
	if (by == COATI_BY_ADDRESS)
		row->address = f->address;
	else if (by == COATI_BY_FUNCTION)
		row->address = f->start;
	return row->name ? 0 : -ENOMEM;
}

/* A table while it is being added up. */
struct table {
	struct coati_row *rows;
	size_t nr;
	const struct keys *keys;
	const bool *only; /* functions that count, NULL: all */
	size_t *seen;	  /* by row: number of the last stack that counted, plus 1 */
	const struct coati_rows_query *q;
	const char **values; /* BY_LABEL of what follows from threads: by thread */
	bool is_service;     /* BY_LABEL of services: */
	struct map services; /* by thread and labels of an entry */
};

static void add_stack(const struct coati_view *v, struct table *t, size_t number)
{
	const struct view_stack *s = &v->stacks[number];

	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t key = t->keys->of_frame[s->frames[i]];
		struct coati_row *row = &t->rows[key];

		if (t->only && !t->only[v->frames.v[s->frames[i]].function_id])
			continue;
		if (i && v->frames.v[s->frames[i]].location_flags & COATI_LOCATION_TRUNCATED)
			continue; /* no code */
		if (!i) {
			add_weight(&row->self, s->weight);
			add_weight(&row->self_count, s->count);
		}
		if (t->seen[key] == number + 1)
			continue; /* recursion counts once */
		t->seen[key] = number + 1;
		add_weight(&row->total, s->weight);
		add_weight(&row->total_count, s->count);
	}
}

/* Files that have one name are called by their paths. */
static int tell_files_apart(struct table *t)
{
	struct map first; /* row of that name */
	uint64_t other;
	int r = 0;

	coati_map_init_strings(&first, PROFILE_TABLE_MAX);
	for (size_t i = 0; i < t->nr && r >= 0; i++) {
		struct coati_row *row = &t->rows[i];

		if (!coati_map_get_str(&first, row->image, &other)) {
			r = coati_map_put_str(&first, row->image, i);
			continue;
		}
		if (row->file)
			row->name = row->file;
		if (t->rows[other].file)
			t->rows[other].name = t->rows[other].file;
	}
	coati_map_fini(&first);
	return r < 0 ? r : 0;
}

static int rows_of_frames(struct coati_view *v, const struct coati_rows_query *q, struct table *t)
{
	CLEANUP(freep) bool *only = NULL;
	CLEANUP(freep) size_t *seen = NULL;
	size_t nr = 0;
	int r = coati_view_keys(v, q->by, &t->keys);

	if (r == 0)
		r = coati_view_functions(v, q->function, &only);
	if (r < 0)
		return r;
	seen = coati_alloc_array((size_t)t->keys->nr + 1, sizeof(*seen));
	t->rows = coati_view_own(v, t->keys->nr, sizeof(*t->rows));
	if (!seen || !t->rows)
		return -ENOMEM;
	t->only = only;
	t->seen = seen;
	for (size_t i = 0; i < v->profile->stacks.len; i++)
		if (view_stack_counts(&v->stacks[i]))
			add_stack(v, t, i);
	for (uint32_t i = 0; i < t->keys->nr && r == 0; i++) {
		struct coati_row *row = &t->rows[nr];

		if (!t->rows[i].total_count && !t->rows[i].total)
			continue;
		*row = t->rows[i];
		row->flags = t->keys->flags[i];
		r = describe(v, q->by, t->keys->frame[i], row);
		nr++;
	}
	t->nr = nr;
	return r == 0 && q->by == COATI_BY_IMAGE ? tell_files_apart(t) : r;
}

/* The value of a label of an entry, "" when it has none. */
static const char *label_value(const struct coati_profile *p, const struct table *t,
			       const struct coati_profile_entry *e)
{
	const char *value = coati_profile_label_of(p, e, t->q->label);
	uint64_t service;

	if (!value && t->is_service)
		return coati_map_get(&t->services, (uint64_t)e->thread << 32 | e->labels, &service)
			       ? (const char *)(uintptr_t)service
			       : "";
	return value ? value : t->values ? t->values[e->thread] : "";
}

/* Services follow from threads and cgroups: each pair of them is asked once. */
static int make_services(struct coati_view *v, struct table *t)
{
	const struct coati_profile *p = v->profile;
	char room[OWN_LABEL_ROOM];
	uint64_t known;
	int r = 0;

	t->is_service = true;
	for (size_t i = 0; i < p->entries.len && r >= 0; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		const struct own_label_of of = { &p->threads.v[e->thread],
						 &p->label_sets.v[e->labels], &p->rules };
		uint64_t key = (uint64_t)e->thread << 32 | e->labels;
		char *name;

		if (coati_map_get(&t->services, key, &known))
			continue;
		coati_own_label_value(OWN_SERVICE, &of, room);
		name = coati_arena_strdup(&v->arena, room);
		r = name ? coati_map_put(&t->services, key, (uintptr_t)name) : -ENOMEM;
	}
	return r < 0 ? r : 0;
}

/* What follows from threads, each asked once. */
static int make_values(struct coati_view *v, struct table *t)
{
	enum own_label label = coati_own_label(t->q->label, strlen(t->q->label));
	char room[OWN_LABEL_ROOM];

	if (label == OWN_NONE)
		return 0;
	if (label == OWN_SERVICE)
		return make_services(v, t);
	t->values = coati_view_own(v, v->profile->threads.len, sizeof(*t->values));
	if (!t->values)
		return -ENOMEM;
	for (size_t i = 0; i < v->profile->threads.len; i++) {
		const struct own_label_of of = { .thread = &v->profile->threads.v[i] };
		const char *value = coati_own_label_value(label, &of, room);

		t->values[i] = value == room ? coati_arena_strdup(&v->arena, room) : value;
		if (!t->values[i])
			return -ENOMEM;
	}
	return 0;
}

/* What an entry counts as: a number, or (*ret_text) a name. */
static uint64_t entry_key(struct coati_view *v, const struct table *table,
			  const struct coati_profile_entry *e, const char **ret_text)
{
	const struct coati_profile_thread *t = &v->profile->threads.v[e->thread];

	*ret_text = NULL;
	switch (table->q->by) {
	case COATI_BY_PROCESS:
		return (uint64_t)t->file << 32 | t->process;
	case COATI_BY_COMM:
		*ret_text = t->comm;
		return 0;
	case COATI_BY_LABEL:
		*ret_text = label_value(v->profile, table, e);
		return 0;
	case COATI_BY_CPU:
		return (uint32_t)e->cpu;
	case COATI_BY_EVENT:
		return e->event;
	case COATI_BY_TIME:
		return e->bin;
	case COATI_BY_WAIT:
		*ret_text = coati_view_wait(v, e);
		return 0;
	default:
		return e->thread;
	}
}

static int describe_entry(struct coati_view *v, const struct table *table,
			  const struct coati_profile_entry *e, struct coati_row *row)
{
	const struct coati_profile *p = v->profile;
	const struct coati_profile_thread *t = &p->threads.v[e->thread];
	const char *const *names;

	row->frame = VIEW_NONE;
	row->pid = row->tid = row->cpu = -1;
	switch (table->q->by) {
	case COATI_BY_THREAD:
		row->name = t->comm;
		row->pid = t->pid;
		row->tid = t->tid;
		break;
	case COATI_BY_PROCESS:
		names = coati_view_process_names(v);
		row->name = names ? names[e->thread] : NULL;
		row->pid = t->pid;
		break;
	case COATI_BY_COMM:
		row->name = t->comm;
		break;
	case COATI_BY_CPU:
		row->cpu = e->cpu;
		row->name = e->cpu < 0 ? "unknown" : coati_arena_printf(&v->arena, "%d", e->cpu);
		break;
	case COATI_BY_EVENT:
		row->name = p->events.v[e->event].name;
		break;
	case COATI_BY_LABEL:
		row->name = label_value(p, table, e);
		break;
	case COATI_BY_WAIT:
		row->name = coati_view_wait(v, e);
		break;
	default:
		row->address = p->bin_ns * e->bin;
		row->name = coati_arena_printf(&v->arena, "%.6f", (double)row->address / 1e9);
	}
	return row->name ? 0 : -ENOMEM;
}

/* The row of an entry, a new one where there is none. */
static int entry_row(struct coati_view *v, const struct table *t, struct map *m,
		     const struct coati_profile_entry *e, uint64_t *ret)
{
	const char *text;
	uint64_t key = entry_key(v, t, e, &text);
	int r;

	if (text ? coati_map_get_str(m, text, ret) : coati_map_get(m, key, ret))
		return 0;
	*ret = m->len;
	r = text ? coati_map_put_str(m, text, *ret) : coati_map_put(m, key, *ret);
	return r < 0 ? r : 1;
}

static int add_entries(struct coati_view *v, struct map *m, struct table *t)
{
	const struct coati_profile *p = v->profile;

	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		struct coati_row *row;
		uint64_t number;
		int r;

		if (!v->entry_is_in[i])
			continue;
		r = entry_row(v, t, m, e, &number);
		row = &t->rows[number];
		if (r > 0)
			r = describe_entry(v, t, e, row);
		if (r < 0)
			return r;
		add_weight(&row->self, view_weight(v, e));
		add_weight(&row->self_count, e->count);
	}
	t->nr = m->len;
	for (size_t i = 0; i < t->nr; i++) {
		t->rows[i].total = t->rows[i].self;
		t->rows[i].total_count = t->rows[i].self_count;
	}
	return 0;
}

/* How many rows there can be at most. */
static size_t most_rows(const struct coati_view *v, enum coati_by by)
{
	switch (by) {
	case COATI_BY_EVENT:
		return v->profile->events.len;
	case COATI_BY_LABEL:
		return v->profile->label_sets.len + v->profile->threads.len;
	case COATI_BY_CPU:
	case COATI_BY_TIME:
	case COATI_BY_WAIT:
		return v->profile->entries.len;
	default:
		return v->profile->threads.len;
	}
}

static int rows_of_entries(struct coati_view *v, const struct coati_rows_query *q, struct table *t)
{
	struct map m;
	int r = 0;

	t->q = q;
	t->rows = coati_view_own(v, most_rows(v, q->by) + 1, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	if (q->by == COATI_BY_COMM || q->by == COATI_BY_LABEL || q->by == COATI_BY_WAIT)
		coati_map_init_strings(&m, PROFILE_TABLE_MAX);
	else
		coati_map_init(&m, PROFILE_TABLE_MAX);
	coati_map_init(&t->services, PROFILE_TABLE_MAX);
	if (q->by == COATI_BY_LABEL)
		r = make_values(v, t);
	if (r == 0)
		r = add_entries(v, &m, t);
	coati_map_fini(&m);
	coati_map_fini(&t->services);
	return r;
}

int coati_view_rows(struct coati_view *v, const struct coati_rows_query *query,
		    const struct coati_row **ret, size_t *ret_nr, struct coati_error *err)
{
	struct coati_rows_query q;
	struct table t = { 0 };
	int r = v && ret && ret_nr ? SIZED_COPY(&q, query) : -EINVAL;

	if (r < 0 || q.by >= COATI_BY_COUNT)
		return coati_fail(err, r < 0 ? r : -EINVAL, "there is no such table");
	if (q.by == COATI_BY_LABEL && !q.label)
		return coati_fail(err, -EINVAL, "a table by label needs the label's key");
	r = q.by <= COATI_BY_IMAGE ? rows_of_frames(v, &q, &t) : rows_of_entries(v, &q, &t);
	if (r < 0)
		return coati_fail(err, r, "%m");
	qsort(t.rows, t.nr, sizeof(*t.rows),
	      q.by == COATI_BY_TIME	      ? by_time
	      : q.flags & COATI_ROWS_BY_TOTAL ? by_total
					      : by_self);
	*ret = t.rows;
	*ret_nr = t.nr;
	return 0;
}
