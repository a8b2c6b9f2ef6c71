/* SPDX-License-Identifier: MIT */
/*
 * A foreign profiler in small: at each tick of a CPU it reads the thread context (OTEP 4947) of the
 * thread that it interrupted, through the thread pointer and the offset of otel_thread_ctx_v1, by
 * the rules of the text: the pointer, 28 bytes, then as many as those say.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "context.h"

#ifdef COATI_ARM64
struct user_thread {
	unsigned long tp_value;
} __attribute__((preserve_access_index));
struct thread_struct {
	struct user_thread uw;
} __attribute__((preserve_access_index));
#define thread_pointer(task) BPF_CORE_READ(task, thread.uw.tp_value)
#else
struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));
#define thread_pointer(task) BPF_CORE_READ(task, thread.fsbase)
#endif

struct task_struct {
	struct thread_struct thread;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* set before loading */
const volatile struct context_wanted wanted;
unsigned long long seen[SEEN_COUNTS];

static void count(int which)
{
	__sync_fetch_and_add(&seen[which], 1);
}

static int read_record(struct context_sample *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const char *record = NULL;
	unsigned short size;

	if (bpf_probe_read_user(&record, sizeof(record),
				(void *)(thread_pointer(task) + wanted.tls_offset)))
		return SEEN_FAULTS;
	if (!record)
		return SEEN_NULL;
	if (bpf_probe_read_user(s->head, HEAD_BYTES, record))
		return SEEN_FAULTS;
	if (s->head[24] != 1)
		return SEEN_INVALID;
	__builtin_memcpy(&size, s->head + 26, sizeof(size));
	s->size = size;
	if (size > ENTRY_BYTES)
		size = ENTRY_BYTES; /* the reader judges it */
	if (size && bpf_probe_read_user(s->entries, size, record + HEAD_BYTES))
		return SEEN_FAULTS;
	return SEEN_SAMPLES;
}

SEC("perf_event")
int on_tick(void *ctx)
{
	struct bpf_pidns_info id;
	struct context_sample *s;
	int what;

	/* numbers as the reader sees them, which may be in a PID namespace */
	if (bpf_get_ns_current_pid_tgid(wanted.pidns_dev, wanted.pidns_ino, &id, sizeof(id)) ||
	    id.tgid != wanted.pid)
		return 0;
	s = bpf_ringbuf_reserve(&ring, sizeof(*s), 0);
	if (!s) {
		count(SEEN_DROPS);
		return 0;
	}
	s->tid = id.pid;
	what = read_record(s);
	count(what);
	if (what == SEEN_SAMPLES)
		bpf_ringbuf_submit(s, 0);
	else
		bpf_ringbuf_discard(s, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
