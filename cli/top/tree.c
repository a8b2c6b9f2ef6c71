/* SPDX-License-Identifier: MIT */
/* see tree.h */
#include "cli/top/tree.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define NODES_MAX ((size_t)1 << 22)

struct builder {
	const struct top_model *m;
	struct top_tree *tree;
	struct index index; /* of nodes by parent and function */
};

static int find_child(struct builder *b, uint32_t parent, uint32_t function, uint32_t *ret)
{
	uint64_t hash = coati_hash_u64((uint64_t)parent << 32 | function, b->index.seed);
	struct probe probe = index_probe(&b->index, hash);
	struct top_node *n;

	while (index_next(&b->index, &probe, ret)) {
		n = &b->tree->nodes.v[*ret];
		if (n->parent == parent && n->function == function)
			return 0;
	}
	n = ARRAY_ADD(&b->tree->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct top_node){ .function = function,
				.parent = parent,
				.first_child = TOP_NONE,
				.next_sibling = TOP_NONE,
				.depth = b->tree->nodes.v[parent].depth + 1 };
	*ret = (uint32_t)b->tree->nodes.len - 1;
	return coati_index_add(&b->index, hash, *ret);
}

/* Frames of a stack from @first on, @step further each time, @nr of them. */
struct path {
	const uint32_t *frames;
	uint32_t first, nr;
	int step;
};

static int add_path(struct builder *b, const struct path *p, uint64_t weight)
{
	uint32_t node = 0;
	int r = 0;

	b->tree->nodes.v[0].total += weight;
	for (uint32_t i = 0; i < p->nr && r == 0; i++) {
		uint32_t at = p->step > 0 ? p->first + i : p->first - i;

		r = find_child(b, node, p->frames[at], &node);
		if (r == 0)
			b->tree->nodes.v[node].total += weight;
	}
	if (r == 0)
		b->tree->nodes.v[node].self += weight;
	return r;
}

static bool is_picked(const struct top_model *m, const struct top_pick *p, uint32_t function)
{
	const struct top_function *f = &m->functions.v[function];

	return !strcmp(f->name, p->name) && !strcmp(f->path, p->path);
}

/* Callees begin at the outermost frame of the function, callers at the innermost. */
static int add_stack(struct builder *b, const struct top_stack *s, const struct top_pick *p,
		     enum top_tree_kind kind, uint64_t weight)
{
	bool up = kind == TOP_TREE_UP;
	struct path path = { .frames = s->frames, .step = up ? 1 : -1 };
	uint32_t skip = 0;

	if (!s->nr)
		return 0;
	if (p && p->is_on && p->by == TOP_BY_FUNCTION)
		while (skip + 1 < s->nr &&
		       !is_picked(b->m, p, s->frames[up ? skip : s->nr - 1 - skip]))
			skip++;
	path.first = up ? skip : s->nr - 1 - skip;
	path.nr = s->nr - skip;
	return add_path(b, &path, weight);
}

/* Into the list of its parent, behind those that weigh more. */
static void put_in_line(struct top_tree *t, uint32_t number)
{
	struct top_node *n = &t->nodes.v[number];
	uint32_t *link = &t->nodes.v[n->parent].first_child;

	while (*link != TOP_NONE && t->nodes.v[*link].total >= n->total)
		link = &t->nodes.v[*link].next_sibling;
	n->next_sibling = *link;
	*link = number;
}

int coati_top_tree(const struct top_model *m, const struct top_query *q, enum top_tree_kind kind,
		   struct top_tree *ret)
{
	struct builder b = { .m = m, .tree = ret };
	CLEANUP(freep) struct top_weight *weights = NULL;
	struct top_node *root;
	int r = coati_top_stack_weights(m, q, &weights);

	*ret = (struct top_tree){ .nodes = ARRAY_INIT(NODES_MAX) };
	root = ARRAY_ADD(&ret->nodes);
	if (r < 0 || !root)
		return -ENOMEM;
	*root = (struct top_node){ .function = TOP_NONE,
				   .parent = TOP_NONE,
				   .first_child = TOP_NONE,
				   .next_sibling = TOP_NONE };
	coati_index_init(&b.index);
	for (uint32_t i = 0; r == 0 && i < m->stacks.len; i++)
		if (weights[i].weight)
			r = add_stack(&b, &m->stacks.v[i], q->pick, kind, weights[i].weight);
	coati_index_fini(&b.index);
	for (uint32_t i = 1; r == 0 && i < ret->nodes.len; i++)
		put_in_line(ret, i);
	return r;
}

void coati_top_tree_fini(struct top_tree *t)
{
	ARRAY_FINI(&t->nodes);
}
