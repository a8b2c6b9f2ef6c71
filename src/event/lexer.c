/* SPDX-License-Identifier: MIT */
/* Cutting words and quoted values out of a text, and complaining with a column. */
#include "event/lexer.h"

#include <limits.h>
#include <stdio.h>

#include "base/error.h"

struct slice coati_lexer_until(struct lexer *lx, const char *stops)
{
	const char *from = lx->at;

	while (*lx->at && !is_blank_char(*lx->at) && !strchr(stops, *lx->at))
		lx->at++;
	return (struct slice){ from, (size_t)(lx->at - from) };
}

int coati_lexer_value(struct lexer *lx, const char *stops, struct slice *ret)
{
	char quote = lexer_peek(lx);
	const char *from = lx->at, *end;

	if (quote != '\'' && quote != '"') {
		*ret = coati_lexer_until(lx, stops);
		return 0;
	}
	end = strchr(from + 1, quote);
	if (!end)
		return coati_lexer_fail(lx, from, -EINVAL,
					"the quote that opens here is not closed");
	lx->at = end + 1;
	*ret = (struct slice){ from + 1, (size_t)(end - from - 1) };
	return 0;
}

static int column_of(const struct lexer *lx, const char *at)
{
	ptrdiff_t column = at - lx->start + 1;

	return column > INT_MAX ? INT_MAX : (int)column;
}

int coati_lexer_fail(const struct lexer *lx, const char *at, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_vfail(lx->err, code, fmt, ap);
	va_end(ap);
	if (lx->err)
		lx->err->column = column_of(lx, at);
	return code;
}

int coati_lexer_expected(const struct lexer *lx, const char *what)
{
	struct lexer ahead = *lx;
	struct slice found;

	lexer_blanks(&ahead);
	if (!*ahead.at)
		return coati_lexer_fail(lx, ahead.at, -EINVAL,
					"expected %s, but the text ends here", what);
	found = coati_lexer_until(&ahead, ",/:{}=");
	if (!found.len)
		found.len = 1;
	return coati_lexer_fail(lx, found.at, -EINVAL, "expected %s, found '%s'", what,
				coati_shown(found).text);
}

int coati_lexer_place(const struct lexer *lx, const char *at, int code)
{
	if (lx->err && !lx->err->column)
		lx->err->column = column_of(lx, at);
	return code;
}

struct shown coati_shown(struct slice s)
{
	struct shown shown;
	size_t room = sizeof(shown.text) - 1;
	size_t len = s.len <= room ? s.len : room - 3;

	for (size_t i = 0; i < len; i++) {
		char c = s.at[i];

		shown.text[i] = c >= ' ' && c < 0x7f ? c : '?';
	}
	shown.text[len] = '\0';
	if (len < s.len)
		memcpy(shown.text + len, "...", 4);
	return shown;
}
