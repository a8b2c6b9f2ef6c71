/* SPDX-License-Identifier: MIT */
/* see hold.h */
#include "image/hold.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "image/open.h"

/* As many descriptors again are left for the files and debug files that are read for names. */
static uint32_t find_limit(void)
{
	struct rlimit l;
	uint64_t half;

	coati_file_want(IMAGES_OTHER_FDS + 2 * (uint64_t)HOLD_FILES_MAX);
	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur <= IMAGES_OTHER_FDS)
		return 0;
	half = (l.rlim_cur - IMAGES_OTHER_FDS) / 2;
	return half < HOLD_FILES_MAX ? (uint32_t)half : HOLD_FILES_MAX;
}

static int leave_over_limit(struct coati_image *im)
{
	if (!im->hold_refused)
		im->all->nr_over_limit++;
	im->hold_refused = true;
	return 0;
}

/* The build ID is one more way to find the image again: by records that have nothing else. */
static int learn_build_id(struct coati_images *images, const struct coati_image_ref *ref,
			  struct copy *c)
{
	struct coati_image_ref known = *ref;
	uint32_t image;

	known.build_id_size = (uint32_t)coati_copy_build_id(c, known.build_id);
	return known.build_id_size ? coati_images_get(images, &known, &image, NULL) : 0;
}

static int open_and_hold(struct coati_image *im, const struct coati_image_ref *ref)
{
	struct coati_error err = { 0 };
	struct opened opened;
	struct copy c;
	int r = coati_image_find_file(im, &c, &opened, &err);

	if (r == -EMFILE || r == -ENFILE)
		return leave_over_limit(im);
	if (r < 0)
		return r;
	if (!im->build_id_size)
		r = learn_build_id(im->all, ref, &c);
	/* the bytes that were read for the checks may never be needed: keep the descriptor alone */
	im->held_fd = TAKE_FD(c.fd);
	im->all->nr_held++;
	coati_copy_close(&c);
	return r;
}

int coati_images_hold(struct coati_images *images, const struct coati_image_ref *ref)
{
	struct coati_image *im;
	uint32_t image;
	int r = coati_images_get(images, ref, &image, NULL);

	if (r < 0)
		return r;
	im = images->v.v[image];
	if (im->kind != COATI_IMAGE_FILE || im->held_fd >= 0 || im->looked ||
	    im->hold_tries >= HOLD_TRIES_MAX)
		return 0;
	if (!images->hold_limit_known) {
		images->hold_limit_known = true;
		images->hold_limit = find_limit();
	}
	if (images->nr_held >= images->hold_limit)
		return leave_over_limit(im);
	im->hold_tries++;
	/* the process of the first mapping may have ended: this one is more likely to be alive */
	im->pid = ref->pid;
	im->map_start = ref->map_start;
	im->map_end = ref->map_end;
	return open_and_hold(im, ref);
}

size_t coati_images_build_id(struct coati_images *images, const struct coati_image_ref *ref,
			     uint8_t ret[COATI_BUILD_ID_MAX])
{
	struct coati_image *im;
	struct opened opened;
	struct copy c;
	uint32_t image;
	size_t size;

	if (coati_images_get(images, ref, &image, NULL) < 0)
		return 0;
	im = images->v.v[image];
	if (im->build_id_size) {
		memcpy(ret, im->build_id, sizeof(im->build_id));
		return im->build_id_size;
	}
	if (coati_image_find_file(im, &c, &opened, NULL) < 0)
		return 0;
	size = coati_copy_build_id(&c, ret);
	coati_copy_close(&c);
	return size;
}

void coati_images_hold_stats(const struct coati_images *images, struct hold_stats *ret)
{
	*ret = (struct hold_stats){ .held = images->nr_held, .over = images->nr_over_limit };
}

static uint64_t bytes_of(const struct coati_image *im)
{
	return im->file.read_bytes + im->debug_file.read_bytes + im->mini.size +
	       im->symbols.nr * sizeof(*im->symbols.v);
}

/* As before its file was looked for; names that are packed without it need its layout. */
static void give_back(struct coati_image *im)
{
	im->nr_segments = coati_image_segments(im, im->segments);
	coati_plt_fini(&im->plt);
	coati_fdes_fini(&im->fdes);
	coati_symbols_fini(&im->symbols);
	coati_symbols_init(&im->symbols);
	coati_free(im->near.v);
	coati_copy_close(&im->mini);
	coati_copy_close(&im->debug_file);
	coati_copy_close(&im->file);
	im->plt = (struct plt){ 0 };
	im->near = (struct symbols_near){ 0 };
	im->sections = NULL;
	im->nr_sections = 0;
	im->has_plt = im->looked_for_debug = im->is_part = im->loaded = im->looked = false;
}

uint64_t coati_image_give_back(struct coati_image *im, uint64_t least_bytes)
{
	uint64_t bytes = bytes_of(im);

	/* without the descriptor the file may not be found again; names from DWARF refer to the
	 * bytes */
	if (im->held_fd < 0 || !im->loaded || im->texts.len || im->readable.len ||
	    bytes < least_bytes)
		return 0;
	give_back(im);
	return bytes;
}

uint64_t coati_images_give_back(struct coati_images *images, uint64_t least_bytes)
{
	uint64_t sum = 0;

	images->give_back_bytes = least_bytes;
	for (size_t i = 0; i < images->v.len; i++)
		sum += coati_image_give_back(images->v.v[i], least_bytes);
	return sum;
}
