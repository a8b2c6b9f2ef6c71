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

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight words in four multiplications that do not wait for each other. Who could choose addresses
 * to collide would have to know the seed, and would gain a slow probe in a table that is emptied
 * when it is full. Hot. */
uint64_t coati_chains_hash(const struct chains *c, const struct chain_key *key)
{
	const uint64_t seed = c->index.seed, other = seed ^ 0xa0761d6478bd642fu;
	uint64_t a = mix(key->space ^ seed, key->leaf ^ 0x9e3779b97f4a7c15u);
	uint64_t b = mix(((uint64_t)key->nr << 32 | key->mode) ^ other,
			 key->kernel ^ 0xd6e8feb86659fd93u);
	uint64_t a_more = seed, b_more = other;
	const uint64_t *w = key->words;
	uint32_t left = key->nr;

	for (; left >= 8; left -= 8, w += 8) {
		a = mix(w[0] ^ a, w[1] ^ seed);
		b = mix(w[2] ^ b, w[3] ^ other);
		a_more = mix(w[4] ^ a_more, w[5] ^ seed);
		b_more = mix(w[6] ^ b_more, w[7] ^ other);
	}
	a ^= a_more;
	b += b_more;
	for (; left >= 4; left -= 4, w += 4) {
		a = mix(w[0] ^ a, w[1] ^ seed);
		b = mix(w[2] ^ b, w[3] ^ other);
	}
	for (; left; left--, w++)
		a = mix(*w ^ a, seed ^ b);
	return mix(a ^ 0xe7037ed1a0b428dbu, b ^ seed);
}

static int same_key(const struct chain_key *a, const struct chain_key *b)
{
	return a->nr == b->nr && a->mode == b->mode && a->space == b->space && a->leaf == b->leaf &&
	       a->kernel == b->kernel && !memcmp(a->words, b->words, a->nr * sizeof(*a->words));
}

struct chain *coati_chains_find(struct chains *c, const struct chain_key *key, uint64_t hash)
{
	struct probe probe = index_probe(&c->index, hash);
	uint32_t id;

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
