/* SPDX-License-Identifier: MIT */
/*
 * How large an insert of a relay may be. Large ones cost the server less for each row. But agents
 * wait 30 seconds for an answer: when an insert takes too long, every agent gives up meanwhile and
 * sends its windows again, although they are stored. So the size is halved after an insert of
 * more than ten seconds and doubled after a full one of less than five, between 4 MiB and the most.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define RELAY_INSERT_SLOW  (10 * NSEC_PER_SEC)
#define RELAY_INSERT_FAST  (5 * NSEC_PER_SEC)
#define RELAY_INSERT_LEAST (UINT64_C(4) << 20)

/* The limit for the next insert, when one of @bytes (of its largest table) took @ns. */
static inline uint64_t relay_insert_limit(uint64_t limit, uint64_t most, uint64_t bytes,
					  uint64_t ns)
{
	if (ns > RELAY_INSERT_SLOW)
		limit = limit / 2 > RELAY_INSERT_LEAST ? limit / 2 : RELAY_INSERT_LEAST;
	else if (ns < RELAY_INSERT_FAST && bytes >= limit / 2)
		limit *= 2;
	return limit < most ? limit : most;
}
