/* SPDX-License-Identifier: MIT */
/* A report as lines of comma-separated values (RFC 4180), with column names in the first line. */
#include "cli/stat/report.h"

#include "cli/stat/ratio.h"

static const char columns[] = "run,start_ns,end_ns,scope,event,count,unit,enabled_ns,running_ns,"
			      "scaled,ratio,ratio_unit,error\n";

static void add_u64(struct strbuf *s, uint64_t v)
{
	coati_strbuf_printf(s, "%llu,", (unsigned long long)v);
}

static void write_cell(struct strbuf *s, const struct stat_report *r, uint32_t i)
{
	const struct stat_cell *cell = &r->tally->cells[i];
	const struct stat_event *e = &r->meter->events[cell->event];
	struct stat_ratio ratio = { .unit = "" };
	char scope[32];

	add_u64(s, r->run);
	add_u64(s, r->tally->start_ns);
	add_u64(s, r->tally->end_ns);
	coati_strbuf_printf(s, "%s,", coati_stat_scope(cell, scope, sizeof(scope)));
	coati_output_csv(s, e->name);
	coati_strbuf_addc(s, ',');
	if (!cell->counted)
		coati_strbuf_addc(s, ',');
	else if (e->desc->scale != 1)
		coati_strbuf_printf(s, "%.9g,", (double)cell->count * e->desc->scale);
	else
		add_u64(s, cell->count);
	coati_output_csv(s, coati_stat_unit(e));
	coati_strbuf_addc(s, ',');
	add_u64(s, cell->enabled_ns);
	add_u64(s, cell->running_ns);
	coati_strbuf_adds(s, cell->scaled && r->args->scale ? "1," : "0,");
	if (coati_stat_ratio(r->meter, r->tally, i, &ratio))
		coati_strbuf_printf(s, "%.6g", ratio.value);
	coati_strbuf_addc(s, ',');
	coati_output_csv(s, ratio.unit);
	coati_strbuf_addc(s, ',');
	coati_output_csv(s, e->error ? e->error : "");
	coati_strbuf_addc(s, '\n');
}

void coati_stat_csv(struct output *out, const struct stat_report *r)
{
	if (r->run == 1 && r->interval <= 1)
		coati_strbuf_adds(&out->text, columns);
	for (uint32_t i = 0; i < r->tally->nr_cells; i++) {
		if (!r->meter->events[r->tally->cells[i].event].hidden)
			write_cell(&out->text, r, i);
	}
}
