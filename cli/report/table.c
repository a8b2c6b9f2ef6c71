/* SPDX-License-Identifier: MIT */
/* see report/table.h */
#include "cli/report/table.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "profile/walk.h"
#include "reading/parts.h"

#define NAME_COLUMNS  60 /* where the width is not known */
#define OTHER_COLUMNS 42 /* numbers and the blanks between */
#define IMAGE_COLUMNS 24

static bool has_frames(enum coati_by by)
{
	return by == COATI_BY_FUNCTION || by == COATI_BY_LINE || by == COATI_BY_ADDRESS ||
	       by == COATI_BY_IMAGE;
}

static size_t row_limit(const struct report *r, size_t nr)
{
	return r->args->limit && r->args->limit < nr ? r->args->limit : nr;
}

/* ---- text ---- */

/* As wide as the terminal allows; in full where there is none. */
static size_t name_columns(const struct report *r)
{
	uint32_t width = coati_output_width(&r->out);

	if (r->args->verbose || !width)
		return 1000;
	return width > OTHER_COLUMNS + IMAGE_COLUMNS + 20 ? width - OTHER_COLUMNS - IMAGE_COLUMNS
							  : 20;
}

/* A weight right in a column of its own. */
static void add_weight(const struct report *r, struct strbuf *s, uint64_t weight)
{
	struct strbuf w = STRBUF_INIT(64);

	coati_report_weight(r, &w, weight);
	if (w.len < 10)
		coati_strbuf_pad(s, ' ', 10 - w.len);
	coati_strbuf_adds(s, w.text);
	coati_strbuf_printf(s, " %5.1f %%", coati_report_percent(r, weight));
	coati_strbuf_fini(&w);
}

static const char *title_of(const struct report *r)
{
	if (r->by == COATI_BY_TIME)
		return "seconds";
	return r->by == COATI_BY_LABEL ? r->label : coati_by_name(r->by);
}

static void text_head(struct report *r)
{
	struct strbuf *s = &r->out.text;

	coati_strbuf_adds(s, coati_output_style(&r->out, STYLE_BOLD));
	if (has_frames(r->by))
		coati_strbuf_printf(s, "%18s  %18s  ", "self", "total");
	else
		coati_strbuf_printf(s, "%18s  ", r->info.unit[0] == 'n' ? "time" : r->info.unit);
	coati_strbuf_clean(s, title_of(r), strlen(title_of(r))); /* a label's key may be anything */
	coati_strbuf_printf(s, "%s\n", coati_output_style(&r->out, STYLE_PLAIN));
}

static size_t put_name(struct strbuf *s, const struct report *r, const struct coati_row *row)
{
	char text[64];

	switch (r->by) {
	case COATI_BY_THREAD:
		snprintf(text, sizeof(text), "%d/%d ", row->pid, row->tid);
		coati_strbuf_adds(s, text);
		return strlen(text) + coati_report_fit(s, row->name, name_columns(r));
	case COATI_BY_PROCESS:
		snprintf(text, sizeof(text), "%d ", row->pid);
		coati_strbuf_adds(s, text);
		return strlen(text) + coati_report_fit(s, row->name, name_columns(r));
	case COATI_BY_ADDRESS:
		snprintf(text, sizeof(text), "0x%llx ", (unsigned long long)row->address);
		coati_strbuf_adds(s, text);
		return strlen(text) + coati_report_fit(s, row->name, name_columns(r));
	case COATI_BY_LABEL:
		return coati_report_fit(s, row->name[0] ? row->name : "(none)", name_columns(r));
	default:
		return coati_report_fit(s, row->name, name_columns(r));
	}
}

static void text_row(struct report *r, const struct coati_row *row)
{
	struct strbuf *s = &r->out.text;
	size_t columns;

	add_weight(r, s, has_frames(r->by) ? row->self : row->total);
	if (has_frames(r->by)) {
		coati_strbuf_adds(s, "  ");
		add_weight(r, s, row->total);
	}
	coati_strbuf_adds(s, "  ");
	columns = put_name(s, r, row);
	if (row->image && r->by != COATI_BY_IMAGE) {
		size_t wide = name_columns(r) < NAME_COLUMNS ? name_columns(r) : NAME_COLUMNS;

		if (columns < wide)
			coati_strbuf_pad(s, ' ', wide - columns);
		coati_strbuf_printf(s, "  %s", coati_output_style(&r->out, STYLE_DIM));
		coati_report_fit(s, row->image, 40);
		coati_strbuf_adds(s, coati_output_style(&r->out, STYLE_PLAIN));
	}
	/* no blanks at the end of a line */
	while (s->len && s->text[s->len - 1] == ' ')
		s->text[--s->len] = '\0';
	coati_strbuf_addc(s, '\n');
}

static void text_table(struct report *r, const struct coati_row *rows, size_t nr)
{
	size_t shown = row_limit(r, nr);
	struct strbuf *s = &r->out.text;

	coati_report_quality_text(r);
	if (nr)
		text_head(r);
	for (size_t i = 0; i < shown; i++) {
		text_row(r, &rows[i]);
		if (s->len > 60000)
			coati_output_flush(&r->out);
	}
	if (shown < nr) {
		coati_strbuf_printf(s, "%s# ", coati_output_style(&r->out, STYLE_DIM));
		coati_strbuf_grouped(s, nr - shown);
		coati_strbuf_printf(s, " more rows: --limit 0 shows them%s\n",
				    coati_output_style(&r->out, STYLE_PLAIN));
	}
}

/* ---- CSV ---- */

/* Control characters are no text in any table. */
static void csv_text(struct strbuf *s, const char *text)
{
	struct strbuf plain = STRBUF_INIT(1u << 21);

	coati_report_fit(&plain, text, SIZE_MAX);
	coati_output_csv(s, plain.text);
	coati_strbuf_fini(&plain);
}

/* A number that a row of this kind has, or nothing. */
static void csv_number(struct strbuf *s, bool has, long long value)
{
	coati_strbuf_addc(s, ',');
	if (has)
		coati_strbuf_printf(s, "%lld", value);
}

static void csv_row(const struct report *r, struct strbuf *s, const struct coati_row *row)
{
	csv_text(s, row->name);
	coati_strbuf_addc(s, ',');
	csv_text(s, row->image ? row->image : "");
	coati_strbuf_addc(s, ',');
	if (r->by == COATI_BY_ADDRESS)
		coati_strbuf_printf(s, "0x%llx", (unsigned long long)row->address);
	coati_strbuf_addc(s, ',');
	csv_text(s, row->file ? row->file : "");
	csv_number(s, row->line, row->line);
	csv_number(s, r->by == COATI_BY_THREAD || r->by == COATI_BY_PROCESS, row->pid);
	csv_number(s, r->by == COATI_BY_THREAD, row->tid);
	csv_number(s, r->by == COATI_BY_CPU, row->cpu);
	coati_strbuf_printf(s, ",%llu,%llu,%llu,%llu\n", (unsigned long long)row->self,
			    (unsigned long long)row->total, (unsigned long long)row->self_count,
			    (unsigned long long)row->total_count);
}

/* The first column is what the rows are by; where another column has that name already (address,
 * image, cpu, a label that is called so), it is "name". */
static const char *csv_title(const struct report *r)
{
	static const char *const others[] = { "image",	      "address",      "file",
					      "line_number",  "pid",	      "tid",
					      "cpu",	      "self",	      "total",
					      "self_samples", "total_samples" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(title_of(r), others[i]))
			return "name";
	return title_of(r);
}

static void csv_table(struct report *r, const struct coati_row *rows, size_t nr)
{
	struct strbuf *s = &r->out.text;

	nr = row_limit(r, nr);
	csv_text(s, csv_title(r));
	coati_strbuf_adds(s, ",image,address,file,line_number,pid,tid,cpu,self,total,self_samples,"
			     "total_samples\n");
	for (size_t i = 0; i < nr; i++) {
		csv_row(r, s, &rows[i]);
		if (s->len > 60000)
			coati_output_flush(&r->out);
	}
}

/* ---- JSON ---- */

static void json_row(const struct report *r, struct json *j, const struct coati_row *row)
{
	coati_json_object(j);
	coati_json_kstr(j, r->by == COATI_BY_LABEL ? "label" : coati_by_name(r->by), row->name);
	if (row->image && r->by != COATI_BY_IMAGE)
		coati_json_kstr(j, "image", row->image);
	if (row->file)
		coati_json_kstr(j, "file", row->file);
	if (row->file && row->line && r->by != COATI_BY_LINE)
		coati_json_ku64(j, "line_number", row->line);
	if (r->by == COATI_BY_ADDRESS) {
		coati_json_key(j, "vaddr");
		coati_json_hex(j, row->address);
	}
	if (r->by == COATI_BY_TIME)
		coati_json_ku64(j, "start_ns", row->address);
	if (r->by == COATI_BY_THREAD || r->by == COATI_BY_PROCESS)
		coati_json_ki64(j, "pid", row->pid);
	if (r->by == COATI_BY_THREAD)
		coati_json_ki64(j, "tid", row->tid);
	coati_json_ku64(j, "self", row->self);
	coati_json_ku64(j, "total", row->total);
	coati_json_ku64(j, "self_samples", row->self_count);
	coati_json_ku64(j, "total_samples", row->total_count);
	coati_json_end(j);
}

static void json_table(struct report *r, const struct coati_row *rows, size_t nr)
{
	struct json j = json_to(&r->out.text);

	nr = row_limit(r, nr);
	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.report.v1");
	coati_json_kstr(&j, "by", coati_by_name(r->by));
	if (r->by == COATI_BY_LABEL)
		coati_json_kstr(&j, "key", r->label);
	coati_report_quality_json(r, &j);
	coati_json_key(&j, "rows");
	coati_json_array(&j);
	for (size_t i = 0; i < nr; i++) {
		json_row(r, &j, &rows[i]);
		if (r->out.text.len > 60000)
			coati_output_flush(&r->out);
	}
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&r->out.text, '\n');
}

/* Nothing has that label: which ones there are. */
static void say_labels(const struct report *r)
{
	struct strbuf s = STRBUF_INIT(4096);
	const char *key;

	for (uint32_t i = 0; (key = coati_profile_label_key(r->profile, i)); i++) {
		coati_strbuf_adds(&s, i ? ", " : "");
		coati_report_fit(&s, key, 100);
	}
	coati_note("no sample has a label \"%s\"; there are: %s", r->label, s.text);
	coati_strbuf_fini(&s);
}

/* Those that --min lets through. NULL: out of memory. */
static struct coati_row *heavy_rows(const struct report *r, const struct coati_row *rows,
				    size_t *nr)
{
	uint64_t least = coati_report_least(r, r->info.total);
	struct coati_row *kept = coati_alloc_array(*nr + 1, sizeof(*kept));
	size_t nr_kept = 0;

	for (size_t i = 0; kept && i < *nr; i++)
		if (rows[i].total >= least)
			kept[nr_kept++] = rows[i];
	*nr = nr_kept;
	return kept;
}

int coati_report_table(struct report *r)
{
	struct coati_rows_query q = {
		.size = sizeof(q),
		.by = r->by,
		.label = r->label,
		.flags = r->args->children ? COATI_ROWS_BY_TOTAL : 0,
	};
	const struct coati_row *all = NULL;
	struct coati_error err = { 0 };
	size_t nr = 0;

	if (coati_view_rows(r->view, &q, &all, &nr, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	r->quality.size = sizeof(r->quality);
	coati_profile_quality(r->profile, &r->quality);
	if (r->by == COATI_BY_LABEL && nr == 1 && !*all[0].name)
		say_labels(r);
	CLEANUP(freep) struct coati_row *rows = heavy_rows(r, all, &nr);
	if (!rows) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	if (r->args->json)
		json_table(r, rows, nr);
	else if (r->args->csv)
		csv_table(r, rows, nr);
	else
		text_table(r, rows, nr);
	return EXIT_DONE;
}
