/* SPDX-License-Identifier: MIT */
/* Terms: the syntax, and one small function for each term that every event understands. */
#include "event/terms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/match.h"
#include "base/parse.h"

struct applying {
	const struct lexer *lx;
	const struct term *t;
	struct arena *arena;
	struct coati_event_desc *desc;
};

typedef int (*apply_fn)(const struct applying *a);

static int bad_value(const struct applying *a, const char *want)
{
	if (!a->t->value)
		return coati_lexer_fail(a->lx, a->t->name_at, -EINVAL, "term '%s' wants %s",
					a->t->name, want);
	return coati_lexer_fail(a->lx, a->t->value_at, -EINVAL, "term '%s' wants %s, not '%s'",
				a->t->name, want, coati_shown(slice_of(a->t->value)).text);
}

/* When two terms contradict each other, the second one is refused. */
static int set_one_of(const struct applying *a, uint32_t flag, uint32_t other, const char *what)
{
	if (a->desc->flags & other)
		return coati_lexer_fail(a->lx, a->t->name_at, -EINVAL,
					"term '%s' contradicts '%s'; give one of them", a->t->name,
					what);
	a->desc->flags |= flag;
	return 0;
}

/* 1 or no value: yes, 0: no. */
static int switch_value(const struct applying *a, bool *ret)
{
	uint64_t v = 1;

	if (a->t->value && coati_parse_u64(a->t->value, 0, 1, &v) < 0)
		return bad_value(a, "0 or 1");
	*ret = v != 0;
	return 0;
}

static int text_value(const struct applying *a, const char **ret)
{
	if (!a->t->value || !a->t->value[0])
		return bad_value(a, "a text");
	*ret = a->t->value;
	return 0;
}

static int apply_name(const struct applying *a)
{
	return text_value(a, &a->desc->name);
}

static int apply_metric_id(const struct applying *a)
{
	return text_value(a, &a->desc->metric_id);
}

static int apply_period(const struct applying *a)
{
	int r = set_one_of(a, COATI_DESC_PERIOD, COATI_DESC_FREQ, "freq");

	if (r < 0)
		return r;
	if (!a->t->value ||
	    coati_parse_u64(a->t->value, 1, INT64_MAX, &a->desc->attr.sample_period) < 0)
		return bad_value(a, "a number of events from 1 to 2^63-1");
	a->desc->attr.flags &= ~COATI_ATTR_FREQ;
	return 0;
}

static int apply_freq(const struct applying *a)
{
	int r = set_one_of(a, COATI_DESC_FREQ, COATI_DESC_PERIOD, "period");

	if (r < 0)
		return r;
	if (!a->t->value ||
	    coati_parse_rate(a->t->value, 1, 1000000, &a->desc->attr.sample_period) < 0)
		return bad_value(a, "a rate from 1 to 1000000 per second");
	a->desc->attr.flags |= COATI_ATTR_FREQ;
	return 0;
}

static int apply_time(const struct applying *a)
{
	bool on = false;
	int r = switch_value(a, &on);

	if (r < 0)
		return r;
	return on ? set_one_of(a, COATI_DESC_TIME, COATI_DESC_NO_TIME, "time=0")
		  : set_one_of(a, COATI_DESC_NO_TIME, COATI_DESC_TIME, "time=1");
}

/* @yes for a switch that is on, @no for one that is off. */
static int apply_pair(const struct applying *a, uint32_t yes, uint32_t no, const char *other)
{
	bool on = false;
	int r = switch_value(a, &on);

	if (r < 0)
		return r;
	return on ? set_one_of(a, yes, no, other) : set_one_of(a, no, yes, other);
}

static int apply_inherit(const struct applying *a)
{
	return apply_pair(a, COATI_DESC_INHERIT, COATI_DESC_NO_INHERIT, "no-inherit");
}

static int apply_no_inherit(const struct applying *a)
{
	return apply_pair(a, COATI_DESC_NO_INHERIT, COATI_DESC_INHERIT, "inherit");
}

static int apply_overwrite(const struct applying *a)
{
	return apply_pair(a, COATI_DESC_OVERWRITE, COATI_DESC_NO_OVERWRITE, "no-overwrite");
}

static int apply_no_overwrite(const struct applying *a)
{
	return apply_pair(a, COATI_DESC_NO_OVERWRITE, COATI_DESC_OVERWRITE, "overwrite");
}

static int apply_percore(const struct applying *a)
{
	bool on = false;
	int r = switch_value(a, &on);

	if (r == 0 && on)
		a->desc->flags |= COATI_DESC_PERCORE;
	return r;
}

static int apply_callgraph(const struct applying *a)
{
	static const char *const names[] = {
		[COATI_CALLGRAPH_NO] = "no",
		[COATI_CALLGRAPH_FP] = "fp",
		[COATI_CALLGRAPH_DWARF] = "dwarf",
		[COATI_CALLGRAPH_LBR] = "lbr",
	};

	for (unsigned int i = COATI_CALLGRAPH_NO; i <= COATI_CALLGRAPH_LBR && a->t->value; i++) {
		if (strcmp(a->t->value, names[i]) == 0) {
			a->desc->callgraph = (enum coati_callgraph)i;
			return 0;
		}
	}
	return bad_value(a, "fp, dwarf, lbr or no");
}

static int apply_stack_size(const struct applying *a)
{
	uint64_t v;

	if (!a->t->value || coati_parse_size(a->t->value, 8, 65528, &v) < 0 || v % 8)
		return bad_value(a, "a multiple of 8 from 8 to 65528 bytes");
	a->desc->stack_size = (uint32_t)v;
	return 0;
}

static int apply_max_stack(const struct applying *a)
{
	if (!a->t->value || coati_parse_u32(a->t->value, 1, UINT16_MAX, &a->desc->max_stack) < 0)
		return bad_value(a, "a number of frames from 1 to 65535");
	return 0;
}

static int apply_nr(const struct applying *a)
{
	if (!a->t->value || coati_parse_u64(a->t->value, 1, UINT32_MAX, &a->desc->max_events) < 0)
		return bad_value(a, "a number of events from 1 to 4294967295");
	return 0;
}

static int apply_aux_output(const struct applying *a)
{
	bool on = false;
	int r = switch_value(a, &on);

	if (r == 0 && on)
		a->desc->attr.flags |= COATI_ATTR_AUX_OUTPUT;
	return r;
}

static int apply_aux_action(const struct applying *a)
{
	static const struct {
		const char *name;
		uint32_t action;
	} actions[] = {
		{ "start-paused", COATI_AUX_START_PAUSED },
		{ "pause", COATI_AUX_PAUSE },
		{ "resume", COATI_AUX_RESUME },
	};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]) && a->t->value; i++) {
		if (strcmp(a->t->value, actions[i].name) == 0) {
			a->desc->attr.aux_action = actions[i].action;
			return 0;
		}
	}
	return bad_value(a, "start-paused, pause or resume");
}

static int apply_aux_sample_size(const struct applying *a)
{
	uint64_t v;

	/* the kernel keeps the size of a sample in 16 bits and rounds to 8 */
	if (!a->t->value || coati_parse_size(a->t->value, 8, 65528, &v) < 0 || v % 8)
		return bad_value(a, "a multiple of 8 from 8 to 65528 bytes");
	a->desc->attr.aux_sample_size = (uint32_t)v;
	a->desc->attr.sample_type |= COATI_SAMPLE_AUX;
	return 0;
}

#define CPUS_MAX 8192

static int apply_cpu(const struct applying *a)
{
	uint64_t bits[CPUS_MAX / 64] = { 0 };

	if (!a->t->value || coati_parse_cpulist(a->t->value, bits, CPUS_MAX) < 0)
		return bad_value(a, "a list of CPUs such as 2 or '0-3,8'");
	a->desc->cpus = a->t->value;
	a->desc->flags &= ~COATI_DESC_CORE; /* now a wish, no longer only where such cores are */
	return 0;
}

static const struct {
	const char *name;
	uint64_t bit;
} branch_words[] = {
	{ "u", COATI_BRANCH_USER },
	{ "k", COATI_BRANCH_KERNEL },
	{ "hv", COATI_BRANCH_HV },
	{ "any", COATI_BRANCH_ANY },
	{ "any_call", COATI_BRANCH_ANY_CALL },
	{ "any_ret", COATI_BRANCH_ANY_RETURN },
	{ "ind_call", COATI_BRANCH_IND_CALL },
	{ "ind_jmp", COATI_BRANCH_IND_JUMP },
	{ "call", COATI_BRANCH_CALL },
	{ "cond", COATI_BRANCH_COND },
	{ "abort_tx", COATI_BRANCH_ABORT_TX },
	{ "in_tx", COATI_BRANCH_IN_TX },
	{ "no_tx", COATI_BRANCH_NO_TX },
	{ "stack", COATI_BRANCH_CALL_STACK },
	{ "no_flags", COATI_BRANCH_NO_FLAGS },
	{ "no_cycles", COATI_BRANCH_NO_CYCLES },
	{ "save_type", COATI_BRANCH_TYPE_SAVE },
	{ "hw_index", COATI_BRANCH_HW_INDEX },
	{ "priv", COATI_BRANCH_PRIV_SAVE },
	{ "counter", COATI_BRANCH_COUNTERS },
};

static uint64_t branch_bit(struct slice word)
{
	for (size_t i = 0; i < sizeof(branch_words) / sizeof(branch_words[0]); i++) {
		if (slice_is(word, branch_words[i].name))
			return branch_words[i].bit;
	}
	return 0;
}

static int apply_branch_type(const struct applying *a)
{
	const uint64_t privilege = COATI_BRANCH_USER | COATI_BRANCH_KERNEL | COATI_BRANCH_HV;
	const char *p = a->t->value;
	uint64_t all = 0;

	while (p) {
		size_t len = strcspn(p, "+,");
		uint64_t bit = branch_bit((struct slice){ p, len });

		if (!bit)
			return bad_value(
				a, "words joined by '+': u k hv any any_call any_ret ind_call "
				   "ind_jmp call cond abort_tx in_tx no_tx stack no_flags "
				   "no_cycles save_type hw_index priv counter");
		all |= bit;
		p = p[len] ? p + len + 1 : NULL;
	}
	if (!all)
		return bad_value(a, "a kind of branch such as any");
	if (!(all & ~privilege))
		all |= COATI_BRANCH_ANY;
	a->desc->attr.branch_sample_type = all;
	a->desc->attr.sample_type |= COATI_SAMPLE_BRANCH_STACK;
	return 0;
}

static int refuse_ratio(const struct applying *a)
{
	return coati_lexer_fail(a->lx, a->t->name_at, -EOPNOTSUPP,
				"term 'ratio-to-prev' is not supported; leave it out");
}

static const struct {
	const char *name;
	apply_fn apply;
} term_table[] = {
	{ "name", apply_name },
	{ "period", apply_period },
	{ "freq", apply_freq },
	{ "branch_type", apply_branch_type },
	{ "time", apply_time },
	{ "call-graph", apply_callgraph },
	{ "stack-size", apply_stack_size },
	{ "max-stack", apply_max_stack },
	{ "nr", apply_nr },
	{ "inherit", apply_inherit },
	{ "no-inherit", apply_no_inherit },
	{ "overwrite", apply_overwrite },
	{ "no-overwrite", apply_no_overwrite },
	{ "percore", apply_percore },
	{ "aux-output", apply_aux_output },
	{ "aux-action", apply_aux_action },
	{ "aux-sample-size", apply_aux_sample_size },
	{ "metric-id", apply_metric_id },
	{ "cpu", apply_cpu },
	{ "ratio-to-prev", refuse_ratio },
};

static apply_fn find_term(const char *name)
{
	for (size_t i = 0; i < sizeof(term_table) / sizeof(term_table[0]); i++) {
		if (strcmp(name, term_table[i].name) == 0)
			return term_table[i].apply;
	}
	return NULL;
}

bool coati_term_is_general(const char *name)
{
	return find_term(name) != NULL;
}

int coati_term_apply(const struct lexer *lx, const struct term *t, struct arena *arena,
		     struct coati_event_desc *desc)
{
	struct applying a = { lx, t, arena, desc };
	apply_fn apply = find_term(t->name);
	int r;

	if (!apply)
		return 0;
	r = apply(&a);
	return r < 0 ? r : 1;
}

int coati_term_number(const struct lexer *lx, const struct term *t, uint64_t min, uint64_t max,
		      uint64_t *ret)
{
	int r = 0;

	if (!t->value)
		*ret = 1;
	else
		r = coati_parse_u64(t->value, min, max, ret);
	if (r == -ERANGE)
		return coati_lexer_fail(
			lx, t->value_at, -ERANGE,
			"'%s' is out of range for '%s': %" PRIu64 " to %" PRIu64 " (0x%" PRIx64 ")",
			coati_shown(slice_of(t->value)).text, t->name, min, max, max);
	if (r < 0)
		return coati_lexer_fail(lx, t->value_at, -EINVAL,
					"term '%s' wants a number, not '%s'", t->name,
					coati_shown(slice_of(t->value)).text);
	return 0;
}

void coati_terms_nearest(struct nearest *n)
{
	for (size_t i = 0; i < sizeof(term_table) / sizeof(term_table[0]); i++)
		coati_nearest_offer(n, term_table[i].name);
}

/* ---- the syntax ---- */

static int check_name(const struct lexer *lx, struct slice name)
{
	if (*name.at == '@')
		return coati_lexer_fail(lx, name.at, -EOPNOTSUPP,
					"driver terms (@...) are not supported; leave it out");
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.at[i];

		if (c <= ' ' || c >= 0x7f || strchr("'\"*?[](){}<>|&;\\", c))
			return coati_lexer_fail(lx, name.at + i, -EINVAL,
						"expected the name of a term, found '%s'",
						coati_shown((struct slice){ name.at + i, 1 }).text);
	}
	return 0;
}

/* Values are shown to people and written into files: one printable line. */
static int check_value(const struct lexer *lx, struct slice value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		if (c < ' ' || c == 0x7f)
			return coati_lexer_fail(lx, value.at + i, -EINVAL,
						"a control character cannot be part of a value");
	}
	return 0;
}

static int parse_value(struct lexer *lx, struct arena *arena, struct term *t)
{
	struct slice value;
	int r;

	lexer_blanks(lx);
	t->value_at = lx->at;
	t->quoted = lexer_peek(lx) == '\'' || lexer_peek(lx) == '"';
	r = coati_lexer_value(lx, ",/", &value);
	if (r < 0)
		return r;
	if (!value.len)
		return coati_lexer_fail(lx, t->value_at, -EINVAL, "expected a value for '%s'",
					t->name);
	if (value.len > TERM_LENGTH_MAX)
		return coati_lexer_fail(lx, t->value_at, -E2BIG,
					"a value of a term has at most %d characters",
					TERM_LENGTH_MAX);
	r = check_value(lx, value);
	if (r < 0)
		return r;
	t->value = coati_arena_strndup(arena, value.at, value.len);
	return t->value ? 0 : -ENOMEM;
}

static int check_twice(const struct lexer *lx, const term_array *terms, struct slice name)
{
	for (size_t i = 0; i < terms->len; i++) {
		if (slice_is(name, terms->v[i].name))
			return coati_lexer_fail(lx, name.at, -EINVAL, "term '%s' is given twice",
						terms->v[i].name);
	}
	return 0;
}

static int parse_term(struct lexer *lx, struct arena *arena, term_array *terms)
{
	struct slice name = coati_lexer_until(lx, ",/=");
	struct term *t;
	int r;

	if (!name.len)
		return coati_lexer_expected(lx, "a term");
	if (name.len > TERM_LENGTH_MAX || terms->len == TERMS_MAX)
		return coati_lexer_fail(lx, name.at, -E2BIG,
					"an event has at most %d terms of %d characters", TERMS_MAX,
					TERM_LENGTH_MAX);
	r = check_name(lx, name);
	if (r == 0)
		r = check_twice(lx, terms, name);
	if (r < 0)
		return r;
	t = ARRAY_ADD(terms);
	if (!t)
		return -ENOMEM;
	t->name_at = t->value_at = name.at;
	t->name = coati_arena_strndup(arena, name.at, name.len);
	if (!t->name)
		return -ENOMEM;
	lexer_blanks(lx);
	return lexer_take(lx, '=') ? parse_value(lx, arena, t) : 0;
}

int coati_terms_parse(struct lexer *lx, struct arena *arena, term_array *ret)
{
	lexer_blanks(lx);
	if (lexer_take(lx, '/'))
		return 0;
	for (;;) {
		int r = parse_term(lx, arena, ret);

		if (r < 0)
			return r;
		lexer_blanks(lx);
		if (lexer_take(lx, '/'))
			return 0;
		if (!lexer_take(lx, ','))
			return coati_lexer_expected(lx, "',' or '/' behind a term");
		lexer_blanks(lx);
	}
}
