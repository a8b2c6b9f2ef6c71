/* SPDX-License-Identifier: MIT */
/*
 * Events of PMUs: pmu/term=value,event/modifiers, a bare name that some PMU has, and hardware
 * events on machines with more than one kind of core. A name may stand for several PMUs; those of
 * one kind count together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/match.h"
#include "base/parse.h"
#include "event/grammar.h"
#include "event/names.h"
#include "event/pmu.h"

/* One event being put together for one PMU. */
struct building {
	struct grammar *g;
	const struct event_text *ev;
	const struct pmu *pmu;
	struct coati_event_desc desc;
};

static int fail_at_term(const struct building *b, const struct term *t, int code, const char *what)
{
	return coati_lexer_fail(&b->g->lx, t->name_at, code, "PMU '%s': %s '%s'", b->pmu->name,
				what, coati_shown(slice_of(t->name)).text);
}

/* ---- terms ---- */

/* config, config1 ... config4; the number of the word, or -1. */
static int word_of(const char *name)
{
	static const char *const words[PMU_WORDS] = { "config", "config1", "config2", "config3",
						      "config4" };

	for (int i = 0; i < PMU_WORDS; i++) {
		if (strcmp(name, words[i]) == 0)
			return i;
	}
	return strcmp(name, "raw") == 0 ? 0 : -1;
}

static int set_word(struct building *b, const struct term *t, int word)
{
	if (!t->value)
		return coati_lexer_fail(&b->g->lx, t->name_at, -EINVAL, "term '%s' wants a number",
					t->name);
	return coati_term_number(&b->g->lx, t, 0, UINT64_MAX,
				 coati_pmu_word(&b->desc.attr, (uint32_t)word));
}

static int set_field(struct building *b, const struct term *t, const struct pmu_field *f)
{
	uint64_t max = coati_pmu_field_max(f), value;
	int r;

	if (!t->value && max != 1)
		return coati_lexer_fail(&b->g->lx, t->name_at, -EINVAL,
					"field '%s' of PMU '%s' wants a value up to 0x%" PRIx64,
					t->name, b->pmu->name, max);
	r = coati_term_number(&b->g->lx, t, 0, UINT64_MAX, &value);
	if (r < 0)
		return r;
	if (coati_pmu_field_set(f, value, &b->desc.attr) < 0)
		return coati_lexer_fail(
			&b->g->lx, t->value_at, -ERANGE,
			"0x%" PRIx64 " is too large for field '%s' of PMU '%s': at most 0x%" PRIx64,
			value, t->name, b->pmu->name, max);
	return 0;
}

/* Has the user given a value for the open term @name? */
static bool is_given(const struct building *b, const char *name)
{
	for (size_t i = 0; i < b->ev->terms.len; i++) {
		if (strcmp(b->ev->terms.v[i].name, name) == 0)
			return true;
	}
	return false;
}

/* One term of an event file: what it says is the kernel's word, not the user's. */
static int set_event_term(struct building *b, const struct term *t, const struct pmu_term *et)
{
	int word = word_of(et->name);
	struct pmu_field f;

	if (et->open)
		return is_given(b, et->name)
			       ? 0
			       : coati_lexer_fail(
					 &b->g->lx, t->name_at, -EINVAL,
					 "event '%s' wants a value for '%s': %s/%s,%s=.../",
					 t->name, et->name, b->pmu->name, t->name, et->name);
	if (word >= 0) {
		*coati_pmu_word(&b->desc.attr, (uint32_t)word) = et->value;
		return 0;
	}
	if (coati_pmu_field(b->pmu, et->name, &f) < 0 ||
	    coati_pmu_field_set(&f, et->value, &b->desc.attr) < 0)
		return fail_at_term(b, t, -EBADMSG, "sysfs contradicts itself about event");
	return 0;
}

static int set_event(struct building *b, const struct term *t)
{
	struct pmu_event e;
	struct pmu_term et;
	const char *at = e.terms;
	int r = coati_pmu_event(b->pmu, t->name, &e);

	if (r < 0)
		return fail_at_term(b, t, r, "sysfs has an unreadable file for event");
	while ((r = coati_pmu_term_next(&at, &et)) > 0) {
		r = set_event_term(b, t, &et);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return fail_at_term(b, t, r, "sysfs has a malformed file for event");
	b->desc.scale = e.scale;
	b->desc.unit = coati_arena_strdup(b->g->arena, e.unit);
	b->desc.flags |= e.snapshot ? COATI_DESC_SNAPSHOT : 0;
	b->desc.flags |= e.per_pkg ? COATI_DESC_PER_PKG : 0;
	return b->desc.unit ? 0 : -ENOMEM;
}

/* A name that every kernel knows, meant for the cores of this PMU: 1 done, 0 no such name. */
static int set_symbol(struct building *b, const struct term *t)
{
	struct event_symbol symbol;
	const char *why;

	if (!b->pmu->is_core || coati_symbol_find(slice_of(t->name), &symbol, &why) <= 0 ||
	    (symbol.kind != COATI_EVENT_HARDWARE && symbol.kind != COATI_EVENT_CACHE))
		return 0;
	b->desc.attr.type = symbol.type;
	b->desc.attr.config = symbol.config;
	/* the kernel knows the plain "cpu" PMU as type 4 and takes no number for it here */
	if (b->pmu->type != COATI_TYPE_RAW)
		b->desc.attr.config |= (uint64_t)b->pmu->type << 32;
	return 1;
}

static int unknown_term(const struct building *b, const struct term *t)
{
	struct nearest n = coati_nearest_to(t->name);
	struct dir_names names[2] = { 0 };
	int r = coati_pmu_field_names(b->pmu, b->g->arena, &names[0]);

	if (r == 0)
		r = coati_pmu_event_names(b->pmu, b->g->arena, &names[1]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names[0].len + names[1].len; i++)
		coati_nearest_offer(&n, i < names[0].len ? names[0].v[i]
							 : names[1].v[i - names[0].len]);
	if (!n.best && !t->value)
		return fail_at_term(b, t, -ENOENT, "there is no field or event");
	return coati_grammar_unknown_term(b->g, t, &n);
}

static int set_term(struct building *b, const struct term *t)
{
	int word = word_of(t->name);
	struct pmu_field f;
	int r;

	if (coati_term_is_general(t->name))
		return 0;
	if (word >= 0)
		return set_word(b, t, word);
	if (!t->value && coati_pmu_has_event(b->pmu, t->name))
		return set_event(b, t);
	r = coati_pmu_field(b->pmu, t->name, &f);
	if (r == 0)
		return set_field(b, t, &f);
	if (r != -ENOENT && r != -ENOTDIR)
		return fail_at_term(b, t, r, "sysfs has an unreadable file for field");
	if (!t->value) {
		r = set_symbol(b, t);
		if (r != 0)
			return r < 0 ? r : 0;
		if (t->name[0] == 'r' && coati_parse_hex(t->name + 1, &b->desc.attr.config) == 0)
			return 0;
	}
	return unknown_term(b, t);
}

/* ---- one PMU ---- */

static int set_cpus(struct building *b)
{
	char cpus[PMU_CPUS_TEXT];
	int r = coati_pmu_cpus(b->pmu, cpus, sizeof(cpus));

	if (r < 0)
		return coati_lexer_fail(&b->g->lx, b->ev->at, r, "the CPUs of PMU '%s': %m",
					b->pmu->name);
	b->desc.cpus = coati_arena_strdup(b->g->arena, cpus);
	if (!b->desc.cpus)
		return -ENOMEM;
	if (b->pmu->is_core && cpus[0])
		b->desc.flags |= COATI_DESC_CORE;
	return 0;
}

/* Some PMUs are tracepoints and probes in disguise, which need more than numbers: how those are
 * written, or NULL. */
static const char *written_instead(const char *pmu)
{
	static const struct {
		const char *pmu, *instead;
	} special[] = {
		{ "tracepoint", "SYSTEM:NAME" },
		{ "breakpoint", "mem:ADDRESS[/LENGTH][:rwx]" },
		{ "uprobe", "uprobe:PATH:SYMBOL" },
		{ "kprobe", "kprobe:SYMBOL" },
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (strcmp(pmu, special[i].pmu) == 0)
			return special[i].instead;
	}
	return NULL;
}

static int check_type(const struct building *b)
{
	const char *instead = written_instead(b->pmu->name);

	if (!instead)
		return 0;
	return coati_lexer_fail(&b->g->lx, b->ev->at, -EINVAL, "events of PMU '%s' are written %s",
				b->pmu->name, instead);
}

/* Fill b->desc from the terms of the text, or from the one event @alone. */
static int build(struct building *b, const struct term *alone)
{
	int r = check_type(b);

	b->desc = (struct coati_event_desc){ .kind = COATI_EVENT_PMU };
	b->desc.attr.type = b->pmu->type;
	if (r == 0)
		r = set_cpus(b);
	for (size_t i = 0; r == 0 && !alone && i < b->ev->terms.len; i++)
		r = set_term(b, &b->ev->terms.v[i]);
	return r < 0 || !alone ? r : set_event(b, alone);
}

/* ---- the PMUs that a name stands for ---- */

static bool same_stem(const char *a, const char *b)
{
	size_t stem = coati_pmu_stem(a);

	return coati_pmu_stem(b) == stem && memcmp(a, b, stem) == 0;
}

/* A glob may stand for PMUs of several kinds: each is shown with its own name. NULL: as typed. */
static int base_name(const struct grammar *g, const struct event_text *ev, const char *pmu,
		     const char **ret)
{
	struct shown typed = coati_shown(ev->word);

	*ret = NULL;
	if (!coati_is_glob(typed.text))
		return 0;
	*ret = coati_arena_printf(g->arena, "%.*s%.*s", (int)coati_pmu_stem(pmu), pmu,
				  (int)(ev->end - ev->at - (ptrdiff_t)ev->word.len),
				  ev->at + ev->word.len);
	return *ret ? 0 : -ENOMEM;
}

static int add_for(struct grammar *g, const struct event_text *ev, const char *name, bool more)
{
	struct building b = { .g = g, .ev = ev };
	const char *base = NULL;
	struct pmu p;
	int r = coati_pmu_open(g->list->sysfs, name, &p);

	if (r < 0)
		return coati_lexer_fail(&g->lx, ev->at, r,
					"PMU '%s' has no type that can be read in sysfs: %m", name);
	b.pmu = &p;
	r = build(&b, NULL);
	coati_pmu_close(&p);
	if (r == 0)
		r = base_name(g, ev, name, &base);
	b.desc.flags |= more ? COATI_DESC_MORE : 0;
	return r < 0 ? r : coati_grammar_add(g, ev, &b.desc, base, true);
}

static int unknown_pmu(struct grammar *g, const struct event_text *ev)
{
	struct shown shown = coati_shown(ev->word);
	struct nearest n = coati_nearest_to(shown.text);
	struct dir_names names;
	int r = coati_pmu_names(g->list->sysfs, g->arena, &names);

	if (r < 0)
		return r;
	coati_symbol_nearest(&n);
	for (size_t i = 0; i < names.len; i++)
		coati_nearest_offer(&n, names.v[i]);
	if (coati_is_glob(shown.text))
		return coati_lexer_fail(&g->lx, ev->at, -ENOENT, "no PMU here matches '%s'",
					shown.text);
	if (n.best)
		return coati_lexer_fail(&g->lx, ev->at, -ENOENT,
					"there is no PMU or event '%s' here; did you mean '%s'?",
					shown.text, n.best);
	return coati_lexer_fail(&g->lx, ev->at, -ENOENT, "there is no PMU or event '%s' here",
				shown.text);
}

static int too_many_for_group(const struct grammar *g, const struct event_text *ev, size_t count,
			      const char *example)
{
	return coati_lexer_fail(
		&g->lx, ev->at, -EINVAL,
		"'%s' stands for %zu PMUs, and a group lies on one: name it, for example %s/.../",
		coati_shown(ev->word).text, count, example);
}

int coati_grammar_pmu(struct grammar *g, struct event_text *ev)
{
	size_t before = g->drafts.len;
	const char *last = NULL;
	struct dir_names names;
	char *name = coati_arena_strndup(g->arena, ev->word.at, ev->word.len);
	int r = name ? coati_grammar_tail(g, ev) : -ENOMEM;

	if (r == 0)
		r = coati_pmu_match(g->list->sysfs, name, g->arena, &names);
	if (r < 0)
		return r;
	if (!names.len)
		return unknown_pmu(g, ev);
	if (names.len > 1 && g->in_group)
		return too_many_for_group(g, ev, names.len, names.v[0]);
	for (size_t i = 0; i < names.len; i++) {
		r = add_for(g, ev, names.v[i], last && same_stem(last, names.v[i]));
		if (r == 0)
			last = names.v[i];
		else if (r != -ENOENT)
			return r; /* of many, those that lack the event are left out */
	}
	return g->drafts.len > before ? 0 : r;
}

/* ---- bare names ---- */

/* Add the event when @pmu has it: 1, or 0. */
static int add_bare(struct grammar *g, const struct event_text *ev, const char *pmu,
		    const struct term *t, bool more)
{
	struct building b = { .g = g, .ev = ev };
	struct pmu p;
	int r = 0;

	if (coati_pmu_open(g->list->sysfs, pmu, &p) < 0)
		return 0;
	b.pmu = &p;
	if (coati_pmu_has_event(&p, t->name)) {
		r = build(&b, t);
		b.desc.flags |= more ? COATI_DESC_MORE : 0;
		if (r == 0)
			r = coati_grammar_add(g, ev, &b.desc, NULL, false);
		r = r < 0 ? r : 1;
	}
	coati_pmu_close(&p);
	return r;
}

static void offer_events(struct grammar *g, const char *pmu, struct nearest *n)
{
	struct dir_names names;
	struct pmu p;

	if (coati_pmu_open(g->list->sysfs, pmu, &p) < 0)
		return;
	if (coati_pmu_event_names(&p, g->arena, &names) == 0) {
		for (size_t i = 0; i < names.len; i++)
			coati_nearest_offer(n, names.v[i]);
	}
	coati_pmu_close(&p);
}

static int unknown_bare(struct grammar *g, const struct event_text *ev,
			const struct dir_names *pmus)
{
	struct shown shown = coati_shown(ev->word);
	struct nearest n = coati_nearest_to(shown.text);

	coati_symbol_nearest(&n);
	for (size_t i = 0; i < pmus->len; i++) {
		const char *instead = written_instead(pmus->v[i]);

		if (slice_is(ev->word, pmus->v[i]))
			return coati_lexer_fail(&g->lx, ev->at, -EINVAL,
						"'%s' is a PMU; its events are written %s",
						shown.text, instead ? instead : "PMU/TERMS/");
	}
	for (size_t i = 0; i < pmus->len; i++)
		offer_events(g, pmus->v[i], &n);
	if (n.best)
		return coati_lexer_fail(&g->lx, ev->at, -ENOENT,
					"there is no event '%s'; did you mean '%s'?", shown.text,
					n.best);
	return coati_lexer_fail(&g->lx, ev->at, -ENOENT,
				"there is no event '%s'; `coati list` shows all", shown.text);
}

int coati_grammar_bare(struct grammar *g, struct event_text *ev)
{
	struct term t = { .name_at = ev->at, .value_at = ev->at };
	size_t before = g->drafts.len;
	const char *last = NULL;
	struct dir_names pmus;
	int r = coati_pmu_match(g->list->sysfs, "*", g->arena, &pmus);

	t.name = coati_arena_strndup(g->arena, ev->word.at, ev->word.len);
	if (r == 0)
		r = t.name ? coati_grammar_tail(g, ev) : -ENOMEM;
	for (size_t i = 0; r >= 0 && i < pmus.len; i++) {
		r = add_bare(g, ev, pmus.v[i], &t, last && same_stem(last, pmus.v[i]));
		if (r > 0)
			last = pmus.v[i];
	}
	if (r < 0)
		return r;
	if (g->in_group && g->drafts.len - before > 1)
		return too_many_for_group(g, ev, g->drafts.len - before, last);
	return g->drafts.len > before ? 0 : unknown_bare(g, ev, &pmus);
}

/* ---- more than one kind of core ---- */

static int add_for_core(struct grammar *g, const struct event_text *ev,
			const struct coati_event_desc *desc, const char *core)
{
	struct building b = { .g = g, .ev = ev, .desc = *desc };
	const char *base =
		coati_arena_printf(g->arena, "%s/%.*s/", core, (int)ev->word.len, ev->word.at);
	struct pmu p;
	int r = base ? coati_pmu_open(g->list->sysfs, core, &p) : -ENOMEM;

	if (r < 0)
		return coati_lexer_fail(&g->lx, ev->at, r,
					"PMU '%s' has no type that can be read in sysfs: %m", core);
	b.pmu = &p;
	r = set_cpus(&b);
	coati_pmu_close(&p);
	if (desc->attr.type == COATI_TYPE_RAW)
		b.desc.attr.type = p.type;
	else
		b.desc.attr.config |= (uint64_t)p.type << 32;
	return r < 0 ? r : coati_grammar_add(g, ev, &b.desc, base, false);
}

int coati_grammar_hybrid(struct grammar *g, const struct event_text *ev,
			 const struct coati_event_desc *desc)
{
	int r = 0;

	if (!g->cores_known)
		r = coati_pmu_hybrid(g->list->sysfs, g->arena, &g->cores);
	g->cores_known = r == 0;
	if (r < 0 || !g->cores.len)
		return r;
	if (g->in_group)
		return coati_lexer_fail(
			&g->lx, ev->at, -EINVAL,
			"this machine has cores of several kinds, and a group lies on one: %s/%s/",
			g->cores.v[0], coati_shown(ev->word).text);
	for (size_t i = 0; r == 0 && i < g->cores.len; i++)
		r = add_for_core(g, ev, desc, g->cores.v[i]);
	return r < 0 ? r : 1;
}
