/* SPDX-License-Identifier: MIT */
/* Instructions of a CIE and an FDE come in; the row of one address goes out, with a rule for each
 * register. */
#include <errno.h>
#include <string.h>

#include "unwind/full.h"

#define REMEMBER_MAX 8

struct run {
	const struct cfi_section *s;
	const struct cfi_cie *cie;
	struct cursor c;
	uint64_t loc, target;
	struct full_row row;
	struct full_rule initial[WALK_REGS]; /* of the CIE, for what restores */
	struct full_row stack[REMEMBER_MAX];
	unsigned int depth;
	bool is_there; /* the next row begins behind the target */
};

static void set(struct run *r, uint64_t reg, enum full_kind kind, int64_t off)
{
	if (reg < WALK_REGS)
		r->row.regs[reg] = (struct full_rule){ .kind = (uint8_t)kind, .off = off };
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->row.cfa = (struct full_rule){ .kind = FULL_REGISTER,
					 .reg = reg < WALK_REGS ? (uint32_t)reg : WALK_REGS,
					 .off = off };
}

static struct full_rule block(struct run *r, enum full_kind kind)
{
	uint64_t size = cursor_uleb(&r->c);
	struct full_rule rule = { .kind = (uint8_t)kind };

	rule.expr = cursor_bytes(&r->c, size > cursor_left(&r->c) ? SIZE_MAX : (size_t)size);
	rule.expr_size = rule.expr ? (size_t)size : 0;
	return rule;
}

static void advance(struct run *r, uint64_t delta)
{
	r->loc += delta * r->cie->code_align;
	r->is_there = r->loc > r->target;
}

static bool run_location(struct run *r, uint8_t op)
{
	uint64_t delta = 0;

	if (op == 0x01) /* set_loc */
		r->loc = coati_cfi_pointer(&r->c, r->s, r->cie->encoding);
	else if (!cfi_advance(&r->c, op, &delta))
		return false;
	advance(r, delta);
	return true;
}

static bool run_cfa(struct run *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, (int64_t)cursor_uleb(&r->c));
		return true;
	case 0x0d:
		set_cfa(r, cursor_uleb(&r->c), r->row.cfa.off);
		return true;
	case 0x0e:
		set_cfa(r, r->row.cfa.reg, (int64_t)cursor_uleb(&r->c));
		return true;
	case 0x0f:
		r->row.cfa = block(r, FULL_VAL_EXPR);
		return true;
	case 0x12:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, cfi_factored(r->cie, cursor_sleb(&r->c)));
		return true;
	case 0x13:
		set_cfa(r, r->row.cfa.reg, cfi_factored(r->cie, cursor_sleb(&r->c)));
		return true;
	default:
		return false;
	}
}

/* Instructions whose first operand is a register. */
static bool run_register(struct run *r, uint8_t op)
{
	struct full_rule rule;
	uint64_t reg;

	if (op < 0x05 || (op > 0x16 && op != 0x2f) || (op >= 0x0a && op <= 0x0f) || op == 0x12 ||
	    op == 0x13)
		return false;
	reg = cursor_uleb(&r->c);
	switch (op) {
	case 0x05:
		set(r, reg, FULL_OFFSET, cfi_factored(r->cie, (int64_t)cursor_uleb(&r->c)));
		break;
	case 0x06:
		if (reg < WALK_REGS)
			r->row.regs[reg] = r->initial[reg];
		break;
	case 0x07:
		set(r, reg, FULL_UNDEFINED, 0);
		break;
	case 0x08:
		set(r, reg, FULL_SAME, 0);
		break;
	case 0x09:
		rule = (struct full_rule){ .kind = FULL_REGISTER };
		rule.reg = (uint32_t)cursor_uleb(&r->c);
		if (reg < WALK_REGS)
			r->row.regs[reg] = rule;
		break;
	case 0x10:
	case 0x16:
		rule = block(r, op == 0x10 ? FULL_EXPR : FULL_VAL_EXPR);
		if (reg < WALK_REGS)
			r->row.regs[reg] = rule;
		break;
	case 0x11:
		set(r, reg, FULL_OFFSET, cfi_factored(r->cie, cursor_sleb(&r->c)));
		break;
	case 0x14:
		set(r, reg, FULL_VAL_OFFSET, cfi_factored(r->cie, (int64_t)cursor_uleb(&r->c)));
		break;
	case 0x15:
		set(r, reg, FULL_VAL_OFFSET, cfi_factored(r->cie, cursor_sleb(&r->c)));
		break;
	default: /* 0x2f */
		set(r, reg, FULL_OFFSET, cfi_factored(r->cie, (int64_t)(0 - cursor_uleb(&r->c))));
	}
	return true;
}

static void run_rest(struct run *r, uint8_t op)
{
	switch (op) {
	case 0x00:
	case 0x2c: /* signatures of return addresses are always stripped */
	case 0x2d:
		break;
	case 0x0a:
		if (r->depth == REMEMBER_MAX)
			r->c.bad = true;
		else
			r->stack[r->depth++] = r->row;
		break;
	case 0x0b:
		if (!r->depth)
			r->c.bad = true;
		else
			r->row = r->stack[--r->depth];
		break;
	case 0x2e:
		(void)cursor_uleb(&r->c);
		break;
	default:
		r->c.bad = true;
	}
}

static int run_all(struct run *r, uint32_t start, uint32_t end)
{
	r->c = cursor_over(r->s->bytes + start, end - start);
	while (cursor_left(&r->c) && !r->c.bad && !r->is_there) {
		uint8_t op = cursor_u8(&r->c);

		if (op >> 6 == 1)
			advance(r, op & 0x3f);
		else if (op >> 6 == 2)
			set(r, op & 0x3f, FULL_OFFSET,
			    cfi_factored(r->cie, (int64_t)cursor_uleb(&r->c)));
		else if (op >> 6 == 3 && (op & 0x3f) < WALK_REGS)
			r->row.regs[op & 0x3f] = r->initial[op & 0x3f];
		else if (op >> 6 != 3 && !run_location(r, op) && !run_cfa(r, op) &&
			 !run_register(r, op))
			run_rest(r, op);
	}
	return r->c.bad ? -EBADMSG : 0;
}

int coati_full_row(const struct cfi_section *s, const struct cfi_cie *cie,
		   const struct cfi_fde *fde, uint64_t vaddr, struct full_row *ret)
{
	struct run r = { .s = s, .cie = cie, .target = UINT64_MAX };
	int err = run_all(&r, cie->program, cie->program_end);

	if (err < 0)
		return err;
	memcpy(r.initial, r.row.regs, sizeof(r.initial));
	r.loc = fde->start;
	r.target = vaddr;
	r.is_there = false;
	r.depth = 0;
	err = run_all(&r, fde->program, fde->program_end);
	if (err < 0)
		return err;
	*ret = r.row;
	return 0;
}
