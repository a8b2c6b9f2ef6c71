/* SPDX-License-Identifier: MIT */
/*
 * Conditions of --fail-if. SUBJECT OPERATOR AMOUNT:
 *	func:NAME, self:NAME, image:NAME	a function with all that it calls, by itself, a file
 *						with code; * and ? as in a shell
 *	total					all weight, by run or second
 *	> >= < <=
 *	+5%, -3%, 2pp				relative to before, or percentage points of the
 *						share
 */
#pragma once

#include "base/json.h"
#include "cli/diff/args.h"

/* When a condition counts as held. */
enum fail_when {
	FAIL_CERTAIN = 0, /* the whole interval is past the amount */
	FAIL_ESTIMATE,	  /* the estimate is, and something changed for certain */
	FAIL_POSSIBLE,	  /* some of the interval is: only what is surely fine passes */
};
extern const char *const coati_fail_words[];

enum gate_subject { GATE_FUNCTION, GATE_SELF, GATE_IMAGE, GATE_TOTAL };

struct gate {
	const char *text; /* as it was written */
	enum gate_subject subject;
	char *name;
	bool less, or_equal; /* < or >; with = */
	bool points;
	double amount; /* percent or percentage points */
};

/* 0, or -EINVAL with a sentence and its column. Free name with coati_free(). */
int coati_gate_parse(const char *text, struct gate *ret, struct coati_error *err);

/* All of the command line: 0, or the exit code, and it was said. */
int coati_gates_new(struct diff *d);
void coati_gates_free(struct diff *d);
/* Ask them. The exit code; DIFF_TROUBLE was said. */
int coati_gates_judge(struct diff *d);
/* How each came out: lines, and the members "conditions" and "failed". */
void coati_gates_text(const struct diff *d, struct strbuf *s);
void coati_gates_json(const struct diff *d, struct json *j);
