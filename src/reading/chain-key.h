/* SPDX-License-Identifier: MIT */
/* What of a sample makes its chain, by the sample alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>
#include <coati/recording.h>

#include "reading/chain.h"

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
