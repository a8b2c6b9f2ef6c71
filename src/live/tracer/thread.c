/* SPDX-License-Identifier: MIT */
/*
 * Threads, and the slow way of an event: first use, a full batch, a new generation, an event
 * inside an event. In: a slot whose flag is set. Out: a slot with room in a batch of the current
 * generation, or the fact that there is none. Safe.
 */
#include "live/tracer/ask.h"
#include "live/tracer/emit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLAB	  16u /* threads that memory is taken for at once */
#define SAFE_KEYS 32u /* glibc keeps the values of so many keys in the thread itself */

/* ---- losses ---- */

static void count_loss(_Atomic uint64_t *lost, _Atomic uint64_t *first, _Atomic uint64_t *last,
		       uint64_t count)
{
	uint64_t now = tracer_ns(), none = 0;

	atomic_fetch_add_explicit(lost, count, memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(first, &none, now, memory_order_relaxed,
						memory_order_relaxed);
	atomic_store_explicit(last, now, memory_order_relaxed);
}

/* Who takes the mapping away waits until the slot has been left; but not for a thread that is
 * stuck, for which it stays mapped. The loss is written at once, for those who read the mapping
 * after the death of the process. */
void coati_tracer_lose(struct tracer_slot *s, uint64_t count)
{
	struct live_map *map;

	/* pairs with: publish() in generation.c. A recording may have begun after the event found
	 * that there is none: its mapping is whole from here on. */
	(void)atomic_load_explicit(&coati_tracer_hot.generation, memory_order_acquire);
	map = __atomic_load_n(&coati_tracer.map, __ATOMIC_RELAXED);
	if (map)
		__atomic_fetch_add(&map->dropped, count, __ATOMIC_RELAXED);
	count_loss(&s->lost, &s->lost_first_ns, &s->lost_last_ns, count);
}

void coati_tracer_lose_held(struct tracer_slot *s)
{
	if (s->held)
		coati_tracer_lose(s, s->held);
	for (; s->held; s->held--)
		s->regions[s->depth - s->held].flags = REGION_LOST;
}

void coati_tracer_lose_orphan(void)
{
	struct tracer *g = &coati_tracer;

	count_loss(&g->orphans, &g->orphans_first_ns, &g->orphans_last_ns, 1);
}

static void widen(struct tracer_loss *to, const struct tracer_loss *loss)
{
	if (!to->count || loss->first_ns < to->first_ns)
		to->first_ns = loss->first_ns;
	if (loss->last_ns > to->last_ns)
		to->last_ns = loss->last_ns;
	to->count += loss->count;
}

/* By thread, as long as there are places. */
static void add_to(struct tracer_account *a, const struct tracer_loss *loss)
{
	const uint32_t max = sizeof(a->losses) / sizeof(a->losses[0]);
	uint32_t i = 0;

	a->dropped += loss->count;
	while (i < a->nr_losses &&
	       (a->losses[i].tid != loss->tid || a->losses[i].slot != loss->slot))
		i++;
	if (i == max)
		a->losses[--i].tid = 0; /* of several threads, then */
	else if (i == a->nr_losses)
		a->losses[a->nr_losses++] =
			(struct tracer_loss){ .tid = loss->tid, .slot = loss->slot };
	widen(&a->losses[i], loss);
}

void coati_tracer_add_loss(uint32_t of, const struct tracer_loss *loss)
{
	for (uint32_t i = 0; i <= TRACER_FILTERS && loss->count; i++)
		if (of >> i & 1)
			add_to(&coati_tracer.accounts[i], loss);
}

static void collect(_Atomic uint64_t *lost, _Atomic uint64_t *first, _Atomic uint64_t *last,
		    struct tracer_loss *loss)
{
	loss->first_ns = atomic_exchange_explicit(first, 0, memory_order_relaxed);
	loss->count = atomic_exchange_explicit(lost, 0, memory_order_relaxed);
	loss->last_ns = atomic_load_explicit(last, memory_order_relaxed);
	if (!loss->first_ns || loss->first_ns > loss->last_ns)
		loss->first_ns = loss->last_ns;
	coati_tracer_add_loss(coati_tracer.running | TRACER_SHARED, loss);
}

void coati_tracer_collect_loss(struct tracer_slot *s, uint32_t tid)
{
	struct tracer_loss loss = { .tid = tid, .slot = s->index };

	if (atomic_load_explicit(&s->lost, memory_order_relaxed))
		collect(&s->lost, &s->lost_first_ns, &s->lost_last_ns, &loss);
}

void coati_tracer_collect_orphans(void)
{
	struct tracer *g = &coati_tracer;
	struct tracer_loss loss = { 0 };

	if (!atomic_load_explicit(&g->orphans, memory_order_relaxed))
		return;
	collect(&g->orphans, &g->orphans_first_ns, &g->orphans_last_ns, &loss);
	__atomic_fetch_add(&g->map->dropped, loss.count, __ATOMIC_RELAXED);
}

/* ---- registering ---- */

static void new_threads(void)
{
	struct tracer *g = &coati_tracer;
	long mem = syscall(SYS_mmap, NULL, sizeof(struct tracer_thread) * SLAB,
			   (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L,
			   0L);
	struct tracer_thread *t;

	if (mem == -1)
		return;
	t = (struct tracer_thread *)(uintptr_t)mem;
	for (uint32_t i = 0; i < SLAB; i++) {
		t[i].slot[0].batch = t[i].slot[1].batch = &coati_tracer_no_batch;
		t[i].next = g->first;
		t[i].next_free = g->free_threads;
		g->first = g->free_threads = &t[i];
	}
}

static struct tracer_thread *free_thread(void)
{
	struct tracer_thread *t;

	if (!coati_tracer.free_threads)
		new_threads();
	t = coati_tracer.free_threads;
	if (t)
		coati_tracer.free_threads = t->next_free;
	return t;
}

static void init_slot(struct tracer_slot *s, uint32_t index, struct tracer_region *regions,
		      uint32_t max)
{
	atomic_store_explicit(&s->state, 0, memory_order_relaxed);
	atomic_store_explicit(&s->generation, 0, memory_order_relaxed);
	s->index = index;
	s->regions = regions;
	s->regions_max = max;
	s->depth = 0;
	s->held = s->deep_lost = s->seq = 0;
	s->settled = 0;
	s->epoch = atomic_load_explicit(&coati_tracer.epoch, memory_order_relaxed);
	s->batch = &coati_tracer_no_batch;
	s->limit = TRACER_FULL;
	s->tell = true;
}

/* pthread_setspecific() allocates for keys above those that are in the thread itself; then the end
 * is not reported, and the collector looks for it. */
static void watch_end(struct tracer_thread *t)
{
	const struct tracer *g = &coati_tracer;

	t->unsure = !g->key_made || g->key >= SAFE_KEYS || pthread_setspecific(g->key, t);
}

/* NULL when it cannot be; under the lock. */
static struct tracer_thread *register_thread(void)
{
	struct tracer_thread *t = free_thread();

	if (!t)
		return NULL;
	init_slot(&t->slot[0], 0, t->regions, LIVE_REGION_DEPTH);
	init_slot(&t->slot[1], 1, t->handler_regions, TRACER_SLOT_DEPTH);
	t->stack_memory = (struct stack_memory){ .can_probe = true };
	atomic_store_explicit(&t->walking, false, memory_order_relaxed);
	t->stack_generation = 0;
	t->labels.size = 0;
	t->name[0] = '\0';
	t->relabel = true;
	atomic_store_explicit(&t->told, 0, memory_order_relaxed);
	atomic_store_explicit(&t->task, coati_tracer_task, memory_order_relaxed);
	atomic_store_explicit(&t->tid, (uint32_t)syscall(SYS_gettid), memory_order_relaxed);
	coati_tracer.threads++;
	watch_end(t);
	return t;
}

static bool may_register(void)
{
	return tracer_generation() || tracer_keeps();
}

struct tracer_thread *coati_tracer_first_use(void)
{
	struct tracer_guard guard;
	struct tracer_thread *t;

	if (!may_register())
		return NULL;
	if (coati_tracer_holds()) {
		coati_tracer_lose_orphan();
		return NULL;
	}
	coati_tracer_lock(&guard);
	t = coati_tracer_self; /* a handler may have come first */
	if (!t && may_register())
		t = register_thread();
	coati_tracer_self = t;
	if (!t && tracer_generation())
		coati_tracer_lose_orphan();
	coati_tracer_unlock(&guard);
	return t;
}

void coati_tracer_release(struct tracer_thread *t)
{
	uint32_t tid = atomic_load_explicit(&t->tid, memory_order_relaxed);

	for (uint32_t i = 0; i < 2; i++) {
		if (slot_has_batch(&t->slot[i]))
			coati_tracer_close_batch(&t->slot[i]);
		coati_tracer_collect_loss(&t->slot[i], tid);
		atomic_store_explicit(&t->slot[i].state, 0, memory_order_relaxed);
	}
	coati_tracer_return_tasks(t);
	atomic_store_explicit(&t->tid, 0, memory_order_relaxed);
	coati_tracer.threads--;
	t->next_free = coati_tracer.free_threads;
	coati_tracer.free_threads = t;
}

void coati_tracer_thread_exits(void *thread)
{
	struct tracer_thread *t = thread;
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	if (coati_tracer_self == t) {
		coati_tracer_self = NULL;
		coati_tracer_release(t);
	}
	coati_tracer_unlock(&guard);
}

/* ---- the slow way ---- */

/* Regions that were held back, outermost first, with the times at which they began. */
static void write_held(struct tracer_slot *s)
{
	for (uint32_t i = s->depth - s->held; i < s->depth; i++) {
		struct tracer_region *r = &s->regions[i];
		uint8_t *at = put_head(s, slot_at(s), LIVE_REGION_BEGIN, r->began);

		r->began = s->last; /* what later generations repeat */
		r->flags &= ~REGION_HELD;
		emit_commit(s, put_var(at, r->site));
	}
	s->held = 0;
}

/* The innermost @nr were held back and are not any more, or the other way round. In a new batch
 * they are not written, but reported as open: their begins would be earlier than what others have
 * written since, maybe in an earlier generation. */
static void set_held(struct tracer_slot *s, uint32_t nr, uint32_t flags)
{
	for (uint32_t i = 0; i < nr; i++)
		s->regions[s->depth - 1 - i].flags = flags;
	if (nr)
		s->held = flags ? nr : 0;
}

void coati_tracer_settle(struct tracer_slot *s)
{
	uint64_t last = atomic_load_explicit(&s->generation, memory_order_relaxed);
	struct tracer_guard guard;
	int keep = errno;

	if (s->settled == last || coati_tracer_holds())
		return;
	coati_tracer_lock(&guard);
	if (slot_has_batch(s) && coati_tracer.map && last >= coati_tracer.first_generation)
		coati_tracer_close_batch(s);
	/* or it was stuck for so long that the memory of its batch is gone */
	s->batch = &coati_tracer_no_batch;
	s->limit = TRACER_FULL;
	s->settled = last;
	coati_tracer_unlock(&guard);
	errno = keep;
}

void coati_tracer_renew(struct tracer_slot *s)
{
	/* pairs with: release of who sets another clock */
	uint64_t epoch = atomic_load_explicit(&coati_tracer.epoch, memory_order_acquire);

	if (s->epoch == epoch)
		return;
	s->epoch = epoch;
	s->depth = 0;
	s->held = s->deep_lost = 0;
}

/* Nothing of an earlier recording counts any more, but regions that were kept; what the thread
 * works on may have changed since. */
static void forget(struct tracer_thread *t, struct tracer_slot *s)
{
	coati_tracer_renew(s);
	if (s->recording == coati_tracer.first_generation)
		return;
	s->recording = coati_tracer.first_generation;
	/* not of another clock; a kept region did not begin later */
	s->last = s->depth && s->depth <= s->regions_max ? s->regions[s->depth - 1].began : 0;
	s->tell = true;
	if (s->index)
		return;
	t->nr_free = 0;
	atomic_store_explicit(&t->task, coati_tracer_task, memory_order_relaxed);
}

static bool has_room(const struct tracer_slot *s, uint32_t need)
{
	return slot_has_batch(s) && (uint64_t)s->batch->used + need <= s->batch->capacity;
}

static uint32_t need_of(const struct tracer_slot *s, uint32_t worst)
{
	return worst + (worst ? s->held * (HEAD_MAX + VAR_MAX) : 0);
}

/* Under the lock, while a recorder runs. */
static bool make_ready(struct tracer_thread *t, struct tracer_slot *s, uint32_t worst)
{
	uint64_t now = tracer_generation();
	uint32_t need = need_of(s, worst);

	if (atomic_load_explicit(&s->generation, memory_order_relaxed) != now && slot_has_batch(s))
		coati_tracer_close_batch(s);
	if (!has_room(s, need)) {
		uint32_t held = worst ? s->held : 0;

		if (slot_has_batch(s))
			coati_tracer_close_batch(s);
		s->tell = s->tell || held;
		set_held(s, held, 0);
		s->tell = !coati_tracer_open_batch(t, s, need);
		if (!slot_has_batch(s))
			set_held(s, held, REGION_HELD);
		/* only here, by the thread itself: see tracer.h */
		atomic_store_explicit(&s->generation, now, memory_order_relaxed);
		if (!slot_has_batch(s))
			return false;
	}
	if (worst && s->held)
		write_held(s);
	if (s->held)
		s->limit = TRACER_FULL;
	else
		slot_open(s);
	return true;
}

/* COATI_BLOCK: until a chunk is free, or no recorder runs any more. Without the lock. */
static void wait_for_chunk(uint32_t freed)
{
	atomic_fetch_add_explicit(&coati_tracer.waiting, 1, memory_order_relaxed);
	coati_tracer_wait(&coati_tracer.freed, freed, 100000000);
	atomic_fetch_sub_explicit(&coati_tracer.waiting, 1, memory_order_relaxed);
}

static uint8_t *refill(struct tracer_thread *t, struct tracer_slot *s, uint32_t worst)
{
	struct tracer_guard guard;
	bool ready = false;
	uint32_t freed;

	/* The batch will be closed, and no other thread closes it before this one stores 2: a
	 * checksum and a pair of clocks that other threads need not wait for. */
	if (emit_ready(s, 0) && slot_has_batch(s) && !has_room(s, need_of(s, worst)))
		coati_tracer_sum_up(s);
	for (;;) {
		/* pairs with: acquire in hand_over_slot() of generation.c: it need not wait for
		 * this slot */
		atomic_store_explicit(&s->state, SLOT_WAITING, memory_order_release);
		coati_tracer_lock(&guard);
		if (tracer_generation()) {
			forget(t, s);
			ready = make_ready(t, s, worst);
		}
		freed = atomic_load_explicit(&coati_tracer.freed, memory_order_relaxed);
		atomic_store_explicit(&s->state, SLOT_WRITING, memory_order_relaxed);
		coati_tracer_unlock(&guard);
		/* A handler that interrupted an event does not wait: room is made when that one
		 * is over. */
		if (ready || !worst || worst > TRACER_EVENT || s->index || !tracer_generation() ||
		    tracer_policy() != COATI_BLOCK)
			break;
		atomic_store_explicit(&s->state, SLOT_WAITING, memory_order_release);
		wait_for_chunk(freed);
	}
	if (ready)
		return slot_at(s);
	return worst || !tracer_generation() ? NULL : (uint8_t *)s;
}

/* Another process asked for a recorder: outside of the event, because the start waits for all that
 * are in one. */
static void let_it_start(struct tracer_slot *s)
{
	if (!(tracer_gate() & GATE_ASKED))
		return;
	emit_leave(s);
	coati_tracer_asked();
	emit_set(s);
}

uint8_t *coati_tracer_refill(struct tracer_thread *t, struct tracer_slot *s, uint32_t worst)
{
	int keep = errno;
	uint8_t *at = NULL;

	if (!tracer_generation())
		let_it_start(s);
	/* pairs with: publish() in generation.c; what the collector did to the slot is done
	 * before the last generation ends */
	if (!atomic_load_explicit(&coati_tracer_hot.generation, memory_order_acquire))
		return NULL;
	/* no thread gets one, and the slot belongs to this thread: the lock would not help */
	if (worst && emit_ready(s, 0) &&
	    atomic_load_explicit(&coati_tracer_hot.exhausted, memory_order_relaxed))
		return NULL;
	if (!coati_tracer_holds())
		at = refill(t, s, worst);
	errno = keep;
	return at;
}

/* A handler interrupted an event of its thread. */
static uint8_t *nested(struct tracer_thread *t, uint32_t worst, struct tracer_slot **ret)
{
	struct tracer_slot *s = &t->slot[1];

	*ret = NULL;
	if (slot_is_busy(s)) {
		if (tracer_generation())
			coati_tracer_lose(s, 1);
		return NULL;
	}
	*ret = s;
	emit_set(s);
	if (!emit_ready(s, worst))
		return coati_tracer_refill(t, s, worst);
	return worst ? slot_at(s) : (uint8_t *)s;
}

uint8_t *coati_tracer_enter(struct tracer_thread *t, uint32_t worst, struct tracer_slot **ret)
{
	int keep = errno;

	*ret = NULL;
	if (t)
		return nested(t, worst, ret);
	if (!tracer_generation() && tracer_gate() & GATE_ASKED)
		coati_tracer_asked();
	t = coati_tracer_first_use();
	errno = keep;
	if (!t)
		return NULL;
	if (slot_is_busy(&t->slot[0]))
		return nested(t, worst, ret);
	*ret = &t->slot[0];
	emit_set(*ret);
	return coati_tracer_refill(t, *ret, worst);
}
