/* SPDX-License-Identifier: MIT */
/* see upkeep.h */
#include "fleet/upkeep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "fleet/rowbinary.h"

#define SQL_MAX	   65536
#define ANSWER_MAX (16u << 20)
#define NAME_ROOM  64
#define DAYS_MAX   65536 /* partitions of a table: more than that no server has */
#define MONTH_DAYS 31

struct days {
	uint32_t *v;
	size_t len, cap, max;
};

void coati_upkeep_print(const struct schema_opts *o, struct strbuf *s)
{
	coati_strbuf_printf(s, "-- for ClickHouse %u.%u\n", o->version / 1000, o->version % 1000);
	for (uint32_t i = 0; coati_schema_statement(o, i, s); i++)
		coati_strbuf_adds(s, ";\n\n");
}

static int cut_answer(const struct server *s, struct coati_error *err)
{
	return coati_fail(err, -EBADMSG, "%.80s: the answer is cut", s->place.url);
}

/* Numbers of days or months; no server makes us work without end. */
static int read_days(const struct server *s, const struct strbuf *answer, struct days *ret,
		     struct coati_error *err)
{
	struct cursor c = cursor_over(answer->text, answer->len);

	*ret = (struct days){ .max = DAYS_MAX };
	while (cursor_left(&c)) {
		uint32_t *day = ARRAY_ADD(ret);

		if (!day)
			return coati_fail(err, ret->len == ret->max ? -EBADMSG : -ENOMEM,
					  "%.80s: more than %d days in an answer, or no memory",
					  s->place.url, DAYS_MAX);
		*day = cursor_u32(&c);
		if (c.bad)
			return cut_answer(s, err);
	}
	return 0;
}

/* ---- schema ---- */

/* The columns that @table has, as keys of @ret; their texts are in @names. */
static int read_columns(struct server *s, enum schema_table table, struct strbuf *names,
			struct map *ret, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX), out = STRBUF_INIT(ANSWER_MAX);
	struct cursor c;
	int r;

	coati_strbuf_printf(&sql,
			    "SELECT name FROM system.columns WHERE database = '%s' AND table = "
			    "'%s'",
			    s->place.database, coati_schema_name(table));
	r = coati_server_select(s, sql.text, &out, err);
	c = cursor_over(out.text, out.len);
	while (r == 0 && cursor_left(&c)) {
		size_t len;
		const char *name = row_read_text(&c, &len);

		if (!name)
			r = cut_answer(s, err);
		else
			coati_strbuf_add(names, name, len);
		coati_strbuf_addc(names, 0);
	}
	/* addresses are final now */
	if (r == 0)
		r = names->failed;
	for (size_t at = 0; r == 0 && at < names->len; at += strlen(names->text + at) + 1)
		if (coati_map_put_str(ret, names->text + at, 1) < 0)
			r = -ENOMEM;
	if (r == -ENOMEM || r == -E2BIG)
		coati_fail(err, r, "%.80s: too many columns, or no memory", s->place.url);
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

static int add_columns(struct server *s, const struct schema_opts *o, enum schema_table table,
		       uint32_t *changes, struct coati_error *err)
{
	struct strbuf names = STRBUF_INIT(ANSWER_MAX), sql = STRBUF_INIT(SQL_MAX);
	struct map have;
	uint64_t value;
	const char *name;
	int r;

	coati_map_init_strings(&have, 4096);
	r = read_columns(s, table, &names, &have, err);
	for (uint32_t i = 0; r == 0 && (name = coati_schema_column(table, i)); i++) {
		if (coati_map_get_str(&have, name, &value))
			continue;
		coati_strbuf_clear(&sql);
		coati_schema_add_column(o, table, i, &sql);
		r = coati_server_run(s, sql.text, err);
		++*changes;
	}
	coati_map_fini(&have);
	coati_strbuf_fini(&names);
	coati_strbuf_fini(&sql);
	return r;
}

static int count_tables(struct server *s, uint64_t *ret, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX), out = STRBUF_INIT(4096);
	struct cursor c;
	int r;

	coati_strbuf_printf(&sql,
			    "SELECT count() FROM system.tables WHERE database = '%s' AND name "
			    "LIKE 'coati\\_%%'",
			    s->place.database);
	r = coati_server_select(s, sql.text, &out, err);
	c = cursor_over(out.text, out.len);
	*ret = cursor_u64(&c);
	if (r == 0 && c.bad)
		r = cut_answer(s, err);
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

int coati_upkeep_schema(struct server *s, const struct schema_opts *o, uint32_t *ret_changes,
			struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	uint64_t before = 0, after = 0;
	uint32_t changes = 0;
	int r = count_tables(s, &before, err);

	for (uint32_t i = 0; r == 0; i++) {
		coati_strbuf_clear(&sql);
		if (!coati_schema_statement(o, i, &sql))
			break;
		r = sql.failed ? sql.failed : coati_server_run(s, sql.text, err);
	}
	for (int t = 0; r == 0 && t < SCHEMA_TABLES; t++)
		r = add_columns(s, o, (enum schema_table)t, &changes, err);
	if (r == 0)
		r = count_tables(s, &after, err);
	s->met = false; /* it may have Distributed tables now */
	if (r == 0)
		*ret_changes = changes + (uint32_t)(after - before);
	coati_strbuf_fini(&sql);
	return r;
}

/* ---- hours ---- */

/* Days by number (20261116) whose hours lack some of their rows. */
static int find_days(struct server *s, struct strbuf *ret, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	const char *db = s->place.database;
	int r;

	coati_strbuf_printf(&sql,
			    "SELECT day FROM (SELECT toYYYYMMDD(time) AS day, sum(samples) AS n, "
			    "sum(weight) AS w, 0 AS hn, 0 AS hw FROM %s.coati_rows WHERE time < "
			    "toDateTime(%llu) GROUP BY day UNION ALL SELECT toYYYYMMDD(time) AS "
			    "day, 0 AS n, 0 AS w, sum(samples) AS hn, sum(weight) AS hw FROM "
			    "%s.coati_rows_hour GROUP BY day) GROUP BY day HAVING sum(n) > 0 AND "
			    "(sum(n) != sum(hn) OR sum(w) != sum(hw)) ORDER BY day",
			    db, (unsigned long long)time(NULL) / 86400 * 86400, db);
	r = coati_server_select(s, sql.text, ret, err);
	coati_strbuf_fini(&sql);
	return r;
}

static int run_for_day(struct server *s, const char *fmt, uint32_t day, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	const char *db = s->place.database;
	int r;

	/* each word of the statement that is a % is the database, each # the day */
	for (; *fmt; fmt++)
		if (*fmt == '%')
			coati_strbuf_adds(&sql, db);
		else if (*fmt == '#')
			coati_strbuf_u64(&sql, day);
		else
			coati_strbuf_addc(&sql, *fmt);
	r = sql.failed ? sql.failed : coati_server_run(s, sql.text, err);
	coati_strbuf_fini(&sql);
	return r;
}

/* Made beside the old ones, which they replace in one step. */
static int make_day(struct server *s, uint32_t day, struct coati_error *err)
{
	static const char *const steps[] = {
		"ALTER TABLE %.coati_rows_hour_new DROP PARTITION #",
		"INSERT INTO %.coati_rows_hour_new SELECT service, type, stack, "
		"toDateTime(intDiv(toUInt32(time), 3600) * 3600) AS hour, context, sum(samples), "
		"sum(weight) FROM %.coati_rows WHERE toYYYYMMDD(time) = # GROUP BY service, type, "
		"stack, hour, context",
		"ALTER TABLE %.coati_rows_hour REPLACE PARTITION # FROM %.coati_rows_hour_new",
		"ALTER TABLE %.coati_rows_hour_new DROP PARTITION #",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		r = run_for_day(s, steps[i], day, err);
	return r;
}

int coati_upkeep_hours(struct server *s, uint32_t *ret_days, struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(ANSWER_MAX);
	struct days days = { 0 };
	int r = find_days(s, &out, err);

	if (r == 0)
		r = read_days(s, &out, &days, err);
	for (size_t i = 0; r == 0 && i < days.len; i++)
		r = make_day(s, days.v[i], err);
	if (r == 0)
		*ret_days = (uint32_t)days.len;
	ARRAY_FINI(&days);
	coati_strbuf_fini(&out);
	return r;
}

/* ---- retention ---- */

static uint32_t day_number(time_t t, bool is_month)
{
	struct tm tm;

	gmtime_r(&t, &tm);
	return (uint32_t)((tm.tm_year + 1900) * 100 + tm.tm_mon + 1) * (is_month ? 1 : 100) +
	       (is_month ? 0 : (uint32_t)tm.tm_mday);
}

/* Stacks and contexts have partitions by month, and are sent again each month. */
static bool is_monthly(enum schema_table table)
{
	return table == SCHEMA_STACKS || table == SCHEMA_CONTEXTS || table == SCHEMA_KEPT;
}

static int drop_old(struct server *s, enum schema_table table, uint32_t limit, uint32_t *dropped,
		    struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX), out = STRBUF_INIT(ANSWER_MAX);
	struct days days = { 0 };
	int r;

	coati_strbuf_printf(&sql,
			    "SELECT DISTINCT toUInt32(partition) FROM system.parts WHERE database "
			    "= '%s' AND table = '%s' AND active AND toUInt32OrZero(partition) < %u "
			    "AND toUInt32OrZero(partition) > 0",
			    s->place.database, coati_schema_name(table), limit);
	r = coati_server_select(s, sql.text, &out, err);
	if (r == 0)
		r = read_days(s, &out, &days, err);
	for (size_t i = 0; r == 0 && i < days.len; i++) {
		coati_strbuf_clear(&sql);
		coati_strbuf_printf(&sql, "ALTER TABLE %s.%s DROP PARTITION %u", s->place.database,
				    coati_schema_name(table), days.v[i]);
		r = coati_server_run(s, sql.text, err);
		*dropped += r == 0;
	}
	ARRAY_FINI(&days);
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

int coati_upkeep_retention(struct server *s, uint32_t days, uint32_t *ret_dropped,
			   struct coati_error *err)
{
	time_t now = time(NULL);
	uint32_t dropped = 0;
	int r = 0;

	for (int t = 0; r == 0 && t < SCHEMA_HOURS_NEW; t++) {
		bool monthly = is_monthly((enum schema_table)t);
		time_t limit = now - (time_t)(days + (monthly ? MONTH_DAYS : 0)) * 86400;

		r = drop_old(s, (enum schema_table)t, day_number(limit, monthly), &dropped, err);
	}
	if (r == 0)
		*ret_dropped = dropped;
	return r;
}
