/* SPDX-License-Identifier: MIT */
/*
 * Wakeups that were not recorded, but that follow from the end of a thread. A process that waits
 * for a child runs again when the child has ended; a thread that joins another one by a futex, when
 * that one has. In: threads with their states. Out: one more wakeup for each such wait, at the time
 * when the waiter ran again, so that no duration changes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/search.h"
#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

/* A waiter runs so soon after the end that it waited for, or it is not known that it waited for
 * that. A parent, whose child ended, may have to wait for a CPU first. The record of the end is
 * written a little before a parent is woken, and a little after a futex is. */
#define NEAR_NS	  NSEC_PER_MSEC
#define CHILD_NS  (10 * NSEC_PER_MSEC)
#define NEAR_MOST 4096 /* ends that are looked at for one wait */

struct ending {
	uint64_t time;
	uint32_t thread;
};

struct endings {
	ARRAY(struct ending) list;
};

static int by_time(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int gather(const struct coati_timeline *t, struct endings *ends)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		struct ending *e = t->threads.v[i].end ? ARRAY_ADD(&ends->list) : NULL;

		if (!t->threads.v[i].end)
			continue;
		if (!e)
			return -ENOMEM;
		*e = (struct ending){ t->threads.v[i].end, (uint32_t)i };
	}
	if (ends->list.len)
		qsort(ends->list.v, ends->list.len, sizeof(*ends->list.v), by_time);
	return 0;
}

/* Whether the end of @x may be what @th waited for. */
static bool ends_wait(const struct thread *th, enum coati_wait wait, const struct thread *x)
{
	if (x == th)
		return false;
	if (wait == COATI_WAIT_FUTEX)
		return x->pid == th->pid;
	return x->pid == x->tid && x->parent == th->pid && x->pid != th->pid;
}

/* The thread whose end, the nearest, lets @th run again at @time after the wait @s; NONE. */
static uint32_t find(const struct coati_timeline *t, const struct endings *ends,
		     const struct thread *th, const struct stretch *s, uint64_t time)
{
	bool joins = s->wait == COATI_WAIT_FUTEX;
	uint64_t near = joins ? NEAR_NS : CHILD_NS;
	/* who is known to wait for a child may have waited for a CPU behind it for any time */
	uint64_t from = time > near && s->wait != COATI_WAIT_CHILD ? time - near : 0;
	uint64_t to = joins && time < UINT64_MAX - near ? time + near : time;
	uint64_t best = UINT64_MAX;
	uint32_t found = COATI_TIMELINE_NONE;
	size_t low = 0, high = ends->list.len, last;

	if (from <= s->begin)
		from = s->begin;
	low = SEARCH(mid, low, high, ends->list.v[mid].time < from);
	last = ends->list.len - low > NEAR_MOST ? low + NEAR_MOST : ends->list.len;
	for (; low < last && ends->list.v[low].time <= to; low++) {
		const struct ending *e = &ends->list.v[low];
		uint64_t away = e->time > time ? e->time - time : time - e->time;

		if (away <= best && ends_wait(th, s->wait, &t->threads.v[e->thread])) {
			best = away;
			found = e->thread;
		}
	}
	return found;
}

/* Is it a wait that a thread left without a wakeup, and that an end could explain? */
static bool is_open(const struct thread *th, size_t i)
{
	const struct stretch *s = &th->stretches.v[i];

	return i + 1 < th->stretches.len && s[1].wait == COATI_WAIT_RUNNING &&
	       (s->wait == COATI_WAIT_FUTEX || s->wait == COATI_WAIT_CHILD ||
		s->wait == COATI_WAIT_OTHER);
}

/* A wait, by its state, and whose end ended it. */
struct implied {
	size_t at;
	uint32_t waker;
};

struct waits {
	ARRAY(struct implied) list;
};

static int find_waits(const struct coati_timeline *t, const struct endings *ends,
		      const struct thread *th, struct waits *ret)
{
	ret->list.len = 0;
	for (size_t n = 0; n < th->stretches.len; n++) {
		uint32_t waker = COATI_TIMELINE_NONE;
		struct implied *i;

		if (is_open(th, n))
			waker = find(t, ends, th, &th->stretches.v[n],
				     th->stretches.v[n + 1].begin);
		if (waker == COATI_TIMELINE_NONE)
			continue;
		i = ARRAY_ADD(&ret->list);
		if (!i)
			return -ENOMEM;
		*i = (struct implied){ n, waker };
	}
	return 0;
}

/* Room for the states that the wakeups make, and for the wakeups. */
static int make_room(struct coati_timeline *t, struct thread *th, size_t nr)
{
	size_t states = th->stretches.len, wakes = t->wakes.len;
	bool ok = true;

	for (size_t i = 0; ok && i < nr; i++)
		ok = ARRAY_ADD(&th->stretches) && ARRAY_ADD(&t->wakes);
	if (ok)
		return 0;
	th->stretches.len = states;
	t->wakes.len = wakes;
	return states + nr > th->stretches.max || wakes + nr > t->wakes.max ? -E2BIG : -ENOMEM;
}

/* Behind each wait the state that says who ended it: from the last one on, so that each state moves
 * once. */
static int add_wakes(struct coati_timeline *t, uint32_t woken, const struct waits *waits)
{
	struct thread *th = &t->threads.v[woken];
	size_t nr = waits->list.len, from = th->stretches.len;
	int r = make_room(t, th, nr);

	for (; r == 0 && nr > 0; nr--) {
		const struct implied *i = &waits->list.v[nr - 1];
		struct stretch *s = th->stretches.v;
		uint32_t number = (uint32_t)(t->wakes.len - waits->list.len + nr - 1);

		while (from > i->at + 1) {
			from--;
			s[from + nr] = s[from];
		}
		s[i->at + nr] = (struct stretch){ .begin = s[i->at + 1 + nr].begin,
						  .wait = COATI_WAIT_RUNNABLE,
						  .cpu = -1,
						  .stack = number };
		t->wakes.v[number] =
			(struct wake){ .time = s[i->at + nr].begin,
				       .blocked_ns = s[i->at + nr].begin - s[i->at].begin,
				       .waker = i->waker,
				       .woken = woken,
				       .stack = COATI_TIMELINE_NONE,
				       .flags = COATI_TIMELINE_IMPLIED };
	}
	return r;
}

/* ---- order ---- */

struct numbered {
	struct wake wake;
	uint32_t old;
};

static int wakes_by_time(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->wake.time != y->wake.time)
		return x->wake.time < y->wake.time ? -1 : 1;
	return x->old < y->old ? -1 : x->old > y->old;
}

/* Wakeups in order of time again; states know theirs by number. */
static int sort_wakes(struct coati_timeline *t)
{
	size_t nr = t->wakes.len;
	struct numbered *list = coati_alloc_array(nr, sizeof(*list));
	uint32_t *moved = coati_alloc_array(nr, sizeof(*moved));

	for (size_t i = 0; list && moved && i < nr; i++)
		list[i] = (struct numbered){ t->wakes.v[i], (uint32_t)i };
	if (list && moved)
		qsort(list, nr, sizeof(*list), wakes_by_time);
	for (size_t i = 0; list && moved && i < nr; i++) {
		t->wakes.v[i] = list[i].wake;
		moved[list[i].old] = (uint32_t)i;
	}
	for (size_t i = 0; list && moved && i < t->threads.len; i++) {
		struct thread *th = &t->threads.v[i];

		for (size_t n = 0; n < th->stretches.len; n++)
			if (th->stretches.v[n].wait == COATI_WAIT_RUNNABLE &&
			    th->stretches.v[n].stack < nr)
				th->stretches.v[n].stack = moved[th->stretches.v[n].stack];
	}
	coati_free(list);
	coati_free(moved);
	return list && moved ? 0 : -ENOMEM;
}

int coati_timeline_end_waits(struct coati_timeline *t)
{
	struct endings ends = { .list.max = t->threads.max };
	struct waits waits = { .list.max = t->wakes.max };
	size_t before = t->wakes.len;
	int r = gather(t, &ends);

	for (size_t i = 0; r == 0 && ends.list.len && i < t->threads.len; i++) {
		r = find_waits(t, &ends, &t->threads.v[i], &waits);
		if (r == 0 && waits.list.len)
			r = add_wakes(t, (uint32_t)i, &waits);
		if (r == -E2BIG) { /* these waits stay without one */
			t->info.refused += waits.list.len;
			r = 0;
		}
	}
	ARRAY_FINI(&ends.list);
	ARRAY_FINI(&waits.list);
	return r == 0 && (t->unsorted || t->wakes.len > before) ? sort_wakes(t) : r;
}
