/* SPDX-License-Identifier: MIT */
/*
 * Whose samples are taken: threads and whole processes by their numbers, and what they start, as
 * events that are inherited would follow them. A child is added before it runs, whoever its parent
 * will be later. A number is taken out when its owner is freed: until then it may run, and another
 * one cannot have it so soon, because the kernel gives all others away before.
 * Included by walker.bpf.c alone.
 *
 * These programs may be interrupted by a walk on the same CPU: they have no part in its state.
 */
#pragma once

#include "bpf/state.bpf.h"

/* The value is enum walker_is. */
struct targets {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALKER_TARGETS_MAX);
	__uint(key_size, 4);
	__uint(value_size, 4);
} threads SEC(".maps"), processes SEC(".maps");

static __always_inline int is_target(void)
{
	u64 both = bpf_get_current_pid_tgid();
	u32 tid = both, tgid = both >> 32;

	return bpf_map_lookup_elem(&processes, &tgid) || bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline void follow(void *targets, u32 number)
{
	u32 is = WALKER_IS_FOLLOWED;

	if (bpf_map_update_elem(targets, &number, &is, BPF_ANY))
		__sync_fetch_and_add(&control.unfollowed, 1);
}

static __always_inline void end(void *targets, u32 number)
{
	u32 *is = bpf_map_lookup_elem(targets, &number);

	if (!is || *is != WALKER_IS_GIVEN)
		return;
	*is = WALKER_IS_ENDED;
	__sync_fetch_and_add(&control.ended, 1);
}

/* (parent, child): the parent runs, the child does not yet. */
SEC("raw_tp/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];
	u64 both = bpf_get_current_pid_tgid();
	u32 tgid = BPF_CORE_READ(child, tgid), from = both >> 32;

	if (config.no_children || !is_target())
		return 0;
	if (tgid != from)
		follow(&processes, tgid);
	else if (!bpf_map_lookup_elem(&processes, &tgid))
		follow(&threads, BPF_CORE_READ(child, pid));
	return 0;
}

/* The task that ends runs; it is no longer among those of its process that live. */
SEC("raw_tp/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	u64 both = bpf_get_current_pid_tgid();
	int live = 1;

	end(&threads, both);
	bpf_core_read(&live, sizeof(live), &signal->live);
	if (!live)
		end(&processes, both >> 32);
	return 0;
}

/* (task): its parent knows, and it does not run any more. The first thread of a process is
 * the last one to go. */
SEC("raw_tp/sched_process_free")
int on_free(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = BPF_CORE_READ(task, pid), tgid = BPF_CORE_READ(task, tgid);

	bpf_map_delete_elem(&threads, &tid);
	if (tid == tgid)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

/* (task, its number before, ...): a thread that executes a program gets the number of its
 * process. */
SEC("raw_tp/sched_process_exec")
int on_exec(u64 *ctx)
{
	u32 before = ctx[1], now = bpf_get_current_pid_tgid(), value, *is;

	is = before == now ? NULL : bpf_map_lookup_elem(&threads, &before);
	if (!is)
		return 0;
	value = *is;
	bpf_map_delete_elem(&threads, &before);
	bpf_map_update_elem(&threads, &now, &value, BPF_ANY);
	return 0;
}
