/* SPDX-License-Identifier: MIT */
/*
 * One file with DWARF: its sections as bytes (uncompressed where they were compressed), its units
 * by their headers, and the abbreviation tables that were needed last. The bytes are a copy, so
 * that no other process can change or truncate them; they live until the file is closed, and
 * nothing of them is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/cursor.h"
#include "base/elf.h"
#include "base/search.h"
#include "image/copy.h"
#include "image/lines-abbrev.h"

#define DWARF_UNITS_MAX	 (4u << 20)
#define DWARF_STRING_MAX (256u << 10) /* a longer name is damage */

enum dwarf_section {
	SECTION_INFO,
	SECTION_ABBREV,
	SECTION_STR,
	SECTION_LINE,
	SECTION_LINE_STR,
	SECTION_RANGES,
	SECTION_RNGLISTS,
	SECTION_ADDR,
	SECTION_STR_OFFSETS,
	SECTION_ARANGES,
	SECTION_CU_INDEX,
	SECTION_ALTLINK,
	SECTION_COUNT,
};

struct dwarf_bytes {
	const uint8_t *at;
	size_t size;
	uint8_t *owned; /* uncompressed by us */
};

/* A unit as its header states it. In .debug_info of @file. */
struct dwarf_unit {
	uint64_t start, end; /* header to last byte */
	uint64_t first;	     /* its first entry */
	uint64_t abbrevs;    /* in .debug_abbrev */
	uint64_t dwo_id;     /* of a version 5 skeleton or split unit */
	uint16_t version;
	uint8_t address_size, offset_size, type;
};

struct dwarf_file {
	struct copy copy;
	struct elf elf; /* over the copy */
	struct dwarf_bytes sections[SECTION_COUNT];
	uint64_t inflated;	       /* bytes that compressed ones have become */
	uint64_t text_start, text_end; /* what lies outside is code that the linker dropped */
	struct dwarf_unit *units;      /* by their place */
	size_t nr_units;
	bool is_split; /* sections are those of a .dwo or .dwp */
	struct abbrev_cache abbrevs;
	struct dwarf_file *alt; /* what dwz shared, opened by the caller that opened this one */
};

/* -ENOENT: it has no DWARF; -EOPNOTSUPP: it is not linked yet, or compressed in a way that this
 * machine cannot undo. The descriptor stays the caller's. A header of a unit that is damaged ends
 * the list of units and sets *ret_damaged. */
int coati_dwarf_open(int fd, const char *path, struct dwarf_file **ret, bool *ret_damaged,
		     struct coati_error *err);
void coati_dwarf_close(struct dwarf_file *f);

/* The unit that holds @offset of .debug_info, NULL when none does. */
const struct dwarf_unit *coati_dwarf_unit_at(const struct dwarf_file *f, uint64_t offset);
/* The unit whose header is there. */
const struct dwarf_unit *coati_dwarf_unit_from(const struct dwarf_file *f, uint64_t start);
/* A terminated string; NULL when none is there. */
const char *coati_dwarf_string(const struct dwarf_file *f, enum dwarf_section section,
			       uint64_t offset);

/* From @offset to the end of the section; bad when there is nothing. */
static inline struct cursor dwarf_cursor(const struct dwarf_file *f, enum dwarf_section section,
					 uint64_t offset)
{
	const struct dwarf_bytes *b = &f->sections[section];
	struct cursor c = { .bad = true };

	if (offset < b->size)
		c = cursor_over(b->at + offset, b->size - (size_t)offset);
	c.swap = f->elf.swap;
	return c;
}

/* A number of 1, 2, 3, 4 or 8 bytes. */
static inline uint64_t cursor_sized(struct cursor *c, unsigned int size)
{
	const uint8_t *p;

	switch (size) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 4:
		return cursor_u32(c);
	case 8:
		return cursor_u64(c);
	case 3:
		p = cursor_bytes(c, 3);
		if (!p)
			return 0;
		return c->swap ? (uint64_t)p[0] << 16 | (uint64_t)p[1] << 8 | p[2]
			       : p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16;
	default:
		c->bad = true;
		return 0;
	}
}

/* The length that begins a unit or a table: 4 bytes, or 12 with the mark of the 64-bit format. */
static inline uint64_t cursor_length(struct cursor *c, uint8_t *ret_offset_size)
{
	uint64_t length = cursor_u32(c);

	*ret_offset_size = 4;
	if (length == UINT32_MAX) {
		length = cursor_u64(c);
		*ret_offset_size = 8;
	} else if (length >= 0xfffffff0) {
		c->bad = true;
	}
	return length;
}

/* The first of the sorted @vaddrs that is not below @address. */
static inline size_t first_at_or_above(const uint64_t *vaddrs, size_t nr, uint64_t address)
{
	return SEARCH(mid, 0, nr, vaddrs[mid] < address);
}
