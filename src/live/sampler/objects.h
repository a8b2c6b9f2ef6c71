/* SPDX-License-Identifier: MIT */
/*
 * The code that is loaded, each piece with the compact unwind table of its file (unwind/table/table.h). Made from what the loader has mapped, before it is needed;
 * the handler sees an array that never changes, behind one pointer. What was loaded or unloaded since is looked for by who folds, which publishes a new array
 * and frees the old one when no handler can be at it. Tables are copies: code that goes away under a handler takes nothing along that it reads.
 *
 * All of it is called by one thread at a time, except for what says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
		without; /* files with a table, and those that have no unwind data or none that can be used */
	uint32_t over; /* files for which the memory was not enough */
	uint64_t bytes;
	bool is_shut; /* the loader cannot be asked: they are those of a parent, or none */
};

/* Look whether something was loaded or unloaded since, and publish what is there now. At most @max_bytes of tables. 1 something has changed, 0 nothing, -ENOMEM (then
 * the last array stays). */
int coati_sampler_objects_refresh(uint64_t max_bytes);
struct sampler_objects_stats coati_sampler_objects_stats(void);
/* Around a fork. In the child the loader's lock may be held for ever, by a thread that is not there: not by ours (@is_running: there is one), because a fork waits for it
 * here; and where there are others, the child has the objects of its parent and asks the loader for no more. */
void coati_sampler_objects_hold(bool is_running);
void coati_sampler_objects_release(void);
/* In the child. */
void coati_sampler_objects_forget(void);

/* Which one holds @addr; NULL: none.  Signal: safe. */
static inline const struct sampler_object *sampler_object_find(const struct sampler_objects *o,
							       uint64_t addr)
{
	uint32_t low = 0, high = o->len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (addr >= o->list[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->len && addr >= o->list[low].start ? &o->list[low] : NULL;
}
