/* SPDX-License-Identifier: MIT */
/*
 * The second chance: the whole walk again, from the sample's registers on, with all of them
 * followed and every expression evaluated. Used when a compact rule was not enough (a frame that
 * hangs on r13, an expression of a hand-written function); what it cannot know either ends the walk
 * as bad. Code without unwind data is passed as the walk by compact rules passes it.
 */
#include "unwind/full.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "unwind/unwinder.h"

#define SIGNALS_MAX 32

struct full_walk {
	struct coati_unwinder *u;
	const struct walk_input *in;
	struct full_frame f;
	bool is_exact;
	uint32_t pc, sp, fp; /* their columns */
	uint32_t nr_signals;
	uint32_t how;
	enum coati_unwind_end end;
};

bool coati_full_read(struct full_frame *f, uint64_t addr, unsigned int size, uint64_t *ret)
{
	const struct walk_input *in = f->in;
	uint64_t off = addr - in->stack_addr, word = 0;

	if (!size || size > 8)
		return false;
	if (in->stack_size >= size && off <= in->stack_size - size) {
		memcpy(&word, in->stack + off, size);
	} else if (!in->read || in->read(in->ctx, addr, &word) < 0) {
		f->is_short = in->stack_size && addr >= in->stack_addr &&
			      addr - in->stack_addr + size > in->stack_size;
		return false;
	}
	*ret = size == 8 ? word : word & ((UINT64_C(1) << 8 * size) - 1);
	return true;
}

static int stop(struct full_walk *w, enum coati_unwind_end end)
{
	w->end = end;
	return -1;
}

/* A value that is not there: because the copy ends, or because it is unknown. */
static int stop_missing(struct full_walk *w)
{
	return stop(w, w->f.is_short ? COATI_UNWIND_TRUNCATED : COATI_UNWIND_BAD);
}

static const struct table_fde *find_fde(const struct gathered *g, uint64_t vaddr)
{
	size_t low = 0, high = g->nr_fdes;
	uint32_t place = UINT32_MAX;

	for (uint32_t i = 0; i < g->nr_ranges; i++)
		if (vaddr - g->ranges[i].start < g->ranges[i].size)
			place = (g->ranges[i].first_bucket << TABLE_BUCKET_BITS) +
				(uint32_t)(vaddr - g->ranges[i].start);
	if (place == UINT32_MAX)
		return NULL;
	low = SEARCH(mid, low, high, g->fdes[mid].place <= place);
	/* of those with the same start the first counts */
	while (low > 1 && g->fdes[low - 2].place == g->fdes[low - 1].place)
		low--;
	if (!low || place - g->fdes[low - 1].place >= g->fdes[low - 1].length)
		return NULL;
	return &g->fdes[low - 1];
}

/* Does a call leave the register alone? Those that it may change are lost, unless a rule says where
 * they are. */
static bool is_preserved(const struct full_walk *w, uint32_t reg)
{
	if (w->in->machine == EM_X86_64)
		return reg == 3 || reg == 6 || (reg >= 12 && reg <= 15);
	return reg >= 19 && reg <= 29;
}

static bool eval_reg(struct full_walk *w, const struct full_rule *r, uint64_t cfa, uint64_t *ret)
{
	uint64_t at;

	switch (r->kind) {
	case FULL_OFFSET:
		return coati_full_read(&w->f, cfa + (uint64_t)r->off, 8, ret);
	case FULL_VAL_OFFSET:
		*ret = cfa + (uint64_t)r->off;
		return true;
	case FULL_REGISTER:
		if (r->reg >= WALK_REGS || !(w->f.known >> r->reg & 1))
			return false;
		*ret = w->f.regs[r->reg];
		return true;
	case FULL_EXPR:
		return coati_full_expr(&w->f, r, &cfa, &at) == 0 &&
		       coati_full_read(&w->f, at, 8, ret);
	case FULL_VAL_EXPR:
		return coati_full_expr(&w->f, r, &cfa, ret) == 0;
	default:
		return false;
	}
}

static int eval_cfa(struct full_walk *w, const struct full_rule *r, uint64_t *ret)
{
	if (r->kind == FULL_VAL_EXPR)
		return coati_full_expr(&w->f, r, NULL, ret) == 0 ? 0 : stop_missing(w);
	if (r->kind != FULL_REGISTER || r->reg >= WALK_REGS || !(w->f.known >> r->reg & 1))
		return stop_missing(w);
	*ret = w->f.regs[r->reg] + (uint64_t)r->off;
	return 0;
}

/* The caller's registers, all at once from this frame's. */
static int apply_row(struct full_walk *w, const struct full_row *row, const struct cfi_cie *cie)
{
	const struct full_rule *ra = cie->ra < WALK_REGS ? &row->regs[cie->ra] : NULL;
	struct full_frame next = { .in = w->in };
	uint64_t cfa, pc;

	if (!ra)
		return stop(w, COATI_UNWIND_BAD);
	if (ra->kind == FULL_UNDEFINED)
		return stop(w, COATI_UNWIND_END);
	if (eval_cfa(w, &row->cfa, &cfa) < 0)
		return -1;
	for (uint32_t i = 0; i < WALK_REGS; i++) {
		const struct full_rule *r = &row->regs[i];
		bool is_kept = r->kind == FULL_SAME && w->f.known >> i & 1 &&
			       (cie->is_signal || is_preserved(w, i));

		next.regs[i] = w->f.regs[i];
		if (is_kept || eval_reg(w, r, cfa, &next.regs[i]))
			next.known |= UINT64_C(1) << i;
	}
	w->f.is_short = false;
	if (ra->kind == FULL_SAME && w->f.known >> cie->ra & 1)
		pc = w->f.regs[cie->ra];
	else if (!eval_reg(w, ra, cfa, &pc))
		return stop_missing(w);
	if (row->regs[w->sp].kind == FULL_SAME || !(next.known >> w->sp & 1))
		next.regs[w->sp] = cfa;
	if (w->in->machine == EM_AARCH64)
		pc &= (UINT64_C(1) << 48) - 1;
	if (!cie->is_signal && (next.regs[w->sp] < w->f.regs[w->sp] ||
				(next.regs[w->sp] == w->f.regs[w->sp] && !w->is_exact)))
		return stop(w, COATI_UNWIND_BAD);
	next.regs[w->pc] = pc;
	next.known |= UINT64_C(1) << w->pc | UINT64_C(1) << w->sp;
	w->f = next;
	w->is_exact = cie->is_signal;
	w->how = COATI_FRAME_TABLE;
	return 0;
}

/* All registers out of the kernel's signal frame. */
static int apply_signal(struct full_walk *w)
{
	static const uint8_t x86[17] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 };
	bool is_x86 = w->in->machine == EM_X86_64;
	uint64_t base = w->f.regs[w->sp] + (is_x86 ? 40 : 312);
	struct full_frame next = { .in = w->in };

	if (++w->nr_signals > SIGNALS_MAX)
		return stop(w, COATI_UNWIND_BAD);
	for (uint32_t i = 0; i < (is_x86 ? 17u : 33u); i++) {
		if (!coati_full_read(&w->f, base + 8 * (uint64_t)(is_x86 ? x86[i] : i), 8,
				     &next.regs[i]))
			return stop_missing(w);
		next.known |= UINT64_C(1) << i;
	}
	w->f = next;
	w->is_exact = true;
	w->how = COATI_FRAME_SIGNAL;
	return 0;
}

/* Stubs have no unwind data: what their rule says, which is never more than this. */
static int apply_stub(struct full_walk *w, const struct table_rule *r)
{
	struct full_row row = { .cfa = { .kind = FULL_REGISTER, .reg = w->sp, .off = r->cfa_off } };
	struct cfi_cie cie = { .ra = w->in->machine == EM_X86_64 ? 16 : 30 };

	if (r->cfa == TABLE_CFA_PLT && (w->f.regs[w->pc] & 15) >= r->arg)
		row.cfa.off += 8;
	else if (r->cfa != TABLE_CFA_SP && r->cfa != TABLE_CFA_PLT)
		return stop(w, COATI_UNWIND_BAD);
	if (w->in->machine == EM_X86_64)
		row.regs[16] = (struct full_rule){ .kind = FULL_OFFSET, .off = -8 };
	else if (r->other == TABLE_AT_CFA)
		row.regs[30] = (struct full_rule){ .kind = FULL_OFFSET, .off = r->other_off };
	return apply_row(w, &row, &cie);
}

static int apply_pointer(struct full_walk *w)
{
	uint64_t fp = w->f.regs[w->fp], next, ra;

	if (!(w->f.known >> w->fp & 1) || fp < w->f.regs[w->sp] || fp % 8 ||
	    !coati_full_read(&w->f, fp, 8, &next) || !coati_full_read(&w->f, fp + 8, 8, &ra))
		return stop(w, COATI_UNWIND_GAP);
	w->f.regs[w->pc] = ra;
	w->f.regs[w->sp] = fp + 16;
	w->f.regs[w->fp] = next;
	w->f.known = UINT64_C(1) << w->pc | UINT64_C(1) << w->sp | UINT64_C(1) << w->fp;
	w->is_exact = false;
	w->how = COATI_FRAME_POINTER;
	return 0;
}

/* Code of a file without a rule: the step of the compact walk, from and to all registers. */
static int apply_guess(struct full_walk *w)
{
	struct walk_input in = *w->in;
	struct full_frame next = { .in = w->in };
	struct walk guess;

	in.regs = w->f.regs;
	in.known = w->f.known;
	if (!coati_walk_begin(&guess, &in))
		return stop(w, COATI_UNWIND_BAD);
	guess.is_exact = w->is_exact;
	guess.frame.how = w->how;
	if (!coati_walk_guess(&guess))
		return stop(w, (enum coati_unwind_end)guess.end);
	next.known = UINT64_C(1) << w->pc | UINT64_C(1) << w->sp;
	for (uint32_t i = 0; i < WALK_REGS; i++) {
		next.regs[i] = w->f.regs[i];
		/* it had saved none yet, or none any more */
		if (!guess.other.is_lost && is_preserved(w, i))
			next.known |= w->f.known & UINT64_C(1) << i;
	}
	next.regs[w->pc] = guess.pc;
	next.regs[w->sp] = guess.sp;
	next.known &= ~(UINT64_C(1) << w->fp);
	if (coati_walk_reg(&guess, &guess.fp, &next.regs[w->fp]))
		next.known |= UINT64_C(1) << w->fp;
	w->how = guess.frame.how;
	w->f = next;
	w->is_exact = false;
	return 0;
}

static int apply_fde(struct full_walk *w, const struct walk_place *p, uint64_t vaddr,
		     const struct table_rule *rule)
{
	struct unwind_image *ui = coati_unwinder_image(w->u, p->image);
	struct unwind_cfi *c = ui ? coati_unwinder_cfi(w->u, p->image, ui) : NULL;
	const struct table_fde *f = c ? find_fde(&c->g, vaddr) : NULL;
	const struct program_cie *cie;
	struct full_row row;
	struct cfi_fde fde;

	if (!f)
		return c ? apply_stub(w, rule) : stop(w, COATI_UNWIND_BAD);
	cie = &c->g.cies[f->cie];
	if (coati_gathered_fde(&c->in, &c->g, f, &fde) < 0 ||
	    coati_full_row(cie->section, &cie->cie, &fde, vaddr, &row) < 0)
		return stop(w, COATI_UNWIND_BAD);
	return apply_row(w, &row, &cie->cie);
}

static int step(struct full_walk *w)
{
	uint64_t addr = w->f.regs[w->pc] - !w->is_exact;
	struct walk_place p = { 0 };
	struct table_rule rule;

	if (w->in->find(w->in->ctx, addr, &p) < 0)
		return stop(w, COATI_UNWIND_UNMAPPED);
	if (!p.table)
		return apply_pointer(w);
	rule = table_unpack(table_find(p.table, addr - p.bias));
	switch (rule.cfa) {
	case TABLE_CFA_GAP:
		return apply_guess(w);
	case TABLE_CFA_END:
		return stop(w, COATI_UNWIND_END);
	case TABLE_CFA_SIGNAL:
		return apply_signal(w);
	default:
		return apply_fde(w, &p, addr - p.bias, &rule);
	}
}

/* The frame that the registers are of; false when its address lies in nothing. */
static bool put_frame(struct full_walk *w, struct coati_unwind_frame *ret)
{
	uint64_t pc = w->f.regs[w->pc];
	struct walk_place p = { .image = COATI_IMAGE_NONE };
	bool is_known = w->in->find(w->in->ctx, pc, &p) >= 0 ||
			(!w->is_exact && w->in->find(w->in->ctx, pc - 1, &p) >= 0);

	*ret = (struct coati_unwind_frame){ .pc = pc,
					    .sp = w->f.regs[w->sp],
					    .image = is_known ? p.image : COATI_IMAGE_NONE,
					    .how = w->how,
					    .vaddr = is_known ? pc - p.bias : pc };
	return is_known;
}

int coati_unwind_full(struct coati_unwinder *u, const struct walk_input *wi,
		      struct coati_unwind_frame *frames, uint32_t max_frames,
		      enum coati_unwind_end *ret_end)
{
	bool is_x86 = wi->machine == EM_X86_64;
	struct full_walk w = { .u = u, .in = wi, .is_exact = true, .how = COATI_FRAME_REGS };
	uint32_t n = 0;

	w.pc = is_x86 ? 16 : 32;
	w.sp = is_x86 ? 7 : 31;
	w.fp = is_x86 ? 6 : 29;
	w.f.in = wi;
	w.f.known = wi->known;
	memcpy(w.f.regs, wi->regs, sizeof(w.f.regs));
	for (;;) {
		if (n && !w.f.regs[w.pc]) {
			w.end = COATI_UNWIND_END;
			break;
		}
		if (n == max_frames) {
			w.end = COATI_UNWIND_LIMIT;
			break;
		}
		if (!put_frame(&w, &frames[n]) && n) {
			w.end = COATI_UNWIND_UNMAPPED;
			break;
		}
		n++;
		if (step(&w) < 0)
			break;
	}
	*ret_end = w.end;
	return (int)n;
}
