/* SPDX-License-Identifier: MIT */
/* A timeline as an object: made, fed and freed here. What kernel events do to threads is
 * timeline-kernel.c, what live events tell timeline-live.c. */
#include "trace/timeline-parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "live-read/check.h"
#include "reading/contexts.h"
#include "reading/wait.h"
#include "trace/kept.h"
#include "trace/timeline.h"

#define EVENTS_MAX   (UINT64_C(1) << 26)
#define THREADS_MAX  (UINT64_C(1) << 22)
#define TEXT_BYTES   ((size_t)1 << 30)
#define WINDOWS_MAX  ((size_t)1 << 16)
#define NOTES_MAX    64
#define TASK_EVENTS  8 /* a task takes as much memory as so many other events */
#define FINDINGS_MAX 100

static size_t ceiling(const struct coati_timeline *t)
{
	return (size_t)t->opts.max_events;
}

int coati_timeline_new(const struct coati_timeline_opts *opts, struct coati_timeline **ret,
		       struct coati_error *err)
{
	struct coati_timeline *t;

	if (!ret)
		return coati_fail(err, -EINVAL,
				  "coati_timeline_new: no place for the result was given");
	t = coati_alloc(sizeof(*t));
	if (!t)
		return coati_fail(err, -ENOMEM, "out of memory");
	if (SIZED_COPY(&t->opts, opts) < 0) {
		coati_free(t);
		return coati_fail(err, -EINVAL,
				  "options of a newer library, or a wrong size field");
	}
	t->is_fixed = t->opts.max_events != 0;
	if (!t->opts.max_events || t->opts.max_events > EVENTS_MAX)
		t->opts.max_events = EVENTS_MAX;
	coati_arena_init(&t->arena, TEXT_BYTES);
	coati_map_init_strings(&t->texts, ceiling(t));
	coati_map_init(&t->tids, THREADS_MAX);
	coati_map_init(&t->task_ids, ceiling(t));
	coati_map_init_strings(&t->task_types, ceiling(t));
	coati_map_init_strings(&t->region_types, ceiling(t));
	t->threads.max = THREADS_MAX;
	t->wakes.max = t->tasks.max = t->spans.max = t->types.max = ceiling(t);
	t->windows.max = t->thefts.max = WINDOWS_MAX;
	t->notes.max = NOTES_MAX;
	t->findings.max = FINDINGS_MAX;
	t->cpu_last = coati_alloc_array(TIMELINE_CPUS_MAX, sizeof(*t->cpu_last));
	t->cpu_runs = coati_alloc_array(TIMELINE_CPUS_MAX, sizeof(*t->cpu_runs));
	if (!t->cpu_last || !t->cpu_runs) {
		coati_timeline_free(&t);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	*ret = t;
	return 0;
}

static void free_thread(struct thread *th)
{
	ARRAY_FINI(&th->stretches);
	ARRAY_FINI(&th->works);
	ARRAY_FINI(&th->labels);
	ARRAY_FINI(&th->regions);
	ARRAY_FINI(&th->open);
	ARRAY_FINI(&th->logs);
	ARRAY_FINI(&th->faults);
	ARRAY_FINI(&th->samples);
	ARRAY_FINI(&th->irqs);
	ARRAY_FINI(&th->open_irqs);
}

void coati_timeline_free(struct coati_timeline **tp)
{
	struct coati_timeline *t = tp ? *tp : NULL;

	if (!t)
		return;
	*tp = NULL;
	for (size_t i = 0; i < t->threads.len; i++)
		free_thread(&t->threads.v[i]);
	ARRAY_FINI(&t->threads);
	ARRAY_FINI(&t->wakes);
	ARRAY_FINI(&t->tasks);
	ARRAY_FINI(&t->spans);
	ARRAY_FINI(&t->types);
	ARRAY_FINI(&t->windows);
	ARRAY_FINI(&t->thefts);
	ARRAY_FINI(&t->notes);
	ARRAY_FINI(&t->findings);
	coati_map_fini(&t->texts);
	coati_map_fini(&t->tids);
	coati_map_fini(&t->task_ids);
	coati_map_fini(&t->task_types);
	coati_map_fini(&t->region_types);
	coati_arena_fini(&t->arena);
	coati_profile_free(&t->profile);
	coati_contexts_free(&t->contexts);
	coati_kept_free(&t->kept);
	coati_free(t->cpu_last);
	coati_free(t->cpu_runs);
	coati_free(t);
}

const char *coati_timeline_text(struct coati_timeline *t, const char *text)
{
	uint64_t known;
	char *copy;

	if (!text || !*text)
		return "";
	if (coati_map_get_str(&t->texts, text, &known))
		return (const char *)(uintptr_t)known;
	copy = coati_arena_strdup(&t->arena, text);
	if (!copy || coati_map_put_str(&t->texts, copy, (uint64_t)(uintptr_t)copy) < 0)
		return NULL;
	return copy;
}

void coati_timeline_add_note(struct coati_timeline *t, const char *fmt, ...)
{
	struct strbuf s = STRBUF_INIT(4096);
	const char **slot = ARRAY_ADD(&t->notes);
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	if (slot)
		*slot = coati_arena_strdup(&t->arena, s.text);
	if (slot && !*slot)
		t->notes.len--;
	coati_strbuf_fini(&s);
}

/* ---- threads ---- */

/* The first number of a thread is that of the kernel; one that only live events know may have the
 * number of a thread of another process. */
static uint64_t key_of(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* @key: key_of() it, without a process where the kernel's number is meant. */
static struct thread *add_thread_as(struct coati_timeline *t, uint64_t key, int32_t pid,
				    uint64_t time)
{
	int32_t tid = (int32_t)(key & UINT32_MAX);
	struct thread *th = ARRAY_ADD(&t->threads);
	size_t max = t->is_fixed ? ceiling(t) : EVENTS_MAX;
	uint64_t older = COATI_TIMELINE_NONE;

	if (!th)
		return NULL;
	(void)coati_map_get(&t->tids, key, &older);
	th->pid = pid;
	th->tid = tid;
	th->comm = "";
	th->begin = time;
	th->older = (uint32_t)older;
	th->stretches.max = th->works.max = th->labels.max = th->regions.max = max;
	th->open.max = th->logs.max = th->faults.max = th->samples.max = max;
	th->irqs.max = th->open_irqs.max = max;
	if (coati_map_put(&t->tids, key, t->threads.len - 1) < 0) {
		t->threads.len--;
		return NULL;
	}
	return th;
}

static struct thread *add_thread(struct coati_timeline *t, int32_t pid, int32_t tid, uint64_t time)
{
	return add_thread_as(t, key_of(0, tid), pid, time);
}

uint32_t coati_timeline_find_thread(const struct coati_timeline *t, int32_t tid, uint64_t time)
{
	uint64_t at;

	if (!t || !coati_map_get(&t->tids, (uint32_t)tid, &at))
		return COATI_TIMELINE_NONE;
	while (t->threads.v[at].begin > time && t->threads.v[at].older != COATI_TIMELINE_NONE)
		at = t->threads.v[at].older;
	return (uint32_t)at;
}

/* Whether the thread is known to be of another process than @pid. */
static bool is_of_another(const struct coati_timeline *t, uint32_t at, int32_t pid)
{
	return pid > 0 && t->threads.v[at].pid > 0 && t->threads.v[at].pid != pid;
}

uint32_t coati_timeline_find_live_thread(const struct coati_timeline *t, int32_t pid, int32_t tid,
					 uint64_t time)
{
	uint32_t known = coati_timeline_find_thread(t, tid, time);
	uint64_t at;

	if (known == COATI_TIMELINE_NONE || !is_of_another(t, known, pid))
		return known;
	return coati_map_get(&t->tids, key_of(pid, tid), &at) ? (uint32_t)at : COATI_TIMELINE_NONE;
}

void coati_timeline_forget_types(struct coati_timeline *t)
{
	t->types.len = 0;
	coati_map_fini(&t->task_types);
	coati_map_fini(&t->region_types);
	coati_map_init_strings(&t->task_types, ceiling(t));
	coati_map_init_strings(&t->region_types, ceiling(t));
}

void coati_timeline_allow(struct coati_timeline *t, uint64_t threads, uint64_t events)
{
	t->threads.max = threads < THREADS_MAX ? (size_t)threads : (size_t)THREADS_MAX;
	if (!t->is_fixed)
		t->opts.max_events = events < EVENTS_MAX ? events : EVENTS_MAX;
}

int coati_timeline_no_thread(struct coati_timeline *t)
{
	if (t->threads.len < t->threads.max)
		return -ENOMEM;
	t->over[LIMIT_THREADS]++;
	return -E2BIG;
}

static struct thread *take_part(struct coati_timeline *t, uint32_t at, int32_t pid)
{
	if (t->threads.v[at].pid <= 0)
		t->threads.v[at].pid = pid;
	t->threads.v[at].outside = false;
	return &t->threads.v[at];
}

struct thread *coati_timeline_need_thread(struct coati_timeline *t, int32_t pid, int32_t tid,
					  uint64_t time)
{
	uint32_t at = coati_timeline_find_thread(t, tid, time);

	return at == COATI_TIMELINE_NONE ? add_thread(t, pid, tid, time) : take_part(t, at, pid);
}

struct thread *coati_timeline_need_live_thread(struct coati_timeline *t, int32_t pid, int32_t tid,
					       uint64_t time)
{
	uint32_t at = coati_timeline_find_live_thread(t, pid, tid, time);
	bool is_taken = coati_timeline_find_thread(t, tid, time) != COATI_TIMELINE_NONE;

	if (at != COATI_TIMELINE_NONE)
		return take_part(t, at, pid);
	return add_thread_as(t, key_of(is_taken ? pid : 0, tid), pid, time);
}

uint32_t coati_timeline_need_waker(struct coati_timeline *t, int32_t pid, int32_t tid,
				   uint64_t time)
{
	uint32_t at = coati_timeline_find_thread(t, tid, time);
	struct thread *th;

	if (at != COATI_TIMELINE_NONE)
		return at;
	th = add_thread(t, pid, tid, time);
	if (!th)
		return COATI_TIMELINE_NONE;
	th->outside = true;
	return (uint32_t)(th - t->threads.v);
}

/* One that is started is another than who had its number before; but one that was only said to
 * exist is the same: it started while the recorder described what runs already. */
static int take_start(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	uint32_t at = coati_timeline_find_thread(t, e->tid, UINT64_MAX);
	struct thread *th = at == COATI_TIMELINE_NONE ? NULL : &t->threads.v[at];
	uint64_t begin = e->time > t->info.begin ? e->time : t->info.begin;

	/* what another process said of this number stays that process's */
	if (!th || th->end || th->stretches.len ||
	    (!th->outside && is_of_another(t, (uint32_t)(th - t->threads.v), e->pid)))
		th = add_thread(t, e->pid, e->tid, begin);
	if (!th)
		return coati_timeline_no_thread(t);
	th->told = true;
	th->outside = false;
	th->pid = e->pid;
	th->parent = e->other;
	th->begin = begin;
	return e->kind == COATI_TIMELINE_START ? coati_timeline_add_kernel(t, e) : 0;
}

static int take_name(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	struct thread *th = coati_timeline_need_thread(t, e->pid, e->tid, e->time);

	if (!th)
		return coati_timeline_no_thread(t);
	th->comm = coati_timeline_text(t, e->text);
	return th->comm ? 0 : -ENOMEM;
}

/* Who is there already is not known to have done anything before. */
static void take_begin(struct coati_timeline *t, uint64_t time)
{
	t->info.begin = time;
	for (size_t i = 0; i < t->threads.len; i++)
		if (t->threads.v[i].begin < time)
			t->threads.v[i].begin = time;
}

int coati_timeline_add(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	int r;

	if (!t || !e || t->ended)
		return -EINVAL;
	if (e->time > t->info.end && e->kind != COATI_TIMELINE_STOLEN)
		t->info.end = e->time;
	if (!t->is_fixed && t->nr_events >= t->opts.max_events) {
		t->over[LIMIT_EVENTS]++;
		t->info.refused++;
		return 0;
	}
	t->nr_events += e->kind == COATI_TIMELINE_TASK_BEGIN ? TASK_EVENTS : 1;
	switch (e->kind) {
	case COATI_TIMELINE_BEGIN:
		take_begin(t, e->time);
		return 0;
	case COATI_TIMELINE_START:
	case COATI_TIMELINE_EXISTS:
		r = take_start(t, e);
		break;
	case COATI_TIMELINE_NAME:
		r = take_name(t, e);
		break;
	case COATI_TIMELINE_EXIT ... COATI_TIMELINE_LOST:
		r = coati_timeline_add_kernel(t, e);
		break;
	case COATI_TIMELINE_TASK_BEGIN ... COATI_TIMELINE_LIVE_LOST:
		r = coati_timeline_add_live(t, e);
		break;
	default:
		return -EINVAL;
	}
	if (r == -E2BIG) {
		t->info.refused++;
		r = 0;
	}
	return r;
}

/* ---- the end ---- */

static int by_begin(const void *a, const void *b)
{
	const struct loss_window *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* In order of time, and apart from each other. */
static void join_windows(struct coati_timeline *t)
{
	struct loss_window *v = t->windows.v;
	size_t nr = 0;

	if (t->windows.len)
		qsort(v, t->windows.len, sizeof(*v), by_begin);
	for (size_t i = 0; i < t->windows.len; i++) {
		if (nr && v[i].from <= v[nr - 1].to)
			v[nr - 1].to = v[i].to > v[nr - 1].to ? v[i].to : v[nr - 1].to;
		else
			v[nr++] = v[i];
	}
	t->windows.len = nr;
}

/* The first that ends behind @time; NULL: none does. */
static const struct loss_window *window_behind(const struct coati_timeline *t, uint64_t time)
{
	size_t low = 0, high = t->windows.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->windows.v[mid].to > time)
			high = mid;
		else
			low = mid + 1;
	}
	return low < t->windows.len ? &t->windows.v[low] : NULL;
}

static void forget_stretch(struct stretch *s)
{
	s->wait = COATI_WAIT_UNKNOWN;
	s->stack = COATI_TIMELINE_NONE;
	s->asks = false;
}

/* What lies in a window of loss, and until the next thing that is known, is not known. A stretch
 * has at most one part that stays: however many losses there were, there are at most twice as many.
 */
static int blank(struct coati_timeline *t, struct thread *th)
{
	struct thread fresh = { .stretches.max = th->stretches.max };

	for (size_t i = 0; i < th->stretches.len; i++) {
		const struct stretch *s = &th->stretches.v[i];
		const struct loss_window *w =
			window_behind(t, s->begin > th->begin ? s->begin : th->begin);
		bool hit = w && w->from < stretch_end(th, i);
		struct stretch *copy = ARRAY_ADD(&fresh.stretches), *rest = copy;

		if (copy)
			*copy = *s;
		if (copy && hit && w->from > s->begin) {
			rest = ARRAY_ADD(&fresh.stretches);
			if (rest)
				*rest = (struct stretch){ .begin = w->from, .cpu = -1 };
		}
		if (!rest) {
			ARRAY_FINI(&fresh.stretches);
			return -ENOMEM;
		}
		if (hit)
			forget_stretch(rest);
	}
	ARRAY_FINI(&th->stretches);
	th->stretches.v = fresh.stretches.v;
	th->stretches.len = fresh.stretches.len;
	th->stretches.cap = fresh.stretches.cap;
	return 0;
}

int coati_timeline_end_threads(struct coati_timeline *t)
{
	int r = 0;

	join_windows(t);
	for (size_t i = 0; i < t->threads.len; i++) {
		struct thread *th = &t->threads.v[i];

		if (!th->end || th->end > t->info.end)
			th->end = t->info.end;
		if (th->end < th->begin || th->outside)
			th->end = th->begin;
		if (r == 0 && t->windows.len && th->stretches.len)
			r = blank(t, th);
	}
	return r;
}

int coati_timeline_end_kernel(struct coati_timeline *t, uint64_t time)
{
	int r;

	t->ended = true;
	if (time > t->info.begin)
		t->info.end = time;
	for (size_t i = 0; i < sizeof(t->cpus); i++)
		t->info.nr_cpus += (uint32_t)__builtin_popcount(t->cpus[i]);
	r = coati_timeline_end_waits(t);
	return r < 0 ? r : coati_timeline_end_threads(t);
}

int coati_timeline_end(struct coati_timeline *t, uint64_t time, struct coati_error *err)
{
	int r;

	if (!t || t->ended)
		return coati_fail(err, -EINVAL, "timeline: none is open, or it has ended");
	r = coati_timeline_end_kernel(t, time);
	if (r == 0)
		r = coati_timeline_end_live(t);
	if (r == 0)
		r = coati_timeline_end_types(t);
	return r < 0 ? coati_fail(err, r, "timeline: %m") : 0;
}

/* ---- asking ---- */

void coati_timeline_info(const struct coati_timeline *t, struct coati_timeline_info *ret)
{
	*ret = t->info;
}

const char *coati_timeline_note(const struct coati_timeline *t, uint32_t i)
{
	return i < t->notes.len ? t->notes.v[i] : NULL;
}

const struct coati_trace_finding *coati_timeline_finding(const struct coati_timeline *t, uint32_t i)
{
	return i < t->findings.len ? &t->findings.v[i] : NULL;
}

struct coati_profile *coati_timeline_profile(const struct coati_timeline *t)
{
	return t->profile;
}

uint32_t coati_timeline_thread_count(const struct coati_timeline *t)
{
	return (uint32_t)t->threads.len;
}

int coati_timeline_thread(const struct coati_timeline *t, uint32_t i,
			  struct coati_timeline_thread *ret)
{
	const struct thread *th;

	if (i >= t->threads.len)
		return -ENOENT;
	th = &t->threads.v[i];
	*ret = (struct coati_timeline_thread){ .pid = th->pid,
					       .tid = th->tid,
					       .comm = th->comm,
					       .begin = th->begin,
					       .end = th->end,
					       .nr_intervals = (uint32_t)th->stretches.len,
					       .nr_regions = (uint32_t)th->regions.len,
					       .nr_logs = (uint32_t)th->logs.len };
	return 0;
}

int coati_timeline_interval(const struct coati_timeline *t, uint32_t thread, uint32_t i,
			    struct coati_timeline_interval *ret)
{
	const struct thread *th = thread < t->threads.len ? &t->threads.v[thread] : NULL;
	const struct stretch *s;
	bool woken;

	if (!th || i >= th->stretches.len)
		return -ENOENT;
	s = &th->stretches.v[i];
	woken = s->wait == COATI_WAIT_RUNNABLE;
	*ret = (struct coati_timeline_interval){ .begin = s->begin,
						 .end = stretch_end(th, i),
						 .wait = (enum coati_wait)s->wait,
						 .cpu = s->cpu,
						 .stack = woken ? COATI_TIMELINE_NONE : s->stack,
						 .wake = woken ? s->stack : COATI_TIMELINE_NONE };
	return 0;
}
