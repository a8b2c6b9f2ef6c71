/* SPDX-License-Identifier: MIT */
/*
 * Where there is no rule. A return address is believed only when it lies in known code right behind a call instruction; the frame
 * says that it was guessed. Code without any tables (made at run time, or of languages that keep frame pointers) is
 * walked by frame pointer.
 */
#include <string.h>

#include "unwind/table/walk.h"

#define FRAME_MAX  (UINT64_C(1) << 20)	/* no sane frame is larger */
#define CALLEE_MAX (UINT64_C(64) << 10) /* nor is a function without unwind data */

/* A direct call from before @ra tells whom it calls: code without unwind data is short, so that must be a little before @pc. An
 * address left over from an earlier call does not pass. */
static bool may_reach(uint64_t ra, int64_t offset, uint64_t pc)
{
	return pc == UINT64_MAX || pc - (ra + (uint64_t)offset) < CALLEE_MAX;
}

/* Does an x86-64 call that may lead to @pc end at the end of these bytes? call rel32, or call through a register or memory in any of
 * its forms. */
static bool ends_in_call_x86(const uint8_t c[WALK_CODE_SIZE], uint64_t ra, uint64_t pc)
{
	const uint8_t *end = c + WALK_CODE_SIZE;
	int32_t offset;

	memcpy(&offset, end - 4, 4);
	if (end[-5] == 0xe8 && may_reach(ra, offset, pc))
		return true;
	for (unsigned int size = 2; size <= 7; size++) {
		uint8_t modrm = end[1 - (int)size], mod = modrm >> 6, rm = modrm & 7;
		unsigned int want = 2;

		if (end[-(int)size] != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4)
			want++; /* SIB */
		if (mod == 1)
			want++;
		else if (mod == 2 || (mod == 0 && rm == 5))
			want += 4;
		else if (mod == 0 && rm == 4 && size >= 3 && (end[2 - (int)size] & 7) == 5)
			want += 4;
		if (want == size)
			return true;
	}
	return false;
}

/* bl, blr, and blr with authentication. */
static bool ends_in_call_arm64(const uint8_t c[WALK_CODE_SIZE], uint64_t ra, uint64_t pc)
{
	uint32_t insn;

	memcpy(&insn, c + WALK_CODE_SIZE - 4, 4);
	return ((insn & 0xfc000000) == 0x94000000 &&
		may_reach(ra - 4, (int64_t)((uint64_t)insn << 38) >> 36, pc)) ||
	       (insn & 0xfffffc1f) == 0xd63f0000 || (insn & 0xfefff800) == 0xd63f0800;
}

/* 1: behind a call (for a guess, one that may have led here); 0: not; -1: its bytes are not known. */
static int is_behind_call(struct walk *w, uint64_t addr, enum walk_how how)
{
	const struct walk_place *p = addr ? coati_walk_place(w, addr - 1) : NULL;
	uint8_t code[WALK_CODE_SIZE];

	if (!p)
		return 0;
	if (!w->in->code || w->in->code(w->in->ctx, p, addr, code) < 0)
		return -1;
	/* code made at run time jumps from function to function: there the frame pointer is the better witness */
	return table_is_x86(w->in->machine)
		       ? ends_in_call_x86(code, addr, how == WALK_GUESS ? w->pc : UINT64_MAX)
		       : ends_in_call_arm64(code, addr, how == WALK_GUESS ? w->pc : UINT64_MAX);
}

/* Try to read without ending the walk. */
static bool peek(struct walk *w, uint64_t addr, uint64_t *ret)
{
	bool ok = coati_walk_read(w, addr, ret);

	w->is_over = false;
	return ok;
}

static bool peek_reg(struct walk *w, struct walk_reg *r, uint64_t *ret)
{
	bool ok = coati_walk_reg(w, r, ret);

	w->is_over = false;
	return ok;
}

static uint64_t strip(const struct walk *w, uint64_t addr)
{
	return !table_is_x86(w->in->machine) ? addr & ((UINT64_C(1) << 48) - 1) : addr;
}

static bool take(struct walk *w, uint64_t pc, uint64_t sp, enum walk_how how)
{
	w->pc = pc;
	w->sp = sp;
	w->is_exact = false;
	w->has_regs = false;
	if (!table_is_x86(w->in->machine))
		w->other.is_lost = true;
	w->frame.how = how;
	return true;
}

/* The leaf has not pushed anything yet: the return address is on top of the stack, or in the link register. */
static bool guess_leaf(struct walk *w)
{
	bool is_x86 = table_is_x86(w->in->machine);
	uint64_t ra;

	if (!w->is_exact)
		return false;
	if (is_x86 ? !peek(w, w->sp, &ra) : !peek_reg(w, &w->other, &ra))
		return false;
	ra = strip(w, ra);
	if (is_behind_call(w, ra, WALK_GUESS) != 1)
		return false;
	return take(w, ra, w->sp + (is_x86 ? 8 : 0), WALK_GUESS);
}

/* By a frame record {fp, return address} at fp; @want: what is_behind_call() must say at least. */
static bool by_record(struct walk *w, int want, enum walk_how how)
{
	uint64_t fp, ra;
	int r;

	if (!peek_reg(w, &w->fp, &fp) || fp % 8 || fp < w->sp || fp - w->sp > FRAME_MAX ||
	    !peek(w, fp + 8, &ra))
		return false;
	ra = strip(w, ra);
	r = is_behind_call(w, ra, how);
	if (r != 1 && r != want)
		return false;
	w->fp = (struct walk_reg){ .at = fp };
	w->other.is_lost = true;
	return take(w, ra, fp + 16, how);
}

bool coati_walk_guess(struct walk *w)
{
	if (w->in->code && (guess_leaf(w) || by_record(w, 1, WALK_GUESS)))
		return true;
	return coati_walk_stop(w, WALK_GAP);
}

bool coati_walk_pointer(struct walk *w)
{
	uint64_t fp;

	if (by_record(w, -1, WALK_POINTER))
		return true;
	/* that is how such code marks its outermost frame */
	if (peek_reg(w, &w->fp, &fp) && !fp)
		return coati_walk_stop(w, WALK_END);
	if (guess_leaf(w))
		return true;
	return coati_walk_stop(w, WALK_GAP);
}
