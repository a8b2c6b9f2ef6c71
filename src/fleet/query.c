/* SPDX-License-Identifier: MIT */
/* see query.h */
#include "fleet/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/parse.h"
#include "fleet/rowbinary.h"

#define URL_MAX	   65536
#define REASON_MAX 4096
#define ANSWER_MAX ((size_t)2 << 30)
#define ONE_BLOCK                                                           \
	"&max_insert_block_size=1048576&min_insert_block_size_rows=1048576" \
	"&min_insert_block_size_bytes=268435456"

/* Error codes of ClickHouse that we act upon. */
#define CODE_UNKNOWN_TABLE     60
#define CODE_UNKNOWN_DATABASE  81
#define CODE_NO_COLUMN	       16
#define CODE_WRONG_PASSWORD    193
#define CODE_UNKNOWN_USER      192
#define CODE_REQUIRED_PASSWORD 194
#define CODE_ACCESS_DENIED     497
#define CODE_AUTHENTICATION    516
#define CODE_READONLY	       164

int coati_server_client(const char *secrets, const char *sink, struct server *ret,
			struct coati_error *err)
{
	int r = coati_secrets_read(secrets, sink, &ret->secrets, err);

	if (r == 0)
		r = coati_secrets_allow(&ret->secrets, ret->place.url, err);
	if (r == 0)
		r = coati_client_open(&ret->secrets, &ret->client, err);
	if (r < 0)
		coati_secrets_fini(&ret->secrets);
	return r;
}

int coati_server_open(const char *url, const char *secrets, struct server *ret,
		      struct coati_error *err)
{
	int r = coati_place_parse(url, &ret->place, err);

	return r < 0 ? r : coati_server_client(secrets, "clickhouse", ret, err);
}

void coati_server_close(struct server *s)
{
	coati_client_close(&s->client);
	coati_secrets_fini(&s->secrets);
}

/* ---- refusals ---- */

/* "Code: 60, e.displayText() = DB::Exception: Table ..." */
static uint32_t code_of(const char *text)
{
	const char *at = strstr(text, "Code: ");
	uint64_t code = 0;
	char word[12];

	if (!at)
		return 0;
	at += 6;
	snprintf(word, sizeof(word), "%.*s", (int)strspn(at, "0123456789"), at);
	return coati_parse_u64(word, 0, UINT32_MAX, &code) < 0 ? 0 : (uint32_t)code;
}

static int meaning_of(uint32_t status, uint32_t code)
{
	switch (code) {
	case CODE_UNKNOWN_TABLE:
	case CODE_UNKNOWN_DATABASE:
	case CODE_NO_COLUMN:
		return -ENOENT;
	case CODE_WRONG_PASSWORD:
	case CODE_UNKNOWN_USER:
	case CODE_REQUIRED_PASSWORD:
	case CODE_ACCESS_DENIED:
	case CODE_AUTHENTICATION:
	case CODE_READONLY:
		return -EACCES;
	default:
		break;
	}
	if (status == 401 || status == 403)
		return -EACCES;
	if (status == 400 || status == 413)
		return -EBADMSG;
	return -EBUSY;
}

static int refuse(const struct server *s, const struct client_answer *a, struct coati_error *err)
{
	int r = meaning_of(a->status, code_of(a->body.text));
	struct strbuf text = STRBUF_INIT(REASON_MAX);

	coati_strbuf_clean(&text, a->body.text, strcspn(a->body.text, "\r\n"));
	if (r == -ENOENT)
		coati_fail(err, r,
			   "%.80s/%s lacks a table or column; create it: coati agent "
			   "--init-schema --clickhouse URL (%.80s)",
			   s->place.url, s->place.database, text.text);
	else
		coati_fail(err, r, "%.80s answers %u: %.120s", s->place.url, a->status, text.text);
	coati_strbuf_fini(&text);
	return r;
}

/* ---- requests ---- */

static void note_clock(struct server *s, const struct client_answer *a)
{
	s->retry_s = a->retry_after_s;
	if (a->date_s)
		s->skew_s = (int64_t)a->date_s - (int64_t)time(NULL);
}

static int ask(struct server *s, struct client_ask *q, struct client_answer *a,
	       struct coati_error *err)
{
	int r;

	q->limit_ms = s->limit_ms;
	q->stop = s->stop;
	s->retry_s = 0;
	r = coati_client_ask(s->client, q, a, err);
	if (r < 0)
		return r;
	note_clock(s, a);
	return a->status == 200 ? 0 : refuse(s, a, err);
}

/* @params: more of the URL, "&key=value" each. */
static int post(struct server *s, const char *sql, const char *params, struct strbuf *ret,
		struct coati_error *err)
{
	struct strbuf url = STRBUF_INIT(URL_MAX);
	struct client_answer a = CLIENT_ANSWER_INIT(ANSWER_MAX);
	struct client_ask q = { .body = sql, .body_size = strlen(sql) };
	int r;

	coati_strbuf_printf(&url, "%s/?%s", s->place.url, params);
	q.url = url.text;
	r = url.failed ? coati_fail(err, url.failed, "the URL is too long") : ask(s, &q, &a, err);
	if (r == 0 && ret) {
		coati_strbuf_add(ret, a.body.text, a.body.len);
		r = ret->failed ? coati_fail(err, ret->failed, "%.80s: the answer is too long: %m",
					     s->place.url)
				: 0;
	}
	coati_strbuf_fini(&a.body);
	coati_strbuf_fini(&url);
	return r;
}

int coati_server_run(struct server *s, const char *sql, struct coati_error *err)
{
	return post(s, sql, "", NULL, err);
}

int coati_server_select(struct server *s, const char *sql, struct strbuf *ret,
			struct coati_error *err)
{
	struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	int r;

	coati_strbuf_printf(&text, "%s FORMAT RowBinary", sql);
	/* an error in the middle of an answer would look like rows: the server waits for the end */
	r = text.failed ? coati_fail(err, text.failed, "the query is too long")
			: post(s, text.text,
			       "wait_end_of_query=1&max_query_size=1073741824"
			       "&max_ast_elements=10000000&max_expanded_ast_elements=10000000",
			       ret, err);
	coati_strbuf_fini(&text);
	return r;
}

static int read_version(struct server *s, struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(4096);
	int r = post(s, "SELECT version()", "", &out, err);

	if (r == 0) {
		s->version = coati_schema_version(out.text);
		if (!s->version)
			r = coati_fail(err, -EBADMSG,
				       "%.80s does not answer as a ClickHouse server does",
				       s->place.url);
	}
	coati_strbuf_fini(&out);
	return r;
}

int coati_server_meet(struct server *s, struct coati_error *err)
{
	struct strbuf sql = STRBUF_INIT(4096), out = STRBUF_INIT(4096);
	int r = s->met ? 0 : read_version(s, err);

	if (s->met)
		return 0;
	if (r == 0) {
		coati_strbuf_printf(&sql,
				    "SELECT countIf(table = 'coati_rows_all' AND name = 'stack'), "
				    "countIf(table LIKE 'coati\\_rows%%' AND name = 'stack' AND "
				    "type != 'UInt64') FROM system.columns WHERE database = '%s'",
				    s->place.database);
		r = coati_server_select(s, sql.text, &out, err);
	}
	if (r == 0) {
		struct cursor c = cursor_over(out.text, out.len);

		s->has_all = cursor_u64(&c) != 0;
		if (cursor_u64(&c) && !c.bad)
			r = coati_fail(err, -ENOENT,
				       "%.80s/%s has tables of an early version, with other ids of "
				       "stacks; drop them, or use another database",
				       s->place.url, s->place.database);
		else
			s->met = true;
	}
	coati_strbuf_fini(&sql);
	coati_strbuf_fini(&out);
	return r;
}

int coati_server_insert(struct server *s, enum schema_table table, const struct strbuf *rows,
			struct coati_error *err)
{
	struct strbuf url = STRBUF_INIT(URL_MAX), sql = STRBUF_INIT(URL_MAX);
	struct client_answer a = CLIENT_ANSWER_INIT(1u << 20);
	struct client_ask q = { .body = rows->text, .body_size = rows->len, .gzip = true };
	int r;

	coati_strbuf_printf(&sql, "INSERT INTO %s.%s (", s->place.database,
			    coati_schema_name(table));
	coati_schema_columns(table, &sql);
	coati_strbuf_adds(&sql, ") FORMAT RowBinary");
	coati_strbuf_printf(&url, "%s/?query=", s->place.url);
	coati_client_escape(&url, sql.text);
	coati_strbuf_adds(&url, ONE_BLOCK);
	if (s->version >= SCHEMA_PARALLEL_PARSE)
		coati_strbuf_adds(&url, "&input_format_parallel_parsing=0");
	if (s->version >= SCHEMA_ASYNC_INSERT)
		coati_strbuf_adds(&url, "&async_insert=0");
	if (*s->query_id) {
		coati_strbuf_adds(&url, "&query_id=");
		coati_client_escape(&url, s->query_id);
	}
	q.url = url.text;
	r = url.failed || sql.failed ? coati_fail(err, -ENOMEM, "no memory for an insert")
				     : ask(s, &q, &a, err);
	coati_strbuf_fini(&a.body);
	coati_strbuf_fini(&url);
	coati_strbuf_fini(&sql);
	return r;
}

void coati_server_table(const struct server *s, enum schema_table table, struct strbuf *sql)
{
	coati_strbuf_printf(sql, "%s.%s%s", s->place.database, coati_schema_name(table),
			    s->has_all ? "_all" : "");
}

void coati_sql_bytes(struct strbuf *sql, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	coati_strbuf_addc(sql, '\'');
	for (size_t i = 0; i < size; i++)
		if (p[i] >= ' ' && p[i] < 0x7f && p[i] != '\'' && p[i] != '\\')
			coati_strbuf_addc(sql, (char)p[i]);
		else
			coati_strbuf_printf(sql, "\\x%02X", p[i]);
	coati_strbuf_addc(sql, '\'');
}

void coati_sql_text(struct strbuf *sql, const char *text)
{
	coati_sql_bytes(sql, text, strlen(text));
}
