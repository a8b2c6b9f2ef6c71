/* SPDX-License-Identifier: MIT */
/* A parser of filters that throws away everything but its complaints. */
#include "event/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/match.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "event/lexer.h"

/* What a field can be compared with, by the kernel's own rules. */
enum field_kind {
	FIELD_ANY, /* nothing is known of it */
	FIELD_NUMBER,
	FIELD_TEXT,
	FIELD_CPUS, /* a mask of CPUs */
};

struct field {
	struct slice name;
	enum field_kind kind;
	uint32_t size;
	bool is_signed;
	bool as_function; /* .function behind it */
};

struct filter {
	struct lexer lx;
	const struct coati_tp_format *format;
	unsigned int depth;
};

static const struct coati_tp_field common_fields[] = {
	{ .name = "common_type", .type = "unsigned short", .offset = 0, .size = 2 },
	{ .name = "common_flags", .type = "unsigned char", .offset = 2, .size = 1 },
	{ .name = "common_preempt_count", .type = "unsigned char", .offset = 3, .size = 1 },
	{ .name = "common_pid", .type = "int", .offset = 4, .size = 4, .is_signed = true },
};

const struct coati_tp_format coati_probe_format = {
	.name = "probe",
	.nr_common = sizeof(common_fields) / sizeof(common_fields[0]),
	.nr_fields = sizeof(common_fields) / sizeof(common_fields[0]),
	.size = 8,
	.fields = common_fields,
	.print_fmt = "",
};

/* ---- fields ---- */

static enum field_kind kind_of(const struct coati_tp_field *f)
{
	bool has_char = strstr(f->type, "char") != NULL;

	if (f->place != COATI_TP_INLINE && strstr(f->type, "cpumask_t"))
		return FIELD_CPUS;
	if (has_char && (f->place != COATI_TP_INLINE || strchr(f->type, '[')))
		return FIELD_TEXT;
	if (strcmp(f->type, "char *") == 0 || strcmp(f->type, "const char *") == 0)
		return FIELD_TEXT;
	return FIELD_NUMBER;
}

/* Fields that the kernel makes up for every event, unless the event has one of that name. */
static bool find_generic(struct field *f)
{
	if (slice_is(f->name, "comm") || slice_is(f->name, "COMM")) {
		f->kind = FIELD_TEXT;
		f->size = 16;
		return true;
	}
	if (slice_is(f->name, "cpu") || slice_is(f->name, "CPU")) {
		f->kind = FIELD_NUMBER;
		f->size = 4;
		f->is_signed = true;
		return true;
	}
	return false;
}

/* The fields that can be used, as many as fit into a sentence. */
static void list_fields(const struct coati_tp_format *format, struct strbuf *s)
{
	for (uint32_t i = format->nr_common; i < format->nr_fields && s->len < 240; i++)
		coati_strbuf_printf(s, "%s%.64s", s->len ? " " : "", format->fields[i].name);
	coati_strbuf_printf(s, "%s",
			    s->len >= 240 ? " ..."
			    : s->len	  ? " comm cpu common_pid"
					  : "comm cpu common_pid");
}

static int unknown_field(const struct filter *f, struct slice name)
{
	struct shown shown = coati_shown(name);
	struct nearest n = coati_nearest_to(shown.text);
	struct strbuf s = STRBUF_INIT(512);
	char nearest[160] = "";
	int r;

	for (uint32_t i = 0; i < f->format->nr_fields; i++)
		coati_nearest_offer(&n, f->format->fields[i].name);
	coati_nearest_offer(&n, "comm");
	coati_nearest_offer(&n, "cpu");
	if (n.best)
		snprintf(nearest, sizeof(nearest), "did you mean '%.100s'? ", n.best);
	list_fields(f->format, &s);
	r = coati_lexer_fail(&f->lx, name.at, -ENOENT,
			     "'%.100s' has no field '%s'; %sthere are: %s", f->format->name,
			     shown.text, nearest, s.text);
	coati_strbuf_fini(&s);
	return r;
}

static int find_field(const struct filter *f, struct field *field)
{
	for (uint32_t i = 0; f->format && i < f->format->nr_fields; i++) {
		const struct coati_tp_field *tf = &f->format->fields[i];

		if (slice_is(field->name, tf->name)) {
			field->kind = kind_of(tf);
			field->size = tf->size;
			field->is_signed = tf->is_signed;
			return 0;
		}
	}
	if (find_generic(field) || !f->format)
		return 0;
	return unknown_field(f, field->name);
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static struct slice take_name(struct lexer *lx)
{
	struct slice s = { lx->at, 0 };

	while (is_name_char(*lx->at))
		lx->at++;
	s.len = (size_t)(lx->at - s.at);
	return s;
}

static bool take_text(struct lexer *lx, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(lx->at, text, len) != 0)
		return false;
	lx->at += len;
	return true;
}

static int take_field(struct filter *f, struct field *ret)
{
	const char *suffix;
	int r;

	*ret = (struct field){ .name = take_name(&f->lx) };
	if (!ret->name.len)
		return coati_lexer_expected(&f->lx, "a field");
	r = find_field(f, ret);
	if (r < 0)
		return r;
	suffix = f->lx.at;
	if (take_text(&f->lx, ".ustring")) {
		if (ret->kind != FIELD_TEXT && ret->kind != FIELD_ANY)
			return coati_lexer_fail(&f->lx, suffix, -EINVAL,
						".ustring goes with a field that points to text");
	} else if (take_text(&f->lx, ".function")) {
		if (ret->kind != FIELD_ANY && ret->size != sizeof(uint64_t))
			return coati_lexer_fail(
				&f->lx, suffix, -EINVAL,
				".function goes with a field as large as an address");
		ret->as_function = true;
	} else if (*suffix == '.') {
		return coati_lexer_fail(&f->lx, suffix, -EINVAL,
					"behind a field can be .ustring or .function");
	}
	return 0;
}

/* ---- operators and values ---- */

static int take_operator(struct filter *f, struct slice *ret)
{
	static const char *const operators[] = { "==", "!=", "<=", ">=", "<", ">", "~", "&" };

	lexer_blanks(&f->lx);
	ret->at = f->lx.at;
	if (strncmp(ret->at, "&&", 2) != 0) {
		for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
			ret->len = strlen(operators[i]);
			if (take_text(&f->lx, operators[i]))
				return 0;
		}
	}
	return coati_lexer_expected(&f->lx, "an operator (== != < <= > >= & ~)");
}

static bool is_one_of(struct slice op, const char *a, const char *b, const char *c)
{
	return slice_is(op, a) || slice_is(op, b) || slice_is(op, c);
}

static int wrong_operator(const struct filter *f, struct slice op, const char *what)
{
	return coati_lexer_fail(&f->lx, op.at, -EINVAL, "operator '%.*s' does not go with %s",
				(int)op.len, op.at, what);
}

static int take_string(struct filter *f, const struct field *field, struct slice op)
{
	const char *at = f->lx.at;
	struct slice value;
	int r = coati_lexer_value(&f->lx, "", &value);

	if (r < 0)
		return r;
	if (field->kind == FIELD_NUMBER || field->kind == FIELD_CPUS)
		return coati_lexer_fail(&f->lx, at, -EINVAL,
					"field '%s' is a number; compare it with one",
					coati_shown(field->name).text);
	if (!is_one_of(op, "==", "!=", "~"))
		return wrong_operator(f, op, "a text: there are == != ~");
	if (value.len > FILTER_VALUE_MAX)
		return coati_lexer_fail(&f->lx, at, -E2BIG, "a text has at most %d characters",
					FILTER_VALUE_MAX);
	return 0;
}

/* As the kernel reads numbers: decimal, 0x hexadecimal, 0 octal; a sign only for signed fields. */
static bool is_number_for(const char *digits, const struct field *field)
{
	bool negative = *digits == '-';
	const char *p = digits + negative;
	uint64_t value;

	if (negative && field->kind == FIELD_NUMBER && !field->is_signed)
		return false;
	if (p[0] == '0' && p[1] && p[1] != 'x' && p[1] != 'X')
		return strspn(p, "01234567") == strlen(p) && strlen(p) <= 22;
	if (coati_parse_u64(p, 0, UINT64_MAX, &value) < 0)
		return false;
	if (field->kind == FIELD_NUMBER && field->is_signed)
		return value <= (uint64_t)INT64_MAX + negative;
	return true;
}

static int take_number(struct filter *f, const struct field *field, struct slice op)
{
	struct slice s = { f->lx.at, 0 };
	char digits[32];

	if (*f->lx.at == '-')
		f->lx.at++;
	s.len = take_name(&f->lx).len + (size_t)(*s.at == '-');
	if (field->kind == FIELD_TEXT)
		return coati_lexer_fail(&f->lx, s.at, -EINVAL,
					"field '%s' is text; compare it with one in quotes",
					coati_shown(field->name).text);
	if (slice_is(op, "~"))
		return wrong_operator(f, op, "a number");
	if (s.len < sizeof(digits)) {
		memcpy(digits, s.at, s.len);
		digits[s.len] = '\0';
		if (is_number_for(digits, field))
			return 0;
	}
	return coati_lexer_fail(&f->lx, s.at, -EINVAL,
				"'%s' is not a number that field '%s' can have",
				coati_shown(s).text, coati_shown(field->name).text);
}

#define CPUS_MAX 8192

static int take_cpus(struct filter *f, const struct field *field, struct slice op)
{
	uint64_t bits[CPUS_MAX / 64];
	const char *at = f->lx.at, *end;
	char list[512];
	size_t len;

	if (field->kind == FIELD_TEXT)
		return coati_lexer_fail(&f->lx, at, -EINVAL,
					"field '%s' is text; CPUS goes with numbers",
					coati_shown(field->name).text);
	if (!is_one_of(op, "==", "!=", "&"))
		return wrong_operator(f, op, "CPUS: there are == != &");
	f->lx.at += strlen("CPUS");
	if (!lexer_take(&f->lx, '{'))
		return coati_lexer_expected(&f->lx, "'{' behind CPUS");
	end = strchr(f->lx.at, '}');
	if (!end)
		return coati_lexer_fail(&f->lx, at, -EINVAL, "CPUS{ is not closed by '}'");
	len = (size_t)(end - f->lx.at);
	if (len < sizeof(list)) {
		memcpy(list, f->lx.at, len);
		list[len] = '\0';
	}
	if (len >= sizeof(list) || coati_parse_cpulist(list, bits, CPUS_MAX) < 0)
		return coati_lexer_fail(&f->lx, f->lx.at, -EINVAL,
					"expected a list of CPUs such as 0-3,8");
	f->lx.at = end + 1;
	return 0;
}

/* Behind .function: an address or the name of a function, without quotes. */
static int take_function(struct filter *f, struct slice op)
{
	struct slice s;

	if (!slice_is(op, "==") && !slice_is(op, "!="))
		return wrong_operator(f, op, "a function: there are == and !=");
	s = coati_lexer_until(&f->lx, ")&|'\"");
	return s.len ? 0 : coati_lexer_expected(&f->lx, "the name or address of a function");
}

static int take_value(struct filter *f, const struct field *field, struct slice op)
{
	char c;

	lexer_blanks(&f->lx);
	c = lexer_peek(&f->lx);
	if (field->as_function)
		return take_function(f, op);
	if (strncmp(f->lx.at, "CPUS", 4) == 0)
		return take_cpus(f, field, op);
	if (c == '\'' || c == '"')
		return take_string(f, field, op);
	if ((c >= '0' && c <= '9') || c == '-')
		return take_number(f, field, op);
	return coati_lexer_expected(&f->lx, field->kind == FIELD_TEXT	? "a text in quotes"
					    : field->kind == FIELD_CPUS ? "CPUS{...}"
									: "a number");
}

/* ---- expressions ---- */

static int parse_or(struct filter *f);

static int parse_predicate(struct filter *f)
{
	struct field field;
	struct slice op = { 0 };
	int r = take_field(f, &field);

	if (r == 0)
		r = take_operator(f, &op);
	return r < 0 ? r : take_value(f, &field, op);
}

static int parse_not(struct filter *f)
{
	const char *open;
	int r;

	lexer_blanks(&f->lx);
	while (lexer_take(&f->lx, '!'))
		lexer_blanks(&f->lx);
	open = f->lx.at;
	if (!lexer_take(&f->lx, '('))
		return parse_predicate(f);
	if (++f->depth > FILTER_DEPTH_MAX)
		return coati_lexer_fail(&f->lx, open, -E2BIG, "more than %d parentheses deep",
					FILTER_DEPTH_MAX);
	r = parse_or(f);
	if (r < 0)
		return r;
	f->depth--;
	lexer_blanks(&f->lx);
	return lexer_take(&f->lx, ')') ? 0 : coati_lexer_expected(&f->lx, "&&, || or ')'");
}

/* Operands of either operator: the checker need not know which binds tighter. */
static int parse_or(struct filter *f)
{
	for (;;) {
		int r = parse_not(f);

		if (r < 0)
			return r;
		lexer_blanks(&f->lx);
		if (!take_text(&f->lx, "&&") && !take_text(&f->lx, "||"))
			return 0;
	}
}

int coati_filter_check(const char *text, const struct coati_tp_format *format,
		       struct coati_error *err)
{
	struct filter f = { .lx = lexer_over(text, err), .format = format };
	size_t len = strnlen(text, FILTER_TEXT_MAX + 1);
	int r;

	if (len > FILTER_TEXT_MAX)
		return coati_fail_at(err, -E2BIG, FILTER_TEXT_MAX + 1,
				     "a filter has at most %d characters", FILTER_TEXT_MAX);
	r = parse_or(&f);
	if (r < 0)
		return r;
	return lexer_peek(&f.lx) ? coati_lexer_expected(&f.lx, "&&, || or the end") : 0;
}

int coati_filter_join(const char *old, const char *new, struct arena *arena, const char **ret)
{
	const char *both;

	if (strlen(new) + (old[0] ? strlen(old) + 8 : 0) > FILTER_TEXT_MAX)
		return -E2BIG;
	both = old[0] ? coati_arena_printf(arena, "(%s) && (%s)", old, new)
		      : coati_arena_strdup(arena, new);
	if (!both)
		return -ENOMEM;
	*ret = both;
	return 0;
}
