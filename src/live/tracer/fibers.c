/* SPDX-License-Identifier: MIT */
/*
 * Fibers. In: which stack of the program this thread runs from now on. Out: the regions, the task
 * and the labels of the one before are put away, and those of the next one are the thread's.
 *
 * What is put away belongs to the fiber alone: no thread looks at it until one takes the fiber,
 * which one thread can do at a time. Regions lie on the thread's stack of regions above those that
 * it had open when it left its own code (`base`).
 */
#include <coati/fiber.h>

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "live/labels.h"
#include "live/tracer/emit.h"

struct coati_fiber {
	_Atomic bool runs;
	uint64_t task;
	uint64_t recording; /* that its regions belong to */
	uint32_t count;	    /* of regions below */
	uint32_t deeper;    /* regions that the thread did not keep, either */
	struct tracer_region regions[LIVE_REGION_DEPTH];
	struct label_thread labels;
};

static TRACER_TLS struct {
	/* NULL: the thread runs its own code, and the rest says nothing */
	struct coati_fiber *fiber;
	struct label_thread *labels;
	uint64_t task;
	uint64_t recording;
	uint32_t base;
} here;

/* ---- regions ---- */

static bool is_recording(void)
{
	return tracer_gate() & GATE_ON;
}

/* Where the regions of the fiber begin. A recording that began meanwhile knows none of the
 * thread's. */
static uint32_t base_of(const struct tracer_slot *s)
{
	uint32_t base = here.recording == s->recording ? here.base : 0;

	return base < s->depth ? base : (uint32_t)s->depth;
}

/* The slot of the thread, entered; NULL: no recorder runs. */
static struct tracer_slot *enter_slot(void)
{
	struct tracer_slot *s = NULL;

	if (!is_recording())
		return NULL;
	if (emit_enter(0, &s) && !s->index)
		return s;
	if (s)
		emit_leave(s);
	return NULL;
}

static void keep_base(void)
{
	struct tracer_slot *s = enter_slot();

	here.base = s ? (uint32_t)s->depth : 0;
	here.recording = s ? s->recording : 0;
	if (s)
		emit_leave(s);
}

/* Those that were not written yet leave the stack without a word. */
static void drop_held(struct tracer_slot *s, uint32_t base)
{
	while (s->held && s->depth > base) {
		s->depth--;
		s->held--;
	}
	if (!s->held && slot_has_batch(s))
		slot_open(s);
}

static void put_away_regions(struct coati_fiber *f)
{
	struct tracer_slot *s = enter_slot();
	uint32_t base, end;

	f->count = f->deeper = 0;
	if (!s)
		return;
	base = base_of(s);
	end = s->depth < s->regions_max ? (uint32_t)s->depth : s->regions_max;
	f->recording = s->recording;
	f->deeper = (uint32_t)s->depth - (end > base ? end : base);
	for (uint32_t i = base; i < end; i++)
		f->regions[f->count++] = s->regions[i];
	drop_held(s, base);
	if (s->depth > base)
		coati_tracer_end_regions(s, base);
	emit_leave(s);
}

/* @began: as its begin is written, which is how it is known again in later generations. */
static void push(struct tracer_slot *s, const struct tracer_region *r, uint64_t began,
		 uint32_t flags)
{
	s->deep_lost += flags && s->depth >= s->regions_max && s->depth < TRACER_DEPTH_MAX;
	if (s->depth < s->regions_max)
		s->regions[s->depth] =
			(struct tracer_region){ .began = began, .site = r->site, .flags = flags };
	if (s->depth < TRACER_DEPTH_MAX)
		s->depth++;
}

/* Its next slice. @at: NULL when there is no room. */
static uint8_t *begin_again(struct tracer_slot *s, uint8_t *at, const struct tracer_region *r)
{
	uint64_t now = tracer_now();

	if (r->flags & REGION_HELD && s->depth < s->regions_max) {
		push(s, r, now > s->last ? now : s->last, REGION_HELD);
		s->held++;
		s->limit = TRACER_FULL;
	} else if (r->flags || !at || s->deep_lost) {
		coati_tracer_lose_held(s);
		push(s, r, 0, REGION_LOST | (r->flags & REGION_ANY));
		if (!(r->flags & REGION_LOST))
			coati_tracer_lose(s, 1);
	} else {
		at = put_head(s, at, LIVE_REGION_BEGIN, now);
		at = put_var(at, r->site);
		push(s, r, s->last, 0);
		emit_commit(s, at);
	}
	return at;
}

static uint32_t count_written(const struct coati_fiber *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->count; i++)
		n += !f->regions[i].flags;
	return n;
}

static void take_up_regions(const struct coati_fiber *f)
{
	static const struct tracer_region unknown = { .began = 0 };
	uint32_t bytes = count_written(f) * (HEAD_MAX + VAR_MAX);
	struct tracer_slot *s = f->count + f->deeper ? enter_slot() : NULL;
	uint8_t *at;

	if (!s)
		return;
	at = !bytes || emit_ready(s, bytes) ? slot_at(s)
					    : coati_tracer_refill(coati_tracer_self, s, bytes);
	if (s->recording == f->recording) {
		for (uint32_t i = 0; i < f->count; i++)
			at = begin_again(s, at, &f->regions[i]);
		/* what they are is not known: their ends find these, and it is counted */
		if (f->deeper)
			coati_tracer_lose_held(s);
		for (uint32_t i = 0; i < f->deeper; i++)
			push(s, &unknown, 0, REGION_LOST | REGION_ANY);
		if (f->deeper)
			coati_tracer_lose(s, f->deeper);
	}
	emit_leave(s);
}

/* ---- labels ---- */

static void use_labels(struct label_thread *t)
{
	const struct label_record *r =
		t ? atomic_load_explicit(&t->now, memory_order_relaxed) : NULL;

	/* pairs with: acquire in coati_labels_snapshot() in a signal handler of this thread */
	atomic_store_explicit(&coati_label_self, t, memory_order_release);
	atomic_store_explicit(&coati_label_context, r, memory_order_release);
	if (tracer_gate() & GATE_LABELS)
		coati_tracer_labels_changed();
}

static void inherit_labels(struct label_thread *t)
{
	struct coati_labels now;

	coati_labels_snapshot(&now);
	t->records[0].valid = t->records[1].valid = 1;
	memcpy(t->records[0].entries, now.bytes, now.size);
	atomic_store_explicit(&t->records[0].size, (uint16_t)now.size, memory_order_relaxed);
	atomic_store_explicit(&t->now, &t->records[0], memory_order_relaxed);
}

/* ---- switching ---- */

static void work_on(uint64_t id)
{
	const struct coati_live_task task = { .id = id };

	if (id != coati_tracer_task)
		coati_task_enter(&task);
}

static void leave_fiber(struct coati_fiber *f)
{
	put_away_regions(f);
	f->task = coati_tracer_task;
	/* pairs with: acquire in take() */
	atomic_store_explicit(&f->runs, false, memory_order_release);
}

static void leave_thread(void)
{
	keep_base();
	here.task = coati_tracer_task;
	here.labels = atomic_load_explicit(&coati_label_self, memory_order_relaxed);
	/* the page of threads finds the fiber's by the thread's */
	if (!here.labels && coati_label_thread_begins)
		here.labels = coati_label_thread_start();
}

static bool take(struct coati_fiber *f)
{
	/* pairs with: release in leave_fiber() */
	return !atomic_exchange_explicit(&f->runs, true, memory_order_acquire);
}

int coati_fiber_switch(struct coati_fiber *fiber)
{
	if (fiber == here.fiber)
		return 0;
	if (fiber && !take(fiber))
		return -EBUSY;
	if (here.fiber)
		leave_fiber(here.fiber);
	else
		leave_thread();
	coati_tracer_drop_kept();
	here.fiber = fiber;
	work_on(fiber ? fiber->task : here.task);
	use_labels(fiber ? &fiber->labels : here.labels);
	if (here.labels)
		atomic_store_explicit(&here.labels->runs, fiber ? &fiber->labels : NULL,
				      memory_order_relaxed);
	if (fiber)
		take_up_regions(fiber);
	return 0;
}

int coati_fiber_create(struct coati_fiber **ret, struct coati_error *err)
{
	struct coati_fiber *f = coati_alloc(sizeof(*f));

	if (!f)
		return coati_fail(err, -ENOMEM, "fiber: no memory for its regions and labels");
	f->task = coati_tracer_task;
	inherit_labels(&f->labels);
	*ret = f;
	return 0;
}

int coati_fiber_end(struct coati_fiber **fiber)
{
	struct coati_fiber *f = *fiber;

	if (!f)
		return 0;
	if (f == here.fiber)
		coati_fiber_switch(NULL);
	if (!take(f))
		return -EBUSY;
	coati_free(f);
	*fiber = NULL;
	return 0;
}
