/* SPDX-License-Identifier: MIT */
/*
 * C expressions by precedence climbing. Nodes are passed by value while they are constants and go
 * into the arena when an operator that needs the record holds on to them, so that the kernel's long
 * tables of flag constants leave nothing behind.
 */
#include "record/expr.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "record/token.h"

#define PAIRS_MAX 1024

struct parser {
	const char *at;	    /* behind the token */
	struct token token; /* the one to look at */
	struct expr_scope *scope;
	uint32_t depth;
	int error; /* first one */
};

static const struct ctype int_type = { .size = 4, .is_signed = true };
static const struct ctype ulong_type = { .size = 8 };

/* ---- tokens ---- */

static void fail(struct parser *p, int error)
{
	if (!p->error)
		p->error = error;
	p->token = (struct token){ .kind = TOKEN_END };
}

static void next(struct parser *p)
{
	int r;

	if (p->error)
		return;
	r = coati_token_next(&p->at, &p->token);
	if (r)
		fail(p, r);
}

static bool at_op(const struct parser *p, uint8_t op)
{
	return p->token.kind == TOKEN_OP && p->token.op == op;
}

static bool at_name(const struct parser *p, const char *name)
{
	return p->token.kind == TOKEN_NAME && p->token.len == strlen(name) &&
	       memcmp(p->token.at, name, p->token.len) == 0;
}

static bool take(struct parser *p, uint8_t op)
{
	if (!at_op(p, op))
		return false;
	next(p);
	return true;
}

static void expect(struct parser *p, uint8_t op)
{
	if (!take(p, op))
		fail(p, -EOPNOTSUPP);
}

/* ---- literals ---- */

static struct expr number_literal(struct parser *p)
{
	struct expr e = { .kind = EXPR_NUMBER };
	int r = coati_token_number(&p->token, &e.number, &e.ctype);

	if (r)
		fail(p, r);
	next(p);
	return e;
}

static struct expr string_literal(struct parser *p)
{
	struct expr e = { .kind = EXPR_STRING, .type = EXPR_IS_TEXT };
	const char *at = p->token.at;
	int r = coati_token_string(&at, p->scope->arena, &e.text, &e.len);

	if (r < 0) {
		fail(p, r);
		return e;
	}
	p->at = at;
	next(p);
	return e;
}

/* ---- nodes ---- */

static uint16_t deeper(uint16_t depth, const struct expr *child)
{
	return child && child->depth > depth ? child->depth : depth;
}

/* Into the arena. A chain of operators is as deep as it is long, and evaluation goes down to its
 * end. */
static const struct expr *keep(struct parser *p, const struct expr *e)
{
	uint16_t depth = (uint16_t)(deeper(deeper(deeper(0, e->a), e->b), e->c) + 1);
	struct expr *copy;

	if (e->kind == EXPR_NAMED)
		fail(p, -EOPNOTSUPP);
	if (p->error)
		return NULL;
	if (++p->scope->nodes > EXPR_NODES_MAX || depth > EXPR_DEPTH_MAX) {
		fail(p, -E2BIG);
		return NULL;
	}
	copy = coati_arena_alloc(p->scope->arena, sizeof(*copy));
	if (!copy)
		fail(p, -ENOMEM);
	else
		*copy = *e;
	if (copy)
		copy->depth = depth;
	return copy;
}

static void need(struct parser *p, const struct expr *e, enum expr_type type)
{
	if (e->type != type)
		fail(p, -EOPNOTSUPP);
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
static struct expr named(enum expr_type type)
{
	return (struct expr){ .kind = EXPR_NAMED, .type = type, .ctype = int_type };
}

static struct expr binary(struct parser *p, uint8_t op, struct expr a, struct expr b)
{
	struct expr e = { .kind = EXPR_BINARY, .op = op };
	struct ctype t;

	need(p, &a, EXPR_IS_NUMBER);
	need(p, &b, EXPR_IS_NUMBER);
	/* The left side of a shift alone decides its type. */
	t = op == TOKEN_OP_SHL || op == TOKEN_OP_SHR ? promote(a.ctype) : meet(a.ctype, b.ctype);
	e.ctype = is_comparison(op) ? int_type : t;
	if (a.kind == EXPR_NAMED || b.kind == EXPR_NAMED)
		return named(EXPR_IS_NUMBER);
	if (a.kind == EXPR_NUMBER && b.kind == EXPR_NUMBER) {
		e.kind = EXPR_NUMBER;
		e.number = coati_expr_compute(op, t, a.number, b.number);
		return e;
	}
	e.operands = t;
	e.a = keep(p, &a);
	e.b = keep(p, &b);
	return e;
}

static struct expr unary(struct parser *p, uint8_t op, struct expr a)
{
	struct expr e = { .kind = EXPR_UNARY, .op = op, .ctype = promote(a.ctype) };

	need(p, &a, EXPR_IS_NUMBER);
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
	e.a = keep(p, &a);
	return e;
}

static struct expr cast(struct parser *p, struct ctype t, struct expr a)
{
	struct expr e = { .kind = EXPR_CAST, .ctype = t };

	if (a.type == EXPR_IS_BYTES && t.pointer) {
		e = (struct expr){ .kind = EXPR_VIEW, .type = EXPR_IS_BYTES, .ctype = t };
		e.a = keep(p, &a);
		return e;
	}
	/* A name that we do not know as a type changes nothing that we could know of; (char *) of a
	 * text is that text. */
	if ((!t.size && !t.pointer) || (a.type == EXPR_IS_TEXT && t.pointer && t.size == 1))
		return a;
	need(p, &a, EXPR_IS_NUMBER);
	if (a.kind == EXPR_NAMED)
		return a;
	if (t.pointer)
		e.ctype = ulong_type;
	if (a.kind == EXPR_NUMBER) {
		e.kind = EXPR_NUMBER;
		e.number = coati_expr_convert(a.number, e.ctype);
		return e;
	}
	e.a = keep(p, &a);
	return e;
}

/* ---- fields and functions ---- */

static struct expr expression(struct parser *p);
static struct expr prefixed(struct parser *p);

static const struct coati_tp_field *field_name(struct parser *p)
{
	char name[128];
	const struct coati_tp_field *f = NULL;
	size_t index;

	if (p->token.kind == TOKEN_NAME && p->token.len < sizeof(name)) {
		memcpy(name, p->token.at, p->token.len);
		name[p->token.len] = '\0';
		f = coati_tp_format_find(p->scope->format, name);
	}
	if (!f) {
		fail(p, -EOPNOTSUPP);
		return NULL;
	}
	index = (size_t)(f - p->scope->format->fields);
	p->scope->used[index / 64] |= UINT64_C(1) << index % 64;
	next(p);
	return f;
}

static struct expr field_expr(const struct coati_tp_field *f)
{
	struct expr e = { .kind = EXPR_FIELD, .field = f, .ctype = coati_field_element(f) };
	bool number = f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;

	if (f->is_string)
		e.type = EXPR_IS_TEXT;
	else if (f->is_array || f->place != COATI_TP_INLINE || !number)
		e.type = EXPR_IS_BYTES;
	return e;
}

/* REC->name or (REC)->name, at REC. */
static struct expr record_member(struct parser *p, bool in_parentheses)
{
	const struct coati_tp_field *f;

	next(p);
	if (in_parentheses)
		expect(p, ')');
	expect(p, TOKEN_OP_ARROW);
	f = field_name(p);
	return f ? field_expr(f) : (struct expr){ 0 };
}

/* { value, "text" }, ... up to the closing parenthesis. */
static void pairs(struct parser *p, struct expr *e)
{
	ARRAY(struct expr_pair) list = ARRAY_INIT(PAIRS_MAX);
	struct expr_pair *kept;

	while (take(p, ',')) {
		struct expr number, text;
		struct expr_pair *pair;

		expect(p, '{');
		if (take(p, '}'))
			continue;
		number = expression(p);
		expect(p, ',');
		text = expression(p);
		expect(p, '}');
		if (number.kind != EXPR_NUMBER && number.kind != EXPR_NAMED)
			fail(p, -EOPNOTSUPP);
		/* Old formats end their table with a null pointer. */
		if (number.kind == EXPR_NAMED || (text.kind == EXPR_NUMBER && !text.number))
			continue;
		if (text.kind != EXPR_STRING)
			fail(p, -EOPNOTSUPP);
		pair = p->error ? NULL : ARRAY_ADD(&list);
		if (!pair) {
			fail(p, list.len == PAIRS_MAX ? -E2BIG : -ENOMEM);
			break;
		}
		*pair = (struct expr_pair){ number.number, text.text, text.len };
	}
	kept = list.len ? coati_arena_alloc(p->scope->arena, list.len * sizeof(*kept)) : NULL;
	if (kept)
		memcpy(kept, list.v, list.len * sizeof(*kept));
	else if (list.len)
		fail(p, -ENOMEM);
	e->pairs = kept;
	e->nr_pairs = (uint32_t)list.len;
	ARRAY_FINI(&list);
}

static struct expr number_argument(struct parser *p)
{
	struct expr e = expression(p);

	need(p, &e, EXPR_IS_NUMBER);
	return e;
}

static struct expr print_flags(struct parser *p)
{
	struct expr e = { .kind = EXPR_FLAGS, .type = EXPR_IS_TEXT };
	struct expr a = number_argument(p), delimiter;

	expect(p, ',');
	delimiter = expression(p);
	if (delimiter.kind != EXPR_STRING)
		fail(p, -EOPNOTSUPP);
	e.text = delimiter.text;
	e.len = delimiter.len;
	pairs(p, &e);
	e.a = keep(p, &a);
	return e;
}

static struct expr print_symbolic(struct parser *p)
{
	struct expr e = { .kind = EXPR_SYMBOL, .type = EXPR_IS_TEXT };
	struct expr a = number_argument(p);

	pairs(p, &e);
	e.a = keep(p, &a);
	return e;
}

/* Texts are bytes too when a function asks for bytes. */
static struct expr bytes_argument(struct parser *p)
{
	struct expr e = expression(p);

	if (e.kind == EXPR_FIELD && e.type == EXPR_IS_TEXT)
		e.type = EXPR_IS_BYTES;
	need(p, &e, EXPR_IS_BYTES);
	return e;
}

static struct expr print_hex(struct parser *p, bool joined)
{
	struct expr e = { .kind = EXPR_HEX, .type = EXPR_IS_TEXT, .number = joined };
	struct expr a = bytes_argument(p), b;

	expect(p, ',');
	b = number_argument(p);
	e.a = keep(p, &a);
	e.b = keep(p, &b);
	return e;
}

static struct expr print_array(struct parser *p)
{
	struct expr e = { .kind = EXPR_ARRAY, .type = EXPR_IS_TEXT };
	struct expr a = bytes_argument(p), b, c;

	expect(p, ',');
	b = number_argument(p);
	expect(p, ',');
	c = number_argument(p);
	e.a = keep(p, &a);
	e.b = keep(p, &b);
	e.c = keep(p, &c);
	return e;
}

enum get_what { GET_TEXT, GET_ARRAY, GET_LENGTH, GET_BITS };

static struct expr get_dynamic(struct parser *p, enum get_what what)
{
	const struct coati_tp_field *f = field_name(p);
	struct expr e = { .kind = EXPR_FIELD, .type = EXPR_IS_BYTES, .field = f };

	if (!f)
		return e;
	if (f->place == COATI_TP_INLINE)
		fail(p, -EOPNOTSUPP);
	e.ctype = coati_field_element(f);
	if (what == GET_TEXT) {
		e.type = EXPR_IS_TEXT;
	} else if (what == GET_LENGTH) {
		e.kind = EXPR_LENGTH;
		e.type = EXPR_IS_NUMBER;
		e.ctype = int_type;
	} else if (what == GET_BITS) {
		e.kind = EXPR_BITS;
		e.type = EXPR_IS_TEXT;
	}
	return e;
}

/* Nanoseconds as whole seconds, and what is left of them. */
static struct expr ns_part(struct parser *p, uint8_t op)
{
	struct expr second = { .kind = EXPR_NUMBER, .ctype = ulong_type, .number = 1000000000 };
	struct expr a = number_argument(p);

	return binary(p, op, a, second);
}

static struct expr expect_call(struct parser *p)
{
	struct expr e = expression(p);

	expect(p, ',');
	(void)expression(p);
	return e;
}

enum function {
	FN_NONE,
	FN_FLAGS,
	FN_SYMBOLIC,
	FN_HEX,
	FN_HEX_STR,
	FN_ARRAY,
	FN_STR,
	FN_DYNAMIC,
	FN_DYNAMIC_LEN,
	FN_BITS,
	FN_EXPECT,
	FN_NS_SECONDS,
	FN_NS_REST,
};

static enum function function_at(const struct parser *p)
{
	static const struct {
		const char *name;
		enum function function;
	} names[] = {
		{ "__print_flags", FN_FLAGS },
		{ "__print_flags_u64", FN_FLAGS },
		{ "__print_symbolic", FN_SYMBOLIC },
		{ "__print_symbolic_u64", FN_SYMBOLIC },
		{ "__print_hex", FN_HEX },
		{ "__print_hex_str", FN_HEX_STR },
		{ "__print_array", FN_ARRAY },
		{ "__get_str", FN_STR },
		{ "__get_rel_str", FN_STR },
		{ "__get_dynamic_array", FN_DYNAMIC },
		{ "__get_rel_dynamic_array", FN_DYNAMIC },
		{ "__get_sockaddr", FN_DYNAMIC },
		{ "__get_rel_sockaddr", FN_DYNAMIC },
		{ "__get_dynamic_array_len", FN_DYNAMIC_LEN },
		{ "__get_rel_dynamic_array_len", FN_DYNAMIC_LEN },
		{ "__get_bitmask", FN_BITS },
		{ "__get_rel_bitmask", FN_BITS },
		{ "__get_cpumask", FN_BITS },
		{ "__get_rel_cpumask", FN_BITS },
		{ "__builtin_expect", FN_EXPECT },
		{ "__print_ns_to_secs", FN_NS_SECONDS },
		{ "__print_ns_without_secs", FN_NS_REST },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (at_name(p, names[i].name))
			return names[i].function;
	return FN_NONE;
}

static struct expr arguments(struct parser *p, enum function f)
{
	switch (f) {
	case FN_FLAGS:
		return print_flags(p);
	case FN_SYMBOLIC:
		return print_symbolic(p);
	case FN_HEX:
	case FN_HEX_STR:
		return print_hex(p, f == FN_HEX_STR);
	case FN_ARRAY:
		return print_array(p);
	case FN_STR:
		return get_dynamic(p, GET_TEXT);
	case FN_DYNAMIC:
		return get_dynamic(p, GET_ARRAY);
	case FN_DYNAMIC_LEN:
		return get_dynamic(p, GET_LENGTH);
	case FN_BITS:
		return get_dynamic(p, GET_BITS);
	case FN_EXPECT:
		return expect_call(p);
	case FN_NS_SECONDS:
		return ns_part(p, '/');
	case FN_NS_REST:
		return ns_part(p, '%');
	default:
		fail(p, -EOPNOTSUPP);
		return (struct expr){ 0 };
	}
}

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

	while (p->token.kind == TOKEN_NAME && !at_name(p, "REC")) {
		if (at_name(p, "struct") || at_name(p, "union") || at_name(p, "enum")) {
			t = (struct ctype){ .size = at_name(p, "enum") ? 4 : 0 };
			next(p);
		} else if (!coati_ctype_word(&t, p->token.at, p->token.len)) {
			known = false;
		}
		words++;
		next(p);
	}
	while (at_op(p, '*')) {
		/* A pointer to a pointer points to 8 bytes. */
		t = t.pointer ? (struct ctype){ .size = 8, .pointer = true } : t;
		t.pointer = true;
		known = true;
		next(p);
	}
	if (words && at_op(p, ')') && (known || words == 1)) {
		next(p);
		if (known || at_op(p, '(') || p->token.kind == TOKEN_NAME ||
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

	expect(p, '(');
	if (type_words(p, &t)) {
		e.number = t.pointer ? 8 : t.size;
	} else if (at_name(p, "REC")) {
		struct expr field = record_member(p, false);

		e.number = field.field ? field.field->size : 0;
		expect(p, ')');
	}
	if (!e.number)
		fail(p, -EOPNOTSUPP);
	return e;
}

/* ---- the grammar, from the inside out ---- */

static struct expr name_expr(struct parser *p)
{
	enum function f = function_at(p);
	struct expr e = { .kind = EXPR_NUMBER, .ctype = int_type };

	if (at_name(p, "REC"))
		return record_member(p, false);
	if (at_name(p, "sizeof")) {
		next(p);
		return size_of(p);
	}
	if (at_name(p, "true") || at_name(p, "false") || at_name(p, "NULL")) {
		e.number = at_name(p, "true");
		next(p);
		return e;
	}
	next(p);
	if (f == FN_NONE && !at_op(p, '('))
		return named(EXPR_IS_NUMBER);
	expect(p, '(');
	e = arguments(p, f);
	expect(p, ')');
	return e;
}

static struct expr primary(struct parser *p)
{
	struct expr e = { 0 };

	switch (p->token.kind) {
	case TOKEN_NUMBER:
		return number_literal(p);
	case TOKEN_STRING:
		return string_literal(p);
	case TOKEN_NAME:
		return name_expr(p);
	default:
		break;
	}
	expect(p, '(');
	if (at_name(p, "REC")) {
		struct parser start = *p;

		next(p);
		if (at_op(p, ')')) {
			*p = start;
			return record_member(p, true);
		}
		*p = start;
	}
	e = expression(p);
	expect(p, ')');
	return e;
}

static struct expr element(struct parser *p, struct expr a, struct expr index)
{
	struct expr e = { .kind = EXPR_INDEX, .ctype = a.ctype };

	need(p, &index, EXPR_IS_NUMBER);
	if (a.kind == EXPR_FIELD && a.type == EXPR_IS_TEXT)
		a.type = EXPR_IS_BYTES;
	need(p, &a, EXPR_IS_BYTES);
	e.ctype.pointer = false;
	if (e.ctype.size != 1 && e.ctype.size != 2 && e.ctype.size != 4 && e.ctype.size != 8)
		fail(p, -EOPNOTSUPP);
	e.a = keep(p, &a);
	e.b = keep(p, &index);
	return e;
}

static struct expr postfixed(struct parser *p)
{
	struct expr e = primary(p);

	while (take(p, '[')) {
		e = element(p, e, expression(p));
		expect(p, ']');
	}
	return e;
}

/* &REC->field: its bytes. */
static struct expr address_of(struct parser *p)
{
	struct expr e = prefixed(p);

	if (e.kind != EXPR_FIELD)
		fail(p, -EOPNOTSUPP);
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
		next(p);
		return unary(p, op, prefixed(p));
	case '&':
		next(p);
		return address_of(p);
	case '*':
		next(p);
		return element(p, prefixed(p), zero);
	case '(':
		next(p);
		if (type_words(p, &t))
			return cast(p, t, prefixed(p));
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
		fail(p, -E2BIG);
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

		next(p);
		e = binary(p, op, e, binaries(p, s + 1));
	}
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

static struct expr choice(struct parser *p, struct expr a, struct expr b, struct expr c)
{
	struct expr e = { .kind = EXPR_CHOICE };

	null_text(&b, &c);
	null_text(&c, &b);
	e.type = b.type;
	e.ctype = b.ctype;
	need(p, &a, EXPR_IS_NUMBER);
	need(p, &c, b.type);
	if (a.kind == EXPR_NAMED || b.kind == EXPR_NAMED || c.kind == EXPR_NAMED)
		return named(b.type);
	if (b.type == EXPR_IS_NUMBER)
		e.ctype = meet(b.ctype, c.ctype);
	if (a.kind == EXPR_NUMBER)
		return a.number ? b : c;
	e.a = keep(p, &a);
	e.b = keep(p, &b);
	e.c = keep(p, &c);
	return e;
}

static struct expr expression(struct parser *p)
{
	struct expr a, b;

	if (++p->depth > EXPR_DEPTH_MAX) {
		fail(p, -E2BIG);
		p->depth--;
		return (struct expr){ 0 };
	}
	a = binaries(p, 1);
	if (take(p, '?')) {
		b = at_op(p, ':') ? a : expression(p);
		expect(p, ':');
		a = choice(p, a, b, expression(p));
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

	next(&p);
	e = expression(&p);
	if (p.token.kind != TOKEN_END && !at_op(&p, ','))
		fail(&p, -EOPNOTSUPP);
	if (e.kind != EXPR_NAMED)
		kept = keep(&p, &e);
	if (p.error)
		return p.error;
	*text = p.token.at;
	*ret = kept;
	return 0;
}
