/* SPDX-License-Identifier: MIT */
/* The unwinder as an object: options come in, tables are kept by image, numbers go out. */
#include "unwind/unwinder.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "image/image.h"

#define UNWIND_IMAGES_MAX ((size_t)1 << 20)

const char *coati_unwind_end_name(enum coati_unwind_end end)
{
	static const char *const names[COATI_UNWIND_END_COUNT] = {
		"end", "gap", "unmapped", "truncated", "limit", "bad",
	};

	return (unsigned int)end < COATI_UNWIND_END_COUNT ? names[end] : "unknown";
}

int coati_unwinder_new(struct coati_images *images, const struct coati_unwinder_opts *opts,
		       struct coati_unwinder **ret, struct coati_error *err)
{
	struct coati_unwinder_opts o;
	struct coati_unwinder *u;
	int r = SIZED_COPY(&o, opts);

	if (r < 0)
		return coati_fail(err, r, "options of the unwinder: wrong size or unknown option");
	u = coati_alloc(sizeof(*u));
	if (u)
		u->cache = coati_alloc(sizeof(*u->cache));
	if (!u || !u->cache) {
		coati_free(u);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	u->images = images;
	u->flags = o.flags;
	u->max_bytes = o.max_bytes ? o.max_bytes : UNWIND_MAX_BYTES;
	u->v.max = UNWIND_IMAGES_MAX;
	u->walk = 1;
	if (!(o.flags & COATI_UNWINDER_NO_CACHE) && !(images->flags & COATI_IMAGES_NO_CACHE))
		u->cache_dir =
			coati_unwind_cache_dir(o.cache_dir ? o.cache_dir : images->cache_dir);
	*ret = u;
	return 0;
}

void coati_unwinder_free(struct coati_unwinder **unwinder)
{
	struct coati_unwinder *u = *unwinder;

	if (!u)
		return;
	for (size_t i = 0; i < u->v.len; i++) {
		if (!u->v.v[i])
			continue;
		coati_unwind_cfi_free(&u->v.v[i]->cfi);
		coati_free(u->v.v[i]->bytes);
		coati_free(u->v.v[i]);
	}
	ARRAY_FINI(&u->v);
	coati_free(u->cache);
	coati_free(u->cache_dir);
	coati_free(u);
	*unwinder = NULL;
}

struct unwind_image *coati_unwinder_image(struct coati_unwinder *u, uint32_t image)
{
	while (u->v.len <= image)
		if (!ARRAY_ADD(&u->v))
			return NULL;
	if (!u->v.v[image])
		u->v.v[image] = coati_alloc(sizeof(struct unwind_image));
	return u->v.v[image];
}

int coati_unwinder_prepare(struct coati_unwinder *u, uint32_t image, struct coati_error *err)
{
	struct coati_error own;
	struct unwind_image *ui;

	if (image >= coati_images_count(u->images))
		return coati_fail(err, -EINVAL, "no such image");
	ui = coati_unwinder_image(u, image);
	if (!ui)
		return coati_fail(err, -ENOMEM, "out of memory");
	u->walk++;
	return coati_unwinder_load(u, image, ui, err ? err : &own);
}

void coati_unwinder_get_stats(const struct coati_unwinder *u, struct coati_unwinder_stats *ret)
{
	*ret = u->stats;
}
