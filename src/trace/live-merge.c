/* SPDX-License-Identifier: MIT */
/*
 * The batches of each thread one after the other, and the threads merged by time: a heap of streams with the earliest event on top, or a handful of them in any order. An event may go out when no
 * process can still send an earlier one: generations follow each other, and the writers of one are through before the next but one begins. So a process is settled as far
 * as its last but one complete generation reaches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/live-trace.h"

#define REGIONS_MAX 4096u
#define QUEUE_MAX   (1u << 22)
#define FEW	    8u	  /* streams among which the first is looked for one by one */
#define SWEEP_AT    4096u /* streams of a process before those that have ended are looked for */

/* ---- streams ---- */

void coati_trace_stream_free(struct stream *s)
{
	ARRAY_FINI(&s->queue);
	ARRAY_FINI(&s->regions);
	coati_free(s);
}

static uint64_t stream_key(uint32_t tid, uint16_t slot)
{
	return (uint64_t)tid << 16 | slot;
}

struct stream *coati_trace_stream(struct process *p, uint32_t tid, uint16_t slot)
{
	struct stream *s;
	uint64_t v;

	if (coati_map_get(&p->streams, stream_key(tid, slot), &v))
		return (struct stream *)(uintptr_t)v;
	s = coati_alloc(sizeof(*s));
	if (!s)
		return NULL;
	s->process = p;
	s->tid = tid;
	s->slot = slot;
	s->queue.max = QUEUE_MAX;
	s->regions.max = REGIONS_MAX;
	if (coati_map_put(&p->streams, stream_key(tid, slot), (uint64_t)(uintptr_t)s) < 0) {
		coati_trace_stream_free(s);
		return NULL;
	}
	return s;
}

static bool is_gone(const struct process *p, const struct stream *s)
{
	return s->at == s->queue.len && !s->regions.len && !s->deeper &&
	       s->last_generation + 2 <= p->newest;
}

/* Threads that are gone: nothing waits, nothing is open, nothing came for some generations. */
static void sweep(struct process *p)
{
	uint64_t keys[256], key, value;
	size_t nr;

	do {
		nr = 0;
		for (size_t pos = 0; nr < 256 && coati_map_next(&p->streams, &pos, &key, &value);)
			if (is_gone(p, (struct stream *)(uintptr_t)value))
				keys[nr++] = key;
		for (size_t i = 0; i < nr; i++) {
			coati_map_get(&p->streams, keys[i], &value);
			coati_map_del(&p->streams, keys[i]);
			coati_trace_stream_free((struct stream *)(uintptr_t)value);
		}
	} while (nr == 256);
}

/* ---- the heap ---- */

static bool comes_first(const struct stream *a, const struct stream *b)
{
	if (a->process->pid != b->process->pid)
		return a->process->pid < b->process->pid;
	if ((a->slot == SLOT_STATUS) != (b->slot == SLOT_STATUS))
		return a->slot == SLOT_STATUS;
	if (a->tid != b->tid)
		return a->tid < b->tid;
	return a->slot < b->slot;
}

static inline bool earlier(const struct waiting *a, const struct waiting *b)
{
	return a->time != b->time ? a->time < b->time : comes_first(a->stream, b->stream);
}

static void sift_down(struct waiting *v, size_t len, size_t at)
{
	struct waiting moved = v[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= len)
			break;
		if (child + 1 < len && earlier(&v[child + 1], &v[child]))
			child++;
		if (!earlier(&v[child], &moved))
			break;
		v[at] = v[child];
		at = child;
	}
	v[at] = moved;
}

/* Which is first changes with nearly every event, and no processor guesses it: no branch but for those of the same instant. */
static inline size_t first_of(const struct waiting *v, size_t len)
{
	const struct waiting *first = v, *end = v + len;
	uint64_t best = v->time;

	for (const struct waiting *i = v + 1; i < end; i++) {
		uint64_t time = i->time;

		if (__builtin_expect(time == best, 0) && comes_first(i->stream, first->stream))
			first = i;
		first = time < best ? i : first;
		best = time < best ? time : best;
	}
	return (size_t)(first - v);
}

/* The time of the one on top has changed. */
static inline void reorder(struct coati_trace *t)
{
	struct waiting *v = t->heap.v;

	v[t->top].time = v[t->top].stream->time;
	if (t->heap.len <= FEW)
		t->top = first_of(v, t->heap.len);
	else
		sift_down(v, t->heap.len, 0);
}

/* A few are not sorted; a heap is made when there are more. */
static int heap_put(struct coati_trace *t, struct stream *s)
{
	struct waiting new = { s->time, s }, *v;
	size_t at = t->heap.len;

	if (!ARRAY_ADD(&t->heap))
		return -ENOMEM;
	v = t->heap.v;
	s->in_heap = true;
	v[at] = new;
	if (t->heap.len <= FEW) {
		t->top = first_of(v, t->heap.len);
		return 0;
	}
	t->top = 0;
	if (t->heap.len == FEW + 1) {
		for (size_t i = t->heap.len / 2; i-- > 0;)
			sift_down(v, t->heap.len, i);
		return 0;
	}
	while (at && earlier(&new, &v[(at - 1) / 2])) {
		v[at] = v[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	v[at] = new;
	return 0;
}

static void heap_pop(struct coati_trace *t)
{
	struct waiting *v = t->heap.v;
	size_t top = t->top;

	v[top].stream->in_heap = false;
	v[top] = v[--t->heap.len];
	t->top = 0;
	if (t->heap.len > FEW)
		sift_down(v, t->heap.len, 0);
	else if (t->heap.len)
		t->top = first_of(v, t->heap.len);
}

/* ---- one stream ---- */

static void batch_done(struct coati_trace *t, struct stream *s)
{
	struct process *p = s->process;
	struct generation *g = s->queue.v[s->at]->generation;

	g->queued--;
	if (g->number < p->newest)
		p->pending--;
	t->certain = false;
	s->at++;
}

/* A batch is there: is it the one that should come? */
static void follow_sequence(struct coati_trace *t, struct stream *s, const struct held *h)
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
			coati_trace_damaged(t, h, 0, "its number was there before");
		coati_trace_forget(s); /* another thread has the number of one that has ended */
		s->news = COATI_TRACE_NEW_THREAD;
	}
	s->seen = true;
	s->seq = head->seq + 1;
}

static void begin_batch(struct coati_trace *t, struct stream *s)
{
	struct held *h = s->queue.v[s->at];

	follow_sequence(t, s, h);
	s->generation = h->generation;
	s->telling = false;
	s->last_generation = h->generation->number;
	s->clock = coati_live_clock(&h->view.head, &s->process->rate);
	t->quality.clock_unknown += s->clock.unknown;
	if (!s->clock.unknown && s->clock.error_ns > t->quality.clock_error_ns)
		t->quality.clock_error_ns = s->clock.error_ns;
	coati_trace_blank(s, h);
	s->walk = coati_live_walk(&h->view, &s->process->names.schema, coati_live_names_fields,
				  &s->process->names);
	coati_trace_settle_plain(s);
}

/* Times within a thread never go back: two clocks that differ by less than their error must not turn its events round.  Hot. */
static inline void set_time(struct stream *s)
{
	uint64_t ns = live_clock_ns(&s->clock, s->event.time);

	if (__builtin_expect(s->event.time > s->clock.last_units, 0)) {
		s->clock.unknown = true;
		s->plain = false;
	}
	s->time = ns > s->time ? ns : s->time;
}

/* The next event of the stream into it: false when there is none. */
static bool step(struct coati_trace *t, struct stream *s)
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
		if (s->gap) { /* told even when nothing follows */
			s->event = (struct live_event){ .kind = LIVE_NONE, .time = s->walk.time };
			break;
		}
		batch_done(t, s);
		if (s->at < s->queue.len)
			begin_batch(t, s);
	}
	set_time(s);
	return true;
}

/* ---- queueing ---- */

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

static struct stream *stream_of(struct process *p, const struct live_batch *head)
{
	if (head->kind == LIVE_BATCH_STATUS)
		return coati_trace_stream(p, 0, SLOT_STATUS);
	if (head->kind == LIVE_BATCH_LOSS)
		return coati_trace_stream(p, 0, SLOT_LOSS);
	return coati_trace_stream(p, head->tid, head->slot ? 1 : 0);
}

/* Behind what waits already; what is through is dropped. */
static int put(struct process *p, struct held *h)
{
	struct stream *s = stream_of(p, &h->view.head);
	struct live_clock c = coati_live_clock(&h->view.head, &p->rate);
	struct held **slot;

	if (!s)
		return -ENOMEM;
	if (s->at) {
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
	return 0;
}

static void recount(struct process *p)
{
	p->pending = 0;
	for (size_t i = 0; i < p->generations.len; i++)
		if (p->generations.v[i]->number < p->newest)
			p->pending += p->generations.v[i]->queued;
}

/* In order, and in the heap; the batch that is read stays where it is. */
static int settle(struct coati_trace *t, struct stream *s)
{
	size_t keep = s->in_heap ? 1 : 0;

	if (!s->unsorted)
		return 0;
	s->unsorted = false;
	qsort(s->queue.v + keep, s->queue.len - keep, sizeof(struct held *), by_begin);
	if (s->in_heap)
		return 0;
	begin_batch(t, s);
	return step(t, s) ? heap_put(t, s) : 0;
}

static bool has_events(const struct held *h)
{
	uint16_t kind = h->view.head.kind;

	return kind == LIVE_BATCH_EVENTS || kind == LIVE_BATCH_STATUS || kind == LIVE_BATCH_LOSS;
}

int coati_trace_queue(struct coati_trace *t, struct process *p, struct generation *g)
{
	int n = 0;

	if (p->streams.len > SWEEP_AT)
		sweep(p);
	for (struct held *h = g->first; h && n >= 0; h = h->next)
		if (!h->queued && has_events(h))
			n = put(p, h);
	recount(p);
	t->certain = false;
	for (struct held *h = g->first; h && n >= 0; h = h->next)
		if (has_events(h))
			n = settle(t, stream_of(p, &h->view.head));
	return n;
}

/* ---- giving out ---- */

/* Whether no process can send anything earlier than what is on top of the heap. */
static bool is_certain(struct coati_trace *t)
{
	if (t->certain || t->finished || t->forcing)
		return t->certain = true;
	for (size_t i = 0; i < t->processes.len; i++)
		if (!t->processes.v[i]->pending && !t->processes.v[i]->over)
			return false;
	return t->certain = true;
}

/* Stacks stand behind the event to which they belong. */
static void advance(struct coati_trace *t, struct stream *s, struct coati_trace_event *e)
{
	size_t at = s->at;
	bool more;

	if (s->gap) {
		s->gap = 0;
		if (s->event.kind != LIVE_NONE)
			return;
	}
	more = step(t, s);
	while (more && s->event.kind == LIVE_STACKED && s->at == at) {
		if (e)
			coati_trace_show_stack(t, s, &s->event, e);
		more = step(t, s);
	}
	if (!more)
		heap_pop(t);
	else
		reorder(t);
}

static inline void count_event(struct coati_trace *t, struct coati_trace_event *e)
{
	if (e->time < t->last_ns) {
		e->flags |= COATI_TRACE_LATE;
		t->quality.late++;
	} else {
		t->last_ns = e->time;
	}
	t->quality.events++;
}

/* The next event of a stream that is plain as it is shown, if it is a region as nearly all are: else false, and nothing has changed. As in live_next_region() there is no
 * branch between begin and end.  Hot. */
static inline bool show_region(struct stream *s, struct coati_trace_event *ret)
{
	unsigned int is_end = s->event.kind - LIVE_REGION_BEGIN;
	uint64_t begun = is_end - UINT64_C(1); /* all bits of a begin */
	size_t depth = s->regions.len - is_end;
	const struct coati_trace_site *site;
	uint64_t time = s->time, began;
	struct open_region *r;

	if (is_end > 1 || depth >= s->regions.cap || s->deeper)
		return false;
	r = &s->regions.v[depth];
	site = live_names_site(&s->process->names, s->event.v[0]);
	if (!((uintptr_t)site | ~begun))
		return false;
	site = (const struct coati_trace_site *)(((uintptr_t)site & begun) |
						 ((uintptr_t)r->site & ~begun));
	began = (time & begun) | (r->began_ns & ~begun);
	r->site = site;
	r->began_ns = began;
	s->regions.len = depth + 1 - is_end;
	*ret = s->blank;
	ret->time = time;
	ret->kind = s->event.kind;
	ret->task = s->task;
	ret->site = site;
	ret->duration = (time - began) | begun; /* NO_DURATION */
	ret->depth = (uint32_t)depth;
	return true;
}

/* Nearly every event: a region, in a batch about which nothing is special. False: nothing has changed.  Hot. */
static inline bool next_region(struct coati_trace *t, struct coati_trace_event *ret)
{
	struct stream *s;

	if (!t->heap.len || !t->certain)
		return false;
	s = t->heap.v[t->top].stream;
	if (!s->plain || s->generation != t->current || !show_region(s, ret))
		return false;
	if (live_next_region(&s->walk, &s->event)) {
		set_time(s);
		reorder(t);
	} else {
		advance(t, s, ret);
	}
	count_event(t, ret);
	return true;
}

static __attribute__((noinline)) int next_any(struct coati_trace *t, struct coati_trace_event *ret)
{
	int n;

	if (t->forcing && t->quality.held_bytes <= t->max_bytes / 2)
		t->forcing = t->certain = false;
	while (t->heap.len && is_certain(t)) {
		struct stream *s = t->heap.v[t->top].stream;

		if (s->generation != t->current) {
			t->current = s->generation;
			coati_trace_release(t);
		}
		n = coati_trace_show(t, s, ret);
		if (n < 0)
			return n;
		coati_trace_settle_plain(s);
		advance(t, s, n ? ret : NULL);
		if (!n)
			continue;
		count_event(t, ret);
		return 1;
	}
	if (!t->heap.len && t->quality.held_bytes) {
		t->current = NULL;
		coati_trace_release(t);
	}
	return 0;
}

int coati_trace_next(struct coati_trace *t, struct coati_trace_event *ret)
{
	return next_region(t, ret) ? 1 : next_any(t, ret);
}
