/* SPDX-License-Identifier: MIT */
/* The words of a print format: names, numbers, literals and operators of C. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "record/ctype.h"

enum token_kind { TOKEN_END = 0, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_OP };

/* Operators of two characters; all others are their character. */
enum {
	TOKEN_OP_SHL = 1,
	TOKEN_OP_SHR,
	TOKEN_OP_LE,
	TOKEN_OP_GE,
	TOKEN_OP_EQ,
	TOKEN_OP_NE,
	TOKEN_OP_AND,
	TOKEN_OP_OR,
	TOKEN_OP_ARROW,
};

struct token {
	enum token_kind kind;
	const char *at;
	size_t len;
	uint8_t op;
};

/* The token at *@at, which is left behind it. -EOPNOTSUPP: a literal without an end. */
int coati_token_next(const char **at, struct token *ret);
/* The value of a number or character and the type that C gives it. */
int coati_token_number(const struct token *t, uint64_t *ret, struct ctype *ret_type);
/* A string literal and those that stand right behind it, escapes resolved, terminated; *@at is left
 * behind them. */
int coati_token_string(const char **at, struct arena *arena, const char **ret, uint32_t *ret_len);
