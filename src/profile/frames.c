/* SPDX-License-Identifier: MIT */
/*
 * Locations with names come in, frames come out: several for a location where functions were
 * inlined. Frames of the same function get one number. Code without a symbol counts as one function
 * for its whole section or image, or is split into address ranges.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "profile/view.h"
#include "reading/parts.h"

#define RANGE_NAME_MAX (64 * 1024)

/* Functions by name and image while frames are made. */
struct functions {
	struct index index;
	ARRAY(uint32_t) frames;	  /* one of each */
	struct strbuf range_name; /* of the frame at hand; copied when it is a new function */
};

static const char *image_name(const struct coati_profile *p, const struct coati_profile_location *l)
{
	struct coati_image_info info = { .size = sizeof(info) };
	uint32_t image = l->image;

	if (l->flags & COATI_LOCATION_OFF_CPU)
		return "[off-CPU]";
	if (l->flags & COATI_LOCATION_TRUNCATED)
		return "[truncated]";
	if (image == COATI_IMAGE_NONE || coati_image_info(p->images, image, &info) < 0 ||
	    !info.name)
		return "[unknown]";
	return info.name;
}

/* Is the frame of code without a symbol, in a piece that is longer than a range or of unknown
 * length? */
static bool is_to_split(const struct coati_view *v, const struct coati_view_frame *f)
{
	return v->nameless_bytes && f->flags & COATI_NAME_SYNTHETIC &&
	       (!f->length || f->length > v->nameless_bytes);
}

/* The range of the frame's address becomes its function. */
static int name_range(const struct coati_view *v, struct functions *fs, struct coati_view_frame *f)
{
	uint64_t start = f->address - f->address % v->nameless_bytes, end;
	struct strbuf *s = &fs->range_name;

	if (__builtin_add_overflow(start, v->nameless_bytes, &end))
		end = UINT64_MAX;
	if (f->length && f->address - f->start < f->length) {
		end = end - f->start < f->length ? end : f->start + f->length;
		start = start > f->start ? start : f->start;
	}
	coati_strbuf_clear(s);
	coati_strbuf_adds(s, f->function);
	coati_strbuf_adds(s, "@0x");
	coati_strbuf_hex(s, start);
	coati_strbuf_adds(s, "-0x");
	coati_strbuf_hex(s, end);
	f->function = s->text;
	f->start = start;
	f->length = end - start;
	return s->failed ? -ENOMEM : 0;
}

static bool is_same_function(const struct coati_view_frame *a, const struct coati_view_frame *b)
{
	return a->image_id == b->image_id &&
	       (a->function == b->function || !strcmp(a->function, b->function));
}

/* No entry has this function yet. */
static int add_function(struct coati_view *v, struct functions *fs, uint32_t frame, uint64_t hash)
{
	struct coati_view_frame *f = &v->frames.v[frame];
	uint32_t *slot = ARRAY_ADD(&fs->frames);

	if (f->function == fs->range_name.text)
		f->function = coati_arena_strdup(&v->arena, f->function);
	if (!slot || !f->function)
		return -ENOMEM;
	*slot = frame;
	f->function_id = (uint32_t)fs->frames.len - 1;
	return coati_index_add(&fs->index, hash, f->function_id);
}

static int number_function(struct coati_view *v, struct functions *fs, uint32_t frame)
{
	struct coati_view_frame *f = &v->frames.v[frame];
	uint64_t hash = coati_hash_bytes(f->function, strlen(f->function),
					 coati_hash_u64(f->image_id, fs->index.seed));
	struct probe probe = index_probe(&fs->index, hash);

	while (index_next(&fs->index, &probe, &f->function_id)) {
		const struct coati_view_frame *old = &v->frames.v[fs->frames.v[f->function_id]];

		if (!is_same_function(old, f))
			continue;
		f->function = old->function;
		return 0;
	}
	return add_function(v, fs, frame, hash);
}

/* One frame of a location: its name number @depth. Without inlines the outermost function has the
 * innermost line. */
static int add_frame(struct coati_view *v, struct functions *fs, uint32_t location, uint32_t depth)
{
	const struct coati_profile_location *l = &v->profile->locations.v[location].pub;
	bool inlines = !(v->flags & COATI_VIEW_NO_INLINES);
	const struct coati_name *name = &l->names[depth];
	const struct coati_name *line = &l->names[inlines ? depth : 0];
	struct coati_view_frame *f = ARRAY_ADD(&v->frames);

	if (!f)
		return -ENOMEM;
	*f = (struct coati_view_frame){
		.function = name->function,
		.symbol = name->symbol,
		.image = image_name(v->profile, l),
		.file = line->file,
		.line = line->line,
		.decl_line = name->decl_line,
		.address = l->vaddr,
		.location = location,
		.depth = inlines ? depth : 0,
		.flags = name->flags,
		.location_flags = l->flags,
		.image_id = l->image,
		.start = name->start,
		.length = name->length,
	};
	if (is_to_split(v, f) && name_range(v, fs, f) < 0)
		return -ENOMEM;
	return number_function(v, fs, (uint32_t)v->frames.len - 1);
}

static int add_location(struct coati_view *v, struct functions *fs, uint32_t location)
{
	const struct coati_profile_location *l = &v->profile->locations.v[location].pub;
	uint32_t depth = v->flags & COATI_VIEW_NO_INLINES ? l->nr_names - 1 : 0;
	int r = 0;

	if (!depth && l->nr_names > 1) {
		if (l->nr_names - 1 + v->nr_inlines > v->profile->max_bytes / VIEW_INLINE_BYTES) {
			depth = l->nr_names - 1;
			v->nr_plain++;
		}
		v->nr_inlines += l->nr_names - 1 - depth;
	}
	v->first_frame[location] = (uint32_t)v->frames.len;
	for (; depth < l->nr_names && r == 0; depth++)
		r = add_frame(v, fs, location, depth);
	return r;
}

int coati_view_make_frames(struct coati_view *v)
{
	size_t nr = v->profile->locations.len;
	struct functions fs = { .frames = ARRAY_INIT(PROFILE_TABLE_MAX),
				.range_name = STRBUF_INIT(RANGE_NAME_MAX) };
	int r = 0;

	coati_index_init(&fs.index);
	v->first_frame = coati_alloc_array(nr + 1, sizeof(*v->first_frame));
	if (!v->first_frame)
		return -ENOMEM;
	for (size_t i = 0; i < nr && r == 0; i++)
		r = add_location(v, &fs, (uint32_t)i);
	v->first_frame[nr] = (uint32_t)v->frames.len;
	coati_index_fini(&fs.index);
	coati_strbuf_fini(&fs.range_name);
	v->nr_functions = (uint32_t)fs.frames.len;
	v->function_frame = fs.frames.v;
	return r;
}
