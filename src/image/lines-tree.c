/* SPDX-License-Identifier: MIT */
/*
 * One pass over the bytes of a unit: entries that hold no code are stepped over without being read,
 * inlined pieces of functions without a wanted address too. Depth, nodes and steps have ceilings,
 * whatever the file says.
 */
#include "image/lines-tree.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "image/lines-dwarf.h"

#define GROUP_TOP  TREE_NONE	   /* outside of functions */
#define GROUP_DEAD (TREE_NONE - 1) /* inside of one that holds nothing wanted */

struct walk {
	const struct scope *scope;
	const struct abbrev_table *abbrevs;
	const uint64_t *vaddrs;
	size_t nr;
	uint64_t *work;
	struct tree *tree;
	uint32_t depth;
	uint32_t groups[TREE_DEPTH_MAX];
};

/* The attributes of a piece of code that matter here. */
struct piece {
	uint64_t entry;
	struct value low, high, ranges;
	uint32_t call_file, call_line, call_column;
	bool is_inline;
};

static uint32_t number32(const struct value *v)
{
	return v->kind == VALUE_NUMBER && v->number <= UINT32_MAX ? (uint32_t)v->number : 0;
}

static void read_piece(const struct walk *w, const struct abbrev *a, struct cursor *c,
		       struct piece *p)
{
	const struct abbrev_attr *attr = &w->abbrevs->attrs[a->attrs];

	for (unsigned int i = 0; i < a->nr_attrs; i++, attr++) {
		struct value v;

		switch (attr->name) {
		case DW_AT_low_pc:
			p->low = coati_scope_value(w->scope, c, attr);
			break;
		case DW_AT_high_pc:
			p->high = coati_scope_value(w->scope, c, attr);
			break;
		case DW_AT_ranges:
			p->ranges = coati_scope_value(w->scope, c, attr);
			break;
		case DW_AT_call_file:
			v = coati_scope_value(w->scope, c, attr);
			p->call_file = number32(&v);
			break;
		case DW_AT_call_line:
			v = coati_scope_value(w->scope, c, attr);
			p->call_line = number32(&v);
			break;
		case DW_AT_call_column:
			v = coati_scope_value(w->scope, c, attr);
			p->call_column = number32(&v);
			break;
		default:
			coati_step_take(&w->abbrevs->key,
					coati_form_step(&w->abbrevs->key, attr->form), c);
		}
	}
	p->is_inline = a->tag == DW_TAG_inlined_subroutine;
}

static struct tree_node *add_node(struct tree *t)
{
	struct tree_node *more;
	uint32_t cap = t->cap ? 2 * t->cap : 256;

	if (t->nr == TREE_NODES_MAX)
		return NULL;
	if (t->nr == t->cap) {
		more = coati_realloc_array(t->nodes, cap, sizeof(*more));
		if (!more)
			return NULL;
		t->nodes = more;
		t->cap = cap;
	}
	return &t->nodes[t->nr++];
}

/* Give the addresses of one range to the piece: those that belong to its parent and to no other
 * piece inside of that yet. */
static int claim_range(struct walk *w, const struct piece *p, const struct address_range *range,
		       uint32_t group)
{
	struct tree *t = w->tree;
	uint32_t parent = w->groups[w->depth], made = TREE_NONE;
	size_t i = first_at_or_above(w->vaddrs, w->nr, range->start);

	for (; i < w->nr && w->vaddrs[i] < range->end; i++) {
		uint32_t have = t->of[i];
		struct tree_node *n;

		if (*w->work)
			--*w->work;
		if (p->is_inline ? have == TREE_NONE || t->nodes[have].group != parent
				 : have != TREE_NONE)
			continue;
		if (made == TREE_NONE || t->nodes[made].parent != have) {
			n = add_node(t);
			if (!n)
				return -ENOMEM;
			*n = (struct tree_node){ .entry = p->entry,
						 .start = range->start,
						 .end = range->end,
						 .parent = have,
						 .group = group,
						 .call_file = p->call_file,
						 .call_line = p->call_line,
						 .call_column = p->call_column };
			made = t->nr - 1;
		}
		t->of[i] = made;
	}
	return 0;
}

/* The group that the children of the piece belong to. */
static int claim(struct walk *w, const struct piece *p, uint32_t *ret_group)
{
	struct range_list list = coati_ranges_begin(w->scope, &p->low, &p->high, &p->ranges);
	uint32_t group = w->tree->nr;
	struct address_range range;
	int r, e = 0;

	while ((r = coati_ranges_next(&list, &range)) > 0 && e == 0)
		e = claim_range(w, p, &range, group);
	*w->work -= list.steps < *w->work ? list.steps : *w->work;
	*ret_group = w->tree->nr > group ? group : GROUP_DEAD;
	if (e < 0)
		return e;
	return *w->work ? r : -EBADMSG;
}

/* One entry; moves @c behind it. 0, or what ends the walk. */
static int walk_entry(struct walk *w, const struct abbrev *a, uint64_t entry, struct cursor *c)
{
	uint32_t group = w->groups[w->depth];
	int r = 0;

	if (a->has_code && (a->tag == DW_TAG_subprogram || group < GROUP_DEAD)) {
		struct piece p = { .entry = entry };

		read_piece(w, a, c, &p);
		if (!c->bad)
			r = claim(w, &p, &group);
	} else {
		abbrev_skip(w->abbrevs, a, c);
	}
	if (a->has_children) {
		if (w->depth + 1 == TREE_DEPTH_MAX)
			return -EBADMSG;
		w->groups[++w->depth] = group;
	}
	return r;
}

static int walk_unit(struct walk *w)
{
	struct cursor c = scope_cursor(w->scope, w->scope->unit->first);
	const uint8_t *section = w->scope->file->sections[SECTION_INFO].at;
	bool damaged = false;

	do {
		uint64_t entry = (uint64_t)(c.at - section);
		uint64_t code = cursor_uleb(&c);
		const struct abbrev *a;
		int r;

		if (!code) {
			w->depth -= w->depth > 0;
			continue;
		}
		a = abbrev_find(w->abbrevs, code);
		r = a ? walk_entry(w, a, entry, &c) : -EBADMSG;
		/* a list of ranges that is damaged harms its own entry alone */
		damaged |= r == -EBADMSG;
		if (r == -ENOMEM || !a || !*w->work || w->depth + 1 == TREE_DEPTH_MAX)
			return r < 0 ? r : -EBADMSG;
	} while (w->depth && !c.bad);
	return c.bad || damaged ? -EBADMSG : 0;
}

int coati_tree_walk(const struct scope *s, const uint64_t *vaddrs, size_t nr, uint64_t *work,
		    struct tree *ret)
{
	struct walk *w = coati_alloc(sizeof(*w));
	int r;

	ret->of = coati_alloc_array(nr, sizeof(*ret->of));
	if (!w || !ret->of) {
		coati_free(w);
		return -ENOMEM;
	}
	memset(ret->of, 0xff, nr * sizeof(*ret->of));
	*w = (struct walk){ .scope = s, .vaddrs = vaddrs, .nr = nr, .work = work, .tree = ret };
	w->groups[0] = GROUP_TOP;
	r = coati_scope_abbrevs(s, &w->abbrevs);
	if (r == 0)
		r = walk_unit(w);
	coati_free(w);
	return r;
}

void coati_tree_fini(struct tree *t)
{
	coati_free(t->nodes);
	coati_free(t->of);
	*t = (struct tree){ 0 };
}
