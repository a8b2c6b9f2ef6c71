/* SPDX-License-Identifier: MIT */
/* Tracepoints: system:name, each with globs, in the order of their names. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/match.h"
#include "event/grammar.h"
#include "event/names.h"
#include "event/tracefs.h"

/* What was asked for, and where. */
struct asking {
	struct grammar *g;
	const struct event_text *ev;
	const char *system, *name; /* patterns, terminated */
	const char *name_at;
	char tracefs[PATH_MAX];
};

/* 1 added; 0 there is no such tracepoint, or it has no id. */
static int add_one(const struct asking *a, const char *system, const char *name)
{
	struct coati_event_desc desc = { .kind = COATI_EVENT_TRACEPOINT };
	int r;

	desc.attr.type = COATI_TYPE_TRACEPOINT;
	r = coati_tracefs_id(a->tracefs, system, name, &desc.attr.config, a->g->lx.err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return coati_lexer_place(&a->g->lx, a->name_at, r);
	desc.tracepoint = coati_arena_printf(a->g->arena, "%s:%s", system, name);
	if (!desc.tracepoint)
		return -ENOMEM;
	r = coati_grammar_add(a->g, a->ev, &desc, desc.tracepoint, false);
	return r < 0 ? r : 1;
}

/* Those of one system: how many, or a negative error. */
static int add_matching(const struct asking *a, const char *system)
{
	struct dir_names names;
	int count = 0;
	int r = coati_tracefs_events(a->tracefs, system, a->g->arena, &names);

	if (r < 0)
		return r == -EACCES ? coati_tracefs_refused(a->tracefs, a->g->lx.err) : r;
	for (size_t i = 0; i < names.len; i++) {
		if (!coati_glob_match(a->name, names.v[i]))
			continue;
		/* the few of the function tracer have no id: they cannot be opened as events */
		r = add_one(a, system, names.v[i]);
		if (r < 0)
			return r;
		count += r;
	}
	return count;
}

static int unknown_system(const struct asking *a, const struct dir_names *systems)
{
	struct nearest n = coati_nearest_to(a->system);

	for (size_t i = 0; i < systems->len; i++)
		coati_nearest_offer(&n, systems->v[i]);
	coati_symbol_nearest(&n);
	if (n.best)
		return coati_lexer_fail(
			&a->g->lx, a->ev->at, -ENOENT,
			"there is no event or tracepoint system '%s'; did you mean '%s'?",
			coati_shown(a->ev->word).text, n.best);
	return coati_lexer_fail(
		&a->g->lx, a->ev->at, -ENOENT,
		"there is no event or tracepoint system '%s'; `coati list` shows all",
		coati_shown(a->ev->word).text);
}

static int unknown_name(const struct asking *a)
{
	struct nearest n = coati_nearest_to(a->name);
	struct dir_names names;

	if (!coati_is_glob(a->system) && !coati_is_glob(a->name) &&
	    coati_tracefs_events(a->tracefs, a->system, a->g->arena, &names) == 0) {
		for (size_t i = 0; i < names.len; i++)
			coati_nearest_offer(&n, names.v[i]);
	}
	if (n.best && strcmp(n.best, a->name) == 0)
		return coati_lexer_fail(
			&a->g->lx, a->name_at, -ENOENT,
			"tracepoint '%s:%s' has no id: it cannot be opened as an event", a->system,
			a->name);
	if (n.best)
		return coati_lexer_fail(&a->g->lx, a->name_at, -ENOENT,
					"there is no tracepoint '%s' in '%s'; did you mean '%s'?",
					coati_shown(slice_of(a->name)).text, a->system, n.best);
	return coati_lexer_fail(&a->g->lx, a->name_at, -ENOENT, "no tracepoint matches '%s:%s'",
				coati_shown(slice_of(a->system)).text,
				coati_shown(slice_of(a->name)).text);
}

static int expand(const struct asking *a)
{
	struct dir_names systems;
	int count = 0, nr_systems = 0;
	int r = coati_tracefs_systems(a->tracefs, a->g->arena, &systems);

	if (r < 0)
		return coati_lexer_fail(&a->g->lx, a->ev->at, r, "the tracepoints in %s: %m",
					a->tracefs);
	for (size_t i = 0; i < systems.len; i++) {
		if (!coati_glob_match(a->system, systems.v[i]))
			continue;
		nr_systems++;
		r = add_matching(a, systems.v[i]);
		if (r < 0)
			return coati_lexer_place(&a->g->lx, a->ev->at, r);
		count += r;
	}
	if (!nr_systems)
		return unknown_system(a, &systems);
	return count ? 0 : unknown_name(a);
}

int coati_grammar_tracepoint(struct grammar *g, struct event_text *ev)
{
	struct asking a = { .g = g, .ev = ev };
	struct slice name;
	int r;

	lexer_take(&g->lx, ':');
	name = coati_lexer_until(&g->lx, ",:/{}");
	if (!name.len)
		return coati_lexer_expected(&g->lx, "the name of a tracepoint");
	a.name_at = name.at;
	a.system = coati_arena_strndup(g->arena, ev->word.at, ev->word.len);
	a.name = coati_arena_strndup(g->arena, name.at, name.len);
	if (!a.system || !a.name)
		return -ENOMEM;
	r = coati_grammar_tail(g, ev);
	if (r < 0)
		return r;
	r = coati_tracefs_find(g->list->tracefs, a.tracefs, sizeof(a.tracefs), g->lx.err);
	if (r < 0) {
		coati_error_prefix(g->lx.err, "%s: ", coati_grammar_shown(ev).text);
		return coati_lexer_place(&g->lx, ev->at, r);
	}
	if (!coati_is_glob(a.system) && !coati_is_glob(a.name)) {
		r = add_one(&a, a.system, a.name);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return expand(&a);
}

bool coati_grammar_has_system(const struct grammar *g, struct slice system)
{
	char tracefs[PATH_MAX];
	struct dir_names names;
	char *copy = coati_arena_strndup(g->arena, system.at, system.len);

	return copy && coati_tracefs_find(g->list->tracefs, tracefs, sizeof(tracefs), NULL) == 0 &&
	       coati_tracefs_events(tracefs, copy, g->arena, &names) == 0;
}
