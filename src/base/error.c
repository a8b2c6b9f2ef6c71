/* SPDX-License-Identifier: MIT */
/* Sentences for errors, bounded, cut at a character boundary. */
#include "base/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that fills the buffer was cut: end it in "...", not in half a character. */
static void mark_cut(char *text, size_t size)
{
	size_t end = size - 4;

	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, "...", 4);
}

static void set_text(struct coati_error *err, const char *fmt, va_list ap)
{
	int keep = errno;
	int len;

	errno = -err->code; /* for %m */
	len = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	errno = keep;
	if (len < 0)
		err->text[0] = '\0';
	else if ((size_t)len >= sizeof(err->text))
		mark_cut(err->text, sizeof(err->text));
}

int coati_vfail(struct coati_error *err, int code, const char *fmt, va_list ap)
{
	if (err) {
		err->code = code;
		err->column = 0;
		set_text(err, fmt, ap);
	}
	return code;
}

int coati_fail(struct coati_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_vfail(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int coati_fail_at(struct coati_error *err, int code, int column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_vfail(err, code, fmt, ap);
	va_end(ap);
	if (err)
		err->column = column;
	return code;
}

void coati_error_prefix(struct coati_error *err, const char *fmt, ...)
{
	char old[COATI_ERROR_TEXT];
	va_list ap;
	size_t used;

	if (!err)
		return;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	set_text(err, fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	if ((size_t)snprintf(err->text + used, sizeof(err->text) - used, "%s", old) >=
	    sizeof(err->text) - used)
		mark_cut(err->text, sizeof(err->text));
}

const char *coati_errno_name(int code)
{
	/* INT_MIN has no positive twin; no errno is that large */
	const char *name = code > INT_MIN ? strerrorname_np(abs(code)) : NULL;

	return name ? name : "E?";
}
