/* SPDX-License-Identifier: MIT */
/*
 * The memory that the walker reads: one space of words over chunks that are BPF maps, mapped here.
 * Chunks are made when they are needed, up to the budget. What is freed may still be read by a walk
 * on another CPU: it waits aside until nothing else is left, and then a counter is raised before it
 * is used again, so that such a walk knows at its end that it read something else.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "bpf/calls.h"
#include "bpf/shared.h"

struct arena_piece {
	uint32_t word, words;
};

struct walker_arena {
	const struct libbpf *lib;
	int outer_fd; /* of the array of chunks */
	uint32_t nr_chunks, max_chunks;
	uint32_t *chunks[WALKER_CHUNKS_MAX];
	uint8_t *taken; /* a bit for each granule */
	uint32_t hint;	/* granules below are taken */
	ARRAY(struct arena_piece) aside;
	uint64_t used_bytes;
	unsigned long long *reclaims; /* shared with the walker */
};

int coati_walker_arena_init(struct walker_arena *a, uint64_t budget_bytes);
void coati_walker_arena_fini(struct walker_arena *a);
/* @words in one piece; *ret is never 0. -ENOSPC: the budget is used up; -ENOMEM. */
int coati_walker_arena_get(struct walker_arena *a, uint32_t words, uint32_t *ret);
void coati_walker_arena_put(struct walker_arena *a, uint32_t word, uint32_t words);

/* Where a word is; what follows it is valid up to the end of its chunk. */
static inline uint32_t *walker_arena_at(const struct walker_arena *a, uint32_t word)
{
	return a->chunks[word >> WALKER_CHUNK_BITS] + (word & (WALKER_CHUNK_WORDS - 1));
}
