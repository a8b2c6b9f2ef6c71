/* SPDX-License-Identifier: MIT */
/* What an expression is about: fields of the record, and the functions of the tracer that print
 * them. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "record/expr-parser.h"

#define PAIRS_MAX 1024

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
		coati_expr_fail(p, -EOPNOTSUPP);
		return NULL;
	}
	index = (size_t)(f - p->scope->format->fields);
	p->scope->used[index / 64] |= UINT64_C(1) << index % 64;
	coati_expr_next(p);
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
struct expr coati_expr_record_member(struct parser *p, bool in_parentheses)
{
	const struct coati_tp_field *f;

	coati_expr_next(p);
	if (in_parentheses)
		coati_expr_expect(p, ')');
	coati_expr_expect(p, TOKEN_OP_ARROW);
	f = field_name(p);
	return f ? field_expr(f) : (struct expr){ 0 };
}

/* { value, "text" }, ... up to the closing parenthesis. */
static void pairs(struct parser *p, struct expr *e)
{
	ARRAY(struct expr_pair) list = ARRAY_INIT(PAIRS_MAX);
	struct expr_pair *kept;

	while (coati_expr_take(p, ',')) {
		struct expr number, text;
		struct expr_pair *pair;

		coati_expr_expect(p, '{');
		if (coati_expr_take(p, '}'))
			continue;
		number = coati_expr_expression(p);
		coati_expr_expect(p, ',');
		text = coati_expr_expression(p);
		coati_expr_expect(p, '}');
		if (number.kind != EXPR_NUMBER && number.kind != EXPR_NAMED)
			coati_expr_fail(p, -EOPNOTSUPP);
		/* Old formats end their table with a null pointer. */
		if (number.kind == EXPR_NAMED || (text.kind == EXPR_NUMBER && !text.number))
			continue;
		if (text.kind != EXPR_STRING)
			coati_expr_fail(p, -EOPNOTSUPP);
		pair = p->error ? NULL : ARRAY_ADD(&list);
		if (!pair) {
			coati_expr_fail(p, list.len == PAIRS_MAX ? -E2BIG : -ENOMEM);
			break;
		}
		*pair = (struct expr_pair){ number.number, text.text, text.len };
	}
	kept = list.len ? coati_arena_alloc(p->scope->arena, list.len * sizeof(*kept)) : NULL;
	if (kept)
		memcpy(kept, list.v, list.len * sizeof(*kept));
	else if (list.len)
		coati_expr_fail(p, -ENOMEM);
	e->pairs = kept;
	e->nr_pairs = (uint32_t)list.len;
	ARRAY_FINI(&list);
}

static struct expr number_argument(struct parser *p)
{
	struct expr e = coati_expr_expression(p);

	coati_expr_need(p, &e, EXPR_IS_NUMBER);
	return e;
}

static struct expr print_flags(struct parser *p)
{
	struct expr e = { .kind = EXPR_FLAGS, .type = EXPR_IS_TEXT };
	struct expr a = number_argument(p), delimiter;

	coati_expr_expect(p, ',');
	delimiter = coati_expr_expression(p);
	if (delimiter.kind != EXPR_STRING)
		coati_expr_fail(p, -EOPNOTSUPP);
	e.text = delimiter.text;
	e.len = delimiter.len;
	pairs(p, &e);
	e.a = coati_expr_keep(p, &a);
	return e;
}

static struct expr print_symbolic(struct parser *p)
{
	struct expr e = { .kind = EXPR_SYMBOL, .type = EXPR_IS_TEXT };
	struct expr a = number_argument(p);

	pairs(p, &e);
	e.a = coati_expr_keep(p, &a);
	return e;
}

/* Texts are bytes too when a function asks for bytes. */
static struct expr bytes_argument(struct parser *p)
{
	struct expr e = coati_expr_expression(p);

	if (e.kind == EXPR_FIELD && e.type == EXPR_IS_TEXT)
		e.type = EXPR_IS_BYTES;
	coati_expr_need(p, &e, EXPR_IS_BYTES);
	return e;
}

static struct expr print_hex(struct parser *p, bool joined)
{
	struct expr e = { .kind = EXPR_HEX, .type = EXPR_IS_TEXT, .number = joined };
	struct expr a = bytes_argument(p), b;

	coati_expr_expect(p, ',');
	b = number_argument(p);
	e.a = coati_expr_keep(p, &a);
	e.b = coati_expr_keep(p, &b);
	return e;
}

static struct expr print_array(struct parser *p)
{
	struct expr e = { .kind = EXPR_ARRAY, .type = EXPR_IS_TEXT };
	struct expr a = bytes_argument(p), b, c;

	coati_expr_expect(p, ',');
	b = number_argument(p);
	coati_expr_expect(p, ',');
	c = number_argument(p);
	e.a = coati_expr_keep(p, &a);
	e.b = coati_expr_keep(p, &b);
	e.c = coati_expr_keep(p, &c);
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
		coati_expr_fail(p, -EOPNOTSUPP);
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

	return coati_expr_binary(p, op, a, second);
}

static struct expr expect_call(struct parser *p)
{
	struct expr e = coati_expr_expression(p);

	coati_expr_expect(p, ',');
	(void)coati_expr_expression(p);
	return e;
}

enum expr_function coati_expr_function_at(const struct parser *p)
{
	static const struct {
		const char *name;
		enum expr_function function;
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
		if (coati_expr_at_name(p, names[i].name))
			return names[i].function;
	return FN_NONE;
}

struct expr coati_expr_arguments(struct parser *p, enum expr_function f)
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
		coati_expr_fail(p, -EOPNOTSUPP);
		return (struct expr){ 0 };
	}
}
