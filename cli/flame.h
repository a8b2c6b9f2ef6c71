/* SPDX-License-Identifier: MIT */
/* The page with flame graphs: trees as JSON, names written once, and the page around them. One
 * file, no network, nothing beside it. */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "base/map.h"
#include "cli/report/args.h"

#define FLAME_NODES_MAX 200000 /* a page with more frames is of no use */

/* A tree and the view that its frames are of. */
struct flame_tree {
	const struct coati_view *view;
	const struct coati_tree_node *nodes;
	size_t nr;
};

/* The names of functions and of files in all trees, numbered in the order in which they come. */
struct flame_names {
	struct map names, images;
};

/* Writes the members "names" and "images". 0 or -ENOMEM. */
int coati_flame_names(struct flame_names *n, struct json *j, const struct flame_tree *trees,
		      size_t nr_trees);
void coati_flame_names_fini(struct flame_names *n);
/* The number of a name that is in a tree; and of the file of a node. */
uint64_t coati_flame_name(const struct flame_names *n, const char *name);
uint64_t coati_flame_image(const struct flame_names *n, const struct flame_tree *t, size_t node);

/* More of a node than [parent, name, image, self, total, is kernel]: further members of its
 * array. */
typedef void (*flame_more_fn)(void *ctx, struct json *j, size_t node);
/* Writes the member "nodes". @more may be NULL. */
void coati_flame_nodes(const struct flame_names *n, struct json *j, const struct flame_tree *t,
		       flame_more_fn more, void *ctx);
/* How many of them go into a page: a parent comes before its children, so what is left out at the
 * end is missed by nothing in front of it. A message says that something is left out. */
size_t coati_flame_limit(size_t nr);
/* Write the page with @data in it. The exit code. */
int coati_flame_write(const char *path, const struct strbuf *data);
