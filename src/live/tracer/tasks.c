/* SPDX-License-Identifier: MIT */
/*
 * Tasks. In: begin, end, and which thread works on which. Out: events, and a table of those that
 * are open, in the mapping, so that every generation can tell them and a dead process leaves them.
 * Safe.
 *
 * A slot of the table belongs to who took its bit, until the task ends: the end swaps the id for 0,
 * so that one end wins. An end in a later generation than the begin tells the task first, so that
 * it does not matter whether the table was looked through before or after.
 */
#include "live/tracer/stacks.h"
#include "live/tracer/watch.h"

#define IDS_AT_ONCE 64u
#define TASK_BYTES  (HEAD_MAX + 4 * VAR_MAX)

/* ---- numbers ---- */

uint64_t coati_tracer_new_id(struct tracer_slot *s)
{
	struct tracer *g = &coati_tracer;

	if (!s)
		return 1 + atomic_fetch_add_explicit(&g->next_id, 1, memory_order_relaxed);
	if (s->ids == s->ids_end) {
		s->ids = 1 +
			 atomic_fetch_add_explicit(&g->next_id, IDS_AT_ONCE, memory_order_relaxed);
		s->ids_end = s->ids + IDS_AT_ONCE;
	}
	return s->ids++;
}

/* ---- the table ---- */

/* Up to @max slots whose bits are free; how many. */
static uint32_t take_bits(uint32_t from, uint32_t *ret, uint32_t max)
{
	struct tracer *g = &coati_tracer;
	uint32_t words = g->task_count / 64, n = 0;

	for (uint32_t i = 0; i < words && !n; i++) {
		uint32_t word = (from + i) % words;
		uint64_t bits = atomic_load_explicit(&g->task_bits[word], memory_order_relaxed);

		while (bits && n < max) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);

			bits &= ~(UINT64_C(1) << bit);
			/* pairs with: release in give_bit() */
			if (atomic_fetch_and_explicit(&g->task_bits[word], ~(UINT64_C(1) << bit),
						      memory_order_acquire) >>
				    bit &
			    1)
				ret[n++] = word * 64 + bit;
		}
	}
	return n;
}

static void give_bit(uint32_t slot)
{
	/* pairs with: acquire in take_bits() */
	atomic_fetch_or_explicit(&coati_tracer.task_bits[slot / 64], UINT64_C(1) << (slot % 64),
				 memory_order_release);
}

/* From the thread's stock, under the flag of its slot 0; handlers inside an event have none. */
static uint32_t take_slot(struct tracer_thread *t, const struct tracer_slot *s)
{
	const uint32_t max = sizeof(t->free_tasks) / sizeof(t->free_tasks[0]);
	uint32_t slot = TRACER_NO_SLOT;

	if (s->index) {
		take_bits(0, &slot, 1);
	} else {
		if (!t->nr_free)
			t->nr_free = take_bits(atomic_load_explicit(&t->tid, memory_order_relaxed),
					       t->free_tasks, max);
		if (t->nr_free)
			slot = t->free_tasks[--t->nr_free];
	}
	if (slot == TRACER_NO_SLOT)
		atomic_fetch_add_explicit(&coati_tracer.tasks_unlisted, 1, memory_order_relaxed);
	return slot;
}

static void give_slot(struct tracer_thread *t, const struct tracer_slot *s, uint32_t slot)
{
	if (!s->index && t->nr_free < sizeof(t->free_tasks) / sizeof(t->free_tasks[0]))
		t->free_tasks[t->nr_free++] = slot;
	else
		give_bit(slot);
}

__attribute__((cold)) void coati_tracer_return_tasks(struct tracer_thread *t)
{
	while (t->nr_free && coati_tracer.map)
		give_bit(t->free_tasks[--t->nr_free]);
	t->nr_free = 0;
}

/* As it was if its id is the same afterwards. */
static struct live_open_task look(const struct live_open_task *o)
{
	struct live_open_task copy;

	/* pairs with: release in list() */
	copy.id = __atomic_load_n(&o->id, __ATOMIC_ACQUIRE);
	copy.parent = __atomic_load_n(&o->parent, __ATOMIC_RELAXED);
	copy.began = __atomic_load_n(&o->began, __ATOMIC_RELAXED);
	copy.site = __atomic_load_n(&o->site, __ATOMIC_RELAXED);
	copy.tid = __atomic_load_n(&o->tid, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire); /* the id is looked at again behind it */
	return copy;
}

static void list(struct coati_live_task *task, uint64_t parent, uint64_t began, uint64_t generation)
{
	struct tracer *g = &coati_tracer;
	struct live_open_task *o = &g->tasks[task->slot];

	__atomic_store_n(&o->parent, parent, __ATOMIC_RELAXED);
	__atomic_store_n(&o->began, began, __ATOMIC_RELAXED);
	__atomic_store_n(&o->site, task->site, __ATOMIC_RELAXED);
	__atomic_store_n(&o->tid,
			 atomic_load_explicit(&coati_tracer_self->tid, memory_order_relaxed),
			 __ATOMIC_RELAXED);
	atomic_store_explicit(&g->task_generations[task->slot], generation, memory_order_relaxed);
	/* pairs with: acquire in look() and of readers of the mapping */
	__atomic_store_n(&o->id, task->id, __ATOMIC_RELEASE);
}

/* ---- begin ---- */

static void begin(struct coati_site *site, uint64_t parent, const void *frame,
		  struct coati_live_task *ret)
{
	uint64_t frames[LIVE_STACK_MAX], generation = 0;
	uint32_t count = coati_tracer_frames(site, frame, frames), stack;
	struct tracer_slot *s;
	uint8_t *at = emit_enter(TASK_BYTES + stack_worst(count), &s);

	if (s)
		ret->id = coati_tracer_new_id(s);
	if (at) {
		generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
		at = coati_tracer_put_stack(s, at, frames, count, &stack);
		at = put_head(s, at, LIVE_TASK_BEGIN, tracer_now());
		at = put_var(at, tracer_site_id(site));
		at = put_var(at, ret->id);
		emit_commit(s, put_var(at, parent));
		coati_tracer_put_stacked(s, stack);
	}
	if (s && tracer_generation()) {
		ret->site = tracer_site_id(site);
		if (unlikely(atomic_load_explicit(&coati_tracer_watches.tasks,
						  memory_order_acquire)))
			coati_tracer_watch_site(tracer_site_id(site), site->name);
		ret->recording = coati_tracer.first_generation;
		ret->slot = take_slot(coati_tracer_self, s);
		if (ret->slot != TRACER_NO_SLOT)
			list(ret, parent, at ? s->last : tracer_now(), generation);
	}
	if (at)
		emit_leave(s);
	else
		emit_fail(s);
}

void coati_task_begin(struct coati_site *site, const struct coati_live_task *parent,
		      struct coati_live_task *ret)
{
	*ret = (struct coati_live_task){ .slot = TRACER_NO_SLOT };
	if (tracer_gate() & __atomic_load_n(&site->mask, __ATOMIC_RELAXED) &&
	    coati_tracer_site(site))
		begin(site, parent ? parent->id : coati_tracer_task, __builtin_frame_address(0),
		      ret);
	if (!ret->id)
		ret->id = coati_tracer_new_id(NULL);
}

/* ---- end ---- */

static uint8_t *put_open(uint8_t *at, const struct live_open_task *o, uint64_t base)
{
	at = put_kind(at, LIVE_OPEN_TASK);
	at = put_var(at, o->site);
	at = put_var(at, o->id);
	at = put_var(at, o->parent);
	return put_var(at, base > o->began ? base - o->began : 0);
}

/* Whether the slot of the table is still this task's. */
static bool is_listed(const struct coati_live_task *task)
{
	return task->slot < coati_tracer.task_count &&
	       task->recording == coati_tracer.first_generation;
}

/* Take it off the table; false when another thread did. Reports a task of an earlier generation.
 * The slot is entered. */
static bool unlist(struct tracer_slot *s, uint8_t **at, const struct coati_live_task *task)
{
	struct tracer *g = &coati_tracer;
	struct live_open_task *o = &g->tasks[task->slot];
	struct live_open_task copy = look(o);
	uint64_t id = copy.id;
	uint64_t generation =
		atomic_load_explicit(&g->task_generations[task->slot], memory_order_relaxed);

	if (id != task->id ||
	    !__atomic_compare_exchange_n(&o->id, &id, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (unlikely(atomic_load_explicit(&coati_tracer_watches.tasks, memory_order_relaxed)))
		coati_tracer_watch_task(copy.site, tracer_now() - copy.began);
	give_slot(coati_tracer_self, s, task->slot);
	if (*at && generation != atomic_load_explicit(&s->generation, memory_order_relaxed)) {
		*at = put_open(*at, &copy, s->batch->base);
		emit_told(s, *at);
	}
	return true;
}

void coati_task_end(const struct coati_live_task *task)
{
	struct tracer_slot *s;
	uint8_t *at;

	if (!task->id || !(tracer_gate() & GATE_ON))
		return;
	at = emit_enter(2 * TASK_BYTES, &s);
	if (!s)
		return;
	if (tracer_generation() && is_listed(task) && !unlist(s, &at, task)) {
		emit_leave(s);
		return;
	}
	if (!at) {
		emit_fail(s);
		return;
	}
	at = put_head(s, at, LIVE_TASK_END, tracer_now());
	emit_commit(s, put_var(at, task->id));
	emit_leave(s);
}

/* ---- who works on what ---- */

static void work_on(uint64_t id)
{
	struct tracer_slot *s;
	uint8_t *at;

	uint64_t gate = tracer_gate();

	coati_tracer_task = id;
	if (likely(!(gate & GATE_ON))) {
		/* a recorder that starts tells it for the thread */
		if (unlikely(gate & GATE_KEEP) && coati_tracer_self)
			atomic_store_explicit(&coati_tracer_self->task, id, memory_order_relaxed);
		return;
	}
	at = emit_enter(HEAD_MAX + VAR_MAX, &s);
	if (s)
		atomic_store_explicit(&coati_tracer_self->task, id, memory_order_relaxed);
	if (!at) {
		if (s)
			s->tell = true;
		emit_fail(s);
		return;
	}
	at = put_head(s, at, LIVE_TASK_ENTER, tracer_now());
	emit_commit(s, put_var(at, id));
	emit_leave(s);
}

struct coati_task_scope coati_task_enter(const struct coati_live_task *task)
{
	struct coati_task_scope scope = { coati_tracer_task };

	work_on(task ? task->id : 0);
	return scope;
}

void coati_task_leave(const struct coati_task_scope *scope)
{
	work_on(scope->previous);
}

/* ---- telling them again ---- */

static bool is_open_before(uint32_t slot, uint64_t generation)
{
	const struct tracer *g = &coati_tracer;

	return __atomic_load_n(&g->tasks[slot].id, __ATOMIC_ACQUIRE) &&
	       atomic_load_explicit(&g->task_generations[slot], memory_order_relaxed) < generation;
}

/* As many as go into one batch, from *@slot on. */
static void tell_some(struct tracer_generation *g, uint32_t *slot)
{
	const uint32_t room = TRACER_CHUNK / 2;
	struct live_batch *b = coati_tracer_open_system(g, LIVE_BATCH_STATUS, room);
	uint8_t *at = b ? (uint8_t *)(b + 1) : NULL, *end = at + room - TASK_BYTES;
	uint32_t events = 0;

	for (; *slot < coati_tracer.task_count; (*slot)++) {
		struct live_open_task *o = &coati_tracer.tasks[*slot];
		struct live_open_task copy = look(o);

		if (!b || at > end)
			break;
		if (!is_open_before(*slot, g->number) ||
		    __atomic_load_n(&o->id, __ATOMIC_RELAXED) != copy.id)
			continue; /* it just ended, and the thread that ended it reported it */
		at = put_open(at, &copy, b->base);
		events++;
	}
	if (b)
		coati_tracer_close_system(b, at, events);
	else
		*slot = coati_tracer.task_count;
}

__attribute__((cold)) void coati_tracer_tell_tasks(struct tracer_generation *g)
{
	uint32_t slot = 0;

	for (;;) {
		while (slot < coati_tracer.task_count && !is_open_before(slot, g->number))
			slot++;
		if (slot >= coati_tracer.task_count)
			return;
		tell_some(g, &slot);
	}
}
