/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions as they occur in unwind data: a stack machine over registers and memory. At
 * most so many operations and so deep a stack; branches may go both ways and still end.
 */
#include <errno.h>

#include "unwind/full.h"

#define STACK_MAX 64
#define STEPS_MAX 4096

struct machine {
	struct full_frame *f;
	struct cursor c;
	const uint8_t *bytes;
	size_t size;
	uint64_t v[STACK_MAX];
	unsigned int len;
	int failed;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->len == STACK_MAX)
		m->failed = -EBADMSG;
	else
		m->v[m->len++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (!m->len) {
		m->failed = -EBADMSG;
		return 0;
	}
	return m->v[--m->len];
}

static void push_reg(struct machine *m, uint64_t reg, int64_t off)
{
	if (reg >= WALK_REGS || !(m->f->known >> reg & 1)) {
		m->failed = -ENODATA;
		return;
	}
	push(m, m->f->regs[reg] + (uint64_t)off);
}

static void load(struct machine *m, unsigned int size)
{
	uint64_t v = 0;

	if (!coati_full_read(m->f, pop(m), size, &v))
		m->failed = -ENODATA;
	push(m, v);
}

/* Constants; false when @op is none. */
static bool run_constant(struct machine *m, uint8_t op)
{
	switch (op) {
	case 0x03: /* addr */
	case 0x0e: /* const8u */
	case 0x0f: /* const8s */
		push(m, cursor_u64(&m->c));
		return true;
	case 0x08:
		push(m, cursor_u8(&m->c));
		return true;
	case 0x09:
		push(m, (uint64_t)(int64_t)(int8_t)cursor_u8(&m->c));
		return true;
	case 0x0a:
		push(m, cursor_u16(&m->c));
		return true;
	case 0x0b:
		push(m, (uint64_t)(int64_t)(int16_t)cursor_u16(&m->c));
		return true;
	case 0x0c:
		push(m, cursor_u32(&m->c));
		return true;
	case 0x0d:
		push(m, (uint64_t)(int64_t)(int32_t)cursor_u32(&m->c));
		return true;
	case 0x10:
		push(m, cursor_uleb(&m->c));
		return true;
	case 0x11:
		push(m, (uint64_t)cursor_sleb(&m->c));
		return true;
	default:
		return false;
	}
}

/* Moves on the stack. */
static bool run_move(struct machine *m, uint8_t op)
{
	uint64_t a, b, c;
	uint8_t i;

	switch (op) {
	case 0x12: /* dup */
	case 0x14: /* over */
	case 0x15: /* pick */
		i = op == 0x12 ? 0 : op == 0x14 ? 1 : cursor_u8(&m->c);
		if (i >= m->len)
			m->failed = -EBADMSG;
		else
			push(m, m->v[m->len - 1 - i]);
		return true;
	case 0x13:
		(void)pop(m);
		return true;
	case 0x16: /* swap */
		a = pop(m);
		b = pop(m);
		push(m, a);
		push(m, b);
		return true;
	case 0x17: /* rot */
		a = pop(m);
		b = pop(m);
		c = pop(m);
		push(m, a);
		push(m, c);
		push(m, b);
		return true;
	default:
		return false;
	}
}

/* One operand. */
static bool run_unary(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case 0x06:
		load(m, 8);
		return true;
	case 0x94: /* deref_size */
		load(m, cursor_u8(&m->c));
		return true;
	case 0x19: /* abs */
		a = pop(m);
		push(m, (int64_t)a < 0 ? 0 - a : a);
		return true;
	case 0x1f:
		push(m, 0 - pop(m));
		return true;
	case 0x20:
		push(m, ~pop(m));
		return true;
	case 0x23: /* plus_uconst */
		a = pop(m);
		push(m, a + cursor_uleb(&m->c));
		return true;
	case 0x96: /* nop */
		return true;
	default:
		return false;
	}
}

static uint64_t divide(struct machine *m, uint64_t a, uint64_t b)
{
	if (!b || (a == UINT64_C(1) << 63 && b == UINT64_MAX)) {
		m->failed = -EBADMSG;
		return 0;
	}
	return (uint64_t)((int64_t)a / (int64_t)b);
}

/* Two operands, the upper one last. */
static bool run_binary(struct machine *m, uint8_t op)
{
	uint64_t b, a, v = 0;
	int64_t x, y;

	if (op != 0x1a && op != 0x1b && op != 0x1c && op != 0x1d && op != 0x1e && op != 0x21 &&
	    op != 0x22 && (op < 0x24 || op > 0x27) && (op < 0x29 || op > 0x2e))
		return false;
	b = pop(m);
	a = pop(m);
	x = (int64_t)a;
	y = (int64_t)b;
	switch (op) {
	case 0x1a:
		v = a & b;
		break;
	case 0x1b:
		v = divide(m, a, b);
		break;
	case 0x1c:
		v = a - b;
		break;
	case 0x1d: /* mod */
		if (!b)
			m->failed = -EBADMSG;
		else
			v = a % b;
		break;
	case 0x1e:
		v = a * b;
		break;
	case 0x21:
		v = a | b;
		break;
	case 0x22:
		v = a + b;
		break;
	case 0x24:
		v = b < 64 ? a << b : 0;
		break;
	case 0x25:
		v = b < 64 ? a >> b : 0;
		break;
	case 0x26:
		v = (uint64_t)(x >> (b < 64 ? b : 63));
		break;
	case 0x27:
		v = a ^ b;
		break;
	case 0x29:
		v = x == y;
		break;
	case 0x2a:
		v = x >= y;
		break;
	case 0x2b:
		v = x > y;
		break;
	case 0x2c:
		v = x <= y;
		break;
	case 0x2d:
		v = x < y;
		break;
	default:
		v = x != y;
	}
	push(m, v);
	return true;
}

static bool run_branch(struct machine *m, uint8_t op)
{
	int16_t by;
	size_t at;

	if (op != 0x28 && op != 0x2f)
		return false;
	by = (int16_t)cursor_u16(&m->c);
	if (op == 0x28 && !pop(m))
		return true;
	at = (size_t)(m->c.at - m->bytes) + (size_t)(ptrdiff_t)by;
	if (at > m->size)
		m->failed = -EBADMSG;
	else
		m->c.at = m->bytes + at;
	return true;
}

static void run_one(struct machine *m)
{
	uint8_t op = cursor_u8(&m->c);
	uint64_t reg;

	if (op >= 0x30 && op <= 0x4f) {
		push(m, op - 0x30u);
	} else if (op >= 0x70 && op <= 0x8f) {
		push_reg(m, op - 0x70u, cursor_sleb(&m->c));
	} else if (op == 0x92) {
		reg = cursor_uleb(&m->c);
		push_reg(m, reg, cursor_sleb(&m->c));
	} else if (!run_constant(m, op) && !run_move(m, op) && !run_unary(m, op) &&
		   !run_binary(m, op) && !run_branch(m, op)) {
		m->failed = -EOPNOTSUPP;
	}
	if (m->c.bad)
		m->failed = -EBADMSG;
}

int coati_full_expr(struct full_frame *f, const struct full_rule *e, const uint64_t *start,
		    uint64_t *ret)
{
	struct machine m = { .f = f, .bytes = e->expr, .size = e->expr_size };

	m.c = cursor_over(e->expr, e->expr_size);
	if (start)
		push(&m, *start);
	for (int i = 0; cursor_left(&m.c) && !m.failed; i++) {
		if (i == STEPS_MAX)
			return -EBADMSG;
		run_one(&m);
	}
	if (!m.failed && !m.len)
		return -EBADMSG;
	if (m.failed)
		return m.failed;
	*ret = m.v[m.len - 1];
	return 0;
}
