/* SPDX-License-Identifier: MIT */
/*
 * The validator: follows the events with a memory of its own, and shares nothing with the reader
 * but the events. What it calls wrong is wrong in the trace or in the reader. A program may be
 * watched from the middle on, so that ends without a begin are allowed until a thread has reported
 * what it has open, and again after something was lost.
 */
#include <coati/trace.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "live-read/check-resources.h"
#include "live-read/check.h"
#include "live-read/idset.h"

#define DEPTH_MAX   (1u << 16)
#define DEPTH_NAMED 4096u /* the reader gives names and lengths to ends of regions up to here */
#define THREADS_MAX (1u << 20)
#define RECENT	    256u
#define NO_SLOT	    UINT32_MAX /* slots have 16 bits */
#define TASKS_MAX   (1u << 20) /* of a process that are open */
#define ENDED_MAX   (1u << 16) /* pages of tasks that have ended */

struct region {
	const struct coati_trace_site *site;
	uint64_t began;
};

struct thread {
	struct watched *watched;
	uint32_t pid, tid, slot;
	uint32_t quiet_slot; /* the same; NO_SLOT: every event needs a closer look */
	uint64_t time, generation;
	bool certain; /* every open region is known */
	bool telling; /* regions are repeated, one after the other */
	uint32_t told;
	ARRAY(struct region) regions;
};

struct watched {
	uint32_t pid;
	struct map threads, resources; /* -> pointer */
	struct map tasks;	       /* that are open -> their site */
	struct idset ended;	       /* tasks */
};

struct coati_trace_check {
	struct map processes;
	uint64_t events, time;
	struct thread *recent[RECENT]; /* whose events came last, by their numbers */
	struct thread nobody;
	struct coati_trace_finding *finding; /* NULL: there is one already */
	bool found;
};

void coati_check_wrong(struct coati_trace_check *c, const struct coati_trace_event *e,
		       const char *fmt, ...)
{
	struct coati_trace_finding *f = c->finding;
	va_list ap;

	if (c->found)
		return;
	c->found = true;
	*f = (struct coati_trace_finding){
		.event = c->events, .time = e->time, .pid = e->pid, .tid = e->tid
	};
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

/* ---- memory ---- */

static void free_thread(struct thread *t)
{
	ARRAY_FINI(&t->regions);
	coati_free(t);
}

static void free_watched(struct watched *w)
{
	uint64_t key, value;

	for (size_t pos = 0; coati_map_next(&w->threads, &pos, &key, &value);)
		free_thread((struct thread *)(uintptr_t)value);
	coati_map_fini(&w->threads);
	coati_map_fini(&w->tasks);
	coati_idset_fini(&w->ended);
	coati_check_resources_fini(&w->resources);
	coati_free(w);
}

static void forget_process(struct coati_trace_check *c, uint32_t pid)
{
	uint64_t v;

	if (!coati_map_get(&c->processes, pid, &v))
		return;
	coati_map_del(&c->processes, pid);
	free_watched((struct watched *)(uintptr_t)v);
}

static struct watched *get_watched(struct coati_trace_check *c, uint32_t pid)
{
	struct watched *w;
	uint64_t v;

	if (coati_map_get(&c->processes, pid, &v))
		return (struct watched *)(uintptr_t)v;
	w = coati_alloc(sizeof(*w));
	if (!w)
		return NULL;
	w->pid = pid;
	coati_map_init(&w->threads, THREADS_MAX);
	coati_map_init(&w->tasks, TASKS_MAX);
	coati_idset_init(&w->ended, ENDED_MAX);
	coati_check_resources_init(&w->resources);
	if (coati_map_put(&c->processes, pid, (uint64_t)(uintptr_t)w) < 0) {
		free_watched(w);
		return NULL;
	}
	return w;
}

static struct thread *get_thread(struct watched *w, const struct coati_trace_event *e)
{
	uint64_t key = (uint64_t)e->tid << 16 | e->slot, v;
	struct thread *t;

	if (coati_map_get(&w->threads, key, &v))
		return (struct thread *)(uintptr_t)v;
	t = coati_alloc(sizeof(*t));
	if (!t)
		return NULL;
	t->watched = w;
	t->pid = e->pid;
	t->tid = e->tid;
	t->slot = e->slot;
	t->regions.max = DEPTH_MAX;
	if (coati_map_put(&w->threads, key, (uint64_t)(uintptr_t)t) < 0) {
		free_thread(t);
		return NULL;
	}
	return t;
}

/* ---- regions ---- */

static int region_again(struct coati_trace_check *c, struct thread *t,
			const struct coati_trace_event *e)
{
	bool known = e->flags & COATI_TRACE_KNOWN;

	if (t->certain && !t->telling && !known)
		coati_check_wrong(c, e, "a region is reported open that did not begin");
	if (known && (e->depth >= t->regions.len || t->regions.v[e->depth].site != e->site))
		coati_check_wrong(c, e, "a region that is repeated is another one");
	if (e->depth >= DEPTH_MAX)
		return 0;
	while (t->regions.len <= e->depth)
		if (!ARRAY_ADD(&t->regions))
			return -ENOMEM;
	if (!known)
		t->regions.v[e->depth] = (struct region){ e->site, e->time - e->duration };
	t->told = e->depth + 1;
	return 0;
}

static int region_begin(struct coati_trace_check *c, struct thread *t,
			const struct coati_trace_event *e)
{
	struct region *r;

	if (e->flags & COATI_TRACE_REOPENED)
		return region_again(c, t, e);
	if (t->certain && e->depth != t->regions.len)
		coati_check_wrong(c, e, "a region begins at depth %u where %zu are open", e->depth,
				  t->regions.len);
	r = t->regions.len < t->regions.cap ? &t->regions.v[t->regions.len++]
					    : ARRAY_ADD(&t->regions);
	if (!r)
		return t->regions.len == DEPTH_MAX ? -E2BIG : -ENOMEM;
	*r = (struct region){ e->site, e->time };
	return 0;
}

static void region_end(struct coati_trace_check *c, struct thread *t,
		       const struct coati_trace_event *e)
{
	const struct region *r;

	if (!t->regions.len) {
		if (t->certain)
			coati_check_wrong(c, e, "a region ends where none is open");
		else if (!(e->flags & COATI_TRACE_NO_BEGIN))
			coati_check_wrong(
				c, e,
				"a region ends whose begin was not recorded, and the event does "
				"not say so");
		return;
	}
	r = &t->regions.v[--t->regions.len];
	if (e->depth >= DEPTH_NAMED && !e->site && e->duration == COATI_TRACE_NO_DURATION)
		return;
	if (r->site != e->site)
		coati_check_wrong(c, e, "a region ends with another name than it began with");
	else if (e->duration != COATI_TRACE_NO_DURATION && r->began + e->duration != e->time)
		coati_check_wrong(c, e, "the length of a region is %" PRIu64 " ns, not %" PRIu64,
				  e->duration, e->time - r->began);
}

/* ---- tasks ---- */

/* One that is open; those that were are forgotten when there is no room. */
static int open_task(struct watched *w, const struct coati_trace_event *e)
{
	int r = coati_map_put(&w->tasks, e->id, (uint64_t)(uintptr_t)e->site);

	if (r == -E2BIG) {
		coati_map_fini(&w->tasks);
		coati_map_init(&w->tasks, TASKS_MAX);
		r = coati_map_put(&w->tasks, e->id, (uint64_t)(uintptr_t)e->site);
	}
	coati_idset_del(&w->ended, 0, e->id);
	return r < 0 ? -ENOMEM : 0;
}

static int task_begin(struct coati_trace_check *c, struct watched *w,
		      const struct coati_trace_event *e)
{
	bool again = e->flags & COATI_TRACE_REOPENED, ended;
	uint64_t site;
	bool is_open = coati_map_get(&w->tasks, e->id, &site);

	ended = !is_open && coati_idset_has(&w->ended, 0, e->id);
	if (!e->id)
		coati_check_wrong(c, e, "a task begins without a number");
	if (e->parent == e->id)
		coati_check_wrong(c, e, "task %" PRIu64 " is its own parent", e->id);
	if ((is_open || ended) && !again)
		coati_check_wrong(c, e, "task %" PRIu64 " begins twice", e->id);
	if (is_open && again && site != (uint64_t)(uintptr_t)e->site)
		coati_check_wrong(c, e, "task %" PRIu64 " is repeated with another type", e->id);
	return again && ended ? 0 : open_task(w, e);
}

/* What has ended is forgotten, too, when there is no room. */
static int close_task(struct watched *w, uint64_t id)
{
	int r = coati_idset_add(&w->ended, 0, id);

	if (r == -E2BIG) {
		coati_idset_fini(&w->ended);
		coati_idset_init(&w->ended, ENDED_MAX);
		r = coati_idset_add(&w->ended, 0, id);
	}
	coati_map_del(&w->tasks, id);
	return r;
}

static int task_end(struct coati_trace_check *c, struct watched *w,
		    const struct coati_trace_event *e)
{
	uint64_t site;

	/* begun before the recording, or ended again, which is allowed */
	if (!coati_map_get(&w->tasks, e->id, &site))
		return 0;
	if (site != (uint64_t)(uintptr_t)e->site)
		coati_check_wrong(
			c, e, "task %" PRIu64 " ends with another type than it began with", e->id);
	return close_task(w, e->id);
}

static void task_enter(struct coati_trace_check *c, struct watched *w, struct thread *t,
		       const struct coati_trace_event *e)
{
	if (e->flags & COATI_TRACE_REOPENED) {
		t->telling = t->certain = true;
		t->told = 0;
		return;
	}
	if (e->id && coati_idset_has(&w->ended, 0, e->id))
		coati_check_wrong(c, e, "a thread works on task %" PRIu64 ", which has ended",
				  e->id);
}

/* ---- all ---- */

static void check_time(struct coati_trace_check *c, struct thread *t,
		       const struct coati_trace_event *e)
{
	if (e->time < t->time)
		coati_check_wrong(c, e, "time runs backwards in a thread");
	else if (e->time < c->time && !(e->flags & COATI_TRACE_LATE))
		coati_check_wrong(c, e, "an event comes after later ones");
	else if (e->generation < t->generation && !(e->flags & COATI_TRACE_LATE))
		coati_check_wrong(c, e,
				  "an event of generation %" PRIu64 " comes after one of %" PRIu64,
				  e->generation, t->generation);
	t->time = e->time;
	t->generation = e->generation;
	c->time = e->time > c->time ? e->time : c->time;
}

static void check_labels(struct coati_trace_check *c, const struct coati_trace_event *e)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_text key, value;
	int n;

	while ((n = coati_trace_label_next(e, &pos, &key, &value)) > 0)
		;
	if (n < 0)
		coati_check_wrong(c, e, "a set of labels is malformed");
}

static void check_inside(struct coati_trace_check *c, const struct coati_trace_event *e)
{
	if (e->flags & COATI_TRACE_UNRESOLVED)
		coati_check_wrong(c, e, "a %s refers to something that is not in the trace",
				  coati_trace_kind_name(e->kind));
	if (e->kind == COATI_TRACE_FLOW && (e->number < 0 || e->number > 2))
		coati_check_wrong(c, e, "a flow has no phase %" PRId64, e->number);
	if (e->kind == COATI_TRACE_LABELS)
		check_labels(c, e);
}

static int follow(struct coati_trace_check *c, struct watched *w, struct thread *t,
		  const struct coati_trace_event *e)
{
	if (t->telling &&
	    (e->kind != COATI_TRACE_REGION_BEGIN || !(e->flags & COATI_TRACE_REOPENED))) {
		t->telling = false; /* those that were not repeated have ended where it was not
				     * recorded */
		t->regions.len = t->told < t->regions.len ? t->told : t->regions.len;
	}
	switch (e->kind) {
	case COATI_TRACE_REGION_BEGIN:
		return region_begin(c, t, e);
	case COATI_TRACE_REGION_END:
		region_end(c, t, e);
		return 0;
	case COATI_TRACE_TASK_BEGIN:
		return task_begin(c, w, e);
	case COATI_TRACE_TASK_END:
		return task_end(c, w, e);
	case COATI_TRACE_TASK_ENTER:
		task_enter(c, w, t, e);
		return 0;
	case COATI_TRACE_RESOURCE_NEW:
	case COATI_TRACE_RESOURCE_SET:
	case COATI_TRACE_RESOURCE_END:
		return coati_check_resource(c, &w->resources, e);
	case COATI_TRACE_LOST:
	case COATI_TRACE_MISSING:
		t->certain = false;
		t->regions.len = e->kind == COATI_TRACE_MISSING ? 0 : t->regions.len;
		return 0;
	default:
		return 0;
	}
}

static void forget_recent(struct coati_trace_check *c)
{
	c->nobody.quiet_slot = NO_SLOT;
	for (size_t i = 0; i < RECENT; i++)
		c->recent[i] = &c->nobody;
}

/* The thread of the event; NULL: out of memory. */
static struct thread *find_thread(struct coati_trace_check *c, const struct coati_trace_event *e)
{
	struct thread **recent = &c->recent[e->tid % RECENT], *t = *recent;
	struct watched *w;

	if (e->flags & COATI_TRACE_NEW_PROCESS) {
		forget_process(c, e->pid);
		forget_recent(c);
	} else if (t != &c->nobody && t->pid == e->pid && t->tid == e->tid && t->slot == e->slot) {
		return t;
	}
	w = get_watched(c, e->pid);
	t = w ? get_thread(w, e) : NULL;
	if (t)
		*recent = t;
	return t;
}

static __attribute__((noinline)) int check_in_full(struct coati_trace_check *c,
						   const struct coati_trace_event *e,
						   struct coati_trace_finding *ret)
{
	struct thread *t = find_thread(c, e);
	struct coati_trace_finding finding;
	int n;

	if (!t)
		return -ENOMEM;
	if (e->flags & COATI_TRACE_NEW_THREAD) {
		t->regions.len = 0;
		t->certain = false;
	}
	c->finding = &finding;
	c->found = false;
	if (e->kind != COATI_TRACE_LOST && !(e->flags & COATI_TRACE_CLOCK_UNKNOWN) && e->tid)
		check_time(c, t, e);
	check_inside(c, e);
	n = follow(c, t->watched, t, e);
	t->quiet_slot = t->telling ? NO_SLOT : t->slot;
	c->events++;
	if (n < 0)
		return n;
	if (c->found && ret)
		*ret = finding;
	return c->found;
}

/* Kinds of which nothing but time and references can be wrong. */
#define STATELESS                                                                      \
	(1u << COATI_TRACE_RANGE | 1u << COATI_TRACE_LOG | 1u << COATI_TRACE_COUNTER | \
	 1u << COATI_TRACE_GAUGE | 1u << COATI_TRACE_INSTANT | 1u << COATI_TRACE_SAMPLE)

/* A begin as deep as it should be, or an end of what began there, and as long. There is no branch
 * between the two: threads alternate, and it cannot be predicted. Hot. */
static inline bool follow_region(struct thread *t, const struct coati_trace_event *e,
				 uint64_t is_end)
{
	uint64_t ended = 0 - is_end; /* all bits of an end */
	uint64_t began = e->time - (e->duration & ended);
	size_t depth = t->regions.len - is_end;
	struct region *r;

	if (e->depth != depth || depth >= t->regions.cap)
		return false;
	r = &t->regions.v[depth];
	if ((((uintptr_t)r->site ^ (uintptr_t)e->site) | (r->began ^ began)) & ended)
		return false;
	r->site = e->site;
	r->began = began;
	t->regions.len = depth + 1 - is_end;
	return true;
}

/* Nearly every event: of a thread that was seen lately, with nothing special about it and nothing
 * wrong. False: it has to be looked at in full, and nothing has changed. No event of the thread is
 * later than the latest of all. Hot. */
static inline bool is_plain(struct coati_trace_check *c, const struct coati_trace_event *e)
{
	struct thread *t = c->recent[e->tid % RECENT];
	uint64_t is_end = (uint64_t)e->kind - COATI_TRACE_REGION_BEGIN;

	if (t->pid != e->pid || t->tid != e->tid || t->quiet_slot != e->slot ||
	    e->flags & ~COATI_TRACE_INCOMPLETE || e->time < c->time ||
	    e->generation != t->generation)
		return false;
	if (is_end <= 1 ? !follow_region(t, e, is_end)
			: e->kind >= 32 || !(STATELESS >> e->kind & 1))
		return false;
	c->time = t->time = e->time;
	c->events++;
	return true;
}

int coati_trace_check_events(struct coati_trace_check *c,
			     const struct coati_trace_event *const *events, uint32_t nr,
			     struct coati_trace_finding *ret)
{
	int found = 0, n;

	for (uint32_t i = 0; i < nr; i++) {
		if (is_plain(c, events[i]))
			continue;
		n = check_in_full(c, events[i], found ? NULL : ret);
		if (n < 0)
			return n;
		found += n;
	}
	return found;
}

int coati_trace_check_event(struct coati_trace_check *c, const struct coati_trace_event *e,
			    struct coati_trace_finding *ret)
{
	return coati_trace_check_events(c, &e, 1, ret);
}

int coati_trace_check_new(struct coati_trace_check **ret, struct coati_error *err)
{
	struct coati_trace_check *c = coati_alloc(sizeof(*c));

	if (!c)
		return coati_fail(err, -ENOMEM, "a check of a trace: %m");
	coati_map_init(&c->processes, 1u << 16);
	forget_recent(c);
	*ret = c;
	return 0;
}

void coati_trace_check_free(struct coati_trace_check **pc)
{
	uint64_t key, value;

	if (!*pc)
		return;
	for (size_t pos = 0; coati_map_next(&(*pc)->processes, &pos, &key, &value);)
		free_watched((struct watched *)(uintptr_t)value);
	coati_map_fini(&(*pc)->processes);
	coati_free(*pc);
	*pc = NULL;
}
