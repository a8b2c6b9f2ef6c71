/* SPDX-License-Identifier: MIT */
/* Who let whom wait: wake-ups that are alike (waiter's and waker's names, what for, what task, which code) as one row, by the time that was waited. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/map.h"
#include "command.h"
#include "talk.h"
#include "trace-text.h"

struct blame {
	struct coati_timeline_wake wake; /* one of them */
	const char *woken, *waker, *task;
	uint64_t ns, nr;
};

struct blames {
	ARRAY(struct blame) list;
	struct map index;
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
	} key = { b->woken, b->waker, b->task, b->wake.wait,
		  b->wake.waker == COATI_TIMELINE_NONE ? COATI_TIMELINE_NONE : b->wake.stack };

	return coati_hash_bytes(&key, sizeof(key), 0);
}

static int add(const struct trace *t, struct blames *bs, const struct coati_timeline_wake *w)
{
	struct blame b = { .wake = *w,
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
	row->ns += w->blocked_ns;
	return 0;
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
	if (b->wake.waker != COATI_TIMELINE_NONE && b->wake.stack != COATI_TIMELINE_NONE) {
		coati_strbuf_adds(&tail, "  ");
		coati_trace_stack(t, &tail, b->wake.stack, 3);
	}
	coati_trace_tail(t, line, tail.text);
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
	coati_json_ku64(j, "count", b->nr);
	coati_json_ku64(j, "blocked_ns", b->ns);
	coati_strbuf_clear(text);
	coati_trace_stack(t, text, b->wake.stack, 8);
	coati_json_kstr(j, "waker_stack", text->text);
	coati_json_end(j);
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
		coati_json_end(&j);
		coati_strbuf_addc(&t->out.text, '\n');
	} else if (nr < bs->list.len) {
		coati_strbuf_printf(&t->out.text, "... and %zu more; -n 0 shows all\n",
				    bs->list.len - nr);
	}
	coati_strbuf_fini(&text);
}

int coati_trace_blame(struct trace *t)
{
	struct blames bs = { .list.max = (size_t)1 << 24 };
	struct coati_timeline_wake w;
	int r = 0;

	coati_map_init(&bs.index, (size_t)1 << 24);
	for (uint32_t i = 0; r == 0 && coati_timeline_wake(t->timeline, i, &w) == 0; i++)
		if (w.time >= t->from && w.time <= t->to)
			r = add(t, &bs, &w);
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
