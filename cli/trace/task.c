/* SPDX-License-Identifier: MIT */
/* Tasks one by one: the slowest of a type, and one with its time breakdown and critical path. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "trace/timeline.h"

#define BAR_WIDTH 105 /* of terminals that have room for a bar */

struct instances {
	struct coati_timeline_instance *list;
	size_t nr, nr_all;
};

static bool has_bars(const struct trace *t)
{
	size_t width = coati_output_width(&t->out);

	return !width || width >= BAR_WIDTH;
}

static void put_instance(struct trace *t, const struct coati_timeline_instance *i)
{
	const struct coati_ledger *l = &i->ledger;
	struct strbuf *s = &t->out.text;
	uint64_t sums[SUM_COUNT];
	size_t line = s->len;

	coati_trace_time(s, i->end - i->begin, 9);
	coati_trace_sums(l, sums);
	for (int n = 0; n < SUM_COUNT; n++)
		coati_trace_time(s, sums[n], 9);
	if (has_bars(t)) {
		coati_strbuf_adds(s, "  ");
		coati_trace_bar(t, l, bar_columns(t));
	}
	coati_strbuf_adds(s, "  ");
	coati_trace_when(t, s, i->begin);
	coati_strbuf_adds(s, "  ");
	if (i->thread != COATI_TIMELINE_NONE)
		coati_trace_thread_name(t, s, i->thread);
	else
		coati_strbuf_printf(
			s, "%llu%s%s", (unsigned long long)i->id,
			i->flags & COATI_TIMELINE_OPEN_BEGIN ? " (began before the recording)" : "",
			i->flags & COATI_TIMELINE_OPEN_END ? " (open)" : "");
	coati_trace_reasons(s, l, 3, coati_trace_room(t, line));
	coati_strbuf_addc(s, '\n');
}

static void json_task(struct json *j, const struct coati_timeline_task *k)
{
	coati_json_ku64(j, "id", k->id);
	coati_json_ku64(j, "parent", k->parent);
	coati_json_ki64(j, "pid", k->pid);
	coati_json_kstr(j, "type", k->name);
	coati_json_ku64(j, "begin_ns", k->begin);
	coati_json_ku64(j, "end_ns", k->end);
	coati_json_kbool(j, "open", k->flags != 0);
}

static void json_instance(struct trace *t, struct json *j, const struct coati_timeline_instance *i,
			  const char *type)
{
	struct coati_timeline_thread th;

	coati_json_object(j);
	if (i->thread == COATI_TIMELINE_NONE) {
		json_task(j, &(struct coati_timeline_task){ .id = i->id,
							    .parent = i->parent,
							    .pid = i->pid,
							    .name = type,
							    .begin = i->begin,
							    .end = i->end,
							    .flags = i->flags });
	} else if (coati_timeline_thread(t->timeline, i->thread, &th) == 0) {
		coati_json_ki64(j, "tid", th.tid);
		coati_json_ku64(j, "begin_ns", i->begin);
		coati_json_ku64(j, "end_ns", i->end);
	}
	coati_trace_json_ledger(j, &i->ledger);
	coati_json_end(j);
}

static void json_slowest(struct trace *t, const struct instances *is, const char *type)
{
	struct json j;

	coati_trace_json_head(t, &j, TRACE_SCHEMA, "tasks");
	coati_json_kstr(&j, "type", type);
	coati_json_ku64(&j, "count", is->nr_all);
	coati_json_key(&j, "tasks");
	coati_json_array(&j);
	for (size_t i = 0; i < is->nr; i++)
		json_instance(t, &j, &is->list[i], type);
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&t->out.text, '\n');
}

static void put_slowest(struct trace *t, const struct instances *is)
{
	coati_trace_quality(t);
	coati_trace_heading(t, has_bars(t)
				       ? "     took  running runnable  blocked   queued  unknown  "
					 "breakdown             begin     which"
				       : "     took  running runnable  blocked   queued  unknown  "
					 "begin     which");
	for (size_t i = 0; i < is->nr; i++)
		put_instance(t, &is->list[i]);
}

int coati_trace_tasks(struct trace *t, uint32_t type)
{
	const struct coati_timeline_query q = {
		.type = type, .nr = t->args->slowest, .from = t->from, .to = t->to
	};
	struct coati_timeline_type k;
	struct instances is = { 0 };

	coati_timeline_type(t->timeline, type, &k);
	if (coati_timeline_slowest(t->timeline, &q, &is.list, &is.nr, &is.nr_all) < 0) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	if (t->args->json)
		json_slowest(t, &is, k.name);
	else
		put_slowest(t, &is);
	coati_free(is.list);
	return EXIT_DONE;
}

/* ---- one task ---- */

static void put_ledger(struct trace *t, const struct coati_ledger *l)
{
	struct strbuf *s = &t->out.text;

	coati_trace_heading(t, "time breakdown");
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++) {
		if (!l->parts[i])
			continue;
		coati_trace_time(s, l->parts[i], 11);
		coati_strbuf_printf(s, "  %5.1f %%  %s\n",
				    100.0 * (double)l->parts[i] / (double)l->duration,
				    i == COATI_PART_NOBODY ? "queued: no thread works on it"
							   : coati_trace_part(i));
	}
	coati_trace_time(s, l->duration, 11);
	coati_strbuf_printf(s,
			    "  in all; left a CPU %llu times, woken %llu times, %llu page faults\n",
			    (unsigned long long)l->switches, (unsigned long long)l->wakes,
			    (unsigned long long)l->faults);
}

static void put_step(struct trace *t, const struct coati_timeline_step *step, uint64_t begin)
{
	struct strbuf *s = &t->out.text, tail = STRBUF_INIT(1u << 20);
	struct coati_timeline_task k;
	size_t line = s->len;

	coati_strbuf_adds(s, "  +");
	coati_trace_time(s, step->begin - begin, 9);
	coati_trace_time(s, step->end - step->begin, 10);
	coati_strbuf_printf(s, "  %-9s  ", coati_trace_part(step->part));
	if (step->thread != COATI_TIMELINE_NONE)
		coati_trace_thread_name(t, &tail, step->thread);
	if (coati_timeline_task(t->timeline, step->task, &k) == 0) {
		coati_strbuf_adds(&tail, "  [");
		coati_strbuf_clean(&tail, k.name, strlen(k.name));
		coati_strbuf_printf(&tail, " %llu]", (unsigned long long)k.id);
	}
	coati_trace_stack_after(t, &tail, "  ", step->stack, 3);
	coati_trace_tail(t, line, tail.text);
	coati_strbuf_fini(&tail);
}

static void json_steps(struct trace *t, struct json *j, const struct coati_timeline_step *steps,
		       size_t nr)
{
	coati_json_key(j, "critical_path");
	coati_json_array(j);
	for (size_t i = 0; i < nr; i++) {
		struct coati_timeline_thread th;

		coati_json_object(j);
		coati_json_ku64(j, "begin_ns", steps[i].begin);
		coati_json_ku64(j, "end_ns", steps[i].end);
		coati_json_kstr(j, "part", coati_part_name(steps[i].part));
		if (steps[i].thread != COATI_TIMELINE_NONE &&
		    coati_timeline_thread(t->timeline, steps[i].thread, &th) == 0) {
			coati_json_ki64(j, "tid", th.tid);
			coati_json_kstr(j, "comm", th.comm);
		}
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_task(struct trace *t, const struct coati_timeline_task *k,
		     const struct coati_ledger *l, const struct coati_timeline_step *steps,
		     size_t nr)
{
	struct strbuf *s = &t->out.text;
	size_t shown = t->args->limit && t->args->limit < nr ? t->args->limit : nr;

	coati_trace_quality(t);
	coati_strbuf_printf(s, "task %llu ", (unsigned long long)k->id);
	coati_strbuf_clean(s, k->name, strlen(k->name));
	coati_strbuf_adds(s, k->flags & COATI_TIMELINE_BEGIN_UNKNOWN ? ": at least " : ": ");
	coati_format_duration(s, k->end - k->begin);
	coati_strbuf_adds(s, " from ");
	coati_trace_when(t, s, k->begin);
	if (k->parent)
		coati_strbuf_printf(s, ", part of task %llu", (unsigned long long)k->parent);
	coati_strbuf_adds(s, k->flags & COATI_TIMELINE_OPEN_BEGIN ? ", began before the recording"
								  : "");
	coati_strbuf_adds(s, k->flags & COATI_TIMELINE_OPEN_END ? ", not ended\n" : "\n");
	put_ledger(t, l);
	coati_trace_heading(t, "critical path");
	for (size_t i = 0; i < shown; i++)
		put_step(t, &steps[i], k->begin);
	if (shown < nr)
		coati_strbuf_printf(s, "... and %zu more steps; -n 0 shows all\n", nr - shown);
}

static void json_whole(struct trace *t, const struct coati_timeline_task *k,
		       const struct coati_ledger *l, const struct coati_timeline_step *steps,
		       size_t nr)
{
	struct json j;

	coati_trace_json_head(t, &j, TRACE_SCHEMA, "task");
	coati_json_key(&j, "task");
	coati_json_object(&j);
	json_task(&j, k);
	coati_trace_json_ledger(&j, l);
	json_steps(t, &j, steps, nr);
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&t->out.text, '\n');
}

int coati_trace_task(struct trace *t, uint32_t task)
{
	struct coati_timeline_step *steps = NULL;
	struct coati_timeline_task k;
	struct coati_ledger l;
	struct coati_error err = { 0 };
	size_t nr = 0;

	coati_timeline_task(t->timeline, task, &k);
	if (coati_timeline_task_ledger(t->timeline, task, &l) < 0 ||
	    coati_timeline_path(t->timeline, task, &steps, &nr, &err) < 0) {
		coati_say("%s", err.code ? err.text : "out of memory");
		return EXIT_FAILED;
	}
	if (t->args->json)
		json_whole(t, &k, &l, steps, nr);
	else
		put_task(t, &k, &l, steps, nr);
	coati_timeline_path_free(&steps);
	return EXIT_DONE;
}
