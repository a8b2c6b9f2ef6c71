/* SPDX-License-Identifier: MIT */
/*
 * Names of code that is replaced: several for one address, each with the time from which it is
 * right. The next one of the same address ends it. When two entries have the same address and time,
 * the last one counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/image.h>

#include "base/array.h"

struct version {
	uint64_t vaddr, from; /* from 0: since ever */
	const struct coati_name *names;
	uint32_t nr;
	uint32_t asked; /* COATI_RESOLVE_* that were tried for it */
	uint64_t order; /* in which they were added, when they are sorted */
};

struct versions {
	ARRAY(struct version) list;
	size_t nr_sorted; /* of the list, by address and time, one of each */
};

void coati_versions_init(struct versions *v, size_t max);
void coati_versions_fini(struct versions *v);
/* -ENOMEM. Over the ceiling it is left out, and from then on nothing is found: one that is missing
 * would make another one wrong. */
int coati_versions_add(struct versions *v, const struct version *new);
/* The one that is right at @time, NULL: none; and the time in which that is so, the last moment
 * too. */
const struct version *coati_versions_find(struct versions *v, uint64_t vaddr, uint64_t time,
					  uint64_t *ret_from, uint64_t *ret_last);
/* All of them, by address and time: in the order of coati_version_compare(), for qsort(). */
const struct version *coati_versions_all(struct versions *v, size_t *ret_nr);
int coati_version_compare(const void *a, const void *b);
