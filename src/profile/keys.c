/* SPDX-License-Identifier: MIT */
/*
 * What a frame counts as: its function, its line, its address, its image. Each frame gets the
 * number of its key once; tables and trees then add up by numbers.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/match.h"
#include "profile/view.h"
#include "reading/parts.h"

/* Lines were not asked for when the view was made: get them now. */
static int add_lines(struct coati_view *v)
{
	int r;

	if (v->flags & COATI_VIEW_LINES)
		return 0;
	r = coati_profile_resolve(v->profile, COATI_RESOLVE_LINES, NULL);
	if (r < 0)
		return r;
	for (size_t i = 0; i < v->frames.len; i++) {
		struct coati_view_frame *f = &v->frames.v[i];
		const struct coati_profile_location *l = &v->profile->locations.v[f->location].pub;

		if (f->depth >= l->nr_names)
			continue;
		f->file = l->names[f->depth].file;
		f->line = l->names[f->depth].line;
	}
	v->flags |= COATI_VIEW_LINES;
	return 0;
}

/* The file of a frame: two of one name are two. Where there is no file, the name of the image. */
static const char *file_of(const struct coati_view *v, uint32_t frame, size_t *ret_len)
{
	static const char deleted[] = " (deleted)";
	const struct coati_view_frame *f = &v->frames.v[frame];
	const char *path = coati_view_image_path(v, frame);
	size_t len = strlen(path ? path : f->image), tail = sizeof(deleted) - 1;

	if (path && len > tail && !strcmp(path + len - tail, deleted))
		len -= tail;
	*ret_len = len;
	return path ? path : f->image;
}

static bool is_same_file(const struct coati_view *v, uint32_t a, uint32_t b)
{
	size_t x_len, y_len;
	const char *x, *y;

	if (v->frames.v[a].image_id == v->frames.v[b].image_id &&
	    v->frames.v[a].image == v->frames.v[b].image)
		return true;
	x = file_of(v, a, &x_len);
	y = file_of(v, b, &y_len);
	return x_len == y_len && !memcmp(x, y, x_len);
}

const char *coati_view_image_path(const struct coati_view *v, uint32_t frame)
{
	const struct coati_view_frame *f = &v->frames.v[frame];
	struct coati_image_info info = { .size = sizeof(info) };

	if (f->location_flags & COATI_LOCATION_OFF_CPU || f->image_id == COATI_IMAGE_NONE ||
	    coati_image_info(v->profile->images, f->image_id, &info) < 0 ||
	    info.kind != COATI_IMAGE_FILE || !*info.path)
		return NULL;
	return info.path;
}

static uint64_t hash_of(const struct coati_view *v, enum coati_by by, uint32_t frame, uint64_t seed)
{
	const struct coati_view_frame *f = &v->frames.v[frame];
	const char *file;
	size_t len;

	switch (by) {
	case COATI_BY_LINE:
		return f->file ? coati_hash_bytes(f->file, strlen(f->file), seed ^ f->line)
			       : coati_hash_u64(f->function_id, seed);
	case COATI_BY_ADDRESS:
		return coati_hash_u64(f->address, coati_hash_u64(f->image_id, seed));
	case COATI_BY_IMAGE:
		file = file_of(v, frame, &len);
		return coati_hash_bytes(file, len, seed);
	default:
		return coati_hash_u64(f->function_id, seed);
	}
}

static bool is_same(const struct coati_view *v, enum coati_by by, uint32_t a, uint32_t b)
{
	const struct coati_view_frame *x = &v->frames.v[a], *y = &v->frames.v[b];

	switch (by) {
	case COATI_BY_LINE:
		/* code without lines counts by its function */
		if (!x->file || !y->file)
			return x->file == y->file && x->function_id == y->function_id;
		return x->line == y->line && !strcmp(x->file, y->file);
	case COATI_BY_ADDRESS:
		return x->image_id == y->image_id && x->address == y->address &&
		       x->location_flags == y->location_flags;
	case COATI_BY_IMAGE:
		return is_same_file(v, a, b);
	default:
		return x->function_id == y->function_id;
	}
}

static int number_frame(struct coati_view *v, enum coati_by by, struct index *x, uint32_t frame)
{
	struct keys *k = &v->keys[by];
	uint64_t hash = hash_of(v, by, frame, x->seed);
	struct probe probe = index_probe(x, hash);
	uint32_t key;

	while (index_next(x, &probe, &key))
		if (is_same(v, by, k->frame[key], frame)) {
			k->of_frame[frame] = key;
			k->flags[key] &= v->frames.v[frame].flags;
			return 0;
		}
	k->of_frame[frame] = k->nr;
	k->frame[k->nr] = frame;
	k->flags[k->nr] = v->frames.v[frame].flags;
	return coati_index_add(x, hash, k->nr++);
}

int coati_view_keys(struct coati_view *v, enum coati_by by, const struct keys **ret)
{
	struct keys *k = &v->keys[by];
	struct index x;
	int r = 0;

	if (by > COATI_BY_IMAGE)
		return -EINVAL;
	*ret = k;
	if (k->is_made)
		return 0;
	if (by == COATI_BY_LINE)
		r = add_lines(v);
	if (r < 0)
		return r;
	*k = (struct keys){ .of_frame = coati_view_own(v, v->frames.len, sizeof(uint32_t)),
			    .frame = coati_view_own(v, v->frames.len, sizeof(uint32_t)),
			    .flags = coati_view_own(v, v->frames.len, sizeof(uint32_t)) };
	if (!k->of_frame || !k->frame || !k->flags)
		return -ENOMEM;
	coati_index_init(&x);
	for (size_t i = 0; i < v->frames.len && r == 0; i++)
		r = number_frame(v, by, &x, (uint32_t)i);
	coati_index_fini(&x);
	k->is_made = r == 0;
	return r;
}

const char *coati_view_key_name(struct coati_view *v, enum coati_by by, uint32_t frame)
{
	const struct coati_view_frame *f = &v->frames.v[frame];

	if (by == COATI_BY_IMAGE)
		return f->image;
	if (by == COATI_BY_LINE && f->file)
		return coati_arena_printf(&v->arena, "%s:%u", f->file, f->line);
	return f->function;
}
