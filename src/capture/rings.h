/* SPDX-License-Identifier: MIT */
/*
 * The rings of a capture: one a CPU for everything that is read as it comes, and one more for
 * events that overwrite. In: sets of open events. Out: a reader over the rings, and the events
 * connected to them. The first event on a CPU is mapped, all others there write into its ring.
 * Events whose samples must be identified by their ring have lanes of their own: a ring a CPU for
 * each lane.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/event.h>
#include <coati/ring.h>

#include "base/array.h"
#include "base/map.h"

#define RINGS_MAX 8192

struct rings {
	struct coati_reader *reader;
	struct map homes; /* lane and CPU to the event that its ring was mapped with */
	struct map backward_homes;
	ARRAY(struct coati_ring *) backward;
	ARRAY(uint8_t) lanes; /* of each ring in the reader, in its order */
	ARRAY(uint8_t) backward_lanes;
	uint64_t bytes;	   /* of one */
	int32_t first_key; /* of the ring of CPU 0 in the reader */
	bool borrowed;	   /* the reader is that of others */
};

/* Those that are read as they come. */
static inline uint32_t rings_count(const struct rings *r)
{
	return (uint32_t)r->homes.len;
}

int coati_rings_init(struct rings *r, uint64_t bytes, struct coati_error *err);
/* More rings in the reader of others, with keys from @first_key on. Free the reader first. */
void coati_rings_share(struct rings *r, struct coati_reader *reader, uint64_t bytes,
		       int32_t first_key);
void coati_rings_fini(struct rings *r);
/* Connect the events of @set. @lives: its events tell when their threads have ended, and with them
 * the ring. @lanes: of each event of its list, NULL: all are in lane 0. -EPERM, -ENOMEM: there is
 * not so much memory to be had; fini and try with less. */
int coati_rings_connect(struct rings *r, const struct coati_set *set, bool lives,
			const uint8_t *lanes, struct coati_error *err);

/* A good size for @nr rings when none was asked for: large enough that a flood is lost only when we
 * do not run, small enough that a large machine does not notice; never more than the mlock budget.
 * @copies: for samples with copies of stacks. */
uint64_t coati_rings_default_bytes(uint32_t nr, bool copies);
