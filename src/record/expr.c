/* SPDX-License-Identifier: MIT */
/* Evaluating the expressions of a print format over one record. Bounded by the size of the tree:
 * nothing here loops over what the record says without comparing it with the record's size. */
#include "record/expr.h"

#include <string.h>

#include "record/bytes.h"
#include "record/token.h"

uint64_t coati_expr_convert(uint64_t v, struct ctype t)
{
	switch (t.size) {
	case 1:
		return t.is_signed ? (uint64_t)(int8_t)v : (uint8_t)v;
	case 2:
		return t.is_signed ? (uint64_t)(int16_t)v : (uint16_t)v;
	case 4:
		return t.is_signed ? (uint64_t)(int32_t)v : (uint32_t)v;
	default:
		return v;
	}
}

/* What C leaves undefined (a division by zero, a shift too far) gives 0. */
static uint64_t divide(uint8_t op, struct ctype t, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	if (!b)
		return 0;
	if (!t.is_signed)
		return op == '/' ? a / b : a % b;
	if (y == -1)
		return op == '/' ? 0 - a : 0;
	return (uint64_t)(op == '/' ? x / y : x % y);
}

static uint64_t shift(uint8_t op, struct ctype t, uint64_t a, uint64_t b)
{
	if (b >= 8 * (uint64_t)t.size)
		return 0;
	if (op == TOKEN_OP_SHL)
		return a << b;
	return t.is_signed ? (uint64_t)((int64_t)a >> b) : a >> b;
}

static bool less(struct ctype t, uint64_t a, uint64_t b)
{
	return t.is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static bool compare(uint8_t op, struct ctype t, uint64_t a, uint64_t b)
{
	switch (op) {
	case '<':
		return less(t, a, b);
	case '>':
		return less(t, b, a);
	case TOKEN_OP_LE:
		return !less(t, b, a);
	case TOKEN_OP_GE:
		return !less(t, a, b);
	case TOKEN_OP_EQ:
		return a == b;
	case TOKEN_OP_NE:
		return a != b;
	case TOKEN_OP_AND:
		return a && b;
	default:
		return a || b;
	}
}

uint64_t coati_expr_compute(uint8_t op, struct ctype t, uint64_t a, uint64_t b)
{
	a = coati_expr_convert(a, t);
	if (op != TOKEN_OP_SHL && op != TOKEN_OP_SHR)
		b = coati_expr_convert(b, t);
	switch (op) {
	case '+':
		return coati_expr_convert(a + b, t);
	case '-':
		return coati_expr_convert(a - b, t);
	case '*':
		return coati_expr_convert(a * b, t);
	case '/':
	case '%':
		return coati_expr_convert(divide(op, t, a, b), t);
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case TOKEN_OP_SHL:
	case TOKEN_OP_SHR:
		return coati_expr_convert(shift(op, t, a, b), t);
	default:
		return compare(op, t, a, b);
	}
}

/* ---- numbers ---- */

static bool field_number(const struct coati_tp_field *f, const struct coati_payload *p,
			 uint64_t *ret)
{
	if ((uint64_t)f->offset + f->size > p->size)
		return false;
	*ret = coati_field_number(p->bytes + f->offset, f->size, f->is_signed, p->swap);
	return true;
}

static bool index_number(const struct expr *e, const struct coati_payload *p, uint64_t *ret)
{
	struct field_bytes bytes;
	uint64_t i;

	if (!coati_expr_bytes(e->a, p, &bytes) || !coati_expr_number(e->b, p, &i))
		return false;
	/* An empty dynamic string has no first character: the kernel sees its terminator. */
	*ret = 0;
	if (i < bytes.size / e->ctype.size)
		*ret = coati_field_number(bytes.at + i * e->ctype.size, e->ctype.size,
					  e->ctype.is_signed, p->swap);
	return true;
}

static bool unary_number(const struct expr *e, const struct coati_payload *p, uint64_t *ret)
{
	uint64_t a;

	if (!coati_expr_number(e->a, p, &a))
		return false;
	a = e->op == '!' ? !a : e->op == '~' ? ~a : 0 - a;
	*ret = coati_expr_convert(a, e->ctype);
	return true;
}

static bool binary_number(const struct expr *e, const struct coati_payload *p, uint64_t *ret)
{
	uint64_t a, b;

	if (!coati_expr_number(e->a, p, &a) || !coati_expr_number(e->b, p, &b))
		return false;
	*ret = coati_expr_compute(e->op, e->operands, a, b);
	return true;
}

/* The side that the condition chooses; NULL: outside. */
static const struct expr *chosen(const struct expr *e, const struct coati_payload *p)
{
	uint64_t a;

	if (!coati_expr_number(e->a, p, &a))
		return NULL;
	return a ? e->b : e->c;
}

bool coati_expr_number(const struct expr *e, const struct coati_payload *p, uint64_t *ret)
{
	struct field_bytes bytes;
	const struct expr *side;

	switch (e->kind) {
	case EXPR_NUMBER:
		*ret = e->number;
		return true;
	case EXPR_FIELD:
		return field_number(e->field, p, ret);
	case EXPR_LENGTH:
		if (coati_field_bytes(e->field, p, &bytes) < 0)
			return false;
		*ret = bytes.size;
		return true;
	case EXPR_UNARY:
		return unary_number(e, p, ret);
	case EXPR_BINARY:
		return binary_number(e, p, ret);
	case EXPR_CAST:
		if (!coati_expr_number(e->a, p, ret))
			return false;
		*ret = coati_expr_convert(*ret, e->ctype);
		return true;
	case EXPR_CHOICE:
		side = chosen(e, p);
		if (!side || !coati_expr_number(side, p, ret))
			return false;
		*ret = coati_expr_convert(*ret, e->ctype);
		return true;
	case EXPR_INDEX:
		return index_number(e, p, ret);
	default:
		return false;
	}
}

/* ---- bytes ---- */

bool coati_expr_bytes(const struct expr *e, const struct coati_payload *p, struct field_bytes *ret)
{
	const struct expr *side;

	switch (e->kind) {
	case EXPR_FIELD:
		return coati_field_bytes(e->field, p, ret) == 0;
	case EXPR_VIEW:
		return coati_expr_bytes(e->a, p, ret);
	case EXPR_CHOICE:
		side = chosen(e, p);
		return side && coati_expr_bytes(side, p, ret);
	default:
		return false;
	}
}

/* ---- text ---- */

static void add_flags(const struct expr *e, uint64_t v, struct output *o)
{
	bool first = true;

	for (uint32_t i = 0; i < e->nr_pairs && v; i++) {
		const struct expr_pair *pair = &e->pairs[i];

		if ((v & pair->number) != pair->number)
			continue;
		v &= ~pair->number;
		if (!first)
			coati_output_add(o, e->text, e->len);
		first = false;
		coati_output_add(o, pair->text, pair->len);
	}
	if (!v)
		return;
	if (!first)
		coati_output_add(o, e->text, e->len);
	coati_output_hex(o, v, 1);
}

static void add_symbol(const struct expr *e, uint64_t v, struct output *o)
{
	for (uint32_t i = 0; i < e->nr_pairs; i++) {
		if (e->pairs[i].number == v)
			return coati_output_add(o, e->pairs[i].text, e->pairs[i].len);
	}
	coati_output_hex(o, v, 1);
}

static bool add_hex(const struct expr *e, const struct coati_payload *p, struct output *o)
{
	static const char digits[] = "0123456789abcdef";
	struct field_bytes bytes;
	uint64_t len;

	if (!coati_expr_bytes(e->a, p, &bytes) || !coati_expr_number(e->b, p, &len))
		return false;
	for (uint64_t i = 0; i < len && i < bytes.size; i++) {
		char pair[3] = { ' ', digits[bytes.at[i] >> 4], digits[bytes.at[i] & 15] };
		bool joined = e->number || !i;

		coati_output_add(o, pair + joined, sizeof(pair) - joined);
	}
	return true;
}

static bool add_array(const struct expr *e, const struct coati_payload *p, struct output *o)
{
	struct field_bytes bytes;
	uint64_t count, size;

	if (!coati_expr_bytes(e->a, p, &bytes) || !coati_expr_number(e->b, p, &count) ||
	    !coati_expr_number(e->c, p, &size))
		return false;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	coati_output_char(o, '{', 1);
	for (uint64_t i = 0; i < count && i < bytes.size / size; i++) {
		if (i)
			coati_output_char(o, ',', 1);
		coati_output_hex(
			o, coati_field_number(bytes.at + i * size, (uint32_t)size, false, p->swap),
			1);
	}
	coati_output_char(o, '}', 1);
	return true;
}

/* A bit mask as the kernel prints one: groups of 8 digits, the highest first. It is made of words
 * of 8 bytes. */
static bool add_bits(const struct expr *e, const struct coati_payload *p, struct output *o)
{
	struct field_bytes bytes;
	uint32_t groups;

	if (coati_field_bytes(e->field, p, &bytes) < 0)
		return false;
	groups = bytes.size / 8 * 2;
	for (uint32_t i = groups; i-- > 0;) {
		uint64_t word = load_u64(bytes.at + i / 2 * 8, p->swap);
		struct conversion c = {
			.letter = 'x', .size = 4, .zero = true, .width = 8, .precision = -1
		};

		coati_output_number(o, &c, i % 2 ? word >> 32 : word);
		if (i)
			coati_output_char(o, ',', 1);
	}
	return true;
}

static bool add_string_field(const struct expr *e, const struct coati_payload *p, struct output *o)
{
	struct field_bytes bytes;

	if (coati_field_bytes(e->field, p, &bytes) < 0)
		return false;
	coati_output_add(o, (const char *)bytes.at, strnlen((const char *)bytes.at, bytes.size));
	return true;
}

bool coati_expr_text(const struct expr *e, const struct coati_payload *p, struct output *o)
{
	const struct expr *side;
	uint64_t v;

	switch (e->kind) {
	case EXPR_STRING:
		coati_output_add(o, e->text, e->len);
		return true;
	case EXPR_FIELD:
		return add_string_field(e, p, o);
	case EXPR_FLAGS:
	case EXPR_SYMBOL:
		if (!coati_expr_number(e->a, p, &v))
			return false;
		if (e->kind == EXPR_FLAGS)
			add_flags(e, v, o);
		else
			add_symbol(e, v, o);
		return true;
	case EXPR_HEX:
		return add_hex(e, p, o);
	case EXPR_ARRAY:
		return add_array(e, p, o);
	case EXPR_BITS:
		return add_bits(e, p, o);
	case EXPR_CHOICE:
		side = chosen(e, p);
		return side && coati_expr_text(side, p, o);
	default:
		return false;
	}
}
