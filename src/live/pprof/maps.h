/* SPDX-License-Identifier: MIT */
/* The code that is mapped into this process as it is now: which file an address belongs to, and what the function there is called. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "live/sampler/sampler.h"

struct live_mapping {
	uint64_t start, end, offset;
	const char *path;  /* as /proc has it; "" for what is no file */
	char build_id[41]; /* in hexadecimal, "" when there is none */
	bool names_tried;  /* they are read when the first one is asked for */
	struct sampler_names names;
};

/* Ascending, executable ones alone. */
struct live_maps {
	struct live_mapping *list;
	uint32_t len, cap;
	struct arena texts;
};

/* -ENOMEM, or why /proc/self/maps cannot be read. After an error there is nothing to end. */
int coati_maps_open(struct live_maps *m);
void coati_maps_close(struct live_maps *m);
/* NULL when no code is at @addr. */
struct live_mapping *coati_maps_find(const struct live_maps *m, uint64_t addr);
/* The function at @addr in @mapping and how far into it; NULL when none is known. Lives until coati_maps_close(). */
const char *coati_mapping_name(struct live_mapping *mapping, uint64_t addr, uint64_t *ret_into);
