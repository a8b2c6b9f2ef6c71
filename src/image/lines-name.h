/* SPDX-License-Identifier: MIT */
/*
 * The name of a function by its entry: an inlined piece or a member function keeps it elsewhere,
 * sometimes in another unit or in the file that dwz shares, and the way there is followed for a few
 * steps.
 */
#pragma once

#include <stdint.h>

#include "image/lines-unit.h"

#define NAMER_SLOTS 16

struct entry_name {
	const char *function; /* linkage name, else the plain one, else NULL */
	uint32_t decl_line;
};

/* Zero and set @home before use. */
struct namer {
	const struct scope *home;
	struct scope others[NAMER_SLOTS]; /* units that names led to */
};

/* Counts @work down. 0, also when there is no name; -ENOMEM. */
int coati_namer_get(struct namer *n, uint64_t entry, uint64_t *work, struct entry_name *ret);
