/* SPDX-License-Identifier: MIT */
/*
 * Functions with a probe on their return. While such a function runs, its return address on the
 * stack is that of the kernel's trampoline for probes, which no unwind data describes. The kernel
 * keeps the true one, with the place on the stack that it took it from; both must fit, because what
 * longjmp() passed over stays in the kernel's list for a while. Included by walker.bpf.c alone.
 *
 * When a probe is hit, the kernel writes the trampoline first and notes the true address then. In
 * between, what it has for that place is of an earlier call, so it is not asked.
 */
#pragma once

#include "bpf/state.bpf.h"

#define PROBED_MAX 64 /* MAX_URETPROBE_DEPTH */
#define BREAKPOINT 0xcc

struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next;
} __attribute__((preserve_access_index));

struct uprobe_task {
	struct return_instance *return_instances;
} __attribute__((preserve_access_index));

struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

/* Where the list of functions that have not returned yet begins, into w->probed, and where they
 * return to, into w->trampoline: 0; without either: -1. */
static __always_inline int first_probed(struct walker_work *w)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct uprobe_task *probes;
	struct uprobes_state *state;
	struct xol_area *area;

	if (!bpf_core_field_exists(struct task_struct, utask) ||
	    !bpf_core_field_exists(struct mm_struct, uprobes_state) ||
	    !bpf_core_field_exists(struct xol_area, vaddr))
		return -1;
	probes = BPF_CORE_READ(task, utask);
	/* in two steps: what the loader knows of mm_struct ends at its members */
	state = (void *)BPF_CORE_READ(task, mm);
	state = (void *)state + bpf_core_field_offset(struct mm_struct, uprobes_state);
	area = BPF_CORE_READ(state, xol_area);
	if (!probes || !area)
		return -1;
	w->trampoline = BPF_CORE_READ(area, vaddr);
	w->probed = (u64)BPF_CORE_READ(probes, return_instances);
	return w->probed ? 0 : -1;
}

/* Is a probe being put on the return of the function that has only just been entered? Then the
 * program is in the kernel because of a breakpoint, and stands at it; elsewhere in a function whose
 * return address is on top of the stack it is known. Nor is it a system call, in which the same
 * place may be its return address, too. */
static __always_inline int is_unsettled(struct walker_work *w, u64 place)
{
	if (place != w->regs[7] || !w->is_in_kernel || w->call_number >= 0)
		return 0;
	w->code = 0;
	return bpf_probe_read_user(&w->code, 1, (void *)w->regs[16]) || w->code == BREAKPOINT;
}

/* The next of the list: is it the one at w->sp? */
static long on_probed(u32 i, u32 *index)
{
	struct walker_work *w = work_at(index);
	struct return_instance *at = w ? (void *)w->probed : NULL;

	if (!at)
		return 1;
	if (BPF_CORE_READ(at, stack) == w->sp - 8) {
		w->pc = BPF_CORE_READ(at, orig_ret_vaddr);
		return 1;
	}
	w->probed = (u64)BPF_CORE_READ(at, next);
	return 0;
}

/* The frame that was found last is the trampoline: 1, and w->pc is where it will return to. */
static __always_inline int over_probe_body(struct walker_work *w)
{
	u32 index = w->index;

	if (first_probed(w) || w->pc != w->trampoline || is_unsettled(w, w->sp - 8))
		return 0;
	/* in a loop of the kernel's, which the verifier looks at once */
	bpf_loop(PROBED_MAX, on_probed, &index, 0);
	return w->pc != w->trampoline;
}
ONCE(over_probe)

static long on_copied(u32 i, u32 *index)
{
	struct walker_work *w = work_at(index);
	struct return_instance *at = w ? (void *)w->probed : NULL;
	u64 off, *word;

	if (!at)
		return 1;
	off = BPF_CORE_READ(at, stack) - w->copy_from;
	if (off < w->copy_bytes && off + 8 <= w->copy_bytes &&
	    !is_unsettled(w, w->copy_from + off)) {
		off = (off + w->copy_base) & (WALKER_OUT_BYTES - 8);
		word = (u64 *)(w->out + off);
		if (*word == w->trampoline)
			*word = BPF_CORE_READ(at, orig_ret_vaddr);
	}
	w->probed = (u64)BPF_CORE_READ(at, next);
	return 0;
}

/* The same in the copy of the stack, whose reader cannot ask the kernel. */
static __always_inline int mend_copy_body(struct walker_work *w)
{
	u32 index = w->index;

	if (!first_probed(w))
		bpf_loop(PROBED_MAX, on_copied, &index, 0);
	return 0;
}
ONCE(mend_copy)
