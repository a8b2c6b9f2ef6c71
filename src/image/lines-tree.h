/* SPDX-License-Identifier: MIT */
/*
 * The functions and inlined pieces of one unit that hold the wanted addresses, found in one walk
 * over its entries. Every address ends up at its innermost node; the parents of that are the frames
 * it was inlined into.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/lines-unit.h"

#define TREE_NONE      UINT32_MAX
#define TREE_DEPTH_MAX 1024
#define TREE_NODES_MAX (16u << 20)

/* One address range of a function or inlined piece, as far as it lies in one range of its
 * parent. */
struct tree_node {
	uint64_t entry; /* in .debug_info */
	uint64_t start, end;
	uint32_t parent; /* TREE_NONE: a function */
	uint32_t group;	 /* first node of the same entry */
	uint32_t call_file, call_line, call_column;
};

struct tree {
	struct tree_node *nodes;
	uint32_t nr, cap;
	uint32_t *of; /* innermost node of each address; not set up: none was asked for */
};

/* The addresses are sorted. @work is counted down; -EBADMSG when it is used up or the unit is
 * damaged: what was found until then stays in @ret. -ENOMEM. */
int coati_tree_walk(const struct scope *s, const uint64_t *vaddrs, size_t nr, uint64_t *work,
		    struct tree *ret);
void coati_tree_fini(struct tree *t);
