/* SPDX-License-Identifier: MIT */
/* An autopsy for a person. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/autopsy/autopsy.h"
#include "live-read/flight.h"
#include "live-read/reader.h"

static void add_text(struct strbuf *s, const struct coati_trace_text *t)
{
	coati_strbuf_clean(s, t->text, t->size);
}

static void add_site(struct strbuf *s, const struct coati_trace_site *site)
{
	if (site)
		add_text(s, &site->name);
	else
		coati_strbuf_addc(s, '?');
}

static uint64_t since(const struct autopsy *a, uint64_t ns)
{
	return ns < a->end_ns ? a->end_ns - ns : 0;
}

/* "-1.234567": seconds before the end. */
static void add_before(const struct autopsy *a, uint64_t ns, struct strbuf *s)
{
	uint64_t us = since(a, ns) / NSEC_PER_USEC;

	coati_strbuf_printf(s, "%5s%" PRIu64 ".%06" PRIu64, us < 10000000 ? "-" : "", us / 1000000,
			    us % 1000000);
}

static void add_head(const struct autopsy *a, struct strbuf *s)
{
	const struct coati_flight_info *info = &a->info;
	const struct coati_trace_quality *q = &a->quality;

	coati_strbuf_clean(s, info->comm, strlen(info->comm));
	coati_strbuf_printf(s, " (pid %u, user %u) ", info->pid, info->owner);
	coati_autopsy_ended(info, s);
	coati_strbuf_adds(s, ": ");
	coati_strbuf_clean(s, a->shown, strlen(a->shown));
	if (info->uid != info->owner)
		coati_strbuf_printf(s, ", which claims to belong to user %u", info->uid);
	coati_strbuf_adds(s, "\n");
	coati_strbuf_grouped(s, q->events);
	coati_strbuf_printf(s, " event%s of %zu thread%s in ", q->events == 1 ? "" : "s",
			    a->threads.len, a->threads.len == 1 ? "" : "s");
	coati_format_duration(s, a->end_ns - a->first_ns);
	coati_strbuf_printf(s, ", %" PRIu64 " generation%s; ", q->generations,
			    q->generations == 1 ? "" : "s");
	coati_strbuf_grouped(s, q->lost);
	coati_strbuf_printf(s,
			    " lost, %" PRIu64 " batches missing, %" PRIu64 " damaged, %" PRIu64
			    " open; clock ",
			    q->missing, q->damaged + info->nr_damaged, q->open_batches);
	if (q->clock_unknown)
		coati_strbuf_printf(s, "unknown in %" PRIu64 " batches", q->clock_unknown);
	else
		coati_strbuf_printf(s, "+-%" PRIu64 " ns", q->clock_error_ns);
	coati_strbuf_adds(s, "\n");
	if (q->damaged)
		coati_strbuf_printf(s, "damage: %s\n", coati_live_reader_damage(a->trace)->text);
	if (a->findings)
		coati_strbuf_printf(s,
				    "the events contradict each other in %" PRIu64
				    " places, first: %s (thread %u)\n",
				    a->findings, a->finding.text, a->finding.tid);
	if (a->too_deep)
		coati_strbuf_adds(
			s, "regions are nested too deeply to be checked: later contradictions are "
			   "not detected\n");
}

static void add_task(const struct autopsy *a, const struct coati_live_opened *t, struct strbuf *s)
{
	coati_strbuf_printf(s, "%" PRIu64 " ", t->id);
	add_site(s, t->site);
	coati_strbuf_adds(s, ", open for ");
	coati_format_duration(s, since(a, t->began_ns));
	if (t->parent)
		coati_strbuf_printf(s, ", part of %" PRIu64, t->parent);
}

static void add_current(const struct autopsy *a, const struct autopsy_thread *t, struct strbuf *s)
{
	const struct coati_live_opened *task = coati_autopsy_task(a, t->task);

	if (!t->task)
		return;
	coati_strbuf_adds(s, "  works on task ");
	if (task)
		add_task(a, task, s);
	else
		coati_strbuf_printf(s, "%" PRIu64, t->task);
	coati_strbuf_addc(s, '\n');
}

static void add_regions(const struct autopsy *a, const struct autopsy_thread *t, struct strbuf *s)
{
	uint32_t nr;
	const struct coati_live_opened *r = coati_autopsy_regions(a, t->tid, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		coati_strbuf_printf(s, "  %*sin ", (int)(2 * r[i].depth), "");
		add_site(s, r[i].site);
		coati_strbuf_adds(s, " for ");
		coati_format_duration(s, since(a, r[i].began_ns));
		if (r[i].site && r[i].site->file.size) {
			coati_strbuf_adds(s, "  (");
			add_text(s, &r[i].site->file);
			coati_strbuf_printf(s, ":%u)", r[i].site->line);
		}
		coati_strbuf_adds(s, r[i].slot ? ", in a signal handler\n" : "\n");
	}
}

static void add_took(const struct coati_trace_event *e, struct strbuf *s)
{
	if (e->duration == COATI_TRACE_NO_DURATION)
		return;
	coati_strbuf_adds(s, e->flags & COATI_TRACE_REOPENED ? " open-for=" : " took=");
	coati_format_duration(s, e->duration);
}

static void add_thread(const struct autopsy *a, const struct autopsy_thread *t, struct strbuf *s)
{
	coati_strbuf_printf(s, "\nthread %u", t->tid);
	if (t->name[0]) {
		coati_strbuf_addc(s, ' ');
		coati_strbuf_clean(s, t->name, strlen(t->name));
	}
	coati_strbuf_printf(s, ": %" PRIu64 " event%s, the last ", t->events,
			    t->events == 1 ? "" : "s");
	coati_format_duration(s, since(a, t->last_ns));
	coati_strbuf_adds(s, " before the end\n");
	add_current(a, t, s);
	add_regions(a, t, s);
	for (uint32_t i = 0; i < t->tail.len; i++) {
		const struct autopsy_event *e = coati_autopsy_tail_at(&t->tail, i);

		add_before(a, e->event.time, s);
		coati_strbuf_adds(s, "  ");
		coati_strbuf_clean(s, e->line, strlen(e->line));
		add_took(&e->event, s);
		coati_strbuf_addc(s, '\n');
	}
}

static void add_tasks(const struct autopsy *a, struct strbuf *s)
{
	uint32_t nr = a->tasks.len;

	if (!nr)
		return;
	coati_strbuf_printf(s, "\n%u open task%s\n", nr, nr == 1 ? "" : "s");
	for (uint32_t i = 0; i < nr; i++) {
		coati_strbuf_adds(s, "  ");
		add_task(a, &a->tasks.v[i], s);
		coati_strbuf_addc(s, '\n');
	}
}

static void add_logs(const struct autopsy *a, struct strbuf *s)
{
	if (a->logs.len)
		coati_strbuf_adds(s, "\nlast log lines\n");
	for (uint32_t i = 0; i < a->logs.len; i++) {
		const struct autopsy_event *e = coati_autopsy_tail_at(&a->logs, i);
		const struct coati_trace_site *site = e->event.site;

		add_before(a, e->event.time, s);
		coati_strbuf_printf(s, "  %u ", e->event.tid);
		if (site && site->category.size) {
			add_text(s, &site->category);
			coati_strbuf_adds(s, ": ");
		}
		coati_strbuf_clean(s, e->text, strlen(e->text));
		coati_strbuf_addc(s, '\n');
	}
}

void coati_autopsy_text(struct autopsy *a, struct strbuf *s)
{
	add_head(a, s);
	for (size_t i = 0; i < a->threads.len; i++)
		if (!a->threads.v[i].hidden)
			add_thread(a, &a->threads.v[i], s);
	add_tasks(a, s);
	add_logs(a, s);
}
