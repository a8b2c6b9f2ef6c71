/* SPDX-License-Identifier: MIT */
/* Waits come in; what they cost is charged to those who let wait, and to those who wait. */
#include "live/profiles/locks.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "live/profiles/chance.h"

#define SHARDS		 256u
#define ENTRIES		 4u
#define DEFAULT_FRACTION 100u
#define DEFAULT_RATE	 10000u
#define MOST		 (UINT64_C(1) << 40)

/* A lock that is waited for. */
struct entry {
	const void *lock;	 /* NULL: free */
	uint64_t waiters, fresh; /* of these, not charged to a holder yet */
	uint64_t begun_ns;	 /* sum of when they began; may wrap */
	uint64_t last_ns, charges;
};

struct shard {
	pthread_mutex_t lock;
	_Atomic uint32_t waiters; /* looked at without the lock */
	struct entry entries[ENTRIES];
} __attribute__((aligned(64)));

struct locks_shared coati_locks_shared = { .mutex.lock = PTHREAD_MUTEX_INITIALIZER,
					   .block.lock = PTHREAD_MUTEX_INITIALIZER };
static struct shard shards[SHARDS]; /* a mutex of zeros is one that is free */
static _Atomic uint64_t threads;
static __thread struct chance chance __attribute__((tls_model("initial-exec")));

static uint64_t draw(void)
{
	if (!chance.state)
		coati_chance_seed(
			&chance,
			atomic_load_explicit(&coati_locks_shared.seed, memory_order_relaxed),
			1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed));
	return coati_chance_next(&chance);
}

/* ---- who waits for what ---- */

static struct shard *shard_of(const void *lock)
{
	return &shards[((uint64_t)(uintptr_t)lock >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static struct entry *find(struct shard *s, const void *lock)
{
	for (uint32_t i = 0; i < ENTRIES; i++)
		if (s->entries[i].lock == lock)
			return &s->entries[i];
	return NULL;
}

/* Enter a wait; false: there is no room. */
static bool enter(struct coati_wait *w)
{
	struct shard *s = shard_of(w->lock);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, w->lock);
	if (!e && (e = find(s, NULL)))
		*e = (struct entry){ .lock = w->lock };
	if (e) {
		w->begin_ns = now_ns(); /* in here: not before a charge that it has no part in */
		w->charges = e->charges;
		e->begun_ns += w->begin_ns;
		e->waiters++;
		e->fresh++;
		atomic_fetch_add_explicit(&s->waiters, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}

static void leave(const struct coati_wait *w)
{
	struct shard *s = shard_of(w->lock);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, w->lock);
	if (e) { /* always, but in the child of a process that forked while it waited */
		bool is_fresh = e->charges == w->charges;

		e->begun_ns -= is_fresh ? w->begin_ns : e->last_ns;
		e->fresh -= is_fresh;
		e->waiters--;
		if (!e->waiters)
			e->lock = NULL;
		atomic_fetch_sub_explicit(&s->waiters, 1, memory_order_relaxed);
		if (is_fresh)
			atomic_fetch_add_explicit(&coati_locks_shared.unseen, 1,
						  memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
}

static __attribute__((noinline)) struct locks_charge charge(struct shard *s, const void *lock)
{
	struct locks_charge c = { 0, 0 };
	uint64_t now;
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, lock);
	if (e) {
		now = now_ns();
		c = (struct locks_charge){ e->fresh, e->waiters * now - e->begun_ns };
		e->begun_ns = e->waiters * now;
		e->last_ns = now;
		e->fresh = 0;
		e->charges++;
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}

struct locks_charge coati_locks_releasing(const void *lock)
{
	struct shard *s = shard_of(lock);

	if (!atomic_load_explicit(&s->waiters, memory_order_relaxed))
		return (struct locks_charge){ 0, 0 };
	return charge(s, lock);
}

/* ---- samples ---- */

static void record(struct store *store, const void *frame, double waits, double ns)
{
	const double values[STORE_VALUES] = { waits, ns };
	const struct store_caller caller = { frame, 0 };
	struct store_trace trace;

	coati_store_trace(store, &caller, &trace);
	pthread_mutex_lock(&store->lock);
	coati_store_add(store, &trace, values);
	pthread_mutex_unlock(&store->lock);
}

__attribute__((cold)) void coati_locks_released(const struct locks_charge *c, const void *frame)
{
	double scale = (double)atomic_load_explicit(&coati_locks_shared.mutex_fraction,
						    memory_order_relaxed);

	record(&coati_locks_shared.mutex, frame, scale * (double)c->waits, scale * (double)c->ns);
}

/* As Go has it: waits of the rate and longer are all taken, of the shorter ones as many as add up
 * to it. */
__attribute__((cold)) void coati_locks_block(uint64_t ns, const void *frame)
{
	uint64_t rate = atomic_load_explicit(&coati_locks_shared.block_rate, memory_order_relaxed);

	ns = ns ? ns : 1;
	if (!rate || (ns < rate && draw() % rate >= ns))
		return;
	if (ns < rate)
		record(&coati_locks_shared.block, frame, (double)rate / (double)ns, (double)rate);
	else
		record(&coati_locks_shared.block, frame, 1, (double)ns);
}

void coati_wait_begin(struct coati_wait *w, const void *lock)
{
	uint64_t fraction =
		atomic_load_explicit(&coati_locks_shared.mutex_fraction, memory_order_relaxed);

	*w = (struct coati_wait){ .lock = NULL };
	if (!locks_on())
		return;
	if (lock && fraction && draw() % fraction == 0) {
		w->lock = lock;
		if (enter(w))
			return;
		w->lock = NULL;
		atomic_fetch_add_explicit(&coati_locks_shared.untracked, 1, memory_order_relaxed);
	}
	w->begin_ns = now_ns();
}

__attribute__((cold)) void coati_locks_waited(struct coati_wait *w, const void *frame)
{
	uint64_t end;

	if (!w->begin_ns)
		return;
	end = now_ns();
	if (w->lock)
		leave(w);
	coati_locks_block(end - w->begin_ns, frame);
	w->begin_ns = 0;
}

void coati_wait_end(struct coati_wait *w)
{
	coati_locks_waited(w, __builtin_frame_address(0));
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is in use */
}

void coati_wait_release(const void *lock)
{
	struct locks_charge c = coati_locks_releasing(lock);

	if (c.waits || c.ns)
		coati_locks_released(&c, __builtin_frame_address(0));
	__asm__ volatile("" ::: "memory");
}

/* ---- start and stop ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&coati_locks_shared.mutex.lock);
	pthread_mutex_lock(&coati_locks_shared.block.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&coati_locks_shared.block.lock);
	pthread_mutex_unlock(&coati_locks_shared.mutex.lock);
}

/* Those who waited are not here. */
static void in_child(void)
{
	memset(shards, 0, sizeof(shards));
	after_fork();
}

static int open_stores(struct coati_error *err)
{
	struct locks_shared *l = &coati_locks_shared;
	int r = coati_store_open(&l->mutex, err);

	if (r == 0 && !l->block.memory) {
		r = coati_store_open(&l->block, err);
		if (r == 0 && pthread_atfork(before_fork, after_fork, in_child))
			r = coati_fail(err, -ENOMEM, "lock profiles: no memory to watch forks");
	}
	return r;
}

__attribute__((cold)) int coati_locks_start(const struct coati_locks_opts *opts,
					    struct coati_error *err)
{
	static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
	struct locks_shared *l = &coati_locks_shared;
	struct coati_locks_opts o;
	int r = SIZED_COPY(&o, opts);

	if (!opts) {
		o.mutex_fraction = DEFAULT_FRACTION;
		o.block_rate_ns = DEFAULT_RATE;
	}
	if (r < 0 || o.mutex_fraction > MOST || o.block_rate_ns > MOST || o.reserved ||
	    o.stacks > COATI_SAMPLER_STACKS_TABLES)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "lock profiles: invalid options: rates are at most 2^40");
	pthread_mutex_lock(&starting);
	r = open_stores(err);
	if (r == 0)
		r = coati_store_prepare(&l->mutex, "lock profiles", o.stacks, o.max_table_bytes,
					err);
	if (r == 0)
		r = coati_store_prepare(&l->block, "lock profiles", o.stacks, o.max_table_bytes,
					err);
	if (r == 0) {
		coati_locks_pages();
		atomic_store_explicit(&l->seed, o.seed ? o.seed : coati_chance_any(),
				      memory_order_relaxed);
		atomic_store_explicit(&l->mutex_fraction, o.mutex_fraction, memory_order_relaxed);
		atomic_store_explicit(&l->block_rate, o.block_rate_ns, memory_order_relaxed);
		atomic_store_explicit(&l->on, 1, memory_order_release);
	}
	pthread_mutex_unlock(&starting);
	return r;
}

__attribute__((cold)) void coati_locks_stop(void)
{
	atomic_store_explicit(&coati_locks_shared.on, 0, memory_order_release);
}

__attribute__((cold)) int coati_locks_stats(struct coati_locks_stats *ret)
{
	struct coati_locks_stats s = { .size = sizeof(s) };

	s.unseen = atomic_load_explicit(&coati_locks_shared.unseen, memory_order_relaxed);
	s.untracked = atomic_load_explicit(&coati_locks_shared.untracked, memory_order_relaxed);
	return SIZED_FILL(ret, &s);
}
