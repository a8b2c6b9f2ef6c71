/* SPDX-License-Identifier: MIT */
/*
 * Walking over a text that a person typed. A lexer knows where it is, so that every complaint
 * carries the column it is about; what it quotes from the text is made printable, so that a message
 * stays one line. Blanks are space, tab and newline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <coati/error.h>

#include "base/arena.h"

struct lexer {
	const char *start; /* the whole text, terminated */
	const char *at;
	struct coati_error *err; /* may be NULL */
};

/* A part of the text, not terminated. */
struct slice {
	const char *at;
	size_t len;
};

static inline struct lexer lexer_over(const char *text, struct coati_error *err)
{
	return (struct lexer){ .start = text, .at = text, .err = err };
}

static inline char lexer_peek(const struct lexer *lx)
{
	return *lx->at;
}

static inline bool is_blank_char(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static inline void lexer_blanks(struct lexer *lx)
{
	while (is_blank_char(*lx->at))
		lx->at++;
}

/* Step over @c when it is next. */
static inline bool lexer_take(struct lexer *lx, char c)
{
	if (*lx->at != c || !c)
		return false;
	lx->at++;
	return true;
}

static inline bool slice_is(struct slice s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static inline struct slice slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

/* What stands before the next blank, the end, or a character of @stops. May be empty. */
struct slice coati_lexer_until(struct lexer *lx, const char *stops);
/* The same, but a value in 'single' or "double" quotes may hold anything else; the quotes are not
 * part of the result. -EINVAL when a quote is not closed. */
int coati_lexer_value(struct lexer *lx, const char *stops, struct slice *ret);

/* Fail with the column of @at, which points into the text. */
int coati_lexer_fail(const struct lexer *lx, const char *at, int code, const char *fmt, ...)
	COATI_PRINTF(4, 5);
/* Fail with "expected WHAT, found ..." at the place where the lexer stands. */
int coati_lexer_expected(const struct lexer *lx, const char *what);
/* Another module has filled in the error and knows no column: put it at @at. Returns @code. */
int coati_lexer_place(const struct lexer *lx, const char *at, int code);

/* @s as a person can read it: control and non-ASCII bytes become '?', what is longer than the
 * buffer is cut with "...". */
#define SHOWN_MAX 72
struct shown {
	char text[SHOWN_MAX];
};
struct shown coati_shown(struct slice s);
