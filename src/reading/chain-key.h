/* SPDX-License-Identifier: MIT */
/* What of a sample makes its chain, by the sample alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>
#include <coati/recording.h>

#include "reading/chain.h"
#include "record/bytes.h"

#define CHAIN_WORDS 8192 /* more than a record can hold */

/* By the event of a sample. */
struct chain_way {
	bool has_chain;
	bool unwinds; /* the user part must be walked */
	bool is_told; /* the recorder unwound stacks, and counted how they ended */
	uint32_t max_stack;
};

/* @may_unwind: the caller walks stacks. */
struct chain_way coati_chain_way(const struct coati_attr *attr, bool may_unwind, bool is_told);
/* Words, nr, leaf and the bits of mode, which must be zero above the cpumode. @room is for
 * CHAIN_WORDS. Hot. */
void coati_chain_key(const struct chain_way *way, const struct coati_sample *s, uint64_t *room,
		     struct chain_key *key);

/* Is the chain as long as the recorder allowed? For one of @max words at least. */
bool coati_chain_is_full(const struct chain_key *key, uint32_t max);
/* What the recorder wrote behind the last address of the chain, which it unwound. */
void coati_chain_take_end(const struct chain_way *way, struct chain_key *key);

/* As coati_chain_key(), with the words of the chain in our byte order; @room is for one. Hot. */
ALWAYS_INLINE void chain_key_fill(const struct chain_way *way, const struct coati_sample *s,
				  const uint64_t *words, uint64_t *room, struct chain_key *key)
{
	uint32_t nr = way->has_chain ? s->callchain.count : 0, first = 0;

	while (first < nr && words[first] >= COATI_CONTEXT_MAX)
		first++;
	if (first == nr) { /* no stack was taken, or it is empty */
		*room = s->present & COATI_SAMPLE_IP ? s->ip : 0;
		key->words = room;
		key->nr = 1;
		key->mode |= way->has_chain ? 0 : CHAIN_SINGLE;
		return;
	}
	key->words = words;
	key->nr = nr;
	if (s->present & COATI_SAMPLE_IP && words[first] != s->ip)
		key->leaf = s->ip;
	if (nr >= way->max_stack && coati_chain_is_full(key, way->max_stack))
		key->mode |= CHAIN_FULL;
	if (words[nr - 1] >= COATI_CONTEXT_MAX)
		coati_chain_take_end(way, key);
	else if (way->is_told) /* complete, which is said by no word */
		key->mode |= CHAIN_RECORDED;
}
