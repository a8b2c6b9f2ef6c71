/* SPDX-License-Identifier: MIT */
/*
 * From text to descriptions. grammar.c knows lists, groups and what all events share; each noun
 * (symbol, PMU, tracepoint, breakpoint, probe) has a file with one function that is entered behind
 * the event's first word, takes the rest of it up to the modifiers, and adds one draft for each
 * event it stands for.
 *
 *	list     := item { ',' item }
 *	item     := [name ':'] '{' event { ',' event } '}' [':' modifiers] | event
 *	event    := noun [ '/' terms '/' [modifiers] | ':' modifiers ]
 */
#pragma once

#include <coati/event.h>

#include "base/arena.h"
#include "base/array.h"
#include "event/grammar-modifiers.h"
#include "event/lexer.h"
#include "event/list.h"
#include "event/names-dir.h"
#include "event/terms.h"

/* An event before its group's modifiers are known. */
struct draft {
	struct coati_event_desc desc;
	struct modifiers mods;
	const char *base;    /* name without modifiers, in the arena */
	const char *at;	     /* first character of the event in the text */
	const char *mods_at; /* where its modifiers stand; @at when it has none */
};

struct grammar {
	struct lexer lx;
	const struct coati_event_list *list; /* where sysfs and tracefs are */
	struct arena *arena;
	ARRAY(struct draft) drafts; /* of the item that is being parsed */
	size_t room;		    /* drafts that the list can still take */
	bool in_group;
	bool cores_known;
	struct dir_names cores; /* PMUs of the cores, when there is more than one kind */
};

/* One event of the text, as far as all nouns share it. */
struct event_text {
	const char *at;	   /* first character */
	struct slice word; /* the first word */
	const char *end;   /* behind noun and terms, before the modifiers */
	term_array terms;
	struct modifiers mods;
	const char *mods_at;
};

/* The terms and modifiers behind the noun. Call when the noun is taken. */
int coati_grammar_tail(struct grammar *g, struct event_text *ev);
/* Another draft: @desc with the terms and modifiers of @ev. @base (in the arena, or for ever) is
 * the name that it has without modifiers, NULL: as typed. Terms that are not the same for every
 * event are left to the caller when @pmu_terms, else refused. */
int coati_grammar_add(struct grammar *g, const struct event_text *ev,
		      const struct coati_event_desc *desc, const char *base, bool pmu_terms);
/* An unknown term; @n holds similar names for the message. */
int coati_grammar_unknown_term(const struct grammar *g, const struct term *t, struct nearest *n);
/* The whole event in a sentence: text of @ev up to its modifiers. */
struct shown coati_grammar_shown(const struct event_text *ev);

/* The nouns. Each is entered behind ev->word, that is before ':' or '/' where there is one. */
int coati_grammar_symbol(struct grammar *g, struct event_text *ev);
int coati_grammar_raw(struct grammar *g, struct event_text *ev);
int coati_grammar_number(struct grammar *g, struct event_text *ev);
int coati_grammar_pmu(struct grammar *g, struct event_text *ev);
int coati_grammar_tracepoint(struct grammar *g, struct event_text *ev);
int coati_grammar_breakpoint(struct grammar *g, struct event_text *ev);
int coati_grammar_uprobe(struct grammar *g, struct event_text *ev);
int coati_grammar_uretprobe(struct grammar *g, struct event_text *ev);
int coati_grammar_kprobe(struct grammar *g, struct event_text *ev);
int coati_grammar_kretprobe(struct grammar *g, struct event_text *ev);
int coati_grammar_usdt(struct grammar *g, struct event_text *ev);
/* Is there a tracepoint system of that name? */
bool coati_grammar_has_system(const struct grammar *g, struct slice system);
/* A name that is in no table: perhaps an event of some PMU. */
int coati_grammar_bare(struct grammar *g, struct event_text *ev);
/* A hardware, cache or raw event on a machine with several kinds of cores: 1 @desc was added once
 * for each kind, 0 there is one kind only and nothing was done. */
int coati_grammar_hybrid(struct grammar *g, const struct event_text *ev,
			 const struct coati_event_desc *desc);

/* Parse @text into @list, in @arena. The list may have grown on failure: the caller takes it
 * back. */
int coati_grammar_parse(struct coati_event_list *list, struct arena *arena, const char *text,
			struct coati_error *err);
