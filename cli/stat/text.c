/* SPDX-License-Identifier: MIT */
/* A report for people: aligned numbers with thousands separated, units, groups in braces, ratios,
 * times at the end. */
#include "cli/stat/report.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cli/stat/ratio.h"

#define VALUE_WIDTH    18
#define UNIT_WIDTH     7
#define RATIO_WIDTH    20
#define NAME_MAX_WIDTH 44

/* @ns as seconds or milliseconds with thousands separated: 1,234.57 for @unit_ns of a millisecond,
 * two digits. */
static void add_fixed(struct strbuf *s, uint64_t ns, uint64_t unit_ns, unsigned int digits)
{
	uint64_t power = 1, part;

	for (unsigned int i = 0; i < digits; i++)
		power *= 10;
	/* Rounded to the last digit shown. */
	part = (uint64_t)((unsigned __int128)ns * power / unit_ns +
			  ((unsigned __int128)ns * power % unit_ns * 2 >= unit_ns));
	coati_strbuf_grouped(s, part / power);
	coati_strbuf_printf(s, ".%0*llu", (int)digits, (unsigned long long)(part % power));
}

static void add_right(struct strbuf *s, const struct strbuf *text, size_t width)
{
	coati_strbuf_pad(s, ' ', text->len < width ? width - text->len : 0);
	coati_strbuf_adds(s, text->text);
}

static void add_left(struct strbuf *s, const char *text, size_t width)
{
	size_t len = strlen(text);

	coati_strbuf_adds(s, text);
	coati_strbuf_pad(s, ' ', len < width ? width - len : 0);
}

/* Number and unit of a cell; @mean of several runs may be NULL. */
static void add_value(struct strbuf *s, const struct stat_event *e, const struct stat_cell *cell,
		      const struct stat_mean *mean)
{
	struct strbuf v = STRBUF_INIT(128);
	const char *unit = e->desc->unit;

	if (e->error) {
		coati_strbuf_adds(&v, "<not supported>");
	} else if (!cell->counted) {
		coati_strbuf_adds(&v, "<not counted>");
	} else if (coati_stat_is_time(e)) {
		add_fixed(&v, cell->count, NSEC_PER_MSEC, 2);
		unit = "ms";
	} else if (e->desc->scale != 1) {
		coati_strbuf_printf(&v, "%.2f", (double)cell->count * e->desc->scale);
	} else if (mean && mean->nr > 1 && mean->mean > 0 && mean->mean < 10) {
		coati_strbuf_printf(&v, "%.2f", mean->mean); /* 0.33 must not look like none */
	} else {
		coati_strbuf_grouped(&v, cell->count);
	}
	add_right(s, &v, VALUE_WIDTH);
	coati_strbuf_addc(s, ' ');
	add_left(s, unit, UNIT_WIDTH);
	coati_strbuf_fini(&v);
}

/* Brace around the members of a group. */
static const char *group_mark(const struct stat_meter *m, uint32_t event)
{
	int32_t group = m->events[event].desc->group;
	bool before = event && m->events[event - 1].desc->group == group;
	bool after = event + 1 < m->nr_events && m->events[event + 1].desc->group == group;

	if (group < 0 || (!before && !after))
		return "  ";
	return before ? (after ? "| " : "} ") : "{ ";
}

static bool any_group(const struct stat_meter *m)
{
	for (uint32_t i = 0; i < m->nr_events; i++) {
		if (group_mark(m, i)[0] != ' ')
			return true;
	}
	return false;
}

/* 95240 as "95.2 k". */
static void add_rate(struct strbuf *s, double v)
{
	static const char *const steps[] = { "", " k", " M", " G", " T" };
	size_t i = 0;

	while (v >= 1000 && i + 1 < sizeof(steps) / sizeof(steps[0])) {
		v /= 1000;
		i++;
	}
	coati_strbuf_printf(s, v >= 100 ? "%.0f%s" : v >= 10 ? "%.1f%s" : "%.2f%s", v, steps[i]);
}

static void add_ratio(struct strbuf *s, const struct stat_ratio *ratio)
{
	if (!strcmp(ratio->unit, "/s")) {
		add_rate(s, ratio->value);
		coati_strbuf_adds(s, ratio->value >= 1000 ? "/s" : " /s");
	} else {
		coati_strbuf_printf(
			s, ratio->unit[0] == 'C' || ratio->unit[0] == 'G' ? "%.3f %s" : "%.2f %s",
			ratio->value, ratio->unit);
	}
}

/* What stands behind the name: ratio, spread of repeats, share of multiplexed time. */
static void add_notes(struct strbuf *s, const struct stat_report *r, uint32_t i)
{
	const struct stat_cell *cell = &r->tally->cells[i];
	struct stat_ratio ratio;

	if (cell->count && coati_stat_ratio(r->meter, r->tally, i, &ratio))
		add_ratio(s, &ratio);
	if (r->spread && i < r->spread->nr_cells && r->spread->cells[i].nr > 1 &&
	    r->spread->cells[i].mean > 0) {
		coati_strbuf_pad(s, ' ', s->len < RATIO_WIDTH ? RATIO_WIDTH - s->len : 2);
		coati_strbuf_printf(s, "+- %.2f %%",
				    coati_mean_relative(&r->spread->cells[i]) * 100);
	}
	if (cell->scaled && cell->counted)
		coati_strbuf_printf(s, "%scounted %.1f %% of the time", s->len ? "   " : "",
				    coati_stat_share(cell) * 100);
	if (r->args->verbose && cell->counted && cell->enabled_ns)
		coati_strbuf_printf(s, "%s[raw %llu, enabled %llu ns, running %llu ns]",
				    s->len ? "   " : "", (unsigned long long)cell->raw,
				    (unsigned long long)cell->enabled_ns,
				    (unsigned long long)cell->running_ns);
}

static void add_scope(struct strbuf *s, const struct stat_report *r, uint32_t i)
{
	const struct stat_cell *cell = &r->tally->cells[i];
	struct strbuf v = STRBUF_INIT(128);
	char scope[32];

	if (cell->tid < 0 && cell->cpu < 0)
		return;
	coati_strbuf_adds(&v, coati_stat_scope(cell, scope, sizeof(scope)));
	if (cell->tid >= 0)
		coati_strbuf_printf(&v, " %s", r->meter->scopes[i / r->meter->nr_events].comm);
	coati_strbuf_adds(s, " ");
	add_left(s, v.text, cell->tid >= 0 ? 26 : 8);
	coati_strbuf_fini(&v);
}

static size_t name_width(const struct stat_meter *m)
{
	size_t width = 20;

	for (uint32_t i = 0; i < m->nr_events; i++) {
		size_t len = m->events[i].hidden ? 0 : strlen(m->events[i].name);

		if (len > width && len <= NAME_MAX_WIDTH)
			width = len;
	}
	return width;
}

static void write_rows(struct output *out, const struct stat_report *r)
{
	size_t width = name_width(r->meter);
	bool groups = any_group(r->meter);
	struct strbuf notes = STRBUF_INIT(1024), *s = &out->text;

	for (uint32_t i = 0; i < r->tally->nr_cells; i++) {
		const struct stat_cell *cell = &r->tally->cells[i];
		const struct stat_event *e = &r->meter->events[cell->event];

		if (e->hidden)
			continue;
		if (r->interval)
			coati_strbuf_printf(s, "%10.3f", (double)r->tally->end_ns / 1e9);
		add_scope(s, r, i);
		add_value(s, e, cell, r->spread ? &r->spread->cells[i] : NULL);
		if (groups)
			coati_strbuf_adds(s, group_mark(r->meter, cell->event));
		coati_strbuf_clear(&notes);
		add_notes(&notes, r, i);
		add_left(s, e->name, notes.len ? width : 0);
		if (notes.len)
			coati_strbuf_printf(s, "  %s%s%s", coati_output_style(out, STYLE_DIM),
					    notes.text, coati_output_style(out, STYLE_PLAIN));
		coati_strbuf_addc(s, '\n');
	}
	coati_strbuf_fini(&notes);
}

/* Words of the command line, tamed and cut. */
static void add_command(struct strbuf *s, char **command)
{
	struct strbuf all = STRBUF_INIT(64 * 1024);
	char quoted[80];

	for (char **word = command; *word; word++)
		coati_strbuf_printf(&all, "%s%s", word == command ? "" : " ", *word);
	coati_quote(all.text, quoted, sizeof(quoted));
	coati_strbuf_add(s, quoted + 1, strlen(quoted) - 2);
	coati_strbuf_fini(&all);
}

static void add_ids(struct strbuf *s, const char *what, const struct option_ids *ids)
{
	if (!ids->len)
		return;
	coati_strbuf_printf(s, "%s%s", what, ids->len == 1 ? " " : what[0] == 'p' ? "es " : "s ");
	for (size_t i = 0; i < ids->len && i < 8; i++)
		coati_strbuf_printf(s, "%s%d", i ? "," : "", ids->v[i]);
	coati_strbuf_adds(s, ids->len > 8 ? ",... " : " ");
}

/* Who was counted: "processes 1,2", "CPUs 0-3 during make". */
static void add_subject(struct strbuf *s, const struct stat_args *a)
{
	add_ids(s, "process", &a->pids);
	add_ids(s, "thread", &a->tids);
	if (a->cgroup)
		coati_strbuf_printf(s, "cgroup %s ", a->cgroup);
	if (a->cpus)
		coati_strbuf_printf(s, "CPUs %s ", a->cpus);
	else if (a->all)
		coati_strbuf_adds(s, "the whole machine ");
	if (!a->command && s->len)
		s->text[--s->len] = 0;
	if (a->command && s->len)
		coati_strbuf_adds(s, "during ");
	if (a->command)
		add_command(s, a->command);
}

static void write_title(struct output *out, const struct stat_report *r)
{
	struct strbuf subject = STRBUF_INIT(64 * 1024), *s = &out->text;

	add_subject(&subject, r->args);
	coati_strbuf_printf(s, "\n %s%s%s", coati_output_style(out, STYLE_BOLD), subject.text,
			    coati_output_style(out, STYLE_PLAIN));
	if (r->spread && r->spread->nr_runs > 1)
		coati_strbuf_printf(s, "   (mean of %u runs +- deviation of one)",
				    r->spread->nr_runs);
	coati_strbuf_adds(s, "\n\n");
	coati_strbuf_fini(&subject);
}

static void write_time(struct strbuf *s, uint64_t ns, const char *what,
		       const struct stat_mean *mean)
{
	struct strbuf v = STRBUF_INIT(64);

	add_fixed(&v, ns, NSEC_PER_SEC, 6);
	add_right(s, &v, VALUE_WIDTH);
	coati_strbuf_printf(s, " s      %s", what);
	if (mean && mean->nr > 1 && mean->mean > 0)
		coati_strbuf_printf(s, "  +- %.2f %%", coati_mean_relative(mean) * 100);
	coati_strbuf_addc(s, '\n');
	coati_strbuf_fini(&v);
}

static void write_end(struct strbuf *s, const struct stat_report *r)
{
	const struct stat_tally *t = r->tally;
	const struct coati_child_status *st = r->status;
	const char *name;

	coati_strbuf_addc(s, '\n');
	write_time(s, t->end_ns - t->start_ns, "elapsed", r->spread ? &r->spread->wall : NULL);
	if (t->has_usage) {
		write_time(s, t->user_ns, "user", r->spread ? &r->spread->user : NULL);
		write_time(s, t->sys_ns, "sys", r->spread ? &r->spread->sys : NULL);
	}
	if (st && st->exited && st->exit_code)
		coati_strbuf_printf(s, "\n the command ended with exit status %d\n", st->exit_code);
	if (st && !st->exited) {
		name = sigabbrev_np(st->signal);
		coati_strbuf_printf(s, "\n the command was ended by SIG%s%s\n", name ? name : "?",
				    st->core ? " and dumped core" : "");
	}
	coati_strbuf_addc(s, '\n');
}

void coati_stat_text(struct output *out, const struct stat_report *r)
{
	if (r->interval == 1)
		coati_strbuf_printf(&out->text, "%s    time s             count unit   event%s\n",
				    coati_output_style(out, STYLE_BOLD),
				    coati_output_style(out, STYLE_PLAIN));
	if (!r->interval)
		write_title(out, r);
	write_rows(out, r);
	if (r->interval)
		return;
	write_end(&out->text, r);
}
