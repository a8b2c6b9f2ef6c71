/* SPDX-License-Identifier: MIT */
/*
 * What stands between slashes: "period=1000,name='my event',inv". The syntax knows no PMU; terms
 * that mean the same for every event are applied here, the rest is the PMU's business.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/event.h>

#include "base/array.h"
#include "event/lexer.h"

#define TERMS_MAX	64
#define TERM_LENGTH_MAX 512

struct term {
	const char *name;     /* terminated, in the arena */
	const char *value;    /* terminated, in the arena; NULL when there was no '=' */
	const char *name_at;  /* in the text, for complaints */
	const char *value_at; /* likewise; name_at when there is no value */
	bool quoted;	      /* the value stood in quotes */
};

typedef ARRAY(struct term) term_array;

/* From behind the opening slash to behind the closing one. No terms at all is fine. */
int coati_terms_parse(struct lexer *lx, struct arena *arena, term_array *ret);

/* Apply @t to @desc when its meaning does not depend on a PMU: 1 applied, 0 not such a term,
 * negative: it has a wrong value. */
int coati_term_apply(const struct lexer *lx, const struct term *t, struct arena *arena,
		     struct coati_event_desc *desc);
/* Would coati_term_apply() take a term of this name? */
bool coati_term_is_general(const char *name);
/* The value as a number; a term without a value is 1. */
int coati_term_number(const struct lexer *lx, const struct term *t, uint64_t min, uint64_t max,
		      uint64_t *ret);
/* Offer the names of all terms that coati_term_apply() knows. */
struct nearest;
void coati_terms_nearest(struct nearest *n);
