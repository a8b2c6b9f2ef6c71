/* SPDX-License-Identifier: MIT */
/*
 * The rows of two views, matched. A row is known by its name and the name of its file; one that is
 * left over on each side under the same name is the same thing in a file that was renamed (prog.old
 * and prog.new, libx.so.1.2 and libx.so.1.3).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "profile/diff-parts.h"
#include "profile/diff.h"
#include "profile/walk.h"
#include "reading/labels.h"
#include "reading/parts.h"

/* The row of that name, a new one where there is none. @name lives as long as the view. */
static int find_row(struct coati_diff *d, int side, const char *name, const char *image,
		    uint32_t *ret)
{
	const char *key = image ? coati_arena_printf(&d->arena, "%s\x1f%s", name, image) : name;
	struct diff_row *row;
	uint64_t number;

	if (!key)
		return -ENOMEM;
	if (coati_map_get_str(&d->by_name, key, &number)) {
		*ret = (uint32_t)number;
		d->found.v[number].image[side] = image;
		return 0;
	}
	row = ARRAY_ADD(&d->found);
	if (!row)
		return -ENOMEM;
	*row = (struct diff_row){ .name = name, .line = VIEW_NONE, .same_as = VIEW_NONE };
	row->image[side] = image;
	*ret = (uint32_t)d->found.len - 1;
	return coati_map_put_str(&d->by_name, key, *ret) < 0 ? -ENOMEM : 0;
}

static int find_frames(struct coati_diff *d, int side)
{
	struct coati_view *v = d->views[side];
	enum coati_by by = d->opts.by;
	int r = coati_view_keys(v, by, &d->keys[side]);

	if (r < 0)
		return r;
	d->row_of_key[side] = coati_alloc_array((size_t)d->keys[side]->nr + 1, sizeof(uint32_t));
	if (!d->row_of_key[side])
		return -ENOMEM;
	for (uint32_t i = 0; i < d->keys[side]->nr && r == 0; i++) {
		const struct coati_view_frame *f = &v->frames.v[d->keys[side]->frame[i]];
		const char *name = coati_view_key_name(v, by, d->keys[side]->frame[i]);

		if (by == COATI_BY_ADDRESS)
			name = coati_arena_printf(&d->arena, "0x%llx %s",
						  (unsigned long long)f->address, f->function);
		r = name ? find_row(d, side, name, by == COATI_BY_IMAGE ? NULL : f->image,
				    &d->row_of_key[side][i])
			 : -ENOMEM;
	}
	return r;
}

/* What an entry counts for where a row is no frame; @room is for numbers. Threads and processes
 * have other numbers each time: their names count. NULL: out of memory. */
static const char *name_of_entry(const struct coati_diff *d, int side,
				 const struct coati_profile_entry *e, char room[OWN_LABEL_ROOM])
{
	const struct coati_profile *p = d->views[side]->profile;
	const struct coati_profile_thread *t = &p->threads.v[e->thread];
	const struct own_label_of of = { t, &p->label_sets.v[e->labels], &p->rules };
	const char *const *names;
	const char *name;

	switch (d->opts.by) {
	case COATI_BY_PROCESS:
		names = coati_view_process_names(d->views[side]);
		return names ? names[e->thread] : NULL;
	case COATI_BY_CPU:
		snprintf(room, OWN_LABEL_ROOM, "%d", e->cpu);
		return e->cpu < 0 ? "unknown" : room;
	case COATI_BY_EVENT:
		return p->events.v[e->event].name;
	case COATI_BY_LABEL:
		name = coati_profile_label_of(p, e, d->opts.label);
		if (!name)
			name = coati_own_label_value(
				coati_own_label(d->opts.label, strlen(d->opts.label)), &of, room);
		return name ? name : "";
	case COATI_BY_WAIT:
		return coati_view_wait(d->views[side], e);
	default:
		return t->comm;
	}
}

static int row_of_entry(struct coati_diff *d, int side, const struct coati_profile_entry *e,
			uint32_t *ret)
{
	char room[OWN_LABEL_ROOM];
	const char *name = name_of_entry(d, side, e, room);
	uint64_t number;

	if (!name)
		return -ENOMEM;
	if (coati_map_get_str(&d->by_name, name, &number)) {
		*ret = (uint32_t)number;
		return 0;
	}
	if (name == room)
		name = coati_arena_strdup(&d->arena, room);
	return name ? find_row(d, side, name, NULL, ret) : -ENOMEM;
}

/* Who is told of each row of each entry. */
struct diff_visitor {
	diff_visit_fn fn;
	void *ctx;
};

/* A row that a stack counts for. */
struct visit {
	uint32_t row, how;
};

/* Those of all stacks, found once for each: it has as many entries as bins of time. */
struct visits {
	ARRAY(struct visit) list;
	uint32_t *first; /* by stack: where its own begin, plus 1; 0: not found yet */
	uint32_t *nr;
	uint32_t *seen; /* by row: the last stack that had it, plus 1 */
};

static int visits_init(struct visits *vs, const struct coati_diff *d, int side)
{
	size_t stacks = d->views[side]->profile->stacks.len;

	*vs = (struct visits){ .list.max = PROFILE_TABLE_MAX };
	if (!diff_has_frames(d))
		return 0;
	vs->first = coati_alloc_array(stacks + 1, sizeof(*vs->first));
	vs->nr = coati_alloc_array(stacks + 1, sizeof(*vs->nr));
	vs->seen = coati_alloc_array(d->found.len + 1, sizeof(*vs->seen));
	return vs->first && vs->nr && vs->seen ? 0 : -ENOMEM;
}

static void visits_fini(struct visits *vs)
{
	ARRAY_FINI(&vs->list);
	coati_free(vs->first);
	coati_free(vs->nr);
	coati_free(vs->seen);
}

static int find_visits(struct visits *vs, const struct coati_diff *d, int side,
		       const struct coati_view_entry *e)
{
	uint32_t stack = e->entry->stack;

	vs->first[stack] = (uint32_t)vs->list.len + 1;
	for (uint32_t i = 0; i < e->nr_frames; i++) {
		uint32_t row = d->row_of_key[side][d->keys[side]->of_frame[e->frames[i]]];
		uint32_t how = i ? 0 : DIFF_SELF;
		struct visit *v;

		if (i && coati_view_frame(d->views[side], e->frames[i])->location_flags &
				 COATI_LOCATION_TRUNCATED)
			continue;		/* no code */
		if (vs->seen[row] != stack + 1) /* recursion counts once */
			how |= DIFF_TOTAL;
		vs->seen[row] = stack + 1;
		v = how ? ARRAY_ADD(&vs->list) : NULL;
		if (how && !v)
			return -ENOMEM;
		if (v)
			*v = (struct visit){ row, how };
	}
	vs->nr[stack] = (uint32_t)vs->list.len + 1 - vs->first[stack];
	return 0;
}

/* An entry whose rows are frames. */
static int visit_frames(struct coati_diff *d, int side, struct visits *vs,
			const struct coati_view_entry *e, struct diff_visitor *to)
{
	uint32_t stack = e->entry->stack;
	int r = vs->first[stack] ? 0 : find_visits(vs, d, side, e);

	for (uint32_t i = 0; r == 0 && i < vs->nr[stack]; i++) {
		const struct visit *v = &vs->list.v[vs->first[stack] - 1 + i];

		to->fn(to->ctx, e, v->row, v->how);
	}
	return r;
}

int coati_diff_walk(struct coati_diff *d, int side, diff_visit_fn fn, void *ctx)
{
	struct diff_visitor to = { .fn = fn, .ctx = ctx };
	struct coati_view_entry e;
	struct visits vs;
	uint64_t pos = 0;
	int r = visits_init(&vs, d, side);

	while (r == 0 && coati_view_next(d->views[side], &pos, &e) > 0) {
		uint32_t row;

		if (diff_has_frames(d)) {
			r = visit_frames(d, side, &vs, &e, &to);
			continue;
		}
		r = row_of_entry(d, side, e.entry, &row);
		if (r == 0)
			fn(ctx, &e, row, DIFF_SELF | DIFF_TOTAL);
	}
	visits_fini(&vs);
	return r;
}

struct adding {
	struct coati_diff *d;
	int side;
};

static void add_up(void *ctx, const struct coati_view_entry *e, uint32_t row, uint32_t how)
{
	struct adding *a = ctx;
	struct diff_sum *s = &a->d->found.v[row].sums[a->side];

	if (how & DIFF_SELF) {
		add_weight(&s->self, e->weight);
		add_weight(&s->self_count, e->entry->count);
	}
	if (how & DIFF_TOTAL) {
		add_weight(&s->total, e->weight);
		add_weight(&s->total_count, e->entry->count);
	}
}

static int on_side(const struct diff_row *row)
{
	return row->image[0] && row->image[1] ? -1 : row->image[0] ? 0 : 1;
}

/* Those of one side under each name: the number of the row, or VIEW_NONE when there are several. */
static int list_left_over(struct coati_diff *d, int side, struct map *m)
{
	for (size_t i = 0; i < d->found.len; i++) {
		const struct diff_row *row = &d->found.v[i];
		uint64_t number = i, other;

		if (on_side(row) != side)
			continue;
		if (coati_map_get_str(m, row->name, &other))
			number = VIEW_NONE;
		if (coati_map_put_str(m, row->name, number) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What is left over once on each side is one thing: it becomes the row of the after side. */
static int join_left_over(struct coati_diff *d, const struct map *before, const struct map *after)
{
	for (size_t i = 0; i < d->found.len; i++) {
		struct diff_row *row = &d->found.v[i];
		uint64_t own, other;

		if (on_side(row) != 0 || !coati_map_get_str(before, row->name, &own) || own != i ||
		    !coati_map_get_str(after, row->name, &other) || other == VIEW_NONE)
			continue;
		row->same_as = (uint32_t)other;
	}
	for (uint32_t i = 0; i < d->keys[0]->nr; i++) {
		uint32_t *row = &d->row_of_key[0][i];

		if (d->found.v[*row].same_as != VIEW_NONE)
			*row = d->found.v[*row].same_as;
	}
	return 0;
}

static int match_left_over(struct coati_diff *d)
{
	struct map before, after;
	int r;

	coati_map_init_strings(&before, PROFILE_TABLE_MAX);
	coati_map_init_strings(&after, PROFILE_TABLE_MAX);
	r = list_left_over(d, 0, &before);
	if (r == 0)
		r = list_left_over(d, 1, &after);
	if (r == 0)
		r = join_left_over(d, &before, &after);
	coati_map_fini(&before);
	coati_map_fini(&after);
	return r;
}

int coati_diff_match(struct coati_diff *d)
{
	int r = 0;

	for (int side = 0; side < 2 && r == 0 && diff_has_frames(d); side++)
		r = find_frames(d, side);
	if (r == 0 && diff_has_frames(d) && d->opts.by != COATI_BY_IMAGE)
		r = match_left_over(d);
	/* rows that are no frames are found on the way: their number is not known before */
	for (int side = 0; side < 2 && r == 0; side++)
		r = coati_diff_walk(d, side, add_up, &(struct adding){ .d = d, .side = side });
	return r;
}
