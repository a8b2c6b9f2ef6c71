/* SPDX-License-Identifier: MIT */
/* Chains are kept in an arena, found by a hash of all their words, and compared word by word. */
#include "reading/chain.h"

#include <string.h>

#include "base/map.h"

/* More would cost more memory than they save time: what falls out is found by its addresses. */
#define CHAINS_MAX  ((size_t)1 << 16)
#define WORDS_BYTES ((size_t)8 << 20)

void coati_chains_init(struct chains *c)
{
	*c = (struct chains){ .list.max = CHAINS_MAX };
	coati_index_init(&c->index);
	coati_arena_init(&c->words, WORDS_BYTES);
}

void coati_chains_fini(struct chains *c)
{
	ARRAY_FINI(&c->list);
	coati_index_fini(&c->index);
	coati_arena_fini(&c->words);
}

void coati_chains_clear(struct chains *c)
{
	c->list.len = 0;
	c->generation++;
	coati_index_clear(&c->index);
	coati_arena_fini(&c->words);
}

uint64_t coati_chains_hash(const struct chains *c, const struct chain_key *key)
{
	return chains_hash(c, key);
}

static inline bool same_key(const struct chain_key *a, const struct chain_key *b)
{
	return a->nr == b->nr && a->mode == b->mode && a->space == b->space && a->leaf == b->leaf &&
	       a->kernel == b->kernel && !memcmp(a->words, b->words, a->nr * sizeof(*a->words));
}

struct chain *coati_chains_find(struct chains *c, const struct chain_key *key, uint64_t hash,
				uint32_t likely)
{
	struct probe probe = index_probe(&c->index, hash);
	uint32_t id;

	if (likely < c->list.len && c->list.v[likely].hash == hash &&
	    same_key(&c->list.v[likely].key, key))
		return &c->list.v[likely];
	while (index_next(&c->index, &probe, &id)) {
		struct chain *old = &c->list.v[id];

		if (old->hash == hash && same_key(&old->key, key))
			return old;
	}
	return NULL;
}

struct chain *coati_chains_add(struct chains *c, const struct chain_key *key, uint64_t hash)
{
	size_t size = key->nr * sizeof(*key->words);
	struct chain *new;
	uint64_t *copy;

	if (c->list.len >= CHAINS_MAX || size > WORDS_BYTES - c->words.used_bytes ||
	    c->words.used_bytes > WORDS_BYTES - 64)
		coati_chains_clear(c);
	copy = coati_arena_alloc(&c->words, size);
	new = copy ? ARRAY_ADD(&c->list) : NULL;
	if (!new)
		return NULL;
	if (size)
		memcpy(copy, key->words, size);
	new->key = *key;
	new->key.words = copy;
	new->hash = hash;
	new->last_entry = UINT32_MAX;
	if (coati_index_add(&c->index, hash, (uint32_t)c->list.len - 1) < 0) {
		c->list.len--;
		return NULL;
	}
	return new;
}
