/* SPDX-License-Identifier: MIT */
/*
 * The code that is loaded, each piece with the compact unwind table of its file
 * (unwind/table/table.h). Made from what the loader has mapped, before it is needed; who walks a
 * stack sees an array that never changes, behind one pointer. What was loaded or unloaded since is
 * looked for by the sampler's thread, and where a profile is started or written; that publishes a
 * new array and frees the old one when no thread can be using it. Tables are copies: code that goes
 * away under a walk takes nothing along that it reads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/sampler.h>

#include "base/search.h"
#include "unwind/table/table.h"

/* One executable segment. */
struct sampler_object {
	uint64_t start, end; /* where it is in memory */
	uint64_t bias;
	const struct table *table; /* NULL: frame pointers must do */
	uint32_t serial;	   /* of the table */
};

/* Ascending by address. */
struct sampler_objects {
	uint32_t serial; /* no other array has had it, and no table */
	uint32_t len;
	struct sampler_object list[];
};

struct sampler_objects_stats {
	uint32_t with,
		/* files with a table, and those that have no unwind data or none that can be
		 * used */
		without;
	uint32_t over; /* files for which the memory was not enough */
	uint64_t bytes;
	bool is_shut; /* the loader cannot be asked: they are those of a parent, or none */
};

#define SAMPLER_TABLE_BYTES (UINT64_C(64) << 20) /* the default */

/* Look whether something was loaded or unloaded since, and publish what is there now. At most
 * @max_bytes of tables; 0: as the last time, or SAMPLER_TABLE_BYTES. 1 something has changed, 0
 * nothing, -ENOMEM (then the last array stays). Thread: any. Signal: not safe. */
int coati_sampler_objects_refresh(uint64_t max_bytes);
/* The same for a profile that is to be started, as its options say. True in @ret: there are
 * tables. */
int coati_sampler_objects_prepare(const char *who, enum coati_sampler_stacks stacks,
				  uint64_t max_bytes, bool *ret, struct coati_error *err);
struct sampler_objects_stats coati_sampler_objects_stats(void);
/* The loader must not be asked: this is the child of a fork, and it may be locked for ever. */
bool coati_sampler_objects_shut(void);
/* A fork waits for who asks the loader. In the child its lock may still be held for ever, by a
 * thread that is not there: where the parent had others than those of the sampler (counted here),
 * the child has the objects of its parent and asks the loader for no more. */
extern _Atomic uint32_t coati_sampler_threads;
/* For who starts a thread before it asks for tables: afterwards it cannot be known whether a child
 * of a fork was alone. */
void coati_sampler_objects_begin(void);
/* In the child, where its handlers of fork() may not have run yet. */
void coati_sampler_objects_forget(void);
/* Set by the sampler: waits until each of its handlers that may have the last array has ended. */
extern void (*_Atomic coati_sampler_wait)(void);

/* ---- reading ---- */

#define SAMPLER_STRIPES 16u /* of threads, so that they do not wait for each other's cache line */

struct sampler_readers {
	_Alignas(64) _Atomic uint32_t nr;
};
extern struct sampler_readers coati_sampler_readers[SAMPLER_STRIPES];
extern _Atomic uint32_t coati_sampler_forks;
extern struct sampler_objects *_Atomic coati_sampler_objects;

/* Who looks at the array. */
struct sampler_reading {
	const struct sampler_objects *objects; /* NULL: there is none */
	uint32_t stripe, forks;
};

/* Who is counted after the publisher has seen none has the new array: all accesses are sequentially
 * consistent. Signal: safe. */
static inline struct sampler_reading sampler_objects_enter(void)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	struct sampler_reading r = {
		.stripe = (uint32_t)((here >> 16) * UINT64_C(0x9e3779b97f4a7c15) >> 60),
		.forks = atomic_load(&coati_sampler_forks)
	};

	atomic_fetch_add(&coati_sampler_readers[r.stripe].nr, 1);
	r.objects = atomic_load(&coati_sampler_objects);
	return r;
}

/* In the child of a fork that came in between no thread is counted any more. */
static inline void sampler_objects_leave(const struct sampler_reading *r)
{
	if (r->forks == atomic_load(&coati_sampler_forks))
		atomic_fetch_sub(&coati_sampler_readers[r->stripe].nr, 1);
}

/* Which one holds @addr; NULL: none.  Signal: safe. */
static inline const struct sampler_object *sampler_object_find(const struct sampler_objects *o,
							       uint64_t addr)
{
	uint32_t low = SEARCH(mid, 0, o->len, addr >= o->list[mid].end);

	return low < o->len && addr >= o->list[low].start ? &o->list[low] : NULL;
}
