/* SPDX-License-Identifier: MIT */
/* see report/source.h */
#include "cli/report/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/opening.h"
#include "cli/command.h"
#include "cli/quality.h"
#include "cli/report/assembly.h"
#include "cli/talk.h"

#define SOURCE_BYTES_MAX (64u << 20)
#define LINE_BYTES_MAX	 4000 /* of one line of source */
#define TEXT_COLUMN	 24   /* where the source begins, behind the weights and the number */
#define CONTEXT_LINES	 3
/* so many lines without weight between two with weight are shown, more are left out */
#define GAP_LINES 8

/* Lines of one file that have weight, by number. */
struct source_lines {
	const char *file;
	const struct coati_row **rows;
	size_t nr;
};

static int by_place(const void *a, const void *b)
{
	const struct coati_row *x = *(const struct coati_row *const *)a;
	const struct coati_row *y = *(const struct coati_row *const *)b;
	int order = strcmp(x->file ? x->file : "", y->file ? y->file : "");

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static void put_weights(struct report *r, uint64_t self, uint64_t total)
{
	struct strbuf *s = &r->out.text;

	if (self)
		coati_strbuf_printf(s, "%5.1f %% ", coati_report_percent(r, self));
	else
		coati_strbuf_adds(s, "        ");
	if (total)
		coati_strbuf_printf(s, "%5.1f %% ", coati_report_percent(r, total));
	else
		coati_strbuf_adds(s, "        ");
}

static void put_line(struct report *r, const struct coati_row *row, uint32_t number,
		     const char *text, size_t len)
{
	struct strbuf *s = &r->out.text;
	struct strbuf plain = STRBUF_INIT(4096);

	put_weights(r, row ? row->self : 0, row ? row->total : 0);
	coati_strbuf_printf(s, "%6u  ", number);
	for (size_t i = 0; i < len && plain.len < LINE_BYTES_MAX; i++) {
		if (text[i] == '\t')
			coati_strbuf_pad(&plain, ' ', 8 - plain.len % 8);
		else
			coati_strbuf_addc(&plain, text[i] ? text[i] : '?');
	}
	coati_report_cut(r, s, plain.text, TEXT_COLUMN);
	coati_strbuf_fini(&plain);
	coati_strbuf_addc(s, '\n');
}

/* Is line @number to be shown: near one that has weight? */
static bool is_near(const struct source_lines *l, size_t next, uint32_t number)
{
	if (next < l->nr && l->rows[next]->line - number <= CONTEXT_LINES)
		return true;
	if (next > 0 && l->rows[next - 1]->line &&
	    number - l->rows[next - 1]->line <= CONTEXT_LINES)
		return true;
	return next > 0 && next < l->nr &&
	       l->rows[next]->line - l->rows[next - 1]->line <= GAP_LINES;
}

static void put_file(struct report *r, const struct source_lines *l, const char *text, size_t len)
{
	const char *end = text + len;
	uint32_t number = 1;
	size_t next = 0;
	bool skipped = false;

	for (; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const struct coati_row *row = NULL;

		stop = stop ? stop : end;
		/* line 0 is no line, and several rows may be of one */
		while (next < l->nr && l->rows[next]->line < number)
			next++;
		if (next < l->nr && l->rows[next]->line == number)
			row = l->rows[next];
		if (row || is_near(l, next, number)) {
			if (skipped)
				coati_strbuf_adds(&r->out.text, "                     …\n");
			put_line(r, row, number, text, (size_t)(stop - text));
			skipped = false;
		} else {
			skipped = next > 0 && next < l->nr;
		}
		next += row != NULL;
		text = stop + 1;
		if (r->out.text.len > 60000)
			coati_output_flush(&r->out);
	}
}

/* The recording names the file: a device or a file of /proc is none to be read. */
static int read_source(const char *path, struct strbuf *text, struct coati_error *err)
{
	struct opening o = { .kind = OPEN_SOURCE, .path = path };
	CLEANUP(fd_closep) int fd = coati_open_file(&o, err);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return coati_fail(err, -EINVAL, "%s is empty", path);
	r = coati_file_read_fd(fd, text);
	return r < 0 ? coati_fail(err, r, "read %s: %m", path) : 0;
}

static void put_source(struct report *r, const struct source_lines *l)
{
	struct strbuf text = STRBUF_INIT(SOURCE_BYTES_MAX);
	struct strbuf *s = &r->out.text;
	struct coati_error err = { 0 };
	int code;

	if (!l->file) {
		coati_strbuf_adds(
			s, "# no source lines: the file with this code has no debug information "
			   "here\n");
		return;
	}
	code = read_source(l->file, &text, &err);
	coati_strbuf_printf(s, "%s%7s %7s %6s  ", coati_output_style(&r->out, STYLE_BOLD), "self",
			    "total", "line");
	coati_report_fit(s, l->file, 1000);
	coati_strbuf_printf(s, "%s\n", coati_output_style(&r->out, STYLE_PLAIN));
	if (code == 0) {
		put_file(r, l, text.text, text.len);
	} else {
		coati_strbuf_adds(s, "# this file cannot be read here: ");
		coati_report_fit(s, err.text, sizeof(err.text));
		coati_strbuf_addc(s, '\n');
		for (size_t i = 0; i < l->nr; i++)
			put_line(r, l->rows[i], l->rows[i]->line, "", 0);
	}
	coati_strbuf_fini(&text);
}

static void put_files(struct report *r, const struct coati_row **rows, size_t nr)
{
	size_t from = 0;

	for (size_t i = 1; i <= nr; i++) {
		struct source_lines l = { rows[from]->file, rows + from, i - from };

		if (i < nr && !strcmp(rows[i]->file ? rows[i]->file : "", l.file ? l.file : ""))
			continue;
		put_source(r, &l);
		from = i;
	}
}

static int ask(struct report *r, enum coati_by by, const char *function,
	       const struct coati_row **ret, size_t *ret_nr)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = by, .function = function };
	struct coati_error err = { 0 };

	if (coati_view_rows(r->view, &q, ret, ret_nr, &err) == 0)
		return 0;
	coati_say("%s", err.text);
	return -1;
}

static void put_json(struct report *r, const char *function, const struct coati_row **rows,
		     size_t nr)
{
	struct json j = json_to(&r->out.text);

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.report.source.v1");
	coati_json_kstr(&j, "function", function);
	coati_report_quality_json(r, &j);
	coati_json_key(&j, "lines");
	coati_json_array(&j);
	for (size_t i = 0; i < nr; i++) {
		coati_json_object(&j);
		if (rows[i]->file)
			coati_json_kstr(&j, "file", rows[i]->file);
		coati_json_ku64(&j, "line", rows[i]->line);
		coati_json_ku64(&j, "self", rows[i]->self);
		coati_json_ku64(&j, "total", rows[i]->total);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&r->out.text, '\n');
}

int coati_report_source(struct report *r, const char *function)
{
	const struct coati_row *lines, *addresses, *all;
	size_t nr_lines, nr_addresses, nr_all;
	char quoted[256];

	if (ask(r, COATI_BY_LINE, function, &lines, &nr_lines) < 0 ||
	    ask(r, COATI_BY_ADDRESS, function, &addresses, &nr_addresses) < 0 ||
	    ask(r, COATI_BY_ADDRESS, NULL, &all, &nr_all) < 0)
		return EXIT_FAILED;
	r->quality.size = sizeof(r->quality);
	coati_profile_quality(r->profile, &r->quality);
	if (!nr_lines && !nr_addresses) {
		coati_say("%s has no sample in a function %s; `coati report` lists its functions",
			  r->input, coati_quote(function, quoted, sizeof(quoted)));
		return EXIT_FAILED;
	}
	CLEANUP(freep)
	const struct coati_row **sorted = coati_alloc_array(nr_lines + 1, sizeof(*sorted));
	if (!sorted) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < nr_lines; i++)
		sorted[i] = &lines[i];
	qsort(sorted, nr_lines, sizeof(*sorted), by_place);
	if (r->args->json) {
		put_json(r, function, sorted, nr_lines);
		return EXIT_DONE;
	}
	coati_report_quality_text(r);
	if (nr_lines)
		put_files(r, sorted, nr_lines);
	coati_report_assembly(r, &(struct report_rows){ addresses, nr_addresses },
			      &(struct report_rows){ all, nr_all });
	return EXIT_DONE;
}
