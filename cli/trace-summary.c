/* SPDX-License-Identifier: MIT */
/* All of it on a page: threads and what their time went into, CPUs, task types and regions with how long they take. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "command.h"
#include "talk.h"
#include "trace-text.h"

#define BAR 20

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

static void put_sums(struct trace *t, const struct coati_ledger *l, bool nobody)
{
	struct strbuf *s = &t->out.text;
	uint64_t sums[SUM_COUNT];

	coati_trace_sums(l, sums);
	for (int i = 0; i < SUM_COUNT; i++)
		if (i != SUM_NOBODY || nobody)
			coati_trace_time(s, sums[i], 9);
	coati_strbuf_adds(s, "  ");
}

static void more(struct strbuf *s, size_t nr, size_t shown, const char *what)
{
	if (shown < nr)
		coati_strbuf_printf(s, "... and %zu more %s; -n 0 shows all\n", nr - shown, what);
}

static void put_threads(struct trace *t, const struct rows *rows)
{
	struct strbuf *s = &t->out.text;
	size_t nr = shown_of(t, rows->list.len);

	coati_trace_heading(t,
			    "  running runnable  blocked  unknown  ledger                thread");
	for (size_t i = 0; i < nr; i++) {
		const struct row *row = &rows->list.v[i];

		put_sums(t, &row->ledger, false);
		coati_trace_bar(t, &row->ledger, BAR);
		coati_strbuf_adds(s, "  ");
		coati_trace_thread_name(t, s, row->number);
		coati_strbuf_adds(s, "  ");
		coati_trace_reasons(s, &row->ledger, 3);
		coati_strbuf_addc(s, '\n');
	}
	more(s, rows->list.len, nr, "threads");
}

static void put_types(struct trace *t, bool regions)
{
	struct strbuf *s = &t->out.text;
	struct coati_timeline_type k;
	bool any = false;

	for (uint32_t i = 0; coati_timeline_type(t->timeline, i, &k) == 0; i++) {
		if ((k.is_region != 0) != regions)
			continue;
		if (!any)
			coati_trace_heading(t, regions ? "\n   number      p50      p90      p99"
							 "      max  running runnable  blocked"
							 "  nobody  unknown  region"
						       : "\n   number      p50      p90      p99"
							 "      max  running runnable  blocked"
							 "   nobody  unknown  task");
		any = true;
		coati_strbuf_printf(s, "%9u", k.nr);
		coati_trace_time(s, k.p50, 9);
		coati_trace_time(s, k.p90, 9);
		coati_trace_time(s, k.p99, 9);
		coati_trace_time(s, k.max, 9);
		put_sums(t, &k.ledger, true);
		coati_strbuf_clean(s, k.name, strnlen(k.name, 64));
		if (k.nr_open)
			coati_strbuf_printf(s, " (%u open)", k.nr_open);
		coati_strbuf_addc(s, '\n');
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
