/* SPDX-License-Identifier: MIT */
/* The walker's maps and state, and how it reads memory and registers. Included by walker.bpf.c
 * alone. */
#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/shared.h"

typedef unsigned long long u64;
typedef long long s64;
typedef unsigned int u32;
typedef unsigned char u8;

#define SIGNALS_MAX  32
#define FRAME_MAX    (1ull << 20)
#define CALLEE_MAX   (64ull << 10)
#define NO_TARGET    (~0ull)
#define PF_EXITING   0x4
#define PF_KTHREAD   0x200000
#define WINDOW_BACK  64 /* bytes below the address that is wanted: registers were saved there */
#define CONTEXT_REGS 40
#define MAP_STEPS    17
#define SEARCH_STEPS 10
#define PAGE	     4096
#define COPY_PAGES   16
#define OFTEN_COPY   8192
#define OFTEN_COST   8 /* times its bytes */

/* enum table_cfa, enum table_where */
enum {
	CFA_GAP,
	CFA_END,
	CFA_SP,
	CFA_FP,
	CFA_REG,
	CFA_AT_SP,
	CFA_AT_FP,
	CFA_PLT,
	CFA_SIGNAL,
	CFA_UNSUPPORTED,
	CFA_RA_REG
};
enum { SAME, AT_CFA, AT_FP, AT_SP, LOST };
enum { CALL_UNKNOWN, CALL_NONE, CALL_SOME };

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long exec_vm, start_stack, start_code, arg_start;
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct {
		int counter;
	} live; /* threads of a process */
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	struct signal_struct *signal;
	unsigned int in_execve : 1;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

const volatile struct walker_config config = { .max_frames = 512 };
struct walker_control control;

struct chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, WALKER_CHUNK_WORDS * 4);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WALKER_CHUNKS_MAX);
	__uint(key_size, 4);
	__array(values, struct chunk);
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALKER_FILES_MAX);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct walker_file));
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALKER_SPACES_MAX);
	__uint(key_size, 8);
	__uint(value_size, sizeof(struct walker_space));
} spaces SEC(".maps");

/* One for each CPU, and another one for its probes; values of per-CPU maps may not be so large. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct walker_work));
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALKER_CHANGES);
	__uint(key_size, 4);
	__uint(value_size, 8);
} changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} needs SEC(".maps");

/* A function that the verifier looks at by itself, once, and not at each place where it is called:
 * that costs a tenth of the time to load. Its pointer may be anything then. */
#define ONCE(name)                                 \
	__noinline int name(struct walker_work *w) \
	{                                          \
		return w ? name##_body(w) : -1;    \
	}
#define ONCE_WITH(name, type)                                \
	__noinline int name(struct walker_work *w, type arg) \
	{                                                    \
		return w ? name##_body(w, arg) : -1;         \
	}

/* Keeps clang from turning mask arithmetic back into branches, which the verifier would follow. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

static __always_inline struct walker_work *work_at(u32 *index)
{
	return bpf_map_lookup_elem(&works, index);
}

static __always_inline int stop(struct walker_work *w, u32 end)
{
	w->end = end;
	return -1;
}

/* ---- memory ---- */

/* Eight bytes of the process into w->value. */
static __always_inline int try_read_body(struct walker_work *w, u64 addr)
{
	u64 off = addr - w->window_at;

	if (off < w->window_len && !(off & 7)) {
		w->value = *(u64 *)(w->window + (off & (WALKER_WINDOW - 8)));
		return 0;
	}
	if (!(addr & 7)) {
		u64 at = addr - WINDOW_BACK;

		w->window_len = 0;
		if (!bpf_probe_read_user(w->window, WALKER_WINDOW, (void *)at)) {
			w->window_at = at;
			w->window_len = WALKER_WINDOW;
			w->value = *(u64 *)(w->window + WINDOW_BACK);
			return 0;
		}
	}
	return bpf_probe_read_user(&w->value, 8, (void *)addr);
}
ONCE_WITH(try_read, u64)

static __always_inline int read_word(struct walker_work *w, u64 addr)
{
	return try_read(w, addr) ? stop(w, WALKER_FAULT) : 0;
}

/* A pointer to an arena word, of which as many follow as the caller knows to be in the same
 * chunk. */
static __always_inline u32 *chunk_of(u32 word)
{
	u32 index = word >> WALKER_CHUNK_BITS, zero = 0;
	void *chunk = bpf_map_lookup_elem(&chunks, &index);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
}

static __always_inline u64 chunk_u64(u32 *chunk, u32 word)
{
	return *(u64 *)((char *)chunk + ((word & (WALKER_CHUNK_WORDS - 2)) << 2));
}

/* ---- registers ---- */

static __always_inline int get_fp(struct walker_work *w)
{
	if (w->fp_lost)
		return stop(w, WALKER_UNSUPPORTED);
	if (w->fp_at) {
		if (read_word(w, w->fp_at))
			return -1;
		w->fp = w->value;
		w->fp_at = 0;
	}
	w->value = w->fp;
	return 0;
}

static __always_inline int get_bx(struct walker_work *w)
{
	if (w->bx_lost)
		return stop(w, WALKER_UNSUPPORTED);
	if (w->bx_at) {
		if (read_word(w, w->bx_at))
			return -1;
		w->bx = w->value;
		w->bx_at = 0;
	}
	w->value = w->bx;
	return 0;
}

/* Words of the kernel's struct sigcontext, by DWARF's number of a register. */
const volatile u8 context_words[16] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7 };

static __always_inline int any_reg_body(struct walker_work *w, u32 reg)
{
	u64 index = reg;

	OPAQUE(index);
	index &= 15;
	if (reg == 7) {
		w->value = w->sp;
		return 0;
	}
	if (reg == 6)
		return get_fp(w);
	if (reg == 3)
		return get_bx(w);
	if (!w->has_regs || reg >= 16)
		return stop(w, WALKER_UNSUPPORTED);
	if (w->context)
		return read_word(w, w->context + 8 * context_words[index]);
	w->value = w->regs[index];
	return 0;
}
ONCE_WITH(any_reg, u32)

/* ---- whose memory it is ---- */

static __always_inline void name_space(struct task_struct *task, struct mm_struct *mm,
				       struct walker_need *ret)
{
	u64 number = 0;

	/* a number, with which the verifier lets one count */
	bpf_core_read(&number, sizeof(number), &task->mm);
	ret->family = walker_family(mm->start_stack, mm->start_code, mm->arg_start);
	ret->space = walker_mix(ret->family, number);
	ret->exec_pages = mm->exec_vm;
}
