/* SPDX-License-Identifier: MIT */
/*
 * An image that was not used yet comes in; its file is found, opened and indexed: symbol tables,
 * the ranges of its FDEs, its sections with code. `why` reports what cannot be read, and the image
 * is used without it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "image/debug-file.h"
#include "image/go-table.h"
#include "image/image.h"
#include "image/open.h"
#include "image/vdso.h"
#include "image/xz.h"

#define CODE_SECTIONS_MAX 65536

/* The sections that are asked for by name, in one pass over all of them. size 0: not there. */
struct wanted {
	const char *name;
	struct elf_section *ret;
};

struct tables {
	struct elf_section symtab, dynsym, frames, frames_hdr, mini;
};

static void find_tables(struct copy *c, struct tables *t)
{
	const struct wanted wanted[] = { { ".symtab", &t->symtab },
					 { ".dynsym", &t->dynsym },
					 { ".eh_frame", &t->frames },
					 { ".eh_frame_hdr", &t->frames_hdr },
					 { ".gnu_debugdata", &t->mini } };
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

/* Without sections the segment still says where the search table is, and that where the frames
 * are. */
static int find_frames(struct coati_image *im, struct tables *t)
{
	struct elf_segment seg;

	for (uint32_t i = 0; !t->frames_hdr.size && i < im->file.elf.phnum; i++) {
		if (coati_elf_segment(&im->file.elf, i, &seg) < 0)
			break;
		if (seg.type == PT_GNU_EH_FRAME)
			t->frames_hdr = (struct elf_section){ .type = SHT_PROGBITS,
							      .vaddr = seg.vaddr,
							      .offset = seg.offset,
							      .size = seg.filesz };
	}
	return coati_fdes_init(&im->fdes, &im->file, &t->frames_hdr, &t->frames);
}

/* Is it worth to search the table instead of reading it? */
static bool is_to_search(const struct coati_image *im, const struct copy *c,
			 const struct elf_section *table)
{
	return im->near.nr && c->fd >= 0 && table->size >= SYMBOLS_NEAR_LEAST &&
	       table->size <= c->size && table->offset <= c->size - table->size;
}

/* The symbols near the addresses that are asked for. */
static int search_table(struct coati_image *im, struct copy *c, const struct elf_section *table,
			const struct elf_section *strings)
{
	struct symbols_table t = { .fd = c->fd,
				   .offset = table->offset,
				   .size = table->size,
				   .strings_size = (uint32_t)strings->size,
				   .machine = c->elf.machine,
				   .swap = c->elf.swap };
	int r;

	if (strings->size > UINT32_MAX || strings->offset > c->size ||
	    strings->size > c->size - strings->offset)
		return -EBADMSG;
	t.strings =
		coati_symbols_strings_in(&im->symbols, c, strings->offset, (size_t)strings->size);
	im->is_part = true;
	if (t.strings < 0)
		return t.strings;
	r = coati_symbols_add_near(&im->symbols, &t, &im->near);
	im->symbols.is_short |= r == -E2BIG;
	return r == -E2BIG ? 0 : r; /* then all of it is read */
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
	if (table->flags & SHF_COMPRESSED)
		return -EOPNOTSUPP;
	if (coati_elf_section(&c->elf, table->link, &strings) < 0)
		return -EBADMSG;
	if (is_to_search(im, c, table))
		return search_table(im, c, table, &strings);
	if (!coati_copy_section(c, &strings, &size) || !coati_copy_section(c, table, &size))
		return -EBADMSG;
	r = coati_elf_symbols(&c->elf, table, &walk);
	if (r < 0 || !walk.strings)
		return r;
	number = coati_symbols_strings(&im->symbols, walk.strings, walk.strings_size);
	if (number < 0)
		return number;
	return coati_symbols_add_table(&im->symbols, &c->elf, walk, number);
}

/* The same; errors are reported. */
static int add_table_or_blame(struct coati_image *im, struct copy *c,
			      const struct elf_section *table, const char *file)
{
	int r = add_table(im, c, table);

	if (r == -ENOMEM)
		return r;
	if (r == -EOPNOTSUPP)
		coati_image_blame(im, "%s: its symbol table %s is compressed", file, table->name);
	else if (r < 0)
		coati_image_blame(im, "%s: its symbol table %s is %s", file, table->name,
				  r == -E2BIG ? "too large" : "damaged");
	else if (table->type == SHT_SYMTAB && table->size)
		im->symbols.complete = true;
	return 0;
}

/* A whole ELF file, compressed, with the symbols that .dynsym lacks. */
static int add_mini(struct coati_image *im, const struct elf_section *s)
{
	struct coati_error err = { 0 };
	const uint8_t *packed;
	uint8_t *bytes = NULL;
	struct tables t;
	size_t size;
	int r;

	packed = coati_copy_section(&im->file, s, &size);
	if (!packed)
		return 0;
	r = coati_xz_unpack(packed, size, &bytes, &size, &err);
	if (r == 0) {
		r = coati_copy_take(&im->mini, bytes, size, ".gnu_debugdata", &err);
		if (r < 0)
			coati_free(bytes);
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		coati_image_blame(im, "%s: %s", im->opened, err.text);
		return 0;
	}
	find_tables(&im->mini, &t);
	r = add_table_or_blame(im, &im->mini, &t.symtab, ".gnu_debugdata");
	im->symbols.complete = false; /* it leaves out what .dynsym has */
	return r;
}

/* The functions of a Go program, by the table that its runtime needs. */
static int add_go_functions(struct coati_image *im)
{
	struct go_function f;
	struct go_table t;
	int r = coati_go_table_init(&t, &im->file), strings;

	if (r < 0)
		coati_image_blame(im, "%s: its function table .gopclntab is damaged", im->opened);
	if (r <= 0)
		return 0;
	strings = coati_symbols_strings(&im->symbols, t.names, t.names_size);
	for (uint32_t i = 0; strings >= 0 && i < t.nr && r >= 0; i++) {
		if (!coati_go_function(&t, i, &f))
			continue;
		r = coati_symbols_add(
			&im->symbols,
			&(struct symbol_found){ .start = f.start,
						.size = f.end - f.start < SYMBOL_SIZE_MASK
								? (uint32_t)(f.end - f.start)
								: SYMBOL_SIZE_MASK,
						.name = f.name },
			strings);
	}
	if (strings < 0 || r == -E2BIG)
		coati_image_blame(im, "%s: its function table .gopclntab is too large", im->opened);
	return r == -ENOMEM ? r : 0;
}

/* The best there is: a .symtab of its own, or of its debug file, or the small one, or that of
 * Go. */
static int add_symbols(struct coati_image *im, const struct tables *t)
{
	struct tables debug;
	int r = add_table_or_blame(im, &im->file, &t->dynsym, im->opened);

	if (r == 0)
		r = add_table_or_blame(im, &im->file, &t->symtab, im->opened);
	if (r < 0 || im->symbols.complete)
		return r;
	r = coati_image_find_debug_file(im);
	if (r == 0) {
		find_tables(&im->debug_file, &debug);
		r = add_table_or_blame(im, &im->debug_file, &debug.symtab, im->debug);
	}
	if (r == -ENOMEM || im->symbols.complete)
		return r;
	r = t->mini.size ? add_mini(im, &t->mini) : 0;
	return r < 0 ? r : add_go_functions(im);
}

static int index_file(struct coati_image *im)
{
	struct tables t;
	int r;

	find_tables(&im->file, &t);
	r = find_code(im, &im->file);
	if (r == 0)
		r = find_frames(im, &t);
	if (r == 0)
		r = add_symbols(im, &t);
	if (r == 0)
		r = coati_symbols_finish(&im->symbols);
	if (r == 0 && im->fdes.damaged)
		coati_image_blame(im, "%s: its unwind data is damaged", im->opened);
	if (r == 0 && !im->symbols.nr)
		coati_image_blame(im, "%s has no symbols", im->opened);
	return r;
}

/* The file itself is gone or another one by now, but its debug file is here by its build id. */
static int index_debug_file(struct coati_image *im)
{
	struct tables t;
	int r = im->build_id_size ? coati_image_find_debug_file(im) : -ENOENT;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	find_tables(&im->debug_file, &t);
	r = find_code(im, &im->debug_file);
	if (r == 0)
		r = add_table_or_blame(im, &im->debug_file, &t.symtab, im->debug);
	return r == 0 ? coati_symbols_finish(&im->symbols) : r;
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

static int find_vdso(struct coati_image *im)
{
	struct coati_error err = { 0 };
	uint8_t id[COATI_BUILD_ID_MAX];
	size_t size;
	int r = im->all->flags & COATI_IMAGES_NO_LOCAL
			? coati_fail(&err, -ENOENT, "local files are disabled")
			: coati_vdso_copy(&im->file, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		coati_image_blame(im, "%s", err.text);
		return 0;
	}
	size = coati_copy_build_id(&im->file, id);
	if (im->build_id_size && (size != im->build_id_size || memcmp(id, im->build_id, size))) {
		coati_copy_close(&im->file);
		coati_image_blame(im, "the vDSO of this machine is not the recorded one");
		return 0;
	}
	im->build_id_size = (uint32_t)size;
	memcpy(im->build_id, id, sizeof(id));
	im->opened = "[vdso]";
	return 0;
}

int coati_image_open_file(struct coati_image *im)
{
	if (im->looked)
		return 0;
	im->looked = true;
	/* a file and its debug file stay open, and some more are for a moment */
	coati_file_want(IMAGES_OTHER_FDS + 4 * (uint64_t)im->all->v.len);
	if (im->kind == COATI_IMAGE_VDSO)
		return find_vdso(im);
	return im->kind == COATI_IMAGE_FILE ? find_file(im) : 0;
}

/* All symbols, in place of those near some addresses. What was named by them stays. */
static int load_whole(struct coati_image *im)
{
	im->near.nr = 0;
	im->is_part = false;
	coati_symbols_fini(&im->symbols);
	coati_symbols_init(&im->symbols);
	im->nr_sections = 0;
	coati_fdes_fini(&im->fdes);
	return im->file.bytes ? index_file(im) : index_debug_file(im);
}

const struct symbol *coati_image_symbol_before(struct coati_image *im, uint64_t vaddr)
{
	uint64_t section = 0;

	for (uint32_t i = 0; i < im->nr_sections; i++)
		if (vaddr >= im->sections[i].start && vaddr < im->sections[i].end)
			section = im->sections[i].start;
	if (im->is_part && !coati_symbols_tells(&im->symbols, &im->near, vaddr, section) &&
	    load_whole(im) < 0)
		return NULL;
	return coati_symbols_before(&im->symbols, vaddr);
}

int coati_image_load_near(struct coati_image *im, struct symbols_near *near)
{
	int r;

	if (!im->loaded) {
		im->near = *near;
		*near = (struct symbols_near){ 0 };
	}
	r = coati_image_load(im);
	/* too many symbols, or too many without a size: as without addresses */
	if (r == 0 && im->is_part && im->symbols.is_short)
		r = load_whole(im);
	return r;
}

int coati_image_load(struct coati_image *im)
{
	int r = coati_image_open_file(im);

	if (r < 0 || im->loaded)
		return r;
	im->loaded = true;
	if (im->kind == COATI_IMAGE_KERNEL || im->kind == COATI_IMAGE_MODULE)
		return coati_image_load_kernel(im);
	if (im->kind != COATI_IMAGE_FILE && im->kind != COATI_IMAGE_VDSO)
		return 0;
	return im->file.bytes ? index_file(im) : index_debug_file(im);
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

/* By the layout that came with the recording; false: it does not tell. */
static bool packed_to_vaddr(const struct coati_image *im, uint64_t offset, uint64_t *ret)
{
	for (uint32_t i = 0; i < im->nr_segments; i++) {
		const struct image_segment *s = &im->segments[i];

		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		*ret = offset - s->offset + s->vaddr;
		return true;
	}
	return false;
}

int coati_image_vaddr(struct coati_images *images, uint32_t image, uint64_t file_offset,
		      uint64_t *ret_vaddr)
{
	struct coati_image *im = coati_image_at(images, image);
	int r;

	if (!im)
		return -EINVAL;
	/* the addresses of packed names are those of the recorded file */
	if (packed_to_vaddr(im, file_offset, ret_vaddr) ||
	    (im->same && packed_to_vaddr(im->same, file_offset, ret_vaddr)))
		return 0;
	r = coati_image_open_file(im);
	if (r < 0 || !im->file.bytes)
		return r < 0 ? r : -ENOENT;
	return offset_to_vaddr(&im->file.elf, file_offset, ret_vaddr);
}

uint32_t coati_image_segments(const struct coati_image *im,
			      struct image_segment ret[IMAGE_SEGMENTS_MAX])
{
	struct elf_segment s;
	uint32_t nr = 0;

	if (!im->file.bytes) {
		memcpy(ret, im->segments, im->nr_segments * sizeof(*ret));
		return im->nr_segments;
	}
	for (uint32_t i = 0; i < im->file.elf.phnum && nr < IMAGE_SEGMENTS_MAX &&
			     coati_elf_segment(&im->file.elf, i, &s) == 0;
	     i++)
		if (s.type == PT_LOAD && s.flags & PF_X && s.filesz)
			ret[nr++] = (struct image_segment){ s.offset, s.filesz, s.vaddr };
	return nr;
}

/* The vDSO is no file; those who want one get one that lives as long as the descriptor. */
static int open_bytes(const struct copy *c, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = memfd_create("vdso", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : coati_write_all(fd, c->bytes, c->size);

	return r < 0 ? coati_fail(err, r, "a copy of the vDSO: %m") : TAKE_FD(fd);
}

int coati_image_open_fd(struct coati_images *images, uint32_t image, struct coati_error *err)
{
	struct coati_image *im = coati_image_at(images, image);
	int fd, r = im ? coati_image_open_file(im) : -EINVAL;

	if (r < 0)
		return coati_fail(err, r, r == -EINVAL ? "no such image" : "out of memory");
	if (im->file.bytes && im->file.fd < 0)
		return open_bytes(&im->file, err);
	if (!im->file.bytes)
		return coati_fail(err, -ENOENT, "%s", im->why ? im->why : "there is no file");
	fd = fcntl(im->file.fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? coati_fail(err, -errno, "%s: %m", im->opened) : fd;
}
