/* SPDX-License-Identifier: MIT */
/* see rows.h */
#include "cli/top/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "reading/wait.h"

#define ROWS_MAX ((size_t)1 << 24)
#define AROUND	 10 /* seconds before one that a peak is compared with */

static const char *const names[TOP_BY_COUNT] = { "function", "image", "thread", "process",
						 "service",  "label", "task",	"wait" };

const char *coati_top_by_name(enum top_by by)
{
	return (unsigned int)by < TOP_BY_COUNT ? names[by] : NULL;
}

/* ---- what is in ---- */

static bool has_mode(const struct top_query *q, const struct top_entry *e)
{
	return q->mode == TOP_BOTH || (q->mode == TOP_OFF_CPU) == e->is_off;
}

/* The value by which an entry counts, for rows of labels. */
static const char *label_of(const struct top_model *m, enum top_by by, const char *label,
			    const struct top_entry *e)
{
	const char *own = by == TOP_BY_SERVICE ? TOP_SERVICE_KEY : "task";
	const char *key = by == TOP_BY_SERVICE || by == TOP_BY_TASK ? own : label;
	const char *value = key ? coati_top_label(&m->labels.v[e->labels], key) : NULL;

	return value ? value : "";
}

static const char *wait_of(const struct top_model *m, const struct top_entry *e)
{
	return coati_wait_name(e->is_off ? m->stacks.v[e->stack].wait : COATI_WAIT_RUNNING);
}

static bool picks_frame(const struct top_model *m, const struct top_pick *p, uint32_t stack)
{
	const struct top_stack *s = &m->stacks.v[stack];

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct top_function *f = &m->functions.v[s->frames[i]];

		if (!strcmp(f->path, p->path) &&
		    (p->by == TOP_BY_IMAGE || !strcmp(f->name, p->name)))
			return true;
	}
	return false;
}

bool coati_top_picks(const struct top_model *m, const struct top_pick *p, const struct top_entry *e)
{
	const struct top_thread *t = &m->threads.v[e->thread];

	if (!p || !p->is_on)
		return true;
	switch (p->by) {
	case TOP_BY_FUNCTION:
	case TOP_BY_IMAGE:
		return picks_frame(m, p, e->stack);
	case TOP_BY_THREAD:
		return t->pid == p->pid && t->tid == p->tid && !strcmp(t->comm, p->name);
	case TOP_BY_PROCESS:
		return t->pid == p->pid;
	case TOP_BY_WAIT:
		return !strcmp(wait_of(m, e), p->name);
	default:
		return !strcmp(label_of(m, p->by, p->label, e), p->name);
	}
}

/* Walk over the entries of a query: true and the next one. */
struct walk {
	size_t second, entry;
};

static const struct top_entry *next_entry(const struct top_model *m, const struct top_query *q,
					  struct walk *w)
{
	for (; w->second < m->seconds.len; w->second++, w->entry = 0) {
		const struct top_second *s = &m->seconds.v[w->second];

		if (s->number < q->from || s->number > q->to)
			continue;
		while (w->entry < s->entries.len) {
			const struct top_entry *e = &s->entries.v[w->entry++];

			if ((e->weight || e->count) && has_mode(q, e) &&
			    coati_top_picks(m, q->pick, e))
				return e;
		}
	}
	return NULL;
}

int coati_top_stack_weights(const struct top_model *m, const struct top_query *q,
			    struct top_weight **ret)
{
	struct top_weight *v = coati_alloc_array(m->stacks.len + 1, sizeof(*v));
	const struct top_entry *e;
	struct walk w = { 0 };

	if (!v)
		return -ENOMEM;
	while ((e = next_entry(m, q, &w))) {
		v[e->stack].weight += e->weight;
		v[e->stack].count += e->count;
	}
	*ret = v;
	return 0;
}

/* ---- rows of frames ---- */

static uint32_t frame_key(const struct top_model *m, enum top_by by, uint32_t function)
{
	return by == TOP_BY_IMAGE ? m->functions.v[function].image_id : function;
}

/* A stack counts for its innermost frame as self, and once for each row in it as total. */
static void add_stack(const struct top_model *m, enum top_by by, uint32_t number,
		      const struct top_weight *w, struct top_row *rows)
{
	const struct top_stack *s = &m->stacks.v[number];

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct top_function *f = &m->functions.v[s->frames[i]];
		struct top_row *row = &rows[frame_key(m, by, s->frames[i])];

		if (i && f->flags & TOP_FRAME_NO_ROW)
			continue;
		row->flags = f->flags;
		if (!i) {
			row->self += w->weight;
			row->self_count += w->count;
		}
		if (row->key == number + 1)
			continue;
		row->key = number + 1;
		row->total += w->weight;
		row->total_count += w->count;
	}
}

static void name_frame(const struct top_model *m, enum top_by by, uint32_t key, struct top_row *row)
{
	row->key = key;
	row->pid = row->tid = -1;
	if (by == TOP_BY_IMAGE) {
		row->name = row->image = m->images.v[key].name;
		row->path = m->images.v[key].path;
		return;
	}
	row->name = m->functions.v[key].name;
	row->image = m->functions.v[key].image;
	row->path = m->functions.v[key].path;
}

static int add_row(struct top_rows *ret, const struct top_row *row)
{
	struct top_row *slot = ARRAY_ADD(&ret->rows);

	if (!slot)
		return -ENOMEM;
	*slot = *row;
	return 0;
}

/* Images that have one name are called by their paths. */
static int tell_apart(struct top_rows *ret)
{
	struct map first;
	uint64_t other;
	int r = 0;

	coati_map_init_strings(&first, ROWS_MAX);
	for (size_t i = 0; i < ret->rows.len && r >= 0; i++) {
		struct top_row *row = &ret->rows.v[i];

		if (!coati_map_get_str(&first, row->image, &other)) {
			r = coati_map_put_str(&first, row->image, i);
			continue;
		}
		row->name = row->path;
		ret->rows.v[other].name = ret->rows.v[other].path;
	}
	coati_map_fini(&first);
	return r < 0 ? r : 0;
}

static int rows_of_frames(const struct top_model *m, const struct top_query *q,
			  struct top_rows *ret)
{
	size_t nr = q->by == TOP_BY_IMAGE ? m->images.len : m->functions.len;
	CLEANUP(freep) struct top_row *rows = coati_alloc_array(nr + 1, sizeof(*rows));
	CLEANUP(freep) struct top_weight *weights = NULL;
	int r = rows ? coati_top_stack_weights(m, q, &weights) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < m->stacks.len; i++) {
		ret->weight += weights[i].weight;
		ret->count += weights[i].count;
		if (weights[i].weight || weights[i].count)
			add_stack(m, q->by, i, &weights[i], rows);
	}
	for (uint32_t i = 0; r == 0 && i < nr; i++) {
		if (!rows[i].total && !rows[i].total_count)
			continue;
		name_frame(m, q->by, i, &rows[i]);
		r = add_row(ret, &rows[i]);
	}
	return r == 0 && q->by == TOP_BY_IMAGE ? tell_apart(ret) : r;
}

/* ---- rows of everything else ---- */

static void name_entry(const struct top_model *m, const struct top_query *q,
		       const struct top_entry *e, struct top_row *row)
{
	const struct top_thread *t = &m->threads.v[e->thread];

	*row = (struct top_row){ .pid = -1, .tid = -1, .key = e->thread };
	switch (q->by) {
	case TOP_BY_THREAD:
		row->name = t->comm;
		row->pid = t->pid;
		row->tid = t->tid;
		break;
	case TOP_BY_PROCESS:
		row->name = t->process_comm;
		row->pid = t->pid;
		break;
	case TOP_BY_WAIT:
		row->name = wait_of(m, e);
		break;
	default:
		row->name = label_of(m, q->by, q->label, e);
	}
}

/* The row that an entry belongs to, a new one where there is none. */
static int find_row(const struct top_row *row, struct map *index, struct top_rows *ret,
		    uint64_t *at)
{
	bool by_name = row->pid < 0;
	uint64_t key = row->tid >= 0 ? row->key : (uint64_t)(uint32_t)row->pid << 32;
	int r;

	if (by_name ? coati_map_get_str(index, row->name, at) : coati_map_get(index, key, at))
		return 0;
	*at = ret->rows.len;
	r = add_row(ret, row);
	if (r == 0)
		r = by_name ? coati_map_put_str(index, row->name, *at)
			    : coati_map_put(index, key, *at);
	return r < 0 ? r : 0;
}

static int rows_of_entries(const struct top_model *m, const struct top_query *q,
			   struct top_rows *ret)
{
	bool has_pid = q->by == TOP_BY_THREAD || q->by == TOP_BY_PROCESS;
	const struct top_entry *e;
	struct walk w = { 0 };
	struct map index;
	struct top_row row;
	uint64_t at;
	int r = 0;

	if (has_pid)
		coati_map_init(&index, ROWS_MAX);
	else
		coati_map_init_strings(&index, ROWS_MAX);
	while (r == 0 && (e = next_entry(m, q, &w))) {
		name_entry(m, q, e, &row);
		if (has_pid && row.pid < 0)
			row.pid = 0; /* the thread is unknown */
		r = find_row(&row, &index, ret, &at);
		if (r < 0)
			break;
		ret->rows.v[at].self += e->weight;
		ret->rows.v[at].self_count += e->count;
		ret->weight += e->weight;
		ret->count += e->count;
	}
	coati_map_fini(&index);
	for (size_t i = 0; i < ret->rows.len; i++) {
		ret->rows.v[i].total = ret->rows.v[i].self;
		ret->rows.v[i].total_count = ret->rows.v[i].self_count;
	}
	return r;
}

/* ---- order and filter ---- */

static int by_name(const struct top_row *a, const struct top_row *b)
{
	int r = strcmp(a->name, b->name);

	if (r == 0 && a->image && b->image)
		r = strcmp(a->image, b->image);
	return r ? r : a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int compare(const void *x, const void *y, void *ctx)
{
	const struct top_query *q = ctx;
	const struct top_row *a = x, *b = y;
	uint64_t left[2] = { a->self, a->total }, right[2] = { b->self, b->total };
	bool by_total = q->sort == TOP_SORT_TOTAL;
	int r = 0;

	for (int i = 0; i < 2 && r == 0 && q->sort != TOP_SORT_NAME; i++) {
		int which = by_total ? 1 - i : i;

		r = left[which] == right[which] ? 0 : left[which] < right[which] ? 1 : -1;
	}
	if (r == 0)
		r = by_name(a, b);
	return q->reverse ? -r : r;
}

static bool passes(const struct top_row *row, const char *filter)
{
	char id[32];

	if (!filter || !*filter || strcasestr(row->name, filter) ||
	    (row->image && strcasestr(row->image, filter)))
		return true;
	snprintf(id, sizeof(id), "%d/%d", row->pid, row->tid);
	return row->pid >= 0 && strstr(id, filter);
}

static void filter_rows(struct top_rows *rows, const char *filter)
{
	size_t kept = 0;

	rows->nr_all = rows->rows.len;
	for (size_t i = 0; i < rows->rows.len; i++)
		if (passes(&rows->rows.v[i], filter))
			rows->rows.v[kept++] = rows->rows.v[i];
	rows->rows.len = kept;
}

static int add_up(const struct top_model *m, const struct top_query *q, struct top_rows *ret)
{
	*ret = (struct top_rows){ .rows = ARRAY_INIT(ROWS_MAX) };
	return q->by <= TOP_BY_IMAGE ? rows_of_frames(m, q, ret) : rows_of_entries(m, q, ret);
}

int coati_top_rows(const struct top_model *m, const struct top_query *q, struct top_rows *ret)
{
	int r = add_up(m, q, ret);

	filter_rows(ret, q->filter);
	if (ret->rows.len)
		qsort_r(ret->rows.v, ret->rows.len, sizeof(*ret->rows.v), compare,
			(void *)(uintptr_t)q);
	return r;
}

void coati_top_rows_fini(struct top_rows *rows)
{
	ARRAY_FINI(&rows->rows);
}

/* ---- two times ---- */

static bool same_row(const struct top_row *a, const struct top_row *b)
{
	return a->pid == b->pid && a->tid == b->tid && !strcmp(a->name, b->name) &&
	       (!a->path || !b->path || !strcmp(a->path, b->path));
}

static double change_of(const struct top_row *r, const struct top_rows *all)
{
	return (all->weight ? (double)r->total / (double)all->weight : 0) -
	       (all->before ? (double)r->before / (double)all->before : 0);
}

static int compare_change(const void *x, const void *y, void *ctx)
{
	double a = change_of(x, ctx), b = change_of(y, ctx);

	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	return a < b ? 1 : a > b ? -1 : by_name(x, y);
}

/* Rows of @old become the `before` of those in @ret; what has vanished is a row without weight. */
static int join(struct top_rows *ret, const struct top_rows *old)
{
	struct map index;
	int r = 0;

	coati_map_init(&index, ROWS_MAX);
	for (size_t i = 0; i < ret->rows.len && r >= 0; i++)
		r = coati_map_put(&index,
				  coati_hash_bytes(ret->rows.v[i].name, strlen(ret->rows.v[i].name),
						   (uint64_t)(uint32_t)ret->rows.v[i].tid),
				  i);
	for (size_t i = 0; i < old->rows.len && r >= 0; i++) {
		struct top_row row = old->rows.v[i];
		uint64_t at, key = coati_hash_bytes(row.name, strlen(row.name),
						    (uint64_t)(uint32_t)row.tid);

		row.before = row.total;
		row.self = row.total = row.self_count = row.total_count = 0;
		if (coati_map_get(&index, key, &at) && same_row(&ret->rows.v[at], &row))
			ret->rows.v[at].before += row.before;
		else
			r = add_row(ret, &row);
	}
	coati_map_fini(&index);
	return r < 0 ? r : 0;
}

int coati_top_rows_compare(const struct top_model *m, const struct top_query *q,
			   const struct top_query *before, struct top_rows *ret)
{
	struct top_rows old = { 0 };
	int r = add_up(m, q, ret);

	if (r == 0)
		r = add_up(m, before, &old);
	ret->before = old.weight;
	if (r == 0)
		r = join(ret, &old);
	coati_top_rows_fini(&old);
	filter_rows(ret, q->filter);
	if (ret->rows.len)
		qsort_r(ret->rows.v, ret->rows.len, sizeof(*ret->rows.v), compare_change, ret);
	return r;
}

/* ---- peaks ---- */

uint64_t coati_top_spike(const struct top_model *m, enum top_mode mode, uint64_t before)
{
	double best = 0;
	uint64_t found = 0;

	for (size_t i = 0; i < m->seconds.len; i++) {
		const struct top_second *s = &m->seconds.v[i];
		double around = 0, here = (double)s->weight[mode == TOP_OFF_CPU];

		if (s->number >= before)
			break;
		for (size_t k = i >= AROUND ? i - AROUND : 0; k < i; k++)
			if (m->seconds.v[k].number + AROUND >= s->number)
				around += (double)m->seconds.v[k].weight[mode == TOP_OFF_CPU];
		here -= around / AROUND;
		if (i && here > best) {
			best = here;
			found = s->number;
		}
	}
	return found;
}

/* ---- one row ---- */

void coati_top_pick_row(struct top_pick *pick, const struct top_query *q, const struct top_row *row)
{
	*pick = (struct top_pick){ .is_on = true, .by = q->by, .pid = row->pid, .tid = row->tid };
	snprintf(pick->name, sizeof(pick->name), "%s", row->name);
	snprintf(pick->path, sizeof(pick->path), "%s", row->path ? row->path : "");
	snprintf(pick->label, sizeof(pick->label), "%s", q->label ? q->label : "");
}
