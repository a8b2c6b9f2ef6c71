/* SPDX-License-Identifier: MIT */
/*
 * Where the time went. Of a thread between two times: its states, clipped. Of a task: of those who
 * work on it, the one that gets farthest. Every instant is in one part, so the parts add up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

const char *coati_part_name(uint32_t part)
{
	if (part == COATI_PART_IRQ)
		return "irq";
	return part == COATI_PART_NOBODY ? "nobody" : coati_wait_name((enum coati_wait)part);
}

void coati_ledger_sum(struct coati_ledger *sum, const struct coati_ledger *more)
{
	sum->duration += more->duration;
	for (int i = 0; i < COATI_PART_COUNT; i++)
		sum->parts[i] += more->parts[i];
	sum->switches += more->switches;
	sum->faults += more->faults;
	sum->wakes += more->wakes;
	sum->samples += more->samples;
	sum->fault_samples += more->fault_samples;
}

size_t coati_timeline_stretch_at(const struct thread *th, uint64_t time)
{
	size_t low = SEARCH(mid, 0, th->stretches.len, th->stretches.v[mid].begin <= time);

	return low ? low - 1 : SIZE_MAX;
}

/* How many of @times lie before @time. */
static size_t before(const uint64_t *times, size_t nr, size_t step, uint64_t time)
{
	const char *at = (const char *)times;

	return SEARCH(i, 0, nr, *(const uint64_t *)(at + i * step) < time);
}

static void count_seen(const struct thread *th, uint64_t from, uint64_t to,
		       struct coati_ledger *ledger)
{
	size_t nr = th->samples.len, step = sizeof(*th->samples.v);
	size_t first = nr ? before(&th->samples.v[0].time, nr, step, from) : 0;

	for (; first < nr && th->samples.v[first].time < to; first++) {
		ledger->samples++;
		ledger->fault_samples += th->samples.v[first].in_fault;
	}
	ledger->faults += before(th->faults.v, th->faults.len, sizeof(uint64_t), to) -
			  before(th->faults.v, th->faults.len, sizeof(uint64_t), from);
}

/* Calls for each piece of a thread's time between two times, in order, without gaps; before its
 * first state and outside its life it is unknown. */
struct piece {
	uint64_t from, to;
	uint8_t part;
	const struct stretch *s; /* or NULL */
};
typedef void (*piece_fn)(void *ctx, const struct piece *p);

/* A piece in one state: interrupts within are pieces of their own. */
static void one_piece(const struct thread *th, struct piece p, piece_fn fn, void *ctx)
{
	uint64_t to = p.to;
	size_t i = th->irqs.len;

	if (p.part == COATI_WAIT_RUNNING && i)
		i = before(&th->irqs.v[0].end, i, sizeof(*th->irqs.v), p.from + 1);
	for (; i < th->irqs.len && th->irqs.v[i].begin < to; i++) {
		const struct irq *irq = &th->irqs.v[i];
		uint64_t begin = irq->begin > p.from ? irq->begin : p.from;
		uint64_t end = irq->end < to ? irq->end : to;

		fn(ctx, &(struct piece){ p.from, begin, COATI_WAIT_RUNNING, p.s });
		fn(ctx, &(struct piece){ begin, end, COATI_PART_IRQ, p.s });
		p.from = end;
	}
	fn(ctx, &p);
}

static void each_piece(const struct thread *th, uint64_t from, uint64_t to, piece_fn fn, void *ctx)
{
	size_t i = coati_timeline_stretch_at(th, from);
	uint64_t at = from;

	if (i == SIZE_MAX)
		i = 0;
	for (; i < th->stretches.len && at < to; i++) {
		const struct stretch *s = &th->stretches.v[i];
		uint64_t begin = s->begin > at ? s->begin : at, end = stretch_end(th, i);

		if (begin >= to)
			break;
		if (begin > at)
			fn(ctx, &(struct piece){ at, begin, COATI_WAIT_UNKNOWN, NULL });
		at = begin;
		end = end < to ? end : to;
		end = end > at ? end : at;
		one_piece(th, (struct piece){ at, end, s->wait, s }, fn, ctx);
		at = end;
	}
	if (at < to)
		fn(ctx, &(struct piece){ at, to, COATI_WAIT_UNKNOWN, NULL });
}

struct sum {
	struct coati_ledger *ledger;
	const struct thread *th;
	uint64_t from;
};

static void add_piece(void *ctx, const struct piece *p)
{
	const struct stretch *s = p->s;
	struct sum *sum = ctx;

	sum->ledger->parts[p->part] += p->to - p->from;
	if (!s || s->begin < sum->from)
		return;
	if (s->wait == COATI_WAIT_RUNNABLE)
		sum->ledger->wakes += s->stack != COATI_TIMELINE_NONE;
	else if (s > sum->th->stretches.v && s[-1].wait == COATI_WAIT_RUNNING)
		sum->ledger->switches += s->wait != COATI_WAIT_RUNNING;
}

void coati_ledger_range(const struct thread *th, uint64_t from, uint64_t to,
			struct coati_ledger *ledger)
{
	struct sum sum = { ledger, th, from };

	if (to <= from)
		return;
	ledger->duration += to - from;
	each_piece(th, from, to, add_piece, &sum);
	count_seen(th, from, to, ledger);
}

/* ---- near the one before ---- */

/* Whether state @i is all that the thread did between two times, and began before them. */
static bool is_within(const struct thread *th, size_t i, uint64_t from, uint64_t to)
{
	return i < th->stretches.len && th->stretches.v[i].begin < from &&
	       stretch_end(th, i) >= to &&
	       !(th->stretches.v[i].wait == COATI_WAIT_RUNNING && th->irqs.len);
}

/* The index of the first of @times that is not before @time, which is often @near. */
static size_t first_near(const uint64_t *times, size_t nr, size_t step, uint64_t time, size_t near)
{
	const char *at = (const char *)times;

	if (near <= nr && (!near || *(const uint64_t *)(at + (near - 1) * step) < time) &&
	    (near == nr || *(const uint64_t *)(at + near * step) >= time))
		return near;
	return before(times, nr, step, time);
}

static void count_near(const struct thread *th, uint64_t from, uint64_t to,
		       struct ledger_near *near, struct coati_ledger *ledger)
{
	size_t nr = th->samples.len, i;

	if (nr) {
		near->sample = first_near(&th->samples.v[0].time, nr, sizeof(*th->samples.v), from,
					  near->sample);
		for (i = near->sample; i < nr && th->samples.v[i].time < to; i++) {
			ledger->samples++;
			ledger->fault_samples += th->samples.v[i].in_fault;
		}
	}
	nr = th->faults.len;
	if (!nr)
		return;
	near->fault = i = first_near(th->faults.v, nr, sizeof(uint64_t), from, near->fault);
	if (i < nr && th->faults.v[i] < to)
		ledger->faults += before(th->faults.v, nr, sizeof(uint64_t), to) - i;
}

void coati_ledger_near(const struct thread *th, uint64_t from, uint64_t to,
		       struct ledger_near *near, struct coati_ledger *ledger)
{
	struct sum sum = { ledger, th, from };

	if (to <= from)
		return;
	ledger->duration += to - from;
	if (!is_within(th, near->stretch, from, to))
		near->stretch = coati_timeline_stretch_at(th, from);
	if (is_within(th, near->stretch, from, to))
		ledger->parts[th->stretches.v[near->stretch].wait] += to - from;
	else
		each_piece(th, from, to, add_piece, &sum);
	count_near(th, from, to, near, ledger);
}

int coati_timeline_ledger(const struct coati_timeline *t, uint32_t thread, uint64_t from,
			  uint64_t to, struct coati_ledger *ret)
{
	if (!t || thread >= t->threads.len || to < from)
		return -EINVAL;
	*ret = (struct coati_ledger){ 0 };
	coati_ledger_range(&t->threads.v[thread], from, to, ret);
	return 0;
}

/* ---- tasks ---- */

int coati_span_by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* A task whose spans count, so many levels below the one that is asked about. */
struct below {
	uint32_t task, depth;
};

struct gathered {
	ARRAY(struct below) tasks;
	ARRAY(struct span) spans;
};

static int add_below(struct gathered *g, uint32_t task, uint32_t depth)
{
	struct below *b = ARRAY_ADD(&g->tasks);

	if (!b)
		return -ENOMEM;
	*b = (struct below){ task, depth };
	return 0;
}

static int add_task(const struct coati_timeline *t, const struct task *top, struct below b,
		    struct gathered *g)
{
	const struct task *k = &t->tasks.v[b.task];
	uint32_t c = b.depth < LEDGER_DEPTH ? k->first_child : COATI_TIMELINE_NONE;
	int r = 0;

	for (; r == 0 && c != COATI_TIMELINE_NONE; c = t->tasks.v[c].next_child)
		r = add_below(g, c, b.depth + 1);
	for (uint32_t i = 0; r == 0 && i < k->nr_spans; i++) {
		struct span s = t->spans.v[k->first_span + i], *new;

		s.begin = s.begin > top->begin ? s.begin : top->begin;
		s.end = s.end < top->end ? s.end : top->end;
		if (s.end <= s.begin)
			continue;
		new = ARRAY_ADD(&g->spans);
		if (new)
			*new = s;
		r = new ? 0 : -ENOMEM;
	}
	return r;
}

int coati_timeline_spans(const struct coati_timeline *t, uint32_t task, struct span **ret,
			 size_t *ret_nr)
{
	struct gathered g = { .tasks.max = t->tasks.len, .spans.max = t->spans.len };
	int r = add_below(&g, task, 0);

	for (size_t i = 0; r == 0 && i < g.tasks.len; i++)
		r = add_task(t, &t->tasks.v[task], g.tasks.v[i], &g);
	ARRAY_FINI(&g.tasks);
	if (r < 0) {
		ARRAY_FINI(&g.spans);
		return r;
	}
	if (g.spans.len)
		qsort(g.spans.v, g.spans.len, sizeof(*g.spans.v), coati_span_by_begin);
	*ret = g.spans.v;
	*ret_nr = g.spans.len;
	return 0;
}

/* A part of the time that begins or ends. */
struct edge {
	uint64_t time;
	uint8_t part;
	int8_t step;
};

struct edges {
	ARRAY(struct edge) list;
	bool failed;
};

static void add_edge(void *ctx, const struct piece *p)
{
	struct edges *edges = ctx;
	struct edge *e;

	if (p->from == p->to)
		return;
	e = ARRAY_ADD(&edges->list);
	if (e)
		*e = (struct edge){ p->from, p->part, 1 };
	e = e ? ARRAY_ADD(&edges->list) : NULL;
	if (e)
		*e = (struct edge){ p->to, p->part, -1 };
	edges->failed |= !e;
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Who gets farthest: who runs, who would but for an interrupt, who could, who waits for something
 * that is known. */
static uint32_t farthest(const uint32_t *active)
{
	static const uint8_t first[] = { COATI_WAIT_RUNNING, COATI_PART_IRQ, COATI_WAIT_PREEMPTED,
					 COATI_WAIT_RUNNABLE };

	for (size_t i = 0; i < sizeof(first); i++)
		if (active[first[i]])
			return first[i];
	for (uint32_t i = 0; i < COATI_WAIT_COUNT; i++)
		if (active[i])
			return i;
	return COATI_PART_NOBODY;
}

/* Several threads at once. */
static int sweep(const struct coati_timeline *t, const struct span *spans, size_t nr,
		 struct coati_ledger *ret)
{
	struct edges edges = { .list.max = (size_t)t->opts.max_events };
	uint32_t active[COATI_PART_COUNT] = { 0 };
	uint64_t at = spans[0].begin;

	for (size_t i = 0; i < nr && !edges.failed; i++)
		each_piece(&t->threads.v[spans[i].thread], spans[i].begin, spans[i].end, add_edge,
			   &edges);
	if (!edges.failed) {
		qsort(edges.list.v, edges.list.len, sizeof(*edges.list.v), by_time);
		for (size_t i = 0; i < edges.list.len; i++) {
			const struct edge *e = &edges.list.v[i];

			ret->parts[farthest(active)] += e->time - at;
			at = e->time;
			active[e->part] += (uint32_t)e->step;
		}
	}
	ARRAY_FINI(&edges.list);
	return edges.failed ? -ENOMEM : 0;
}

/* The spans of a task, and what of them is at once: from each, how far they reach without a gap. */
int coati_ledger_spans(const struct coati_timeline *t, const struct span *spans, size_t nr,
		       struct coati_ledger *ret)
{
	uint64_t known = 0;
	int r = 0;

	for (size_t i = 0, next; r == 0 && i < nr; i = next) {
		uint64_t end = spans[i].end;

		for (next = i + 1; next < nr && spans[next].begin < end; next++)
			end = spans[next].end > end ? spans[next].end : end;
		known += end - spans[i].begin;
		for (size_t n = i; n < next; n++) {
			struct coati_ledger one = { 0 };

			coati_ledger_range(&t->threads.v[spans[n].thread], spans[n].begin,
					   spans[n].end, &one);
			if (next > i + 1)
				memset(one.parts, 0, sizeof(one.parts));
			one.duration = 0;
			coati_ledger_sum(ret, &one);
		}
		if (next > i + 1)
			r = sweep(t, &spans[i], next - i, ret);
	}
	ret->parts[COATI_PART_NOBODY] = ret->duration - known;
	return r;
}

int coati_ledger_task(const struct coati_timeline *t, uint32_t task, struct coati_ledger *ret)
{
	CLEANUP(freep) struct span *spans = NULL;
	size_t nr;
	int r = coati_timeline_spans(t, task, &spans, &nr);

	*ret = (struct coati_ledger){ .duration = t->tasks.v[task].end - t->tasks.v[task].begin };
	return r < 0 ? r : coati_ledger_spans(t, spans, nr, ret);
}

int coati_timeline_task_ledger(const struct coati_timeline *t, uint32_t task,
			       struct coati_ledger *ret)
{
	return !t || task >= t->tasks.len ? -EINVAL : coati_ledger_task(t, task, ret);
}
