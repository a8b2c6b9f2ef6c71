/* SPDX-License-Identifier: MIT */
/*
 * Hash maps with a ceiling. One kind: a 64-bit key (or the bytes of a string) to a 64-bit value or
 * pointer. Open addressing, no tombstones (backward shift), seeded hash, so that names from a file
 * cannot be chosen to collide.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t len, cap, max;
	uint64_t seed;
	bool strings; /* keys are terminated strings that the caller keeps alive */
};

void coati_map_init(struct map *m, size_t max_entries);
void coati_map_init_strings(struct map *m, size_t max_entries);
void coati_map_fini(struct map *m);
/* 1 added, 0 it was there and its value is replaced, -ENOMEM, -E2BIG over the ceiling. */
int coati_map_put(struct map *m, uint64_t key, uint64_t value);
bool coati_map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
bool coati_map_del(struct map *m, uint64_t key);
/* The same for maps of strings. A key that was there keeps its old address. */
int coati_map_put_str(struct map *m, const char *key, uint64_t value);
bool coati_map_get_str(const struct map *m, const char *key, uint64_t *ret_value);
/* Every entry in slot order: start with *pos = 0; false at the end. Not across changes. */
bool coati_map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value);

/* The hash itself: fast, well mixed, keyed. */
uint64_t coati_hash_bytes(const void *p, size_t len, uint64_t seed);
uint64_t coati_hash_u64(uint64_t x, uint64_t seed);
