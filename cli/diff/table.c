/* SPDX-License-Identifier: MIT */
/* see diff/table.h */
#include "cli/diff/table.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/diff/gate.h"
#include "cli/diff/text.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "profile/diff.h"
#include "profile/walk.h"

#define NAME_COLUMNS 40
#define UNEVEN	     0.2 /* of an interval: a ± would mislead */

static const char *const measures[] = { "share", "second", "run" };

static bool has_frames(const struct diff *d)
{
	return d->by <= COATI_BY_IMAGE;
}

static size_t row_limit(const struct diff *d)
{
	return d->args->limit && d->args->limit < d->nr ? d->args->limit : d->nr;
}

static const char *title_of(const struct diff *d)
{
	return d->by == COATI_BY_LABEL ? d->label : coati_by_name(d->by);
}

static const char *name_of(const struct diff *d, const struct coati_diff_row *row)
{
	return row->name[0] || d->by != COATI_BY_LABEL ? row->name : "(none)";
}

/* ---- text ---- */

static void put_warnings(const struct diff *d, struct strbuf *s)
{
	const char *line = d->warnings.text;

	while (*line) {
		size_t len = strcspn(line, "\n");

		coati_strbuf_printf(s, "%s# ", coati_output_style(&d->out, STYLE_YELLOW));
		coati_strbuf_add(s, line, len);
		coati_strbuf_printf(s, "%s\n", coati_output_style(&d->out, STYLE_PLAIN));
		line += len + (line[len] == '\n');
	}
}

void coati_diff_head(struct diff *d, struct strbuf *s)
{
	coati_strbuf_printf(s, "%s%s%s\n", coati_output_style(&d->out, STYLE_BOLD), d->verdict.text,
			    coati_output_style(&d->out, STYLE_PLAIN));
	coati_gates_text(d, s);
	for (int side = 0; side < 2; side++) {
		struct report *r = &d->sides[side].report;

		coati_output_init(&r->out, COLOR_NEVER);
		r->out.color = d->out.color;
		coati_report_quality_text(r);
		coati_strbuf_adds(s, r->out.text.text);
		coati_strbuf_fini(&r->out.text);
	}
	put_warnings(d, s);
}

/* @text right in a column of @width bytes; ± has two. */
static void put_right(struct strbuf *s, const struct strbuf *text, size_t width)
{
	size_t len = text->len - (strstr(text->text, "±") != NULL);

	if (len < width)
		coati_strbuf_pad(s, ' ', width - len);
	coati_strbuf_adds(s, text->text);
}

/* How wide a change with its interval is. */
static int change_columns(const struct diff *d)
{
	return d->args->measure == COATI_DIFF_SHARE ? 21 : 28;
}

/* One end of it, short. */
static void put_end(const struct diff *d, struct strbuf *s, double x)
{
	if (d->args->measure != COATI_DIFF_SHARE)
		coati_diff_put_change(d, s, x, x < 0);
	else
		coati_strbuf_printf(s, fabs(100 * x) < 9.95 ? "%.1f" : "%.0f", 100 * x);
}

/* The half of the interval, or both of its ends where one is nearer than the other. */
static void put_spread(const struct diff *d, struct strbuf *s, const struct coati_diff_value *v)
{
	double below = v->change - v->low, above = v->high - v->change, half = (above + below) / 2;
	/* a ± must say the same of zero as the interval does */
	bool agrees = (fabs(v->change) > half) == (v->low > 0 || v->high < 0);

	if (!isfinite(half) || (agrees && fabs(above - below) <= UNEVEN * half)) {
		coati_strbuf_adds(s, " ± ");
		coati_diff_put_change(d, s, half, false);
		return;
	}
	coati_strbuf_adds(s, " [");
	put_end(d, s, v->low);
	coati_strbuf_adds(s, ", ");
	put_end(d, s, v->high);
	coati_strbuf_addc(s, ']');
}

static void put_columns(const struct diff *d, struct strbuf *s, const struct coati_diff_value *v)
{
	bool changed = v->verdict == COATI_DIFF_MORE || v->verdict == COATI_DIFF_LESS;
	struct strbuf t = STRBUF_INIT(256);

	if (!v->before_samples && !v->after_samples) {
		coati_strbuf_pad(s, ' ', 9 + 10 + (size_t)change_columns(d) + 9 + 1);
		return;
	}
	coati_diff_put_amount(d, &t, v->before);
	put_right(s, &t, 9);
	coati_strbuf_clear(&t);
	coati_diff_put_amount(d, &t, v->after);
	put_right(s, &t, 10);
	coati_strbuf_clear(&t);
	coati_diff_put_change(d, &t, v->change, true);
	put_spread(d, &t, v);
	put_right(s, &t, (size_t)change_columns(d));
	coati_strbuf_clear(&t);
	coati_diff_put_relative(&t, v->ratio);
	put_right(s, &t, 9);
	coati_strbuf_addc(s, changed ? '*' : ' ');
	coati_strbuf_fini(&t);
}

static void text_row(struct diff *d, const struct coati_diff_row *row)
{
	struct strbuf *s = &d->out.text;
	size_t columns;

	put_columns(d, s, &row->self);
	if (has_frames(d))
		put_columns(d, s, &row->total);
	coati_strbuf_addc(s, ' ');
	columns = coati_report_fit(s, name_of(d, row), 80);
	if (row->image && d->by != COATI_BY_IMAGE) {
		coati_strbuf_pad(s, ' ', columns < NAME_COLUMNS ? NAME_COLUMNS - columns : 0);
		coati_strbuf_printf(s, "  %s", coati_output_style(&d->out, STYLE_DIM));
		coati_report_fit(s, row->image, 40);
		coati_strbuf_adds(s, coati_output_style(&d->out, STYLE_PLAIN));
	}
	coati_strbuf_addc(s, '\n');
}

static const char *heading_of(const struct coati_diff_row *row)
{
	switch (row->verdict) {
	case COATI_DIFF_SAME:
		return "not distinguishable";
	case COATI_DIFF_UNDECIDED:
		return "cannot judge";
	case COATI_DIFF_UNKNOWN:
		return "too few samples";
	default:
		return "changed";
	}
}

static void text_head(const struct diff *d, struct strbuf *s)
{
	const char *change = d->args->measure == COATI_DIFF_SHARE ? "change in pp" : "change";

	coati_strbuf_adds(s, coati_output_style(&d->out, STYLE_BOLD));
	for (int i = 0; i < (has_frames(d) ? 2 : 1); i++) {
		const char *what = i ? "total" : "self";

		coati_strbuf_printf(s, "%9s%10s%*s%9s ", has_frames(d) ? what : "before", "after",
				    change_columns(d), change, "relative");
	}
	coati_strbuf_addc(s, ' ');
	coati_strbuf_clean(s, title_of(d), strlen(title_of(d))); /* a label's key may be anything */
	coati_strbuf_printf(s, "%s\n", coati_output_style(&d->out, STYLE_PLAIN));
}

static void text_table(struct diff *d)
{
	struct strbuf *s = &d->out.text;
	size_t shown = row_limit(d);
	const char *heading = "";

	coati_diff_head(d, s);
	if (d->nr)
		text_head(d, s);
	for (size_t i = 0; i < shown; i++) {
		if (strcmp(heading, heading_of(&d->rows[i])) != 0) {
			heading = heading_of(&d->rows[i]);
			coati_strbuf_printf(s, "%s%s:%s\n", coati_output_style(&d->out, STYLE_DIM),
					    heading, coati_output_style(&d->out, STYLE_PLAIN));
		}
		text_row(d, &d->rows[i]);
		if (s->len > 60000)
			coati_output_flush(&d->out);
	}
	if (shown < d->nr || d->info.nr_below)
		coati_strbuf_adds(s, coati_output_style(&d->out, STYLE_DIM));
	if (shown < d->nr)
		coati_strbuf_printf(s, "# %zu more rows: --limit 0 shows them\n", d->nr - shown);
	if (d->info.nr_below)
		coati_strbuf_printf(s, "# %u row%s below the minimum share: --min 0 compares all\n",
				    d->info.nr_below, d->info.nr_below == 1 ? "" : "s");
	if (shown < d->nr || d->info.nr_below)
		coati_strbuf_adds(s, coati_output_style(&d->out, STYLE_PLAIN));
}

void coati_diff_say_head(struct diff *d)
{
	struct strbuf s = STRBUF_INIT(1u << 20);
	bool color = d->out.color;

	d->out.color = false;
	coati_diff_head(d, &s);
	d->out.color = color;
	for (const char *line = s.text; *line; line += strcspn(line, "\n") + 1)
		coati_note("%.*s", (int)strcspn(line, "\n"), line);
	coati_strbuf_fini(&s);
}

/* ---- CSV ---- */

static void csv_double(struct strbuf *s, double x)
{
	struct json j = json_to(s);

	coati_strbuf_addc(s, ',');
	if (isfinite(x))
		coati_json_double(&j, x);
}

static void csv_value(struct strbuf *s, const struct coati_diff_value *v)
{
	const double numbers[] = { v->before, v->after,	    v->change,	   v->low, v->high,
				   v->ratio,  v->ratio_low, v->ratio_high, v->p };

	coati_strbuf_printf(s, ",%s", coati_diff_word(v->verdict));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		csv_double(s, numbers[i]);
	coati_strbuf_printf(s, ",%llu,%llu", (unsigned long long)v->before_samples,
			    (unsigned long long)v->after_samples);
}

static void csv_text(struct strbuf *s, const char *text)
{
	struct strbuf plain = STRBUF_INIT(1u << 21);

	coati_report_fit(&plain, text, SIZE_MAX);
	coati_output_csv(s, plain.text);
	coati_strbuf_fini(&plain);
}

static void csv_table(struct diff *d)
{
	static const char *const columns[] = {
		"verdict",    "before", "after",	  "change",
		"low",	      "high",	"ratio",	  "ratio_low",
		"ratio_high", "p",	"before_samples", "after_samples"
	};
	struct strbuf *s = &d->out.text;

	csv_text(s, title_of(d));
	coati_strbuf_adds(s, ",image");
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			coati_strbuf_printf(s, ",%s_%s", i ? "total" : "self", columns[k]);
	coati_strbuf_addc(s, '\n');
	for (size_t i = 0; i < row_limit(d); i++) {
		csv_text(s, d->rows[i].name);
		coati_strbuf_addc(s, ',');
		csv_text(s, d->rows[i].image ? d->rows[i].image : "");
		csv_value(s, &d->rows[i].self);
		csv_value(s, &d->rows[i].total);
		coati_strbuf_addc(s, '\n');
		if (s->len > 60000)
			coati_output_flush(&d->out);
	}
}

/* ---- JSON ---- */

static void json_side(const struct diff *d, struct json *j, int side)
{
	const struct coati_diff_side *s = side ? &d->info.after : &d->info.before;
	const struct diff_side *of = &d->sides[side];

	coati_json_key(j, side ? "after" : "before");
	coati_json_object(j);
	coati_json_key(j, "files");
	coati_json_array(j);
	for (size_t i = 0; i < of->files.len; i++)
		coati_json_str(j, of->files.v[i].text);
	coati_json_end(j);
	coati_report_quality_json(&of->report, j);
	coati_json_ku64(j, "span_ns", s->span_ns);
	coati_json_ku64(j, "units", s->units);
	coati_json_kstr(j, "unit_is", s->flags & COATI_DIFF_BY_RUN ? "recording" : "block");
	coati_json_ku64(j, "unit_ns", s->unit_ns);
	coati_json_kbool(j, "phases", s->flags & COATI_DIFF_PHASES);
	coati_json_end(j);
}

static void json_warnings(const struct diff *d, struct json *j)
{
	const char *line = d->warnings.text;

	coati_json_key(j, "warnings");
	coati_json_array(j);
	while (*line) {
		size_t len = strcspn(line, "\n");

		coati_json_strn(j, line, len);
		line += len + (line[len] == '\n');
	}
	coati_json_end(j);
}

static void json_row(const struct diff *d, struct json *j, const struct coati_diff_row *row)
{
	coati_json_object(j);
	coati_json_kstr(j, d->by == COATI_BY_LABEL ? "label" : coati_by_name(d->by), row->name);
	if (row->image && d->by != COATI_BY_IMAGE)
		coati_json_kstr(j, "image", row->image);
	coati_json_kstr(j, "verdict", coati_diff_word(row->verdict));
	coati_json_key(j, "self");
	coati_diff_put_value(j, &row->self);
	coati_json_key(j, "total");
	coati_diff_put_value(j, &row->total);
	coati_json_end(j);
}

static void json_table(struct diff *d)
{
	struct json j = json_to(&d->out.text);

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.diff.v1");
	coati_json_kstr(&j, "verdict", d->verdict.text);
	coati_json_kstr(&j, "by", coati_by_name(d->by));
	if (d->by == COATI_BY_LABEL)
		coati_json_kstr(&j, "key", d->label);
	coati_json_kstr(&j, "measure", measures[d->args->measure]);
	coati_json_kdouble(&j, "confidence", d->confidence);
	coati_json_ku64(&j, "seed", d->args->seed);
	coati_json_ku64(&j, "rounds", d->info.rounds);
	coati_json_ku64(&j, "compared", d->info.nr_tested);
	coati_json_ku64(&j, "more", d->info.nr_more);
	coati_json_ku64(&j, "less", d->info.nr_less);
	coati_json_ku64(&j, "cannot_judge", d->info.nr_undecided);
	coati_json_ku64(&j, "too_few_samples", d->info.nr_unknown);
	coati_json_ku64(&j, "below_min", d->info.nr_below);
	json_warnings(d, &j);
	coati_gates_json(d, &j);
	json_side(d, &j, 0);
	json_side(d, &j, 1);
	coati_json_key(&j, "whole");
	coati_diff_put_value(&j, &d->info.whole);
	coati_json_key(&j, "rows");
	coati_json_array(&j);
	for (size_t i = 0; i < row_limit(d); i++) {
		json_row(d, &j, &d->rows[i]);
		if (d->out.text.len > 60000)
			coati_output_flush(&d->out);
	}
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&d->out.text, '\n');
}

int coati_diff_table(struct diff *d)
{
	if (d->args->json) {
		json_table(d);
	} else if (d->args->csv) {
		coati_diff_say_head(d);
		csv_table(d);
	} else {
		text_table(d);
	}
	return EXIT_DONE;
}
