/* SPDX-License-Identifier: MIT */
/* A report as one line of JSON, schema coati.stat.v1. What is not known is null, never left out. */
#include "cli/stat/report.h"

#include "base/json.h"
#include "cli/stat/ratio.h"
#include "event/child.h"
#include "event/event.h"

static void key_u64_or_null(struct json *j, const char *key, uint64_t value, bool known)
{
	coati_json_key(j, key);
	if (known)
		coati_json_u64(j, value);
	else
		coati_json_null(j);
}

static void write_head(struct json *j, const struct stat_report *r)
{
	const struct stat_tally *t = r->tally;

	coati_json_kstr(j, "schema", "coati.stat.v1");
	coati_json_key(j, "command");
	coati_json_array(j);
	for (char **word = r->args->command; word && *word; word++)
		coati_json_str(j, *word);
	coati_json_end(j);
	coati_json_ku64(j, "wall_ns", t->end_ns - t->start_ns);
	key_u64_or_null(j, "user_ns", t->user_ns, t->has_usage);
	key_u64_or_null(j, "sys_ns", t->sys_ns, t->has_usage);
	key_u64_or_null(j, "exit", r->status ? (uint64_t)coati_child_exit_code(r->status) : 0,
			r->status);
	key_u64_or_null(j, "peak_rss_bytes", r->status ? r->status->peak_rss_bytes : 0, r->status);
	coati_json_ku64(j, "run", r->run);
	if (r->interval) {
		coati_json_ku64(j, "interval", r->interval);
		coati_json_ku64(j, "start_ns", t->start_ns);
		coati_json_ku64(j, "end_ns", t->end_ns);
	}
}

static void write_extras(struct json *j, const struct stat_report *r, uint32_t i)
{
	const struct stat_cell *cell = &r->tally->cells[i];
	const struct stat_event *e = &r->meter->events[cell->event];
	struct stat_ratio ratio;
	char dropped[256];

	coati_json_kstr(j, "unit", coati_stat_unit(e));
	if (e->desc->scale != 1 && cell->counted)
		coati_json_kdouble(j, "value", (double)cell->count * e->desc->scale);
	if (cell->scaled && cell->counted)
		coati_json_ku64(j, "raw", cell->raw);
	if (e->desc->group >= 0)
		coati_json_ki64(j, "group", e->desc->group);
	if (cell->tid >= 0)
		coati_json_kstr(j, "comm", r->meter->scopes[i / r->meter->nr_events].comm);
	if (cell->lost)
		coati_json_ku64(j, "lost", cell->lost);
	if (e->dropped)
		coati_json_kstr(j, "dropped",
				coati_dropped_format(e->dropped, dropped, sizeof(dropped)));
	if (coati_stat_ratio(r->meter, r->tally, i, &ratio)) {
		coati_json_kdouble(j, "ratio", ratio.value);
		coati_json_kstr(j, "ratio_unit", ratio.unit);
	}
	if (e->error)
		coati_json_kstr(j, "error", e->error);
}

static void write_cell(struct json *j, const struct stat_report *r, uint32_t i)
{
	const struct stat_cell *cell = &r->tally->cells[i];
	char scope[32];

	coati_json_object(j);
	coati_json_kstr(j, "event", r->meter->events[cell->event].name);
	key_u64_or_null(j, "count", cell->count, cell->counted);
	coati_json_ku64(j, "enabled_ns", cell->enabled_ns);
	coati_json_ku64(j, "running_ns", cell->running_ns);
	coati_json_kbool(j, "scaled", cell->scaled && r->args->scale);
	coati_json_kstr(j, "scope", coati_stat_scope(cell, scope, sizeof(scope)));
	write_extras(j, r, i);
	coati_json_end(j);
}

static void write_mean(struct json *j, const struct stat_mean *m)
{
	coati_json_kdouble(j, "mean", m->mean);
	coati_json_kdouble(j, "deviation", coati_mean_deviation(m));
	coati_json_kdouble(j, "spread_percent", coati_mean_relative(m) * 100);
	coati_json_kdouble(j, "min", m->min);
	coati_json_kdouble(j, "max", m->max);
}

/* Behind the last of several runs: the mean over all of them. */
static void write_spread(struct json *j, const struct stat_report *r)
{
	const struct stat_spread *s = r->spread;
	char scope[32];

	coati_json_key(j, "repeats");
	coati_json_object(j);
	coati_json_ku64(j, "runs", s->nr_runs);
	coati_json_key(j, "wall_ns");
	coati_json_object(j);
	write_mean(j, &s->wall);
	coati_json_end(j);
	coati_json_key(j, "events");
	coati_json_array(j);
	for (uint32_t i = 0; i < s->nr_cells && i < r->tally->nr_cells; i++) {
		const struct stat_cell *cell = &r->tally->cells[i];

		if (r->meter->events[cell->event].hidden || !s->cells[i].nr)
			continue;
		coati_json_object(j);
		coati_json_kstr(j, "event", r->meter->events[cell->event].name);
		coati_json_kstr(j, "scope", coati_stat_scope(cell, scope, sizeof(scope)));
		write_mean(j, &s->cells[i]);
		coati_json_end(j);
	}
	coati_json_end(j);
	coati_json_end(j);
}

void coati_stat_json(struct output *out, const struct stat_report *r)
{
	struct json j = json_to(&out->text);

	coati_json_object(&j);
	write_head(&j, r);
	coati_json_key(&j, "events");
	coati_json_array(&j);
	for (uint32_t i = 0; i < r->tally->nr_cells; i++) {
		if (!r->meter->events[r->tally->cells[i].event].hidden)
			write_cell(&j, r, i);
	}
	coati_json_end(&j);
	if (r->spread)
		write_spread(&j, r);
	coati_json_end(&j);
	coati_strbuf_addc(&out->text, '\n');
}
