/* SPDX-License-Identifier: MIT */
/* A set of tasks that have ended, by process and number. Programs count their tasks, so a bit for
 * each is enough; a number that stands alone takes a page of bits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"

#define IDSET_PAGE_BITS 512u

struct idset_page {
	uint64_t bits[IDSET_PAGE_BITS / 64];
};

struct idset {
	struct map pages; /* by process and number / IDSET_PAGE_BITS */
	ARRAY(struct idset_page) list;
	uint64_t last_key; /* of the page that was used last */
	uint64_t last;	   /* which it is, and 1; 0: none */
};

void coati_idset_init(struct idset *s, size_t max_pages);
/* -ENOMEM; -E2BIG: too many pages. */
int coati_idset_add(struct idset *s, int32_t pid, uint64_t id);
void coati_idset_del(struct idset *s, int32_t pid, uint64_t id);
bool coati_idset_has(struct idset *s, int32_t pid, uint64_t id);
void coati_idset_fini(struct idset *s);
