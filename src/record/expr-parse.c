/* SPDX-License-Identifier: MIT */
/*
 * C expressions by precedence climbing. Nodes are passed by value while they are constants and go
 * into the arena when an operator that needs the record holds on to them, so that the kernel's long
 * tables of flag constants leave nothing behind.
 */
#include "record/expr-parser.h"

#include <errno.h>
#include <string.h>

#include "record/token.h"

/* ---- tokens ---- */

void coati_expr_fail(struct parser *p, int error)
{
	if (!p->error)
		p->error = error;
	p->token = (struct token){ .kind = TOKEN_END };
}

void coati_expr_next(struct parser *p)
{
	int r;

	if (p->error)
		return;
	r = coati_token_next(&p->at, &p->token);
	if (r)
		coati_expr_fail(p, r);
}

bool coati_expr_at_op(const struct parser *p, uint8_t op)
{
	return p->token.kind == TOKEN_OP && p->token.op == op;
}

bool coati_expr_at_name(const struct parser *p, const char *name)
{
	return p->token.kind == TOKEN_NAME && p->token.len == strlen(name) &&
	       memcmp(p->token.at, name, p->token.len) == 0;
}

bool coati_expr_take(struct parser *p, uint8_t op)
{
	if (!coati_expr_at_op(p, op))
		return false;
	coati_expr_next(p);
	return true;
}

void coati_expr_expect(struct parser *p, uint8_t op)
{
	if (!coati_expr_take(p, op))
		coati_expr_fail(p, -EOPNOTSUPP);
}

static struct expr prefixed(struct parser *p);

/* ---- types ---- */

/* The words of a type up to the closing parenthesis, which is taken; false (and nothing taken) when
 * it is none. A single word that we do not know is a type when what follows the parenthesis cannot
 * follow a value. */
static bool type_words(struct parser *p, struct ctype *ret)
{
	struct parser start = *p;
	struct ctype t = { 0 };
	bool known = true;
	int words = 0;

	while (p->token.kind == TOKEN_NAME && !coati_expr_at_name(p, "REC")) {
		if (coati_expr_at_name(p, "struct") || coati_expr_at_name(p, "union") ||
		    coati_expr_at_name(p, "enum")) {
			t = (struct ctype){ .size = coati_expr_at_name(p, "enum") ? 4 : 0 };
			coati_expr_next(p);
		} else if (!coati_ctype_word(&t, p->token.at, p->token.len)) {
			known = false;
		}
		words++;
		coati_expr_next(p);
	}
	while (coati_expr_at_op(p, '*')) {
		/* A pointer to a pointer points to 8 bytes. */
		t = t.pointer ? (struct ctype){ .size = 8, .pointer = true } : t;
		t.pointer = true;
		known = true;
		coati_expr_next(p);
	}
	if (words && coati_expr_at_op(p, ')') && (known || words == 1)) {
		coati_expr_next(p);
		if (known || coati_expr_at_op(p, '(') || p->token.kind == TOKEN_NAME ||
		    p->token.kind == TOKEN_NUMBER) {
			*ret = known ? t : (struct ctype){ 0 };
			return true;
		}
	}
	*p = start;
	return false;
}

static struct expr size_of(struct parser *p)
{
	struct expr e = { .kind = EXPR_NUMBER, .ctype = ulong_type };
	struct ctype t;

	coati_expr_expect(p, '(');
	if (type_words(p, &t)) {
		e.number = t.pointer ? 8 : t.size;
	} else if (coati_expr_at_name(p, "REC")) {
		struct expr field = coati_expr_record_member(p, false);

		e.number = field.field ? field.field->size : 0;
		coati_expr_expect(p, ')');
	}
	if (!e.number)
		coati_expr_fail(p, -EOPNOTSUPP);
	return e;
}

/* ---- the grammar, from the inside out ---- */

static struct expr name_expr(struct parser *p)
{
	enum expr_function f = coati_expr_function_at(p);
	struct expr e = { .kind = EXPR_NUMBER, .ctype = int_type };

	if (coati_expr_at_name(p, "REC"))
		return coati_expr_record_member(p, false);
	if (coati_expr_at_name(p, "sizeof")) {
		coati_expr_next(p);
		return size_of(p);
	}
	if (coati_expr_at_name(p, "true") || coati_expr_at_name(p, "false") ||
	    coati_expr_at_name(p, "NULL")) {
		e.number = coati_expr_at_name(p, "true");
		coati_expr_next(p);
		return e;
	}
	coati_expr_next(p);
	if (f == FN_NONE && !coati_expr_at_op(p, '('))
		return coati_expr_named(EXPR_IS_NUMBER);
	coati_expr_expect(p, '(');
	e = coati_expr_arguments(p, f);
	coati_expr_expect(p, ')');
	return e;
}

static struct expr primary(struct parser *p)
{
	struct expr e = { 0 };

	switch (p->token.kind) {
	case TOKEN_NUMBER:
		return coati_expr_number_literal(p);
	case TOKEN_STRING:
		return coati_expr_string_literal(p);
	case TOKEN_NAME:
		return name_expr(p);
	default:
		break;
	}
	coati_expr_expect(p, '(');
	if (coati_expr_at_name(p, "REC")) {
		struct parser start = *p;

		coati_expr_next(p);
		if (coati_expr_at_op(p, ')')) {
			*p = start;
			return coati_expr_record_member(p, true);
		}
		*p = start;
	}
	e = coati_expr_expression(p);
	coati_expr_expect(p, ')');
	return e;
}

static struct expr postfixed(struct parser *p)
{
	struct expr e = primary(p);

	while (coati_expr_take(p, '[')) {
		e = coati_expr_element(p, e, coati_expr_expression(p));
		coati_expr_expect(p, ']');
	}
	return e;
}

/* &REC->field: its bytes. */
static struct expr address_of(struct parser *p)
{
	struct expr e = prefixed(p);

	if (e.kind != EXPR_FIELD)
		coati_expr_fail(p, -EOPNOTSUPP);
	e.type = EXPR_IS_BYTES;
	return e;
}

static struct expr prefixed_inner(struct parser *p)
{
	static const struct expr zero = { .kind = EXPR_NUMBER, .ctype = { .size = 4 } };
	uint8_t op = p->token.kind == TOKEN_OP ? p->token.op : 0;
	struct parser start = *p;
	struct ctype t;

	switch (op) {
	case '!':
	case '~':
	case '-':
	case '+':
		coati_expr_next(p);
		return coati_expr_unary(p, op, prefixed(p));
	case '&':
		coati_expr_next(p);
		return address_of(p);
	case '*':
		coati_expr_next(p);
		return coati_expr_element(p, prefixed(p), zero);
	case '(':
		coati_expr_next(p);
		if (type_words(p, &t))
			return coati_expr_cast(p, t, prefixed(p));
		*p = start;
		return postfixed(p);
	default:
		return postfixed(p);
	}
}

static struct expr prefixed(struct parser *p)
{
	struct expr e = { 0 };

	if (++p->depth > EXPR_DEPTH_MAX)
		coati_expr_fail(p, -E2BIG);
	else
		e = prefixed_inner(p);
	p->depth--;
	return e;
}

/* How strongly it binds; 0: no binary operator. */
static int strength(const struct parser *p)
{
	if (p->token.kind != TOKEN_OP)
		return 0;
	switch (p->token.op) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case TOKEN_OP_SHL:
	case TOKEN_OP_SHR:
		return 8;
	case '<':
	case '>':
	case TOKEN_OP_LE:
	case TOKEN_OP_GE:
		return 7;
	case TOKEN_OP_EQ:
	case TOKEN_OP_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case TOKEN_OP_AND:
		return 2;
	case TOKEN_OP_OR:
		return 1;
	default:
		return 0;
	}
}

static struct expr binaries(struct parser *p, int least)
{
	struct expr e = prefixed(p);
	int s;

	while ((s = strength(p)) >= least && s) {
		uint8_t op = p->token.op;

		coati_expr_next(p);
		e = coati_expr_binary(p, op, e, binaries(p, s + 1));
	}
	return e;
}

struct expr coati_expr_expression(struct parser *p)
{
	struct expr a, b;

	if (++p->depth > EXPR_DEPTH_MAX) {
		coati_expr_fail(p, -E2BIG);
		p->depth--;
		return (struct expr){ 0 };
	}
	a = binaries(p, 1);
	if (coati_expr_take(p, '?')) {
		b = coati_expr_at_op(p, ':') ? a : coati_expr_expression(p);
		coati_expr_expect(p, ':');
		a = coati_expr_choice(p, a, b, coati_expr_expression(p));
	}
	p->depth--;
	return a;
}

int coati_expr_parse(const char **text, struct expr_scope *scope, const struct expr **ret)
{
	static const struct expr only_named = { .kind = EXPR_NAMED };
	struct parser p = { .at = *text, .scope = scope };
	const struct expr *kept = &only_named;
	struct expr e;

	coati_expr_next(&p);
	e = coati_expr_expression(&p);
	if (p.token.kind != TOKEN_END && !coati_expr_at_op(&p, ','))
		coati_expr_fail(&p, -EOPNOTSUPP);
	if (e.kind != EXPR_NAMED)
		kept = coati_expr_keep(&p, &e);
	if (p.error)
		return p.error;
	*text = p.token.at;
	*ret = kept;
	return 0;
}
