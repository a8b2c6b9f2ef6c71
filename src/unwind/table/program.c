/* SPDX-License-Identifier: MIT */
/*
 * Instructions of one CIE or FDE come in, rows go out. Only the CFA and four columns are followed
 * (frame pointer, rbx, return address, stack pointer); the others are read over. Hot: run for every
 * function of a file, so nothing is looked up and nothing is allocated.
 */
#include "unwind/table/program.h"

#include <errno.h>

#include "unwind/table/expr.h"

#define REMEMBER_MAX 16

struct run {
	const struct program_cie *p;
	struct cursor c;
	struct program_state now;
	uint64_t loc;
	uint32_t depth;
	program_row_fn fn;
	void *ctx;
	struct program_state stack[REMEMBER_MAX];
};

static enum program_slot slot_of(uint32_t machine, uint64_t reg)
{
	if (table_is_x86(machine)) {
		static const uint8_t slots[17] = {
			SLOT_REST, SLOT_REST, SLOT_REST, SLOT_OTHER, SLOT_REST, SLOT_REST,
			SLOT_FP,   SLOT_SP,   SLOT_REST, SLOT_REST,  SLOT_REST, SLOT_REST,
			SLOT_REST, SLOT_REST, SLOT_REST, SLOT_REST,  SLOT_RA,
		};

		return reg < 17 ? (enum program_slot)slots[reg] : SLOT_REST;
	}
	if (reg == 29)
		return SLOT_FP;
	if (reg == 30)
		return SLOT_RA;
	return reg == 31 ? SLOT_SP : SLOT_REST;
}

static void set_reg(struct run *r, uint64_t reg, enum program_kind kind, int64_t off)
{
	enum program_slot slot = slot_of(r->p->machine, reg);

	if (off != (int32_t)off)
		kind = PROGRAM_STRANGE;
	r->now.reg[slot] = (struct program_reg){ .kind = (uint8_t)kind, .off = (int32_t)off };
	r->now.is_changed |= slot != SLOT_REST;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->now.cfa = TABLE_CFA_SP;
	r->now.arg = 0;
	r->now.cfa_reg = reg < 256 ? (uint32_t)reg : 255;
	r->now.cfa_off = off;
	r->now.is_changed = true;
}

static void restore_reg(struct run *r, uint64_t reg)
{
	enum program_slot slot = slot_of(r->p->machine, reg);

	r->now.reg[slot] = r->p->initial.reg[slot];
	r->now.is_changed |= slot != SLOT_REST;
}

static void advance(struct run *r, uint64_t delta)
{
	if (r->now.is_changed && r->fn)
		r->fn(r->ctx, r->loc, &r->now);
	r->now.is_changed = false;
	r->loc += delta * r->p->cie.code_align;
}

static struct cursor block(struct cursor *c)
{
	uint64_t size = cursor_uleb(c);

	if (size > cursor_left(c))
		size = SIZE_MAX;
	return cursor_sub(c, (size_t)size);
}

static void set_cfa_expr(struct run *r)
{
	struct cursor b = block(&r->c);
	struct table_expr e;

	coati_table_expr(b.at, cursor_left(&b), &e);
	r->now.is_changed = true;
	r->now.cfa = TABLE_CFA_UNSUPPORTED;
	if (e.kind == EXPR_REG) {
		set_cfa(r, e.reg, e.off);
	} else if (e.kind == EXPR_AT_REG && e.post % 8 == 0 && e.post / 8 == (int8_t)(e.post / 8)) {
		set_cfa(r, e.reg, e.off);
		r->now.cfa = TABLE_CFA_AT_SP;
		r->now.arg = (uint8_t)(e.post / 8);
	} else if (e.kind == EXPR_PLT && table_is_x86(r->p->machine)) {
		set_cfa(r, e.reg, e.off);
		r->now.cfa = TABLE_CFA_PLT;
		r->now.arg = (uint8_t)e.post;
	}
}

/* The register lies in memory at the address that an expression gives. */
static void set_reg_expr(struct run *r)
{
	uint64_t reg = cursor_uleb(&r->c);
	struct cursor b = block(&r->c);
	enum program_kind kind = PROGRAM_STRANGE;
	struct table_expr e;

	coati_table_expr(b.at, cursor_left(&b), &e);
	if (e.kind == EXPR_REG && slot_of(r->p->machine, e.reg) == SLOT_FP)
		kind = PROGRAM_AT_FP;
	else if (e.kind == EXPR_REG && slot_of(r->p->machine, e.reg) == SLOT_SP)
		kind = PROGRAM_AT_SP;
	set_reg(r, reg, kind, kind == PROGRAM_STRANGE ? 0 : e.off);
}

static void remember(struct run *r)
{
	if (r->depth == REMEMBER_MAX)
		r->c.bad = true;
	else
		r->stack[r->depth++] = r->now;
}

static void recall(struct run *r)
{
	if (!r->depth) {
		r->c.bad = true;
		return;
	}
	r->now = r->stack[--r->depth];
	r->now.is_changed = true;
}

/* Instructions about places in the code; false when @op is none. */
static bool run_location(struct run *r, uint8_t op)
{
	uint64_t target;

	if (op == 0x01) { /* set_loc */
		target = coati_cfi_pointer(&r->c, r->p->section, r->p->cie.encoding);
		advance(r, 0);
		r->loc = target;
		return true;
	}
	if (!cfi_advance(&r->c, op, &target))
		return false;
	advance(r, target);
	return true;
}

static bool run_cfa(struct run *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, (int64_t)cursor_uleb(&r->c));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(r, cursor_uleb(&r->c), r->now.cfa_off);
		return true;
	case 0x0e: /* def_cfa_offset */
		set_cfa(r, r->now.cfa_reg, (int64_t)cursor_uleb(&r->c));
		return true;
	case 0x0f:
		set_cfa_expr(r);
		return true;
	case 0x12: /* def_cfa_sf */
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, cfi_factored(&r->p->cie, cursor_sleb(&r->c)));
		return true;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(r, r->now.cfa_reg, cfi_factored(&r->p->cie, cursor_sleb(&r->c)));
		return true;
	default:
		return false;
	}
}

/* Instructions about one register, whose number comes first. */
static bool run_register(struct run *r, uint8_t op)
{
	uint64_t reg, n;

	if (op < 0x05 || op > 0x16 || (op >= 0x0a && op <= 0x0f) || op == 0x12 || op == 0x13)
		return false;
	if (op == 0x10) {
		set_reg_expr(r);
		return true;
	}
	reg = cursor_uleb(&r->c);
	switch (op) {
	case 0x05: /* offset_extended */
		set_reg(r, reg, PROGRAM_OFFSET,
			cfi_factored(&r->p->cie, (int64_t)cursor_uleb(&r->c)));
		break;
	case 0x06:
		restore_reg(r, reg);
		break;
	case 0x07:
		set_reg(r, reg, PROGRAM_UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set_reg(r, reg, PROGRAM_UNSET, 0);
		break;
	case 0x09: /* register */
		n = cursor_uleb(&r->c);
		set_reg(r, reg, PROGRAM_REGISTER, n < 256 ? (int64_t)n : 255);
		break;
	case 0x11: /* offset_extended_sf */
		set_reg(r, reg, PROGRAM_OFFSET, cfi_factored(&r->p->cie, cursor_sleb(&r->c)));
		break;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		n = cursor_uleb(&r->c);
		/* that the caller's sp is the CFA is what is taken anyway */
		set_reg(r, reg,
			slot_of(r->p->machine, reg) == SLOT_SP && !n ? PROGRAM_UNSET
								     : PROGRAM_STRANGE,
			0);
		break;
	default: /* val_expression */
		(void)block(&r->c);
		set_reg(r, reg, PROGRAM_STRANGE, 0);
	}
	return true;
}

static void run_rest(struct run *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
	/* the return address is signed from here on, or no more: signatures are always stripped */
	case 0x2c:
	case 0x2d:
		break;
	case 0x0a:
		remember(r);
		break;
	case 0x0b:
		recall(r);
		break;
	case 0x2e: /* GNU_args_size */
		(void)cursor_uleb(&r->c);
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		reg = cursor_uleb(&r->c);
		set_reg(r, reg, PROGRAM_OFFSET,
			cfi_factored(&r->p->cie, (int64_t)(0 - cursor_uleb(&r->c))));
		break;
	default:
		r->c.bad = true;
	}
}

static void run_one(struct run *r)
{
	uint8_t op = cursor_u8(&r->c);
	uint64_t low = op & 0x3f;

	if (op >> 6 == 1)
		advance(r, low);
	else if (op >> 6 == 2)
		set_reg(r, low, PROGRAM_OFFSET,
			cfi_factored(&r->p->cie, (int64_t)cursor_uleb(&r->c)));
	else if (op >> 6 == 3)
		restore_reg(r, low);
	else if (!run_cfa(r, op) && !run_location(r, op) && !run_register(r, op))
		run_rest(r, op);
}

static int run_all(struct run *r, uint32_t start, uint32_t end)
{
	r->c = cursor_over(r->p->section->bytes + start, end - start);
	while (cursor_left(&r->c) && !r->c.bad)
		run_one(r);
	return r->c.bad ? -EBADMSG : 0;
}

void coati_program_prepare(struct program_cie *p, const struct cfi_cie *cie,
			   const struct cfi_section *section, uint32_t machine)
{
	struct run r;

	*p = (struct program_cie){ .cie = *cie, .section = section, .machine = machine };
	p->initial.cfa = TABLE_CFA_UNSUPPORTED;
	r.p = p;
	r.fn = NULL;
	r.depth = 0;
	r.loc = 0;
	r.now = p->initial;
	p->is_bad = run_all(&r, cie->program, cie->program_end) < 0 ||
		    cie->ra != (table_is_x86(machine) ? 16u : 30u);
	p->initial = r.now;
}

int coati_program_run(const struct program_cie *p, const struct cfi_fde *fde, program_row_fn fn,
		      void *ctx, uint64_t *ret_at)
{
	struct run r;
	int ret;

	r.p = p;
	r.fn = fn;
	r.ctx = ctx;
	r.depth = 0;
	r.loc = fde->start;
	r.now = p->initial;
	r.now.is_changed = true;
	*ret_at = fde->start;
	if (p->is_bad)
		return -EBADMSG;
	ret = run_all(&r, fde->program, fde->program_end);
	*ret_at = r.loc;
	if (ret >= 0)
		advance(&r, 0);
	return ret;
}

/* How a column is found, as a rule says it; TABLE_LOST for what no rule can say. */
static enum table_where where(const struct program_reg *r)
{
	switch (r->kind) {
	case PROGRAM_UNSET:
		return TABLE_SAME;
	case PROGRAM_OFFSET:
		return TABLE_AT_CFA;
	case PROGRAM_AT_FP:
		return TABLE_AT_FP;
	case PROGRAM_AT_SP:
		return TABLE_AT_SP;
	default:
		return TABLE_LOST;
	}
}

static bool rule_cfa(const struct program_cie *p, const struct program_state *s,
		     struct table_rule *rule)
{
	enum program_slot slot = slot_of(p->machine, s->cfa_reg);

	rule->cfa = s->cfa;
	rule->arg = s->arg;
	if (s->cfa_off != (int32_t)s->cfa_off)
		return false;
	rule->cfa_off = (int32_t)s->cfa_off;
	switch (s->cfa) {
	case TABLE_CFA_SP:
		if (slot == SLOT_FP)
			rule->cfa = TABLE_CFA_FP;
		else if (slot != SLOT_SP) {
			rule->cfa = TABLE_CFA_REG;
			rule->arg = (uint8_t)s->cfa_reg;
		}
		return rule->cfa != TABLE_CFA_REG || s->cfa_reg < 32;
	case TABLE_CFA_AT_SP:
		if (slot == SLOT_FP)
			rule->cfa = TABLE_CFA_AT_FP;
		return slot == SLOT_FP || slot == SLOT_SP;
	case TABLE_CFA_PLT:
		return slot == SLOT_SP;
	default:
		return false;
	}
}

/* The return address: at CFA - 8 on x86-64, or in a register; on arm64 wherever the rule's second
 * part says. */
static bool rule_ra(const struct program_cie *p, const struct program_state *s,
		    struct table_rule *rule)
{
	const struct program_reg *ra = &s->reg[SLOT_RA];

	if (ra->kind == PROGRAM_REGISTER && rule->cfa == TABLE_CFA_SP && ra->off < 32) {
		rule->cfa = TABLE_CFA_RA_REG;
		rule->arg = (uint8_t)ra->off;
		return true;
	}
	if (table_is_x86(p->machine))
		return ra->kind == PROGRAM_OFFSET && ra->off == -8;
	rule->other = (uint8_t)where(ra);
	rule->other_off = ra->off;
	return rule->other != TABLE_LOST;
}

static bool make_rule(const struct program_cie *p, const struct program_state *s,
		      struct table_rule *rule)
{
	*rule = (struct table_rule){ .exact = p->cie.is_signal };
	if (!rule_cfa(p, s, rule) || s->reg[SLOT_SP].kind != PROGRAM_UNSET || !rule_ra(p, s, rule))
		return false;
	rule->fp = (uint8_t)where(&s->reg[SLOT_FP]);
	if (rule->fp == TABLE_LOST && s->reg[SLOT_FP].kind != PROGRAM_UNDEFINED)
		return false;
	if (rule->fp != TABLE_SAME && rule->fp != TABLE_LOST)
		rule->fp_off = s->reg[SLOT_FP].off;
	if (table_is_x86(p->machine)) {
		rule->other = (uint8_t)where(&s->reg[SLOT_OTHER]);
		if (rule->other != TABLE_SAME && rule->other != TABLE_LOST)
			rule->other_off = s->reg[SLOT_OTHER].off;
	}
	return true;
}

/* The frame that the kernel made for a signal handler. On arm64 the unwind data of its stub leads
 * past the interrupted function, so every 'S' is taken for one. */
static bool is_kernel_frame(const struct program_cie *p, const struct program_state *s)
{
	if (!p->cie.is_signal)
		return false;
	return !table_is_x86(p->machine) ||
	       (s->cfa == TABLE_CFA_AT_SP && s->cfa_reg == 7 && s->cfa_off == 160 && !s->arg);
}

void coati_program_rule(const struct program_cie *p, const struct program_state *s,
			struct table_packed *ret)
{
	struct table_rule rule;

	*ret = (struct table_packed){ .rule = TABLE_CFA_UNSUPPORTED };
	if (is_kernel_frame(p, s))
		ret->rule = TABLE_CFA_SIGNAL;
	else if (s->reg[SLOT_RA].kind == PROGRAM_UNDEFINED)
		ret->rule = TABLE_CFA_END;
	else if (make_rule(p, s, &rule) && !table_pack(&rule, ret))
		*ret = (struct table_packed){ .rule = TABLE_CFA_UNSUPPORTED };
}
