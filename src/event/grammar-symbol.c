/* SPDX-License-Identifier: MIT */
/* Events that are a name or a number: hardware, software, cache and tool events, rNNN,
 * type:config. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "event/grammar.h"
#include "event/names.h"

/* What the tool measures itself can be given a name, and nothing else. */
static int check_tool_terms(const struct grammar *g, const struct event_text *ev)
{
	for (size_t i = 0; i < ev->terms.len; i++) {
		const struct term *t = &ev->terms.v[i];

		if (strcmp(t->name, "name") != 0 && strcmp(t->name, "metric-id") != 0)
			return coati_lexer_fail(
				&g->lx, t->name_at, -EINVAL,
				"'%s' is measured by the tool and takes no term but name and "
				"metric-id",
				coati_shown(ev->word).text);
	}
	return 0;
}

int coati_grammar_symbol(struct grammar *g, struct event_text *ev)
{
	struct coati_event_desc desc = { 0 };
	struct event_symbol symbol;
	const char *why;
	int r = coati_symbol_find(ev->word, &symbol, &why);

	if (r < 0)
		return coati_lexer_fail(&g->lx, ev->at, r, "there is no event '%s': %s",
					coati_shown(ev->word).text, why);
	desc.kind = symbol.kind;
	desc.attr.type = symbol.type;
	desc.attr.config = symbol.config;
	r = coati_grammar_tail(g, ev);
	if (r == 0 && symbol.kind == COATI_EVENT_TOOL)
		r = check_tool_terms(g, ev);
	if (r == 0 && (symbol.kind == COATI_EVENT_HARDWARE || symbol.kind == COATI_EVENT_CACHE))
		r = coati_grammar_hybrid(g, ev, &desc);
	if (r != 0)
		return r < 0 ? r : 0;
	return coati_grammar_add(g, ev, &desc, NULL, false);
}

/* The digits of a slice as a number; @hex: hexadecimal without 0x. */
static int number_of(struct slice s, bool hex, uint64_t max, uint64_t *ret)
{
	char digits[24];

	if (s.len >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, s.at, s.len);
	digits[s.len] = '\0';
	return hex ? coati_parse_hex(digits, ret) : coati_parse_u64(digits, 0, max, ret);
}

int coati_grammar_raw(struct grammar *g, struct event_text *ev)
{
	struct slice digits = { ev->word.at + 1, ev->word.len - 1 };
	struct coati_event_desc desc = { .kind = COATI_EVENT_RAW };
	int r = number_of(digits, true, UINT64_MAX, &desc.attr.config);

	if (r < 0)
		return coati_lexer_fail(
			&g->lx, digits.at, -EINVAL,
			"a raw event is r and 1 to 16 hexadecimal digits, without 0x");
	desc.attr.type = COATI_TYPE_RAW;
	r = coati_grammar_tail(g, ev);
	if (r == 0)
		r = coati_grammar_hybrid(g, ev, &desc);
	if (r != 0)
		return r < 0 ? r : 0;
	return coati_grammar_add(g, ev, &desc, NULL, false);
}

static enum coati_event_kind kind_of_type(uint64_t type)
{
	static const enum coati_event_kind kinds[] = {
		[COATI_TYPE_HARDWARE] = COATI_EVENT_HARDWARE,
		[COATI_TYPE_SOFTWARE] = COATI_EVENT_SOFTWARE,
		[COATI_TYPE_TRACEPOINT] = COATI_EVENT_TRACEPOINT,
		[COATI_TYPE_HW_CACHE] = COATI_EVENT_CACHE,
		[COATI_TYPE_RAW] = COATI_EVENT_RAW,
	};

	return type < sizeof(kinds) / sizeof(kinds[0]) ? kinds[type] : COATI_EVENT_PMU;
}

int coati_grammar_number(struct grammar *g, struct event_text *ev)
{
	struct coati_event_desc desc = { 0 };
	struct slice config;
	uint64_t type;
	int r;

	/* the kernel keeps the type in 31 bits */
	if (number_of(ev->word, false, INT32_MAX, &type) < 0)
		return coati_lexer_fail(&g->lx, ev->at, -ERANGE,
					"the type of an event is a number up to 2147483647");
	if (type == COATI_TYPE_BREAKPOINT)
		return coati_lexer_fail(&g->lx, ev->at, -EINVAL,
					"a breakpoint is written mem:ADDRESS[/LENGTH][:rwx]");
	if (!lexer_take(&g->lx, ':'))
		return coati_lexer_expected(&g->lx, "':' and the config behind the type");
	config = coati_lexer_until(&g->lx, ",:/{}");
	if (!config.len) {
		g->lx.at = config.at;
		return coati_lexer_expected(&g->lx, "the config, a number");
	}
	if (number_of(config, false, UINT64_MAX, &desc.attr.config) < 0)
		return coati_lexer_fail(&g->lx, config.at, -EINVAL,
					"the config of an event is a number up to 2^64-1, not '%s'",
					coati_shown(config).text);
	desc.kind = kind_of_type(type);
	desc.attr.type = (uint32_t)type;
	r = coati_grammar_tail(g, ev);
	return r < 0 ? r : coati_grammar_add(g, ev, &desc, NULL, false);
}
