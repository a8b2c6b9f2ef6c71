/* SPDX-License-Identifier: MIT */
/*
 * The symbols that a recording of simpleperf brings along, given to the images of its mappings by
 * path. Addresses of a file that is not on this machine are offsets in it: symbols are moved there.
 * Those of code that was made at run time are addresses of the process already.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/image.h"
#include "process/processes.h"
#include "reading/reading.h"
#include "recording/recording.h"
#include "recording/simpleperf.h"

#define NAME_BYTES_MAX 16384

/* Images by path. */
static int index_images(struct coati_images *images, struct map *ret)
{
	struct coati_image_info info = { .size = sizeof(info) };
	int r = 0;

	for (uint32_t i = 0; i < coati_images_count(images) && r >= 0; i++) {
		uint64_t other;

		if (coati_image_info(images, i, &info) < 0 || info.opened ||
		    (info.kind != COATI_IMAGE_FILE && info.kind != COATI_IMAGE_KERNEL))
			continue;
		if (!coati_map_get_str(ret, info.path, &other))
			r = coati_map_put_str(ret, info.path, i);
	}
	return r < 0 ? r : 0;
}

/* What became that image; NULL: nothing that was mapped. */
static const struct origin *find_origin(const struct reading *r, uint32_t image)
{
	const struct origins *os = &r->processes->origins;

	for (size_t i = 0; i < os->v.len; i++)
		if (os->v.v[i].image == image)
			return &os->v.v[i];
	return NULL;
}

/*
 * The address that profiles have for @vaddr; false: it is not known. Older versions do not say
 * where in the file the code begins: that is where it was mapped from.
 */
static bool move(const struct simpleperf_file *f, const struct origin *o, uint64_t vaddr,
		 uint64_t *ret)
{
	*ret = vaddr;
	if (f->kind != SIMPLEPERF_ELF)
		return f->kind == SIMPLEPERF_KERNEL || f->kind == SIMPLEPERF_DEX;
	if (o && o->kind == ORIGIN_JIT_FILE)
		return true;
	if (!f->has_offset && !o)
		return false;
	*ret = vaddr - f->min_vaddr + (f->has_offset ? f->min_offset : o->map_pgoff);
	return vaddr >= f->min_vaddr;
}

static int add_symbols(struct reading *reading, uint32_t image, struct simpleperf_file *f)
{
	struct coati_images *images = reading->profile->images;
	const struct origin *o = find_origin(reading, image);
	CLEANUP(freep) char *name = coati_alloc(NAME_BYTES_MAX + 1);
	struct simpleperf_symbol s;
	uint64_t start;
	int r;

	if (!name)
		return -ENOMEM;
	while ((r = coati_simpleperf_symbol(f, &s)) > 0) {
		size_t len = s.name_size < NAME_BYTES_MAX ? s.name_size : NAME_BYTES_MAX;

		if (!s.size || !len || !move(f, o, s.vaddr, &start))
			continue;
		memcpy(name, s.name, len);
		name[len] = '\0';
		r = coati_image_add_symbol(images, image,
					   &(struct image_symbol){ start, s.size, name, 0 });
		if (r == -ENOMEM)
			return r;
	}
	return r;
}

static int take_section(struct reading *r, const struct map *by_path, uint32_t bit)
{
	CLEANUP(freep) char *path = NULL;
	struct simpleperf_file f;
	uint64_t size = 0, image;
	const uint8_t *bytes = coati_recording_feature(r->recording, bit, &size);
	struct cursor c = cursor_over(bytes, bytes ? size : 0);
	int n;

	c.swap = coati_recording_info(r->recording)->is_swapped;
	while ((n = coati_simpleperf_file(&c, bit == SIMPLEPERF_FILE2, &f)) > 0) {
		coati_free(path);
		path = coati_strndup(f.path, f.path_size);
		if (!path)
			return -ENOMEM;
		if (!coati_map_get_str(by_path, path, &image))
			continue;
		n = add_symbols(r, (uint32_t)image, &f);
		if (n < 0)
			break;
	}
	if (n == -EBADMSG)
		r->profile->quality.damaged++;
	return n == -ENOMEM ? n : 0;
}

int coati_reading_simpleperf(struct reading *r)
{
	uint64_t size;
	struct map by_path;
	int n;

	if (!coati_recording_feature(r->recording, SIMPLEPERF_FILE, &size) &&
	    !coati_recording_feature(r->recording, SIMPLEPERF_FILE2, &size))
		return 0;
	coati_map_init_strings(&by_path, PROFILE_TABLE_MAX);
	n = index_images(r->profile->images, &by_path);
	if (n == 0)
		n = take_section(r, &by_path, SIMPLEPERF_FILE);
	if (n == 0)
		n = take_section(r, &by_path, SIMPLEPERF_FILE2);
	coati_map_fini(&by_path);
	return n;
}
