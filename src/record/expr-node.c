/* SPDX-License-Identifier: MIT */
/* Nodes of an expression: their types, and the arithmetic of constants, which is done at once. */
#include <errno.h>
#include <string.h>

#include "record/expr-parser.h"

struct expr coati_expr_number_literal(struct parser *p)
{
	struct expr e = { .kind = EXPR_NUMBER };
	int r = coati_token_number(&p->token, &e.number, &e.ctype);

	if (r)
		coati_expr_fail(p, r);
	coati_expr_next(p);
	return e;
}

struct expr coati_expr_string_literal(struct parser *p)
{
	struct expr e = { .kind = EXPR_STRING, .type = EXPR_IS_TEXT };
	const char *at = p->token.at;
	int r = coati_token_string(&at, p->scope->arena, &e.text, &e.len);

	if (r < 0) {
		coati_expr_fail(p, r);
		return e;
	}
	p->at = at;
	coati_expr_next(p);
	return e;
}

static uint16_t deeper(uint16_t depth, const struct expr *child)
{
	return child && child->depth > depth ? child->depth : depth;
}

/* Into the arena. A chain of operators is as deep as it is long, and evaluation goes down to its
 * end. */
const struct expr *coati_expr_keep(struct parser *p, const struct expr *e)
{
	uint16_t depth = (uint16_t)(deeper(deeper(deeper(0, e->a), e->b), e->c) + 1);
	struct expr *copy;

	if (e->kind == EXPR_NAMED)
		coati_expr_fail(p, -EOPNOTSUPP);
	if (p->error)
		return NULL;
	if (++p->scope->nodes > EXPR_NODES_MAX || depth > EXPR_DEPTH_MAX) {
		coati_expr_fail(p, -E2BIG);
		return NULL;
	}
	copy = coati_arena_alloc(p->scope->arena, sizeof(*copy));
	if (!copy)
		coati_expr_fail(p, -ENOMEM);
	else
		*copy = *e;
	if (copy)
		copy->depth = depth;
	return copy;
}

void coati_expr_need(struct parser *p, const struct expr *e, enum expr_type type)
{
	if (e->type != type)
		coati_expr_fail(p, -EOPNOTSUPP);
}

/* Numbers smaller than an int become one. */
static struct ctype promote(struct ctype t)
{
	return t.size < 4 ? int_type : t;
}

/* The type in which two numbers meet. */
static struct ctype meet(struct ctype a, struct ctype b)
{
	a = promote(a);
	b = promote(b);
	if (a.size != b.size)
		return a.size > b.size ? a : b;
	return a.is_signed ? b : a;
}

static bool is_comparison(uint8_t op)
{
	return op == '<' || op == '>' || (op >= TOKEN_OP_LE && op <= TOKEN_OP_OR);
}

/* The kernel replaces the names of constants by numbers in its format files, but not all of them,
 * and it knows variables that we cannot see. In a table of flags such an entry is left out, and the
 * value is printed as a number; an argument that needs one is printed as a question mark. */
struct expr coati_expr_named(enum expr_type type)
{
	return (struct expr){ .kind = EXPR_NAMED, .type = type, .ctype = int_type };
}

struct expr coati_expr_binary(struct parser *p, uint8_t op, struct expr a, struct expr b)
{
	struct expr e = { .kind = EXPR_BINARY, .op = op };
	struct ctype t;

	coati_expr_need(p, &a, EXPR_IS_NUMBER);
	coati_expr_need(p, &b, EXPR_IS_NUMBER);
	/* The left side of a shift alone decides its type. */
	t = op == TOKEN_OP_SHL || op == TOKEN_OP_SHR ? promote(a.ctype) : meet(a.ctype, b.ctype);
	e.ctype = is_comparison(op) ? int_type : t;
	if (a.kind == EXPR_NAMED || b.kind == EXPR_NAMED)
		return coati_expr_named(EXPR_IS_NUMBER);
	if (a.kind == EXPR_NUMBER && b.kind == EXPR_NUMBER) {
		e.kind = EXPR_NUMBER;
		e.number = coati_expr_compute(op, t, a.number, b.number);
		return e;
	}
	e.operands = t;
	e.a = coati_expr_keep(p, &a);
	e.b = coati_expr_keep(p, &b);
	return e;
}

struct expr coati_expr_unary(struct parser *p, uint8_t op, struct expr a)
{
	struct expr e = { .kind = EXPR_UNARY, .op = op, .ctype = promote(a.ctype) };

	coati_expr_need(p, &a, EXPR_IS_NUMBER);
	if (op == '+' || a.kind == EXPR_NAMED)
		return a;
	if (op == '!')
		e.ctype = int_type;
	if (a.kind == EXPR_NUMBER) {
		e.kind = EXPR_NUMBER;
		e.number = op == '!' ? !a.number : op == '~' ? ~a.number : 0 - a.number;
		e.number = coati_expr_convert(e.number, e.ctype);
		return e;
	}
	e.a = coati_expr_keep(p, &a);
	return e;
}

struct expr coati_expr_cast(struct parser *p, struct ctype t, struct expr a)
{
	struct expr e = { .kind = EXPR_CAST, .ctype = t };

	if (a.type == EXPR_IS_BYTES && t.pointer) {
		e = (struct expr){ .kind = EXPR_VIEW, .type = EXPR_IS_BYTES, .ctype = t };
		e.a = coati_expr_keep(p, &a);
		return e;
	}
	/* A name that we do not know as a type changes nothing that we could know of; (char *) of a
	 * text is that text. */
	if ((!t.size && !t.pointer) || (a.type == EXPR_IS_TEXT && t.pointer && t.size == 1))
		return a;
	coati_expr_need(p, &a, EXPR_IS_NUMBER);
	if (a.kind == EXPR_NAMED)
		return a;
	if (t.pointer)
		e.ctype = ulong_type;
	if (a.kind == EXPR_NUMBER) {
		e.kind = EXPR_NUMBER;
		e.number = coati_expr_convert(a.number, e.ctype);
		return e;
	}
	e.a = coati_expr_keep(p, &a);
	return e;
}

struct expr coati_expr_element(struct parser *p, struct expr a, struct expr index)
{
	struct expr e = { .kind = EXPR_INDEX, .ctype = a.ctype };

	coati_expr_need(p, &index, EXPR_IS_NUMBER);
	if (a.kind == EXPR_FIELD && a.type == EXPR_IS_TEXT)
		a.type = EXPR_IS_BYTES;
	coati_expr_need(p, &a, EXPR_IS_BYTES);
	e.ctype.pointer = false;
	if (e.ctype.size != 1 && e.ctype.size != 2 && e.ctype.size != 4 && e.ctype.size != 8)
		coati_expr_fail(p, -EOPNOTSUPP);
	e.a = coati_expr_keep(p, &a);
	e.b = coati_expr_keep(p, &index);
	return e;
}

/* No text at all, where the other side is one. */
static void null_text(struct expr *e, const struct expr *other)
{
	if (e->kind == EXPR_NUMBER && !e->number && other->type == EXPR_IS_TEXT)
		*e = (struct expr){
			.kind = EXPR_STRING, .type = EXPR_IS_TEXT, .text = "(null)", .len = 6
		};
}

struct expr coati_expr_choice(struct parser *p, struct expr a, struct expr b, struct expr c)
{
	struct expr e = { .kind = EXPR_CHOICE };

	null_text(&b, &c);
	null_text(&c, &b);
	e.type = b.type;
	e.ctype = b.ctype;
	coati_expr_need(p, &a, EXPR_IS_NUMBER);
	coati_expr_need(p, &c, b.type);
	if (a.kind == EXPR_NAMED || b.kind == EXPR_NAMED || c.kind == EXPR_NAMED)
		return coati_expr_named(b.type);
	if (b.type == EXPR_IS_NUMBER)
		e.ctype = meet(b.ctype, c.ctype);
	if (a.kind == EXPR_NUMBER)
		return a.number ? b : c;
	e.a = coati_expr_keep(p, &a);
	e.b = coati_expr_keep(p, &b);
	e.c = coati_expr_keep(p, &c);
	return e;
}
