/* SPDX-License-Identifier: MIT */
/*
 * Runs in the kernel at the tracepoint sched:sched_process_exec and puts out one struct exec_event
 * for each program that is started: into a BPF ring buffer, and into the perf event array, to show
 * both. One of them is enough; the ring buffer is the better one on Linux 5.8 and later, as all
 * CPUs share its memory and its order.
 *
 * The kernel's structs below have only the members that are used here. With preserve_access_index
 * the loader (libbpf) looks up where each of them lies in the kernel that runs ("CO-RE"), so no
 * header of any kernel is needed for building, and one object file serves them all.
 *
 *	clang -target bpf -O2 -g -c exec.bpf.c -o exec.bpf.o	(Debian: -idirafter
 *								/usr/include/$(gcc
 *								-print-multiarch))
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "exec.h"

struct task_struct {
	int tgid;
	struct task_struct *real_parent;
} __attribute__((preserve_access_index));

/* The record of the tracepoint, as in
 * /sys/kernel/tracing/events/sched/sched_process_exec/format. */
struct trace_event_raw_sched_process_exec {
	__u32 __data_loc_filename; /* length << 16 | offset in the record */
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	/* bytes, a power of two of pages: small, so that loss can be shown */
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} array SEC(".maps"); /* no max_entries: libbpf makes it as many as there may be CPUs */

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF); /* Linux 6.1 */
	__uint(max_entries, 4096);
} wishes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EXEC_COUNTS);
	__uint(map_flags, BPF_F_MMAPABLE); /* the reader looks without a system call */
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

char wanted[NAME_BYTES];

static void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &which);

	if (value)
		__sync_fetch_and_add(value, 1);
}

static long take_wish(struct bpf_dynptr *wish, void *unused)
{
	bpf_dynptr_read(wanted, sizeof(wanted), wish, 0, 0);
	return 0;
}

static int is_wanted(const char *name)
{
	for (int i = 0; i < NAME_BYTES && wanted[0]; i++) {
		if (name[i] != wanted[i])
			return 0;
		if (!name[i])
			break;
	}
	return 1;
}

SEC("tp/sched/sched_process_exec")
int on_exec(struct trace_event_raw_sched_process_exec *record)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct exec_event event = { .time_ns = bpf_ktime_get_ns() };

	bpf_user_ringbuf_drain(&wishes, take_wish, 0, 0);
	bpf_get_current_comm(event.name, sizeof(event.name));
	if (!is_wanted(event.name))
		return 0;
	event.pid = bpf_get_current_pid_tgid() >> 32;
	event.parent = BPF_CORE_READ(task, real_parent, tgid);
	bpf_probe_read_kernel_str(event.file, sizeof(event.file),
				  (void *)record + (record->__data_loc_filename & 0xffff));
	count(EXEC_SEEN);
	if (bpf_ringbuf_output(&ring, &event, sizeof(event), 0) < 0)
		count(EXEC_DROPS);
	/* what finds no room here is counted by the kernel */
	bpf_perf_event_output(record, &array, BPF_F_CURRENT_CPU, &event, sizeof(event));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
