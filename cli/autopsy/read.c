/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder of a process, read twice: once to know when it ended, and once for what came
 * shortly before. Of each thread the last events are kept, and over all threads the last log lines.
 */
#include "cli/autopsy/autopsy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/search.h"
#include "live-read/check.h"
#include "live-read/flight.h"
#include "live-read/reader.h"

#define THREADS_MAX (1u << 20)
#define LINE_MAX_   (1u << 16)

/* ---- tails ---- */

static void free_event(struct autopsy_event *e)
{
	coati_free(e->line);
	coati_free(e->text);
	*e = (struct autopsy_event){ 0 };
}

static void free_tail(struct autopsy_tail *t)
{
	for (uint32_t i = 0; i < t->len; i++)
		free_event(&t->v[i]);
	coati_free(t->v);
	*t = (struct autopsy_tail){ 0 };
}

const struct autopsy_event *coati_autopsy_tail_at(const struct autopsy_tail *t, uint32_t i)
{
	return &t->v[(t->first + i) % t->len];
}

/* Room for one more: a new one, or the oldest again. */
static struct autopsy_event *tail_room(struct autopsy_tail *t, uint32_t keep)
{
	struct autopsy_event *e;

	if (t->len == keep) {
		e = &t->v[t->first];
		t->first = (t->first + 1) % keep;
		free_event(e);
		return e;
	}
	if (t->len == t->max) {
		uint32_t max = t->max ? 2 * t->max : 4;
		struct autopsy_event *v = coati_realloc_array(t->v, max, sizeof(*v));

		if (!v)
			return NULL;
		t->v = v;
		t->max = max;
	}
	e = &t->v[t->len++];
	*e = (struct autopsy_event){ 0 };
	return e;
}

/* Behind time and thread, which are shown in another way; so is for a person how long it took. */
static char *line_of(const struct coati_live_reader *t, const struct coati_trace_event *event,
		     bool json)
{
	struct coati_trace_event e = *event;
	static char line[LINE_MAX_];
	const char *at = line;

	if (!json)
		e.duration = COATI_TRACE_NO_DURATION;
	coati_live_reader_format(t, &e, line, sizeof(line));
	for (int i = 0; i < 2; i++) {
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	return coati_strdup(at);
}

static int keep(const struct coati_live_reader *t, struct autopsy_tail *tail, uint32_t nr,
		bool json, const struct coati_trace_event *e)
{
	struct autopsy_event *to;

	if (!nr)
		return 0;
	to = tail_room(tail, nr);
	if (!to)
		return -ENOMEM;
	to->event = *e;
	to->event.stack = NULL;
	to->event.stack_count = 0;
	to->line = line_of(t, e, json);
	to->text = coati_strndup(e->text.text, e->text.size);
	return to->line && to->text ? 0 : -ENOMEM;
}

/* ---- threads ---- */

static struct autopsy_thread *get_thread(struct autopsy *a, uint32_t tid)
{
	struct autopsy_thread *t;
	uint64_t at;

	if (coati_map_get(&a->by_tid, tid, &at))
		return &a->threads.v[at];
	t = ARRAY_ADD(&a->threads);
	if (!t || coati_map_put(&a->by_tid, tid, a->threads.len - 1) < 0)
		return NULL;
	t->tid = tid;
	return t;
}

static int by_tid(const void *a, const void *b)
{
	const struct autopsy_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void sort_threads(struct autopsy *a)
{
	if (a->threads.len)
		qsort(a->threads.v, a->threads.len, sizeof(*a->threads.v), by_tid);
	for (size_t i = 0; i < a->threads.len; i++)
		coati_map_put(&a->by_tid, a->threads.v[i].tid, i); /* it is there: cannot fail */
}

static void set_name(struct autopsy_thread *t, const struct coati_trace_text *text)
{
	size_t len = text->size < sizeof(t->name) ? text->size : sizeof(t->name) - 1;

	memcpy(t->name, text->text, len);
	t->name[len] = 0;
}

static bool wants_thread(const struct autopsy_args *args, uint32_t tid)
{
	for (size_t i = 0; i < args->tids.len; i++)
		if ((uint32_t)args->tids.v[i] == tid)
			return true;
	return !args->tids.len;
}

static bool is_shown(const struct autopsy *a, const struct coati_trace_event *e)
{
	return !(e->flags & COATI_TRACE_KNOWN) && wants_thread(a->args, e->tid);
}

/* Handle an event of the first pass. */
static int note_event(struct autopsy *a, const struct coati_trace_event *e)
{
	struct autopsy_thread *t;

	if (!a->first_ns || e->time < a->first_ns)
		a->first_ns = e->time;
	if (e->time > a->end_ns)
		a->end_ns = e->time;
	a->nr_logs += e->kind == COATI_TRACE_LOG && is_shown(a, e);
	if (!e->tid)
		return 0;
	t = get_thread(a, e->tid);
	if (!t)
		return -ENOMEM;
	t->nr += is_shown(a, e);
	t->hidden = !wants_thread(a->args, e->tid);
	t->events += e->kind != COATI_TRACE_MISSING && e->kind != COATI_TRACE_LOST;
	t->last_ns = e->time;
	if (e->kind == COATI_TRACE_TASK_ENTER)
		t->task = e->id;
	if (e->kind == COATI_TRACE_THREAD_NAME)
		set_name(t, &e->text);
	return 0;
}

/* Handle an event of the second pass. */
static int keep_event(struct autopsy *a, const struct coati_live_reader *trace,
		      const struct coati_trace_event *e)
{
	const struct autopsy_args *args = a->args;
	struct autopsy_thread *t;
	int n = 0;

	if (!is_shown(a, e))
		return 0;
	t = e->tid ? get_thread(a, e->tid) : NULL;
	if (t)
		t->passed++;
	a->logs_passed += e->kind == COATI_TRACE_LOG;
	if (e->time + args->last_ns < a->end_ns)
		return 0;
	/* only what can be among the last is made ready: that takes longer than reading it */
	if (t && t->passed + args->events > t->nr)
		n = keep(trace, &t->tail, args->events, args->json, e);
	if (n == 0 && e->kind == COATI_TRACE_LOG && a->logs_passed + args->logs > a->nr_logs)
		n = keep(trace, &a->logs, args->logs, args->json, e);
	return n;
}

/* ---- reading ---- */

static int check_event(struct autopsy *a, struct coati_trace_check *check,
		       const struct coati_trace_event *e)
{
	struct coati_trace_finding finding;
	int r = a->too_deep ? 0 : coati_trace_check_event(check, e, &finding);

	if (r > 0 && !a->findings++)
		a->finding = finding;
	a->too_deep |= r == -E2BIG;
	return r == -E2BIG || r > 0 ? 0 : r;
}

static int take_events(struct autopsy *a, struct coati_live_reader *trace,
		       struct coati_trace_check *check, bool second)
{
	const struct coati_trace_event *const *events;
	int n, r = 0;

	while ((n = coati_live_reader_take(trace, &events)) > 0) {
		for (int i = 0; i < n && r == 0; i++) {
			r = second ? keep_event(a, trace, events[i]) : note_event(a, events[i]);
			if (r == 0 && check)
				r = check_event(a, check, events[i]);
		}
		if (r < 0)
			return r;
	}
	return n;
}

static int read_batches(struct autopsy *a, struct coati_flight *f, struct coati_live_reader *trace,
			struct coati_trace_check *check, bool second)
{
	struct coati_error err;
	const void *bytes;
	uint64_t where;
	size_t size;
	int n, r;

	while ((n = coati_flight_next(f, &bytes, &size, &where)) > 0) {
		r = coati_live_reader_feed(trace, bytes, size, where, &err);
		r = r < 0 ? r : take_events(a, trace, check, second);
		if (r < 0)
			return r;
	}
	if (n == 0)
		n = coati_live_reader_finish(trace);
	return n < 0 ? n : take_events(a, trace, check, second);
}

static int copy_open(const struct coati_live_opened *v, uint32_t nr, struct autopsy_open *ret)
{
	ret->v = coati_alloc_array(nr + 1, sizeof(*v));
	if (!ret->v)
		return -ENOMEM;
	if (nr)
		memcpy(ret->v, v, nr * sizeof(*v));
	ret->len = nr;
	return 0;
}

/* Both lists of the trace are one memory. */
static int keep_open(struct autopsy *a)
{
	const struct coati_live_opened *v;
	uint32_t nr;
	int n = coati_live_reader_open_regions(a->trace, &v, &nr);

	n = n < 0 ? n : copy_open(v, nr, &a->regions);
	n = n < 0 ? n : coati_live_reader_open_tasks(a->trace, &v, &nr);
	return n < 0 ? n : copy_open(v, nr, &a->tasks);
}

static int read_once(struct autopsy *a, const struct autopsy_target *t, bool second,
		     struct coati_error *err)
{
	struct coati_trace_check *check = NULL;
	struct coati_live_reader *trace = NULL;
	struct coati_flight *f = NULL;
	int n = coati_autopsy_open(t, &f, err);

	if (n < 0)
		return n;
	n = coati_live_reader_new(NULL, &trace, err);
	if (n == 0 && second)
		n = coati_trace_check_new(&check, err);
	if (n == 0) {
		n = read_batches(a, f, trace, check, second);
		if (n < 0)
			coati_fail(err, n, "%s: %m", t->path);
	}
	coati_flight_get_info(f, &a->info);
	coati_flight_close(&f);
	coati_trace_check_free(&check);
	if (n == 0 && second) {
		a->trace = trace;
		coati_live_reader_get_quality(trace, &a->quality);
		n = keep_open(a);
	} else {
		coati_live_reader_free(&trace);
	}
	return n;
}

int coati_autopsy_read(struct autopsy *a, const struct autopsy_target *t, struct coati_error *err)
{
	int n;

	a->threads.max = THREADS_MAX;
	coati_map_init(&a->by_tid, THREADS_MAX);
	n = read_once(a, t, false, err);
	sort_threads(a);
	return n < 0 ? n : read_once(a, t, true, err);
}

void coati_autopsy_fini(struct autopsy *a)
{
	for (size_t i = 0; i < a->threads.len; i++)
		free_tail(&a->threads.v[i].tail);
	ARRAY_FINI(&a->threads);
	coati_map_fini(&a->by_tid);
	coati_free(a->regions.v);
	coati_free(a->tasks.v);
	free_tail(&a->logs);
	coati_live_reader_free(&a->trace);
}

/* The first whose thread (or id) is not below @key. */
static uint32_t find_open(const struct autopsy_open *o, uint64_t key, bool tasks)
{
	return SEARCH(mid, 0, o->len, (tasks ? o->v[mid].id : o->v[mid].tid) < key);
}

const struct coati_live_opened *coati_autopsy_regions(const struct autopsy *a, uint32_t tid,
						      uint32_t *ret_nr)
{
	uint32_t first = find_open(&a->regions, tid, false);

	*ret_nr = find_open(&a->regions, (uint64_t)tid + 1, false) - first;
	return &a->regions.v[first];
}

const struct coati_live_opened *coati_autopsy_task(const struct autopsy *a, uint64_t id)
{
	uint32_t at = find_open(&a->tasks, id, true);

	return at < a->tasks.len && a->tasks.v[at].id == id ? &a->tasks.v[at] : NULL;
}

void coati_autopsy_ended(const struct coati_flight_info *info, struct strbuf *out)
{
	const char *name = info->signal ? sigabbrev_np((int)info->signal) : NULL;

	if (info->is_alive)
		coati_strbuf_adds(out, "is alive");
	else if (name)
		coati_strbuf_printf(out, "died of SIG%s", name);
	else if (info->has_ended)
		coati_strbuf_adds(out, "had stopped its recorder");
	else
		coati_strbuf_adds(out, "died while it was recorded");
}
