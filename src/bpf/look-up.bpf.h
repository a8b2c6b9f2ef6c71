/* SPDX-License-Identifier: MIT */
/* From an address to its mapping, and to the rule of its table. Included by walker.bpf.c alone. */
#pragma once

#include "bpf/state.bpf.h"

/* The mapping of @addr into w->map. */
static __always_inline int find_map_body(struct walker_work *w, u64 addr)
{
	u32 word, *chunk;

	if (addr - w->map.start < w->map.end - w->map.start)
		return 0;
	w->low = 0;
	w->count = w->nr_maps;
	for (int i = 0; i < MAP_STEPS; i++) {
		u64 half = w->count >> 1, less;

		if (w->count <= 1)
			break;
		word = w->maps + (u32)(w->low + half) * 8;
		chunk = chunk_of(word);
		if (!chunk)
			return -1;
		/* all ones when it begins at or below the address */
		less = chunk_u64(chunk, word) > addr ? 0 : ~0ull;
		w->low += half & less;
		w->count -= half;
	}
	word = w->maps + w->low * 8;
	chunk = chunk_of(word);
	if (!chunk || !w->nr_maps)
		return -1;
	w->map = *(struct walker_map *)((char *)chunk + ((word & (WALKER_CHUNK_WORDS - 8)) << 2));
	return addr - w->map.start < w->map.end - w->map.start ? 0 : -1;
}
ONCE_WITH(find_map, u64)

/* The table of w->map: its directory and rules. */
static __always_inline int take_file(struct walker_work *w)
{
	u32 index = w->map.file;
	struct walker_file *f;

	if (w->dir_serial == w->map.serial && w->dir_file == index)
		return 0;
	f = bpf_map_lookup_elem(&files, &index);
	if (!f || !f->serial || f->serial != w->map.serial)
		return stop(w, WALKER_NO_TABLE);
	w->dir = f->dir;
	w->nr_buckets = f->nr_buckets;
	w->rules = f->rules;
	w->nr_rules = f->nr_rules;
	w->dir_file = index;
	w->dir_serial = f->serial;
	if (!f->used)
		f->used = 1;
	return 0;
}

/* How many of the @count rows from @first on are not above @key: without branches on data. */
static __always_inline u32 rows_below(u32 *chunk, u32 first, u32 count, u32 key)
{
	u64 low = 0, n = count;

	first &= WALKER_CHUNK_WORDS - 1;
#pragma unroll
	for (int i = 0; i < SEARCH_STEPS; i++) {
		u64 half = n >> 1;
		u64 at = (first + low + half - 1) & (WALKER_CHUNK_WORDS - 1), diff, mask;

		OPAQUE(at);
		at &= WALKER_CHUNK_WORDS - 1;
		diff = (u64)chunk[at] - key - 1;
		OPAQUE(diff);
		mask = (s64)diff >> 63;
		OPAQUE(mask);
		low += half & mask;
		n -= half;
	}
	{
		u64 at = (first + low) & (WALKER_CHUNK_WORDS - 1), diff;

		OPAQUE(at);
		at &= WALKER_CHUNK_WORDS - 1;
		diff = (u64)chunk[at] - key - 1;
		OPAQUE(diff);
		low += (diff >> 63) & (n & 1);
	}
	return low;
}

/* The rule at @place of the table of w->map, into w->rule and w->other. */
static __always_inline int find_rule_body(struct walker_work *w, u32 place)
{
	u32 bucket = place >> WALKER_BUCKET_BITS, word, first, count, id, *chunk;
	u32 key = place << WALKER_RULE_BITS | ((1u << WALKER_RULE_BITS) - 1);
	u64 entry;

	w->rule = CFA_GAP;
	w->other = 0;
	if (take_file(w))
		return -1;
	if (bucket >= w->nr_buckets)
		return 0;
	word = w->dir + bucket * 2;
	chunk = chunk_of(word);
	if (!chunk)
		return stop(w, WALKER_MOVED);
	/* first row, how many rows, and the rule that holds before them */
	entry = chunk_u64(chunk, word);
	first = (u32)entry;
	count = (entry >> 32) & 0xffff;
	id = (u32)(entry >> 48);
	if (count) {
		u32 below;

		chunk = chunk_of(first);
		if (!chunk)
			return stop(w, WALKER_MOVED);
		below = rows_below(chunk, first, count, key);
		if (below)
			id = chunk[(first + below - 1) & (WALKER_CHUNK_WORDS - 1)] & 0xffff;
	}
	if (id >= w->nr_rules)
		return 0;
	word = w->rules + id * 4;
	chunk = chunk_of(word);
	if (!chunk)
		return stop(w, WALKER_MOVED);
	w->rule = chunk_u64(chunk, word);
	w->other = (int)chunk_u64(chunk, word + 2);
	return 0;
}
ONCE_WITH(find_rule, u32)
