/* SPDX-License-Identifier: MIT */
/* Sampling the heap: blocks come and go, a few of them are drawn and followed. Nothing here
 * allocates once it is started. */
#include "live/profiles/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <coati/heap.h>

#include "base/error.h"
#include "base/sized.h"
#include "live/profiles/chance.h"

#define DEFAULT_RATE (UINT64_C(512) << 10)
#define DEFAULT_LIVE 65536u
#define MAX_LIVE     4194304u
#define FAR	     4e18 /* bytes that no program allocates */

struct heap_shared coati_heap_shared = { .store.lock = PTHREAD_MUTEX_INITIALIZER };

struct heap_thread {
	int64_t left; /* bytes to the next sample */
	uint32_t run; /* that it was drawn in */
	bool inside;  /* a sample is being taken: nothing below is one */
	struct chance chance;
};
static __thread struct heap_thread me __attribute__((tls_model("initial-exec")));

/* ---- the table of samples in use ---- */

static _Atomic uint8_t *filter_of(const void *p)
{
	struct heap_shared *h = &coati_heap_shared;

	return &atomic_load_explicit(&h->filter,
				     memory_order_relaxed)[heap_hash(p) >> h->filter_shift];
}

static void filter_add(const void *p, int change)
{
	_Atomic uint8_t *at = filter_of(p);
	uint8_t now = atomic_load_explicit(at, memory_order_relaxed);

	/* one that is full once stays: it is not known any more how many there are */
	if (now != UINT8_MAX)
		atomic_store_explicit(at, (uint8_t)(now + change), memory_order_relaxed);
}

/* Where @address is, or the free slot where it would be. */
static uint32_t slot_of(uint64_t address)
{
	const struct heap_shared *h = &coati_heap_shared;
	uint32_t at =
		(uint32_t)(heap_hash((const void *)(uintptr_t)address) >> 20) & (h->slots - 1);

	while (h->blocks[at].address && h->blocks[at].address != address)
		at = (at + 1) & (h->slots - 1);
	return at;
}

static void count_freed(const struct heap_block *b)
{
	const double values[STORE_VALUES] = { 0, 0, b->weight, b->weight * (double)b->size };

	coati_store_change(&coati_heap_shared.store, b->stack, values);
}

/* The slot becomes free, and what was pushed on by it moves up. */
static void clear_slot(uint32_t at)
{
	struct heap_shared *h = &coati_heap_shared;
	uint32_t mask = h->slots - 1, next = at;

	filter_add((const void *)(uintptr_t)h->blocks[at].address, -1);
	h->live--;
	for (;;) {
		uint32_t home;

		h->blocks[at].address = 0;
		do {
			next = (next + 1) & mask;
			if (!h->blocks[next].address)
				return;
			home = (uint32_t)(heap_hash((const void *)(uintptr_t)h->blocks[next]
							    .address) >>
					  20) &
			       mask;
		} while (((next - home) & mask) < ((next - at) & mask));
		h->blocks[at] = h->blocks[next];
		at = next;
	}
}

static void put_block(const struct heap_block *b)
{
	struct heap_shared *h = &coati_heap_shared;
	uint32_t at = slot_of(b->address);

	if (h->blocks[at].address) { /* it was freed behind our back */
		count_freed(&h->blocks[at]);
		h->blocks[at] = *b;
		return;
	}
	if (h->live == h->max_live) {
		h->not_live++;
		count_freed(b);
		return;
	}
	h->blocks[at] = *b;
	h->live++;
	filter_add((const void *)(uintptr_t)b->address, 1);
}

__attribute__((cold)) bool coati_heap_give(const void *p, struct heap_block *ret)
{
	struct heap_shared *h = &coati_heap_shared;
	uint32_t at;
	bool found;

	pthread_mutex_lock(&h->store.lock);
	at = slot_of((uint64_t)(uintptr_t)p);
	found = h->blocks[at].address;
	if (found) {
		*ret = h->blocks[at];
		count_freed(ret);
		clear_slot(at);
	}
	pthread_mutex_unlock(&h->store.lock);
	return found;
}

__attribute__((cold)) void coati_heap_keep(const struct heap_block *b)
{
	const double values[STORE_VALUES] = { 0, 0, -b->weight, -b->weight * (double)b->size };

	pthread_mutex_lock(&coati_heap_shared.store.lock);
	coati_store_change(&coati_heap_shared.store, b->stack, values);
	put_block(b);
	pthread_mutex_unlock(&coati_heap_shared.store.lock);
}

/* ---- drawing ---- */

/* How many blocks one of @size that was drawn stands for. */
static double weight_of(uint64_t size, uint64_t rate)
{
	return rate <= 1 ? 1 : 1 / coati_chance_within((double)size / (double)rate);
}

static int64_t draw(uint64_t rate)
{
	double distance = coati_chance_distance(&me.chance, (double)rate);

	return rate <= 1 ? 0 : (int64_t)(distance < FAR ? distance : FAR);
}

static __attribute__((noinline, cold)) void sample(const void *p, uint64_t size,
						   const struct store_caller *caller)
{
	struct heap_shared *h = &coati_heap_shared;
	struct heap_block block = { .address = (uint64_t)(uintptr_t)p, .size = size };
	double values[STORE_VALUES] = { 0 };
	struct store_trace trace;

	block.weight = weight_of(size, h->rate);
	values[0] = block.weight;
	values[1] = block.weight * (double)size;
	coati_store_trace(&h->store, caller, &trace);
	pthread_mutex_lock(&h->store.lock);
	block.stack = coati_store_add(&h->store, &trace, values);
	put_block(&block);
	h->samples++;
	pthread_mutex_unlock(&h->store.lock);
}

/* The countdown is over, or was never begun in this run. */
static __attribute__((noinline, cold)) void count_down(const void *p, uint64_t size,
						       const struct store_caller *caller)
{
	struct heap_shared *h = &coati_heap_shared;
	uint32_t run = atomic_load_explicit(&h->run, memory_order_acquire);

	if (me.inside)
		return;
	me.inside = true;
	if (me.run != run) {
		me.run = run;
		coati_chance_seed(&me.chance, h->seed,
				  atomic_fetch_add_explicit(&h->threads, 1, memory_order_relaxed));
		me.left = draw(h->rate) - (int64_t)size;
	}
	if (me.left < 0) {
		sample(p, size, caller);
		me.left = draw(h->rate);
	}
	me.inside = false;
}

void coati_heap_taken(void *p, size_t size, struct store_caller caller)
{
	uint64_t bytes = size ? size : 1; /* blocks of nothing are blocks */

	if (!p || !atomic_load_explicit(&coati_heap_shared.on, memory_order_relaxed))
		return;
	if (bytes > INT64_MAX / 2)
		bytes = INT64_MAX / 2;
	me.left -= (int64_t)bytes;
	if (me.left < 0 ||
	    me.run != atomic_load_explicit(&coati_heap_shared.run, memory_order_relaxed))
		count_down(p, bytes, &caller);
}

void coati_heap_note_alloc(void *p, size_t size)
{
	/* the caller itself stands for malloc() */
	coati_heap_taken(p, size, (struct store_caller){ __builtin_frame_address(0), 1 });
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is in use */
}

void coati_heap_note_free(void *p)
{
	struct heap_block block;

	if (p && heap_may_be_sample(p))
		coati_heap_give(p, &block);
}

/* ---- start and stop ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&coati_heap_shared.store.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&coati_heap_shared.store.lock);
}

static int open_tables(struct heap_shared *h, uint32_t max_live, struct coati_error *err)
{
	uint32_t slots = 64, hashes;
	uint8_t *memory;
	size_t bytes;

	while (slots < 2 * max_live)
		slots *= 2;
	hashes = slots * 2;
	bytes = slots * sizeof(struct heap_block) + hashes;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return coati_fail(err, -errno, "heap profile: memory for %u samples: %m", max_live);
	if (pthread_atfork(before_fork, after_fork, after_fork)) {
		munmap(memory, bytes);
		return coati_fail(err, -ENOMEM, "heap profile: no memory to watch forks");
	}
	h->blocks = (struct heap_block *)memory;
	h->max_live = max_live;
	h->slots = slots;
	h->filter_shift = 64u - (uint32_t)__builtin_ctz(hashes);
	/* pairs with: acquire in heap_may_be_sample() */
	atomic_store_explicit(&h->filter,
			      (_Atomic uint8_t *)(memory + slots * sizeof(struct heap_block)),
			      memory_order_release);
	return 0;
}

__attribute__((cold)) int coati_heap_start(const struct coati_heap_opts *opts,
					   struct coati_error *err)
{
	static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
	struct heap_shared *h = &coati_heap_shared;
	struct coati_heap_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || o.stacks > COATI_SAMPLER_STACKS_TABLES || o.max_live > MAX_LIVE ||
	    o.rate_bytes > INT64_MAX)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "heap profile: invalid options: max_live is at most %u",
				  MAX_LIVE);
	pthread_mutex_lock(&starting);
	if (atomic_load_explicit(&h->on, memory_order_relaxed))
		r = coati_fail(err, -EBUSY, "heap profile: already running; stop it first");
	else if (h->blocks && o.max_live && o.max_live != h->max_live)
		r = coati_fail(err, -EINVAL,
			       "heap profile: max_live is %u since the first start; leave it at 0",
			       h->max_live);
	if (r == 0)
		r = coati_store_open(&h->store, err);
	if (r == 0 && !h->blocks)
		r = open_tables(h, o.max_live ? o.max_live : DEFAULT_LIVE, err);
	if (r == 0)
		r = coati_store_prepare(&h->store, "heap profile", o.stacks, o.max_table_bytes,
					err);
	if (r == 0) {
		coati_heap_pages();
		h->rate = o.rate_bytes ? o.rate_bytes : DEFAULT_RATE;
		h->seed = o.seed ? o.seed : coati_chance_any();
		atomic_store_explicit(&h->threads, 0, memory_order_relaxed);
		/* pairs with: acquire in count_down() */
		atomic_fetch_add_explicit(&h->run, 1, memory_order_release);
		atomic_store_explicit(&h->on, 1, memory_order_release);
	}
	pthread_mutex_unlock(&starting);
	return r;
}

__attribute__((cold)) void coati_heap_stop(void)
{
	atomic_store_explicit(&coati_heap_shared.on, 0, memory_order_release);
}

__attribute__((cold)) int coati_heap_stats(struct coati_heap_stats *ret)
{
	struct heap_shared *h = &coati_heap_shared;
	struct coati_heap_stats s = { .size = sizeof(s) };

	pthread_mutex_lock(&h->store.lock);
	s.samples = h->samples;
	s.live = h->live;
	s.not_live = h->not_live;
	s.stacks = h->store.nr ? h->store.nr - 1 : 0;
	s.over = h->store.over;
	pthread_mutex_unlock(&h->store.lock);
	return SIZED_FILL(ret, &s);
}
