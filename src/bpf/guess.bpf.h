/* SPDX-License-Identifier: MIT */
/*
 * Frames without a rule: by frame pointers, or by a value that lies right behind a call. The same
 * steps in the same order as unwind/table/walk-guess.c. Code is read from the process, so that code
 * made at run time is known here, too. Included by walker.bpf.c alone.
 */
#pragma once

#include "bpf/look-up.bpf.h"

static __always_inline int is_call_form(u64 code, int size)
{
	/* the byte at distance @size from the end, the next one, and the one behind that */
	u8 op = code >> (64 - 8 * size), modrm = code >> (72 - 8 * size), sib;
	int want = 2, mod = modrm >> 6, rm = modrm & 7;

	if (op != 0xff || (modrm >> 3 & 7) != 2)
		return 0;
	sib = size >= 3 ? code >> (80 - 8 * size) : 0;
	if (mod != 3 && rm == 4)
		want++;
	if (mod == 1)
		want++;
	else if (mod == 2 || (mod == 0 && rm == 5))
		want += 4;
	else if (mod == 0 && rm == 4 && size >= 3 && (sib & 7) == 5)
		want += 4;
	return want == size;
}

/* What stands right before @addr: w->call and w->target. */
static __always_inline int call_before_body(struct walker_work *w, u64 addr)
{
	u64 code;

	w->call = CALL_NONE;
	w->target = NO_TARGET;
	if (!addr || find_map(w, addr - 1))
		return 0;
	if (bpf_probe_read_user(&w->code, 8, (void *)(addr - 8))) {
		w->call = CALL_UNKNOWN;
		return 0;
	}
	code = w->code;
	if (is_call_form(code, 2) || is_call_form(code, 3) || is_call_form(code, 4) ||
	    is_call_form(code, 6) || is_call_form(code, 7)) {
		w->call = CALL_SOME;
		return 0;
	}
	if ((u8)(code >> 24) == 0xe8) {
		w->target = addr + (s64)(int)(code >> 32);
		w->call = CALL_SOME;
	}
	return 0;
}
ONCE_WITH(call_before, u64)

static __always_inline int may_reach(u64 target, u64 pc)
{
	return target == NO_TARGET || pc - target < CALLEE_MAX;
}

static __always_inline int peek_fp(struct walker_work *w)
{
	if (w->fp_lost)
		return -1;
	if (w->fp_at) {
		if (try_read(w, w->fp_at))
			return -1;
		w->fp = w->value;
		w->fp_at = 0;
	}
	return 0;
}

static __always_inline int take(struct walker_work *w, u64 pc, u64 sp, u32 how)
{
	w->pc = pc;
	w->sp = sp;
	w->is_exact = 0;
	w->has_regs = 0;
	w->by_pointer = how == WALKER_HAS_POINTER;
	w->flags |= how;
	return 0;
}

/* The return address on top of the stack, when nothing was pushed yet: 1 when it is believed. */
static __always_inline int find_leaf_body(struct walker_work *w)
{
	if (!w->is_exact || try_read(w, w->sp))
		return 0;
	w->found_ra = w->value;
	call_before(w, w->found_ra);
	return w->call == CALL_SOME && may_reach(w->target, w->pc);
}
ONCE(find_leaf)

/* A frame record at fp: 1 when there is one; w->found_fp, w->value: the return address. */
static __always_inline int find_record_body(struct walker_work *w)
{
	u64 fp, next, ra;

	if (peek_fp(w))
		return 0;
	fp = w->fp;
	if (fp & 7 || fp < w->sp || fp - w->sp > FRAME_MAX || try_read(w, fp))
		return 0;
	next = w->value;
	if (try_read(w, fp + 8))
		return 0;
	ra = w->value;
	call_before(w, ra);
	w->value = ra;
	w->found_fp = fp;
	w->is_last = !next;
	w->is_linked = !next || (next > fp && !(next & 7) && next - fp <= FRAME_MAX);
	return 1;
}
ONCE(find_record)

static __always_inline int take_record(struct walker_work *w, u64 ra, u32 how)
{
	w->fp_at = w->found_fp;
	w->fp_lost = 0;
	w->bx_lost = 1;
	return take(w, ra, w->found_fp + 16, how);
}

/* The first and the last instructions of a function with a frame pointer: how far above sp the
 * return address is, or -1. */
static __always_inline int by_instruction(struct walker_work *w)
{
	u64 c;

	if (!w->is_exact || bpf_probe_read_user(&w->code, 8, (void *)w->pc))
		return -1;
	c = w->code;
	if (c == 0xe5894855fa1e0ff3ull || (u32)c == 0xe5894855u)
		return 0;
	if ((c & 0xffffff) == 0xe58948 || (c & 0xffff) == 0xc35d)
		return 8;
	return (c & 0xff) == 0xc3 ? 0 : -1;
}

static __always_inline int take_by_instruction(struct walker_work *w)
{
	int off = by_instruction(w);
	u64 sp = w->sp, ra;

	if (off < 0 || try_read(w, sp + off))
		return -1;
	ra = w->value;
	call_before(w, ra);
	if (w->call != CALL_SOME)
		return -1;
	if (off) {
		w->fp_at = sp;
		w->fp_lost = 0;
	}
	return take(w, ra, sp + off + 8, WALKER_HAS_POINTER);
}

static __always_inline int is_frameless(struct walker_work *w, u64 leaf, u64 record)
{
	if (record == NO_TARGET)
		return leaf != NO_TARGET;
	if (leaf == NO_TARGET)
		return !may_reach(record, w->pc);
	return record > w->pc || leaf > record;
}

/* Code of a file that no rule is for. */
static __always_inline int guess_body(struct walker_work *w)
{
	int has_leaf, has_record;
	u64 leaf_target, leaf_ra, record_ra;

	if (w->by_pointer && !peek_fp(w) && !w->fp)
		return stop(w, WALKER_END);
	if (!take_by_instruction(w))
		return 0;
	has_leaf = find_leaf(w);
	leaf_target = w->target;
	leaf_ra = w->found_ra;
	has_record = find_record(w);
	record_ra = w->value;
	if (has_record && w->call == CALL_NONE)
		has_record = w->is_last && w->by_pointer && !find_map(w, record_ra);
	if (has_record && w->is_linked && !(has_leaf && is_frameless(w, leaf_target, w->target)))
		return take_record(w, record_ra, WALKER_HAS_POINTER);
	if (has_leaf)
		return take(w, leaf_ra, w->sp + 8, WALKER_HAS_GUESS);
	if (has_record && w->call == CALL_SOME && may_reach(w->target, w->pc))
		return take_record(w, record_ra, WALKER_HAS_GUESS);
	return stop(w, WALKER_GAP);
}
ONCE(guess)

/* Code without any unwind data: made at run time. */
static __always_inline int by_pointer_body(struct walker_work *w)
{
	if (find_record(w) && w->call != CALL_NONE)
		return take_record(w, w->value, WALKER_HAS_POINTER);
	if (!peek_fp(w) && !w->fp)
		return stop(w, WALKER_END);
	if (find_leaf(w))
		return take(w, w->found_ra, w->sp + 8, WALKER_HAS_GUESS);
	return stop(w, WALKER_GAP);
}
ONCE(by_pointer)
