/* SPDX-License-Identifier: MIT */
/*
 * From the hash of a thing to its number in an array. The index keeps neither things nor keys: who
 * asks goes through the numbers with that hash and compares.
 *
 *	struct probe p = index_probe(&x, hash);
 *	while (index_next(&x, &p, &id))
 *		if (things.v[id] is the one)
 *			return id;
 *	coati_index_add(&x, hash, number of the new thing);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint32_t hash;
	uint32_t id; /* plus 1; 0: empty */
};

struct index {
	struct index_slot *slots;
	size_t len, cap; /* cap: a power of two */
	/* for the hashes: names and addresses from a file cannot be chosen to collide */
	uint64_t seed;
};

struct probe {
	size_t at;
	uint32_t hash;
};

void coati_index_init(struct index *x);
void coati_index_fini(struct index *x);
/* Forget everything; memory is kept. */
void coati_index_clear(struct index *x);
/* -ENOMEM. @id below UINT32_MAX. */
int coati_index_add(struct index *x, uint64_t hash, uint32_t id);

static inline struct probe index_probe(const struct index *x, uint64_t hash)
{
	return (struct probe){ .at = x->cap ? (uint32_t)hash & (x->cap - 1) : 0,
			       .hash = (uint32_t)hash };
}

/* The next number with that hash.  Hot. */
static inline bool index_next(const struct index *x, struct probe *p, uint32_t *ret_id)
{
	while (x->cap) {
		const struct index_slot *s = &x->slots[p->at];

		if (!s->id)
			return false;
		p->at = (p->at + 1) & (x->cap - 1);
		if (s->hash == p->hash) {
			*ret_id = s->id - 1;
			return true;
		}
	}
	return false;
}
