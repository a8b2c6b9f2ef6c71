/* SPDX-License-Identifier: MIT */
/*
 * The stack walker in the kernel. It runs at each sample, before the kernel writes it: the user
 * stack is walked by the tables that user space has published, and its frames are written as a
 * record of their own into the same ring buffer. The sample itself, with the kernel's part of the
 * stack, follows right behind it.
 *
 * The rules and their order are those of unwind/table/walk*.c; the differences are described there.
 * What the walker cannot do it does not guess at: it sends registers and a copy of the stack, and
 * the reader walks that (WALKER_HAS_COPY).
 *
 * All state is in map memory (struct walker_work). One program at a time runs on a CPU: the kernel
 * sees to that for programs of perf events and tracepoints (bpf_prog_active). It does not for those
 * of probes in programs, which samples interrupt and other threads preempt: they have memory of
 * their own, and who finds it in use walks no stack.
 */
#include "bpf/apply.bpf.h"
#include "bpf/changes.bpf.h"
#include "bpf/guess.bpf.h"
#include "bpf/labels.bpf.h"
#include "bpf/probed.bpf.h"
#include "bpf/targets.bpf.h"

/* ---- the walk ---- */

static __always_inline int step(struct walker_work *w)
{
	switch (w->rule & 15) {
	case CFA_GAP:
		return w->map.kind == WALKER_MAP_PLAIN ? by_pointer(w) : guess(w);
	case CFA_END:
		return stop(w, WALKER_END);
	case CFA_SIGNAL:
		return over_signal(w);
	default:
		return apply(w);
	}
}

/* The rule for @addr, from this CPU's cache or from the table. */
static __always_inline int look_up(struct walker_work *w, u64 addr)
{
	struct walker_slot *s = &w->slots[((addr ^ addr >> 12) + w->generation * 0x9e3779b9u) &
					  (WALKER_CACHE_LEN - 1)];

	if (s->addr == addr && s->generation == w->generation) {
		w->rule = s->rule;
		w->other = s->other;
		return 0;
	}
	w->misses++;
	if (find_map(w, addr))
		return stop(w, WALKER_UNMAPPED);
	if (w->map.kind != WALKER_MAP_TABLE) {
		w->rule = CFA_GAP;
		return w->map.kind == WALKER_MAP_LATER ? stop(w, WALKER_NO_TABLE) : 0;
	}
	if (find_rule(w, w->map.place + (u32)(addr - w->map.start)))
		return -1;
	/* a gap needs its mapping */
	if ((w->rule & 15) != CFA_GAP) {
		s->addr = addr;
		s->rule = w->rule;
		s->other = w->other;
		s->generation = w->generation;
	}
	return 0;
}

static long on_frame(u32 i, u32 *index)
{
	struct walker_work *w = work_at(index);
	u64 pc, *frames, at;
	int known;

	if (!w)
		return 1;
	i -= w->nr_probed;
	at = i;
	OPAQUE(at);
	at &= WALKER_FRAMES_MAX - 1;
	pc = w->pc;
	if (i && !pc) {
		w->end = WALKER_END;
		return 1;
	}
	known = !look_up(w, pc - !w->is_exact);
	if (i && (!known || (w->rule & 15) == CFA_GAP) && over_probe(w)) {
		w->end = WALKER_LIMIT;
		w->nr_probed++;
		return 0;
	}
	if (i && !known && w->end == WALKER_UNMAPPED)
		return 1;
	if (i >= config.max_frames || i >= WALKER_FRAMES_MAX) {
		w->end = WALKER_LIMIT;
		return 1;
	}
	/* what a signal interrupted is no return address: readers look one byte back */
	frames = (u64 *)(w->out + sizeof(struct walker_head));
	frames[at] = pc + (i && w->is_exact && w->has_regs);
	w->nr_frames = i + 1;
	return !known || step(w);
}

/* ---- the report ---- */

static __always_inline int is_between(struct walker_work *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

static long on_page(u32 i, u32 *index)
{
	struct walker_work *w = work_at(index);
	u64 size, off;

	if (!w)
		return 1;
	size = PAGE - (w->copy_at & (PAGE - 1));
	off = (u64)w->copy_base + w->copy_bytes;
	if (off + size > WALKER_OUT_MOST || w->copy_bytes + size > config.stack_bytes ||
	    (w->is_often && w->copy_bytes + size > OFTEN_COPY))
		return 1;
	off &= WALKER_OUT_BYTES - 1;
	if (off > WALKER_OUT_BYTES - PAGE || size > PAGE)
		return 1;
	if (!bpf_probe_read_user(w->out + off, size, (void *)w->copy_at)) {
		w->copy_bytes += size;
	} else {
		/* nothing was written there yet: callers are above. Between two programs nothing
		 * is: see add_rest() */
		if (w->copy_bytes || is_between(w))
			return 1;
		w->copy_from = w->copy_at + size;
	}
	w->copy_at += size;
	return 0;
}

/* ---- frame pointers alone, as the kernel would follow them ---- */

static long on_pointer(u32 i, u32 *index)
{
	struct walker_work *w = work_at(index);
	u64 next, fp, at;

	if (!w)
		return 1;
	fp = w->chain_fp;
	/* it may lead to another stack, above or below */
	if (fp & 7 || try_read(w, fp))
		return 1;
	next = w->value;
	if (try_read(w, fp + 8) || !w->value)
		return 1;
	at = (w->nr_frames & (2 * WALKER_FRAMES_MAX - 1)) + (w->nr_chain & 127);
	*(u64 *)(w->out + sizeof(struct walker_head) + at * 8) = w->value;
	w->nr_chain++;
	w->chain_fp = next;
	return next == fp;
}

static __noinline int add_chain(struct walker_work *w)
{
	u32 index = w->index;

	w->chain_fp = w->regs[6];
	bpf_loop(WALKER_CHAIN_MAX, on_pointer, &index, 0);
	w->flags |= WALKER_HAS_CHAIN;
	return 0;
}

/* May another copy be made? A flood of them would take the room of the samples. */
static __always_inline int may_copy(struct walker_work *w)
{
	u64 now = bpf_ktime_get_ns(), back = (now - w->spent_at) * WALKER_COPY_RATE / 1000;

	w->spent_at = now;
	w->spent -= back < w->spent ? back : w->spent;
	return w->spent < config.burst_bytes;
}

/* Registers and stack behind the frames. */
static __noinline int add_copy(struct walker_work *w)
{
	u32 at = sizeof(struct walker_head) + (w->nr_frames & (2 * WALKER_FRAMES_MAX - 1)) * 8 +
		 (w->nr_chain & 127) * 8;
	u32 index = w->index;

	for (int i = 0; i < WALKER_REGS; i++)
		*(u64 *)(w->out + at + i * 8) = w->regs[i];
	w->copy_base = at + WALKER_REGS * 8 + 8;
	w->copy_bytes = 0;
	w->copy_from = w->copy_at = w->regs[7];
	bpf_loop(COPY_PAGES, on_page, &index, 0);
	*(u64 *)(w->out + at + WALKER_REGS * 8) = w->copy_from;
	mend_copy(w);
	w->flags |= WALKER_HAS_COPY;
	w->copies++;
	w->spent += w->is_often ? (u64)w->copy_bytes * OFTEN_COST : w->copy_bytes;
	return 0;
}

static __noinline int report(void *ctx, struct walker_work *w, u64 ip, u64 family)
{
	struct walker_head *h = (void *)w->out;
	u64 size = w->out_size;

	h->ip = ip;
	h->family = family;
	h->end = w->end;
	h->flags = w->flags;
	h->nr_frames = w->nr_frames;
	h->nr_chain = w->nr_chain;
	h->stack_bytes = w->copy_bytes;
	/* with the length in front of it a multiple of 8 */
	size = ((size + 7) & ~7ull) + 4;
	if (size > REPORT_MOST)
		size = REPORT_MOST;
	w->walks++;
	w->frames += w->nr_frames;
	w->ends[w->end & 15]++;
	if (bpf_perf_event_output(ctx, &stacks, BPF_F_CURRENT_CPU, w->out, size))
		w->dropped++;
	return 0;
}

/* Ask for a description of this address space: at the second sample of it, because many programs do
 * not live that long, and then not at every one. */
static __noinline int ask(void *ctx, struct walker_work *w, struct walker_need *need)
{
	struct walker_asked *a = &w->asked[(need->space ^ need->space >> 7) & (WALKER_NEEDS - 1)];
	u64 now = bpf_ktime_get_ns(), since = now - a->time;

	if (a->space != need->space) {
		a->space = need->space;
		a->time = now - config.need_ns;
		since = config.need_ns;
		if (!config.is_eager)
			return 0;
	}
	if (since < config.need_ns)
		return 0;
	a->time = now;
	w->needs++;
	need->pc = w->pc;
	need->end = w->end;
	bpf_perf_event_output(ctx, &needs, BPF_F_CURRENT_CPU, need, sizeof(*need));
	return 0;
}

/* The user's registers at the entry into the kernel, whatever interrupted it. */
static __always_inline int take_regs(struct walker_work *w, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs((void *)task);

	w->regs[0] = regs->rax;
	w->regs[1] = regs->rdx;
	w->regs[2] = regs->rcx;
	w->regs[3] = regs->rbx;
	w->regs[4] = regs->rsi;
	w->regs[5] = regs->rdi;
	w->regs[6] = regs->rbp;
	w->regs[7] = regs->rsp;
	w->regs[8] = regs->r8;
	w->regs[9] = regs->r9;
	w->regs[10] = regs->r10;
	w->regs[11] = regs->r11;
	w->regs[12] = regs->r12;
	w->regs[13] = regs->r13;
	w->regs[14] = regs->r14;
	w->regs[15] = regs->r15;
	w->regs[16] = regs->rip;
	w->call_number = regs->orig_rax;
	return 0;
}

static __always_inline void begin(struct walker_work *w)
{
	w->pc = w->regs[16];
	w->sp = w->regs[7];
	w->fp = w->regs[6];
	w->bx = w->regs[3];
	w->fp_at = w->bx_at = w->context = 0;
	w->fp_lost = w->bx_lost = w->by_pointer = w->nr_signals = w->nr_probed = 0;
	w->is_exact = w->has_regs = 1;
	w->map.start = w->map.end = 0;
	w->dir_serial = 0;
	w->window_len = 0;
}

/* The described address space; 0, or the walk has ended. */
static __always_inline int take_space(struct walker_work *w, struct walker_need *need)
{
	struct walker_space *s = bpf_map_lookup_elem(&spaces, &need->space);
	u32 index = walker_change(s ? need->space : need->family);
	u64 pages, *counter = bpf_map_lookup_elem(&changes, &index);

	w->is_borrowed = !s;
	if (!s)
		s = bpf_map_lookup_elem(&spaces, &need->family);
	if (!s || !counter)
		return stop(w, WALKER_UNKNOWN);
	w->generation = s->generation;
	w->maps = s->maps;
	w->nr_maps = s->nr_maps;
	w->labels = s->labels;
	pages = s->exec_pages;
	if (w->generation != s->generation_again) {
		w->labels.kind = WALKER_LABELS_NONE;
		return stop(w, WALKER_STALE);
	}
	if (pages != need->exec_pages || s->changes != *counter)
		return stop(w, WALKER_STALE);
	return 0;
}

static __always_inline int is_curable(u32 end)
{
	return end == WALKER_UNKNOWN || end == WALKER_STALE || end == WALKER_NO_TABLE ||
	       end == WALKER_UNMAPPED || end == WALKER_UNSUPPORTED || end == WALKER_MOVED ||
	       end == WALKER_GAP || end == WALKER_BAD;
}

/* What to send beside the frames, and what to ask for. */
static __always_inline void add_rest(void *ctx, struct walker_work *w, struct walker_need *need)
{
	if (w->end != WALKER_END && w->end != WALKER_LIMIT)
		add_chain(w);
	if (is_curable(w->end)) {
		if (may_copy(w))
			add_copy(w);
		else
			w->refused++;
		/* between two programs: the registers are of the one whose memory is gone */
		if (w->flags & WALKER_HAS_COPY && !w->copy_bytes && is_between(w)) {
			w->flags = w->nr_frames = w->nr_chain = 0;
			w->end = WALKER_NONE;
			return;
		}
		if (w->end != WALKER_UNSUPPORTED && w->end != WALKER_GAP && w->end != WALKER_BAD)
			ask(ctx, w, need);
		return;
	}
	if (w->is_borrowed)
		ask(ctx, w, need);
	if (config.verify_every && w->walks % config.verify_every == 0 && may_copy(w)) {
		add_copy(w);
		w->flags |= WALKER_IS_CHECK;
		w->checks++;
	}
}

static __always_inline int walk(void *ctx, struct walker_work *w, u64 ip, u32 is_often)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	struct walker_need need = {};
	u64 before = *(volatile u64 *)&control.reclaims;
	u32 index = w->index;

	w->nr_frames = w->flags = w->copy_bytes = w->nr_chain = 0;
	w->is_often = is_often;
	w->is_in_kernel = is_often || (s64)ip < 0;
	w->end = WALKER_NONE;
	w->labels.kind = WALKER_LABELS_NONE;
	if (mm && !(task->flags & (PF_EXITING | PF_KTHREAD))) {
		name_space(task, mm, &need);
		take_regs(w, task);
		begin(w);
		w->end = WALKER_LIMIT;
		/* the first is known without any description */
		*(u64 *)(w->out + sizeof(struct walker_head)) = w->pc;
		w->nr_frames = 1;
		if (!take_space(w, &need))
			bpf_loop(WALKER_FRAMES_MAX + 1 + PROBED_MAX, on_frame, &index, 0);
		if (*(volatile u64 *)&control.reclaims != before)
			w->end = WALKER_MOVED;
		add_rest(ctx, w, &need);
	}
	w->out_size = sizeof(struct walker_head) + w->nr_frames * 8 + w->nr_chain * 8;
	if (w->flags & WALKER_HAS_COPY)
		w->out_size = w->copy_base + w->copy_bytes;
	if (w->labels.kind && w->end != WALKER_NONE && add_labels(w)) {
		need.for_labels = 1;
		ask(ctx, w, &need);
	}
	report(ctx, w, ip, need.family);
	return 1;
}

/* The memory of the programs that the kernel runs one at a time. */
static __always_inline int walk_alone(void *ctx, u64 ip, u32 is_often)
{
	u32 index = bpf_get_smp_processor_id();
	struct walker_work *w = work_at(&index);

	if (!w)
		return 1;
	w->index = index;
	return walk(ctx, w, ip, is_often);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	/* 0: the kernel writes no sample */
	return config.filters_samples && !is_target() ? 0 : walk_alone(ctx, ctx->regs.rip, 0);
}

/* Programs of tracepoints and probes run at each hit, in any process. */
static __always_inline int is_wanted(void)
{
	return *(volatile u32 *)&control.runs && (!config.has_targets || is_target());
}

SEC("tp")
int on_tracepoint(void *ctx)
{
	return is_wanted() ? walk_alone(ctx, 0, 1) : 1;
}

SEC("kprobe")
int on_probe(void *ctx)
{
	u32 index = config.probe_works + bpf_get_smp_processor_id();
	struct walker_work *w;

	if (!is_wanted())
		return 1;
	w = work_at(&index);
	/* no report: the reader marks the sample */
	if (!w || __sync_lock_test_and_set(&w->is_taken, 1))
		return 1;
	w->index = index;
	walk(ctx, w, 0, 1);
	*(volatile u64 *)&w->is_taken = 0;
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
