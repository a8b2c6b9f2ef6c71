/* SPDX-License-Identifier: MIT */
/*
 * Call chains as they came, each with the stack that it became: a chain that was seen before costs
 * a hash and a comparison and nothing for its frames. Only a cache: when it is full it is emptied,
 * and stacks are found again by their frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "reading/index.h"

/* All that decides what the words mean. */
struct chain_key {
	const uint64_t *words; /* addresses and context markers */
	uint32_t nr;
	uint32_t mode;	 /* CHAIN_* and the cpumode */
	uint64_t space;	 /* of the process: the same number, the same places */
	uint64_t leaf;	 /* ip where the first address is another, else 0 */
	int32_t pid;	 /* to ask with; decides nothing that space does not */
	uint32_t kernel; /* number of changes of the kernel's code so far */
};

/* chain_key.mode above the cpumode */
#define CHAIN_ADJUSTED	0x100u /* addresses of callers lie inside the call already */
#define CHAIN_SINGLE	0x200u /* no stack was taken: the ip alone */
#define CHAIN_FULL	0x400u /* as long as the recorder allowed */
#define CHAIN_RECORDED	0x800u /* the recorder unwound it */
#define CHAIN_END_SHIFT 16     /* enum coati_unwind_end of the walk */
#define CHAIN_UNWOUND	0x1000000u
#define CHAIN_GUESSED	0x2000000u
#define CHAIN_CONTINUED 0x8000000u /* the same, and frame pointers went on */
#define CHAIN_GAP	0x4000000u /* the recorder unwound it, and did not come to its root */

/* What a chain became, and the time in which that is right: code is replaced. */
struct timed_stack {
	uint64_t from, last;
	uint32_t stack;
	uint32_t reserved;
};

/* Is that still the stack of the chain, at that time? */
static inline bool timed_stack_holds(const struct timed_stack *s, uint64_t time)
{
	return time >= s->from && time <= s->last;
}

struct chain {
	struct chain_key key;
	uint64_t hash;
	struct timed_stack found;
	uint32_t last_entry; /* that a sample with this chain counted for */
	uint32_t reserved;
};

struct chains {
	ARRAY(struct chain) list;
	struct index index;
	struct arena words;
	uint32_t generation; /* how often it was emptied */
};

void coati_chains_init(struct chains *c);
void coati_chains_fini(struct chains *c);
void coati_chains_clear(struct chains *c);
/* Hot. */
uint64_t coati_chains_hash(const struct chains *c, const struct chain_key *key);
static inline uint64_t chain_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight words in four multiplications that do not wait for each other. Who could choose addresses
 * to collide would have to know the seed, and would gain a slow probe in a table that is emptied
 * when it is full. Hot. */
static inline uint64_t chains_hash(const struct chains *c, const struct chain_key *key)
{
	const uint64_t seed = c->index.seed, other = seed ^ 0xa0761d6478bd642fu;
	uint64_t a = chain_mix(key->space ^ seed, key->leaf ^ 0x9e3779b97f4a7c15u);
	uint64_t b = chain_mix(((uint64_t)key->nr << 32 | key->mode) ^ other,
			       key->kernel ^ 0xd6e8feb86659fd93u);
	uint64_t a_more = seed, b_more = other;
	const uint64_t *w = key->words;
	uint32_t left = key->nr;

	for (; left >= 8; left -= 8, w += 8) {
		a = chain_mix(w[0] ^ a, w[1] ^ seed);
		b = chain_mix(w[2] ^ b, w[3] ^ other);
		a_more = chain_mix(w[4] ^ a_more, w[5] ^ seed);
		b_more = chain_mix(w[6] ^ b_more, w[7] ^ other);
	}
	a ^= a_more;
	b += b_more;
	for (; left >= 4; left -= 4, w += 4) {
		a = chain_mix(w[0] ^ a, w[1] ^ seed);
		b = chain_mix(w[2] ^ b, w[3] ^ other);
	}
	for (; left; left--, w++)
		a = chain_mix(*w ^ a, seed ^ b);
	return chain_mix(a ^ 0xe7037ed1a0b428dbu, b ^ seed);
}

/* NULL: not seen. @likely: the number that it may have, as chains_expect_chain() said; UINT32_MAX:
 * none.  Hot. */
struct chain *coati_chains_find(struct chains *c, const struct chain_key *key, uint64_t hash,
				uint32_t likely);
/* The words are copied. NULL: out of memory. */
struct chain *coati_chains_add(struct chains *c, const struct chain_key *key, uint64_t hash);

/* ---- before it is looked for ---- */

/* Memory that a look-up will read, asked for while others are being looked up: three steps, each of
 * which reads what the one before asked for.  Hot. */
static inline void chains_expect(const struct chains *c, uint64_t hash)
{
	if (c->index.cap)
		__builtin_prefetch(&c->index.slots[index_probe(&c->index, hash).at]);
}

static inline void chain_expect(const struct chain *chain)
{
	__builtin_prefetch(&chain->key);
	__builtin_prefetch(&chain->last_entry);
}

/* The number of the chain that it will most likely be; UINT32_MAX: none. */
static inline uint32_t chains_expect_chain(const struct chains *c, uint64_t hash)
{
	struct probe probe = index_probe(&c->index, hash);
	uint32_t id;

	if (!index_next(&c->index, &probe, &id))
		return UINT32_MAX;
	chain_expect(&c->list.v[id]);
	return id;
}

/* NULL: there is no such chain, or none any more. */
static inline const struct chain *chains_get(const struct chains *c, uint32_t id)
{
	return id < c->list.len ? &c->list.v[id] : NULL;
}

static inline void chain_expect_words(const struct chain *chain)
{
	for (uint32_t i = 0; i < chain->key.nr; i += 8)
		__builtin_prefetch(chain->key.words + i);
}
