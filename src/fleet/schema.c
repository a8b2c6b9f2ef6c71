/* SPDX-License-Identifier: MIT */
/* see schema.h */
#include "fleet/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/crc32.h"
#include "base/parse.h"

#define COLUMNS_MAX 40

/* What newer servers can do better with a column. */
enum better {
	BETTER_NOT = 0,
	BETTER_FEW,   /* few distinct texts: LowCardinality */
	BETTER_DELTA, /* rises slowly: Delta */
	BETTER_SMALL, /* mostly small or the same numbers: T64 */
	BETTER_PACK,  /* long: ZSTD */
};

struct column {
	const char *name, *type;
	enum better better;
};

struct table {
	const char *name;
	const char *engine; /* MergeTree or ReplacingMergeTree */
	const char *partition, *order;
	const char *ttl; /* a date that grows with the rows */
	struct column columns[COLUMNS_MAX];
};

#define ROW_COLUMNS                                                                              \
	{ "service", "String", BETTER_FEW }, { "type", "String", BETTER_FEW },                   \
		{ "stack", "UInt64", BETTER_PACK }, { "time", "DateTime('UTC')", BETTER_DELTA }, \
		{ "context", "UInt64", BETTER_PACK }, { "samples", "UInt64", BETTER_SMALL },     \
	{                                                                                        \
		"weight", "UInt64", BETTER_SMALL                                                 \
	}
#define ROW_ORDER "service, type, stack, time"
#define BY_DAY	  "toYYYYMMDD(time)"

static const struct table tables[SCHEMA_TABLES] = {
	[SCHEMA_ROWS] = { "coati_rows", "MergeTree", BY_DAY, ROW_ORDER, "time", { ROW_COLUMNS } },
	[SCHEMA_HOURS] = { "coati_rows_hour",
			   "MergeTree",
			   BY_DAY,
			   ROW_ORDER,
			   "time",
			   { ROW_COLUMNS } },
	[SCHEMA_HOURS_NEW] = { "coati_rows_hour_new",
			       "MergeTree",
			       BY_DAY,
			       ROW_ORDER,
			       NULL,
			       { ROW_COLUMNS } },
	[SCHEMA_STACKS] = { "coati_stacks",
			    "ReplacingMergeTree",
			    "toYYYYMM(seen)",
			    "service, stack, other_half",
			    "seen",
			    { { "service", "String", BETTER_FEW },
			      { "stack", "UInt64" },
			      { "other_half", "UInt64" },
			      { "seen", "DateTime('UTC')" },
			      { "flags", "UInt32" },
			      { "functions", "Array(String)", BETTER_PACK },
			      { "images", "Array(String)", BETTER_PACK },
			      { "paths", "Array(String)", BETTER_PACK },
			      { "build_ids", "Array(String)", BETTER_PACK },
			      { "addresses", "Array(UInt64)", BETTER_PACK },
			      { "files", "Array(String)", BETTER_PACK },
			      { "lines", "Array(UInt32)", BETTER_PACK },
			      { "kinds", "Array(UInt8)", BETTER_PACK },
			      { "marks", "Array(UInt8)", BETTER_PACK } } },
	[SCHEMA_CONTEXTS] = { "coati_contexts",
			      "ReplacingMergeTree",
			      "toYYYYMM(seen)",
			      "context",
			      "seen",
			      { { "context", "UInt64" },
				{ "seen", "DateTime('UTC')" },
				{ "service", "String", BETTER_FEW },
				{ "host", "String", BETTER_FEW },
				{ "agent", "String", BETTER_FEW },
				{ "pid", "Int32" },
				{ "process", "String", BETTER_FEW },
				{ "thread", "String", BETTER_FEW },
				{ "keys", "Array(String)", BETTER_PACK },
				{ "values", "Array(String)", BETTER_PACK } } },
	[SCHEMA_TASKS] = { "coati_tasks",
			   "MergeTree",
			   BY_DAY,
			   "service, task, time",
			   "time",
			   { { "service", "String", BETTER_FEW },
			     { "task", "String", BETTER_FEW },
			     { "time", "DateTime('UTC')", BETTER_DELTA },
			     { "agent", "String", BETTER_FEW },
			     { "host", "String", BETTER_FEW },
			     { "sequence", "UInt64", BETTER_DELTA },
			     { "count", "UInt64", BETTER_SMALL },
			     { "sum_ns", "UInt64", BETTER_SMALL },
			     { "max_ns", "UInt64", BETTER_SMALL },
			     { "buckets", "Array(UInt32)", BETTER_PACK },
			     { "counts", "Array(UInt32)", BETTER_PACK } } },
	[SCHEMA_KEPT] = { "coati_kept",
			  "ReplacingMergeTree",
			  "toYYYYMM(time)",
			  "host, time, path",
			  "time",
			  { { "host", "String", BETTER_FEW },
			    { "agent", "String", BETTER_FEW },
			    { "time", "DateTime('UTC')" },
			    { "reason", "String" },
			    { "path", "String" },
			    { "bytes", "UInt64" } } },
	[SCHEMA_WINDOWS] = { "coati_windows",
			     "MergeTree",
			     BY_DAY,
			     "agent, sequence",
			     "time",
			     { { "agent", "String", BETTER_FEW },
			       { "sequence", "UInt64", BETTER_DELTA },
			       { "host", "String", BETTER_FEW },
			       { "time", "DateTime('UTC')", BETTER_DELTA },
			       { "duration_ms", "UInt32", BETTER_SMALL },
			       { "windows", "UInt32", BETTER_SMALL },
			       { "stored", "UInt8", BETTER_SMALL },
			       { "skew_s", "Int32", BETTER_SMALL },
			       { "rows", "UInt32", BETTER_SMALL },
			       { "folded", "UInt32", BETTER_SMALL },
			       { "samples", "UInt64", BETTER_SMALL },
			       { "intervals", "UInt64", BETTER_SMALL },
			       { "lost", "UInt64", BETTER_SMALL },
			       { "throttled", "UInt64", BETTER_SMALL },
			       { "truncated", "UInt64", BETTER_SMALL },
			       { "refused", "UInt64", BETTER_SMALL },
			       { "dropped", "UInt64", BETTER_SMALL },
			       { "dropped_weight", "UInt64", BETTER_SMALL },
			       { "own_cpu_ns", "UInt64", BETTER_SMALL },
			       { "own_kernel_ns", "UInt64", BETTER_SMALL },
			       { "own_memory_bytes", "UInt64", BETTER_SMALL },
			       { "rate_hz", "Float64" },
			       { "max_frames", "UInt32", BETTER_SMALL },
			       { "cpus", "UInt32", BETTER_SMALL },
			       { "clock_stepped", "UInt8", BETTER_SMALL },
			       { "is_cut", "UInt8", BETTER_SMALL },
			       { "services", "Array(String)", BETTER_PACK },
			       { "service_kinds", "Array(UInt8)", BETTER_PACK },
			       { "service_cpu_ns", "Array(UInt64)", BETTER_PACK },
			       { "service_delay_ns", "Array(UInt64)", BETTER_PACK },
			       { "types", "Array(String)", BETTER_PACK },
			       { "units", "Array(String)", BETTER_PACK },
			       { "off_cpu", "Array(UInt8)", BETTER_PACK },
			       { "type_weights", "Array(UInt64)", BETTER_PACK },
			       { "type_samples", "Array(UInt64)", BETTER_PACK } } },
};

uint32_t coati_schema_version(const char *text)
{
	size_t major_len = strcspn(text, "."), minor_len;
	uint64_t major = 0, minor = 0;
	char word[8];

	if (!text[major_len] || major_len >= sizeof(word))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)major_len, text);
	if (coati_parse_u64(word, 1, 9999, &major) < 0)
		return 0;
	text += major_len + 1;
	minor_len = strspn(text, "0123456789");
	if (!minor_len || minor_len >= sizeof(word))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)minor_len, text);
	/* the oldest ones counted on in their second number: 1.1.54390 */
	if (coati_parse_u64(word, 0, UINT32_MAX, &minor) < 0)
		return 0;
	return (uint32_t)(major * 1000 + (minor < 1000 ? minor : 999));
}

const char *coati_schema_name(enum schema_table table)
{
	return tables[table].name;
}

const char *coati_schema_column(enum schema_table table, uint32_t i)
{
	return i < COLUMNS_MAX ? tables[table].columns[i].name : NULL;
}

const char *coati_schema_type(enum schema_table table, uint32_t i)
{
	return i < COLUMNS_MAX ? tables[table].columns[i].type : NULL;
}

uint32_t coati_schema_sum(void)
{
	uint32_t sum = 0;

	for (int t = 0; t < SCHEMA_SENT; t++) {
		const char *name;

		for (uint32_t i = 0; (name = coati_schema_column((enum schema_table)t, i)); i++) {
			const char *type = coati_schema_type((enum schema_table)t, i);

			sum = coati_crc32(sum, name, strlen(name) + 1);
			sum = coati_crc32(sum, type, strlen(type) + 1);
		}
	}
	return sum;
}

void coati_schema_columns(enum schema_table table, struct strbuf *s)
{
	const char *name;

	for (uint32_t i = 0; (name = coati_schema_column(table, i)); i++)
		coati_strbuf_printf(s, "%s%s", i ? ", " : "", name);
}

static void put_column(const struct schema_opts *o, const struct column *c, struct strbuf *s)
{
	static const char *const codecs[] = { [BETTER_DELTA] = " CODEC(Delta, ZSTD)",
					      [BETTER_SMALL] = " CODEC(T64, ZSTD)",
					      [BETTER_PACK] = " CODEC(ZSTD)" };
	bool has_codecs = o->version >= SCHEMA_CODECS;

	if (c->better == BETTER_FEW && o->version >= SCHEMA_LOW_CARDINALITY) {
		coati_strbuf_printf(s, "%s LowCardinality(%s)", c->name, c->type);
		return;
	}
	coati_strbuf_printf(s, "%s %s%s", c->name, c->type,
			    has_codecs && codecs[c->better] ? codecs[c->better] : "");
}

static void put_on_cluster(const struct schema_opts *o, struct strbuf *s)
{
	if (o->cluster)
		coati_strbuf_printf(s, " ON CLUSTER %s", o->cluster);
}

static void put_engine(const struct schema_opts *o, const struct table *t, struct strbuf *s)
{
	if (o->cluster && o->replicated)
		coati_strbuf_printf(s,
				    "ENGINE = Replicated%s('/clickhouse/tables/{shard}/%s/%s', "
				    "'{replica}')",
				    t->engine, o->database, t->name);
	else
		coati_strbuf_printf(s, "ENGINE = %s", t->engine);
	coati_strbuf_printf(s, "\nPARTITION BY %s\nORDER BY (%s)", t->partition, t->order);
	if (t->ttl && o->retention_days && o->version >= SCHEMA_TTL)
		coati_strbuf_printf(s, "\nTTL %s + INTERVAL %u DAY", t->ttl,
				    /* stacks are sent again each month: they outlive their rows */
				    o->retention_days + (strcmp(t->ttl, "seen") ? 0 : 31));
}

static void put_table(const struct schema_opts *o, const struct table *t, struct strbuf *s)
{
	coati_strbuf_printf(s, "CREATE TABLE IF NOT EXISTS %s.%s", o->database, t->name);
	put_on_cluster(o, s);
	coati_strbuf_adds(s, " (");
	for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].name; i++) {
		coati_strbuf_adds(s, i ? ",\n\t" : "\n\t");
		put_column(o, &t->columns[i], s);
	}
	coati_strbuf_adds(s, "\n) ");
	put_engine(o, t, s);
}

static void put_distributed(const struct schema_opts *o, const struct table *t, struct strbuf *s)
{
	coati_strbuf_printf(s, "CREATE TABLE IF NOT EXISTS %s.%s_all", o->database, t->name);
	put_on_cluster(o, s);
	coati_strbuf_printf(s, " AS %s.%s\nENGINE = Distributed(%s, %s, %s, rand())", o->database,
			    t->name, o->cluster, o->database, t->name);
}

bool coati_schema_statement(const struct schema_opts *o, uint32_t i, struct strbuf *s)
{
	if (i == 0) {
		coati_strbuf_printf(s, "CREATE DATABASE IF NOT EXISTS %s", o->database);
		put_on_cluster(o, s);
		return true;
	}
	i--;
	if (i < SCHEMA_TABLES) {
		put_table(o, &tables[i], s);
		return true;
	}
	i -= SCHEMA_TABLES;
	if (!o->cluster || i >= SCHEMA_HOURS_NEW)
		return false;
	put_distributed(o, &tables[i], s);
	return true;
}

bool coati_schema_add_column(const struct schema_opts *o, enum schema_table table, uint32_t i,
			     struct strbuf *s)
{
	if (!coati_schema_column(table, i))
		return false;
	coati_strbuf_printf(s, "ALTER TABLE %s.%s", o->database, tables[table].name);
	put_on_cluster(o, s);
	coati_strbuf_adds(s, " ADD COLUMN ");
	put_column(o, &tables[table].columns[i], s);
	if (i)
		coati_strbuf_printf(s, " AFTER %s", tables[table].columns[i - 1].name);
	return true;
}
