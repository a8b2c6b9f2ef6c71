/* SPDX-License-Identifier: MIT */
/*
 * Statements to a ClickHouse server over HTTP: inserts of RowBinary, selects of RowBinary, and what
 * the server's refusals mean.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"
#include "fleet/client.h"
#include "fleet/place.h"
#include "fleet/schema.h"
#include "fleet/secrets.h"

struct server {
	struct place place;
	struct secrets secrets;
	struct client *client;
	uint32_t version;   /* 0: not asked yet */
	bool met;	    /* version and has_all are known */
	bool has_all;	    /* there are Distributed tables: coati_rows_all */
	int64_t skew_s;	    /* its clock minus ours, of the last answer */
	uint32_t retry_s;   /* how long it wants to be left alone; 0: it does not say */
	uint32_t limit_ms;  /* of a request; 0: 30 s */
	char query_id[128]; /* of inserts; "": the server makes one */
	const _Atomic uint32_t *stop;
};

/* -EINVAL, -EPERM: the URL or the secrets are not usable. No request is made. */
int coati_server_open(const char *url, const char *secrets, struct server *ret,
		      struct coati_error *err);
/* The part of it after the place is known: the secrets of @sink, and a client with them. */
int coati_server_client(const char *secrets, const char *sink, struct server *ret,
			struct coati_error *err);
void coati_server_close(struct server *s);
/* Ask for its version and its tables, once. */
int coati_server_meet(struct server *s, struct coati_error *err);
/* A statement without a result. */
int coati_server_run(struct server *s, const char *sql, struct coati_error *err);
/* A query; RowBinary behind what @ret holds. "FORMAT RowBinary" is added. */
int coati_server_select(struct server *s, const char *sql, struct strbuf *ret,
			struct coati_error *err);
/* One insert, which becomes one block: all of it is there or nothing. @rows is RowBinary with the
 * columns of coati_schema_columns(). */
int coati_server_insert(struct server *s, enum schema_table table, const struct strbuf *rows,
			struct coati_error *err);
/* The table to read from: the Distributed one where there are such. */
void coati_server_table(const struct server *s, enum schema_table table, struct strbuf *sql);

/* Text and bytes as literals of SQL. */
void coati_sql_text(struct strbuf *sql, const char *text);
void coati_sql_bytes(struct strbuf *sql, const void *bytes, size_t size);

/* What coati_server_*() return beside the codes of the client:
 *	-EBUSY		try later: 429, 5xx
 *	-EACCES		user, password or rights
 *	-ENOENT		the database or a table is not there
 *	-EBADMSG	the server cannot read what we sent; trying again does not help
 */
