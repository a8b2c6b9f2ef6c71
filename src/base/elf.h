/* SPDX-License-Identifier: MIT */
/*
 * The least that must be known of an ELF file, from libc alone: segments, sections, symbols, notes.
 * The event stage finds probe addresses with it, the live runtime and the unwind tables their
 * sections; everything beyond (DWARF, compressed and split debug data) is elfutils' business in
 * image/.
 *
 * The file is never trusted: every offset and count is compared with its size before use; a
 * truncated file gives -EBADMSG, not a signal, and every count has a ceiling, so that a huge sparse
 * file cannot keep a loop busy. What is opened here is a copy: no other process can change or
 * shorten it meanwhile. 64-bit little-endian and big-endian files; 32-bit files are -EOPNOTSUPP.
 *
 * Nothing but opening a file allocates. What a struct points to lives as long as the elf it came
 * from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/cursor.h"

#define ELF_SEGMENTS_MAX 131072	  /* core files have one per mapping */
#define ELF_SECTIONS_MAX 1048576  /* object files have one per function */
#define ELF_SYMBOLS_MAX	 16777216 /* of one table; large C++ programs have two million */
#define ELF_NOTES_MAX	 16777216 /* bytes of one section or segment of notes */

struct elf {
	const uint8_t *bytes;
	size_t size;
	size_t map_size; /* 0: the bytes are the caller's */
	bool swap;
	uint16_t type, machine;
	uint64_t entry;
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz, memsz, align;
};

struct elf_section {
	uint32_t index;
	const char *name; /* "" when there is none; always terminated */
	uint32_t type, link, info;
	uint64_t flags, vaddr, offset, size, entsize, align;
};

struct elf_symbol {
	uint32_t index;	  /* in its table */
	const char *name; /* always terminated */
	uint64_t value, size;
	uint8_t type, bind;
	uint16_t shndx;
};

/* A walk over symbols; begin it with coati_elf_symbols(). */
struct elf_symbols {
	struct cursor at;
	uint32_t index; /* of the next one */
	const char *strings;
	size_t strings_size;
};

struct elf_note {
	const char *name; /* not always terminated: name_size counts */
	uint32_t name_size, type, desc_size;
	const uint8_t *desc;
};

/* A walk over notes; begin it with coati_elf_notes(). */
struct elf_notes {
	struct cursor at;
	size_t size, align;
};

/* Read @path, all but debug data, up to 1 GiB. Refuses everything but a regular file (a FIFO, a
 * device, a directory) without blocking and without opening it. @ret is zeroed on failure, so that
 * closing it does nothing. */
int coati_elf_open(const char *path, struct elf *ret, struct coati_error *err);
/* The same over bytes that the caller keeps alive. -EBADMSG: no ELF file, or its header is damaged;
 * -EOPNOTSUPP: 32-bit; -E2BIG: more segments or sections than the ceilings above. */
int coati_elf_from_bytes(const void *bytes, size_t size, struct elf *ret);
/* A zeroed or closed one is fine. */
void coati_elf_close(struct elf *e);

/* -EINVAL when @i is not below phnum; -EBADMSG when the table lies outside the file. */
int coati_elf_segment(const struct elf *e, uint32_t i, struct elf_segment *ret);
/* The same for sections, below shnum. */
int coati_elf_section(const struct elf *e, uint32_t i, struct elf_section *ret);
/* By name; 1 found, 0 not there, negative: malformed. */
int coati_elf_section_find(const struct elf *e, const char *name, struct elf_section *ret);
/* The bytes of a section, NULL (and 0 bytes) when it has none in the file or lies outside. */
const uint8_t *coati_elf_section_bytes(const struct elf *e, const struct elf_section *s,
				       size_t *ret_size);
/* A terminated string of the string table section @strtab; NULL when there is none at @offset. */
const char *coati_elf_string(const struct elf *e, uint32_t strtab, uint64_t offset);

/* Symbols of the .symtab or .dynsym @table (a section of that type, or NOBITS: then there are
 * none). -EINVAL when it is none, -EBADMSG when it or its names lie outside, -E2BIG over the
 * ceiling. */
int coati_elf_symbols(const struct elf *e, const struct elf_section *table,
		      struct elf_symbols *ret);
/* 1 and the next symbol, 0 at the end, -EBADMSG when its name lies outside. The empty symbol 0 is
 * left out. Hot. */
int coati_elf_symbol_next(struct elf_symbols *symbols, struct elf_symbol *ret);

/* Notes of a section or segment with those bytes; @align is its alignment (8, anything else means
 * 4). */
struct elf_notes coati_elf_notes(const struct elf *e, const uint8_t *bytes, size_t size,
				 uint64_t align);
/* 1 and the next note, 0 at the end, -EBADMSG when a note is longer than what is left, or all of
 * them are longer than the ceiling. */
int coati_elf_note_next(struct elf_notes *notes, struct elf_note *ret);

/* The loadable segment that maps @vaddr from the file; -ENOENT when none does. */
int coati_elf_segment_at(const struct elf *e, uint64_t vaddr, struct elf_segment *ret);
/* Virtual address to offset in the file through that segment, with the same errors. */
int coati_elf_vaddr_to_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset);
/* The GNU build id, up to 20 bytes; its length, or 0 when there is none (or a longer one). */
size_t coati_elf_build_id(const struct elf *e, uint8_t ret[20]);
