/* SPDX-License-Identifier: MIT */
/*
 * A descriptor comes in, sections and unit headers go out. A section that lies outside the file is
 * as one that is not there; sizes of compressed ones are held against what their bytes could become
 * before memory is asked for.
 */
#include "image/lines-file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/search.h"
#include "image/inflate.h"
#include "image/lines-dwarf.h"

#define INFLATED_MAX (UINT64_C(4) << 30) /* all sections together */
#define RATIO_MAX    64 /* of them to the file: debug data reaches 10, only bombs reach 1000 */
#define INFLATED_ANY (UINT64_C(16) << 20) /* for small files */

static const char *const section_names[SECTION_COUNT] = {
	[SECTION_INFO] = "debug_info",
	[SECTION_ABBREV] = "debug_abbrev",
	[SECTION_STR] = "debug_str",
	[SECTION_LINE] = "debug_line",
	[SECTION_LINE_STR] = "debug_line_str",
	[SECTION_RANGES] = "debug_ranges",
	[SECTION_RNGLISTS] = "debug_rnglists",
	[SECTION_ADDR] = "debug_addr",
	[SECTION_STR_OFFSETS] = "debug_str_offsets",
	[SECTION_ARANGES] = "debug_aranges",
	[SECTION_CU_INDEX] = "debug_cu_index",
	[SECTION_ALTLINK] = "gnu_debugaltlink",
};

/* ".debug_info", ".zdebug_info", ".debug_info.dwo"; SECTION_COUNT: another section. */
static enum dwarf_section section_by_name(const char *name, bool *ret_z, bool *ret_dwo)
{
	size_t len = strlen(name);

	if (*name++ != '.')
		return SECTION_COUNT;
	len--;
	*ret_z = *name == 'z';
	name += *ret_z;
	len -= *ret_z;
	*ret_dwo = len > 4 && !strcmp(name + len - 4, ".dwo");
	len -= *ret_dwo ? 4 : 0;
	for (unsigned int i = 0; i < SECTION_COUNT; i++)
		if (strlen(section_names[i]) == len && !memcmp(section_names[i], name, len))
			return (enum dwarf_section)i;
	return SECTION_COUNT;
}

/* What compressed sections of the file may still become. */
static uint64_t room_left(const struct dwarf_file *f)
{
	uint64_t most = INFLATED_ANY + f->copy.size * RATIO_MAX;

	if (most > INFLATED_MAX)
		most = INFLATED_MAX;
	return most > f->inflated ? most - f->inflated : 0;
}

static int load_section(struct dwarf_file *f, const struct elf_section *s, enum dwarf_section id,
			bool z, struct coati_error *err)
{
	struct dwarf_bytes *b = &f->sections[id];
	struct inflate_input in = { .is_flagged = s->flags & SHF_COMPRESSED,
				    .swap = f->elf.swap,
				    .max = room_left(f) };
	size_t size;
	uint8_t *out;
	int r;

	b->at = coati_copy_section(&f->copy, s, &b->size);
	if (!b->at || (!in.is_flagged && !z))
		return 0;
	in.bytes = b->at;
	in.size = b->size;
	r = coati_inflate_section(&in, &out, &size, err);
	if (r < 0)
		*b = (struct dwarf_bytes){ 0 };
	if (r <= 0)
		return r;
	f->inflated += size;
	*b = (struct dwarf_bytes){ out, size, out };
	return 0;
}

static int load_sections(struct dwarf_file *f, const char *path, struct coati_error *err)
{
	bool seen[SECTION_COUNT] = { 0 }, z, dwo;
	struct elf_section s;

	for (uint32_t i = 1; i < f->elf.shnum; i++) {
		enum dwarf_section id;
		int r = coati_elf_section(&f->elf, i, &s);

		if (r < 0)
			return coati_fail(err, -EBADMSG, "%s: its section headers are damaged",
					  path);
		if (f->elf.type == ET_REL && !strcmp(s.name, ".rela.debug_info"))
			return coati_fail(err, -EOPNOTSUPP,
					  "%s is not linked yet: its debug data has no addresses",
					  path);
		id = section_by_name(s.name, &z, &dwo);
		if (id == SECTION_COUNT || seen[id])
			continue;
		seen[id] = true;
		f->is_split |= id == SECTION_INFO && dwo;
		r = load_section(f, &s, id, z, err);
		if (r < 0) {
			coati_error_prefix(err, "%s: %s: ", path, s.name);
			return r;
		}
	}
	if (f->copy.short_of)
		return coati_fail(
			err, -E2BIG,
			"%s: its debug data is over the limit of %llu MiB, or the file shrank",
			path, (unsigned long long)(COPY_READ_MAX >> 20));
	if (!f->sections[SECTION_INFO].size)
		return coati_fail(err, -ENOENT, "%s has no debug data", path);
	return 0;
}

/* The linker gives dropped code the address 0, 1 or the last ones; a file's own header is at 0. */
static void find_text(struct dwarf_file *f)
{
	struct elf_segment s;

	f->text_start = UINT64_MAX;
	for (uint32_t i = 0; i < f->elf.phnum; i++) {
		if (coati_elf_segment(&f->elf, i, &s) < 0)
			break;
		if (s.type != PT_LOAD || !(s.flags & PF_X))
			continue;
		if (s.vaddr < f->text_start)
			f->text_start = s.vaddr;
		if (s.vaddr + s.memsz > f->text_end)
			f->text_end = s.vaddr + s.memsz;
	}
	if (f->text_start >= f->text_end) {
		f->text_start = 0;
		f->text_end = UINT64_MAX;
	} else if (f->text_start < sizeof(Elf64_Ehdr)) {
		f->text_start = sizeof(Elf64_Ehdr);
	}
}

/* The header of one unit; units of a kind or version that is not known are stepped over (version 0
 * here). */
static bool read_unit(const struct dwarf_file *f, uint64_t start, struct dwarf_unit *ret)
{
	struct cursor c = dwarf_cursor(f, SECTION_INFO, start);
	const uint8_t *begin = c.at;
	struct dwarf_unit u = { .start = start };
	uint64_t length = cursor_length(&c, &u.offset_size);

	if (c.bad || length > cursor_left(&c) || !length)
		return false;
	u.end = start + (uint64_t)(c.at - begin) + length;
	c.end = c.at + length;
	u.version = cursor_u16(&c);
	u.type = DW_UT_compile;
	if (u.version >= 5) {
		u.type = cursor_u8(&c);
		u.address_size = cursor_u8(&c);
		u.abbrevs = cursor_sized(&c, u.offset_size);
		if (u.type == DW_UT_skeleton || u.type == DW_UT_split_compile)
			u.dwo_id = cursor_u64(&c);
	} else {
		u.abbrevs = cursor_sized(&c, u.offset_size);
		u.address_size = cursor_u8(&c);
	}
	u.first = start + (uint64_t)(c.at - begin);
	if (c.bad || u.version < 2 || u.version > 5 || (u.address_size != 8 && u.address_size != 4))
		u.version = 0;
	*ret = u;
	return true;
}

static int index_units(struct dwarf_file *f, bool *ret_damaged)
{
	size_t size = f->sections[SECTION_INFO].size, cap = 0;
	struct dwarf_unit u;

	for (uint64_t at = 0; at < size; at = u.end) {
		if (!read_unit(f, at, &u) || f->nr_units == DWARF_UNITS_MAX) {
			*ret_damaged = true;
			return 0;
		}
		if (f->nr_units == cap) {
			struct dwarf_unit *more;

			cap = cap ? 2 * cap : 64;
			more = coati_realloc_array(f->units, cap, sizeof(*more));
			if (!more)
				return -ENOMEM;
			f->units = more;
		}
		f->units[f->nr_units++] = u;
		*ret_damaged |= !u.version;
	}
	return 0;
}

static int open_copy(struct dwarf_file *f, int fd, const char *path, struct coati_error *err)
{
	CLEANUP(fd_closep) int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int r;

	f->copy.fd = -1;
	if (own < 0)
		return coati_fail(err, -errno, "%s: %m", path);
	r = coati_copy_open(&f->copy, own, path, err);
	if (r < 0)
		return r;
	TAKE_FD(own);
	f->elf = f->copy.elf;
	return 0;
}

int coati_dwarf_open(int fd, const char *path, struct dwarf_file **ret, bool *ret_damaged,
		     struct coati_error *err)
{
	struct dwarf_file *f = coati_alloc(sizeof(*f));
	bool damaged = false;
	int r;

	if (!f)
		return coati_fail(err, -ENOMEM, "out of memory");
	r = open_copy(f, fd, path, err);
	if (r == 0)
		r = load_sections(f, path, err);
	if (r == 0) {
		find_text(f);
		r = index_units(f, &damaged);
		if (r < 0)
			coati_fail(err, r, "out of memory");
	}
	if (r < 0) {
		coati_dwarf_close(f);
		return r;
	}
	*ret_damaged = damaged;
	*ret = f;
	return 0;
}

void coati_dwarf_close(struct dwarf_file *f)
{
	if (!f)
		return;
	coati_dwarf_close(f->alt);
	for (unsigned int i = 0; i < SECTION_COUNT; i++)
		coati_free(f->sections[i].owned);
	coati_abbrevs_fini(&f->abbrevs);
	coati_free(f->units);
	coati_copy_close(&f->copy);
	coati_free(f);
}

const struct dwarf_unit *coati_dwarf_unit_at(const struct dwarf_file *f, uint64_t offset)
{
	size_t lo = SEARCH(mid, 0, f->nr_units, offset >= f->units[mid].end);

	if (lo == f->nr_units || offset < f->units[lo].first || !f->units[lo].version)
		return NULL;
	return &f->units[lo];
}

const struct dwarf_unit *coati_dwarf_unit_from(const struct dwarf_file *f, uint64_t start)
{
	size_t i = SEARCH(k, 0, f->nr_units, f->units[k].start < start);

	if (i == f->nr_units || f->units[i].start != start || !f->units[i].version)
		return NULL;
	return &f->units[i];
}

const char *coati_dwarf_string(const struct dwarf_file *f, enum dwarf_section section,
			       uint64_t offset)
{
	struct cursor c = dwarf_cursor(f, section, offset);
	size_t left = cursor_left(&c);

	if (c.bad || !memchr(c.at, 0, left < DWARF_STRING_MAX ? left : DWARF_STRING_MAX))
		return NULL;
	return (const char *)c.at;
}
