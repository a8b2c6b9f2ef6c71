/* SPDX-License-Identifier: MIT */
/* Trees of a report: top down, callers, callees, as indented text or JSON, and as a flame graph of
 * text. Each gives the exit code. */
#pragma once

#include "cli/report/args.h"

/* @kind and @function as in struct coati_tree_query. */
int coati_report_tree(struct report *r, enum coati_tree_kind kind, const char *function);
int coati_report_flame(struct report *r);

/* The nodes for other forms of them; NULL and said when it failed. */
const struct coati_tree_node *coati_report_nodes(struct report *r, enum coati_tree_kind kind,
						 const char *function, size_t *ret_nr);
