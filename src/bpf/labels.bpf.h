/* SPDX-License-Identifier: MIT */
/*
 * The labels of the thread that the sample is of, as it publishes them for everybody
 * (docs/formats/thread-context.md): a thread-local pointer leads to a record, which is whole
 * whenever the thread is stopped, as it is here. The record goes into the report as it is, and is
 * believed only when it is no larger than the layout allows; what is in it the reader checks.
 *
 * A pointer that cannot be read was never written: the page is not there. Included by walker.bpf.c
 * alone.
 */
#pragma once

#include "bpf/state.bpf.h"

#define KEYS_TIME_AT 16 /* in the head of the process context */
#define TABLE_AT     8	/* above the thread pointer */
#define MODULES_MAX  65536
/* threads that the kernel makes for a process: of io_uring, and others */
#define PF_WORKERS  (0x10 | 0x4000)
#define FIRST_BYTES 96 /* of a record, in one read: most are no larger */
#define REPORT_MOST (WALKER_OUT_MOST + WALKER_LABEL_HEAD + WALKER_LABEL_BYTES + 4)

/* 0: there is none. */
static __always_inline u64 thread_pointer(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct thread_struct *thread = (void *)task;

	/* they have the pointer of the thread that asked for them */
	if (BPF_CORE_READ(task, flags) & PF_WORKERS)
		return 0;
	if (!bpf_core_field_exists(struct task_struct, thread) ||
	    !bpf_core_field_exists(struct thread_struct, fsbase))
		return 0;
	/* in two steps: what the loader knows of task_struct ends at its members */
	thread = (void *)thread + bpf_core_field_offset(struct task_struct, thread);
	return BPF_CORE_READ(thread, fsbase);
}

/* The word at @addr; 0: it cannot be read. */
static __always_inline u64 word_at(u64 addr)
{
	u64 value = 0;

	return bpf_probe_read_user(&value, sizeof(value), (void *)addr) ? 0 : value;
}

/* Where the variable is in a library that has a part of each thread's storage only when that thread
 * uses it. The thread has a table of these parts, by the numbers of the libraries; how many entries
 * there are is in front of it with glibc, and is its first one with musl. What is not there leads
 * to no memory. */
static __always_inline u64 in_module(const struct walker_label_place *p, u64 pointer)
{
	u64 module = word_at(p->at), table, entries, part;

	if (!module || module > MODULES_MAX)
		return 0;
	table = word_at(pointer + TABLE_AT);
	entries = word_at(p->entry_bytes == 16 ? table - 16 : table);
	part = module > entries ? 0 : word_at(table + module * p->entry_bytes);
	/* with glibc -1 is one that the thread does not have yet */
	return part + 1 < 2 ? 0 : part + word_at(p->at + 8);
}

/* Where the variable of this thread is; 0: nowhere. */
static __always_inline u64 find_variable(const struct walker_label_place *p)
{
	u64 pointer = thread_pointer(), distance = p->at;

	if (!pointer)
		return 0;
	if (p->kind == WALKER_LABELS_MODULE)
		return in_module(p, pointer);
	if (p->kind == WALKER_LABELS_THROUGH)
		distance = word_at(p->at);
	/* below the thread pointer; what the loader has not written yet is 0 */
	return distance < -WALKER_LABELS_FAR ? 0 : pointer + distance;
}

static __always_inline int lose_labels(struct walker_work *w)
{
	w->flags |= WALKER_NO_LABELS;
	return 0;
}

/* Has the process published other keys than those that are known? */
static __always_inline int has_new_keys(struct walker_work *w)
{
	u64 time = 0;

	if (w->labels.keys == WALKER_NO_KEYS)
		return 0;
	return !w->labels.keys ||
	       bpf_probe_read_user(&time, sizeof(time), (void *)(w->labels.keys + KEYS_TIME_AT)) ||
	       time != w->labels.keys_time;
}

/* The labels behind what is in the report: 1 when their keys are not known. */
static __always_inline int add_labels_body(struct walker_work *w)
{
	u64 record = word_at(find_variable(&w->labels)), off = w->out_size, size,
	    have = FIRST_BYTES;
	u8 *to;

	OPAQUE(off);
	off &= WALKER_OUT_BYTES - 1;
	if (!record || off > WALKER_OUT_MOST)
		return 0;
	to = w->out + off;
	if (bpf_probe_read_user(to, FIRST_BYTES, (void *)record)) {
		have = WALKER_LABEL_HEAD; /* what lies behind a small one may not be there */
		if (bpf_probe_read_user(to, WALKER_LABEL_HEAD, (void *)record))
			return lose_labels(w);
	}
	size = *(unsigned short *)(to + WALKER_LABEL_SIZE);
	if (to[WALKER_LABEL_VALID] != 1 || !size)
		return 0;
	if (size > WALKER_LABEL_BYTES)
		return lose_labels(w);
	if (WALKER_LABEL_HEAD + size > have &&
	    bpf_probe_read_user(to + WALKER_LABEL_HEAD, size, (void *)(record + WALKER_LABEL_HEAD)))
		return lose_labels(w);
	w->out_size = off + WALKER_LABEL_HEAD + size;
	w->flags |= WALKER_HAS_LABELS;
	return has_new_keys(w);
}
ONCE(add_labels)
