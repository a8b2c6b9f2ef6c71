/* SPDX-License-Identifier: MIT */
/* see shipment.h */
#include "fleet/shipment.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fleet/rowbinary.h"

#define SQL_MAX (8u << 20)

#define RELAY_TAG "coati-relay-"

int coati_shipment_init(struct shipment *h, size_t cap, uint64_t *nr_inserts)
{
	*h = (struct shipment){ .cap = cap, .max_bytes = SHIPMENT_BYTES, .nr_inserts = nr_inserts };
	h->v = coati_alloc_array(h->cap, sizeof(*h->v));
	return h->v ? 0 : -ENOMEM;
}

/* By the host alone: the inserts of an earlier run of the agent are ours, too. */
static void make_tag(struct shipment *h)
{
	char host[64] = "";

	if (h->is_relay)
		gethostname(host, sizeof(host) - 1);
	snprintf(h->tag, sizeof(h->tag), "%s%.64s-", h->is_relay ? RELAY_TAG : "coati-",
		 h->is_relay ? host
		 : h->nr     ? h->v[0].p.host
			     : "");
	for (char *c = h->tag; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '.';
}

void coati_shipment_fini(struct shipment *h)
{
	for (size_t i = 0; i < h->nr; i++)
		coati_parcel_fini(&h->v[i].p);
	coati_free(h->v);
	h->v = NULL;
	h->nr = 0;
}

/* Of the names that the server is asked for. */
static uint64_t texts_of(const struct parcel *p)
{
	const char *texts[] = { p->agent, p->service, p->type, p->task_service, p->task };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		sum += texts[i] ? strlen(texts[i]) : 0;
	return sum;
}

static bool fits(const struct shipment *h, const struct parcel *p)
{
	if (!h->nr)
		return h->cap > 0;
	for (size_t i = 0; i < SCHEMA_SENT; i++)
		if (h->bytes[i] + p->tables[i].len > h->max_bytes)
			return false;
	return h->nr < h->cap && parcel_day(p) == parcel_day(&h->v[0].p) &&
	       h->rows + p->rows <= SHIPMENT_ROWS && h->texts + texts_of(p) <= SHIPMENT_TEXTS;
}

bool coati_shipment_add(struct shipment *h, struct parcel *p, bool tried)
{
	if (!fits(h, p))
		return false;
	for (size_t i = 0; i < SCHEMA_SENT; i++)
		h->bytes[i] += p->tables[i].len;
	h->rows += p->rows;
	h->texts += texts_of(p);
	h->v[h->nr++] = (struct shipment_parcel){ .p = *p, .tried = tried };
	return true;
}

/* ---- what has arrived ---- */

static bool is_in_doubt(const struct shipment *h)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].tried)
			return true;
	return false;
}

/* An insert that we gave up may still be running: its rows would appear behind our question. */
static int check_running(const struct shipment *h, struct server *s, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(4096), out = STRBUF_INIT(4096);
	struct cursor c;
	int r;

	coati_strbuf_adds(&sql, "SELECT count() FROM system.processes WHERE query_id LIKE '");
	/* Other relays insert all the time: what was given up began before the pause. */
	if (h->is_relay)
		coati_strbuf_adds(&sql, RELAY_TAG "%' AND elapsed > 1");
	else
		coati_strbuf_printf(&sql, "%s%%'", h->tag);
	r = coati_server_select(s, sql.text, &out, err);
	c = cursor_over(out.text, out.len);
	if (r == 0 && cursor_u64(&c))
		r = coati_fail(err, -EBUSY, "%.80s still works on an earlier insert", s->place.url);
	else if (r == -EACCES)
		r = 0; /* it shows no such list: the pause before a retry has to do */
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

static void put_list(struct strbuf *sql, size_t i)
{
	if (i)
		coati_strbuf_addc(sql, ',');
}

static void put_times(const struct shipment *h, struct strbuf *sql)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < h->nr; i++) {
		first = h->v[i].p.time_s < first ? h->v[i].p.time_s : first;
		last = h->v[i].p.time_s > last ? h->v[i].p.time_s : last;
	}
	coati_strbuf_printf(sql, "time >= toDateTime(%llu) AND time <= toDateTime(%llu)",
			    (unsigned long long)first, (unsigned long long)last);
}

/* Lists of the keys, which the server looks up in its index; which belong together is seen here. */
static void put_row_keys(const struct shipment *h, struct strbuf *sql)
{
	coati_strbuf_adds(sql, " AND service IN ('coati:none'");
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].p.rows) {
			coati_strbuf_addc(sql, ',');
			coati_sql_text(sql, h->v[i].p.service);
		}
	coati_strbuf_adds(sql, ") AND type IN ('coati:none'");
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].p.rows) {
			coati_strbuf_addc(sql, ',');
			coati_sql_text(sql, h->v[i].p.type);
		}
	coati_strbuf_adds(sql, ") AND stack IN (");
	for (size_t i = 0; i < h->nr; i++) {
		put_list(sql, i);
		coati_strbuf_u64(sql, h->v[i].p.stack);
	}
	coati_strbuf_adds(sql, ") AND context IN (");
	for (size_t i = 0; i < h->nr; i++) {
		put_list(sql, i);
		coati_strbuf_u64(sql, h->v[i].p.context);
	}
	coati_strbuf_adds(sql, ")");
}

static int ask(struct server *s, const struct strbuf *sql, struct strbuf *ret,
	       struct coati_error *err)
{
	return sql->failed ? coati_fail(err, sql->failed, "a question to %.80s: %m", s->place.url)
			   : coati_server_select(s, sql->text, ret, err);
}

static void mark_row(struct shipment *h, uint64_t stack, uint32_t time_s, uint64_t context)
{
	for (size_t i = 0; i < h->nr; i++) {
		struct shipment_parcel *q = &h->v[i];

		if (q->p.rows && q->p.time_s == time_s && q->p.context == context &&
		    q->p.stack == stack)
			q->has_rows = true;
	}
}

static int ask_rows(struct shipment *h, struct server *s, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX), out = STRBUF_INIT(SQL_MAX);
	struct cursor c;
	int r;

	coati_strbuf_adds(&sql, "SELECT stack, toUInt32(time), context FROM ");
	coati_server_table(s, SCHEMA_ROWS, &sql);
	coati_strbuf_adds(&sql, " WHERE ");
	put_times(h, &sql);
	put_row_keys(h, &sql);
	r = ask(s, &sql, &out, err);
	c = cursor_over(out.text, out.len);
	while (r == 0 && cursor_left(&c)) {
		uint64_t stack = cursor_u64(&c);
		uint32_t time_s = cursor_u32(&c);
		uint64_t context = cursor_u64(&c);

		if (c.bad)
			r = coati_fail(err, -EBADMSG, "%.80s: the answer is cut", s->place.url);
		else
			mark_row(h, stack, time_s, context);
	}
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

static void mark_sequence(struct shipment *h, enum schema_table table, const char *agent,
			  size_t len, uint64_t sequence)
{
	for (size_t i = 0; i < h->nr; i++) {
		struct shipment_parcel *q = &h->v[i];

		if (q->p.sequence != sequence || strlen(q->p.agent) != len ||
		    memcmp(q->p.agent, agent, len) != 0)
			continue;
		if (table == SCHEMA_TASKS)
			q->has_tasks = true;
		else
			q->has_window = true;
	}
}

static void put_agents(const struct shipment *h, struct strbuf *sql)
{
	coati_strbuf_adds(sql, " AND agent IN (");
	for (size_t i = 0; i < h->nr; i++) {
		put_list(sql, i);
		coati_sql_text(sql, h->v[i].p.agent);
	}
	coati_strbuf_adds(sql, ") AND sequence IN (");
	for (size_t i = 0; i < h->nr; i++) {
		put_list(sql, i);
		coati_strbuf_u64(sql, h->v[i].p.sequence);
	}
	coati_strbuf_adds(sql, ")");
}

/* Tables that have agent and sequence themselves. */
static int ask_sequences(struct shipment *h, struct server *s, enum schema_table table,
			 struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX), out = STRBUF_INIT(SQL_MAX);
	struct cursor c;
	int r;

	coati_strbuf_adds(&sql, "SELECT DISTINCT agent, sequence FROM ");
	coati_server_table(s, table, &sql);
	coati_strbuf_adds(&sql, " WHERE ");
	put_times(h, &sql);
	put_agents(h, &sql);
	r = ask(s, &sql, &out, err);
	c = cursor_over(out.text, out.len);
	while (r == 0 && cursor_left(&c)) {
		size_t len;
		const char *agent = row_read_text(&c, &len);
		uint64_t sequence = cursor_u64(&c);

		if (c.bad)
			r = coati_fail(err, -EBADMSG, "%.80s: the answer is cut", s->place.url);
		else
			mark_sequence(h, table, agent, len, sequence);
	}
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

static int ask_all(struct shipment *h, struct server *s, struct coati_error *err)
{
	int r = check_running(h, s, err);

	if (r == 0)
		r = ask_rows(h, s, err);
	if (r == 0)
		r = ask_sequences(h, s, SCHEMA_TASKS, err);
	if (r == 0)
		r = ask_sequences(h, s, SCHEMA_WINDOWS, err);
	/* of one whose rows were dropped here the server has them after all */
	for (size_t i = 0; r == 0 && i < h->nr; i++)
		if (h->v[i].has_rows && !h->v[i].p.stored)
			r = coati_parcel_keep(&h->v[i].p);
	return r;
}

/* ---- sending ---- */

static bool is_there(const struct shipment_parcel *q, enum schema_table table)
{
	switch (table) {
	case SCHEMA_ROWS:
		return q->has_rows;
	case SCHEMA_TASKS:
		return q->has_tasks;
	case SCHEMA_WINDOWS:
		return q->has_window;
	case SCHEMA_STACKS:
	case SCHEMA_CONTEXTS: /* rows are inserted when what they refer to is there */
		return q->has_rows || q->has_window;
	default:
		return false; /* the same row twice is one row */
	}
}

static int insert(struct shipment *h, struct server *s, enum schema_table table,
		  struct coati_error *err)
{
	struct strbuf rows = STRBUF_INIT((size_t)PARCEL_TABLE_MAX + SHIPMENT_BYTES);
	int r = 0;

	for (size_t i = 0; i < h->nr; i++)
		if (!is_there(&h->v[i], table))
			coati_strbuf_add(&rows, h->v[i].p.tables[table].text,
					 h->v[i].p.tables[table].len);
	if (rows.failed)
		r = coati_fail(err, rows.failed, "no memory for an insert");
	else if (rows.len) {
		snprintf(s->query_id, sizeof(s->query_id), "%s%d-%llu", h->tag, (int)getpid(),
			 (unsigned long long)++*h->nr_inserts);
		r = coati_server_insert(s, table, &rows, err);
		h->sent_bytes += rows.len;
	}
	coati_strbuf_fini(&rows);
	return r;
}

int coati_shipment_send(struct shipment *h, struct server *s, struct coati_error *err)
{
	int r = coati_server_meet(s, err);

	make_tag(h);
	if (r == 0 && is_in_doubt(h))
		r = ask_all(h, s, err);
	for (size_t i = 0; i < h->nr; i++)
		h->v[i].tried = true;
	for (int i = 0; r == 0 && i < SCHEMA_SENT; i++)
		r = insert(h, s, (enum schema_table)i, err);
	return r;
}
