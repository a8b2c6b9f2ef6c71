/* SPDX-License-Identifier: MIT */
/*
 * The frames come out of image/lines.h, address by address. The outermost frame keeps the name that
 * its symbol gave it, so that a function has one name whether lines were asked for or not; inlined
 * ones have their DWARF names. Each text is kept once.
 */
#include "image/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/debug-file.h"
#include "image/lines.h"

struct pass {
	struct coati_image *im;
	const uint64_t *vaddrs;
	uint32_t flags;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Those that were not asked for as much before, sorted, once each. */
static size_t select_new(const struct coati_image *im, uint64_t *vaddrs, size_t nr, uint32_t flags)
{
	size_t kept = 0;

	qsort(vaddrs, nr, sizeof(*vaddrs), compare);
	for (size_t i = 0; i < nr; i++) {
		const struct answer *a = coati_image_get_answer(im, vaddrs[i]);

		if (!a || (a->asked & flags) == flags || (i && vaddrs[i] == vaddrs[i - 1]))
			continue;
		vaddrs[kept++] = vaddrs[i];
	}
	return kept;
}

static bool has_dwarf(struct copy *c)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info" };
	struct elf_section s;

	for (size_t i = 0; c->bytes && i < sizeof(names) / sizeof(names[0]); i++)
		if (coati_elf_section_find(&c->elf, names[i], &s) == 1 && s.type != 8 && s.size)
			return true;
	return false;
}

/* The file with the DWARF of the image; NULL: none, the reason is in `why`. */
static struct copy *find_dwarf(struct coati_image *im, const char **ret_path)
{
	if (has_dwarf(&im->file) && im->file.fd >= 0) {
		if (!im->debug)
			im->debug = im->opened;
		*ret_path = im->opened;
		return &im->file;
	}
	coati_image_find_debug_file(im);
	*ret_path = im->debug;
	if (has_dwarf(&im->debug_file))
		return &im->debug_file;
	if (im->file.bytes && im->file.fd >= 0)
		coati_image_blame(
			im,
			"%s has no line table and no debug file was found for it: install its "
			"debug symbols (--debuginfod downloads them from DEBUGINFOD_URLS)",
			im->opened);
	return NULL;
}

/* A text, kept once for the image. */
static const char *keep(struct coati_image *im, const char *text)
{
	uint64_t found;
	char *copy;

	if (coati_map_get_str(&im->texts, text, &found))
		return (const char *)(uintptr_t)found;
	copy = coati_arena_strdup(&im->arena, text);
	if (copy && coati_map_put_str(&im->texts, copy, (uintptr_t)copy) == -ENOMEM)
		return NULL;
	return copy;
}

/* The readable form of @symbol, which is kept: made once. */
static const char *keep_readable(struct coati_image *im, const char *symbol)
{
	const char *text;
	uint64_t found;

	if (coati_map_get(&im->readable, (uintptr_t)symbol, &found))
		return (const char *)(uintptr_t)found;
	text = coati_image_readable(im, symbol);
	if (text && coati_map_put(&im->readable, (uintptr_t)symbol, (uintptr_t)text) == -ENOMEM)
		return NULL;
	return text;
}

static int fill_name(struct coati_image *im, const struct lines_frame *f,
		     const struct coati_name *plain, struct coati_name *n)
{
	bool by_symbol = !f->is_inline && (plain->symbol || !f->function);

	if (by_symbol) {
		*n = *plain;
	} else {
		n->symbol = keep(im, f->function ? f->function : "[inlined]");
		n->function = n->symbol ? keep_readable(im, n->symbol) : NULL;
		n->start = f->low;
		n->length = f->high > f->low ? f->high - f->low : 0;
		n->flags = f->is_inline ? COATI_NAME_INLINE : 0;
	}
	if (f->file)
		n->file = keep(im, f->file);
	n->line = f->line;
	n->column = f->column;
	n->decl_line = f->decl_line;
	return n->function && (!f->file || n->file) ? 0 : -ENOMEM;
}

static int put_frames(void *ctx, size_t i, const struct lines_frame *frames, uint32_t nr)
{
	const struct pass *p = ctx;
	const struct answer *plain = coati_image_get_answer(p->im, p->vaddrs[i]);
	struct answer new = { .nr = nr, .asked = p->flags };
	struct coati_name *names;
	int r = 0;

	if (!plain || !nr)
		return 0;
	names = coati_arena_alloc(&p->im->arena, nr * sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (uint32_t k = 0; k < nr && r == 0; k++)
		r = fill_name(p->im, &frames[k], &plain->names[plain->nr - 1], &names[k]);
	new.names = names;
	return r == 0 ? coati_image_put_answer(p->im, p->vaddrs[i], &new) : r;
}

/* An address without a line now will have none the next time either. */
static int settle(struct coati_image *im, const uint64_t *vaddrs, size_t nr, uint32_t flags)
{
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++) {
		const struct answer *a = coati_image_get_answer(im, vaddrs[i]);
		struct answer tried;

		if (!a || (a->asked & flags) == flags)
			continue;
		tried = *a;
		tried.asked |= flags;
		r = coati_image_put_answer(im, vaddrs[i], &tried);
	}
	return r;
}

int coati_image_add_lines(struct coati_image *im, uint64_t *vaddrs, size_t nr, uint32_t flags)
{
	struct pass pass = { .im = im, .vaddrs = vaddrs, .flags = flags };
	struct lines_tally tally = { 0 };
	struct coati_error err = { 0 };
	const char *path = NULL;
	struct copy *dwarf;
	struct lines_input in;
	int r = 0;

	nr = select_new(im, vaddrs, nr, flags);
	if (nr)
		r = coati_image_open_file(im);
	dwarf = nr && r == 0 ? find_dwarf(im, &path) : NULL;
	if (dwarf) {
		in = (struct lines_input){ .fd = dwarf->fd,
					   .path = path,
					   .debug_dirs = im->all->debug_dirs,
					   .root = im->all->root,
					   .vaddrs = vaddrs,
					   .nr = nr,
					   .want_lines = flags & COATI_RESOLVE_LINES,
					   .want_inlines = flags & COATI_RESOLVE_INLINES,
					   .tally = &tally };
		r = coati_lines_resolve(&in, put_frames, &pass, &err);
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		coati_image_blame(im, "%s", err.text);
	else if (*tally.why)
		coati_image_blame(im, "%s: %s", path, tally.why);
	return settle(im, vaddrs, nr, flags);
}
