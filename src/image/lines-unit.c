/* SPDX-License-Identifier: MIT */
/*
 * Values of entries: forms are undone here and nowhere else. Offsets and indexes are looked up in
 * the sections they lead to, through cursors; one that leads nowhere is an unknown value, not the
 * end of the unit.
 */
#include "image/lines-unit.h"

#include <errno.h>
#include <string.h>

#include "base/leb128.h"
#include "image/lines-dwarf.h"

static struct abbrev_key abbrev_key_of(const struct scope *s)
{
	return (struct abbrev_key){ .offset = s->abbrevs,
				    .address_size = s->unit->address_size,
				    .offset_size = s->unit->offset_size,
				    .is_version2 = s->unit->version == 2 };
}

int coati_scope_abbrevs(const struct scope *s, const struct abbrev_table **ret)
{
	struct abbrev_key key = abbrev_key_of(s);

	return coati_abbrevs_get(&s->file->abbrevs, &key,
				 dwarf_cursor(s->file, SECTION_ABBREV, key.offset), ret);
}

/* Entry @index of a table of @size bytes each, behind @base. */
static bool read_indexed(struct cursor (*at)(const struct scope *, uint64_t), const struct scope *s,
			 uint64_t offset, unsigned int size, uint64_t *ret)
{
	struct cursor c = at(s, offset);
	uint64_t v = cursor_sized(&c, size);

	if (!c.bad)
		*ret = v;
	return !c.bad;
}

static struct cursor at_str_offsets(const struct scope *s, uint64_t offset)
{
	return dwarf_cursor(s->file, SECTION_STR_OFFSETS, offset);
}

static struct cursor at_addr(const struct scope *s, uint64_t offset)
{
	return dwarf_cursor(s->address_file, SECTION_ADDR, offset);
}

static struct value string_value(const struct dwarf_file *f, enum dwarf_section section,
				 uint64_t offset)
{
	return (struct value){ .kind = VALUE_STRING,
			       .text = f ? coati_dwarf_string(f, section, offset) : NULL };
}

static struct value indexed_string(const struct scope *s, uint64_t index)
{
	uint64_t size = s->unit->offset_size, offset;

	if (index > UINT32_MAX ||
	    !read_indexed(at_str_offsets, s, s->str_offsets_base + index * size, (unsigned int)size,
			  &offset))
		return (struct value){ .kind = VALUE_STRING };
	return string_value(s->file, SECTION_STR, offset);
}

static struct value inline_string(struct cursor *c)
{
	const char *text = (const char *)c->at;
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));

	if (!end || c->bad) {
		c->bad = true;
		return (struct value){ .kind = VALUE_NONE };
	}
	c->at = end + 1;
	return (struct value){ .kind = VALUE_STRING, .text = text };
}

bool coati_scope_address(const struct scope *s, const struct value *v, uint64_t *ret)
{
	uint64_t size = s->unit->address_size;

	if (v->kind == VALUE_ADDRESS) {
		*ret = v->number;
		return true;
	}
	return v->kind == VALUE_ADDRESS_INDEX && v->number <= UINT32_MAX &&
	       read_indexed(at_addr, s, s->addr_base + v->number * size, (unsigned int)size, ret);
}

static struct value number_value(enum value_kind kind, uint64_t number)
{
	return (struct value){ .kind = kind, .number = number };
}

/* Forms whose value is a string somewhere; VALUE_NONE: not one of them. */
static struct value read_string(const struct scope *s, struct cursor *c, uint64_t form)
{
	unsigned int offset_size = s->unit->offset_size;

	switch (form) {
	case DW_FORM_string:
		return inline_string(c);
	case DW_FORM_strp:
		return string_value(s->file, SECTION_STR, cursor_sized(c, offset_size));
	case DW_FORM_line_strp:
		return string_value(s->file, SECTION_LINE_STR, cursor_sized(c, offset_size));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return string_value(s->file->alt, SECTION_STR, cursor_sized(c, offset_size));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return indexed_string(s, cursor_uleb(c));
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(s, cursor_sized(c, (unsigned int)(form - DW_FORM_strx1) + 1));
	default:
		return (struct value){ .kind = VALUE_NONE };
	}
}

/* References to other entries. */
static struct value read_reference(const struct scope *s, struct cursor *c, uint64_t form)
{
	uint64_t base = s->unit->start;

	switch (form) {
	case DW_FORM_ref1:
		return number_value(VALUE_ENTRY, base + cursor_u8(c));
	case DW_FORM_ref2:
		return number_value(VALUE_ENTRY, base + cursor_u16(c));
	case DW_FORM_ref4:
		return number_value(VALUE_ENTRY, base + cursor_u32(c));
	case DW_FORM_ref8:
		return number_value(VALUE_ENTRY, base + cursor_u64(c));
	case DW_FORM_ref_udata:
		return number_value(VALUE_ENTRY, base + cursor_uleb(c));
	case DW_FORM_ref_addr:
		return number_value(VALUE_ENTRY,
				    cursor_sized(c, s->unit->version == 2 ? s->unit->address_size
									  : s->unit->offset_size));
	case DW_FORM_GNU_ref_alt:
		return number_value(VALUE_ENTRY_ALT, cursor_sized(c, s->unit->offset_size));
	case DW_FORM_ref_sup4:
		return number_value(VALUE_ENTRY_ALT, cursor_u32(c));
	case DW_FORM_ref_sup8:
		return number_value(VALUE_ENTRY_ALT, cursor_u64(c));
	default:
		return (struct value){ .kind = VALUE_NONE };
	}
}

static struct value read_number(const struct scope *s, struct cursor *c, uint64_t form)
{
	switch (form) {
	case DW_FORM_data1:
		return number_value(VALUE_NUMBER, cursor_u8(c));
	case DW_FORM_data2:
		return number_value(VALUE_NUMBER, cursor_u16(c));
	case DW_FORM_data4:
		return number_value(VALUE_NUMBER, cursor_u32(c));
	case DW_FORM_data8:
		return number_value(VALUE_NUMBER, cursor_u64(c));
	case DW_FORM_udata:
		return number_value(VALUE_NUMBER, cursor_uleb(c));
	case DW_FORM_sdata:
		return number_value(VALUE_NUMBER, (uint64_t)cursor_sleb(c));
	case DW_FORM_addr:
		return number_value(VALUE_ADDRESS, cursor_sized(c, s->unit->address_size));
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		return number_value(VALUE_ADDRESS_INDEX, cursor_uleb(c));
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		return number_value(VALUE_ADDRESS_INDEX,
				    cursor_sized(c, (unsigned int)(form - DW_FORM_addrx1) + 1));
	case DW_FORM_sec_offset:
		return number_value(VALUE_OFFSET, cursor_sized(c, s->unit->offset_size));
	case DW_FORM_rnglistx:
		return number_value(VALUE_LIST_INDEX, cursor_uleb(c));
	default:
		return (struct value){ .kind = VALUE_NONE };
	}
}

struct value coati_scope_value(const struct scope *s, struct cursor *c,
			       const struct abbrev_attr *attr)
{
	uint64_t form = attr->form;
	struct abbrev_key key;
	struct value v;

	if (form == DW_FORM_implicit_const)
		return number_value(VALUE_NUMBER, (uint64_t)attr->implicit);
	if (form == DW_FORM_indirect)
		form = cursor_uleb(c);
	v = read_number(s, c, form);
	if (v.kind == VALUE_NONE)
		v = read_reference(s, c, form);
	if (v.kind == VALUE_NONE)
		v = read_string(s, c, form);
	if (v.kind == VALUE_NONE && !c->bad) {
		key = abbrev_key_of(s);
		if (form == DW_FORM_indirect)
			c->bad = true;
		coati_step_take(&key, coati_form_step(&key, form), c);
		v.kind = VALUE_OTHER;
	}
	return v;
}

/* The attributes of a first entry, as they were read. */
struct root {
	struct value comp_dir, dwo_name, dwo_id, stmt_list, low_pc, high_pc, ranges;
	struct value str_offsets_base, addr_base, rnglists_base, ranges_base;
};

static struct value *root_slot(struct root *r, uint16_t name)
{
	switch (name) {
	case DW_AT_comp_dir:
		return &r->comp_dir;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return &r->dwo_name;
	case DW_AT_GNU_dwo_id:
		return &r->dwo_id;
	case DW_AT_stmt_list:
		return &r->stmt_list;
	case DW_AT_low_pc:
		return &r->low_pc;
	case DW_AT_high_pc:
		return &r->high_pc;
	case DW_AT_ranges:
		return &r->ranges;
	case DW_AT_str_offsets_base:
		return &r->str_offsets_base;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return &r->addr_base;
	case DW_AT_rnglists_base:
		return &r->rnglists_base;
	case DW_AT_GNU_ranges_base:
		return &r->ranges_base;
	default:
		return NULL;
	}
}

/* Read the entry into @ret. */
static int read_root(const struct scope *s, struct root *ret)
{
	struct cursor c = scope_cursor(s, s->unit->first);
	const struct abbrev_table *t;
	const struct abbrev *a;
	int r = coati_scope_abbrevs(s, &t);

	if (r < 0)
		return r;
	a = abbrev_find(t, cursor_uleb(&c));
	if (!a || c.bad)
		return -EBADMSG;
	for (unsigned int i = 0; i < a->nr_attrs; i++) {
		const struct abbrev_attr *attr = &t->attrs[a->attrs + i];
		struct value v = coati_scope_value(s, &c, attr);
		struct value *slot = root_slot(ret, attr->name);

		if (slot)
			*slot = v;
	}
	return c.bad ? -EBADMSG : 0;
}

static void take_offset(const struct value *v, uint64_t *ret)
{
	if (v->kind == VALUE_OFFSET || v->kind == VALUE_NUMBER)
		*ret = v->number;
}

/* Strings may be indexed, and the base they count from comes behind them: hence twice. */
static int read_scope(struct scope *s)
{
	struct root root = { 0 };
	int r = read_root(s, &root);

	if (r < 0)
		return r;
	take_offset(&root.str_offsets_base, &s->str_offsets_base);
	take_offset(&root.rnglists_base, &s->rnglists_base);
	take_offset(&root.ranges_base, &s->ranges_base);
	take_offset(&root.addr_base, &s->addr_base);
	r = read_root(s, &root);
	if (r < 0)
		return r;
	s->comp_dir = root.comp_dir.text;
	s->dwo_name = root.dwo_name.text;
	s->dwo_id = s->unit->version >= 5 ? s->unit->dwo_id : root.dwo_id.number;
	s->has_stmt_list =
		root.stmt_list.kind == VALUE_OFFSET || root.stmt_list.kind == VALUE_NUMBER;
	s->stmt_list = root.stmt_list.number;
	if (coati_scope_address(s, &root.low_pc, &s->low_pc))
		s->has_low_pc = true;
	s->high_pc = root.high_pc;
	s->ranges = root.ranges;
	return 0;
}

int coati_scope_init(struct scope *ret, struct dwarf_file *file, const struct dwarf_unit *unit)
{
	uint64_t wide = unit->offset_size == 8;

	/* Where the bases are when the unit does not say: behind the first header. */
	*ret = (struct scope){ .file = file,
			       .address_file = file,
			       .unit = unit,
			       .abbrevs = unit->abbrevs,
			       .str_offsets_base = wide ? 16 : 8,
			       .addr_base = wide ? 16 : 8,
			       .rnglists_base = wide ? 20 : 12 };
	return read_scope(ret);
}

int coati_scope_init_split(struct scope *ret, const struct scope *skeleton, struct dwarf_file *file,
			   const struct dwarf_unit *unit)
{
	uint64_t wide = unit->offset_size == 8;
	int r;

	ret->file = file;
	ret->address_file = skeleton->file;
	ret->unit = unit;
	ret->abbrevs += unit->abbrevs;
	if (unit->version >= 5) {
		ret->str_offsets_base += wide ? 16 : 8;
		ret->rnglists_base += wide ? 20 : 12;
	}
	ret->addr_base = skeleton->addr_base;
	r = read_scope(ret);
	ret->ranges_base = skeleton->ranges_base;
	ret->low_pc = skeleton->low_pc;
	ret->has_low_pc = skeleton->has_low_pc;
	return r;
}
