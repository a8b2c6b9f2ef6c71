/* SPDX-License-Identifier: MIT */
/* The servers of an agent: its sinks for them, and the work on the database that is done instead of
 * sampling. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/agent/session.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "fleet/clickhouse.h"
#include "fleet/metrics.h"
#include "fleet/outlet.h"
#include "fleet/upkeep.h"

#define SPOOL	       "/var/lib/coati/spool"
#define PRINT_MAX      (1u << 20)
#define NEWEST_VERSION 24008 /* of a server that is not asked */

const char *coati_agent_fleet_check(const struct agent_args *a)
{
	int works = a->init_schema + a->print_schema + a->roll_up;

	if (works && a->relay)
		return "--relay excludes --init-schema, --print-schema and --roll-up";
	if (works > 1)
		return "--init-schema, --print-schema and --roll-up exclude each other";
	if (works && !a->clickhouse)
		return "--init-schema, --print-schema and --roll-up need --clickhouse URL";
	if ((a->cluster || a->replicated) && !a->init_schema && !a->print_schema)
		return "--cluster and --replicated need --init-schema or --print-schema";
	if (a->replicated && !a->cluster)
		return "--replicated needs --cluster NAME";
	if (a->retention_days && !works)
		return "--retention needs --init-schema, --print-schema or --roll-up; for --store "
		       "use --keep-age and --keep-bytes";
	if (a->metrics_anywhere && !a->metrics)
		return "--metrics-anywhere needs --metrics ADDRESS";
	if (a->cluster && strspn(a->cluster, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789_") != strlen(a->cluster))
		return "--cluster: the name may have letters, digits and _ only";
	return NULL;
}

bool coati_agent_fleet_wanted(const struct agent_args *a)
{
	return a->init_schema || a->print_schema || a->roll_up;
}

/* ---- the database ---- */

static int print_schema(const struct agent_args *a, struct server *s, struct schema_opts *o)
{
	struct strbuf text = STRBUF_INIT(PRINT_MAX);
	struct coati_error err = { 0 };

	/* without a server it is for a new one */
	if (coati_server_meet(s, &err) < 0)
		coati_note("%s; printing the schema of a new server", err.text);
	o->version = s->version ? s->version : NEWEST_VERSION;
	coati_upkeep_print(o, &text);
	fputs(text.text, stdout);
	coati_strbuf_fini(&text);
	return 0;
}

static int init_schema(const struct agent_args *a, struct server *s, struct schema_opts *o,
		       struct coati_error *err)
{
	uint32_t changes = 0;
	int r = coati_server_meet(s, err);

	o->version = s->version;
	if (r == 0)
		r = coati_upkeep_schema(s, o, &changes, err);
	if (r < 0)
		return r;
	coati_note("%s/%s: ClickHouse %u.%u, %u changes to its tables", s->place.url,
		   s->place.database, s->version / 1000, s->version % 1000, changes);
	if (a->retention_days && o->version < SCHEMA_TTL)
		coati_note("this server has no TTL: run coati agent --roll-up --retention %u once "
			   "a day",
			   a->retention_days);
	return 0;
}

static int roll_up(const struct agent_args *a, struct server *s, struct coati_error *err)
{
	uint32_t days = 0, dropped = 0;
	int r = coati_server_meet(s, err);

	if (r == 0)
		r = coati_upkeep_hours(s, &days, err);
	if (r == 0 && a->retention_days)
		r = coati_upkeep_retention(s, a->retention_days, &dropped, err);
	if (r == 0)
		coati_note("%u days summed up by hour, %u partitions dropped", days, dropped);
	return r;
}

int coati_agent_fleet_run(const struct agent_args *a)
{
	struct coati_error err = { 0 };
	struct server s = { 0 };
	struct schema_opts o = { .cluster = a->cluster,
				 .replicated = a->replicated,
				 .retention_days = a->retention_days };
	int r = coati_server_open(a->clickhouse, a->secrets, &s, &err);

	o.database = s.place.database;
	if (r == 0 && a->print_schema)
		r = print_schema(a, &s, &o);
	else if (r == 0 && a->init_schema)
		r = init_schema(a, &s, &o, &err);
	else if (r == 0)
		r = roll_up(a, &s, &err);
	coati_server_close(&s);
	if (r < 0)
		coati_say("%s", err.text);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- sinks ---- */

static int next_slot(struct agent_sinks *s, struct coati_error *err)
{
	return s->nr < AGENT_SINKS_MAX
		       ? 0
		       : coati_fail(err, -E2BIG, "more than %d destinations for windows",
				    AGENT_SINKS_MAX);
}

static int open_clickhouse(const struct agent_args *a, struct agent_sinks *s,
			   struct coati_error *err)
{
	struct clickhouse_opts o = { .url = a->clickhouse,
				     .secrets = a->secrets,
				     .spool = a->spool ? a->spool : SPOOL,
				     .spool_bytes = a->spool_bytes,
				     .interval_ns = a->send_ns,
				     .max_contexts = a->max_contexts };
	int r = next_slot(s, err);

	if (r == 0)
		r = coati_clickhouse_new(&o, &s->v[s->nr], err);
	s->nr += r == 0;
	return r;
}

static int open_outlet(const struct agent_args *a, enum outlet_kind kind, struct agent_sinks *s,
		       struct coati_error *err)
{
	struct outlet_opts o = { .kind = kind,
				 .url = kind == OUTLET_OTLP ? a->otlp : a->push,
				 .secrets = a->secrets,
				 .interval_ns = a->send_ns };
	int r = next_slot(s, err);

	if (r == 0)
		r = coati_outlet_new(&o, &s->v[s->nr], err);
	s->nr += r == 0;
	return r;
}

static int open_metrics(const struct agent_args *a, struct agent_sinks *s, struct coati_error *err)
{
	struct metrics_opts o = { .listen = a->metrics, .anywhere = a->metrics_anywhere };
	struct metrics *m = NULL;
	int r = next_slot(s, err);

	if (r == 0)
		r = coati_metrics_new(&o, &m, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->nr; i++)
		coati_metrics_watch(m, &s->v[i]);
	s->v[s->nr++] = coati_metrics_sink(m);
	return 0;
}

int coati_agent_fleet_open(const struct agent_args *a, struct agent_sinks *s,
			   struct coati_error *err)
{
	int r = a->clickhouse ? open_clickhouse(a, s, err) : 0;

	if (r == 0 && a->otlp)
		r = open_outlet(a, OUTLET_OTLP, s, err);
	if (r == 0 && a->push)
		r = open_outlet(a, OUTLET_PUSH, s, err);
	/* the last: it shows the others */
	if (r == 0 && a->metrics)
		r = open_metrics(a, s, err);
	return r;
}
