/* SPDX-License-Identifier: MIT */
/* see stacktree.h */
#include "format/stacktree.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/walk.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define NODES_MAX ((size_t)1 << 28)

int coati_stacktree_init(struct stacktree *t, const struct coati_profile *p)
{
	uint64_t most = coati_profile_limit(p, LIMIT_NODES);

	*t = (struct stacktree){ .nodes.max = most < NODES_MAX ? (size_t)most : NODES_MAX };
	coati_map_init(&t->index, t->nodes.max);
	t->leaf = coati_alloc_array((size_t)coati_profile_stack_count(p) + 1, sizeof(*t->leaf));
	return t->leaf ? 0 : -ENOMEM;
}

void coati_stacktree_fini(struct stacktree *t)
{
	ARRAY_FINI(&t->nodes);
	coati_map_fini(&t->index);
	coati_free(t->leaf);
	t->leaf = NULL;
}

int coati_stacktree_fail(const struct stacktree *t, const char *who, int code,
			 struct coati_error *err)
{
	if (code != -E2BIG)
		return coati_fail(err, code, "%s: %m", who);
	coati_limit_fail(err, LIMIT_NODES, t->nodes.max);
	coati_error_prefix(err, "%s: ", who);
	return code;
}

static int add_node(struct stacktree *t, uint32_t parent, uint32_t key, uint32_t *ret)
{
	uint64_t both = (uint64_t)parent << 32 | key, number;
	struct stacktree_node *node;
	int r;

	if (coati_map_get(&t->index, both, &number)) {
		*ret = (uint32_t)number;
		return 0;
	}
	if (t->nodes.len >= t->nodes.max)
		return -E2BIG;
	node = ARRAY_ADD(&t->nodes);
	if (!node)
		return -ENOMEM;
	*node = (struct stacktree_node){ .parent = parent, .key = key };
	*ret = (uint32_t)t->nodes.len - 1;
	r = coati_map_put(&t->index, both, *ret);
	return r < 0 ? r : 0;
}

int coati_stacktree_add(struct stacktree *t, const struct format_input *in, size_t sample,
			int by_function, uint32_t *ret_leaf)
{
	uint32_t *leaf = &t->leaf[in->samples[sample].stack];
	uint32_t node = STACKTREE_ROOT;
	struct coati_view_entry e;
	int r = 0;

	if (*leaf) {
		*ret_leaf = *leaf - 1;
		return 0;
	}
	/* only what the view shows is asked for */
	if (!coati_view_sample(in->view, &in->samples[sample], &e) || !e.nr_frames)
		return -EINVAL;
	for (uint32_t i = e.nr_frames; i > 0 && r == 0; i--) {
		uint32_t frame = e.frames[i - 1];

		r = add_node(t, node,
			     by_function ? coati_view_frame(in->view, frame)->function_id : frame,
			     &node);
	}
	*leaf = node + 1;
	*ret_leaf = node;
	return r;
}
