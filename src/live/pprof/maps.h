/* SPDX-License-Identifier: MIT */
/* The code that is mapped into this process as it is now: which file an address belongs to, and
 * what the function there is called. */
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

/* By /proc/self/maps, or by the loader alone where that cannot be read. -ENOMEM, or why not; after
 * an error there is nothing to end. */
int coati_maps_open(struct live_maps *m);
void coati_maps_close(struct live_maps *m);
/* NULL when no code is at @addr. */
struct live_mapping *coati_maps_find(const struct live_maps *m, uint64_t addr);
/* The function at @addr in @mapping and how far into it: by the symbol table of its file, when that
 * is the one that is loaded, or else by the dynamic table in memory; NULL when none is known. Lives
 * until coati_maps_close(). */
const char *coati_maps_name(struct live_maps *m, struct live_mapping *mapping, uint64_t addr,
			    uint64_t *ret_into);
/* Hexadecimal digits of @size bytes, at most 20, and a zero. */
void coati_build_id_text(const uint8_t *id, size_t size, char *ret);

/* loaded.c */
/* What the loader has; where it may be asked. 0 or -ENOMEM. */
int coati_maps_loaded(struct live_maps *m);
/* The function at @addr by the dynamic table of its object in memory. False: none is known. */
bool coati_loaded_name(uint64_t addr, char *name, size_t size, uint64_t *ret_into);
