/* SPDX-License-Identifier: MIT */
/*
 * A second look at a timeline, by its answers alone: states of a thread follow each other without
 * gaps, no thread is on two CPUs at once, time breakdowns add up, regions nest, a wake lies inside
 * the waiting that it ends. And what the validator of live events has found.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "live-read/check.h"
#include "reading/wait.h"
#include "trace/timeline.h"

struct check {
	struct trace *t;
	uint64_t nr, wrong;
	bool silent;
	bool failed; /* no memory */
};

static void claim(struct check *c, bool holds, const char *what, uint32_t thread, uint64_t time)
{
	struct strbuf *s = &c->t->out.text;

	c->nr++;
	c->wrong += !holds;
	if (holds || c->silent || c->wrong > 100)
		return;
	coati_strbuf_printf(s, "wrong: %s: ", what);
	coati_trace_thread_name(c->t, s, thread);
	coati_strbuf_adds(s, " at ");
	coati_trace_when(c->t, s, time);
	coati_strbuf_addc(s, '\n');
}

static void check_thread(struct check *c, uint32_t i)
{
	const struct coati_timeline *tl = c->t->timeline;
	struct coati_timeline_thread th;
	struct coati_timeline_interval v;
	struct coati_ledger l;
	uint64_t at = 0, sum = 0;

	coati_timeline_thread(tl, i, &th);
	for (uint32_t n = 0; coati_timeline_interval(tl, i, n, &v) == 0; n++) {
		claim(c, v.end >= v.begin, "a state ends before it begins", i, v.begin);
		claim(c, !n || v.begin == at, "a gap between states", i, v.begin);
		claim(c, v.begin >= th.begin && v.end <= th.end, "a state outside its thread", i,
		      v.begin);
		at = v.end;
	}
	coati_timeline_ledger(tl, i, th.begin, th.end, &l);
	for (uint32_t n = 0; n < COATI_PART_COUNT; n++)
		sum += l.parts[n];
	claim(c, sum == th.end - th.begin && sum == l.duration,
	      "a time breakdown that does not add up", i, th.begin);
}

/* However deep they are. */
static void check_regions(struct check *c, uint32_t i)
{
	struct {
		ARRAY(struct coati_timeline_region) list;
	} outer = { .list.max = SIZE_MAX / sizeof(struct coati_timeline_region) };
	struct coati_timeline_region g, *open;

	for (uint32_t n = 0; coati_timeline_region(c->t->timeline, i, n, &g) == 0; n++) {
		claim(c, g.end >= g.begin, "a region ends before it begins", i, g.begin);
		while (outer.list.len && outer.list.v[outer.list.len - 1].depth >= g.depth)
			outer.list.len--;
		open = outer.list.len ? &outer.list.v[outer.list.len - 1] : NULL;
		if (open)
			claim(c, g.end <= open->end && g.depth == open->depth + 1,
			      "a region that is not inside the outer one", i, g.begin);
		open = ARRAY_ADD(&outer.list);
		if (!open) {
			c->failed = true;
			break;
		}
		*open = g;
	}
	ARRAY_FINI(&outer.list);
}

static void check_tasks(struct check *c)
{
	const struct coati_timeline *tl = c->t->timeline;
	struct coati_timeline_task k;
	struct coati_ledger l;

	for (uint32_t i = 0; coati_timeline_task(tl, i, &k) == 0; i++) {
		uint64_t sum = 0;

		claim(c, k.end >= k.begin, "a task ends before it begins", COATI_TIMELINE_NONE,
		      k.begin);
		if (coati_timeline_task_ledger(tl, i, &l) < 0)
			continue;
		for (uint32_t n = 0; n < COATI_PART_COUNT; n++)
			sum += l.parts[n];
		claim(c, sum == k.end - k.begin, "a task's time breakdown that does not add up",
		      COATI_TIMELINE_NONE, k.begin);
	}
}

static void check_wakes(struct check *c)
{
	struct coati_timeline_wake w;
	uint64_t at = 0;

	for (uint32_t i = 0; coati_timeline_wake(c->t->timeline, i, &w) == 0; i++) {
		claim(c, w.time >= at, "wakeups out of order", w.woken, w.time);
		claim(c, w.blocked_ns <= w.time - c->t->info.begin,
		      "waiting that began before the recording", w.woken, w.time);
		at = w.time;
	}
}

/* ---- CPUs ---- */

struct run {
	uint64_t begin, end;
	uint32_t thread;
	int32_t cpu;
};

struct runs {
	ARRAY(struct run) list;
	bool failed;
};

static int by_cpu(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void check_cpus(struct check *c)
{
	struct runs runs = { .list.max = SIZE_MAX / sizeof(struct run) };
	struct coati_timeline_interval v;

	for (uint32_t i = 0; i < coati_timeline_thread_count(c->t->timeline); i++)
		for (uint32_t n = 0; coati_timeline_interval(c->t->timeline, i, n, &v) == 0; n++) {
			struct run *r = NULL;

			if (v.wait != COATI_WAIT_RUNNING || v.cpu < 0 || v.begin == v.end)
				continue;
			r = ARRAY_ADD(&runs.list);
			c->failed |= !r;
			if (r)
				*r = (struct run){ v.begin, v.end, i, v.cpu };
		}
	if (runs.list.len)
		qsort(runs.list.v, runs.list.len, sizeof(*runs.list.v), by_cpu);
	for (size_t i = 1; i < runs.list.len; i++) {
		const struct run *r = &runs.list.v[i];

		claim(c, r->cpu != r[-1].cpu || r->begin >= r[-1].end,
		      "two threads on one CPU at once", r->thread, r->begin);
	}
	ARRAY_FINI(&runs.list);
}

/* ---- live events ---- */

/* What the validator found while they were read. */
static void check_live(struct check *c)
{
	const struct coati_trace_finding *f;
	struct strbuf *s = &c->t->out.text;

	c->nr += c->t->info.live_events;
	c->wrong += c->t->info.findings + c->t->info.wrong;
	for (uint32_t i = 0; !c->silent && (f = coati_timeline_finding(c->t->timeline, i)); i++) {
		coati_strbuf_printf(s, "wrong: %s: ", f->text);
		coati_trace_thread_name(
			c->t, s,
			coati_timeline_find_thread(c->t->timeline, (int32_t)f->tid, f->time));
		coati_strbuf_adds(s, " at ");
		coati_trace_when(c->t, s, f->time);
		coati_strbuf_addc(s, '\n');
	}
}

static void check_all(struct check *c)
{
	for (uint32_t i = 0; i < coati_timeline_thread_count(c->t->timeline); i++) {
		check_thread(c, i);
		check_regions(c, i);
	}
	check_tasks(c);
	check_wakes(c);
	check_cpus(c);
	check_live(c);
}

uint64_t coati_trace_count_wrong(struct trace *t)
{
	struct check c = { .t = t, .silent = true };

	check_all(&c);
	return c.wrong;
}

int coati_trace_check(struct trace *t)
{
	struct check c = { .t = t };
	struct json j;

	if (!t->args->json)
		coati_trace_quality(t);
	check_all(&c);
	if (c.failed) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	if (t->args->json) {
		coati_strbuf_clear(&t->out.text);
		coati_trace_json_head(t, &j, TRACE_SCHEMA, "check");
		coati_json_ku64(&j, "claims", c.nr);
		coati_json_ku64(&j, "wrong", c.wrong);
		coati_json_end(&j);
		coati_strbuf_addc(&t->out.text, '\n');
	} else {
		coati_strbuf_printf(&t->out.text, "%llu checks, %llu failed\n",
				    (unsigned long long)c.nr, (unsigned long long)c.wrong);
	}
	return c.wrong ? EXIT_FAILED : EXIT_DONE;
}
