/* SPDX-License-Identifier: MIT */
/* Breakpoints: mem:ADDRESS[/LENGTH][:rwx], then terms and modifiers as for any event. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "event/breakpoint.h"
#include "event/grammar.h"

/* A number up to the next delimiter. */
static int take_number(struct grammar *g, const char *what, uint64_t *ret)
{
	struct slice s = coati_lexer_until(&g->lx, ",:/{}");
	char digits[24];

	if (!s.len)
		return coati_lexer_expected(&g->lx, what);
	if (s.len < sizeof(digits)) {
		memcpy(digits, s.at, s.len);
		digits[s.len] = '\0';
		if (coati_parse_u64(digits, 0, UINT64_MAX, ret) == 0)
			return 0;
	}
	return coati_lexer_fail(&g->lx, s.at, -EINVAL, "expected %s, found '%s'", what,
				coati_shown(s).text);
}

/* The letters behind a colon when they open with one of r w x; else they are modifiers, and nothing
 * is taken. */
static int take_access(struct grammar *g, char ret[8])
{
	struct lexer ahead = g->lx;
	struct slice s;
	size_t good;

	ret[0] = '\0';
	if (!lexer_take(&ahead, ':') || !lexer_peek(&ahead) || !strchr("rwx", lexer_peek(&ahead)))
		return 0;
	s = coati_lexer_until(&ahead, ",:/{}");
	good = strspn(s.at, "rwx");
	if (good < s.len || s.len > 7)
		return coati_lexer_fail(&g->lx, s.at + (good < s.len ? good : 7), -EINVAL,
					"expected letters of r w x, found '%s'",
					coati_shown(s).text);
	memcpy(ret, s.at, s.len);
	ret[s.len] = '\0';
	g->lx = ahead;
	return 0;
}

/* "/8"; a slash before a word opens terms and is left alone. */
static int take_length(struct grammar *g, uint64_t *ret)
{
	const char *at = g->lx.at + 1;
	int r;

	if (lexer_peek(&g->lx) != '/' || (*at && !strchr("0123456789,:}", *at)))
		return 0;
	lexer_take(&g->lx, '/');
	r = take_number(g, "the length of the breakpoint, a number", ret);
	if (r == 0 && !*ret)
		r = coati_lexer_fail(&g->lx, at, -EINVAL,
				     "a breakpoint has a length of at least 1");
	return r;
}

int coati_grammar_breakpoint(struct grammar *g, struct event_text *ev)
{
	struct coati_event_desc desc = { .kind = COATI_EVENT_BREAKPOINT };
	uint64_t addr, length = 0;
	const char *note = NULL;
	char access[8];
	int r;

	lexer_take(&g->lx, ':');
	r = take_number(g, "the address of the breakpoint, a number", &addr);
	if (r == 0)
		r = take_length(g, &length);
	if (r == 0)
		r = take_access(g, access);
	if (r == 0)
		r = coati_grammar_tail(g, ev);
	if (r < 0)
		return r;
	r = coati_breakpoint_attr(&(struct breakpoint){ addr, length, access }, &desc.attr, &note,
				  g->lx.err);
	if (r < 0)
		return coati_lexer_place(&g->lx, ev->at, r);
	desc.note = note;
	return coati_grammar_add(g, ev, &desc, NULL, false);
}
