/* SPDX-License-Identifier: MIT */
/* A rule applied to the registers of a frame, as unwind/table/walk.c does. Included by walker.bpf.c
 * alone. */
#pragma once

#include "bpf/look-up.bpf.h"

static __always_inline int over_signal_body(struct walker_work *w)
{
	u64 at = w->sp + CONTEXT_REGS, pc, sp, fp;

	if (++w->nr_signals > SIGNALS_MAX)
		return stop(w, WALKER_BAD);
	w->context = at;
	if (read_word(w, at + 16 * 8))
		return -1;
	pc = w->value;
	if (read_word(w, at + 15 * 8))
		return -1;
	sp = w->value;
	if (read_word(w, at + 10 * 8))
		return -1;
	fp = w->value;
	if (read_word(w, at + 11 * 8))
		return -1;
	w->bx = w->value;
	w->fp = fp;
	w->bx_at = w->fp_at = w->bx_lost = w->fp_lost = 0;
	w->pc = pc;
	w->sp = sp;
	w->is_exact = 1;
	w->has_regs = 1;
	w->by_pointer = 0;
	return 0;
}
ONCE(over_signal)

/* The caller's stack pointer into w->value. */
static __always_inline int find_cfa_body(struct walker_work *w)
{
	u64 rule = w->rule;
	u32 kind = rule & 15, arg = rule >> 8 & 255;
	s64 off = (s64)(rule << 24) >> 40, post = (s64)(signed char)arg * 8;

	switch (kind) {
	case CFA_SP:
	case CFA_RA_REG:
		w->value = w->sp + off;
		return 0;
	case CFA_FP:
		if (get_fp(w))
			return -1;
		w->value += off;
		return 0;
	case CFA_REG:
		if (any_reg(w, arg))
			return -1;
		w->value += off;
		return 0;
	case CFA_AT_SP:
		if (read_word(w, w->sp + off))
			return -1;
		w->value += post;
		return 0;
	case CFA_AT_FP:
		if (get_fp(w) || read_word(w, w->value + off))
			return -1;
		w->value += post;
		return 0;
	case CFA_PLT:
		w->value = w->sp + off + ((w->pc & 15) >= arg ? 8 : 0);
		return 0;
	default:
		return stop(w, WALKER_UNSUPPORTED);
	}
}
ONCE(find_cfa)

/* Where a register of the caller was saved: into w->value. */
static __always_inline int where_at(struct walker_work *w, u32 where, s64 off, u64 cfa)
{
	u64 base = 0;

	if (where == AT_CFA)
		base = cfa;
	else if (where == AT_SP)
		base = w->sp;
	else if (where == AT_FP) {
		if (get_fp(w))
			return -1;
		base = w->value;
	}
	w->value = base + off;
	return 0;
}

/* Below the stack pointer is the leaf's red zone: where it cannot be read the register keeps its
 * value. */
static __always_inline void move_fp(struct walker_work *w, u32 where, u64 at)
{
	if (where == SAME)
		return;
	if (where == LOST) {
		w->fp_lost = 1;
	} else if (at >= w->sp) {
		w->fp_at = at;
		w->fp_lost = 0;
	} else if (!try_read(w, at)) {
		w->fp = w->value;
		w->fp_at = w->fp_lost = 0;
	}
}

static __always_inline void move_bx(struct walker_work *w, u32 where, u64 at)
{
	if (where == SAME)
		return;
	if (where == LOST) {
		w->bx_lost = 1;
	} else if (at >= w->sp) {
		w->bx_at = at;
		w->bx_lost = 0;
	} else if (!try_read(w, at)) {
		w->bx = w->value;
		w->bx_at = w->bx_lost = 0;
	}
}

static __always_inline int apply_body(struct walker_work *w)
{
	u64 rule = w->rule, cfa, ra, fp_at, bx_at;
	u32 kind = rule & 15, fp = rule >> 4 & 15, other = w->other & 7;

	if (kind == CFA_SP) /* nearly always */
		w->value = w->sp + ((s64)(rule << 24) >> 40);
	else if (find_cfa(w))
		return -1;
	cfa = w->value;
	if (cfa <= w->sp && !(cfa == w->sp && kind == CFA_RA_REG && w->has_regs))
		return stop(w, WALKER_BAD);
	if (kind == CFA_RA_REG ? any_reg(w, rule >> 8 & 255) : read_word(w, cfa - 8))
		return -1;
	ra = w->value;
	if (where_at(w, fp, (s64)rule >> 40, cfa))
		return -1;
	fp_at = w->value;
	if (where_at(w, other, w->other >> 4, cfa))
		return -1;
	bx_at = w->value;
	move_bx(w, other, bx_at);
	move_fp(w, fp, fp_at);
	w->sp = cfa;
	w->pc = ra;
	w->is_exact = w->other >> 3 & 1;
	w->has_regs = 0;
	w->by_pointer = 0;
	return 0;
}
ONCE(apply)
