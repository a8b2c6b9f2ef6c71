/* SPDX-License-Identifier: MIT */
/* Lists, groups, and the parts of an event that do not depend on its kind. */
#include "event/grammar.h"

#include <errno.h>
#include <string.h>

#include "base/match.h"
#include "event/names.h"

typedef int (*noun_fn)(struct grammar *g, struct event_text *ev);

/* ---- one event ---- */

int coati_grammar_tail(struct grammar *g, struct event_text *ev)
{
	int r = 0;

	ev->end = g->lx.at;
	if (lexer_take(&g->lx, '/')) {
		r = coati_terms_parse(&g->lx, g->arena, &ev->terms);
		if (r < 0)
			return r;
		ev->end = ev->mods_at = g->lx.at;
		if (!lexer_take(&g->lx, ':') &&
		    (!lexer_peek(&g->lx) || is_blank_char(lexer_peek(&g->lx)) ||
		     strchr(",}", lexer_peek(&g->lx))))
			return 0;
		ev->mods_at = g->lx.at;
		return coati_modifiers_parse(&g->lx, &ev->mods);
	}
	if (lexer_take(&g->lx, ':')) {
		ev->mods_at = g->lx.at;
		r = coati_modifiers_parse(&g->lx, &ev->mods);
	}
	return r;
}

struct shown coati_grammar_shown(const struct event_text *ev)
{
	return coati_shown((struct slice){ ev->at, (size_t)(ev->end - ev->at) });
}

int coati_grammar_unknown_term(const struct grammar *g, const struct term *t, struct nearest *n)
{
	coati_terms_nearest(n);
	if (n->best)
		return coati_lexer_fail(&g->lx, t->name_at, -ENOENT,
					"there is no term '%s' here; did you mean '%s'?",
					coati_shown(slice_of(t->name)).text, n->best);
	return coati_lexer_fail(&g->lx, t->name_at, -ENOENT,
				"there is no term '%s' here; coati-events(7) lists them",
				coati_shown(slice_of(t->name)).text);
}

static int apply_terms(struct grammar *g, const struct event_text *ev,
		       struct coati_event_desc *desc, bool pmu_terms)
{
	for (size_t i = 0; i < ev->terms.len; i++) {
		const struct term *t = &ev->terms.v[i];
		struct nearest n = coati_nearest_to(t->name);
		int r = coati_term_apply(&g->lx, t, g->arena, desc);

		if (r < 0)
			return r;
		if (r == 0 && !pmu_terms)
			return coati_grammar_unknown_term(g, t, &n);
	}
	return 0;
}

static void fill_texts(struct coati_event_desc *desc)
{
	const char **texts[] = { &desc->group_name, &desc->unit,  &desc->cpus,
				 &desc->filter,	    &desc->probe, &desc->tracepoint,
				 &desc->metric_id,  &desc->note };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!*texts[i])
			*texts[i] = "";
	}
	if (desc->scale == 0.0)
		desc->scale = 1.0;
	desc->group = -1;
}

int coati_grammar_add(struct grammar *g, const struct event_text *ev,
		      const struct coati_event_desc *desc, const char *base, bool pmu_terms)
{
	struct draft *d;

	if (g->drafts.len >= g->room)
		return coati_lexer_fail(&g->lx, ev->at, -E2BIG, "a list holds at most %d events",
					EVENT_LIST_MAX);
	if (g->in_group && g->drafts.len >= EVENT_GROUP_MAX)
		return coati_lexer_fail(&g->lx, ev->at, -E2BIG, "a group holds at most %d events",
					EVENT_GROUP_MAX);
	if (!base)
		base = coati_arena_strndup(g->arena, ev->at, (size_t)(ev->end - ev->at));
	d = base ? ARRAY_ADD(&g->drafts) : NULL;
	if (!d)
		return -ENOMEM;
	d->desc = *desc;
	d->mods = ev->mods;
	d->base = base;
	d->at = ev->at;
	d->mods_at = ev->mods_at ? ev->mods_at : ev->at;
	fill_texts(&d->desc);
	return apply_terms(g, ev, &d->desc, pmu_terms);
}

static bool is_digits(struct slice s)
{
	bool hex = s.len > 2 && s.at[0] == '0' && (s.at[1] == 'x' || s.at[1] == 'X');
	size_t i = hex ? 2 : 0;

	for (; i < s.len; i++) {
		if (!strchr(hex ? "0123456789abcdefABCDEF" : "0123456789", s.at[i]))
			return false;
	}
	return s.len > 0;
}

/* rNNN, and what people write instead: r0xNNN. */
static bool is_raw(struct slice s)
{
	if (s.len > 3 && memcmp(s.at, "r0x", 3) == 0)
		return true;
	for (size_t i = 1; i < s.len; i++) {
		if (!strchr("0123456789abcdefABCDEF", s.at[i]))
			return false;
	}
	return s.len > 1 && s.at[0] == 'r';
}

/* Nouns that open with a word and a colon. */
static const struct keyword {
	const char *word, *form;
	noun_fn parse;
} keywords[] = {
	{ "mem", "mem:ADDRESS[/LENGTH][:rwx]", coati_grammar_breakpoint },
	{ "uprobe", "uprobe:PATH:SYMBOL", coati_grammar_uprobe },
	{ "u", "u:PATH:SYMBOL", coati_grammar_uprobe },
	{ "uretprobe", "uretprobe:PATH:SYMBOL", coati_grammar_uretprobe },
	{ "ur", "ur:PATH:SYMBOL", coati_grammar_uretprobe },
	{ "kprobe", "kprobe:SYMBOL", coati_grammar_kprobe },
	{ "kretprobe", "kretprobe:SYMBOL", coati_grammar_kretprobe },
	{ "usdt", "usdt:PATH:PROVIDER:NAME", coati_grammar_usdt },
};

static const struct keyword *find_keyword(struct slice word)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (slice_is(word, keywords[i].word))
			return &keywords[i];
	}
	return NULL;
}

/* A keyword without its colon. */
static int incomplete_noun(struct grammar *g, struct event_text *ev)
{
	return coati_lexer_fail(&g->lx, ev->at, -EINVAL, "expected %s",
				find_keyword(ev->word)->form);
}

/* Behind the colon are only modifiers, and no tracepoint can be meant. */
static bool is_bare_with_modifiers(const struct grammar *g, const struct event_text *ev)
{
	struct lexer ahead = g->lx;
	struct modifiers mods;

	ahead.err = NULL;
	return lexer_take(&ahead, ':') && coati_modifiers_parse(&ahead, &mods) == 0 &&
	       !coati_grammar_has_system(g, ev->word);
}

/* Which noun stands here: by its first word and the character behind it. */
static noun_fn find_noun(const struct grammar *g, const struct event_text *ev)
{
	const struct keyword *keyword = find_keyword(ev->word);
	char next = lexer_peek(&g->lx);
	struct event_symbol symbol;
	const char *why;

	if (keyword && next != '/')
		return next == ':' ? keyword->parse : incomplete_noun;
	if (is_digits(ev->word))
		return coati_grammar_number;
	if (coati_symbol_find(ev->word, &symbol, &why) != 0)
		return coati_grammar_symbol;
	if (is_raw(ev->word))
		return coati_grammar_raw;
	if (next == '/')
		return coati_grammar_pmu;
	if (next == ':' && !is_bare_with_modifiers(g, ev))
		return coati_grammar_tracepoint;
	return coati_grammar_bare;
}

static int parse_event(struct grammar *g)
{
	struct event_text ev = { .terms = ARRAY_INIT(TERMS_MAX), .at = g->lx.at };
	int r;

	ev.word = coati_lexer_until(&g->lx, ",:/{}");
	if (ev.word.len)
		r = find_noun(g, &ev)(g, &ev);
	else if (lexer_peek(&g->lx) == '{')
		r = coati_lexer_fail(&g->lx, ev.at, -EINVAL, "a group cannot be inside a group");
	else
		r = coati_lexer_expected(&g->lx, "an event");
	ARRAY_FINI(&ev.terms);
	return r;
}

/* ---- items ---- */

/* Modifiers that apply to a whole group are not allowed after a member. */
static int check_member(const struct grammar *g, const struct draft *d, bool is_leader)
{
	if (d->mods.bits & MOD_WEAK)
		return coati_lexer_fail(&g->lx, d->mods_at, -EINVAL,
					"modifier W is about a whole group; put it behind the '}'");
	if (d->mods.bits & MOD_OF_LEADER && !is_leader)
		return coati_lexer_fail(
			&g->lx, d->mods_at, -EINVAL,
			"only the first event of a group can be pinned (D) or exclusive (e)");
	return 0;
}

static int merge_modifiers(const struct grammar *g, struct draft *d, const struct modifiers *group,
			   bool is_leader)
{
	uint32_t bits = group->bits & ~(is_leader ? 0 : MOD_OF_LEADER);

	d->mods.bits |= bits;
	d->mods.precise += group->precise;
	if (d->mods.precise > 3)
		return coati_lexer_fail(
			&g->lx, d->mods_at, -EINVAL,
			"more than three p with those of the group: ppp is as precise as it gets");
	if (d->mods.precise && d->mods.bits & MOD_MAX_PRECISE)
		return coati_lexer_fail(&g->lx, d->mods_at, -EINVAL,
					"p and P contradict each other; give one of them");
	return 0;
}

/* Letters of the group that show in the name of a member: not those about the group as a whole. */
static size_t shown_letters(const struct draft *d, const struct modifiers *group, char buf[16])
{
	size_t len = 0;

	for (size_t i = 0; group && i < group->letters.len && len < 15; i++) {
		char c = group->letters.at[i];

		if (!strchr("SDWe", c) && (c == 'p' || !d->mods.letters.len ||
					   !memchr(d->mods.letters.at, c, d->mods.letters.len)))
			buf[len++] = c;
	}
	buf[len] = '\0';
	return len;
}

static int name_event(const struct grammar *g, struct draft *d, const struct modifiers *group)
{
	const char *slash = strrchr(d->base, '/');
	bool ends_in_slash = slash && !slash[1];
	char more[16];
	size_t len = shown_letters(d, group, more) + d->mods.letters.len;

	if (d->desc.name)
		return 0; /* a name= term */
	d->desc.name = d->base;
	if (len)
		d->desc.name =
			coati_arena_printf(g->arena, "%s%s%.*s%s", d->base,
					   ends_in_slash ? "" : ":", (int)d->mods.letters.len,
					   d->mods.letters.len ? d->mods.letters.at : "", more);
	return d->desc.name ? 0 : -ENOMEM;
}

/* The tool measures these itself: the kernel can neither group nor restrict them. */
static int check_tool(const struct grammar *g, const struct draft *d)
{
	if (d->desc.kind != COATI_EVENT_TOOL)
		return 0;
	if (g->in_group)
		return coati_lexer_fail(&g->lx, d->at, -EINVAL,
					"'%s' is measured by the tool and cannot be in a group",
					d->base);
	if (d->mods.letters.len)
		return coati_lexer_fail(&g->lx, d->mods_at, -EINVAL,
					"'%s' is measured by the tool and takes no modifiers",
					d->base);
	return 0;
}

struct group_text {
	const char *name; /* "" for none */
	struct modifiers mods;
};

/* Move the drafts of one item into the list. */
static int finish_item(struct grammar *g, struct coati_event_list *list,
		       const struct group_text *group)
{
	for (size_t i = 0; i < g->drafts.len; i++) {
		struct draft *d = &g->drafts.v[i];
		struct coati_event_desc *desc;
		int r = check_tool(g, d);

		if (r == 0 && group)
			r = check_member(g, d, i == 0);
		if (r == 0)
			r = name_event(g, d, group ? &group->mods : NULL);
		if (r == 0 && group)
			r = merge_modifiers(g, d, &group->mods, i == 0);
		if (r < 0)
			return r;
		coati_modifiers_apply(&d->mods, &d->desc);
		desc = ARRAY_ADD(&list->descs);
		if (!desc)
			return -ENOMEM;
		*desc = d->desc;
		if (group) {
			desc->group = list->nr_groups;
			desc->group_name = group->name;
			desc->flags |= i == 0 ? COATI_DESC_LEADER : 0;
		}
	}
	g->room -= g->drafts.len;
	g->drafts.len = 0;
	return 0;
}

static int parse_lone(struct grammar *g, struct coati_event_list *list)
{
	int r = parse_event(g);

	if (r < 0)
		return r;
	if (g->drafts.len && g->drafts.v[0].mods.bits & MOD_WEAK)
		return coati_lexer_fail(&g->lx, g->drafts.v[0].mods_at, -EINVAL,
					"modifier W is about a group, and this is a lone event");
	return finish_item(g, list, NULL);
}

/* From behind the '{' to behind the '}'. */
static int parse_members(struct grammar *g)
{
	for (;;) {
		int r;

		lexer_blanks(&g->lx);
		r = parse_event(g);
		if (r < 0)
			return r;
		lexer_blanks(&g->lx);
		if (lexer_take(&g->lx, '}'))
			return 0;
		if (!lexer_take(&g->lx, ','))
			return coati_lexer_expected(&g->lx, "',' or '}'");
	}
}

static int parse_group(struct grammar *g, struct coati_event_list *list, struct slice name)
{
	struct group_text group = { .name = "" };
	int r;

	if (name.len)
		group.name = coati_arena_strndup(g->arena, name.at, name.len);
	if (!group.name)
		return -ENOMEM;
	g->in_group = true;
	r = parse_members(g);
	if (r == 0 && lexer_take(&g->lx, ':'))
		r = coati_modifiers_parse(&g->lx, &group.mods);
	if (r == 0)
		r = finish_item(g, list, &group);
	g->in_group = false;
	list->nr_groups++;
	return r;
}

static int parse_item(struct grammar *g, struct coati_event_list *list)
{
	struct lexer ahead = g->lx;
	struct slice name;

	if (lexer_take(&g->lx, '{'))
		return parse_group(g, list, (struct slice){ g->lx.at, 0 });
	name = coati_lexer_until(&ahead, ",:/{}");
	if (name.len && lexer_take(&ahead, ':') && lexer_take(&ahead, '{')) {
		g->lx = ahead;
		return parse_group(g, list, name);
	}
	return parse_lone(g, list);
}

static int parse_list(struct grammar *g, struct coati_event_list *list)
{
	for (;;) {
		int r;

		lexer_blanks(&g->lx);
		r = parse_item(g, list);
		if (r < 0)
			return r;
		lexer_blanks(&g->lx);
		if (!lexer_peek(&g->lx))
			return 0;
		if (!lexer_take(&g->lx, ','))
			return coati_lexer_expected(&g->lx, "',' or the end");
	}
}

int coati_grammar_parse(struct coati_event_list *list, struct arena *arena, const char *text,
			struct coati_error *err)
{
	struct grammar g = {
		.lx = lexer_over(text, err),
		.list = list,
		.arena = arena,
		.drafts = ARRAY_INIT(EVENT_LIST_MAX),
		.room = EVENT_LIST_MAX - list->descs.len,
	};
	int r = parse_list(&g, list);

	ARRAY_FINI(&g.drafts);
	return r;
}
