/* SPDX-License-Identifier: MIT */
/* The parser of expressions, between its files: expr-parse.c has tokens and grammar, expr-node.c
 * makes nodes, expr-call.c knows fields and functions. */
#pragma once

#include "record/expr.h"
#include "record/token.h"

struct parser {
	const char *at;	    /* behind the token */
	struct token token; /* the one to look at */
	struct expr_scope *scope;
	uint32_t depth;
	int error; /* first one */
};

static const struct ctype int_type = { .size = 4, .is_signed = true };
static const struct ctype ulong_type = { .size = 8 };

enum expr_function {
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

/* The first error counts; there are no tokens behind it. */
void coati_expr_fail(struct parser *p, int error);
/* Tokens: the next one; is it this one; take it if it is; it must be. */
void coati_expr_next(struct parser *p);
bool coati_expr_at_op(const struct parser *p, uint8_t op);
bool coati_expr_at_name(const struct parser *p, const char *name);
bool coati_expr_take(struct parser *p, uint8_t op);
void coati_expr_expect(struct parser *p, uint8_t op);
/* The token as a node. */
struct expr coati_expr_number_literal(struct parser *p);
struct expr coati_expr_string_literal(struct parser *p);
/* A copy in the arena; NULL: no memory, or the tree is too large. */
const struct expr *coati_expr_keep(struct parser *p, const struct expr *e);
/* It fails unless the node has this type. */
void coati_expr_need(struct parser *p, const struct expr *e, enum expr_type type);
/* Something of which only the name is known. */
struct expr coati_expr_named(enum expr_type type);
struct expr coati_expr_binary(struct parser *p, uint8_t op, struct expr a, struct expr b);
struct expr coati_expr_unary(struct parser *p, uint8_t op, struct expr a);
struct expr coati_expr_cast(struct parser *p, struct ctype t, struct expr a);
struct expr coati_expr_element(struct parser *p, struct expr a, struct expr index);
struct expr coati_expr_choice(struct parser *p, struct expr a, struct expr b, struct expr c);
/* REC->field, or (REC)->field. */
struct expr coati_expr_record_member(struct parser *p, bool in_parentheses);
/* The function whose name is the token, and its arguments up to the parenthesis. */
enum expr_function coati_expr_function_at(const struct parser *p);
struct expr coati_expr_arguments(struct parser *p, enum expr_function f);
/* A whole expression. */
struct expr coati_expr_expression(struct parser *p);
