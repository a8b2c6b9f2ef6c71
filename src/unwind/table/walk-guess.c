/* SPDX-License-Identifier: MIT */
/*
 * Where there is no rule. A return address is believed only when it lies in known code right behind
 * a call instruction. Code that keeps frame pointers (made at run time, written in assembly, or of
 * languages that always keep them) is walked by them: the records of its frames lead from one to
 * the next. The frame says so; what was found in any other way says that it is a guess.
 */
#include <string.h>

#include "unwind/table/walk.h"

#define FRAME_MAX  (UINT64_C(1) << 20)	/* no sane frame is larger */
#define CALLEE_MAX (UINT64_C(64) << 10) /* nor is a function without unwind data */
#define NO_TARGET  UINT64_MAX		/* of a call through a register or memory */

/* What stands right before a return address. */
enum call { CALL_UNKNOWN, CALL_NONE, CALL_SOME };

/* Does an x86-64 call end at the end of these bytes? call rel32, or call through a register or
 * memory in any of its forms. */
static bool ends_in_call_x86(const uint8_t c[WALK_CODE_SIZE], uint64_t ra, uint64_t *ret_target)
{
	const uint8_t *end = c + WALK_CODE_SIZE;
	int32_t offset;

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
		if (want == size) {
			*ret_target = NO_TARGET;
			return true;
		}
	}
	memcpy(&offset, end - 4, 4);
	*ret_target = ra + (uint64_t)(int64_t)offset;
	return end[-5] == 0xe8;
}

/* bl, blr, and blr with authentication. */
static bool ends_in_call_arm64(const uint8_t c[WALK_CODE_SIZE], uint64_t ra, uint64_t *ret_target)
{
	uint32_t insn;

	memcpy(&insn, c + WALK_CODE_SIZE - 4, 4);
	*ret_target = NO_TARGET;
	if ((insn & 0xfffffc1f) == 0xd63f0000 || (insn & 0xfefff800) == 0xd63f0800)
		return true;
	*ret_target = ra - 4 + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36);
	return (insn & 0xfc000000) == 0x94000000;
}

static enum call call_before(struct walk *w, uint64_t addr, uint64_t *ret_target)
{
	const struct walk_place *p = addr ? coati_walk_place(w, addr - 1) : NULL;
	uint8_t code[WALK_CODE_SIZE];
	bool is_call;

	*ret_target = NO_TARGET;
	if (!p)
		return CALL_NONE;
	if (!w->in->code || w->in->code(w->in->ctx, p, addr, code) < 0)
		return CALL_UNKNOWN;
	is_call = table_is_x86(w->in->machine) ? ends_in_call_x86(code, addr, ret_target)
					       : ends_in_call_arm64(code, addr, ret_target);
	return is_call ? CALL_SOME : CALL_NONE;
}

int coati_walk_call(struct walk *w, uint64_t addr)
{
	uint64_t target;
	enum call call = call_before(w, addr, &target);

	return call == CALL_UNKNOWN ? -1 : call == CALL_SOME;
}

/* A direct call tells whom it calls: code without unwind data is short, so that must be a little
 * before @pc. An address left over from an earlier call does not pass. */
static bool may_reach(uint64_t target, uint64_t pc)
{
	return target == NO_TARGET || pc - target < CALLEE_MAX;
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

/* A return address that was found, and how well. */
struct found {
	uint64_t ra, target;
	uint64_t fp; /* where the frame record is */
	enum call call;
	/* the record leads to another one further up, or says that it is the last */
	bool is_linked;
	bool is_last;
};

/* The leaf has not pushed anything yet: the return address is on top of the stack, or in the link
 * register. */
static bool find_leaf(struct walk *w, struct found *ret)
{
	if (!w->is_exact)
		return false;
	if (table_is_x86(w->in->machine) ? !peek(w, w->sp, &ret->ra)
					 : !peek_reg(w, &w->other, &ret->ra))
		return false;
	ret->ra = strip(w, ret->ra);
	ret->call = call_before(w, ret->ra, &ret->target);
	return ret->call == CALL_SOME && may_reach(ret->target, w->pc);
}

static bool take_leaf(struct walk *w, const struct found *f)
{
	return take(w, f->ra, w->sp + (table_is_x86(w->in->machine) ? 8 : 0), WALK_GUESS);
}

/* A frame record {fp, return address} at fp. */
static bool find_record(struct walk *w, struct found *ret)
{
	uint64_t fp, next;

	if (!peek_reg(w, &w->fp, &fp) || fp % 8 || fp < w->sp || fp - w->sp > FRAME_MAX ||
	    !peek(w, fp, &next) || !peek(w, fp + 8, &ret->ra))
		return false;
	ret->fp = fp;
	ret->ra = strip(w, ret->ra);
	ret->call = call_before(w, ret->ra, &ret->target);
	ret->is_last = !next;
	ret->is_linked = !next || (next > fp && next % 8 == 0 && next - fp <= FRAME_MAX);
	return true;
}

static bool take_record(struct walk *w, const struct found *f, enum walk_how how)
{
	w->fp = (struct walk_reg){ .at = f->fp };
	w->other.is_lost = true;
	return take(w, f->ra, f->fp + 16, how);
}

/* Both the top of the stack and the frame record have a return address: does the record belong to
 * the caller of a function that has none? What a direct call leads to is where a function begins,
 * and the one that holds pc begins nearest below it. */
static bool is_frameless(const struct walk *w, const struct found *leaf, const struct found *record)
{
	if (record->target == NO_TARGET)
		return leaf->target != NO_TARGET;
	if (leaf->target == NO_TARGET)
		return !may_reach(record->target, w->pc);
	return record->target > w->pc || leaf->target > record->target;
}

/* The first and the last instructions of a function with a frame pointer show where the return
 * address is: how many bytes above the stack pointer, or -1. The frame pointer is saved right below
 * it, or still in its register when that is 0. */
static int by_instruction(struct walk *w)
{
	const struct walk_place *p = coati_walk_place(w, w->pc);
	uint8_t c[WALK_CODE_SIZE];

	if (!w->is_exact || !table_is_x86(w->in->machine) || !p ||
	    p->end - w->pc < WALK_CODE_SIZE ||
	    w->in->code(w->in->ctx, p, w->pc + WALK_CODE_SIZE, c) < 0)
		return -1;
	if (!memcmp(c, "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8) ||
	    !memcmp(c, "\x55\x48\x89\xe5", 4)) /* (endbr64) push rbp; mov rsp, rbp */
		return 0;
	if (!memcmp(c, "\x48\x89\xe5", 3) || !memcmp(c, "\x5d\xc3", 2))
		return 8; /* mov rsp, rbp; pop rbp, ret */
	return c[0] == 0xc3 ? 0 : -1;
}

static bool take_by_instruction(struct walk *w)
{
	int off = by_instruction(w);
	uint64_t sp = w->sp, ra, target;

	if (off < 0 || !peek(w, sp + (uint64_t)off, &ra) ||
	    call_before(w, ra, &target) != CALL_SOME)
		return false;
	if (off)
		w->fp = (struct walk_reg){ .at = sp };
	return take(w, ra, sp + (uint64_t)off + 8, WALK_POINTER);
}

/* Frame pointers led here, and this one says that there are no more. */
static bool is_end(struct walk *w)
{
	uint64_t fp;

	return w->frame.how == WALK_POINTER && peek_reg(w, &w->fp, &fp) && !fp;
}

bool coati_walk_guess(struct walk *w)
{
	struct found leaf, record;
	bool has_leaf, has_record;

	if (is_end(w))
		return coati_walk_stop(w, WALK_END);
	if (!w->in->code)
		return coati_walk_stop(w, WALK_GAP);
	if (take_by_instruction(w))
		return true;
	has_leaf = find_leaf(w, &leaf);
	has_record = find_record(w, &record);
	/* what starts a thread is not called: behind frames that were, the last record is believed
	 * without a call */
	if (has_record && record.call == CALL_NONE)
		has_record = record.is_last && w->frame.how == WALK_POINTER &&
			     coati_walk_place(w, record.ra);
	if (has_record && record.is_linked && !(has_leaf && is_frameless(w, &leaf, &record)))
		return take_record(w, &record, WALK_POINTER);
	if (has_leaf)
		return take_leaf(w, &leaf);
	if (has_record && record.call == CALL_SOME && may_reach(record.target, w->pc))
		return take_record(w, &record, WALK_GUESS);
	return coati_walk_stop(w, WALK_GAP);
}

bool coati_walk_pointer(struct walk *w)
{
	struct found f;
	uint64_t fp;

	/* code made at run time jumps from function to function: there the frame pointer is the
	 * better witness */
	if (find_record(w, &f) && f.call != CALL_NONE)
		return take_record(w, &f, WALK_POINTER);
	/* that is how such code marks its outermost frame */
	if (peek_reg(w, &w->fp, &fp) && !fp)
		return coati_walk_stop(w, WALK_END);
	if (find_leaf(w, &f))
		return take_leaf(w, &f);
	return coati_walk_stop(w, WALK_GAP);
}
