/* SPDX-License-Identifier: MIT */
/* Call trees over some seconds of the model: from the roots down, or of one function up or down. */
#pragma once

#include "cli/top/rows.h"

struct top_node {
	uint32_t function;			    /* TOP_NONE: the root */
	uint32_t parent, first_child, next_sibling; /* TOP_NONE: none; siblings by weight */
	uint32_t depth;
	uint64_t self, total;
};

struct top_tree {
	ARRAY(struct top_node) nodes; /* 0 is the root; parents come before their children */
};

enum top_tree_kind {
	TOP_TREE_DOWN = 0, /* whole stacks; of a picked function: what it calls */
	TOP_TREE_UP,	   /* of a picked function: who calls it; else from the innermost frame */
};

/* Of the entries that @q picks. A picked function is the node below the root. -ENOMEM. */
int coati_top_tree(const struct top_model *m, const struct top_query *q, enum top_tree_kind kind,
		   struct top_tree *ret);
void coati_top_tree_fini(struct top_tree *t);
