/* SPDX-License-Identifier: MIT */
/* see dictionary.h */
#include "format/dictionary.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "format/text.h"
#include "profile/walk.h"
#include "reading/parts.h"

#define TABLE_MAX ((size_t)1 << 28)
#define BYTES_MAX (UINT64_C(4) << 30)
#define COMM_LEN  15 /* longer names are cut by the kernel */

static void fail(struct dictionary *d)
{
	if (!d->failed)
		d->failed = -ENOMEM;
}

/* ---- strings ---- */

uint32_t coati_dictionary_string(struct dictionary *d, const char *text)
{
	const char **slot;
	uint64_t number;

	if (coati_map_get_str(&d->string_index, text, &number))
		return (uint32_t)number;
	slot = ARRAY_ADD(&d->strings);
	number = d->strings.len - 1;
	if (slot)
		*slot = text;
	if (!slot || coati_map_put_str(&d->string_index, text, number) < 0) {
		fail(d);
		return 0;
	}
	return (uint32_t)number;
}

uint32_t coati_dictionary_copy(struct dictionary *d, const char *text)
{
	uint64_t number;
	char *copy;

	if (coati_map_get_str(&d->string_index, text, &number))
		return (uint32_t)number;
	copy = coati_arena_strdup(&d->arena, text);
	if (copy)
		return coati_dictionary_string(d, copy);
	fail(d);
	return 0;
}

/* ---- mappings ---- */

/* The name of the file: what pprof calls those that have none. */
static const char *file_name(const struct coati_image_info *info)
{
	if (info->kind == COATI_IMAGE_KERNEL)
		return "[kernel.kallsyms]_text";
	if (info->kind == COATI_IMAGE_VDSO)
		return "[vdso]";
	return info->path && *info->path ? info->path : info->name;
}

static uint32_t build_id_string(struct dictionary *d, const struct coati_image_info *info)
{
	char text[2 * COATI_BUILD_ID_MAX + 1];

	coati_format_build_id(info, text);
	return coati_dictionary_copy(d, text);
}

static bool is_mapping(const struct dictionary_mapping *m, const struct coati_profile_location *l)
{
	return m->image == l->image && m->start == l->map_start && m->end == l->map_end &&
	       m->offset == l->map_pgoff;
}

/* The number of the mapping that a location lies in; 0: nothing is known there. */
static uint32_t mapping_of(struct dictionary *d, const struct coati_profile_location *l)
{
	uint64_t key =
		coati_hash_u64(l->map_start, coati_hash_u64(l->image, l->map_end)) ^ l->map_pgoff;
	struct coati_image_info info = { .size = sizeof(info) };
	struct dictionary_mapping *m;
	uint64_t number;

	if (l->image == COATI_IMAGE_NONE ||
	    coati_image_info(coati_profile_images(d->in->profile), l->image, &info) < 0)
		return 0;
	for (; coati_map_get(&d->mapping_index, key, &number); key++)
		if (is_mapping(&d->mappings.v[number - 1], l))
			return (uint32_t)number;
	m = ARRAY_ADD(&d->mappings);
	if (!m || coati_map_put(&d->mapping_index, key, d->mappings.len) < 0) {
		fail(d);
		return 0;
	}
	*m = (struct dictionary_mapping){
		.image = l->image, .start = l->map_start, .end = l->map_end, .offset = l->map_pgoff
	};
	m->file = coati_dictionary_string(d, file_name(&info));
	m->build_id = build_id_string(d, &info);
	return (uint32_t)d->mappings.len;
}

/* The name of the process whose threads have most weight; NULL: there is none. */
static const char *main_process(const struct format_input *in, uint64_t *weights)
{
	uint32_t nr = coati_profile_thread_count(in->profile), best = 0;
	struct map index; /* first thread of a process */
	struct coati_view_entry e;
	uint64_t pos = 0, first;

	coati_map_init(&index, UINT32_MAX);
	while (coati_view_next(in->view, &pos, &e)) {
		const struct coati_profile_thread *t =
			coati_profile_thread(in->profile, e.entry->thread);
		uint64_t key = (uint64_t)t->file << 32 | (uint32_t)t->pid;

		if (!coati_map_get(&index, key, &first)) {
			first = e.entry->thread;
			/* then the heaviest so far */
			if (coati_map_put(&index, key, first) < 0)
				break;
		}
		weights[first] += e.weight;
	}
	coati_map_fini(&index);
	for (uint32_t i = 1; i < nr; i++)
		if (weights[i] > weights[best])
			best = i;
	return nr ? coati_profile_thread(in->profile, best)->process_comm : NULL;
}

/* How well a file fits the name of a process: python3.11 may call itself python3; libraries are no
 * programs. */
static int program_rank(const struct coati_image_info *info, const char *comm)
{
	if (info->kind != COATI_IMAGE_FILE)
		return 0;
	if (!strncmp(info->name, comm, COMM_LEN))
		return 3;
	if (strstr(info->name, ".so"))
		return 0;
	return *comm && !strncmp(info->name, comm, strlen(comm)) ? 2 : 1;
}

/* Readers take the first mapping for the program that was measured. */
static void add_main_mapping(struct dictionary *d, const char *comm)
{
	struct coati_images *images = coati_profile_images(d->in->profile);
	uint32_t nr = coati_profile_location_count(d->in->profile), best = 0;
	struct coati_image_info info = { .size = sizeof(info) };
	int best_rank = 0;

	for (uint32_t i = 0; comm && i < nr && best_rank < 3; i++) {
		const struct coati_profile_location *l = coati_profile_location(d->in->profile, i);
		int rank = 0;

		if (l->image != COATI_IMAGE_NONE && coati_image_info(images, l->image, &info) == 0)
			rank = program_rank(&info, comm);
		if (rank > best_rank) {
			best_rank = rank;
			best = i;
		}
	}
	if (best_rank)
		mapping_of(d, coati_profile_location(d->in->profile, best));
}

/* ---- functions and locations ---- */

static uint32_t function_of(struct dictionary *d, const struct coati_view_frame *f,
			    const struct coati_name *name)
{
	struct dictionary_function function = {
		.name = coati_dictionary_string(d, f->function),
		.symbol = coati_dictionary_string(d, f->symbol ? f->symbol : f->function),
		.file = coati_dictionary_string(d, name->file ? name->file : ""),
		.line = f->decl_line,
	};
	uint64_t key = coati_hash_bytes(&function, sizeof(function), f->function_id), number;
	struct dictionary_function *slot;

	for (; coati_map_get(&d->function_index, key, &number); key++)
		if (!memcmp(&d->functions.v[number - 1], &function, sizeof(function)))
			return (uint32_t)number;
	slot = ARRAY_ADD(&d->functions);
	if (!slot || coati_map_put(&d->function_index, key, d->functions.len) < 0) {
		fail(d);
		return 0;
	}
	*slot = function;
	return (uint32_t)d->functions.len;
}

/* A new location with these frames. */
static uint32_t add_location(struct dictionary *d, const uint32_t *frames, uint32_t nr)
{
	uint32_t location = d->of_frame[frames[0]];
	const struct coati_profile_location *l = coati_profile_location(d->in->profile, location);
	bool inlines = !(d->in->opts->flags & COATI_EXPORT_NO_INLINES);
	struct dictionary_location *slot = ARRAY_ADD(&d->locations);
	struct dictionary_line *line;

	if (!slot) {
		fail(d);
		return 0;
	}
	slot->address = l->address;
	slot->is_kernel = l->flags & COATI_LOCATION_KERNEL;
	slot->first_line = (uint32_t)d->lines.len;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_view_frame *f = coati_view_frame(d->in->view, frames[i]);
		const struct coati_name *name = &l->names[inlines ? f->depth : l->nr_names - 1];

		line = ARRAY_ADD(&d->lines);
		if (!line) {
			fail(d);
			return 0;
		}
		line->line = name->line;
		line->column = name->column;
		line->function = function_of(d, f, name);
	}
	slot->nr_lines = nr;
	slot->mapping = mapping_of(d, l);
	return (uint32_t)d->locations.len;
}

/* A location of which some frames are hidden: found by which are not. */
static uint32_t partial_location(struct dictionary *d, const uint32_t *frames, uint32_t nr)
{
	uint64_t key = coati_hash_bytes(frames, nr * sizeof(*frames), 1), number;
	uint32_t *known;

	/* kept as frames: their number, the location's number, the frames */
	for (; coati_map_get(&d->partial_index, key, &number); key++) {
		known = (uint32_t *)(uintptr_t)number;
		if (known[0] == nr && !memcmp(known + 2, frames, nr * sizeof(*frames)))
			return known[1];
	}
	known = coati_arena_alloc(&d->arena, (nr + 2) * sizeof(*known));
	if (!known || coati_map_put(&d->partial_index, key, (uintptr_t)known) < 0) {
		fail(d);
		return 0;
	}
	known[0] = nr;
	memcpy(known + 2, frames, nr * sizeof(*frames));
	known[1] = add_location(d, frames, nr);
	return known[1];
}

static uint32_t number_location(struct dictionary *d, const uint32_t *frames, uint32_t nr)
{
	uint32_t location = d->of_frame[frames[0]];
	uint32_t all = d->in->opts->flags & COATI_EXPORT_NO_INLINES
			       ? 1
			       : coati_profile_location(d->in->profile, location)->nr_names;

	if (nr != all)
		return partial_location(d, frames, nr);
	if (!d->whole[location])
		d->whole[location] = add_location(d, frames, nr);
	return d->whole[location];
}

static bool make_room(struct dictionary *d, uint32_t nr)
{
	uint32_t *room;

	if (nr <= d->nr_room)
		return true;
	room = coati_realloc_array(d->room, (size_t)nr * 2, sizeof(*room));
	if (!room) {
		fail(d);
		return false;
	}
	d->room = room;
	d->nr_room = nr * 2;
	return true;
}

uint32_t coati_dictionary_stack(struct dictionary *d, const uint32_t *frames, uint32_t nr)
{
	uint32_t nr_locations = 0, i = 0;

	if (!make_room(d, nr))
		return 0;
	while (i < nr && !d->failed) {
		uint32_t from = i++, location = d->of_frame[frames[from]];

		/* the frames of a location have rising numbers; the same again is a call of
		 * itself */
		while (i < nr && d->of_frame[frames[i]] == location && frames[i] > frames[i - 1])
			i++;
		d->room[nr_locations++] = number_location(d, frames + from, i - from);
	}
	return nr_locations;
}

int coati_dictionary_init(struct dictionary *d, const struct format_input *in)
{
	uint32_t nr_frames = coati_view_frame_count(in->view);
	uint32_t nr_locations = coati_profile_location_count(in->profile);
	uint32_t nr_threads = coati_profile_thread_count(in->profile);
	uint64_t *weights = coati_alloc_array((size_t)nr_threads + 1, sizeof(*weights));

	*d = (struct dictionary){ .in = in };
	d->strings.max = d->mappings.max = d->functions.max = TABLE_MAX;
	d->lines.max = d->locations.max = TABLE_MAX;
	coati_map_init_strings(&d->string_index, TABLE_MAX);
	coati_map_init(&d->mapping_index, TABLE_MAX);
	coati_map_init(&d->function_index, TABLE_MAX);
	coati_map_init(&d->partial_index, TABLE_MAX);
	coati_arena_init(&d->arena, BYTES_MAX);
	d->of_frame = coati_alloc_array((size_t)nr_frames + 1, sizeof(*d->of_frame));
	d->whole = coati_alloc_array((size_t)nr_locations + 1, sizeof(*d->whole));
	coati_dictionary_string(d, "");
	if (weights && d->of_frame && d->whole) {
		for (uint32_t i = 0; i < nr_frames; i++)
			d->of_frame[i] = coati_view_frame(in->view, i)->location;
		add_main_mapping(d, main_process(in, weights));
	} else {
		fail(d);
	}
	coati_free(weights);
	return d->failed;
}

void coati_dictionary_fini(struct dictionary *d)
{
	ARRAY_FINI(&d->strings);
	ARRAY_FINI(&d->mappings);
	ARRAY_FINI(&d->functions);
	ARRAY_FINI(&d->lines);
	ARRAY_FINI(&d->locations);
	coati_map_fini(&d->string_index);
	coati_map_fini(&d->mapping_index);
	coati_map_fini(&d->function_index);
	coati_map_fini(&d->partial_index);
	coati_free(d->of_frame);
	coati_free(d->whole);
	coati_free(d->room);
	coati_arena_fini(&d->arena);
}
