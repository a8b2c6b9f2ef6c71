/* SPDX-License-Identifier: MIT */
/*
 * The heap profile, inside. A sample in use is an entry of a table by its address, under the lock
 * of the store. In front of it is a filter: a byte for each of some hashes of an address, how many
 * samples have that hash. A free looks at one byte without a lock; the thread that frees a block
 * got it from the thread that allocated it, so it sees what was stored before that.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "live/profiles/store.h"

struct heap_block {
	uint64_t address; /* 0: the slot is free */
	uint64_t size;
	double weight; /* blocks that it stands for */
	uint32_t stack;
	uint32_t reserved;
};

struct heap_shared {
	_Atomic uint32_t on;
	_Atomic uint32_t run;		   /* number of the start: threads draw again */
	_Atomic uint32_t threads;	   /* that have drawn in this run */
	_Atomic(_Atomic uint8_t *) filter; /* NULL before the first start */
	uint32_t filter_shift;
	uint64_t rate, seed;
	uint64_t samples, not_live, live;
	uint32_t max_live, slots; /* a power of two, at least twice max_live */
	struct heap_block *blocks;
	struct store store; /* alloc_objects, alloc_space, freed objects, freed space */
};
extern struct heap_shared coati_heap_shared;

static inline uint64_t heap_hash(const void *p)
{
	return ((uint64_t)(uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A block was given out. */
void coati_heap_taken(void *p, size_t size, struct store_caller caller);
/* Takes the sample at @p out of the table; false when there is none. */
bool coati_heap_give(const void *p, struct heap_block *ret);
/* And puts it back: it is still in use. */
void coati_heap_keep(const struct heap_block *block);

static inline bool heap_may_be_sample(const void *p)
{
	/* pairs with: release in open_tables() */
	const _Atomic uint8_t *filter =
		atomic_load_explicit(&coati_heap_shared.filter, memory_order_acquire);

	return filter &&
	       atomic_load_explicit(&filter[heap_hash(p) >> coati_heap_shared.filter_shift],
				    memory_order_relaxed);
}

/* Whether samples are taken. */
static inline bool heap_is_on(void)
{
	return atomic_load_explicit(&coati_heap_shared.on, memory_order_relaxed);
}

/* heap-write.c: the server can be asked from now on. */
void coati_heap_pages(void);
