/* SPDX-License-Identifier: MIT */
/* An expression's bytes come in, its shape goes out when it is one of the known ones. */
#include "unwind/table/expr.h"

#include <string.h>

#include "unwind/table/cfi.h"

/* DW_OP_ numbers */
#define OP_DEREF       0x06
#define OP_PLUS_UCONST 0x23
#define OP_LIT0	       0x30
#define OP_BREG0       0x70
#define OP_BREGX       0x92

/* Behind "breg7 (rsp): 8", as the linkers write it for a PLT: breg16 (rip): 0, lit15, and, litN,
 * ge, lit3, shl, plus. */
static bool is_plt(const uint8_t *p, size_t size, int64_t *ret_from)
{
	static const uint8_t head[] = { 0x80, 0x00, 0x3f, 0x1a },
			     tail[] = { 0x2a, 0x33, 0x24, 0x22 };

	if (size != 9 || memcmp(p, head, 4) != 0 || memcmp(p + 5, tail, 4) != 0 || p[4] < OP_LIT0 ||
	    p[4] > OP_LIT0 + 15)
		return false;
	*ret_from = p[4] - OP_LIT0;
	return true;
}

void coati_table_expr(const uint8_t *bytes, size_t size, struct table_expr *ret)
{
	struct cursor c = cursor_over(bytes, size);
	struct table_expr e = { 0 };
	uint8_t op = cursor_u8(&c);

	*ret = e;
	if (op == OP_BREGX)
		e.reg = (uint32_t)cursor_uleb(&c);
	else if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		e.reg = op - OP_BREG0;
	else
		return;
	e.off = cursor_sleb(&c);
	if (c.bad || e.reg > 255)
		return;
	if (!cursor_left(&c)) {
		e.kind = EXPR_REG;
	} else if (is_plt(c.at, cursor_left(&c), &e.post)) {
		e.kind = EXPR_PLT;
	} else if (cursor_u8(&c) == OP_DEREF) {
		if (cursor_left(&c) && cursor_u8(&c) != OP_PLUS_UCONST)
			return;
		if (c.at[-1] == OP_PLUS_UCONST)
			e.post = (int64_t)cursor_uleb(&c);
		if (c.bad || cursor_left(&c))
			return;
		e.kind = EXPR_AT_REG;
	}
	if (e.kind != EXPR_OTHER)
		*ret = e;
}
