/* SPDX-License-Identifier: MIT */
/* From entry to entry, at most HOPS_MAX of them: a ring of references ends there as well. */
#include "image/lines-name.h"

#include <errno.h>

#include "base/leb128.h"
#include "base/map.h"
#include "image/lines-dwarf.h"

#define HOPS_MAX 16

/* What one entry says, and who says more. */
struct entry {
	const char *name, *linkage;
	uint32_t decl_line;
	struct value next;
};

static int read_entry(const struct scope *s, uint64_t offset, struct entry *ret)
{
	struct cursor c = scope_cursor(s, offset);
	const struct abbrev_table *t;
	const struct abbrev *a;
	int r = coati_scope_abbrevs(s, &t);

	if (r < 0)
		return r;
	a = abbrev_find(t, cursor_uleb(&c));
	if (!a || c.bad)
		return -EBADMSG;
	for (unsigned int i = 0; i < a->nr_attrs && !c.bad; i++) {
		const struct abbrev_attr *attr = &t->attrs[a->attrs + i];
		struct value v = coati_scope_value(s, &c, attr);

		if (attr->name == DW_AT_name)
			ret->name = v.text;
		else if (attr->name == DW_AT_linkage_name || attr->name == DW_AT_MIPS_linkage_name)
			ret->linkage = v.text;
		else if (attr->name == DW_AT_decl_line && v.kind == VALUE_NUMBER)
			ret->decl_line = (uint32_t)v.number;
		else if (attr->name == DW_AT_abstract_origin || attr->name == DW_AT_specification)
			ret->next = v;
	}
	return c.bad ? -EBADMSG : 0;
}

/* The scope for an entry of @file; NULL and *ret_error 0: none holds it. */
static const struct scope *scope_for(struct namer *n, struct dwarf_file *file, uint64_t offset,
				     int *ret_error)
{
	const struct dwarf_unit *u;
	struct scope *slot;

	if (file == n->home->file && offset >= n->home->unit->first && offset < n->home->unit->end)
		return n->home;
	u = file ? coati_dwarf_unit_at(file, offset) : NULL;
	if (!u)
		return NULL;
	slot = &n->others[coati_hash_u64(u->start, 0) % NAMER_SLOTS];
	if (slot->unit != u) {
		int r = coati_scope_init(slot, file, u);

		if (r < 0) {
			*slot = (struct scope){ 0 };
			*ret_error = r;
			return NULL;
		}
	}
	return slot;
}

int coati_namer_get(struct namer *n, uint64_t entry, uint64_t *work, struct entry_name *ret)
{
	struct dwarf_file *file = n->home->file;
	const char *plain = NULL;

	*ret = (struct entry_name){ 0 };
	for (int hop = 0; hop < HOPS_MAX && *work; hop++) {
		struct entry e = { 0 };
		int r = 0;
		const struct scope *s = scope_for(n, file, entry, &r);

		--*work;
		if (s)
			r = read_entry(s, entry, &e);
		if (r == -ENOMEM)
			return r;
		if (!ret->function)
			ret->function = e.linkage;
		if (!plain)
			plain = e.name;
		if (!ret->decl_line)
			ret->decl_line = e.decl_line;
		if (!s || r < 0 || (ret->function && ret->decl_line) ||
		    (e.next.kind != VALUE_ENTRY && e.next.kind != VALUE_ENTRY_ALT))
			break;
		entry = e.next.number;
		if (e.next.kind == VALUE_ENTRY_ALT)
			file = file->alt;
	}
	if (!ret->function)
		ret->function = plain;
	return 0;
}
