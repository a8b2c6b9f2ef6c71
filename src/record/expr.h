/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a print format: C expressions over the fields of a record and over the tracer's
 * own functions (__print_flags() and its like). Text comes in, a small tree in an arena goes out,
 * and is evaluated per record. Constant parts are computed once, when they are parsed. What is not
 * understood is refused as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

#include "base/arena.h"
#include "record/fields.h"
#include "record/format.h"
#include "record/output.h"

/* nesting in the text and in the tree; the kernel's flags reach about 40 */
#define EXPR_DEPTH_MAX 128
#define EXPR_NODES_MAX 20000 /* of one print format */

enum expr_kind {
	EXPR_UNKNOWN = 0,
	EXPR_NUMBER, /* number */
	EXPR_STRING, /* text, len */
	EXPR_FIELD,  /* field; a number, a text or bytes */
	EXPR_LENGTH, /* bytes of the dynamic field */
	EXPR_UNARY,  /* op a */
	EXPR_BINARY, /* a op b */
	EXPR_CHOICE, /* a ? b : c */
	EXPR_CAST,   /* (type)a, of numbers */
	EXPR_VIEW,   /* (type *)a, of bytes */
	EXPR_INDEX,  /* a[b] */
	EXPR_FLAGS,  /* __print_flags(a, text, pairs) */
	EXPR_SYMBOL, /* __print_symbolic(a, pairs) */
	EXPR_HEX,    /* __print_hex(a, b): bytes with blanks; number 1: without */
	EXPR_ARRAY,  /* __print_array(a, b, c) */
	EXPR_BITS,   /* __get_bitmask(field), __get_cpumask(field) */
	EXPR_NAMED,  /* depends on something of which only the name is there */
};

/* What an expression gives. */
enum expr_type { EXPR_IS_NUMBER, EXPR_IS_TEXT, EXPR_IS_BYTES };

struct expr_pair {
	uint64_t number;
	const char *text;
	uint32_t len;
};

struct expr {
	enum expr_kind kind;
	enum expr_type type;
	uint16_t depth;	       /* of the tree below, itself included */
	uint8_t op;	       /* the character, or one of TOKEN_OP_* */
	struct ctype ctype;    /* of a number: its size and sign; of bytes: their elements */
	struct ctype operands; /* BINARY: the type in which both sides meet */
	uint64_t number;
	const char *text;
	uint32_t len, nr_pairs;
	const struct expr_pair *pairs;
	const struct coati_tp_field *field;
	const struct expr *a, *b, *c;
};

/* What the expressions of one print format share. */
struct expr_scope {
	const struct coati_tp_format *format;
	struct arena *arena;
	uint32_t nodes;
	/* fields that were named since this was cleared */
	uint64_t used[TP_FORMAT_FIELDS_MAX / 64];
};

/* Parse the expression at *@text (up to the comma or the end behind it, where *@text is left).
 * -EOPNOTSUPP: it is not understood, -E2BIG: too deep or too large, -ENOMEM. EXPR_NAMED comes only
 * as a whole, never inside a tree. */
int coati_expr_parse(const char **text, struct expr_scope *scope, const struct expr **ret);
/* The three ways to evaluate, by e->type. False: a field lies outside the payload. */
bool coati_expr_number(const struct expr *e, const struct coati_payload *p, uint64_t *ret);
bool coati_expr_bytes(const struct expr *e, const struct coati_payload *p, struct field_bytes *ret);
bool coati_expr_text(const struct expr *e, const struct coati_payload *p, struct output *o);

/* One operation on numbers of type @t (of both operands; the result of a comparison is 0 or 1). */
uint64_t coati_expr_compute(uint8_t op, struct ctype t, uint64_t a, uint64_t b);
/* @v as a number of type @t. */
uint64_t coati_expr_convert(uint64_t v, struct ctype t);
