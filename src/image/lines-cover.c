/* SPDX-License-Identifier: MIT */
/* Compilers differ in what they write: gcc lists every unit, clang none, and programs are linked
 * from both. */
#include "image/lines-cover.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/lines-dwarf.h"
#include "image/lines-unit.h"

struct cover {
	struct dwarf_file *f;
	const uint64_t *vaddrs;
	size_t nr, left; /* all, and those without an owner */
	uint64_t *work;
	uint64_t *width; /* of the range that gave the owner */
	uint32_t *owner;
	bool *listed; /* units that .debug_aranges has */
};

static void claim(struct cover *v, uint32_t unit, uint64_t start, uint64_t end)
{
	size_t lo = first_at_or_above(v->vaddrs, v->nr, start);

	for (; lo < v->nr && v->vaddrs[lo] < end && *v->work; lo++) {
		--*v->work;
		if (v->owner[lo] != COVER_NONE && v->width[lo] <= end - start)
			continue;
		v->left -= v->owner[lo] == COVER_NONE;
		v->owner[lo] = unit;
		v->width[lo] = end - start;
	}
}

/* The pairs of one set behind its header. */
static bool read_pairs(struct cover *v, uint32_t unit, unsigned int address_size, struct cursor *c)
{
	while (cursor_left(c)) {
		uint64_t start = cursor_sized(c, address_size);
		uint64_t size = cursor_sized(c, address_size);

		if (c->bad)
			return false;
		if (!start && !size)
			return true;
		if (size && start >= v->f->text_start && start < v->f->text_end &&
		    start + size > start)
			claim(v, unit, start, start + size);
	}
	return true;
}

/* One set of .debug_aranges; moves @c behind it. */
static bool read_set(struct cover *v, struct cursor *c)
{
	const uint8_t *begin = c->at;
	uint8_t offset_size, address_size;
	uint64_t length = cursor_length(c, &offset_size), offset;
	struct cursor body = cursor_sub(c, length);
	const struct dwarf_unit *u;
	uint16_t version = cursor_u16(&body);
	size_t pad;

	offset = cursor_sized(&body, offset_size);
	address_size = cursor_u8(&body);
	cursor_skip(&body, 1); /* size of segment selectors */
	if (body.bad)
		return false;
	if (version != 2 || (address_size != 8 && address_size != 4))
		return true;
	pad = (size_t)(body.at - begin) % (2u * address_size);
	cursor_skip(&body, pad ? 2u * address_size - pad : 0);
	u = coati_dwarf_unit_from(v->f, offset);
	if (!u || !read_pairs(v, (uint32_t)(u - v->f->units), address_size, &body))
		return false;
	v->listed[u - v->f->units] = true;
	return true;
}

static int cover_unit(struct cover *v, uint32_t unit)
{
	struct value low = { .kind = VALUE_NONE };
	struct address_range range;
	struct range_list list;
	struct scope s;
	int r = coati_scope_init(&s, v->f, &v->f->units[unit]);

	if (r < 0)
		return r;
	if (s.has_low_pc)
		low = (struct value){ .kind = VALUE_ADDRESS, .number = s.low_pc };
	list = coati_ranges_begin(&s, &low, &s.high_pc, &s.ranges);
	while ((r = coati_ranges_next(&list, &range)) > 0)
		claim(v, unit, range.start, range.end);
	*v->work -= list.steps < *v->work ? list.steps : *v->work;
	return r;
}

static int cover_all(struct cover *v, bool *ret_damaged)
{
	struct cursor c = dwarf_cursor(v->f, SECTION_ARANGES, 0);
	const struct dwarf_unit *u = v->f->units;

	while (!c.bad && cursor_left(&c))
		if (!read_set(v, &c))
			*ret_damaged = true;
	for (uint32_t i = 0; i < v->f->nr_units && v->left && *v->work; i++, u++) {
		int r;

		if (v->listed[i] || !u->version ||
		    (u->type != DW_UT_compile && u->type != DW_UT_skeleton))
			continue;
		r = cover_unit(v, i);
		if (r == -ENOMEM)
			return r;
		*ret_damaged |= r < 0;
	}
	*ret_damaged |= !*v->work;
	return 0;
}

int coati_cover(struct dwarf_file *f, const uint64_t *vaddrs, size_t nr, uint64_t *work,
		uint32_t *owner)
{
	CLEANUP(freep) uint64_t *width = coati_alloc_array(nr, sizeof(*width));
	CLEANUP(freep) bool *listed = coati_alloc_array(f->nr_units, sizeof(*listed));
	struct cover v = { .f = f,
			   .vaddrs = vaddrs,
			   .nr = nr,
			   .left = nr,
			   .work = work,
			   .width = width,
			   .owner = owner,
			   .listed = listed };
	bool damaged = false;
	int r;

	if (!width || !listed)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		owner[i] = COVER_NONE;
	r = cover_all(&v, &damaged);
	return r < 0 ? r : damaged;
}
