/* SPDX-License-Identifier: MIT */
/*
 * When an agent over its memory limit gives everything back and begins anew. A new capture needs
 * work and memory of its own: if memory is over the limit again soon, the next time is later, at
 * twice the distance, up to an hour.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define MEMORY_PAUSE_FIRST (30 * NSEC_PER_SEC)
#define MEMORY_PAUSE_MOST  (3600 * NSEC_PER_SEC)

struct memory_guard {
	uint64_t last_ns, pause_ns; /* pause_ns 0: it was never over the limit */
	uint64_t restarts;
};

/* Once a window. True: begin anew, now. */
bool coati_memory_guard(struct memory_guard *g, uint64_t now_ns, uint64_t bytes, uint64_t limit);
