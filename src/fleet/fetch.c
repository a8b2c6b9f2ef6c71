/* SPDX-License-Identifier: MIT */
/* see fetch.h. This is the first step: what to ask for. fetch-unfold.c has the second. */
#include "fleet/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "fleet/parcel.h"
#include "fleet/query.h"
#include "fleet/rowbinary.h"

#define ANSWER_MAX ((size_t)2 << 30)
#define SQL_MAX	   (64u << 20)
#define IDS_EACH   100000 /* ids in one query, each of which reads all stacks of the services */
#define IDS_MAX	   ((size_t)1 << 24)
#define LIMIT_MS   300000
#define DAY_S	   86400

struct asking {
	const struct fetch_opts *o;
	struct server server;
	struct fetch *f;
	struct strbuf sql;
	uint64_t hours_from, hours_to; /* this part of the time is taken from the hours */
};

static int ask(struct asking *a, struct strbuf *ret, struct coati_error *err)
{
	return a->sql.failed ? coati_fail(err, a->sql.failed, "the query is too long")
			     : coati_server_select(&a->server, a->sql.text, ret, err);
}

/* A pattern of the shell as one of LIKE. */
static void put_pattern(struct strbuf *sql, const char *glob)
{
	struct strbuf like = STRBUF_INIT(4096);

	if (!strpbrk(glob, "*?")) {
		coati_strbuf_adds(sql, " AND service = ");
		coati_sql_text(sql, glob);
		return;
	}
	for (; *glob; glob++)
		if (*glob == '*' || *glob == '?')
			coati_strbuf_addc(&like, *glob == '*' ? '%' : '_');
		else if (*glob == '%' || *glob == '_' || *glob == '\\')
			coati_strbuf_printf(&like, "\\%c", *glob);
		else
			coati_strbuf_addc(&like, *glob);
	coati_strbuf_adds(sql, " AND service LIKE ");
	coati_sql_text(sql, like.text);
	sql->failed = sql->failed ? sql->failed : like.failed;
	coati_strbuf_fini(&like);
}

static void put_when(struct strbuf *sql, uint64_t from, uint64_t to)
{
	coati_strbuf_printf(sql, " WHERE time >= toDateTime(%llu) AND time < toDateTime(%llu)",
			    (unsigned long long)from, (unsigned long long)to);
}

/* ---- long ranges ---- */

/* Whole days whose hours have all of their rows, of the services that are asked for: these are
 * read instead. */
static int find_hours(struct asking *a, struct coati_error *err)
{
	uint64_t from = (a->o->from_s + DAY_S - 1) / DAY_S * DAY_S;
	uint64_t to = a->o->to_s / DAY_S * DAY_S;
	struct strbuf out = STRBUF_INIT(1u << 20);
	struct cursor c;
	int r;

	if (to <= from)
		return 0;
	coati_strbuf_clear(&a->sql);
	coati_strbuf_adds(&a->sql, "SELECT day FROM (SELECT intDiv(toUInt32(time), 86400) AS day, "
				   "sum(samples) AS n, 0 AS h FROM ");
	coati_server_table(&a->server, SCHEMA_ROWS, &a->sql);
	put_when(&a->sql, from, to);
	if (a->o->service)
		put_pattern(&a->sql, a->o->service);
	coati_strbuf_adds(&a->sql, " GROUP BY day UNION ALL SELECT intDiv(toUInt32(time), 86400) "
				   "AS day, 0 AS n, sum(samples) AS h FROM ");
	coati_server_table(&a->server, SCHEMA_HOURS, &a->sql);
	put_when(&a->sql, from, to);
	if (a->o->service)
		put_pattern(&a->sql, a->o->service);
	coati_strbuf_adds(&a->sql, " GROUP BY day) GROUP BY day HAVING sum(n) = sum(h) ORDER BY "
				   "day");
	r = ask(a, &out, err);
	c = cursor_over(out.text, out.len);
	/* the longest run of such days from the first one on */
	while (r == 0 && cursor_left(&c) >= sizeof(uint32_t)) {
		uint64_t day_s = (uint64_t)cursor_u32(&c) * DAY_S;

		/* what was not asked for is not believed */
		if (day_s < from || day_s >= to || (a->hours_to && day_s != a->hours_to))
			break;
		if (!a->hours_to)
			a->hours_from = day_s;
		a->hours_to = day_s + DAY_S;
	}
	coati_strbuf_fini(&out);
	return r;
}

/* ---- rows ---- */

static int ask_rows_of(struct asking *a, enum schema_table table, uint64_t from, uint64_t to,
		       struct coati_error *err)
{
	const char *context = a->o->with_contexts ? "context" : "toUInt64(0) AS context";

	if (from >= to)
		return 0;
	coati_strbuf_clear(&a->sql);
	coati_strbuf_printf(
		&a->sql,
		"SELECT toString(service), toString(type), stack, %s, %s, sum(samples), "
		"sum(weight) FROM ",
		context, a->o->with_times ? "toUInt32(time) AS at" : "toUInt32(0) AS at");
	coati_server_table(&a->server, table, &a->sql);
	put_when(&a->sql, from, to);
	if (a->o->service)
		put_pattern(&a->sql, a->o->service);
	coati_strbuf_printf(&a->sql, " GROUP BY service, type, stack%s%s",
			    a->o->with_contexts ? ", context" : "", a->o->with_times ? ", at" : "");
	return ask(a, &a->f->rows, err);
}

static int ask_rows(struct asking *a, struct coati_error *err)
{
	uint64_t from = a->o->from_s, to = a->o->to_s;
	int r = a->o->with_times ? 0 : find_hours(a, err);

	if (r < 0)
		return r;
	if (!a->hours_to)
		return ask_rows_of(a, SCHEMA_ROWS, from, to, err);
	a->f->used_hours = true;
	r = ask_rows_of(a, SCHEMA_ROWS, from, a->hours_from, err);
	if (r == 0)
		r = ask_rows_of(a, SCHEMA_HOURS, a->hours_from, a->hours_to, err);
	if (r == 0)
		r = ask_rows_of(a, SCHEMA_ROWS, a->hours_to, to, err);
	return r;
}

/* ---- what rows refer to ---- */

struct ids {
	struct map stacks, contexts; /* what was asked for already */
	struct strbuf stack_list, context_list;
	size_t nr_stacks, nr_contexts;
};

static int ask_list(struct asking *a, const struct strbuf *list, struct strbuf *ret,
		    struct coati_error *err)
{
	return list->failed ? coati_fail(err, list->failed, "a list of stacks or contexts: %m")
			    : ask(a, ret, err);
}

static int flush_stacks(struct asking *a, struct ids *x, struct coati_error *err)
{
	int r;

	if (!x->nr_stacks)
		return 0;
	coati_strbuf_clear(&a->sql);
	coati_strbuf_adds(&a->sql,
			  "SELECT stack, flags, functions, images, paths, build_ids, addresses, "
			  "files, lines, kinds, marks FROM ");
	coati_server_table(&a->server, SCHEMA_STACKS, &a->sql);
	coati_strbuf_printf(&a->sql, " WHERE stack IN (%s)", x->stack_list.text);
	if (a->o->service)
		put_pattern(&a->sql, a->o->service);
	coati_strbuf_adds(&a->sql, " LIMIT 1 BY stack, other_half");
	r = ask_list(a, &x->stack_list, &a->f->stacks, err);
	coati_strbuf_clear(&x->stack_list);
	x->nr_stacks = 0;
	return r;
}

static int flush_contexts(struct asking *a, struct ids *x, struct coati_error *err)
{
	int r;

	if (!x->nr_contexts)
		return 0;
	coati_strbuf_clear(&a->sql);
	coati_strbuf_adds(&a->sql, "SELECT context, toString(host), pid, toString(process), "
				   "toString(thread), keys, values FROM ");
	coati_server_table(&a->server, SCHEMA_CONTEXTS, &a->sql);
	coati_strbuf_printf(&a->sql, " WHERE context IN (%s) LIMIT 1 BY context",
			    x->context_list.text);
	r = ask_list(a, &x->context_list, &a->f->contexts, err);
	coati_strbuf_clear(&x->context_list);
	x->nr_contexts = 0;
	return r;
}

static int want_stack(struct asking *a, struct ids *x, uint64_t id, struct coati_error *err)
{
	uint64_t value;

	if (coati_map_get(&x->stacks, id, &value))
		return 0;
	if (coati_map_put(&x->stacks, id, 1) < 0)
		return coati_fail(err, -ENOMEM, "too many distinct stacks");
	if (x->nr_stacks++)
		coati_strbuf_addc(&x->stack_list, ',');
	coati_strbuf_u64(&x->stack_list, id);
	return x->nr_stacks == IDS_EACH ? flush_stacks(a, x, err) : 0;
}

static int want_context(struct asking *a, struct ids *x, uint64_t id, struct coati_error *err)
{
	uint64_t value;

	if (!id || coati_map_get(&x->contexts, id, &value))
		return 0;
	if (coati_map_put(&x->contexts, id, 1) < 0)
		return coati_fail(err, -ENOMEM, "too many distinct contexts");
	if (x->nr_contexts++)
		coati_strbuf_addc(&x->context_list, ',');
	coati_strbuf_u64(&x->context_list, id);
	return x->nr_contexts == IDS_EACH ? flush_contexts(a, x, err) : 0;
}

static int want_all(struct asking *a, struct ids *x, struct coati_error *err)
{
	struct cursor c = cursor_over(a->f->rows.text, a->f->rows.len);
	size_t len;
	int r = 0;

	while (r == 0 && cursor_left(&c)) {
		uint64_t stack, context;

		row_read_text(&c, &len);
		row_read_text(&c, &len);
		stack = cursor_u64(&c);
		context = cursor_u64(&c);
		cursor_skip(&c, 4 + 16); /* time, samples and weight */
		if (c.bad)
			return coati_fail(err, -EBADMSG, "%.80s: the answer is cut",
					  a->server.place.url);
		r = want_stack(a, x, stack, err);
		if (r == 0)
			r = want_context(a, x, context, err);
	}
	if (r == 0)
		r = flush_stacks(a, x, err);
	return r < 0 ? r : flush_contexts(a, x, err);
}

static int ask_names(struct asking *a, struct coati_error *err)
{
	struct ids x = { .stack_list = STRBUF_INIT(SQL_MAX), .context_list = STRBUF_INIT(SQL_MAX) };
	int r;

	coati_map_init(&x.stacks, IDS_MAX);
	coati_map_init(&x.contexts, IDS_MAX);
	r = want_all(a, &x, err);
	coati_map_fini(&x.stacks);
	coati_map_fini(&x.contexts);
	coati_strbuf_fini(&x.stack_list);
	coati_strbuf_fini(&x.context_list);
	return r;
}

/* ---- quality ---- */

static int ask_windows(struct asking *a, struct coati_error *err)
{
	int r;

	coati_strbuf_clear(&a->sql);
	coati_strbuf_adds(&a->sql,
			  "SELECT sum(windows), sum(lost), sum(throttled), sum(own_cpu_ns), "
			  "sum(if(stored = 0, windows, 0)), sum(if(stored = 0, samples, 0)), "
			  "toUInt64(sum(folded)), uniq(host) FROM ");
	coati_server_table(&a->server, SCHEMA_WINDOWS, &a->sql);
	put_when(&a->sql, a->o->from_s, a->o->to_s);
	r = ask(a, &a->f->windows, err);
	if (r < 0)
		return r;
	coati_strbuf_clear(&a->sql);
	coati_strbuf_adds(&a->sql, "SELECT DISTINCT type, unit, is_off FROM ");
	coati_server_table(&a->server, SCHEMA_WINDOWS, &a->sql);
	coati_strbuf_adds(&a->sql, " ARRAY JOIN types AS type, units AS unit, off_cpu AS is_off");
	put_when(&a->sql, a->o->from_s, a->o->to_s);
	return ask(a, &a->f->units, err);
}

static void init(struct fetch *f)
{
	struct strbuf empty = STRBUF_INIT(ANSWER_MAX);

	*f = (struct fetch){
		.rows = empty, .stacks = empty, .contexts = empty, .windows = empty, .units = empty
	};
}

void coati_fetch_fini(struct fetch *f)
{
	coati_strbuf_fini(&f->rows);
	coati_strbuf_fini(&f->stacks);
	coati_strbuf_fini(&f->contexts);
	coati_strbuf_fini(&f->windows);
	coati_strbuf_fini(&f->units);
}

int coati_fetch_ask(const struct fetch_opts *o, struct fetch *ret, struct coati_error *err)
{
	struct asking a = { .o = o, .f = ret, .sql = STRBUF_INIT(2 * SQL_MAX) };
	int r;

	init(ret);
	ret->with_contexts = o->with_contexts;
	ret->from_s = o->from_s;
	snprintf(ret->title, sizeof(ret->title), "%s%s%s", o->url, o->service ? " " : "",
		 o->service ? o->service : "");
	r = coati_server_open(o->url, o->secrets, &a.server, err);
	if (r == 0) {
		a.server.limit_ms = LIMIT_MS;
		r = coati_server_meet(&a.server, err);
	}
	if (r == 0)
		r = ask_rows(&a, err);
	if (r == 0 && !ret->rows.len)
		r = coati_fail(err, -ENODATA,
			       "%.100s has nothing for this time%s%.60s; --from and --to choose "
			       "another (the last hour without them)",
			       o->url, o->service ? " and service " : "",
			       o->service ? o->service : "");
	if (r == 0)
		r = ask_names(&a, err);
	if (r == 0)
		r = ask_windows(&a, err);
	coati_server_close(&a.server);
	coati_strbuf_fini(&a.sql);
	if (r < 0)
		coati_fetch_fini(ret);
	return r;
}
