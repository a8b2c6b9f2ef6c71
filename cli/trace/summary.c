/* SPDX-License-Identifier: MIT */
/* All of it on a page: threads and what their time went into, CPUs, task types and regions with how
 * long they take. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "cli/command.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define NAME_COLUMNS 24 /* of threads */
#define TYPE_COLUMNS 14 /* at least, of types */

struct row {
	uint32_t number;
	struct coati_ledger ledger;
};

struct rows {
	ARRAY(struct row) list;
};

/* The busiest first. */
static int by_running(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t rx = x->ledger.parts[COATI_WAIT_RUNNING], ry = y->ledger.parts[COATI_WAIT_RUNNING];

	if (rx != ry)
		return rx > ry ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int gather_threads(const struct trace *t, struct rows *rows)
{
	struct coati_timeline_thread th;

	for (uint32_t i = 0; coati_timeline_thread(t->timeline, i, &th) == 0; i++) {
		uint64_t from = th.begin > t->from ? th.begin : t->from;
		uint64_t to = th.end < t->to ? th.end : t->to;
		struct row *row = to > from ? ARRAY_ADD(&rows->list) : NULL;

		if (to <= from)
			continue;
		if (!row)
			return -ENOMEM;
		row->number = i;
		coati_timeline_ledger(t->timeline, i, from, to, &row->ledger);
	}
	if (rows->list.len)
		qsort(rows->list.v, rows->list.len, sizeof(*rows->list.v), by_running);
	return 0;
}

static size_t shown_of(const struct trace *t, size_t nr)
{
	return t->args->limit && t->args->limit < nr ? t->args->limit : nr;
}

static void more(struct strbuf *s, size_t nr, size_t shown, const char *what)
{
	if (shown < nr)
		coati_strbuf_printf(s, "... and %zu more %s; -n 0 shows all\n", nr - shown, what);
}

/* Columns of the longest name. */
static size_t name_columns(const struct trace *t, const struct rows *rows, size_t nr)
{
	struct strbuf text = STRBUF_INIT(1024);
	size_t most = 0;

	for (size_t i = 0; i < nr; i++) {
		coati_strbuf_clear(&text);
		coati_trace_thread_name(t, &text, rows->list.v[i].number);
		most = text.len > most ? text.len : most;
	}
	coati_strbuf_fini(&text);
	return most < NAME_COLUMNS ? most : NAME_COLUMNS;
}

static void put_thread(struct trace *t, const struct row *row, size_t columns)
{
	static const int shown[] = { SUM_RUNNING, SUM_RUNNABLE, SUM_BLOCKED, SUM_UNKNOWN };
	struct strbuf *s = &t->out.text, name = STRBUF_INIT(1024), reasons = STRBUF_INIT(1024);
	uint64_t sums[SUM_COUNT];
	size_t line = s->len, used, room;

	coati_trace_sums(&row->ledger, sums);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		coati_trace_time(s, sums[shown[i]], 9);
	coati_strbuf_adds(s, "  ");
	coati_trace_bar(t, &row->ledger, bar_columns(t));
	coati_strbuf_adds(s, "  ");
	coati_trace_thread_name(t, &name, row->number);
	used = coati_report_fit(s, name.text, NAME_COLUMNS);
	used = used < columns ? columns - used : 0;
	room = coati_trace_room(t, line);
	coati_trace_reasons(&reasons, &row->ledger, 3, room > used ? room - used : 0);
	coati_strbuf_pad(s, ' ', reasons.len ? used : 0);
	coati_strbuf_adds(s, reasons.text);
	coati_strbuf_addc(s, '\n');
	coati_strbuf_fini(&name);
	coati_strbuf_fini(&reasons);
}

static void put_threads(struct trace *t, const struct rows *rows)
{
	size_t nr = shown_of(t, rows->list.len), columns = name_columns(t, rows, nr);
	char heading[80];

	snprintf(heading, sizeof(heading), "  running runnable  blocked  unknown  %-*s  thread",
		 (int)bar_columns(t), "breakdown");
	coati_trace_heading(t, heading);
	for (size_t i = 0; i < nr; i++)
		put_thread(t, &rows->list.v[i], columns);
	more(&t->out.text, rows->list.len, nr, "threads");
}

/* ---- types ---- */

enum column {
	NUMBER,
	P50,
	P90,
	P99,
	MAX,
	FIRST_SUM,
	COLUMN_COUNT = FIRST_SUM + SUM_COUNT,
};

static void values_of(const struct coati_timeline_type *k, uint64_t values[COLUMN_COUNT])
{
	values[NUMBER] = k->nr;
	values[P50] = k->p50;
	values[P90] = k->p90;
	values[P99] = k->p99;
	values[MAX] = k->max;
	coati_trace_sums(&k->ledger, values + FIRST_SUM);
}

/* Where the terminal is too narrow for all columns, those go that say nothing, then those that say
 * least. */
static void choose_columns(const struct trace *t, bool regions, bool shown[COLUMN_COUNT])
{
	static const int least[] = { P90, FIRST_SUM + SUM_NOBODY, FIRST_SUM + SUM_UNKNOWN, P50,
				     MAX };
	size_t width = coati_output_width(&t->out), used = 9 * COLUMN_COUNT + TYPE_COLUMNS;
	struct coati_timeline_type k;
	uint64_t values[COLUMN_COUNT];
	bool says[COLUMN_COUNT] = { false };

	for (uint32_t i = 0; coati_timeline_type(t->timeline, i, &k) == 0; i++) {
		values_of(&k, values);
		for (int n = 0; (k.is_region != 0) == regions && n < COLUMN_COUNT; n++)
			says[n] |= values[n] != 0;
	}
	for (int n = COLUMN_COUNT - 1; n >= 0; n--) {
		shown[n] = !width || used <= width || says[n];
		used -= shown[n] ? 0 : 9;
	}
	for (size_t i = 0; width && used > width && i < sizeof(least) / sizeof(*least); i++) {
		used -= shown[least[i]] ? 9 : 0;
		shown[least[i]] = false;
	}
}

static void put_heading(struct trace *t, bool regions, const bool shown[COLUMN_COUNT])
{
	static const char *const names[COLUMN_COUNT] = { "number", "p50",     "p90",	  "p99",
							 "max",	   "running", "runnable", "blocked",
							 "queued", "unknown" };
	struct strbuf text = STRBUF_INIT(256);

	coati_strbuf_addc(&text, '\n');
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (shown[i])
			coati_strbuf_printf(&text, "%9s", names[i]);
	coati_strbuf_adds(&text, regions ? "  region" : "  task");
	coati_trace_heading(t, text.text);
	coati_strbuf_fini(&text);
}

static void put_type(struct trace *t, const struct coati_timeline_type *k,
		     const bool shown[COLUMN_COUNT])
{
	struct strbuf *s = &t->out.text, name = STRBUF_INIT(1u << 20);
	uint64_t values[COLUMN_COUNT];
	size_t line = s->len;

	values_of(k, values);
	coati_strbuf_printf(s, "%9u", k->nr);
	for (int i = NUMBER + 1; i < COLUMN_COUNT; i++)
		if (shown[i])
			coati_trace_time(s, values[i], 9);
	coati_strbuf_adds(s, "  ");
	coati_strbuf_clean(&name, k->name, strlen(k->name));
	if (k->nr_before)
		coati_strbuf_printf(&name, " (%u began before the recording)", k->nr_before);
	if (k->nr_open > k->nr_before)
		coati_strbuf_printf(&name, " (%u open)", k->nr_open - k->nr_before);
	coati_trace_tail(t, line, name.text);
	coati_strbuf_fini(&name);
}

static void put_types(struct trace *t, bool regions)
{
	struct coati_timeline_type k;
	bool shown[COLUMN_COUNT], any = false;

	choose_columns(t, regions, shown);
	for (uint32_t i = 0; coati_timeline_type(t->timeline, i, &k) == 0; i++) {
		if ((k.is_region != 0) != regions)
			continue;
		if (!any)
			put_heading(t, regions, shown);
		any = true;
		put_type(t, &k, shown);
	}
}

/* ---- JSON ---- */

static void json_thread(struct trace *t, struct json *j, const struct row *row)
{
	struct coati_timeline_thread th;

	coati_timeline_thread(t->timeline, row->number, &th);
	coati_json_object(j);
	coati_json_ki64(j, "pid", th.pid);
	coati_json_ki64(j, "tid", th.tid);
	coati_json_kstr(j, "comm", th.comm);
	coati_json_ku64(j, "begin_ns", th.begin);
	coati_json_ku64(j, "end_ns", th.end);
	coati_trace_json_ledger(j, &row->ledger);
	coati_json_end(j);
}

static void json_types(struct trace *t, struct json *j)
{
	struct coati_timeline_type k;

	for (uint32_t i = 0; coati_timeline_type(t->timeline, i, &k) == 0; i++) {
		coati_json_object(j);
		coati_json_kstr(j, "name", k.name);
		coati_json_kstr(j, "kind", k.is_region ? "region" : "task");
		coati_json_ku64(j, "count", k.nr);
		coati_json_ku64(j, "open", k.nr_open);
		coati_json_ku64(j, "began_before", k.nr_before);
		coati_json_ku64(j, "p50_ns", k.p50);
		coati_json_ku64(j, "p90_ns", k.p90);
		coati_json_ku64(j, "p99_ns", k.p99);
		coati_json_ku64(j, "max_ns", k.max);
		coati_trace_json_ledger(j, &k.ledger);
		coati_json_end(j);
	}
}

static void put_json(struct trace *t, const struct rows *rows)
{
	struct json j;

	coati_trace_json_head(t, &j, TRACE_SCHEMA, "summary");
	coati_json_key(&j, "threads");
	coati_json_array(&j);
	for (size_t i = 0; i < shown_of(t, rows->list.len); i++)
		json_thread(t, &j, &rows->list.v[i]);
	coati_json_end(&j);
	coati_json_key(&j, "types");
	coati_json_array(&j);
	json_types(t, &j);
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&t->out.text, '\n');
}

int coati_trace_summary(struct trace *t)
{
	struct rows rows = { .list.max = SIZE_MAX / sizeof(struct row) };
	int r = gather_threads(t, &rows);

	if (r == 0 && t->args->json) {
		put_json(t, &rows);
	} else if (r == 0) {
		coati_trace_quality(t);
		put_threads(t, &rows);
		put_types(t, false);
		put_types(t, true);
	}
	ARRAY_FINI(&rows.list);
	if (r < 0)
		coati_say("out of memory");
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
