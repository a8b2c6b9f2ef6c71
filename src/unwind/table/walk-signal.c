/* SPDX-License-Identifier: MIT */
/*
 * The frame that the kernel put on the stack (perhaps another one) to run a signal handler: all
 * registers of what it interrupted are in it, at places that are part of the kernel's ABI.
 */

#include "unwind/table/walk.h"

#define SIGNALS_MAX 32 /* handlers on handlers; more are a made-up stack */

/* Offsets from the stack pointer of the stub that returns from a handler: x86-64 has struct
 * ucontext there, whose registers begin with r8 at 40; arm64 has siginfo (128 bytes), then struct
 * ucontext, whose registers begin at 184. */
#define X86_REGS   40
#define ARM64_REGS (128 + 184)

static bool read_reg(struct walk *w, uint32_t word, struct walk_reg *ret)
{
	uint64_t value;

	if (!coati_walk_read(w, w->context + 8 * (uint64_t)word, &value))
		return false;
	*ret = (struct walk_reg){ .value = value };
	return true;
}

bool coati_walk_signal(struct walk *w)
{
	bool is_x86 = table_is_x86(w->in->machine);
	struct walk_reg pc, sp, fp, other;

	if (++w->nr_signals > SIGNALS_MAX)
		return coati_walk_stop(w, WALK_BAD);
	w->context = w->sp + (is_x86 ? X86_REGS : ARM64_REGS);
	if (!read_reg(w, is_x86 ? 16 : 32, &pc) || !read_reg(w, is_x86 ? 15 : 31, &sp) ||
	    !read_reg(w, is_x86 ? 10 : 29, &fp) || !read_reg(w, is_x86 ? 11 : 30, &other))
		return false;
	w->pc = pc.value;
	w->sp = sp.value;
	w->fp = fp;
	w->other = other;
	w->is_exact = true;
	w->has_regs = true;
	w->frame.how = WALK_SIGNAL;
	return true;
}
