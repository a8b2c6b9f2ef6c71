/* SPDX-License-Identifier: MIT */
/*
 * The least that must be known of an ELF file, from libc alone: segments, sections, symbols, notes. The
 * event station finds probe addresses with it, the live runtime and the unwind tables their sections;
 * everything beyond (DWARF, compressed and split debug data) is elfutils' business in image/.
 *
 * The file is mapped read-only and never trusted: every offset and count is compared with the size of the
 * mapping before use; a truncated file gives -EBADMSG, not a signal. (The mapping is private and the file
 * may shrink while it is read: callers that cannot bear SIGBUS pass a copy to coati_elf_from_bytes.)
 * 64-bit little-endian and big-endian files; 32-bit files are -EOPNOTSUPP.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

struct elf {
	const uint8_t *bytes;
	size_t size;
	bool swap;
	bool mapped; /* bytes are our mapping */
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
	uint64_t flags, vaddr, offset, size, entsize;
};

struct elf_symbol {
	const char *name; /* always terminated */
	uint64_t value, size;
	uint8_t type, bind;
	uint16_t shndx;
};

struct elf_note {
	const char *name; /* not always terminated: name_size counts */
	uint32_t name_size, type, desc_size;
	const uint8_t *desc;
};

/* Map @path. Refuses everything but a regular file (a FIFO, a device, a directory) without blocking. */
int coati_elf_open(const char *path, struct elf *ret, struct coati_error *err);
int coati_elf_from_bytes(const void *bytes, size_t size, struct elf *ret);
void coati_elf_close(struct elf *e);

int coati_elf_segment(const struct elf *e, uint32_t i, struct elf_segment *ret);
int coati_elf_section(const struct elf *e, uint32_t i, struct elf_section *ret);
/* By name; 1 found, 0 not there, negative: malformed. */
int coati_elf_section_find(const struct elf *e, const char *name, struct elf_section *ret);
/* The bytes of a section, NULL when it has none in the file or lies outside. */
const uint8_t *coati_elf_section_bytes(const struct elf *e, const struct elf_section *s,
				       size_t *ret_size);

/* Symbols of the .symtab or .dynsym @table (a section of that type), one per call: 1, 0 at the end,
 * negative when malformed. Start with *pos = 0. */
int coati_elf_symbol_next(const struct elf *e, const struct elf_section *table, uint32_t *pos,
			  struct elf_symbol *ret);
/* Notes of a section or segment, the same way; @align is 4 or 8. */
int coati_elf_note_next(const struct elf *e, const uint8_t *bytes, size_t size, size_t *pos,
			struct elf_note *ret);

/* Virtual address to offset in the file through the loadable segments. -ENOENT when no segment maps it
 * from the file. */
int coati_elf_vaddr_to_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset);
/* The GNU build id, up to 20 bytes; its length, or 0 when there is none. */
size_t coati_elf_build_id(const struct elf *e, uint8_t ret[20]);
