/* SPDX-License-Identifier: MIT */
/* see latency.h */
#include "cli/agent/latency.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <coati/event.h>
#include <coati/record.h>
#include <coati/ring.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "event/set.h"

#define RING_BYTES  (64u << 10)
#define RINGS_MAX   8192
#define CALLS_MAX   65536 /* between two looks */
#define OPEN_MAX    16384 /* calls that go on */
#define HEADER	    8
#define CLOCK_ID    1 /* CLOCK_MONOTONIC */
#define SAMPLE_BODY 16

enum { EVENT_ENTRY, EVENT_RETURN, NR_EVENTS };

struct mark {
	uint64_t time_ns;
	uint32_t tid;
	bool is_return;
};

/* A call that goes on; below: the one that it was made in, or is free behind it; plus 1. */
struct call {
	uint64_t time_ns;
	uint32_t tid, below;
};

struct latency {
	struct coati_event_list *list;
	struct coati_set *set;
	ARRAY(struct coati_ring *) rings;
	ARRAY(bool) is_return; /* of each ring */
	ARRAY(struct mark) marks;
	ARRAY(struct call) calls;
	ARRAY(uint64_t) durations;
	uint64_t longest_ns, longest_since_ns; /* of the calls in durations, and when it began */
	struct map tops;		       /* thread to its innermost call, plus 1 */
	uint32_t unused;		       /* the first call that is free, plus 1 */
	bool has_lost;			       /* marks are missing: what is open is not known */
};

/* ---- opening ---- */

static int open_set(struct latency *l, const char *place, struct coati_error *err)
{
	struct coati_attr attrs[NR_EVENTS];
	struct coati_set_opts o = { .size = sizeof(o), .attrs = attrs };
	struct strbuf text = STRBUF_INIT(8192);
	int r = coati_event_list_new(NULL, &l->list, err);

	coati_strbuf_printf(&text, "uprobe:%s,uretprobe:%s", place, place);
	if (r == 0)
		r = text.failed ? coati_fail(err, -E2BIG, "the name of a function is too long")
				: coati_event_list_add(l->list, text.text, err);
	coati_strbuf_fini(&text);
	for (uint32_t i = 0; r == 0 && i < NR_EVENTS; i++) {
		const struct coati_event_desc *d = coati_event_list_get(l->list, i);

		if (!d)
			return coati_fail(err, -EINVAL, "%s is not PATH:FUNCTION", place);
		attrs[i] = d->attr;
		attrs[i].sample_period = 1;
		attrs[i].sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME;
		attrs[i].flags |= COATI_ATTR_USE_CLOCKID;
		attrs[i].clockid = CLOCK_ID;
	}
	return r < 0 ? r : coati_set_open(l->list, &o, &l->set, err);
}

static int open_ring(struct latency *l, const struct coati_set_entry *e, struct coati_error *err)
{
	struct coati_ring_opts o = { .size = sizeof(o),
				     .data_bytes = RING_BYTES,
				     .flags = COATI_RING_CLAMP };
	struct coati_ring **slot = ARRAY_ADD(&l->rings);
	bool *is_return = slot ? ARRAY_ADD(&l->is_return) : NULL;
	int r;

	if (!is_return)
		return coati_fail(err, -ENOMEM, "out of memory");
	*is_return = e->event == EVENT_RETURN;
	r = coati_ring_open(coati_event_fd(e->handle), &o, slot, err);
	if (r < 0)
		l->rings.len--;
	return r;
}

int coati_latency_open(const char *place, struct latency **ret, struct coati_error *err)
{
	struct latency *l = coati_alloc(sizeof(*l));
	struct coati_set_entry e;
	int r;

	if (!l)
		return coati_fail(err, -ENOMEM, "out of memory");
	l->rings.max = l->is_return.max = RINGS_MAX;
	l->marks.max = l->durations.max = CALLS_MAX;
	l->calls.max = OPEN_MAX;
	coati_map_init(&l->tops, OPEN_MAX);
	r = open_set(l, place, err);
	for (uint32_t i = 0; r == 0 && i < coati_set_count(l->set); i++)
		if (coati_set_entry(l->set, i, &e) == 0)
			r = open_ring(l, &e, err);
	for (uint32_t i = 0; r == 0 && i < NR_EVENTS; i++)
		if (coati_set_event_error(l->set, i)) {
			*err = *coati_set_event_error(l->set, i);
			r = err->code;
		}
	if (r == 0)
		r = coati_set_enable(l->set, err);
	if (r < 0)
		coati_latency_close(&l);
	*ret = l;
	return r;
}

void coati_latency_close(struct latency **lp)
{
	struct latency *l = *lp;

	if (!l)
		return;
	for (size_t i = 0; i < l->rings.len; i++)
		coati_ring_close(&l->rings.v[i]);
	coati_set_close(&l->set);
	coati_event_list_free(l->list);
	ARRAY_FINI(&l->rings);
	ARRAY_FINI(&l->is_return);
	ARRAY_FINI(&l->marks);
	ARRAY_FINI(&l->calls);
	ARRAY_FINI(&l->durations);
	coati_map_fini(&l->tops);
	coati_free(l);
	*lp = NULL;
}

/* ---- reading ---- */

static void take_item(struct latency *l, const struct coati_ring_item *item, bool is_return)
{
	struct cursor c = cursor_over(item->bytes, item->bytes ? item->size : 0);
	uint32_t type = cursor_u32(&c);
	struct mark m = { .is_return = is_return }, *slot;

	if (item->kind != COATI_ITEM_RECORD || type == COATI_RECORD_LOST) {
		l->has_lost = true;
		return;
	}
	if (type != COATI_RECORD_SAMPLE || item->size < HEADER + SAMPLE_BODY)
		return;
	cursor_u32(&c); /* the rest of the header */
	cursor_u32(&c); /* the process */
	m.tid = cursor_u32(&c);
	m.time_ns = cursor_u64(&c);
	slot = ARRAY_ADD(&l->marks);
	if (slot)
		*slot = m;
	else
		l->has_lost = true;
}

static int by_time(const void *va, const void *vb)
{
	const struct mark *a = va, *b = vb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->is_return - b->is_return;
}

static void forget_calls(struct latency *l)
{
	l->calls.len = 0;
	l->unused = 0;
	l->has_lost = false;
	coati_map_fini(&l->tops);
	coati_map_init(&l->tops, OPEN_MAX);
}

static void enter(struct latency *l, const struct mark *m)
{
	uint32_t number = l->unused;
	struct call *c = number ? &l->calls.v[number - 1] : ARRAY_ADD(&l->calls);
	uint64_t below = 0;

	if (!c) { /* of threads that were killed in a call, or of a recursion */
		l->has_lost = true;
		return;
	}
	if (number)
		l->unused = c->below;
	else
		number = (uint32_t)l->calls.len;
	coati_map_get(&l->tops, m->tid, &below);
	*c = (struct call){ m->time_ns, m->tid, (uint32_t)below };
	if (coati_map_put(&l->tops, m->tid, number) < 0)
		l->has_lost = true;
}

static void add_duration(struct latency *l, uint64_t since_ns, uint64_t until_ns)
{
	uint64_t *slot = ARRAY_ADD(&l->durations);

	if (!slot)
		return;
	*slot = until_ns - since_ns;
	if (*slot < l->longest_ns)
		return;
	l->longest_ns = *slot;
	l->longest_since_ns = since_ns;
}

static void leave(struct latency *l, const struct mark *m)
{
	uint64_t number = 0;
	struct call *c;

	/* it was entered before we looked */
	if (!coati_map_get(&l->tops, m->tid, &number) || !number)
		return;
	c = &l->calls.v[number - 1];
	add_duration(l, c->time_ns, m->time_ns);
	coati_map_put(&l->tops, m->tid, c->below);
	*c = (struct call){ .below = l->unused };
	l->unused = (uint32_t)number;
}

/* A return must not be seen before its entry, which may be in a ring that was read a moment too
 * early: what is newer than the beginning of this round waits for the next. */
static void read_rings(struct latency *l, uint64_t until_ns)
{
	struct coati_ring_item item;
	size_t nr = 0, kept;

	for (size_t i = 0; i < l->rings.len; i++)
		while (coati_ring_next(l->rings.v[i], &item) > 0)
			take_item(l, &item, l->is_return.v[i]);
	if (l->marks.len)
		qsort(l->marks.v, l->marks.len, sizeof(*l->marks.v), by_time);
	for (; nr < l->marks.len && l->marks.v[nr].time_ns < until_ns; nr++) {
		if (l->marks.v[nr].is_return)
			leave(l, &l->marks.v[nr]);
		else
			enter(l, &l->marks.v[nr]);
	}
	kept = l->marks.len - nr;
	if (kept)
		memmove(l->marks.v, l->marks.v + nr, kept * sizeof(*l->marks.v));
	l->marks.len = kept;
	if (l->has_lost)
		forget_calls(l);
}

/* ---- looking ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t coati_latency_percentile(uint64_t *v, size_t nr, uint32_t percent)
{
	qsort(v, nr, sizeof(*v), by_number);
	return v[(nr * percent + 99) / 100 - 1];
}

int coati_latency_look(struct latency *l, uint64_t now_ns, uint32_t percent,
		       struct latency_seen *ret)
{
	size_t nr;

	l->durations.len = 0;
	l->longest_ns = l->longest_since_ns = 0;
	read_rings(l, now_ns);
	for (size_t i = 0; i < l->calls.len; i++)
		if (l->calls.v[i].time_ns)
			add_duration(l, l->calls.v[i].time_ns, now_ns);
	nr = l->durations.len;
	if (!nr)
		return -ENODATA;
	ret->percentile_ns = coati_latency_percentile(l->durations.v, nr, percent);
	ret->longest_since_ns = l->longest_since_ns;
	return 0;
}
