/* SPDX-License-Identifier: MIT */
/*
 * An image that nobody asked yet comes in; its file is found, opened and indexed: symbol tables, the ranges of its FDEs, its sections
 * with code. What cannot be read is said in `why`, and the image is used without it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "image/image.h"
#include "image/open.h"

#define CODE_SECTIONS_MAX 65536

/* The sections that are asked for by name, in one pass over all of them. size 0: not there. */
struct wanted {
	const char *name;
	struct elf_section *ret;
};

struct tables {
	struct elf_section symtab, dynsym, frames, frames_hdr;
};

static void find_tables(struct copy *c, struct tables *t)
{
	const struct wanted wanted[] = { { ".symtab", &t->symtab },
					 { ".dynsym", &t->dynsym },
					 { ".eh_frame", &t->frames },
					 { ".eh_frame_hdr", &t->frames_hdr } };
	struct elf_section s;

	*t = (struct tables){ 0 };
	for (uint32_t i = 0; i < c->elf.shnum; i++) {
		if (coati_elf_section(&c->elf, i, &s) < 0)
			continue;
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (!strcmp(s.name, wanted[k].name) && !wanted[k].ret->size)
				*wanted[k].ret = s;
	}
}

/* Sections with code, as they lie in the file: linkers sort them. */
static int find_code(struct coati_image *im, struct copy *c)
{
	struct elf_section s;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < c->elf.shnum; i++)
		if (coati_elf_section(&c->elf, i, &s) == 0 && s.flags & SHF_EXECINSTR)
			nr++;
	if (!nr || nr > CODE_SECTIONS_MAX)
		return 0;
	im->sections = coati_arena_alloc(&im->arena, nr * sizeof(*im->sections));
	if (!im->sections)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->elf.shnum && im->nr_sections < nr; i++) {
		struct code_section *to = &im->sections[im->nr_sections];

		if (coati_elf_section(&c->elf, i, &s) < 0 || !(s.flags & SHF_EXECINSTR) ||
		    __builtin_add_overflow(s.vaddr, s.size, &to->end))
			continue;
		to->start = s.vaddr;
		to->name = s.name;
		im->nr_sections++;
	}
	return 0;
}

/* One symbol table of a file whose bytes stay. */
static int add_table(struct coati_image *im, struct copy *c, const struct elf_section *table)
{
	struct elf_section strings;
	struct elf_symbols walk;
	size_t size;
	int r, number;

	if (!table->size || table->type == SHT_NOBITS)
		return 0;
	if (coati_elf_section(&c->elf, table->link, &strings) < 0 ||
	    !coati_copy_section(c, &strings, &size) || !coati_copy_section(c, table, &size))
		return -EBADMSG;
	r = coati_elf_symbols(&c->elf, table, &walk);
	if (r < 0 || !walk.strings)
		return r;
	number = coati_symbols_strings(&im->symbols, walk.strings, walk.strings_size);
	if (number < 0)
		return number;
	return coati_symbols_add_table(&im->symbols, &c->elf, walk, number);
}

static int add_symbols(struct coati_image *im, struct copy *c, const struct tables *t)
{
	const struct elf_section *all[] = { &t->symtab, &t->dynsym };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int r = add_table(im, c, all[i]);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			coati_image_blame(im, "%s: the symbol table %s is damaged%s", im->opened,
					  all[i]->name, r == -E2BIG ? " or too large" : "");
		if (!r && all[i] == &t->symtab && t->symtab.size)
			im->symbols.complete = true;
	}
	return 0;
}

static int index_file(struct coati_image *im)
{
	struct tables t;
	int r;

	find_tables(&im->file, &t);
	r = find_code(im, &im->file);
	if (r == 0)
		r = coati_fdes_init(&im->fdes, &im->file, &t.frames_hdr, &t.frames);
	if (r == 0)
		r = add_symbols(im, &im->file, &t);
	if (r == 0)
		r = coati_symbols_finish(&im->symbols);
	if (r == 0 && im->fdes.damaged)
		coati_image_blame(im, "%s: its unwind data is damaged", im->opened);
	if (r == 0 && !im->symbols.nr)
		coati_image_blame(im, "%s has no symbols", im->opened);
	return r;
}

static int find_file(struct coati_image *im)
{
	struct coati_error err = { 0 };
	struct opened opened;
	int r = coati_image_find_file(im, &im->file, &opened, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		coati_image_blame(im, "%s", err.text);
		return 0;
	}
	im->opened = coati_arena_strdup(&im->arena, opened.path);
	if (!im->opened)
		return -ENOMEM;
	if (!im->build_id_size)
		im->build_id_size = (uint32_t)coati_copy_build_id(&im->file, im->build_id);
	return 0;
}

int coati_image_open_file(struct coati_image *im)
{
	if (im->looked)
		return 0;
	im->looked = true;
	return im->kind == COATI_IMAGE_FILE ? find_file(im) : 0;
}

int coati_image_load(struct coati_image *im)
{
	int r = coati_image_open_file(im);

	if (r < 0 || im->loaded)
		return r;
	im->loaded = true;
	return im->file.bytes ? index_file(im) : 0;
}

/* The segment with code that maps @offset, else any; -ENOENT. */
static int offset_to_vaddr(const struct elf *e, uint64_t offset, uint64_t *ret)
{
	struct elf_segment s;
	int r = -ENOENT;

	for (uint32_t i = 0; i < e->phnum && coati_elf_segment(e, i, &s) == 0; i++) {
		if (s.type != PT_LOAD || offset < s.offset || offset - s.offset >= s.filesz)
			continue;
		if (r == 0 && !(s.flags & PF_X))
			continue;
		*ret = offset - s.offset + s.vaddr;
		r = 0;
		if (s.flags & PF_X)
			break;
	}
	return r;
}

int coati_image_vaddr(struct coati_images *images, uint32_t image, uint64_t file_offset,
		      uint64_t *ret_vaddr)
{
	struct coati_image *im = coati_image_at(images, image);
	int r = im ? coati_image_open_file(im) : -EINVAL;

	if (r < 0)
		return r;
	return offset_to_vaddr(&im->file.elf, file_offset, ret_vaddr);
}

int coati_image_open_fd(struct coati_images *images, uint32_t image, struct coati_error *err)
{
	struct coati_image *im = coati_image_at(images, image);
	int fd, r = im ? coati_image_open_file(im) : -EINVAL;

	if (r < 0)
		return coati_fail(err, r, r == -EINVAL ? "no such image" : "out of memory");
	if (!im->file.bytes || im->file.fd < 0)
		return coati_fail(err, -ENOENT, "%s", im->why ? im->why : "there is no file");
	fd = fcntl(im->file.fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? coati_fail(err, -errno, "%s: %m", im->opened) : fd;
}
