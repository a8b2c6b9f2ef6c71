/* SPDX-License-Identifier: MIT */
/*
 * The batches of each thread one after the other, and the threads merged by time: a heap of streams
 * with the earliest event on top, or a handful of them in any order. An event may go out when no
 * process can still send an earlier one: generations follow each other, and the writers of one are
 * through before the next but one begins. So a process is settled as far as its last but one
 * complete generation reaches, one of which nothing waits as far as the end mark before its newest,
 * and one that has ended, wholly.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "live-read/heap.h"
#include "live-read/reader-parts.h"
#include "live-read/reader.h"

/* ---- one stream ---- */

static void batch_done(struct coati_live_reader *t, struct stream *s)
{
	struct process *p = s->process;
	struct generation *g = s->queue.v[s->at]->generation;

	g->queued--;
	if (g->number < p->newest)
		coati_trace_taken(t, p);
	if (!g->queued && g->complete)
		coati_trace_done(t, g);
	t->certain = false;
	s->at++;
}

/* A batch is there: is it the one that should come? */
static void follow_sequence(struct coati_live_reader *t, struct stream *s, const struct held *h)
{
	const struct live_batch *head = &h->view.head;

	if (head->kind != LIVE_BATCH_EVENTS)
		return;
	if (s->seen && head->seq > s->seq) {
		s->gap = head->seq - s->seq;
		t->quality.missing += s->gap;
		coati_trace_forget(s);
	} else if (s->seen && head->seq < s->seq) {
		if (head->seq)
			coati_trace_damaged(t, h, 0, "its sequence number is a duplicate");
		coati_trace_forget(s); /* another thread has the number of one that has ended */
		s->news = COATI_TRACE_NEW_THREAD;
	}
	s->seen = true;
	s->seq = head->seq + 1;
}

static void begin_batch(struct coati_live_reader *t, struct stream *s)
{
	struct held *h = s->queue.v[s->at];

	follow_sequence(t, s, h);
	s->generation = h->generation;
	s->telling = false;
	s->last_generation = h->generation->number;
	s->clock = coati_live_clock(&h->view.head, &s->process->clock);
	t->quality.clock_unknown += s->clock.unknown;
	if (!s->clock.unknown && s->clock.error_ns > t->quality.clock_error_ns)
		t->quality.clock_error_ns = s->clock.error_ns;
	coati_trace_blank(s, h);
	s->walk = coati_live_walk(&h->view, &s->process->names.schema, coati_live_names_fields,
				  &s->process->names);
	coati_trace_settle_plain(s);
}

/* Times within a thread never go back: two clocks that differ by less than their error must not
 * turn its events round. Hot. */
static inline void set_time(struct stream *s)
{
	uint64_t ns = live_clock_ns(&s->clock, s->event.time);

	if (__builtin_expect(s->event.time > s->clock.last_units, 0)) {
		s->clock.unknown = true;
		s->plain = false;
	}
	s->time = ns > s->time ? ns : s->time;
}

static int by_begin(const void *a, const void *b)
{
	const struct held *x = *(struct held *const *)a, *y = *(struct held *const *)b;

	if (x->generation->number != y->generation->number)
		return x->generation->number < y->generation->number ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->view.head.seq != y->view.head.seq)
		return x->view.head.seq < y->view.head.seq ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* What waits behind the batch that was read, when something was put there. */
static void sort_queue(struct stream *s)
{
	if (s->unsorted)
		qsort(s->queue.v + s->at, s->queue.len - s->at, sizeof(struct held *), by_begin);
	s->unsorted = false;
}

/* The next event of the stream into it: false when there is none. */
static bool step(struct coati_live_reader *t, struct stream *s)
{
	int n;

	for (;;) {
		if (s->at == s->queue.len)
			return false;
		n = coati_live_next(&s->walk, &s->event);
		if (n > 0)
			break;
		if (n < 0) {
			coati_trace_damaged(t, s->queue.v[s->at], s->walk.offset, s->walk.why);
			s->walk.why = NULL;
		}
		if (s->gap) { /* reported even when nothing follows */
			s->event = (struct live_event){ .kind = LIVE_NONE, .time = s->walk.time };
			break;
		}
		batch_done(t, s);
		sort_queue(s);
		if (s->at < s->queue.len)
			begin_batch(t, s);
	}
	set_time(s);
	return true;
}

/* ---- queueing ---- */

static uint64_t stream_key(uint32_t tid, uint16_t slot)
{
	return (uint64_t)tid << 16 | slot;
}

static uint64_t key_of(const struct live_batch *head)
{
	if (head->kind == LIVE_BATCH_STATUS)
		return stream_key(0, SLOT_STATUS);
	if (head->kind == LIVE_BATCH_LOSS)
		return stream_key(0, SLOT_LOSS);
	return stream_key(head->tid, head->slot ? 1 : 0);
}

/* Behind what waits already; what is through is dropped. */
static int put(struct coati_live_reader *t, struct process *p, struct held *h)
{
	struct live_clock c = coati_live_clock(&h->view.head, &p->clock);
	struct held **slot;
	struct stream *s;
	int n = coati_trace_stream(t, p, key_of(&h->view.head), &s);

	if (n == -E2BIG) {
		coati_trace_over(t, LIMIT_THREADS, t->max_streams);
		h->refused = true;
		return 0;
	}
	if (n < 0)
		return n;
	if (s->at && s->at >= s->queue.len / 2) {
		memmove(s->queue.v, s->queue.v + s->at, (s->queue.len - s->at) * sizeof(h));
		s->queue.len -= s->at;
		s->at = 0;
	}
	slot = ARRAY_ADD(&s->queue);
	if (!slot)
		return -ENOMEM;
	*slot = h;
	h->begin_ns = live_clock_ns(&c, h->view.head.base);
	h->queued = s->unsorted = true;
	h->generation->queued++;
	coati_trace_pending(t, p, h->generation->number < p->newest);
	return 0;
}

/* In the heap, if something waits; one that is there goes on with the batch that is read. */
static int settle(struct coati_live_reader *t, struct stream *s)
{
	if (s->in_heap || !s->unsorted)
		return 0;
	sort_queue(s);
	begin_batch(t, s);
	return step(t, s) ? coati_trace_heap_put(t, s) : 0;
}

static bool has_events(const struct held *h)
{
	uint16_t kind = h->view.head.kind;

	if (h->refused)
		return false;
	return kind == LIVE_BATCH_EVENTS || kind == LIVE_BATCH_STATUS || kind == LIVE_BATCH_LOSS;
}

int coati_trace_queue(struct coati_live_reader *t, struct process *p, struct generation *g)
{
	struct stream *s;
	int n = 0;

	coati_trace_unlist(t);
	coati_trace_sweep(t, p);
	for (struct held *h = g->first; h && n >= 0; h = h->next)
		if (!h->queued && has_events(h))
			n = put(t, p, h);
	t->certain = false;
	for (struct held *h = g->first; h && n >= 0; h = h->next) {
		if (!has_events(h))
			continue;
		n = coati_trace_stream(t, p, key_of(&h->view.head), &s);
		if (n == 0)
			n = settle(t, s);
	}
	return n;
}

int coati_trace_queue_late(struct coati_live_reader *t, struct process *p, struct held *h)
{
	struct stream *s;
	int n;

	coati_trace_unlist(t);
	n = put(t, p, h);
	t->certain = false;
	if (n < 0 || h->refused)
		return n;
	n = coati_trace_stream(t, p, key_of(&h->view.head), &s);
	return n < 0 ? n : settle(t, s);
}

/* ---- what comes next ---- */

/* Up to when nothing comes any more of those of which nothing waits. */
static uint64_t idle_until(struct coati_live_reader *t)
{
	if (t->idle_known)
		return t->idle_ns;
	t->idle_known = true;
	t->idle_ns = UINT64_MAX;
	for (size_t i = 0; i < t->processes.len; i++) {
		const struct process *p = t->processes.v[i];

		if (!p->over && !p->pending && p->settled_ns < t->idle_ns)
			t->idle_ns = p->settled_ns;
	}
	return t->idle_ns;
}

/* Whether no process can send anything earlier than what is on top of the heap. */
static bool is_certain(struct coati_live_reader *t)
{
	if (t->certain || t->finished || t->forcing)
		return t->certain = true;
	t->certain = !t->nr_idle;
	return t->certain || t->heap.v[t->top].time < idle_until(t);
}

/* Stacks stand behind the event to which they belong. */
static void advance(struct coati_live_reader *t, struct stream *s, struct coati_trace_event *e)
{
	size_t at = s->at;

	if (s->gap) {
		s->gap = 0;
		if (s->event.kind != LIVE_NONE)
			return;
	}
	while (!coati_trace_ahead(t, s)) {
		if (!step(t, s)) {
			coati_trace_heap_pop(t);
			return;
		}
		if (s->event.kind != LIVE_STACKED || s->at != at)
			break;
		if (e)
			coati_trace_show_stack(t, s, &s->event, e);
	}
	reorder(t, next_time(s));
}

/* Nothing of the stream on top is ready any more. */
static void go_on(struct coati_live_reader *t)
{
	struct stream *s = t->due;

	t->due = NULL;
	if (coati_trace_ahead(t, s) || step(t, s))
		reorder(t, next_time(s));
	else
		coati_trace_heap_pop(t);
}

/* ---- the list: what comes next for certain ---- */

/* One of a few streams, while they are merged. */
struct lane {
	uint64_t time, after; /* of the next event, and of the one behind it */
	struct coati_trace_event *next, *end;
};

/* The earliest of four; of those of the same instant the first. Which it is changes with nearly
 * every event, and no processor guesses it: there is no branch. Hot. */
static inline struct lane *first_lane(struct lane *l, uint64_t *ret_time)
{
	uint64_t a = l[0].time, b = l[1].time, c = l[2].time, d = l[3].time;
	struct lane *x = l, *y = l + 2;

	x = b < a ? l + 1 : x;
	a = b < a ? b : a;
	y = d < c ? l + 3 : y;
	c = d < c ? d : c;
	x = c < a ? y : x;
	*ret_time = c < a ? c : a;
	return x;
}

/* What is ready, by time, up to the last of some lane: that one.  Hot. */
static inline struct lane *merge(struct lane *lanes, bool many, struct coati_trace_event **list,
				 uint32_t *ret_nr)
{
	uint32_t n = 0;

	for (;;) {
		uint64_t time, other_time;
		struct lane *l = first_lane(lanes, &time), *other;
		struct coati_trace_event *e;

		if (many) {
			other = first_lane(lanes + 4, &other_time);
			l = other_time < time ? other : l;
		}
		e = l->next;
		list[n++] = e;
		l->time = l->after;
		l->next = ++e;
		if (e == l->end) {
			*ret_nr = n;
			return l;
		}
		l->after = e[1].time;
	}
}

/* Of a few streams. One of which nothing is ready stands there with what will be shown, which ends
 * the list and is not in it. */
static void list_few(struct coati_live_reader *t)
{
	struct lane lanes[FEW], *last;
	struct waiting *v = t->heap.v;
	size_t nr = t->heap.len;

	for (size_t i = 0; i < (nr <= 4 ? 4 : FEW); i++) {
		const struct stream *s = i < nr ? v[i].stream : NULL;

		if (s && s->next < s->end)
			lanes[i] = (struct lane){ v[i].time, s->next[1].time, s->next, s->end };
		else
			lanes[i] = (struct lane){ v[i].time, 0, &t->shown, &t->shown + 1 };
	}
	last = nr <= 4 ? merge(lanes, false, t->list, &t->listed)
		       : merge(lanes, true, t->list, &t->listed);
	for (size_t i = 0; i < nr; i++) {
		struct stream *s = v[i].stream;

		if (s->next < s->end) {
			s->next = lanes[i].next;
			v[i].time = lanes[i].time;
		}
	}
	t->top = (size_t)(last - lanes);
	if (last->next == &t->shown + 1)
		t->listed--;
	else
		t->due = v[t->top].stream;
}

/* Of one, or of the first of many as long as it is the first. */
static void list_first(struct coati_live_reader *t)
{
	const struct waiting *v = t->heap.v;
	struct stream *s = v->stream;
	uint64_t limit = UINT64_MAX;

	if (t->heap.len > 1)
		limit = v[1].time < v[2].time ? v[1].time : v[2].time;
	t->listed = 0;
	do
		t->list[t->listed++] = s->next++;
	while (s->next < s->end && s->next->time < limit);
	if (s->next == s->end)
		t->due = s;
	else
		reorder(t, s->next->time);
}

/* What is ready and in order. Nothing changes that it is certain, before nothing is ready of some
 * stream. */
static void list_ready(struct coati_live_reader *t)
{
	if (t->heap.len > 1 && t->heap.len <= FEW)
		list_few(t);
	else
		list_first(t);
	t->quality.events += t->listed;
	t->last_ns = t->list[t->listed - 1]->time;
}

/* The same while processes are quiet: what they may come before is ready again. */
static void list_settled(struct coati_live_reader *t)
{
	uint64_t until = idle_until(t);
	uint32_t nr;

	list_ready(t);
	for (nr = t->listed; t->list[nr - 1]->time >= until;)
		nr--;
	if (nr == t->listed)
		return;
	t->given = nr;
	coati_trace_unlist(t);
	t->listed = nr;
}

/* One event, that may be out of order or not ready. */
static void list_one(struct coati_live_reader *t, struct coati_trace_event *e)
{
	if (e->time < t->last_ns) {
		e->flags |= COATI_TRACE_LATE;
		t->quality.late++;
	} else {
		t->last_ns = e->time;
	}
	t->quality.events++;
	t->list[0] = e;
	t->listed = 1;
}

static void list_late(struct coati_live_reader *t, struct stream *s)
{
	struct coati_trace_event *e = s->next++;

	if (s->next < s->end)
		reorder(t, s->next->time);
	else
		t->due = s;
	s->stale |= UINT64_C(1) << (e - s->ready);
	list_one(t, e);
}

void coati_trace_unlist(struct coati_live_reader *t)
{
	if (t->given == t->listed) {
		if (t->due)
			go_on(t);
		return;
	}
	t->quality.events -= t->listed - t->given;
	t->last_ns = t->list[t->given - 1]->time;
	for (size_t i = 0; i < t->heap.len; i++) {
		struct stream *s = t->heap.v[i].stream;

		for (uint32_t j = t->listed; s->ready && j-- > t->given;)
			if (t->list[j] >= s->ready && t->list[j] < s->ready + AHEAD)
				s->next = t->list[j];
		t->heap.v[i].time = next_time(s);
	}
	t->listed = t->given = 0;
	t->due = NULL; /* the last of it was in the list */
	for (size_t i = t->heap.len > FEW ? t->heap.len / 2 : 0; i-- > 0;)
		sift_down(t->heap.v, t->heap.len, i);
	t->top = t->heap.len > FEW ? 0 : (size_t)(first_of(t->heap.v, FEW) - t->heap.v);
}

/* ---- giving out ---- */

static int show(struct coati_live_reader *t, struct stream *s)
{
	int n;

	if (s->generation != t->current) {
		t->current = s->generation;
		coati_trace_release(t);
	}
	n = coati_trace_show(t, s, &t->shown);
	if (n < 0)
		return n;
	coati_trace_settle_plain(s);
	advance(t, s, n ? &t->shown : NULL);
	if (n)
		list_one(t, &t->shown);
	return n;
}

/* The list, when all of it was given out. */
static __attribute__((noinline)) int fill(struct coati_live_reader *t)
{
	int n = 0;

	t->listed = t->given = 0;
	if (t->due)
		go_on(t);
	if (t->forcing && t->quality.held_bytes <= t->max_bytes / 2)
		t->forcing = t->certain = false;
	while (n == 0 && t->heap.len && is_certain(t)) {
		struct stream *s = t->heap.v[t->top].stream;

		if (s->next == s->end)
			n = show(t, s);
		else if (s->next->time < t->last_ns)
			list_late(t, s);
		else if (t->certain)
			list_ready(t);
		else
			list_settled(t);
		if (t->listed)
			return 1;
	}
	if (n == 0 && !t->heap.len && t->quality.held_bytes) {
		t->current = NULL;
		coati_trace_release(t);
	}
	return n;
}

/* How many are listed that may be given out; what lies behind the end is left out. */
static inline int listed(struct coati_live_reader *t)
{
	int n;

	while ((n = t->given < t->listed ? 1 : fill(t)) > 0) {
		uint32_t nr = t->listed - t->given;

		if (__builtin_expect(t->list[t->listed - 1]->time <= t->to_ns, 1))
			return (int)nr;
		while (nr && t->list[t->given + nr - 1]->time > t->to_ns)
			nr--;
		if (nr)
			return (int)nr;
		t->quality.left_out += t->listed - t->given;
		t->quality.events -= t->listed - t->given;
		t->given = t->listed;
	}
	return n;
}

int coati_trace_next_of_all(struct coati_live_reader *t, const struct coati_trace_event **ret)
{
	int n = listed(t);

	if (n > 0)
		*ret = t->list[t->given++];
	return n < 1 ? n : 1;
}

static inline bool is_clipped(const struct coati_live_reader *t)
{
	return __builtin_expect(t->from_ns || t->kept_at < t->kept.len, 0);
}

int coati_live_reader_next(struct coati_live_reader *t, const struct coati_trace_event **ret)
{
	return is_clipped(t) ? coati_trace_next_clipped(t, ret) : coati_trace_next_of_all(t, ret);
}

int coati_live_reader_take(struct coati_live_reader *t, const struct coati_trace_event *const **ret)
{
	int n;

	if (is_clipped(t)) {
		*ret = &t->kept_now;
		return coati_trace_next_clipped(t, &t->kept_now);
	}
	n = listed(t);
	if (n <= 0)
		return n;
	*ret = (const struct coati_trace_event *const *)t->list + t->given;
	t->given += (uint32_t)n;
	return n;
}
