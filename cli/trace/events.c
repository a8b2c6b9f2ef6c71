/* SPDX-License-Identifier: MIT */
/*
 * Everything that happened, in order of time, a line (or a JSON object) each: what threads began to
 * do, who woke whom, tasks, regions, logs. Of all threads, or of one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define FLUSH_BYTES (1u << 16)

enum what { STATE, WAKE, REGION_BEGIN, REGION_END, TASK_BEGIN, WORK, TASK_END, LOG };

struct entry {
	uint64_t time;
	uint32_t thread, index;
	uint32_t what;
	uint32_t order; /* of those at the same time */
};

struct entries {
	ARRAY(struct entry) list;
	bool failed;
};

static void add(const struct trace *t, struct entries *es, struct entry e)
{
	struct entry *new;

	if (e.time < t->from || e.time > t->to)
		return;
	new = ARRAY_ADD(&es->list);
	es->failed |= !new;
	if (!new)
		return;
	e.order = (uint32_t)es->list.len;
	*new = e;
}

static void add_thread(const struct trace *t, struct entries *es, uint32_t thread)
{
	struct coati_timeline_interval v;
	struct coati_timeline_region g;
	struct coati_timeline_log l;

	for (uint32_t i = 0; coati_timeline_interval(t->timeline, thread, i, &v) == 0; i++)
		add(t, es, (struct entry){ v.begin, thread, i, STATE, 0 });
	for (uint32_t i = 0; coati_timeline_region(t->timeline, thread, i, &g) == 0; i++) {
		add(t, es, (struct entry){ g.begin, thread, i, REGION_BEGIN, 0 });
		if (!(g.flags & COATI_TIMELINE_OPEN_END))
			add(t, es, (struct entry){ g.end, thread, i, REGION_END, 0 });
	}
	for (uint32_t i = 0; coati_timeline_log(t->timeline, thread, i, &l) == 0; i++)
		add(t, es, (struct entry){ l.time, thread, i, LOG, 0 });
}

static void add_task(const struct trace *t, struct entries *es, uint32_t i,
		     const struct coati_timeline_task *k, uint32_t only)
{
	struct coati_timeline_span s;
	const bool all = only == COATI_TIMELINE_NONE;

	if (!(k->flags & COATI_TIMELINE_OPEN_BEGIN) && (all || only == k->begin_thread))
		add(t, es, (struct entry){ k->begin, k->begin_thread, i, TASK_BEGIN, 0 });
	for (uint32_t n = 0; coati_timeline_span(t->timeline, i, n, &s) == 0; n++)
		if (all || only == s.thread)
			add(t, es, (struct entry){ s.begin, s.thread, i, WORK, 0 });
	if (!(k->flags & COATI_TIMELINE_OPEN_END) && (all || only == k->end_thread))
		add(t, es, (struct entry){ k->end, k->end_thread, i, TASK_END, 0 });
}

static void gather(const struct trace *t, struct entries *es, uint32_t only)
{
	struct coati_timeline_wake w;
	struct coati_timeline_task k;

	for (uint32_t i = 0; i < coati_timeline_thread_count(t->timeline); i++)
		if (only == COATI_TIMELINE_NONE || only == i)
			add_thread(t, es, i);
	for (uint32_t i = 0; coati_timeline_wake(t->timeline, i, &w) == 0; i++)
		if (only == COATI_TIMELINE_NONE || only == w.waker || only == w.woken)
			add(t, es, (struct entry){ w.time, w.waker, i, WAKE, 0 });
	for (uint32_t i = 0; coati_timeline_task(t->timeline, i, &k) == 0; i++)
		add_task(t, es, i, &k, only);
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* who is woken is so after the wake */
	if (x->what != y->what && (x->what == WAKE || y->what == WAKE))
		return x->what == WAKE ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- lines ---- */

static void put_state(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	struct coati_timeline_interval v;

	coati_timeline_interval(t->timeline, e->thread, e->index, &v);
	coati_strbuf_adds(s, coati_wait_name(v.wait));
	if (v.wait == COATI_WAIT_RUNNING && v.cpu >= 0)
		coati_strbuf_printf(s, " cpu=%d", v.cpu);
	coati_strbuf_adds(s, " for=");
	coati_format_duration(s, v.end - v.begin);
	coati_trace_stack_after(t, s, " at=", v.stack, 3);
}

static void put_wake(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	struct coati_timeline_wake w;
	struct coati_timeline_task k;

	coati_timeline_wake(t->timeline, e->index, &w);
	coati_strbuf_adds(s, "wakes ");
	coati_trace_thread_name(t, s, w.woken);
	coati_strbuf_printf(s, " from=%s blocked=", coati_wait_name(w.wait));
	coati_format_duration(s, w.blocked_ns);
	if (coati_timeline_task(t->timeline, w.waker_task, &k) == 0)
		coati_strbuf_printf(s, " task=%llu", (unsigned long long)k.id);
	if (w.labels[0]) {
		coati_strbuf_adds(s, " labels=");
		coati_strbuf_clean(s, w.labels, strlen(w.labels));
	}
	if (w.flags & COATI_TIMELINE_IMPLIED)
		coati_strbuf_adds(s, " by-ending");
	coati_trace_stack_after(t, s, " at=", w.stack, 3);
}

/* The CPU on which the thread ran then, -1: not known. */
static int32_t cpu_at(const struct trace *t, uint32_t thread, uint64_t time)
{
	struct coati_timeline_interval v;
	struct coati_timeline_thread th;
	uint32_t low = 0, high;

	if (coati_timeline_thread(t->timeline, thread, &th) < 0)
		return -1;
	for (high = th.nr_intervals; low < high;) {
		uint32_t mid = low + (high - low) / 2;

		coati_timeline_interval(t->timeline, thread, mid, &v);
		if (v.begin <= time)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || coati_timeline_interval(t->timeline, thread, low - 1, &v) < 0)
		return -1;
	return v.wait == COATI_WAIT_RUNNING ? v.cpu : -1;
}

static void put_region(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	struct coati_timeline_region g;

	coati_timeline_region(t->timeline, e->thread, e->index, &g);
	coati_strbuf_adds(s, e->what == REGION_BEGIN ? "region-begin " : "region-end ");
	coati_strbuf_clean(s, g.name, strlen(g.name));
	if (e->what == REGION_END) {
		coati_strbuf_adds(s, " took=");
		coati_format_duration(s, g.end - g.begin);
	}
}

static void put_task(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	static const char *const words[] = {
		[TASK_BEGIN] = "task-begin", [WORK] = "task-enter", [TASK_END] = "task-end"
	};
	struct coati_timeline_task k;
	int32_t cpu = cpu_at(t, e->thread, e->time);

	coati_timeline_task(t->timeline, e->index, &k);
	coati_strbuf_printf(s, "%s %llu ", words[e->what], (unsigned long long)k.id);
	coati_strbuf_clean(s, k.name, strlen(k.name));
	if (e->what == TASK_END && k.flags & COATI_TIMELINE_BEGIN_UNKNOWN) {
		coati_strbuf_adds(s, " began before the recording");
	} else if (e->what == TASK_END) {
		coati_strbuf_adds(s, " took=");
		coati_format_duration(s, k.end - k.begin);
	}
	if (cpu >= 0)
		coati_strbuf_printf(s, " cpu=%d", cpu);
}

static void put_log(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	struct coati_timeline_log l;

	coati_timeline_log(t->timeline, e->thread, e->index, &l);
	coati_strbuf_adds(s, "log ");
	coati_strbuf_clean(s, l.text, strlen(l.text));
}

static void put_text(const struct trace *t, struct strbuf *s, const struct entry *e)
{
	switch (e->what) {
	case STATE:
		put_state(t, s, e);
		break;
	case WAKE:
		put_wake(t, s, e);
		break;
	case REGION_BEGIN:
	case REGION_END:
		put_region(t, s, e);
		break;
	case LOG:
		put_log(t, s, e);
		break;
	default:
		put_task(t, s, e);
	}
}

static void put_json(const struct trace *t, struct json *j, const struct entry *e,
		     struct strbuf *text)
{
	struct coati_timeline_thread th;

	coati_json_object(j);
	coati_json_ku64(j, "time_ns", e->time);
	if (coati_timeline_thread(t->timeline, e->thread, &th) == 0) {
		coati_json_ki64(j, "pid", th.pid);
		coati_json_ki64(j, "tid", th.tid);
		coati_json_kstr(j, "comm", th.comm);
	}
	coati_strbuf_clear(text);
	put_text(t, text, e);
	coati_json_kstr(j, "event", text->text);
	coati_json_end(j);
}

static void put_line(struct trace *t, const struct entry *e)
{
	struct strbuf *s = &t->out.text, tail = STRBUF_INIT(1u << 20);
	size_t line = s->len;

	coati_trace_when(t, s, e->time);
	coati_strbuf_adds(s, "  ");
	coati_trace_thread_name(t, s, e->thread);
	coati_strbuf_adds(s, "  ");
	put_text(t, &tail, e);
	coati_trace_tail(t, line, tail.text);
	coati_strbuf_fini(&tail);
}

static void put_all(struct trace *t, const struct entries *es, const char *view)
{
	struct strbuf text = STRBUF_INIT(1u << 20);
	size_t nr = es->list.len;
	struct json j;

	if (t->args->limit && t->args->limit < nr)
		nr = t->args->limit;
	if (t->args->json) {
		coati_trace_json_head(t, &j, TRACE_SCHEMA, view);
		coati_json_key(&j, "events");
		coati_json_array(&j);
	} else {
		coati_trace_quality(t);
	}
	for (size_t i = 0; i < nr; i++) {
		if (t->args->json)
			put_json(t, &j, &es->list.v[i], &text);
		else
			put_line(t, &es->list.v[i]);
		if (t->out.text.len > FLUSH_BYTES && !coati_output_flush(&t->out))
			break;
	}
	if (t->args->json) {
		coati_json_end(&j);
		coati_json_end(&j);
		coati_strbuf_addc(&t->out.text, '\n');
	} else if (nr < es->list.len) {
		coati_strbuf_printf(&t->out.text, "... and %zu more; -n 0 shows all\n",
				    es->list.len - nr);
	}
	coati_strbuf_fini(&text);
}

static int show(struct trace *t, uint32_t only, const char *view)
{
	struct entries es = { .list.max = SIZE_MAX / sizeof(struct entry) };

	gather(t, &es, only);
	if (!es.failed) {
		if (es.list.len)
			qsort(es.list.v, es.list.len, sizeof(*es.list.v), by_time);
		put_all(t, &es, view);
	} else {
		coati_say("out of memory");
	}
	ARRAY_FINI(&es.list);
	return es.failed ? EXIT_FAILED : EXIT_DONE;
}

int coati_trace_events(struct trace *t)
{
	return show(t, COATI_TIMELINE_NONE, "events");
}

/* By number, or the busiest of that name. */
static uint32_t find_thread(const struct trace *t)
{
	struct coati_timeline_thread th;
	uint32_t best = COATI_TIMELINE_NONE;
	uint64_t tid = 0, most = 0;
	bool by_number = coati_parse_u64(t->args->thread, 1, INT32_MAX, &tid) == 0;

	for (uint32_t i = 0; coati_timeline_thread(t->timeline, i, &th) == 0; i++) {
		if (by_number ? (uint64_t)th.tid != tid : strcmp(th.comm, t->args->thread) != 0)
			continue;
		if (best == COATI_TIMELINE_NONE || th.nr_intervals > most) {
			best = i;
			most = th.nr_intervals;
		}
	}
	return best;
}

int coati_trace_thread(struct trace *t)
{
	uint32_t thread = find_thread(t);

	if (thread == COATI_TIMELINE_NONE) {
		coati_say("no thread has the number or name %.100s; coati trace lists them",
			  t->args->thread);
		return EXIT_FAILED;
	}
	return show(t, thread, "thread");
}
