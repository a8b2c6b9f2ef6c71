/* SPDX-License-Identifier: MIT */
/* see text.h */
#include "cli/top/text.h"

#include <string.h>

#include "base/clock.h"
#include "cli/quality.h"

#define ONCE_COLUMNS 70

const char *coati_top_mode_name(enum top_mode mode)
{
	static const char *const names[TOP_MODE_COUNT] = { "on", "off", "both" };

	return names[mode];
}

bool coati_top_has_frames(enum top_by by)
{
	return by == TOP_BY_FUNCTION || by == TOP_BY_IMAGE;
}

double coati_top_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void coati_top_duration(struct strbuf *s, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double v = (double)ns;
	int unit = 0;

	while (v >= 999.5 && unit < 3) {
		v /= 1000;
		unit++;
	}
	coati_strbuf_printf(s, v < 9.95 && unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

void coati_top_quality(struct strbuf *s, const struct top_second *sum, uint64_t refused)
{
	coati_strbuf_grouped(s, sum->samples);
	coati_strbuf_adds(s, " samples, ");
	coati_strbuf_grouped(s, sum->lost);
	coati_strbuf_printf(s, " lost, %llu throttled, %.0f %% truncated",
			    (unsigned long long)sum->throttled,
			    coati_top_percent(sum->cut, sum->samples));
	if (refused)
		coati_strbuf_printf(s, ", %llu refused (--memory)", (unsigned long long)refused);
}

void coati_top_row_name(struct strbuf *s, const struct top_query *q, const struct top_row *row,
			size_t width)
{
	struct strbuf id = STRBUF_INIT(64);
	const char *name = row->name;

	if (row->tid >= 0)
		coati_strbuf_printf(&id, "%d/%d ", row->pid, row->tid);
	else if (row->pid >= 0)
		coati_strbuf_printf(&id, "%d ", row->pid);
	if (!*name)
		name = "(none)";
	else if (q->by == TOP_BY_SERVICE && !strcmp(name, "/"))
		name = "/ (root)";
	if (id.len < width)
		coati_strbuf_adds(s, id.text);
	width -= id.len < width ? id.len : 0;
	coati_report_fit(s, name, width);
	coati_strbuf_fini(&id);
}

void coati_top_table_head(struct strbuf *s, const struct top_query *q)
{
	if (coati_top_has_frames(q->by))
		coati_strbuf_printf(s, "%8s %8s  ", "self", "total");
	else
		coati_strbuf_printf(s, "%8s %10s  ", "share", "time");
	coati_report_fit(s, q->by == TOP_BY_LABEL ? q->label : coati_top_by_name(q->by),
			 ONCE_COLUMNS);
	coati_strbuf_addc(s, '\n');
}

void coati_top_table_row(struct strbuf *s, const struct top_query *q, const struct top_rows *all,
			 const struct top_row *row)
{
	struct strbuf time = STRBUF_INIT(64);

	coati_strbuf_printf(s, "%6.1f %% ", coati_top_percent(row->self, all->weight));
	if (coati_top_has_frames(q->by)) {
		coati_strbuf_printf(s, "%6.1f %%  ", coati_top_percent(row->total, all->weight));
	} else {
		coati_top_duration(&time, row->self);
		coati_strbuf_printf(s, "%10s  ", time.text);
	}
	coati_top_row_name(s, q, row, ONCE_COLUMNS);
	if (row->image && q->by != TOP_BY_IMAGE) {
		coati_strbuf_adds(s, "  [");
		coati_report_fit(s, row->image, 40);
		coati_strbuf_addc(s, ']');
	}
	coati_strbuf_addc(s, '\n');
	coati_strbuf_fini(&time);
}

void coati_top_task_line(struct strbuf *s, const struct top_task *t)
{
	const uint64_t times[] = { t->p50, t->p90, t->p99, t->max };
	static const char *const names[] = { "p50", "p90", "p99", "max" };

	coati_strbuf_adds(s, "# task ");
	coati_report_fit(s, t->type, ONCE_COLUMNS);
	coati_strbuf_adds(s, ": ");
	coati_strbuf_grouped(s, t->count);
	for (int i = 0; i < 4; i++) {
		coati_strbuf_printf(s, ", %s ", names[i]);
		coati_top_duration(s, times[i]);
	}
	coati_strbuf_addc(s, '\n');
}
