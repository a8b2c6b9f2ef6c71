/* SPDX-License-Identifier: MIT */
/* An autopsy for a script. */
#include <string.h>

#include "base/json.h"
#include "cli/autopsy/autopsy.h"
#include "live-read/reader.h"

static void put_text(struct json *j, const char *key, const struct coati_trace_text *t)
{
	coati_json_key(j, key);
	coati_json_strn(j, t->text, t->size);
}

static void put_site(struct json *j, const struct coati_trace_site *site)
{
	coati_json_key(j, "site");
	if (!site) {
		coati_json_null(j);
		return;
	}
	coati_json_object(j);
	put_text(j, "name", &site->name);
	put_text(j, "category", &site->category);
	put_text(j, "file", &site->file);
	coati_json_ku64(j, "line", site->line);
	put_text(j, "function", &site->function);
	coati_json_end(j);
}

static void put_event(struct json *j, const struct autopsy_event *a)
{
	const struct coati_trace_event *e = &a->event;

	coati_json_object(j);
	coati_json_ku64(j, "time_ns", e->time);
	coati_json_ku64(j, "error_ns", e->error);
	coati_json_ku64(j, "tid", e->tid);
	coati_json_kstr(j, "kind", coati_trace_kind_name(e->kind));
	put_site(j, e->site);
	if (e->task)
		coati_json_ku64(j, "task", e->task);
	if (e->duration != COATI_TRACE_NO_DURATION)
		coati_json_ku64(j, "duration_ns", e->duration);
	if (a->text[0])
		coati_json_kstr(j, "text", a->text);
	coati_json_kstr(j, "line", a->line);
	coati_json_end(j);
}

static void put_tail(struct json *j, const char *key, const struct autopsy_tail *t)
{
	coati_json_key(j, key);
	coati_json_array(j);
	for (uint32_t i = 0; i < t->len; i++)
		put_event(j, coati_autopsy_tail_at(t, i));
	coati_json_end(j);
}

static void put_open(struct json *j, const struct autopsy *a, const struct coati_live_opened *o,
		     bool task)
{
	coati_json_object(j);
	if (task) {
		coati_json_ku64(j, "id", o->id);
		coati_json_ku64(j, "parent", o->parent);
	} else {
		coati_json_ku64(j, "depth", o->depth);
		coati_json_ku64(j, "slot", o->slot);
	}
	put_site(j, o->site);
	coati_json_ku64(j, "began_ns", o->began_ns);
	coati_json_ku64(j, "open_ns", o->began_ns < a->end_ns ? a->end_ns - o->began_ns : 0);
	coati_json_end(j);
}

static void put_thread(struct json *j, const struct autopsy *a, const struct autopsy_thread *t)
{
	uint32_t nr;
	const struct coati_live_opened *r = coati_autopsy_regions(a, t->tid, &nr);

	coati_json_object(j);
	coati_json_ku64(j, "tid", t->tid);
	coati_json_kstr(j, "name", t->name);
	coati_json_ku64(j, "nr_events", t->events);
	coati_json_ku64(j, "last_ns", t->last_ns);
	coati_json_ku64(j, "task", t->task);
	coati_json_key(j, "open_regions");
	coati_json_array(j);
	for (uint32_t i = 0; i < nr; i++)
		put_open(j, a, &r[i], false);
	coati_json_end(j);
	put_tail(j, "events", &t->tail);
	coati_json_end(j);
}

static void put_quality(struct json *j, const struct autopsy *a)
{
	const struct coati_trace_quality *q = &a->quality;

	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_ku64(j, "batches", q->batches);
	coati_json_ku64(j, "open_batches", q->open_batches);
	coati_json_ku64(j, "events", q->events);
	coati_json_ku64(j, "lost", q->lost);
	coati_json_ku64(j, "missing_batches", q->missing);
	coati_json_ku64(j, "damaged", q->damaged + a->info.nr_damaged);
	coati_json_ku64(j, "changed_chunks", a->info.nr_changed);
	coati_json_ku64(j, "unresolved", q->unresolved);
	coati_json_ku64(j, "late", q->late);
	coati_json_ku64(j, "generations", q->generations);
	coati_json_ku64(j, "incomplete_generations", q->incomplete);
	coati_json_ku64(j, "clock_unknown", q->clock_unknown);
	coati_json_ku64(j, "clock_error_ns", q->clock_error_ns);
	coati_json_ku64(j, "contradictions", a->findings);
	coati_json_kbool(j, "too_deep_to_check", a->too_deep);
	coati_json_end(j);
}

static void put_process(struct json *j, const struct autopsy *a)
{
	struct strbuf ended = STRBUF_INIT(128);

	coati_autopsy_ended(&a->info, &ended);
	coati_json_ku64(j, "pid", a->info.pid);
	coati_json_ku64(j, "uid", a->info.owner);
	coati_json_kstr(j, "path", a->shown);
	coati_json_kstr(j, "comm", a->info.comm);
	coati_json_kbool(j, "alive", a->info.is_alive);
	coati_json_kbool(j, "stopped_in_order", a->info.has_ended);
	coati_json_ku64(j, "signal", a->info.signal);
	coati_json_kstr(j, "ended", ended.text);
	coati_json_ku64(j, "first_ns", a->first_ns);
	coati_json_ku64(j, "end_ns", a->end_ns);
	coati_strbuf_fini(&ended);
}

void coati_autopsy_json(struct autopsy *a, struct strbuf *out)
{
	struct json j = json_to(out);
	struct figures figures;

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.autopsy.v1");
	put_process(&j, a);
	put_quality(&j, a);
	coati_autopsy_figures(a, &figures);
	coati_conditions_json(&a->args->fail_if, &figures, &j);
	coati_json_key(&j, "threads");
	coati_json_array(&j);
	for (size_t i = 0; i < a->threads.len; i++)
		if (!a->threads.v[i].hidden)
			put_thread(&j, a, &a->threads.v[i]);
	coati_json_end(&j);
	coati_json_key(&j, "open_tasks");
	coati_json_array(&j);
	for (uint32_t i = 0; i < a->tasks.len; i++)
		put_open(&j, a, &a->tasks.v[i], true);
	coati_json_end(&j);
	put_tail(&j, "logs", &a->logs);
	coati_json_end(&j);
	coati_strbuf_addc(out, '\n');
}
