/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree from the outermost frame on, as Firefox and Chrome want them: each node is its
 * parent and a key (a frame, or a function). Parents have smaller numbers than their children.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "format/format.h"

#define STACKTREE_ROOT UINT32_MAX

struct stacktree_node {
	uint32_t parent; /* STACKTREE_ROOT: none */
	uint32_t key;
};

struct stacktree {
	ARRAY(struct stacktree_node) nodes;
	uint32_t *leaf; /* by stack of the profile, plus 1; 0: not asked for yet */
	struct map index;
};

int coati_stacktree_init(struct stacktree *t, const struct coati_profile *p);
void coati_stacktree_fini(struct stacktree *t);
/* Why a writer failed: its name, and what is in @code; too many nodes are reported with their
 * limit. */
int coati_stacktree_fail(const struct stacktree *t, const char *who, int code,
			 struct coati_error *err);
/* The node of the innermost frame of @sample, whose frames @e has. @by_function: keys are functions
 * of the view, else its frames. -ENOMEM, -E2BIG. */
int coati_stacktree_add(struct stacktree *t, const struct format_input *in, size_t sample,
			int by_function, uint32_t *ret_leaf);
