/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a page: what threads did, their regions, tasks with their breakdown, and
 * who woke whom. Where there is too much, what is short is left out, and a note says how short.
 */
#include <errno.h>
#include <string.h>

#include "page/page.h"
#include "trace/timeline.h"

#define THRESHOLD_FIRST_NS 1000

/* What the page shows for short states that were left out. */
#define STATE_MIXED 255

struct thinned {
	struct page *p;
	const char *what;
	uint64_t least, total; /* ns; things there are */
};

/* How long the shortest are that there is room for. @count says how many are at least that long. */
static void choose(struct thinned *t, uint64_t (*count)(const struct page *, uint64_t),
		   uint64_t max)
{
	uint64_t nr = t->total = count(t->p, 0);

	while (nr > max && t->least < UINT64_MAX / 4) {
		t->least = t->least ? t->least * 2 : THRESHOLD_FIRST_NS;
		nr = count(t->p, t->least);
	}
	if (t->least)
		coati_page_add_note(t->p,
				    "the page shows %llu of %llu %s: those shorter than %.3g ms "
				    "are left out",
				    (unsigned long long)nr, (unsigned long long)t->total, t->what,
				    (double)t->least / 1e6);
}

/* ---- scheduler states ---- */

static uint64_t count_states(const struct page *p, uint64_t least)
{
	struct coati_timeline_thread th;
	struct coati_timeline_interval iv;
	uint64_t nr = 0;

	for (uint32_t i = 0; coati_timeline_thread(p->timeline, i, &th) == 0; i++) {
		if (!least)
			nr += th.nr_intervals;
		for (uint32_t n = 0; least && n < th.nr_intervals; n++)
			if (coati_timeline_interval(p->timeline, i, n, &iv) == 0)
				nr += iv.end - iv.begin >= least;
	}
	return nr;
}

struct states {
	struct column *begin, *wait, *cpu, *node, *wake;
};

static void put_state(struct page *p, const struct states *c, struct page_stacks *stacks,
		      const struct coati_timeline_interval *iv)
{
	uint32_t node = page_stack(&p->names, stacks, iv->stack);

	column_put_delta(c->begin, page_time(p, iv->begin));
	column_put_uint(c->wait, (uint64_t)iv->wait);
	column_put_run(c->cpu, iv->cpu < 0 ? 0 : (uint64_t)iv->cpu + 1);
	column_put_uint(c->node, node == PAGE_NONE ? 0 : (uint64_t)node + 1);
	column_put_delta(c->wake, iv->wake == COATI_TIMELINE_NONE ? 0 : (uint64_t)iv->wake + 1);
}

/* Those of one thread; how many they are. */
static uint64_t put_thread_states(struct page *p, uint32_t thread, const struct states *c,
				  struct page_stacks *stacks, uint64_t least)
{
	struct coati_timeline_interval iv;
	uint64_t nr = 0;
	bool mixed = false;

	for (uint32_t i = 0; coati_timeline_interval(p->timeline, thread, i, &iv) == 0; i++) {
		bool is_short = iv.end - iv.begin < least;

		if (is_short && mixed)
			continue;
		mixed = is_short;
		if (is_short) {
			iv.wait = (enum coati_wait)STATE_MIXED;
			iv.stack = iv.wake = COATI_TIMELINE_NONE;
			iv.cpu = -1;
		}
		put_state(p, c, stacks, &iv);
		nr++;
	}
	return nr;
}

static void put_states(struct page *p, struct page_stacks *stacks)
{
	struct states c = { coati_columns_add(&p->columns, "iv.begin", COLUMN_DELTA),
			    coati_columns_add(&p->columns, "iv.state", COLUMN_UINT),
			    coati_columns_add(&p->columns, "iv.cpu", COLUMN_RUNS),
			    coati_columns_add(&p->columns, "iv.node", COLUMN_UINT),
			    coati_columns_add(&p->columns, "iv.wake", COLUMN_DELTA) };
	struct column *nr = coati_columns_add(&p->columns, "th.states", COLUMN_UINT);
	struct thinned t = { .p = p, .what = "scheduler states" };

	choose(&t, count_states, page_max_items(p));
	for (size_t i = 0; i < p->threads.len; i++)
		coati_column_put(nr, p->threads.v[i].timeline == PAGE_NONE
					     ? 0
					     : put_thread_states(p, p->threads.v[i].timeline, &c,
								 stacks, t.least));
}

/* ---- regions ---- */

static uint64_t count_regions(const struct page *p, uint64_t least)
{
	struct coati_timeline_thread th;
	struct coati_timeline_region rg;
	uint64_t nr = 0;

	for (uint32_t i = 0; coati_timeline_thread(p->timeline, i, &th) == 0; i++)
		for (uint32_t n = 0; n < th.nr_regions; n++)
			if (coati_timeline_region(p->timeline, i, n, &rg) == 0)
				nr += rg.end - rg.begin >= least;
	return nr;
}

static void put_regions(struct page *p)
{
	struct column *thread = coati_columns_add(&p->columns, "rg.thread", COLUMN_DELTA);
	struct column *begin = coati_columns_add(&p->columns, "rg.begin", COLUMN_DELTA);
	struct column *length = coati_columns_add(&p->columns, "rg.length", COLUMN_UINT);
	struct column *name = coati_columns_add(&p->columns, "rg.name", COLUMN_UINT);
	struct column *depth = coati_columns_add(&p->columns, "rg.depth", COLUMN_UINT);
	struct column *task = coati_columns_add(&p->columns, "rg.task", COLUMN_DELTA);
	struct thinned t = { .p = p, .what = "regions" };
	struct coati_timeline_thread th;
	struct coati_timeline_region rg;

	choose(&t, count_regions, page_max_items(p));
	for (uint32_t i = 0; coati_timeline_thread(p->timeline, i, &th) == 0; i++)
		for (uint32_t n = 0; coati_timeline_region(p->timeline, i, n, &rg) == 0; n++) {
			if (rg.end - rg.begin < t.least)
				continue;
			coati_column_put(thread, i);
			coati_column_put(begin, page_time(p, rg.begin));
			coati_column_put(length, rg.end - rg.begin);
			coati_column_put(name, coati_page_text(&p->names, rg.name));
			coati_column_put(depth, rg.depth);
			coati_column_put(task, rg.task == COATI_TIMELINE_NONE ? 0 : rg.task + 1);
		}
}

/* ---- tasks ---- */

static uint64_t count_tasks(const struct page *p, uint64_t least)
{
	struct coati_timeline_task k;
	uint64_t nr = 0;

	if (!least)
		return coati_timeline_task_count(p->timeline);
	for (uint32_t i = 0; coati_timeline_task(p->timeline, i, &k) == 0; i++)
		nr += k.end - k.begin >= least;
	return nr;
}

struct tasks {
	struct column *number, *low, *high, *parent, *type, *pid, *begin, *length, *flags;
	struct column *spans, *span_begin, *span_length, *span_thread;
	struct column *parts, *part, *part_ns;
};

static void put_spans(struct page *p, const struct tasks *c, uint32_t task)
{
	struct coati_timeline_span sp;
	uint64_t nr = 0;

	for (uint32_t i = 0; coati_timeline_span(p->timeline, task, i, &sp) == 0; i++, nr++) {
		coati_column_put(c->span_begin, page_time(p, sp.begin));
		coati_column_put(c->span_length, sp.end - sp.begin);
		coati_column_put(c->span_thread, sp.thread);
	}
	coati_column_put(c->spans, nr);
}

static int put_parts(struct page *p, const struct tasks *c, uint32_t task)
{
	struct coati_ledger ledger;
	uint64_t nr = 0;
	int r = coati_timeline_task_ledger(p->timeline, task, &ledger);

	for (uint32_t i = 0; i < COATI_PART_COUNT && r == 0; i++)
		if (ledger.parts[i]) {
			coati_column_put(c->part, i);
			coati_column_put(c->part_ns, ledger.parts[i]);
			nr++;
		}
	coati_column_put(c->parts, nr);
	return r;
}

static int put_task(struct page *p, const struct tasks *c, uint32_t i,
		    const struct coati_timeline_task *k)
{
	uint32_t parent =
		k->parent ? coati_timeline_find_task(p->timeline, k->parent) : COATI_TIMELINE_NONE;

	coati_column_put(c->number, i);
	coati_column_put(c->low, k->id & UINT32_MAX);
	coati_column_put(c->high, k->id >> 32);
	coati_column_put(c->parent, parent == COATI_TIMELINE_NONE ? 0 : (uint64_t)parent + 1);
	coati_column_put(c->type, k->type);
	coati_column_put(c->pid, (uint64_t)k->pid);
	coati_column_put(c->begin, page_time(p, k->begin));
	coati_column_put(c->length, k->end - k->begin);
	coati_column_put(c->flags, k->flags);
	put_spans(p, c, i);
	return put_parts(p, c, i);
}

static int put_tasks(struct page *p)
{
	struct tasks c = { coati_columns_add(&p->columns, "tk.number", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.low", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.high", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.parent", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.type", COLUMN_UINT),
			   coati_columns_add(&p->columns, "tk.pid", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.begin", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "tk.length", COLUMN_UINT),
			   coati_columns_add(&p->columns, "tk.flags", COLUMN_UINT),
			   coati_columns_add(&p->columns, "tk.spans", COLUMN_UINT),
			   coati_columns_add(&p->columns, "sp.begin", COLUMN_DELTA),
			   coati_columns_add(&p->columns, "sp.length", COLUMN_UINT),
			   coati_columns_add(&p->columns, "sp.thread", COLUMN_UINT),
			   coati_columns_add(&p->columns, "tk.parts", COLUMN_UINT),
			   coati_columns_add(&p->columns, "pa.part", COLUMN_UINT),
			   coati_columns_add(&p->columns, "pa.ns", COLUMN_UINT) };
	struct thinned t = { .p = p, .what = "tasks" };
	struct coati_timeline_task k;
	int r = 0;

	choose(&t, count_tasks, page_max_items(p));
	for (uint32_t i = 0; r == 0 && coati_timeline_task(p->timeline, i, &k) == 0; i++)
		if (k.end - k.begin >= t.least)
			r = put_task(p, &c, i, &k);
	return r;
}

/* ---- who woke whom ---- */

static uint64_t count_wakes(const struct page *p, uint64_t least)
{
	struct coati_timeline_wake w;
	uint64_t nr = 0;

	if (!least)
		return coati_timeline_wake_count(p->timeline);
	for (uint32_t i = 0; coati_timeline_wake(p->timeline, i, &w) == 0; i++)
		nr += w.blocked_ns >= least;
	return nr;
}

static void put_wakes(struct page *p, struct page_stacks *stacks)
{
	struct column *number = coati_columns_add(&p->columns, "wk.number", COLUMN_DELTA);
	struct column *time = coati_columns_add(&p->columns, "wk.time", COLUMN_DELTA);
	struct column *waker = coati_columns_add(&p->columns, "wk.waker", COLUMN_UINT);
	struct column *woken = coati_columns_add(&p->columns, "wk.woken", COLUMN_UINT);
	struct column *state = coati_columns_add(&p->columns, "wk.state", COLUMN_UINT);
	struct column *blocked = coati_columns_add(&p->columns, "wk.blocked", COLUMN_UINT);
	struct column *node = coati_columns_add(&p->columns, "wk.node", COLUMN_UINT);
	struct thinned t = { .p = p, .what = "wakeups" };
	struct coati_timeline_wake w;

	choose(&t, count_wakes, page_max_items(p));
	for (uint32_t i = 0; coati_timeline_wake(p->timeline, i, &w) == 0; i++) {
		uint32_t at;

		if (w.blocked_ns < t.least)
			continue;
		at = coati_page_stack(&p->names, stacks, w.stack);
		coati_column_put(number, i);
		coati_column_put(time, page_time(p, w.time));
		coati_column_put(waker, w.waker == COATI_TIMELINE_NONE ? 0 : w.waker + 1);
		coati_column_put(woken, w.woken == COATI_TIMELINE_NONE ? 0 : w.woken + 1);
		coati_column_put(state, (uint64_t)w.wait);
		coati_column_put(blocked, w.blocked_ns);
		coati_column_put(node, at == PAGE_NONE ? 0 : (uint64_t)at + 1);
	}
}

/* Threads of the timeline come first in the page's, so that their numbers are the same. */
int coati_page_put_timeline(struct page *p)
{
	struct page_stacks *stacks = &p->timeline_stacks;
	struct coati_profile *profile;
	int r;

	if (!p->timeline)
		return 0;
	profile = coati_timeline_profile(p->timeline);
	r = coati_view_new(profile, NULL, &p->timeline_view, NULL);
	if (r == 0)
		r = coati_page_stacks_init(stacks, p->timeline_view, profile);
	if (r == 0) {
		put_states(p, stacks);
		put_regions(p);
		put_wakes(p, stacks);
		r = put_tasks(p);
	}
	return r;
}
