/* SPDX-License-Identifier: MIT */
/*
 * How a call chain ended that the recorder unwound. It is written behind the last address as a
 * number of COATI_CONTEXT_USER words: a marker that no address follows means nothing to other
 * readers of perf.data, and they skip it.
 */
#pragma once

#include <stdint.h>

#include <coati/abi.h>

enum chain_end {
	CHAIN_END_COMPLETE = 0, /* at the outermost frame, as unwind data says; no word */
	CHAIN_END_CUT,		/* the copy of the stack ended, or there were too many frames */
	CHAIN_END_GAP,		/* code without a rule, or one that cannot be followed */
	/* where frame pointers ended: the name of the last frame tells whether it is a root */
	CHAIN_END_POINTERS,
	CHAIN_END_GUESSED, /* complete, but at least one frame is a guess */
	CHAIN_END_COUNT,
};

/* The end of a chain of @nr words; *ret_nr: without the words that say it. A chain without an
 * address has no end. */
static inline enum chain_end chain_end_of(const uint64_t *words, uint32_t nr, uint32_t *ret_nr)
{
	uint32_t left = nr;

	while (left && words[left - 1] == COATI_CONTEXT_USER)
		left--;
	*ret_nr = nr;
	if (!left || words[left - 1] >= COATI_CONTEXT_MAX || nr - left >= CHAIN_END_COUNT)
		return CHAIN_END_COMPLETE;
	*ret_nr = left;
	return (enum chain_end)(nr - left);
}
