/* SPDX-License-Identifier: MIT */
/*
 * Waits, inside. Who waits for a lock is entered under the lock's address, in one of some shards;
 * who gives the lock back takes from there the time that all of them waited since they began, or
 * since the last one was charged, and is charged with it. An entry needs no list for that: n
 * waiters that began at times whose sum is s have waited n * now - s together, and after a charge
 * they all begin anew.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <coati/locks.h>

#include "live/profiles/store.h"

struct locks_shared {
	_Atomic uint32_t on;
	_Atomic uint64_t mutex_fraction, block_rate;
	_Atomic uint64_t seed;
	_Atomic uint64_t unseen, untracked;
	struct store mutex, block; /* contentions, nanoseconds */
};
extern struct locks_shared coati_locks_shared;

static inline bool locks_on(void)
{
	return atomic_load_explicit(&coati_locks_shared.on, memory_order_relaxed);
}

/* What is to be charged to who gives a lock back. */
struct locks_charge {
	uint64_t waits, ns;
};

/* Before it is given back; 0 when no thread waits. */
struct locks_charge coati_locks_releasing(const void *lock);
/* After it. @frame as in struct store_caller. */
void coati_locks_released(const struct locks_charge *charge, const void *frame);
/* coati_wait_end() for who has the frame. */
void coati_locks_waited(struct coati_wait *w, const void *frame);

/* A wait of so long, to be sampled or not. */
void coati_locks_block(uint64_t ns, const void *frame);

/* locks-write.c */
void coati_locks_pages(void);
