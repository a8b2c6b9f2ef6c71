/* SPDX-License-Identifier: MIT */
/* What stands above a page: what was recorded, how good it is, and what the numbers mean. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/coati.h>

#include "base/json.h"
#include "page/findings.h"
#include "page/page.h"
#include "reading/parts.h"
#include "trace/timeline.h"

static void put_u64_text(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	/* more than 2^53 is no whole number in a browser */
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	coati_json_kstr(j, key, text);
}

static void put_quality(const struct page *p, struct json *j)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	char line[512] = "";

	coati_profile_quality(p->profile, &q);
	coati_profile_quality_format(&q, line, sizeof(line));
	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_kstr(j, "line", line);
	coati_json_ku64(j, "samples", q.samples);
	coati_json_ku64(j, "filtered", q.filtered);
	coati_json_ku64(j, "lost", q.lost);
	coati_json_ku64(j, "throttled", q.throttled);
	coati_json_ku64(j, "complete", q.complete);
	coati_json_ku64(j, "truncated", q.truncated + q.gap);
	coati_json_ku64(j, "without_symbol", q.unsymbolized);
	coati_json_ku64(j, "off_cpu_intervals", q.off_intervals);
	coati_json_ku64(j, "recorder_cpu_ns", q.recorder_cpu_ns);
	coati_json_kdouble(j, "sampled", coati_profile_sampled(&q));
	coati_json_end(j);
}

static void put_file(const struct page *p, struct json *j)
{
	const struct coati_profile_file *f = coati_profile_file(p->profile, 0);

	coati_json_key(j, "recorded");
	coati_json_object(j);
	coati_json_ku64(j, "files", p->nr_files);
	coati_json_kstr(j, "path", f ? f->path : "");
	coati_json_kstr(j, "hostname", f ? f->hostname : "");
	coati_json_kstr(j, "os_release", f ? f->os_release : "");
	coati_json_kstr(j, "arch", f ? f->arch : "");
	coati_json_kstr(j, "command", f ? f->command : "");
	if (f && f->wall_ns)
		put_u64_text(j, "wall_ns", f->wall_ns - f->clock_ns + p->begin);
	coati_json_end(j);
}

static void put_events(const struct page *p, struct json *j)
{
	coati_json_key(j, "events");
	coati_json_array(j);
	for (uint32_t i = 0; i < coati_profile_event_count(p->profile); i++) {
		const struct coati_profile_event *e = coati_profile_event(p->profile, i);

		coati_json_object(j);
		coati_json_kstr(j, "name", e->name);
		coati_json_kstr(j, "unit", e->unit);
		coati_json_kbool(j, "off_cpu", e->is_off_cpu != 0);
		coati_json_kbool(j, "shown", coati_page_counts_event(p, i));
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_states(struct json *j)
{
	coati_json_key(j, "states");
	coati_json_array(j);
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		coati_json_str(j, coati_part_name(i));
	coati_json_end(j);
}

static void put_ledger(struct json *j, const struct coati_ledger *l)
{
	coati_json_key(j, "parts");
	coati_json_array(j);
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		coati_json_u64(j, l->parts[i]);
	coati_json_end(j);
}

static void put_types(const struct page *p, struct json *j)
{
	struct coati_timeline_type k;

	coati_json_key(j, "types");
	coati_json_array(j);
	for (uint32_t i = 0; p->timeline && coati_timeline_type(p->timeline, i, &k) == 0; i++) {
		coati_json_object(j);
		coati_json_kstr(j, "name", k.name);
		coati_json_kbool(j, "region", k.is_region != 0);
		coati_json_ku64(j, "count", k.nr);
		coati_json_ku64(j, "open", k.nr_open);
		coati_json_ku64(j, "p50", k.p50);
		coati_json_ku64(j, "p90", k.p90);
		coati_json_ku64(j, "p99", k.p99);
		coati_json_ku64(j, "max", k.max);
		coati_json_ku64(j, "sum", k.sum);
		put_ledger(j, &k.ledger);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_thread_ledgers(const struct page *p, struct json *j)
{
	struct coati_timeline_thread th;
	struct coati_ledger ledger;

	coati_json_key(j, "thread_parts");
	coati_json_array(j);
	for (uint32_t i = 0; p->timeline && coati_timeline_thread(p->timeline, i, &th) == 0; i++) {
		coati_json_array(j);
		if (coati_timeline_ledger(p->timeline, i, th.begin, th.end, &ledger) == 0)
			for (uint32_t n = 0; n < COATI_PART_COUNT; n++)
				coati_json_u64(j, ledger.parts[n]);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_timeline(const struct page *p, struct json *j)
{
	const struct coati_timeline_info *i = &p->info;

	coati_json_key(j, "timeline");
	coati_json_object(j);
	coati_json_kbool(j, "switches", (i->has & COATI_TIMELINE_HAS_SWITCHES) != 0);
	coati_json_kbool(j, "live", (i->has & COATI_TIMELINE_HAS_LIVE) != 0);
	coati_json_kbool(j, "irqs", (i->has & COATI_TIMELINE_HAS_IRQS) != 0);
	coati_json_ku64(j, "cpus", i->nr_cpus);
	coati_json_ku64(j, "switch_count", i->switches);
	coati_json_ku64(j, "wakeups", i->wakes);
	coati_json_ku64(j, "faults", i->faults);
	coati_json_ku64(j, "live_events", i->live_events);
	coati_json_ku64(j, "live_lost", i->live_lost);
	coati_json_ku64(j, "clock_error", i->clock_error);
	coati_json_end(j);
}

static void put_losses(const struct page *p, struct json *j)
{
	coati_json_key(j, "losses");
	coati_json_array(j);
	for (size_t i = 0; i < p->losses.len; i++) {
		coati_json_array(j);
		coati_json_u64(j, page_time(p, p->losses.v[i].time));
		coati_json_u64(j, p->losses.v[i].count);
		coati_json_u64(j, (uint64_t)p->losses.v[i].kind);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_notes(const struct page *p, struct json *j)
{
	coati_json_key(j, "notes");
	coati_json_array(j);
	for (size_t i = 0; i < p->notes.len; i++)
		coati_json_str(j, p->notes.v[i]);
	coati_json_end(j);
}

static void put_finding(const struct finding *f, struct json *j)
{
	char thread[32];

	coati_json_object(j);
	coati_json_kstr(j, "kind", coati_finding_name(f->kind));
	coati_json_kstr(j, "text", f->text);
	coati_json_kstr(j, "view", f->view);
	if (f->function) {
		coati_json_kstr(j, "function", f->function);
		coati_json_kstr(j, "image", f->image);
	}
	if (f->tid) {
		snprintf(thread, sizeof(thread), "%d/%d", f->pid, f->tid);
		coati_json_kstr(j, "thread", thread);
	}
	if (f->to) {
		coati_json_ku64(j, "from", f->from);
		coati_json_ku64(j, "to", f->to);
	}
	if (f->task != UINT32_MAX)
		coati_json_ku64(j, "task", f->task);
	coati_json_kbool(j, "off_cpu", f->off_cpu);
	coati_json_end(j);
}

/* What was found, and every comparison that was made. */
static int put_findings(struct page *p, struct json *j)
{
	struct findings f;
	int r = coati_page_findings(p, &f);

	coati_json_key(j, "findings");
	coati_json_array(j);
	for (size_t i = 0; r == 0 && i < f.nr; i++)
		put_finding(&f.list[i], j);
	coati_json_end(j);
	coati_json_key(j, "checks");
	coati_json_array(j);
	for (int i = 0; r == 0 && i < FINDING_KINDS; i++) {
		const struct finding_measure *m = &f.measures[i];

		coati_json_object(j);
		coati_json_kstr(j, "kind", coati_finding_name((enum finding_kind)i));
		coati_json_kbool(j, "known", m->is_known);
		coati_json_kdouble(j, "share", m->share);
		coati_json_kdouble(j, "limit", coati_finding_limits((enum finding_kind)i)->share);
		coati_json_ku64(j, "ns", m->ns);
		coati_json_ku64(j, "count", m->nr);
		coati_json_kbool(j, "found", coati_finding_holds((enum finding_kind)i, m));
		coati_json_end(j);
	}
	coati_json_end(j);
	return r;
}

int coati_page_put_meta(struct page *p)
{
	int r;
	struct column *c = coati_columns_add(&p->columns, "meta", COLUMN_JSON);
	struct json j = json_to(&c->bytes);

	coati_json_object(&j);
	coati_json_kstr(&j, "title", p->opts.title ? p->opts.title : p->path ? p->path : "");
	coati_json_kstr(&j, "version", coati_version());
	put_u64_text(&j, "begin_ns", p->begin);
	coati_json_ku64(&j, "length", p->end - p->begin);
	coati_json_kstr(&j, "mode", p->opts.mode ? p->opts.mode : "on");
	coati_json_kbool(&j, "counts", p->opts.counts);
	put_quality(p, &j);
	put_file(p, &j);
	put_events(p, &j);
	put_states(&j);
	put_types(p, &j);
	put_thread_ledgers(p, &j);
	if (p->timeline)
		put_timeline(p, &j);
	put_losses(p, &j);
	put_notes(p, &j);
	r = put_findings(p, &j);
	coati_json_end(&j);
	return r < 0 ? r : c->bytes.failed;
}
