/* SPDX-License-Identifier: MIT */
/* Names that are nearly right. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Edit distance (insert, delete, replace, swap of neighbors), ASCII case ignored; anything above
 * @limit is reported as limit + 1. Names longer than 128 bytes count as limit + 1. */
size_t coati_edit_distance(const char *a, const char *b, size_t limit);

/* Keeps the best of the candidates it is shown; nothing is kept that is further away than a third
 * of the name. The strings must outlive the struct.
 *	struct nearest n = coati_nearest_to(name);
 *	for each candidate: coati_nearest_offer(&n, candidate);
 *	if (n.best) "did you mean %s?" */
struct nearest {
	const char *name;
	const char *best;
	size_t distance; /* of best; what an offer must beat */
};

struct nearest coati_nearest_to(const char *name);
void coati_nearest_offer(struct nearest *n, const char *candidate);
/* Has it a *, ? or [ ? */
bool coati_is_glob(const char *s);
/* Does the whole of @text match @pattern: * any run, ? any character, [a-z] and [!a-z] one of a
 * set; a [ that is not closed stands for itself. Time is at most the product of both lengths,
 * whatever the pattern. */
bool coati_glob_match(const char *pattern, const char *text);
