/* SPDX-License-Identifier: MIT */
/*
 * A unit with what its first entry says: names, addresses, and the bases that indexed forms count
 * from. A split unit takes its addresses (and, before version 5, its ranges) from the file of its
 * skeleton.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/lines-file.h"

/* What a value is once its form is undone. */
enum value_kind {
	VALUE_NONE,
	VALUE_NUMBER,
	VALUE_ADDRESS,
	VALUE_ADDRESS_INDEX,
	VALUE_ENTRY,	 /* @number: offset in .debug_info of this file */
	VALUE_ENTRY_ALT, /* of the shared file */
	VALUE_STRING,	 /* @text, NULL when it is damaged */
	VALUE_OFFSET,	 /* into a section that the attribute knows */
	VALUE_LIST_INDEX,
	VALUE_OTHER, /* stepped over */
};

struct value {
	enum value_kind kind;
	uint64_t number;
	const char *text;
};

struct scope {
	struct dwarf_file *file;
	struct dwarf_file *address_file; /* of the skeleton; @file itself for others */
	const struct dwarf_unit *unit;
	uint64_t abbrevs; /* where its abbreviations are; those of a package are behind others */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	/* of the first entry */
	const char *comp_dir, *dwo_name;
	uint64_t dwo_id, stmt_list, low_pc;
	bool has_stmt_list, has_low_pc;
	struct value high_pc, ranges;
};

/* Read the first entry of @unit. -EBADMSG, -ENOMEM. */
int coati_scope_init(struct scope *ret, struct dwarf_file *file, const struct dwarf_unit *unit);
/* The same for a split unit of @skeleton; @ret->abbrevs, ->str_offsets_base and ->rnglists_base are
 * where the package, if it is one, has this unit's part. */
int coati_scope_init_split(struct scope *ret, const struct scope *skeleton, struct dwarf_file *file,
			   const struct dwarf_unit *unit);

int coati_scope_abbrevs(const struct scope *s, const struct abbrev_table **ret);
/* Undo one form and step behind it.  Hot. */
struct value coati_scope_value(const struct scope *s, struct cursor *c,
			       const struct abbrev_attr *attr);
/* VALUE_ADDRESS or VALUE_ADDRESS_INDEX to an address; false: there is none. */
bool coati_scope_address(const struct scope *s, const struct value *v, uint64_t *ret);

struct address_range {
	uint64_t start, end;
};

/* The ranges of an entry, one after the other. */
struct range_list {
	const struct scope *scope;
	struct cursor at;
	uint64_t base;
	uint64_t steps;		     /* entries read, those left out too */
	struct address_range single; /* low_pc and high_pc */
	enum { RANGES_NONE, RANGES_SINGLE, RANGES_OLD, RANGES_NEW } kind;
};

/* From the three attributes of an entry. */
struct range_list coati_ranges_begin(const struct scope *s, const struct value *low,
				     const struct value *high, const struct value *ranges);
/* 1 and the next range that is not empty and was not dropped by the linker, 0 at the end,
 * -EBADMSG. */
int coati_ranges_next(struct range_list *l, struct address_range *ret);

static inline struct cursor scope_cursor(const struct scope *s, uint64_t offset)
{
	struct cursor c = dwarf_cursor(s->file, SECTION_INFO, offset);

	if (!c.bad)
		c.end = s->file->sections[SECTION_INFO].at + s->unit->end;
	return c;
}
