/* SPDX-License-Identifier: MIT */
/*
 * The tables in ClickHouse: their columns, how they are created on servers of different age, and
 * which statements bring an older set of tables up to date. docs/fleet.md describes each column.
 *
 * Columns are only ever added. Writers name the columns that they send, so that an agent that is
 * older than the tables goes on working.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* In the order in which a batch is inserted: what others refer to comes first, and the window,
 * which says that everything is there, comes last. */
enum schema_table {
	SCHEMA_STACKS = 0,
	SCHEMA_CONTEXTS,
	SCHEMA_ROWS,
	SCHEMA_TASKS,
	SCHEMA_KEPT,
	SCHEMA_WINDOWS,
	SCHEMA_SENT, /* number of tables that agents write to */
	SCHEMA_HOURS = SCHEMA_SENT,
	SCHEMA_HOURS_NEW, /* where the next hours are made before they replace the old ones */
	SCHEMA_TABLES,
};

struct schema_opts {
	const char *database;
	/* of the server, major * 1000 + minor: 18016 */
	uint32_t version;
	const char *cluster; /* NULL: a single server */
	bool replicated;     /* with cluster: ReplicatedMergeTree by the macros of the servers */
	uint32_t retention_days; /* 0: for ever */
};

/* Features of servers, by version. */
#define SCHEMA_OLDEST	       1001
#define SCHEMA_LOW_CARDINALITY 19006
#define SCHEMA_CODECS	       19006
#define SCHEMA_TTL	       19006
#define SCHEMA_PARALLEL_PARSE  20003
#define SCHEMA_ASYNC_INSERT    21011

/* "18.16.1" to 18016; 0: not a version. */
uint32_t coati_schema_version(const char *text);
/* "coati_rows" */
const char *coati_schema_name(enum schema_table table);
/* The columns that agents send, as "a, b, c", in the order of their RowBinary. */
void coati_schema_columns(enum schema_table table, struct strbuf *s);
/* Statement number @i that creates the database and the tables, each complete in itself; false past
 * the last. What is there already is left alone. */
bool coati_schema_statement(const struct schema_opts *o, uint32_t i, struct strbuf *s);
/* The statement that adds column number @i to @table; false: past the last. */
bool coati_schema_add_column(const struct schema_opts *o, enum schema_table table, uint32_t i,
			     struct strbuf *s);
/* The name of column number @i; NULL past the last. */
const char *coati_schema_column(enum schema_table table, uint32_t i);
/* And its type, as old servers have it; NULL past the last. */
const char *coati_schema_type(enum schema_table table, uint32_t i);
/* A checksum of all columns that agents send: rows of two agents fit into one insert when it is the
 * same. */
uint32_t coati_schema_sum(void);
