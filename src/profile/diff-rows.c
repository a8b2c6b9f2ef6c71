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
	struct diff_side *s = &d->sides[side];
	int r = coati_view_keys(v, by, &s->keys);

	if (r < 0)
		return r;
	s->row_of_key = coati_alloc_array((size_t)s->keys->nr + 1, sizeof(uint32_t));
	if (!s->row_of_key)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->keys->nr && r == 0; i++) {
		const struct coati_view_frame *f = &v->frames.v[s->keys->frame[i]];
		const char *name = coati_view_key_name(v, by, s->keys->frame[i]);

		if (by == COATI_BY_ADDRESS)
			name = coati_arena_printf(&d->arena, "0x%llx %s",
						  (unsigned long long)f->address, f->function);
		r = name ? find_row(d, side, name, by == COATI_BY_IMAGE ? NULL : f->image,
				    &s->row_of_key[i])
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

/* What a row has, by how it comes to it. */
static void add_to_row(struct diff_sum *s, uint32_t how, uint64_t weight, uint64_t count)
{
	if (how & DIFF_SELF) {
		add_weight(&s->self, weight);
		add_weight(&s->self_count, count);
	}
	if (how & DIFF_TOTAL) {
		add_weight(&s->total, weight);
		add_weight(&s->total_count, count);
	}
}

/* Rows that are no frames are found on the way. */
static int add_entries(struct coati_diff *d, int side)
{
	const struct coati_view *v = d->views[side];
	const struct coati_profile *p = v->profile;
	uint32_t *rows = coati_alloc_array(p->entries.len + 1, sizeof(*rows));

	d->sides[side].row_of_entry = rows;
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		int r = v->entry_is_in[i] ? row_of_entry(d, side, e, &rows[i]) : 0;

		if (r < 0)
			return r;
		if (v->entry_is_in[i])
			add_to_row(&d->found.v[rows[i]].sums[side], DIFF_SELF | DIFF_TOTAL,
				   view_weight(v, e), e->count);
	}
	return 0;
}

/* The rows of a stack; @seen is the last stack that had each row, plus 1. */
static int find_visits(struct coati_diff *d, int side, uint32_t stack, uint32_t *seen)
{
	struct diff_side *to = &d->sides[side];
	const struct view_stack *s = &d->views[side]->stacks[stack];

	to->first_visit[stack] = (uint32_t)to->visits.len;
	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t row = to->row_of_key[to->keys->of_frame[s->frames[i]]];
		uint32_t how = i ? 0 : DIFF_SELF;
		struct diff_visit *visit;

		if (i && coati_view_frame(d->views[side], s->frames[i])->location_flags &
				 COATI_LOCATION_TRUNCATED)
			continue;	    /* no code */
		if (seen[row] != stack + 1) /* recursion counts once */
			how |= DIFF_TOTAL;
		seen[row] = stack + 1;
		visit = how ? ARRAY_ADD(&to->visits) : NULL;
		if (how && !visit)
			return -ENOMEM;
		if (visit)
			*visit = (struct diff_visit){ row, how };
	}
	to->nr_visits[stack] = (uint32_t)to->visits.len - to->first_visit[stack];
	return 0;
}

static int add_stack(struct coati_diff *d, int side, uint32_t stack, uint32_t *seen)
{
	const struct diff_side *of = &d->sides[side];
	const struct view_stack *s = &d->views[side]->stacks[stack];
	int r = find_visits(d, side, stack, seen);

	for (uint32_t i = 0; r == 0 && i < of->nr_visits[stack]; i++) {
		const struct diff_visit *visit = &of->visits.v[of->first_visit[stack] + i];

		add_to_row(&d->found.v[visit->row].sums[side], visit->how, s->weight, s->count);
	}
	return r;
}

/* Rows that are frames: each stack tells once for all of its entries. */
static int add_stacks(struct coati_diff *d, int side)
{
	const struct coati_profile *p = d->views[side]->profile;
	struct diff_side *to = &d->sides[side];
	CLEANUP(freep) uint32_t *seen = coati_alloc_array(d->found.len + 1, sizeof(*seen));
	int r = 0;

	to->visits.max = PROFILE_TABLE_MAX;
	to->first_visit = coati_alloc_array(p->stacks.len + 1, sizeof(*to->first_visit));
	to->nr_visits = coati_alloc_array(p->stacks.len + 1, sizeof(*to->nr_visits));
	if (!seen || !to->first_visit || !to->nr_visits)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < p->stacks.len; i++)
		if (d->views[side]->stacks[i].is_in)
			r = add_stack(d, side, i, seen);
	return r;
}

void coati_diff_free_side(struct diff_side *s)
{
	coati_free(s->row_of_key);
	coati_free(s->first_visit);
	coati_free(s->nr_visits);
	ARRAY_FINI(&s->visits);
	coati_free(s->row_of_entry);
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
	for (uint32_t i = 0; i < d->sides[0].keys->nr; i++) {
		uint32_t *row = &d->sides[0].row_of_key[i];

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
	for (int side = 0; side < 2 && r == 0; side++)
		r = diff_has_frames(d) ? add_stacks(d, side) : add_entries(d, side);
	return r;
}
