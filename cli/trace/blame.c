/* SPDX-License-Identifier: MIT */
/*
 * Who let whom wait: waits that are alike (waiter's and waker's names, what for, what task, which
 * code) as one row, by the time that was waited. Every wait is in the table: its rows, that of the
 * waits without a waker included, add up to the blocked time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "reading/wait.h"
#include "trace/timeline.h"

struct blame {
	struct coati_timeline_wake wake; /* one of them */
	uint32_t stack; /* of the waker; where there is none, with which the waiter left its CPU */
	const char *woken, *waker, *task;
	uint64_t ns, nr;
};

struct blames {
	ARRAY(struct blame) list;
	struct map index;
	uint64_t ns;	     /* of all waits */
	struct blame no_one; /* waits without a waker: ns and nr alone */
	uint64_t open_ns;    /* of these, that had not ended with the recording */
};

static const char *comm_of(const struct trace *t, uint32_t thread)
{
	struct coati_timeline_thread th;

	if (thread == COATI_TIMELINE_NONE || coati_timeline_thread(t->timeline, thread, &th) < 0)
		return "interrupt";
	return th.comm;
}

static const char *type_of(const struct trace *t, uint32_t task)
{
	struct coati_timeline_task k;

	return coati_timeline_task(t->timeline, task, &k) == 0 ? k.name : "";
}

static uint64_t key_of(const struct blame *b)
{
	struct {
		const char *woken, *waker, *task;
		uint64_t wait, stack;
	} key = { b->woken, b->waker, b->task,
		  b->wake.wait | (uint64_t)(b->wake.flags & COATI_TIMELINE_IMPLIED) << 32,
		  b->stack };

	return coati_hash_bytes(&key, sizeof(key), 0);
}

static int add(const struct trace *t, struct blames *bs, const struct coati_timeline_wake *w,
	       uint32_t waiter_stack, uint64_t ns)
{
	struct blame b = { .wake = *w,
			   .stack = w->waker == COATI_TIMELINE_NONE ? waiter_stack : w->stack,
			   .woken = comm_of(t, w->woken),
			   .waker = comm_of(t, w->waker),
			   .task = type_of(t, w->waker_task) };
	struct blame *row;
	uint64_t at;

	if (coati_map_get(&bs->index, key_of(&b), &at)) {
		row = &bs->list.v[at];
	} else {
		row = ARRAY_ADD(&bs->list);
		if (!row || coati_map_put(&bs->index, key_of(&b), bs->list.len - 1) < 0)
			return -ENOMEM;
		*row = b;
	}
	row->nr++;
	row->ns += ns;
	return 0;
}

static bool is_blocked(enum coati_wait wait)
{
	return wait != COATI_WAIT_UNKNOWN && wait != COATI_WAIT_RUNNING &&
	       wait != COATI_WAIT_RUNNABLE && wait != COATI_WAIT_PREEMPTED;
}

/* A wait, as much of it as lies in the range that is shown; @next is what the thread did then. */
static int add_wait(const struct trace *t, struct blames *bs,
		    const struct coati_timeline_interval *wait,
		    const struct coati_timeline_interval *next)
{
	uint64_t from = wait->begin > t->from ? wait->begin : t->from;
	uint64_t to = wait->end < t->to ? wait->end : t->to;
	struct coati_timeline_wake w;

	if (!is_blocked(wait->wait) || to <= from)
		return 0;
	bs->ns += to - from;
	if (next && next->wait == COATI_WAIT_RUNNABLE &&
	    coati_timeline_wake(t->timeline, next->wake, &w) == 0) {
		w.wait = wait->wait;
		return add(t, bs, &w, wait->stack, to - from);
	}
	bs->no_one.ns += to - from;
	bs->no_one.nr++;
	bs->open_ns += next ? 0 : to - from;
	return 0;
}

static int add_thread(const struct trace *t, struct blames *bs, uint32_t thread)
{
	struct coati_timeline_interval wait, next;
	bool more = coati_timeline_interval(t->timeline, thread, 0, &wait) == 0;
	int r = 0;

	for (uint32_t i = 1; r == 0 && more; i++) {
		more = coati_timeline_interval(t->timeline, thread, i, &next) == 0;
		r = add_wait(t, bs, &wait, more ? &next : NULL);
		wait = next;
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static void put_row(struct trace *t, const struct blame *b)
{
	struct strbuf *s = &t->out.text, tail = STRBUF_INIT(1u << 20);
	size_t line = s->len;

	coati_trace_time(s, b->ns, 9);
	coati_strbuf_printf(s, "%9llu", (unsigned long long)b->nr);
	coati_trace_time(s, b->ns / b->nr, 9);
	coati_strbuf_printf(s, "  %-9s ", coati_wait_name(b->wake.wait));
	coati_strbuf_clean(&tail, b->woken, strlen(b->woken));
	coati_strbuf_adds(&tail, " waits for ");
	coati_strbuf_clean(&tail, b->waker, strlen(b->waker));
	if (b->task[0]) {
		coati_strbuf_adds(&tail, " [");
		coati_strbuf_clean(&tail, b->task, strlen(b->task));
		coati_strbuf_adds(&tail, "]");
	}
	if (b->wake.flags & COATI_TIMELINE_IMPLIED)
		coati_strbuf_adds(&tail, " to end");
	coati_trace_stack_after(t, &tail, b->wake.waker == COATI_TIMELINE_NONE ? " at " : "  ",
				b->stack, 3);
	coati_trace_tail(t, line, tail.text);
	coati_strbuf_fini(&tail);
}

/* What the rows above leave, so that the table adds up. */
static void put_rest(struct trace *t, const struct blames *bs)
{
	struct strbuf *s = &t->out.text, tail = STRBUF_INIT(1024);
	const struct blame *b = &bs->no_one;
	size_t line = s->len;

	coati_trace_time(s, b->ns, 9);
	coati_strbuf_printf(s, "%9llu", (unsigned long long)b->nr);
	coati_trace_time(s, b->nr ? b->ns / b->nr : 0, 9);
	coati_strbuf_adds(s, "  ");
	coati_strbuf_adds(&tail, "unattributed: no wakeup was recorded");
	if (bs->open_ns) {
		coati_strbuf_adds(&tail, "; ");
		coati_format_duration(&tail, bs->open_ns);
		coati_strbuf_adds(&tail, " of it had not ended");
	}
	coati_trace_tail(t, line, tail.text);
	coati_strbuf_clear(&tail);
	line = s->len;
	coati_trace_time(s, bs->ns, 9);
	coati_trace_tail(t, line, "  blocked in all");
	coati_strbuf_fini(&tail);
}

static void json_row(struct trace *t, struct json *j, const struct blame *b, struct strbuf *text)
{
	coati_json_object(j);
	coati_json_kstr(j, "woken", b->woken);
	coati_json_kstr(j, "waker", b->waker);
	coati_json_kstr(j, "waker_task", b->task);
	coati_json_kstr(j, "waker_labels", b->wake.labels);
	coati_json_kstr(j, "wait", coati_wait_name(b->wake.wait));
	coati_json_kbool(j, "implied", b->wake.flags & COATI_TIMELINE_IMPLIED);
	coati_json_ku64(j, "count", b->nr);
	coati_json_ku64(j, "blocked_ns", b->ns);
	coati_strbuf_clear(text);
	coati_trace_stack(t, text, b->wake.stack, 8);
	coati_json_kstr(j, "waker_stack", text->text);
	coati_strbuf_clear(text);
	if (b->wake.waker == COATI_TIMELINE_NONE)
		coati_trace_stack(t, text, b->stack, 8);
	coati_json_kstr(j, "waiter_stack", text->text);
	coati_json_end(j);
}

static void put_more(struct trace *t, const struct blames *bs, size_t shown)
{
	uint64_t ns = 0;

	for (size_t i = shown; i < bs->list.len; i++)
		ns += bs->list.v[i].ns;
	coati_trace_time(&t->out.text, ns, 9);
	coati_strbuf_printf(&t->out.text, "  in %zu more rows; -n 0 shows all\n",
			    bs->list.len - shown);
}

static void put(struct trace *t, const struct blames *bs)
{
	struct strbuf text = STRBUF_INIT(1u << 20);
	size_t nr = bs->list.len;
	struct json j;

	if (t->args->limit && t->args->limit < nr)
		nr = t->args->limit;
	if (t->args->json) {
		coati_trace_json_head(t, &j, TRACE_SCHEMA, "blame");
		coati_json_key(&j, "rows");
		coati_json_array(&j);
	} else {
		coati_trace_quality(t);
		coati_trace_heading(t, "   waited    times     each  for");
	}
	for (size_t i = 0; i < nr; i++)
		if (t->args->json)
			json_row(t, &j, &bs->list.v[i], &text);
		else
			put_row(t, &bs->list.v[i]);
	if (t->args->json) {
		coati_json_end(&j);
		coati_json_ku64(&j, "unattributed_ns", bs->no_one.ns);
		coati_json_ku64(&j, "unattributed_count", bs->no_one.nr);
		coati_json_ku64(&j, "unattributed_open_ns", bs->open_ns);
		coati_json_ku64(&j, "blocked_ns", bs->ns);
		coati_json_end(&j);
		coati_strbuf_addc(&t->out.text, '\n');
	} else {
		if (nr < bs->list.len)
			put_more(t, bs, nr);
		put_rest(t, bs);
	}
	coati_strbuf_fini(&text);
}

int coati_trace_blame(struct trace *t)
{
	struct blames bs = { .list.max = (size_t)1 << 24 };
	uint32_t nr = coati_timeline_thread_count(t->timeline);
	int r = 0;

	coati_map_init(&bs.index, (size_t)1 << 24);
	for (uint32_t i = 0; r == 0 && i < nr; i++)
		r = add_thread(t, &bs, i);
	if (r == 0) {
		if (bs.list.len)
			qsort(bs.list.v, bs.list.len, sizeof(*bs.list.v), by_time);
		put(t, &bs);
	} else {
		coati_say("out of memory");
	}
	coati_map_fini(&bs.index);
	ARRAY_FINI(&bs.list);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
