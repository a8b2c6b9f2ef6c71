/* SPDX-License-Identifier: MIT */
/*
 * Address ranges of an entry: low_pc with high_pc, .debug_ranges of versions 2 to 4,
 * .debug_rnglists of version 5. Empty ranges and those outside the file's code are left out: the
 * linker dropped what they describe.
 */
#include <errno.h>

#include "base/leb128.h"
#include "image/lines-dwarf.h"
#include "image/lines-unit.h"

static struct cursor old_list(const struct scope *s, uint64_t offset)
{
	/* a split unit of version 4 keeps its ranges, and what they count from, with its
	 * skeleton */
	if (s->file != s->address_file)
		offset += s->ranges_base;
	return dwarf_cursor(s->address_file, SECTION_RANGES, offset);
}

static struct cursor new_list(const struct scope *s, const struct value *v)
{
	uint64_t offset = v->number;

	if (v->kind == VALUE_LIST_INDEX) {
		uint64_t size = s->unit->offset_size;
		struct cursor c = dwarf_cursor(s->file, SECTION_RNGLISTS,
					       s->rnglists_base + (offset & UINT32_MAX) * size);

		offset = s->rnglists_base + cursor_sized(&c, (unsigned int)size);
		if (c.bad)
			return c;
	}
	return dwarf_cursor(s->file, SECTION_RNGLISTS, offset);
}

struct range_list coati_ranges_begin(const struct scope *s, const struct value *low,
				     const struct value *high, const struct value *ranges)
{
	struct range_list l = { .scope = s, .kind = RANGES_NONE, .base = s->low_pc };
	uint64_t end;

	if (ranges->kind != VALUE_NONE) {
		l.kind = s->unit->version >= 5 ? RANGES_NEW : RANGES_OLD;
		l.at = l.kind == RANGES_NEW ? new_list(s, ranges) : old_list(s, ranges->number);
		return l;
	}
	if (!coati_scope_address(s, low, &l.single.start))
		return l;
	if (high->kind == VALUE_NUMBER)
		l.single.end = l.single.start + high->number;
	else if (coati_scope_address(s, high, &end))
		l.single.end = end;
	else
		return l;
	l.kind = RANGES_SINGLE;
	return l;
}

/* One pair of .debug_ranges: 1 a range, 0 the end, 2 go on. */
static int next_old(struct range_list *l, struct address_range *ret)
{
	unsigned int size = l->scope->unit->address_size;
	uint64_t start = cursor_sized(&l->at, size);
	uint64_t end = cursor_sized(&l->at, size);

	if (l->at.bad)
		return -EBADMSG;
	if (!start && !end)
		return 0;
	if (start == (size == 8 ? UINT64_MAX : UINT32_MAX)) {
		l->base = end;
		return 2;
	}
	*ret = (struct address_range){ l->base + start, l->base + end };
	return 1;
}

static uint64_t indexed_address(struct range_list *l)
{
	struct value v = { .kind = VALUE_ADDRESS_INDEX, .number = cursor_uleb(&l->at) };
	uint64_t address = 0;

	if (!coati_scope_address(l->scope, &v, &address))
		l->at.bad = true;
	return address;
}

/* One entry of .debug_rnglists, with the same answers. */
static int next_new(struct range_list *l, struct address_range *ret)
{
	unsigned int size = l->scope->unit->address_size;
	uint8_t kind = cursor_u8(&l->at);

	switch (kind) {
	case DW_RLE_end_of_list:
		return l->at.bad ? -EBADMSG : 0;
	case DW_RLE_base_addressx:
		l->base = indexed_address(l);
		return l->at.bad ? -EBADMSG : 2;
	case DW_RLE_base_address:
		l->base = cursor_sized(&l->at, size);
		return l->at.bad ? -EBADMSG : 2;
	case DW_RLE_startx_endx:
		ret->start = indexed_address(l);
		ret->end = indexed_address(l);
		break;
	case DW_RLE_startx_length:
		ret->start = indexed_address(l);
		ret->end = ret->start + cursor_uleb(&l->at);
		break;
	case DW_RLE_offset_pair:
		ret->start = l->base + cursor_uleb(&l->at);
		ret->end = l->base + cursor_uleb(&l->at);
		break;
	case DW_RLE_start_end:
		ret->start = cursor_sized(&l->at, size);
		ret->end = cursor_sized(&l->at, size);
		break;
	case DW_RLE_start_length:
		ret->start = cursor_sized(&l->at, size);
		ret->end = ret->start + cursor_uleb(&l->at);
		break;
	default:
		return -EBADMSG;
	}
	return l->at.bad ? -EBADMSG : 1;
}

int coati_ranges_next(struct range_list *l, struct address_range *ret)
{
	const struct dwarf_file *f = l->scope->address_file;
	struct address_range range = { 0 };
	int r;

	for (;;) {
		if (l->kind == RANGES_NONE)
			return 0;
		l->steps++;
		if (l->kind == RANGES_SINGLE) {
			range = l->single;
			l->kind = RANGES_NONE;
			r = 1;
		} else {
			r = l->kind == RANGES_OLD ? next_old(l, &range) : next_new(l, &range);
		}
		if (r <= 0)
			return r;
		if (r == 1 && range.start < range.end && range.start >= f->text_start &&
		    range.start < f->text_end) {
			*ret = range;
			return 1;
		}
	}
}
