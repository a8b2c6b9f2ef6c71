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

/* The letters behind a colon when all are of r w x; else they are modifiers, and nothing is taken. */
static void take_access(struct grammar *g, char ret[8])
{
	struct lexer ahead = g->lx;
	struct slice s;

	ret[0] = '\0';
	if (!lexer_take(&ahead, ':'))
		return;
	s = coati_lexer_until(&ahead, ",:/{}");
	if (!s.len || s.len > 7 || strspn(s.at, "rwx") < s.len)
		return;
	memcpy(ret, s.at, s.len);
	ret[s.len] = '\0';
	g->lx = ahead;
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
	if (r < 0)
		return r;
	if (lexer_peek(&g->lx) == '/' && g->lx.at[1] >= '0' && g->lx.at[1] <= '9') {
		lexer_take(&g->lx, '/');
		r = take_number(g, "the length of the breakpoint, a number", &length);
		if (r == 0 && !length)
			r = coati_lexer_fail(&g->lx, g->lx.at - 1, -EINVAL,
					     "a breakpoint has a length of at least 1");
	}
	if (r < 0)
		return r;
	take_access(g, access);
	r = coati_grammar_tail(g, ev);
	if (r < 0)
		return r;
	r = coati_breakpoint_attr(addr, length, access, &desc.attr, &note, g->lx.err);
	if (r < 0)
		return coati_lexer_place(&g->lx, ev->at, r);
	desc.note = note;
	return coati_grammar_add(g, ev, &desc, NULL, false);
}
