/* SPDX-License-Identifier: MIT */
/*
 * see diff/gate.h. A name may hold anything, operators of C++ too: a condition is read from its
 * end, where amount and operator are. The condition was fixed before the data was seen, so its
 * interval is corrected for the number of conditions, not for that of all functions.
 */
#include "cli/diff/gate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/match.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/diff/compare.h"
#include "cli/diff/text.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "profile/diff.h"

const char *const coati_fail_words[] = { "certain", "estimate", "possible", NULL };

static const char *const subjects[] = {
	[GATE_FUNCTION] = "func:",
	[GATE_SELF] = "self:",
	[GATE_IMAGE] = "image:",
	[GATE_TOTAL] = "total",
};

/* ---- parsing ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The text up to which something was understood, from the right. */
struct tail {
	const char *text;
	size_t len;
};

static void skip_blanks(struct tail *t)
{
	while (t->len && is_blank(t->text[t->len - 1]))
		t->len--;
}

static int wrong(const struct tail *t, struct coati_error *err, const char *what)
{
	return coati_fail_at(err, -EINVAL, (int)t->len + 1, "%s", what);
}

/* "+5%", "2pp" at the end. */
static int parse_amount(struct tail *t, struct gate *g, struct coati_error *err)
{
	char number[32];
	size_t end;

	skip_blanks(t);
	if (t->len >= 2 && !memcmp(t->text + t->len - 2, "pp", 2)) {
		g->points = true;
		t->len -= 2;
	} else if (t->len && t->text[t->len - 1] == '%') {
		t->len--;
	} else {
		return wrong(t, err,
			     "expected an amount at the end: +5% (relative) or 2pp (percentage "
			     "points)");
	}
	skip_blanks(t);
	end = t->len;
	while (t->len && strchr("0123456789.+-", t->text[t->len - 1]))
		t->len--;
	if (end - t->len >= sizeof(number))
		return wrong(t, err, "the number is too long");
	memcpy(number, t->text + t->len, end - t->len);
	number[end - t->len] = '\0';
	if (coati_parse_double(number[0] == '+' ? number + 1 : number, &g->amount) < 0 ||
	    (number[0] == '+' && number[1] == '-'))
		return wrong(t, err, "expected a number such as +5 or -0.5");
	if (!g->points && g->amount < -100)
		return wrong(t, err, "the amount cannot be below -100%");
	return 0;
}

static int parse_operator(struct tail *t, struct gate *g, struct coati_error *err)
{
	skip_blanks(t);
	if (t->len && t->text[t->len - 1] == '=') {
		g->or_equal = true;
		t->len--;
	}
	if (!t->len || !strchr("<>", t->text[t->len - 1]))
		return wrong(t, err, "expected >, >=, < or <= before the amount");
	g->less = t->text[--t->len] == '<';
	return 0;
}

static int parse_subject(const struct tail *t, struct gate *g, struct coati_error *err)
{
	size_t at = 0, len = t->len;

	while (at < len && is_blank(t->text[at]))
		at++;
	while (len > at && is_blank(t->text[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		size_t n = strlen(subjects[i]);

		if (len - at < n || memcmp(t->text + at, subjects[i], n) != 0)
			continue;
		g->subject = (enum gate_subject)i;
		if ((len - at == n) != (g->subject == GATE_TOTAL))
			return coati_fail_at(err, -EINVAL, (int)(at + n) + 1,
					     g->subject == GATE_TOTAL
						     ? "total takes no name: put the operator "
						       "after it"
						     : "expected a name");
		g->name = coati_strndup(t->text + at + n, len - at - n);
		return g->name ? 0 : coati_fail(err, -ENOMEM, "out of memory");
	}
	return coati_fail_at(err, -EINVAL, (int)at + 1,
			     "expected func:NAME, self:NAME, image:NAME or total");
}

int coati_gate_parse(const char *text, struct gate *ret, struct coati_error *err)
{
	struct tail t = { .text = text, .len = strlen(text) };
	struct gate g = { .text = text };
	int r = parse_amount(&t, &g, err);

	if (r == 0)
		r = parse_operator(&t, &g, err);
	if (r == 0)
		r = parse_subject(&t, &g, err);
	if (r == 0 && g.points && g.subject == GATE_TOTAL) {
		coati_free(g.name);
		return coati_fail_at(err, -EINVAL, (int)strlen(text) - 1,
				     "total is not a share: give a relative amount (%%)");
	}
	if (r == 0)
		*ret = g;
	return r;
}

/* ---- all of them ---- */

/* How one came out. */
struct outcome {
	struct gate gate;
	bool is_found; /* there is such a thing */
	bool is_known; /* there are samples enough, and they do not vary too much */
	bool is_held;
	const char *name; /* of the row that decided */
	struct coati_diff_value value;
	struct coati_diff *diff; /* NULL: of the whole */
};

struct gates {
	struct outcome *v;
	size_t nr;
	uint32_t questions; /* rows that were asked for */
	bool has_failed;
};

int coati_gates_new(struct diff *d)
{
	const struct option_texts *texts = &d->args->fail_if;
	struct gates *g = coati_alloc(sizeof(*g));
	struct coati_error err = { 0 };
	char quoted[96];

	d->gates = g;
	if (g)
		g->v = coati_alloc_array(texts->len + 1, sizeof(*g->v));
	if (!g || !g->v) {
		coati_say("out of memory");
		return DIFF_TROUBLE;
	}
	for (size_t i = 0; i < texts->len; i++) {
		struct gate *gate = &g->v[i].gate;

		if (coati_gate_parse(texts->v[i].text, gate, &err) < 0) {
			coati_quote(texts->v[i].text, quoted, sizeof(quoted));
			return coati_command_misuse(&coati_command_diff,
						    "--fail-if %s, column %d: %s", quoted,
						    err.column, err.text);
		}
		g->nr++;
		if (gate->points && d->args->measure != COATI_DIFF_SHARE)
			return coati_command_misuse(
				&coati_command_diff,
				"--fail-if: pp are points of a share; with --measure give a "
				"relative amount (%%)");
	}
	return 0;
}

void coati_gates_free(struct diff *d)
{
	struct gates *g = d->gates;

	for (size_t i = 0; g && i < g->nr; i++) {
		coati_free(g->v[i].gate.name);
		coati_diff_free(&g->v[i].diff);
	}
	if (g)
		coati_free(g->v);
	coati_free(g);
	d->gates = NULL;
}

/* ---- judging ---- */

/* Past the amount: @x as the ratio or the change. */
static bool is_past(const struct gate *g, double ratio, double change)
{
	double x = g->points ? change * 100 : (ratio - 1) * 100;

	if (g->less)
		return g->or_equal ? x <= g->amount : x < g->amount;
	return g->or_equal ? x >= g->amount : x > g->amount;
}

/* @v with the bounds of a single question. */
static bool holds(const struct gate *g, const struct coati_diff_value *v, enum fail_when when)
{
	bool low = is_past(g, v->ratio_low, v->low), high = is_past(g, v->ratio_high, v->high);

	switch (when) {
	case FAIL_POSSIBLE:
		return low || high;
	case FAIL_ESTIMATE:
		return is_past(g, v->ratio, v->change) &&
		       (v->verdict == COATI_DIFF_MORE || v->verdict == COATI_DIFF_LESS);
	default:
		return low && high;
	}
}

/* How far on the wrong side the estimate is: the row that is furthest speaks for all of a
 * pattern. */
static double badness(const struct gate *g, const struct coati_diff_value *v)
{
	double x = g->points ? v->change : v->ratio;

	return g->less ? -x : x;
}

static void take_row(const struct diff *d, struct outcome *o, const char *name,
		     const struct coati_diff_value *v)
{
	struct coati_diff_value one = *v;
	bool known = coati_diff_bounds(v, d->confidence, d->gates->questions, &one) == 0;
	bool held = known ? holds(&o->gate, &one, (enum fail_when)d->args->fail_when)
			  : d->args->fail_when == FAIL_POSSIBLE;

	/* an interval that says nothing is no reason to pass, unless all of it does */
	if (one.verdict == COATI_DIFF_UNDECIDED && !held && holds(&o->gate, &one, FAIL_POSSIBLE))
		known = false;
	if (o->name && (o->is_held > held || (o->is_held == held && o->is_known > known) ||
			(o->is_held == held && o->is_known == known &&
			 badness(&o->gate, &o->value) >= badness(&o->gate, &one))))
		return;
	o->is_known = known;
	o->is_held = held;
	o->name = name;
	o->value = one;
}

static int find_rows(struct diff *d, struct outcome *o)
{
	struct coati_diff_opts opts = {
		.size = sizeof(opts),
		.by = o->gate.subject == GATE_IMAGE ? COATI_BY_IMAGE : COATI_BY_FUNCTION,
		.measure = (enum coati_diff_measure)d->args->measure,
		.name = o->gate.name,
		.confidence = d->confidence,
		.run_spread = d->run_spread,
		.seed = d->args->seed,
	};
	struct coati_error err = { 0 };
	size_t nr = 1;

	if (o->gate.subject != GATE_TOTAL) {
		if (coati_diff_new(d->sides[0].report.view, d->sides[1].report.view, &opts,
				   &o->diff, &err) < 0) {
			coati_say("%s", err.text);
			return -1;
		}
		coati_diff_rows(o->diff, &nr);
	}
	o->is_found = nr > 0;
	d->gates->questions += (uint32_t)nr;
	return 0;
}

static void judge(const struct diff *d, struct outcome *o)
{
	const struct coati_diff_row *rows;
	size_t nr;

	if (o->gate.subject == GATE_TOTAL) {
		take_row(d, o, "total", &d->info.whole);
		return;
	}
	rows = coati_diff_rows(o->diff, &nr);
	for (size_t i = 0; i < nr; i++)
		take_row(d, o, rows[i].name,
			 o->gate.subject == GATE_SELF ? &rows[i].self : &rows[i].total);
}

static void say_unknown(const struct outcome *o)
{
	char quoted[96];

	coati_quote(o->gate.name, quoted, sizeof(quoted));
	coati_say("--fail-if: neither side has %s %s, so the condition cannot be decided; coati "
		  "diff --limit 0 shows the names",
		  o->gate.subject == GATE_IMAGE ? "file" : "function", quoted);
}

int coati_gates_judge(struct diff *d)
{
	struct gates *g = d->gates;
	bool unknown = false;

	for (size_t i = 0; i < g->nr; i++)
		if (find_rows(d, &g->v[i]) < 0)
			return DIFF_TROUBLE;
	for (size_t i = 0; i < g->nr; i++) {
		struct outcome *o = &g->v[i];

		if (o->is_found)
			judge(d, o);
		else
			say_unknown(o);
		g->has_failed |= o->is_held;
		unknown |= !o->is_known;
	}
	if (!g->nr)
		unknown = !coati_diff_is_judged(d);
	return g->has_failed ? DIFF_HOLDS : unknown ? DIFF_UNKNOWN : EXIT_DONE;
}

/* ---- showing ---- */

static const char *word_of(const struct outcome *o)
{
	return !o->is_found  ? "unknown"
	       : o->is_held  ? "failed"
	       : o->is_known ? "passed"
			     : coati_diff_word(o->value.verdict);
}

void coati_gates_text(const struct diff *d, struct strbuf *s)
{
	for (size_t i = 0; d->gates && i < d->gates->nr; i++) {
		const struct outcome *o = &d->gates->v[i];

		coati_strbuf_printf(s, "%s%s%s: ",
				    coati_output_style(&d->out, !o->is_found || o->is_held
									? STYLE_RED
								: o->is_known ? STYLE_GREEN
									      : STYLE_YELLOW),
				    word_of(o), coati_output_style(&d->out, STYLE_PLAIN));
		coati_report_fit(s, o->gate.text, 200);
		if (o->is_found && o->is_known) {
			coati_strbuf_adds(s, ": ");
			if (o->gate.name[0] && strcmp(o->gate.name, o->name) != 0) {
				coati_report_fit(s, o->name, 100);
				coati_strbuf_addc(s, ' ');
			}
			coati_diff_put_interval(s, &o->value, o->gate.points);
		}
		coati_strbuf_addc(s, '\n');
	}
}

void coati_gates_json(const struct diff *d, struct json *j)
{
	coati_json_key(j, "conditions");
	coati_json_array(j);
	for (size_t i = 0; i < d->gates->nr; i++) {
		const struct outcome *o = &d->gates->v[i];

		coati_json_object(j);
		coati_json_kstr(j, "condition", o->gate.text);
		coati_json_kstr(j, "result", word_of(o));
		if (o->name) {
			coati_json_kstr(j, "name", o->name);
			coati_json_key(j, "value");
			coati_diff_put_value(j, &o->value);
		}
		coati_json_end(j);
	}
	coati_json_end(j);
	coati_json_kbool(j, "failed", d->gates->has_failed);
}
