/* SPDX-License-Identifier: MIT */
/* see figures.h */
#include "cli/figures.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"

#define NUMBER_MAX 9007199254740992 /* beyond it a double does not have every number */

const char *const coati_figure_names[] = {
	[FIGURE_SAMPLES] = "samples",
	[FIGURE_LOST] = "lost",
	[FIGURE_THROTTLED] = "throttled",
	[FIGURE_SAMPLED] = "sampled",
	[FIGURE_COMPLETE] = "complete",
	[FIGURE_TRUNCATED] = "truncated",
	[FIGURE_GAP] = "gap",
	[FIGURE_GUESSED] = "guessed",
	[FIGURE_ROOT_UNKNOWN] = "root_unknown",
	[FIGURE_NO_STACK] = "no_stack",
	[FIGURE_UNSYMBOLIZED] = "unsymbolized",
	[FIGURE_DAMAGED] = "damaged",
	[FIGURE_LATE] = "late",
	[FIGURE_REFUSED] = "refused",
	[FIGURE_NO_EVENT] = "no_event",
	[FIGURE_OFF_NO_STACK] = "off_no_stack",
	[FIGURE_OFF_TRUNCATED] = "off_truncated",
	[FIGURE_OFF_GAP] = "off_gap",
	[FIGURE_OFF_UNPAIRED] = "off_unpaired",
	[FIGURE_LIVE_LOST] = "live_lost",
	[FIGURE_EVENTS] = "events",
	[FIGURE_MISSING_BATCHES] = "missing_batches",
	[FIGURE_INCOMPLETE_GENERATIONS] = "incomplete_generations",
	[FIGURE_UNRESOLVED] = "unresolved",
	[FIGURE_CLOCK_UNKNOWN] = "clock_unknown",
	[FIGURE_CONTRADICTIONS] = "contradictions",
	[FIGURE_COUNT] = NULL,
};

/* Numbers that are no part of something. */
static bool has_no_share(enum figure figure)
{
	return figure == FIGURE_SAMPLES || figure == FIGURE_THROTTLED || figure == FIGURE_EVENTS;
}

/* A verb that has the figure. */
static const char *verb_of(enum figure figure)
{
	if (figure == FIGURE_LIVE_LOST)
		return "trace";
	return figure > FIGURE_LIVE_LOST ? "autopsy" : "report";
}

void coati_figure_set(struct figures *f, enum figure figure, uint64_t nr, uint64_t of)
{
	f->v[figure].nr = nr;
	f->v[figure].of = of;
	f->v[figure].is_known = true;
}

/* ---- parsing ---- */

static size_t blanks(const char *text, size_t at)
{
	return at + strspn(text + at, " \t");
}

static int parse_figure(const char *text, size_t *at, uint32_t known, struct figure_condition *c,
			struct coati_error *err)
{
	size_t from = blanks(text, 0), len = strspn(text + from, "abcdefghijklmnopqrstuvwxyz_");

	for (uint32_t i = 0; i < FIGURE_COUNT; i++) {
		if (strlen(coati_figure_names[i]) != len ||
		    memcmp(coati_figure_names[i], text + from, len) != 0)
			continue;
		if (!(known >> i & 1))
			return coati_fail_at(err, -EINVAL, (int)from + 1,
					     "this verb has no figure %s; use coati %s --fail-if",
					     coati_figure_names[i], verb_of((enum figure)i));
		c->figure = (enum figure)i;
		*at = from + len;
		return 0;
	}
	return coati_fail_at(
		err, -EINVAL, (int)from + 1,
		"expected a figure: lost, sampled, complete, truncated ...; the man page lists "
		"them");
}

static int parse_operator(const char *text, size_t *at, struct figure_condition *c,
			  struct coati_error *err)
{
	*at = blanks(text, *at);
	if (text[*at] != '<' && text[*at] != '>')
		return coati_fail_at(err, -EINVAL, (int)*at + 1, "expected >, >=, < or <=");
	c->less = text[(*at)++] == '<';
	c->or_equal = text[*at] == '=';
	*at += c->or_equal;
	return 0;
}

static int parse_number(const char *text, struct figure_condition *c)
{
	uint64_t n;
	int r;

	if (text[strspn(text, "0123456789.")])
		return -EINVAL;
	if (c->is_share)
		return coati_parse_percent(text, 0, 100, &c->amount);
	r = coati_parse_u64(text, 0, NUMBER_MAX, &n);
	c->amount = r < 0 ? 0 : (double)n;
	return r;
}

static int parse_amount(const char *text, size_t at, struct figure_condition *c,
			struct coati_error *err)
{
	size_t from = blanks(text, at), len = strcspn(text + from, " \t%");
	size_t end = blanks(text, from + len);
	char number[32] = "";

	if (text[end] == '%') {
		c->is_share = true;
		end = blanks(text, end + 1);
	}
	if (len < sizeof(number))
		memcpy(number, text + from, len);
	if (text[end] || !len || len >= sizeof(number) || parse_number(number, c) < 0)
		return coati_fail_at(err, -EINVAL, (int)from + 1,
				     "expected a share from 0%% to 100%% or a whole number at the "
				     "end");
	if (c->is_share && has_no_share(c->figure))
		return coati_fail_at(err, -EINVAL, (int)from + 1,
				     "%s is a number, not a share: leave out the %%",
				     coati_figure_names[c->figure]);
	if (!c->is_share && c->figure == FIGURE_SAMPLED)
		return coati_fail_at(err, -EINVAL, (int)from + 1,
				     "sampled is a share: give a percentage (%%)");
	return 0;
}

int coati_condition_parse(const char *text, uint32_t known, struct figure_condition *ret,
			  struct coati_error *err)
{
	struct figure_condition c = { .text = text };
	size_t at = 0;
	int r = parse_figure(text, &at, known, &c, err);

	if (r == 0)
		r = parse_operator(text, &at, &c, err);
	if (r == 0)
		r = parse_amount(text, at, &c, err);
	if (r == 0)
		*ret = c;
	return r;
}

/* ---- judging ---- */

enum figure_result coati_condition_judge(const struct figure_condition *c, const struct figures *f,
					 double *ret_value)
{
	uint64_t nr = f->v[c->figure].nr, of = f->v[c->figure].of;
	double value = (double)nr;

	/* a part of nothing is none, except that something is there */
	if (!f->v[c->figure].is_known || (c->is_share && !of && nr))
		return FIGURE_UNKNOWN;
	if (c->is_share)
		value = of ? 100 * ((double)nr / (double)of) : 0;
	*ret_value = value;
	if (value == c->amount)
		return c->or_equal ? FIGURE_FAILED : FIGURE_PASSED;
	return (value < c->amount) == c->less ? FIGURE_FAILED : FIGURE_PASSED;
}
