/* SPDX-License-Identifier: MIT */
/*
 * A file or bytes come in; segments, sections, symbols and notes go out, one at a time. Whatever
 * the file says of itself is believed only as far as its bytes reach: all of them are read through
 * cursors, names only out of string tables whose last byte ends them, and no loop runs past a
 * ceiling of elf.h.
 */
#include "base/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HOST_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/* Over @size bytes at @offset of the file; a bad cursor when they are not all there. */
static struct cursor cursor_at(const struct elf *e, uint64_t offset, uint64_t size)
{
	struct cursor c = { .bad = true };

	if (offset <= e->size && size <= e->size - offset)
		c = cursor_over(e->bytes + offset, (size_t)size);
	c.swap = e->swap;
	return c;
}

/* The same for entry @i of the table at @offset. */
static struct cursor cursor_at_entry(const struct elf *e, uint64_t offset, uint32_t i, size_t size)
{
	uint64_t start;

	if (__builtin_add_overflow(offset, (uint64_t)i * size, &start))
		start = UINT64_MAX;
	return cursor_at(e, start, size);
}

/* All but the name, which stays an offset into the name table. */
static int read_section(const struct elf *e, uint32_t i, struct elf_section *ret,
			uint32_t *ret_name)
{
	struct cursor c = cursor_at_entry(e, e->shoff, i, sizeof(Elf64_Shdr));
	struct elf_section s = { .index = i, .name = "" };
	uint32_t name = cursor_u32(&c);

	s.type = cursor_u32(&c);
	s.flags = cursor_u64(&c);
	s.vaddr = cursor_u64(&c);
	s.offset = cursor_u64(&c);
	s.size = cursor_u64(&c);
	s.link = cursor_u32(&c);
	s.info = cursor_u32(&c);
	s.align = cursor_u64(&c);
	s.entsize = cursor_u64(&c);
	if (c.bad)
		return -EBADMSG;
	*ret = s;
	*ret_name = name;
	return 0;
}

/* Numbers that do not fit the 16 bits of the file header are in section 0. */
static int read_large_counts(struct elf *e, uint16_t phnum, uint16_t shnum, uint16_t shstrndx)
{
	struct elf_section zero;
	uint32_t name;
	int r;

	e->phnum = phnum;
	e->shnum = shnum;
	e->shstrndx = shstrndx;
	if (phnum != PN_XNUM && shstrndx != SHN_XINDEX && (shnum || !e->shoff))
		return 0;
	if (!e->shoff)
		return -EBADMSG;
	r = read_section(e, 0, &zero, &name);
	if (r < 0)
		return r;
	if (phnum == PN_XNUM)
		e->phnum = zero.info;
	if (shstrndx == SHN_XINDEX)
		e->shstrndx = zero.link;
	if (!shnum && zero.size > ELF_SECTIONS_MAX)
		return -E2BIG;
	if (!shnum)
		e->shnum = (uint32_t)zero.size;
	return 0;
}

/* The header from behind its 16 bytes of identification. */
static int read_header(struct elf *e, struct cursor *c)
{
	uint16_t phentsize, shentsize, phnum, shnum, shstrndx;
	int r;

	e->type = cursor_u16(c);
	e->machine = cursor_u16(c);
	cursor_skip(c, 4); /* version */
	e->entry = cursor_u64(c);
	e->phoff = cursor_u64(c);
	e->shoff = cursor_u64(c);
	cursor_skip(c, 4 + 2); /* flags, size of this header */
	phentsize = cursor_u16(c);
	phnum = cursor_u16(c);
	shentsize = cursor_u16(c);
	shnum = cursor_u16(c);
	shstrndx = cursor_u16(c);
	if (c->bad)
		return -EBADMSG;
	r = read_large_counts(e, phnum, shnum, shstrndx);
	if (r < 0)
		return r;
	if (e->phnum > ELF_SEGMENTS_MAX || e->shnum > ELF_SECTIONS_MAX)
		return -E2BIG;
	if ((e->phnum && phentsize != sizeof(Elf64_Phdr)) ||
	    (e->shnum && shentsize != sizeof(Elf64_Shdr)) ||
	    (e->shstrndx && e->shstrndx >= e->shnum))
		return -EBADMSG;
	return 0;
}

int coati_elf_from_bytes(const void *bytes, size_t size, struct elf *ret)
{
	struct elf e = { .bytes = bytes, .size = size };
	struct cursor c = cursor_over(bytes, size);
	const uint8_t *ident = cursor_bytes(&c, EI_NIDENT);
	int r;

	*ret = (struct elf){ 0 };
	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	if (ident[EI_CLASS] == ELFCLASS32)
		return -EOPNOTSUPP;
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_VERSION] != EV_CURRENT ||
	    (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	e.swap = ident[EI_DATA] != HOST_DATA;
	c.swap = e.swap;
	r = read_header(&e, &c);
	if (r < 0)
		return r;
	*ret = e;
	return 0;
}

void coati_elf_close(struct elf *e)
{
	if (e->map_size)
		munmap((void *)(uintptr_t)e->bytes, e->map_size);
	*e = (struct elf){ 0 };
}

int coati_elf_segment(const struct elf *e, uint32_t i, struct elf_segment *ret)
{
	struct cursor c = cursor_at_entry(e, e->phoff, i, sizeof(Elf64_Phdr));
	struct elf_segment s = { 0 };

	if (i >= e->phnum)
		return -EINVAL;
	s.type = cursor_u32(&c);
	s.flags = cursor_u32(&c);
	s.offset = cursor_u64(&c);
	s.vaddr = cursor_u64(&c);
	cursor_skip(&c, 8); /* physical address */
	s.filesz = cursor_u64(&c);
	s.memsz = cursor_u64(&c);
	s.align = cursor_u64(&c);
	if (c.bad)
		return -EBADMSG;
	*ret = s;
	return 0;
}

int coati_elf_section(const struct elf *e, uint32_t i, struct elf_section *ret)
{
	struct elf_section s;
	uint32_t name;
	int r;

	if (i >= e->shnum)
		return -EINVAL;
	r = read_section(e, i, &s, &name);
	if (r < 0)
		return r;
	if (e->shstrndx)
		s.name = coati_elf_string(e, e->shstrndx, name);
	if (!s.name)
		return -EBADMSG;
	*ret = s;
	return 0;
}

int coati_elf_section_find(const struct elf *e, const char *name, struct elf_section *ret)
{
	for (uint32_t i = 0; i < e->shnum; i++) {
		struct elf_section s;
		int r = coati_elf_section(e, i, &s);

		if (r < 0)
			return r;
		if (!strcmp(s.name, name)) {
			*ret = s;
			return 1;
		}
	}
	return 0;
}

const uint8_t *coati_elf_section_bytes(const struct elf *e, const struct elf_section *s,
				       size_t *ret_size)
{
	struct cursor c = cursor_at(e, s->offset, s->size);

	if (s->type == SHT_NOBITS || s->type == SHT_NULL || c.bad) {
		*ret_size = 0;
		return NULL;
	}
	*ret_size = cursor_left(&c);
	return c.at;
}

/* A string table, NULL when section @i is none. Its last byte ends every string in it, so none has
 * to be scanned. */
static const char *string_table(const struct elf *e, uint32_t i, size_t *ret_size)
{
	struct elf_section s;
	const uint8_t *bytes;
	uint32_t name;

	*ret_size = 0;
	if (i >= e->shnum || read_section(e, i, &s, &name) < 0 || s.type != SHT_STRTAB)
		return NULL;
	bytes = coati_elf_section_bytes(e, &s, ret_size);
	return bytes && *ret_size && !bytes[*ret_size - 1] ? (const char *)bytes : NULL;
}

const char *coati_elf_string(const struct elf *e, uint32_t strtab, uint64_t offset)
{
	size_t size;
	const char *strings = string_table(e, strtab, &size);

	return strings && offset < size ? strings + offset : NULL;
}

int coati_elf_symbols(const struct elf *e, const struct elf_section *table, struct elf_symbols *ret)
{
	struct elf_symbols s = { .index = 1 };
	const uint8_t *bytes;
	size_t size;

	*ret = s;
	if (table->type == SHT_NOBITS)
		return 0;
	if (table->type != SHT_SYMTAB && table->type != SHT_DYNSYM)
		return -EINVAL;
	if (table->entsize != sizeof(Elf64_Sym))
		return -EBADMSG;
	if (table->size / sizeof(Elf64_Sym) > ELF_SYMBOLS_MAX)
		return -E2BIG;
	bytes = coati_elf_section_bytes(e, table, &size);
	s.strings = string_table(e, table->link, &s.strings_size);
	if (!bytes || !s.strings)
		return -EBADMSG;
	if (size < 2 * sizeof(Elf64_Sym))
		return 0;
	size -= sizeof(Elf64_Sym);
	s.at = cursor_over(bytes + sizeof(Elf64_Sym), size - size % sizeof(Elf64_Sym));
	s.at.swap = e->swap;
	*ret = s;
	return 0;
}

int coati_elf_symbol_next(struct elf_symbols *symbols, struct elf_symbol *ret)
{
	struct cursor *c = &symbols->at;
	struct elf_symbol s = { 0 };
	uint32_t name;
	uint8_t info;

	if (!cursor_left(c))
		return 0;
	s.index = symbols->index++;
	name = cursor_u32(c);
	info = cursor_u8(c);
	cursor_skip(c, 1); /* visibility */
	s.shndx = cursor_u16(c);
	s.value = cursor_u64(c);
	s.size = cursor_u64(c);
	if (c->bad || name >= symbols->strings_size)
		return -EBADMSG;
	s.name = symbols->strings + name;
	s.type = ELF64_ST_TYPE(info);
	s.bind = ELF64_ST_BIND(info);
	*ret = s;
	return 1;
}

struct elf_notes coati_elf_notes(const struct elf *e, const uint8_t *bytes, size_t size,
				 uint64_t align)
{
	struct elf_notes notes = { .size = bytes ? size : 0, .align = align == 8 ? 8 : 4 };

	notes.at = cursor_over(bytes, notes.size);
	notes.at.swap = e->swap;
	notes.at.bad = notes.size > ELF_NOTES_MAX;
	return notes;
}

/* Skip to the next multiple of the alignment; the last note may lack its padding. */
static void skip_padding(struct elf_notes *n)
{
	size_t left = cursor_left(&n->at);
	size_t pad = (n->align - ((n->size - left) & (n->align - 1))) & (n->align - 1);

	cursor_skip(&n->at, pad < left ? pad : left);
}

int coati_elf_note_next(struct elf_notes *notes, struct elf_note *ret)
{
	struct cursor *c = &notes->at;
	struct elf_note n = { 0 };

	if (!c->bad && !cursor_left(c))
		return 0;
	n.name_size = cursor_u32(c);
	n.desc_size = cursor_u32(c);
	n.type = cursor_u32(c);
	n.name = cursor_bytes(c, n.name_size);
	skip_padding(notes);
	n.desc = cursor_bytes(c, n.desc_size);
	skip_padding(notes);
	if (c->bad)
		return -EBADMSG;
	*ret = n;
	return 1;
}

int coati_elf_segment_at(const struct elf *e, uint64_t vaddr, struct elf_segment *ret)
{
	for (uint32_t i = 0; i < e->phnum; i++) {
		struct elf_segment s;
		int r = coati_elf_segment(e, i, &s);

		if (r < 0)
			return r;
		if (s.type != PT_LOAD || vaddr < s.vaddr || vaddr - s.vaddr >= s.filesz)
			continue;
		if (cursor_at(e, s.offset, s.filesz).bad)
			return -EBADMSG;
		*ret = s;
		return 0;
	}
	return -ENOENT;
}

int coati_elf_vaddr_to_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset)
{
	struct elf_segment s;
	int r = coati_elf_segment_at(e, vaddr, &s);

	if (r < 0)
		return r;
	*ret_offset = vaddr - s.vaddr + s.offset;
	return 0;
}

static size_t find_build_id(struct elf_notes notes, uint8_t ret[20])
{
	struct elf_note n;

	while (coati_elf_note_next(&notes, &n) > 0) {
		if (n.type != NT_GNU_BUILD_ID || n.name_size != 4 || memcmp(n.name, "GNU", 4) != 0)
			continue;
		if (!n.desc_size || n.desc_size > 20)
			return 0;
		memcpy(ret, n.desc, n.desc_size);
		return n.desc_size;
	}
	return 0;
}

/* Take @size from what may still be walked: many sections that claim the same bytes must not
 * multiply the work. */
static bool spend(size_t *budget, size_t size)
{
	if (size > *budget)
		return false;
	*budget -= size;
	return true;
}

static size_t build_id_of_sections(const struct elf *e, uint8_t ret[20])
{
	size_t budget = ELF_NOTES_MAX, len = 0;

	for (uint32_t i = 0; i < e->shnum && !len; i++) {
		struct elf_section s;
		const uint8_t *bytes;
		uint32_t name;
		size_t size;

		if (read_section(e, i, &s, &name) < 0)
			break;
		if (s.type != SHT_NOTE)
			continue;
		bytes = coati_elf_section_bytes(e, &s, &size);
		if (spend(&budget, size))
			len = find_build_id(coati_elf_notes(e, bytes, size, s.align), ret);
	}
	return len;
}

static size_t build_id_of_segments(const struct elf *e, uint8_t ret[20])
{
	size_t budget = ELF_NOTES_MAX, len = 0;

	for (uint32_t i = 0; i < e->phnum && !len; i++) {
		struct elf_segment s;
		struct cursor c;

		if (coati_elf_segment(e, i, &s) < 0)
			break;
		if (s.type != PT_NOTE)
			continue;
		c = cursor_at(e, s.offset, s.filesz);
		if (spend(&budget, cursor_left(&c)))
			len = find_build_id(coati_elf_notes(e, c.at, cursor_left(&c), s.align),
					    ret);
	}
	return len;
}

size_t coati_elf_build_id(const struct elf *e, uint8_t ret[20])
{
	/* sections first: the segments of a separate debug file point at bytes it does not have */
	size_t len = build_id_of_sections(e, ret);

	return len ? len : build_id_of_segments(e, ret);
}
