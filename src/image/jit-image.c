/* SPDX-License-Identifier: MIT */
/*
 * Names that no file with code holds: those of a JIT's files, and those that records tell one by
 * one (BPF programs, trampolines). They are kept with the image, each source by itself, so that a
 * file that has grown can be read again; an answer depends on the time.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/image.h"
#include "image/jit-file.h"
#include "image/jit.h"

#define PROBE_BYTES UINT64_MAX

static void jit_free(struct jit **j)
{
	if (*j)
		coati_jit_fini(*j);
	coati_free(*j);
	*j = NULL;
}

void coati_image_jit_fini(struct coati_image *im)
{
	for (int i = 0; i < IMAGE_JITS; i++)
		jit_free(&im->jits[i]);
}

static struct jit *jit_new(void)
{
	struct jit *j = coati_alloc(sizeof(*j));

	if (j)
		coati_jit_init(j);
	return j;
}

/* Take what was read in place of what there is; names made from that are forgotten. */
static void replace(struct coati_image *im, enum image_jit which, struct jit *j)
{
	size_t max = im->functions.max;

	jit_free(&im->jits[which]);
	im->jits[which] = j;
	coati_map_fini(&im->functions);
	coati_map_init(&im->functions, max);
}

static struct jit_source source_of(const struct coati_image *im, int32_t pid, const char *path)
{
	return (struct jit_source){
		.procfs = im->all->procfs, .root = im->all->root, .pid = pid, .path = path
	};
}

static int load(struct coati_images *images, uint32_t image, enum image_jit which,
		const struct jit_source *from, struct coati_error *err)
{
	struct coati_image *im = coati_image_at(images, image);
	struct coati_error own = { 0 };
	struct jit *j;
	int r;

	if (images->flags & COATI_IMAGES_NO_LOCAL)
		return coati_fail(err, -ENOENT, "local files are disabled");
	j = jit_new();
	if (!j)
		return coati_fail(err, -ENOMEM, "out of memory");
	r = which == IMAGE_JIT_DUMP ? coati_jitdump_read(j, from, &own)
				    : coati_perf_map_read(j, from, &own);
	if (r < 0)
		coati_image_blame(im, "%s", own.text);
	if (r < 0 && err)
		*err = own;
	/* what was whole before a damage counts */
	if (r < 0 && !j->stats.functions)
		jit_free(&j);
	else
		replace(im, which, j);
	return r;
}

int coati_image_load_perf_map(struct coati_images *images, uint32_t image, int32_t pid,
			      const char *path, struct coati_error *err)
{
	const struct coati_image *im = coati_image_at(images, image);
	struct jit_source from;

	if (!im)
		return coati_fail(err, -EINVAL, "no such image");
	from = source_of(im, pid, path);
	return load(images, image, IMAGE_JIT_MAP, &from, err);
}

int coati_image_load_jitdump(struct coati_images *images, uint32_t image, int32_t pid,
			     const char *path, struct coati_error *err)
{
	const struct coati_image *im = coati_image_at(images, image);
	struct jit_source from;

	if (!im || !path)
		return coati_fail(err, -EINVAL, "no such image, or no path");
	from = source_of(im, pid, path);
	return load(images, image, IMAGE_JIT_DUMP, &from, err);
}

bool coati_image_has_perf_map(struct coati_images *images, int32_t pid)
{
	struct jit_source from = { .procfs = images->procfs, .root = images->root, .pid = pid };
	uint64_t size;
	int fd;

	if (images->flags & COATI_IMAGES_NO_LOCAL)
		return false;
	fd = coati_jit_open(&from, PROBE_BYTES, &size, NULL);
	if (fd >= 0)
		close(fd);
	/* one that is there and refused is there: the image says why it has no names */
	return fd >= 0 || (fd != -ENOENT && fd != -EACCES && fd != -ENOTDIR);
}

int coati_image_add_symbol(struct coati_images *images, uint32_t image,
			   const struct image_symbol *s)
{
	struct coati_image *im = coati_image_at(images, image);
	struct jit **told;

	if (!im || !s->name)
		return -EINVAL;
	told = &im->jits[IMAGE_JIT_TOLD];
	if (!*told)
		*told = jit_new();
	return *told ? coati_jit_add(*told, s->start, s->length, s->name, s->time) : -ENOMEM;
}

static int make_name(struct coati_image *im, struct jit *j, const struct jit_function *f,
		     uint64_t addr, struct coati_name *ret)
{
	const struct jit_line *line = coati_jit_line(j, f, addr);
	char *name = coati_arena_strdup(&im->arena, f->name);
	/* symbols of a file are as its symbol table has them */
	const char *shown =
		name && im->kind == COATI_IMAGE_FILE ? coati_image_readable(im, name) : name;
	char *file = line ? coati_arena_strdup(&im->arena, line->file) : NULL;

	if (!name || !shown || (line && !file))
		return -ENOMEM;
	*ret = (struct coati_name){ .function = shown,
				    .symbol = name,
				    .file = file,
				    .line = line ? line->line : 0,
				    .start = f->start,
				    .length = f->size };
	return 0;
}

/* One name for all addresses of a function that have the same line. */
static uint64_t name_key(const struct jit *j, const struct jit_function *f, int which,
			 uint64_t addr)
{
	const struct jit_line *line = coati_jit_line(j, f, addr);
	uint64_t i = (uint64_t)(f - j->functions.v) + 1;

	return i << 34 | (line ? (uint64_t)(line - j->lines.v) + 1 : 0) << 4 | (uint64_t)which << 2;
}

/* The first source that has a function there. Those before it have none since some time. */
static const struct jit_function *find_function(struct coati_image *im, uint64_t addr,
						uint64_t time, int *ret_which, uint64_t *ret_since)
{
	const struct jit_function *f = NULL;
	uint64_t since;

	*ret_since = 0;
	for (int which = 0; !f && which < IMAGE_JITS; which++) {
		if (!im->jits[which])
			continue;
		f = coati_jit_find(im->jits[which], addr, time, &since);
		*ret_which = which;
		if (since > *ret_since)
			*ret_since = since;
	}
	return f;
}

uint64_t coati_image_code_since(struct coati_image *im, uint64_t addr, uint64_t time,
				uint64_t *from, uint64_t *last)
{
	uint64_t since, begin, end;
	int which;

	if (coati_versions_find(&im->told, addr, time, &begin, &end)) {
		*from = begin > *from ? begin : *from;
		*last = end < *last ? end : *last;
		return begin;
	}
	*last = end < *last ? end : *last;
	find_function(im, addr, time, &which, &since);
	for (which = 0; which < IMAGE_JITS; which++) {
		if (!im->jits[which])
			continue;
		coati_ranges_position(&im->jits[which]->ranges, time, &begin, &end);
		*from = begin > *from ? begin : *from;
		if (end != UINT64_MAX && end - 1 < *last)
			*last = end - 1;
	}
	return since;
}

int coati_image_jit_function(struct coati_image *im, uint64_t addr, uint64_t time,
			     const struct coati_name **ret, uint64_t *ret_since)
{
	int which = 0, r;
	const struct jit_function *f = find_function(im, addr, time, &which, ret_since);
	struct coati_name *n;
	uint64_t key, found;

	*ret = NULL;
	if (!f)
		return 0;
	key = name_key(im->jits[which], f, which, addr);
	if (coati_map_get(&im->functions, key, &found)) {
		*ret = (const struct coati_name *)(uintptr_t)found;
		return 0;
	}
	n = coati_arena_alloc(&im->arena, sizeof(*n));
	r = n ? make_name(im, im->jits[which], f, addr, n) : -ENOMEM;
	if (r == 0 && coati_map_put(&im->functions, key, (uintptr_t)n) == -ENOMEM)
		r = -ENOMEM;
	if (r == 0)
		*ret = n;
	return r;
}
