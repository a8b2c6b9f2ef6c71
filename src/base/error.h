/* SPDX-License-Identifier: MIT */
/* Filling in a struct coati_error: one call that returns the code it was given. */
#pragma once

#include <errno.h>
#include <stdarg.h>

#include <coati/error.h>

/* Fill @err (may be NULL) with @code (negative errno) and a sentence; %m in @fmt prints the text of
 * @code whatever errno is. Too long a text is cut at a character boundary and ends in "...".
 * Always returns @code.
 *	return coati_fail(err, -errno, "open %s: %m", path); */
int coati_fail(struct coati_error *err, int code, const char *fmt, ...) COATI_PRINTF(3, 4);
int coati_vfail(struct coati_error *err, int code, const char *fmt, va_list ap) COATI_PRINTF(3, 0);

/* As coati_fail(), for a text that was parsed: @column is 1-based. */
int coati_fail_at(struct coati_error *err, int code, int column, const char *fmt, ...)
	COATI_PRINTF(4, 5);

/* The name of an errno as a programmer knows it ("EACCES"), for either sign; "E?" when unknown.
 * Thread: any.  Signal: safe.  Memory: never allocates. */
const char *coati_errno_name(int code);

/* Put more words in front of what @err says ("event 3: " + text); the code stays. */
void coati_error_prefix(struct coati_error *err, const char *fmt, ...) COATI_PRINTF(2, 3);
