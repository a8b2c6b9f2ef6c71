/* SPDX-License-Identifier: MIT */
/*
 * Probes: uprobe:PATH:SYMBOL[+OFFSET], uretprobe:..., usdt:PATH:PROVIDER:NAME,
 * kprobe:SYMBOL[+OFFSET], kretprobe:... and the short u: and ur:. A path ends at the first colon;
 * one that holds a colon, a comma, a brace or a blank stands in quotes.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/parse.h"
#include "event/grammar.h"
#include "event/probe.h"

static int copy(const struct grammar *g, struct slice s, const char **ret)
{
	*ret = coati_arena_strndup(g->arena, s.at, s.len);
	return *ret ? 0 : -ENOMEM;
}

static int take_path(struct grammar *g, struct probe_spec *spec)
{
	const char *at = g->lx.at;
	struct slice path;
	int r = coati_lexer_value(&g->lx, ":,{}", &path);

	if (r < 0)
		return r;
	if (!path.len && g->lx.at > at)
		return coati_lexer_fail(&g->lx, at, -EINVAL, "the path is empty");
	if (!path.len)
		return coati_lexer_expected(&g->lx, "the path of a program or library");
	if (path.len >= PATH_MAX)
		return coati_lexer_fail(&g->lx, at, -E2BIG, "a path has less than %d characters",
					PATH_MAX);
	if (memchr(path.at, '\n', path.len) || memchr(path.at, '\t', path.len))
		return coati_lexer_fail(&g->lx, at, -EINVAL,
					"a path with a control character cannot be probed");
	return copy(g, path, &spec->path);
}

static int take_colon(struct grammar *g, const char *what)
{
	return lexer_take(&g->lx, ':') ? 0 : coati_lexer_expected(&g->lx, what);
}

static int take_word(struct grammar *g, const char *what, const char **ret)
{
	struct slice s = coati_lexer_until(&g->lx, ",:/{}");

	return s.len ? copy(g, s, ret) : coati_lexer_expected(&g->lx, what);
}

static bool is_number(const char *s)
{
	return *s >= '0' && *s <= '9';
}

/* SYMBOL, SYMBOL+OFFSET, or a number alone. */
static int take_place(struct grammar *g, struct probe_spec *spec)
{
	const char *at = g->lx.at, *text, *plus, *number;
	int r = take_word(g, "a symbol", &text);

	if (r < 0)
		return r;
	plus = strrchr(text, '+');
	number = is_number(text) ? text : plus ? plus + 1 : NULL;
	if (number && !*number)
		return coati_lexer_expected(&g->lx, "an offset behind the '+'");
	if (number && coati_parse_u64(number, 0, UINT64_MAX, &spec->offset) < 0)
		return coati_lexer_fail(&g->lx, at + (number - text), -EINVAL,
					"expected an offset such as 16 or 0x10, found '%s'",
					coati_shown(slice_of(number)).text);
	if (number == text)
		return 0;
	if (plus == text)
		return coati_lexer_fail(&g->lx, at, -EINVAL, "expected a symbol before '+'");
	spec->symbol = plus ? coati_arena_strndup(g->arena, text, (size_t)(plus - text)) : text;
	return spec->symbol ? 0 : -ENOMEM;
}

/* Take terms and modifiers, look the place up, and add one event for each site. */
static int finish(struct grammar *g, struct event_text *ev, const struct probe_spec *spec,
		  enum coati_event_kind kind)
{
	struct probe_site *sites;
	uint32_t nr;
	int r = coati_grammar_tail(g, ev);

	if (r < 0)
		return r;
	r = coati_probe_resolve(spec, g->list->sysfs, g->arena, &sites, g->lx.err);
	if (r < 0)
		return coati_lexer_place(&g->lx, ev->at, r);
	nr = (uint32_t)r;
	for (uint32_t i = 0; i < nr; i++) {
		struct coati_event_desc desc = {
			.kind = kind,
			.attr = sites[i].attr,
			.probe = sites[i].text,
			.flags = i ? COATI_DESC_MORE : 0,
		};

		r = coati_grammar_add(g, ev, &desc, NULL, false);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_user(struct grammar *g, struct event_text *ev, bool is_return)
{
	struct probe_spec spec = { .is_return = is_return };
	int r;

	lexer_take(&g->lx, ':');
	r = take_path(g, &spec);
	if (r == 0)
		r = take_colon(g, "':' and a symbol behind the path");
	if (r == 0)
		r = take_place(g, &spec);
	return r < 0 ? r : finish(g, ev, &spec, COATI_EVENT_UPROBE);
}

static int parse_kernel(struct grammar *g, struct event_text *ev, bool is_return)
{
	struct probe_spec spec = { .kernel = true, .is_return = is_return };
	int r;

	lexer_take(&g->lx, ':');
	r = take_place(g, &spec);
	return r < 0 ? r : finish(g, ev, &spec, COATI_EVENT_KPROBE);
}

int coati_grammar_uprobe(struct grammar *g, struct event_text *ev)
{
	return parse_user(g, ev, false);
}

int coati_grammar_uretprobe(struct grammar *g, struct event_text *ev)
{
	return parse_user(g, ev, true);
}

int coati_grammar_kprobe(struct grammar *g, struct event_text *ev)
{
	return parse_kernel(g, ev, false);
}

int coati_grammar_kretprobe(struct grammar *g, struct event_text *ev)
{
	return parse_kernel(g, ev, true);
}

int coati_grammar_usdt(struct grammar *g, struct event_text *ev)
{
	struct probe_spec spec = { 0 };
	int r;

	lexer_take(&g->lx, ':');
	r = take_path(g, &spec);
	if (r == 0)
		r = take_colon(g, "':' and a provider behind the path");
	if (r == 0)
		r = take_word(g, "a provider", &spec.provider);
	if (r == 0)
		r = take_colon(g, "':' and the name of a probe behind the provider");
	if (r == 0)
		r = take_word(g, "the name of a probe", &spec.name);
	return r < 0 ? r : finish(g, ev, &spec, COATI_EVENT_USDT);
}
