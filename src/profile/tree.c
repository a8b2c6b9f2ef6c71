/* SPDX-License-Identifier: MIT */
/*
 * Trees. Every stack is a path; paths that begin alike share nodes. A node is found by its parent
 * and its key; the list of children of each is made at the end, when the weights are known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/sized.h"
#include "profile/view.h"
#include "reading/parts.h"

#define NODES_MAX ((size_t)1 << 27)

/* What a node is, besides the number of its key. */
#define KEY_FRAME   (UINT64_C(0) << 32)
#define KEY_THREAD  (UINT64_C(1) << 62)
#define KEY_PROCESS (UINT64_C(1) << 63)

struct tree {
	struct coati_view *view;
	struct coati_tree_query query;
	const struct keys *keys;
	bool *starts; /* by function: paths start there; NULL: anywhere */
	ARRAY(struct coati_tree_node) nodes;
	ARRAY(uint64_t) node_keys;
	struct index index;
};

/* The child of @parent with that key. New ones have *ret_is_new set and lack name and frame. */
static int find_child(struct tree *t, uint32_t parent, uint64_t key, uint32_t *ret,
		      bool *ret_is_new)
{
	uint64_t hash = coati_hash_u64(key, coati_hash_u64(parent, t->index.seed));
	struct probe probe = index_probe(&t->index, hash);
	struct coati_tree_node *node;
	uint64_t *slot;

	*ret_is_new = false;
	while (index_next(&t->index, &probe, ret))
		if (t->nodes.v[*ret].parent == parent && t->node_keys.v[*ret] == key)
			return 0;
	slot = ARRAY_ADD(&t->node_keys);
	node = slot ? ARRAY_ADD(&t->nodes) : NULL;
	if (!node)
		return t->nodes.len >= t->nodes.max ? -E2BIG : -ENOMEM;
	*slot = key;
	*node = (struct coati_tree_node){ .parent = parent,
					  .frame = VIEW_NONE,
					  .first_child = VIEW_NONE,
					  .next_sibling = VIEW_NONE };
	if (parent != VIEW_NONE)
		node->depth = t->nodes.v[parent].depth + 1;
	*ret = (uint32_t)t->nodes.len - 1;
	*ret_is_new = true;
	return coati_index_add(&t->index, hash, *ret);
}

static void add_to_node(struct tree *t, uint32_t node, uint64_t weight, uint64_t count)
{
	add_weight(&t->nodes.v[node].total, weight);
	add_weight(&t->nodes.v[node].total_count, count);
}

/* One step of a path. */
static int step(struct tree *t, uint32_t frame, uint32_t *node)
{
	struct coati_tree_node *n;
	uint32_t child;
	bool is_new;
	int r = find_child(t, *node, KEY_FRAME | t->keys->of_frame[frame], &child, &is_new);

	if (r < 0)
		return r;
	n = &t->nodes.v[child];
	if (is_new) {
		n->frame = frame;
		n->flags = t->view->frames.v[frame].flags;
		n->name = coati_view_key_name(t->view, t->query.by, frame);
		if (!n->name)
			return -ENOMEM;
	}
	*node = child;
	return 0;
}

/* From where to where a stack is in the tree: frames[*from] is the first, then one by one (*step)
 * up to before frames[*to]. false: it is not. */
static bool find_path(const struct tree *t, const struct view_stack *s, int64_t *from, int64_t *to,
		      int64_t *direction)
{
	bool down = t->query.kind == COATI_TREE_DOWN;
	int64_t i = down ? (int64_t)s->nr - 1 : 0;

	*direction = down ? -1 : 1;
	*to = down ? -1 : (int64_t)s->nr;
	if (t->starts)
		while (i != *to && !t->starts[t->view->frames.v[s->frames[i]].function_id])
			i += *direction;
	*from = i;
	return i != *to;
}

/* The frames of a stack below @node. */
static int add_path(struct tree *t, const struct view_stack *s, uint32_t node, uint64_t weight,
		    uint64_t count)
{
	uint64_t last = UINT64_MAX;
	int64_t i, to, direction;
	int r;

	if (!find_path(t, s, &i, &to, &direction))
		return 0;
	for (uint32_t up = node; up != VIEW_NONE; up = t->nodes.v[up].parent)
		add_to_node(t, up, weight, count);
	for (; i != to; i += direction) {
		uint64_t key = t->keys->of_frame[s->frames[i]];

		/* an image that calls itself is still one image */
		if (key == last && t->query.by == COATI_BY_IMAGE)
			continue;
		if (key == last && t->query.flags & COATI_TREE_FOLD) {
			t->nodes.v[node].flags |= COATI_NODE_FOLDED;
			continue;
		}
		last = key;
		if (t->query.max_depth && t->nodes.v[node].depth >= t->query.max_depth)
			break;
		r = step(t, s->frames[i], &node);
		if (r < 0)
			return r;
		add_to_node(t, node, weight, count);
	}
	add_weight(&t->nodes.v[node].self, weight);
	add_weight(&t->nodes.v[node].self_count, count);
	return 0;
}

/* A level of threads or processes above the frames. */
static int add_level(struct tree *t, uint64_t key, const char *name, uint32_t *node)
{
	uint32_t child;
	bool is_new;
	int r = find_child(t, *node, key, &child, &is_new);

	if (r < 0)
		return r;
	if (is_new)
		t->nodes.v[child].name = name;
	*node = child;
	return 0;
}

static int add_process(struct tree *t, uint32_t thread, uint32_t *node)
{
	const struct coati_profile_thread *of = &t->view->profile->threads.v[thread];
	const char *const *names = coati_view_process_names(t->view);

	return names ? add_level(t, KEY_PROCESS | (uint64_t)of->file << 32 | of->process,
				 names[thread], node)
		     : -ENOMEM;
}

static int add_entry(struct tree *t, const struct coati_profile_entry *e)
{
	struct coati_view *v = t->view;
	const struct coati_profile_thread *thread = &v->profile->threads.v[e->thread];
	const struct view_stack *s = &v->stacks[e->stack];
	int64_t from, to, direction;
	uint32_t node = 0;
	int r = 0;

	if (!find_path(t, s, &from, &to, &direction))
		return 0;
	if (t->query.flags & COATI_TREE_BY_PROCESS)
		r = add_process(t, e->thread, &node);
	if (r == 0 && t->query.flags & COATI_TREE_BY_THREAD)
		r = add_level(t, KEY_THREAD | e->thread, thread->comm, &node);
	return r < 0 ? r : add_path(t, s, node, view_weight(v, e), e->count);
}

static int add_all(struct tree *t)
{
	struct coati_view *v = t->view;
	const struct coati_profile *p = v->profile;
	bool levels = t->query.flags & (COATI_TREE_BY_PROCESS | COATI_TREE_BY_THREAD);
	uint32_t root;
	bool is_new;
	int r = find_child(t, VIEW_NONE, 0, &root, &is_new);

	if (r < 0)
		return r;
	t->nodes.v[0].name = "all";
	for (size_t i = 0; levels && i < p->entries.len && r == 0; i++)
		if (v->entry_is_in[i])
			r = add_entry(t, &p->entries.v[i]);
	for (size_t i = 0; !levels && i < p->stacks.len && r == 0; i++)
		if (view_stack_counts(&v->stacks[i]))
			r = add_path(t, &v->stacks[i], 0, v->stacks[i].weight, v->stacks[i].count);
	return r;
}

/* Sorted such that the children of one parent stand together, the lightest first: linking them in
 * this order puts the heaviest in front. */
static int by_parent(const void *a, const void *b, void *ctx)
{
	const struct coati_tree_node *nodes = ctx;
	const struct coati_tree_node *x = &nodes[*(const uint32_t *)a];
	const struct coati_tree_node *y = &nodes[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return -strcmp(x->name, y->name);
}

static int link_children(struct tree *t)
{
	CLEANUP(freep) uint32_t *order = coati_alloc_array(t->nodes.len, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < t->nodes.len; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, t->nodes.len, sizeof(*order), by_parent, t->nodes.v);
	for (size_t i = 0; i < t->nodes.len; i++) {
		struct coati_tree_node *n = &t->nodes.v[order[i]];

		if (n->parent == VIEW_NONE)
			continue;
		n->next_sibling = t->nodes.v[n->parent].first_child;
		t->nodes.v[n->parent].first_child = order[i];
	}
	return 0;
}

static int build(struct tree *t)
{
	int r = coati_view_keys(t->view, t->query.by, &t->keys);

	if (r == 0)
		r = coati_view_functions(t->view, t->query.function, &t->starts);
	if (r == 0)
		r = add_all(t);
	return r < 0 ? r : link_children(t);
}

static size_t nodes_most(const struct coati_profile *p)
{
	uint64_t most = coati_profile_limit(p, LIMIT_NODES);

	return most < NODES_MAX ? (size_t)most : NODES_MAX;
}

int coati_view_tree(struct coati_view *v, const struct coati_tree_query *query,
		    const struct coati_tree_node **ret, size_t *ret_nr, struct coati_error *err)
{
	struct tree t = { .view = v };
	void **slot;
	int r = v && ret && ret_nr ? SIZED_COPY(&t.query, query) : -EINVAL;

	if (r < 0 || t.query.by > COATI_BY_IMAGE)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "a tree is of functions, lines, addresses or images");
	t.nodes.max = t.node_keys.max = nodes_most(v->profile);
	coati_index_init(&t.index);
	r = build(&t);
	coati_free(t.starts);
	coati_index_fini(&t.index);
	ARRAY_FINI(&t.node_keys);
	slot = r == 0 ? ARRAY_ADD(&v->owned) : NULL;
	if (!slot) {
		ARRAY_FINI(&t.nodes);
		if (r == -E2BIG)
			return coati_limit_fail(err, LIMIT_NODES, t.nodes.max);
		return coati_fail(err, r < 0 ? r : -ENOMEM, "%m");
	}
	*slot = t.nodes.v;
	*ret = t.nodes.v;
	*ret_nr = t.nodes.len;
	return 0;
}
