/* SPDX-License-Identifier: MIT */
/* Tasks one by one: the slowest of a type, and one with its ledger and critical path. */
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

/* One task, or region of a thread. */
struct instance {
	uint64_t ns, begin;
	uint32_t number, thread; /* thread NONE: a task */
};

struct instances {
	ARRAY(struct instance) list;
	bool failed;
};

static void add(const struct trace *t, struct instances *is, struct instance i)
{
	struct instance *new;

	if (i.begin > t->to || i.begin + i.ns < t->from)
		return;
	new = ARRAY_ADD(&is->list);
	is->failed |= !new;
	if (new)
		*new = i;
}

static void gather(const struct trace *t, struct instances *is, uint32_t type,
		   const struct coati_timeline_type *k)
{
	struct coati_timeline_task task;
	struct coati_timeline_region g;

	for (uint32_t i = 0; !k->is_region && coati_timeline_task(t->timeline, i, &task) == 0; i++)
		if (task.type == type)
			add(t, is,
			    (struct instance){ task.end - task.begin, task.begin, i,
					       COATI_TIMELINE_NONE });
	for (uint32_t n = 0; k->is_region && n < coati_timeline_thread_count(t->timeline); n++)
		for (uint32_t i = 0; coati_timeline_region(t->timeline, n, i, &g) == 0; i++)
			if (!strcmp(g.name, k->name))
				add(t, is, (struct instance){ g.end - g.begin, g.begin, i, n });
}

static int by_ns(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int ledger_of(const struct trace *t, const struct instance *i, struct coati_ledger *l)
{
	if (i->thread == COATI_TIMELINE_NONE)
		return coati_timeline_task_ledger(t->timeline, i->number, l);
	return coati_timeline_ledger(t->timeline, i->thread, i->begin, i->begin + i->ns, l);
}

static bool has_bars(const struct trace *t)
{
	size_t width = coati_output_width(&t->out);

	return !width || width >= BAR_WIDTH;
}

static void put_instance(struct trace *t, const struct instance *i, const struct coati_ledger *l)
{
	struct strbuf *s = &t->out.text;
	struct coati_timeline_task k;
	uint64_t sums[SUM_COUNT];
	size_t line = s->len;

	coati_trace_time(s, i->ns, 9);
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
	else if (coati_timeline_task(t->timeline, i->number, &k) == 0)
		coati_strbuf_printf(
			s, "%llu%s%s", (unsigned long long)k.id,
			k.flags & COATI_TIMELINE_OPEN_BEGIN ? " (began before the recording)" : "",
			k.flags & COATI_TIMELINE_OPEN_END ? " (open)" : "");
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

static void json_instance(struct trace *t, struct json *j, const struct instance *i,
			  const struct coati_ledger *l)
{
	struct coati_timeline_task k;
	struct coati_timeline_thread th;

	coati_json_object(j);
	if (i->thread == COATI_TIMELINE_NONE &&
	    coati_timeline_task(t->timeline, i->number, &k) == 0) {
		json_task(j, &k);
	} else if (coati_timeline_thread(t->timeline, i->thread, &th) == 0) {
		coati_json_ki64(j, "tid", th.tid);
		coati_json_ku64(j, "begin_ns", i->begin);
		coati_json_ku64(j, "end_ns", i->begin + i->ns);
	}
	coati_trace_json_ledger(j, l);
	coati_json_end(j);
}

static int put_slowest(struct trace *t, const struct instances *is,
		       const struct coati_timeline_type *k)
{
	size_t nr = t->args->slowest < is->list.len ? t->args->slowest : is->list.len;
	struct json j;
	int r = 0;

	if (t->args->json) {
		coati_trace_json_head(t, &j, TRACE_SCHEMA, "tasks");
		coati_json_kstr(&j, "type", k->name);
		coati_json_ku64(&j, "count", is->list.len);
		coati_json_key(&j, "tasks");
		coati_json_array(&j);
	} else {
		coati_trace_quality(t);
		coati_trace_heading(
			t, has_bars(t) ? "     took  running runnable  blocked   queued  unknown  "
					 "breakdown             begin     which"
				       : "     took  running runnable  blocked   queued  unknown  "
					 "begin     which");
	}
	for (size_t i = 0; r == 0 && i < nr; i++) {
		struct coati_ledger l;

		r = ledger_of(t, &is->list.v[i], &l);
		if (r == 0 && t->args->json)
			json_instance(t, &j, &is->list.v[i], &l);
		else if (r == 0)
			put_instance(t, &is->list.v[i], &l);
	}
	if (t->args->json) {
		coati_json_end(&j);
		coati_json_end(&j);
		coati_strbuf_addc(&t->out.text, '\n');
	}
	return r;
}

int coati_trace_tasks(struct trace *t, uint32_t type)
{
	struct instances is = { .list.max = SIZE_MAX / sizeof(struct instance) };
	struct coati_timeline_type k;
	int r = 0;

	coati_timeline_type(t->timeline, type, &k);
	gather(t, &is, type, &k);
	if (!is.failed && is.list.len)
		qsort(is.list.v, is.list.len, sizeof(*is.list.v), by_ns);
	if (!is.failed)
		r = put_slowest(t, &is, &k);
	ARRAY_FINI(&is.list);
	if (is.failed || r < 0)
		coati_say("out of memory");
	return is.failed || r < 0 ? EXIT_FAILED : EXIT_DONE;
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
