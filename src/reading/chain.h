/* SPDX-License-Identifier: MIT */
/*
 * Call chains as they came, each with the stack that it became: a chain that was seen before costs
 * a hash and a comparison and nothing for its frames. Only a cache: when it is full it is emptied,
 * and stacks are found again by their frames.
 */
#pragma once

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
uint64_t coati_chains_hash(const struct chains *c, const struct chain_key *key);
/* NULL: not seen.  Hot. */
struct chain *coati_chains_find(struct chains *c, const struct chain_key *key, uint64_t hash);
/* The words are copied. NULL: out of memory. */
struct chain *coati_chains_add(struct chains *c, const struct chain_key *key, uint64_t hash);
