/* SPDX-License-Identifier: MIT */
/*
 * A library is unloaded and another one is loaded in its place: a walk by the mappings as they were
 * would use the rules of the wrong one, and the number of executable pages may be the same. The
 * kernel chooses the address of a mapping where nothing is mapped. When it chooses one inside what
 * is described as code, the description is out of date, at once. Included by walker.bpf.c alone.
 *
 * This program may be interrupted by a walk on the same CPU: it has no part in the walk's state.
 */
#pragma once

#include "bpf/state.bpf.h"

struct vm_unmapped_area_info {
	unsigned long length;
} __attribute__((preserve_access_index));

/* Does [@addr, @end) overlap a mapping of @s? */
static __always_inline int overlaps(const struct walker_space *s, u64 addr, u64 end)
{
	u32 maps = s->maps, word, *chunk;
	u64 low = 0, count = s->nr_maps;

	if (!count)
		return 0;
	/* the last that begins below the end */
	for (int i = 0; i < MAP_STEPS; i++) {
		u64 half = count >> 1, diff, mask;

		word = maps + (u32)(low + half) * 8;
		chunk = chunk_of(word);
		if (!chunk)
			return 1;
		diff = chunk_u64(chunk, word) - end;
		OPAQUE(diff);
		mask = (s64)diff >> 63; /* both are user addresses */
		OPAQUE(mask);
		low += half & mask;
		count -= half;
		OPAQUE(low);
		OPAQUE(count);
	}
	word = maps + (u32)low * 8;
	chunk = chunk_of(word);
	if (!chunk)
		return 1;
	return chunk_u64(chunk, word) < end && chunk_u64(chunk, word + 2) > addr;
}

/* Global, so that the verifier looks at it once for both calls. */
__noinline int note_change(u64 key, u64 addr, u64 end)
{
	struct walker_space *s = bpf_map_lookup_elem(&spaces, &key);
	u32 index = walker_change(key);
	u64 *counter;

	if (!s || !overlaps(s, addr, end))
		return 0;
	counter = bpf_map_lookup_elem(&changes, &index);
	if (counter)
		__sync_fetch_and_add(counter, 1);
	return 0;
}

/* Not as "tp_btf", for which libbpf would read all of the kernel's types. */
SEC("raw_tp/vm_unmapped_area")
int on_mapping(u64 *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct vm_unmapped_area_info *info = (void *)ctx[1];
	struct mm_struct *mm = task->mm;
	struct walker_need need = {};
	u64 addr = ctx[0], length;

	/* an error is not an address */
	if (!mm || addr > -4096ull)
		return 0;
	name_space(task, mm, &need);
	length = BPF_CORE_READ(info, length);
	note_change(need.space, addr, addr + length);
	note_change(need.family, addr, addr + length);
	return 0;
}
