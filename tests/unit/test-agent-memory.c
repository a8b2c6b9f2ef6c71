/* SPDX-License-Identifier: MIT */
/* When an agent over its memory limit begins anew. */
#include "lib/test.h"

#include "agent/memory.h"

#define MIB	(UINT64_C(1) << 20)
#define LIMIT	(64 * MIB)
#define WINDOW	(10 * NSEC_PER_SEC)
#define WINDOWS (6 * 360) /* six hours */

TEST(agent_over_its_memory_limit_begins_anew_at_once_and_then_ever_more_rarely)
{
	/* every pause is twice the one before it, and an hour at most */
	static const uint64_t seconds[] = { 0,	  30,	90,   210,   450,   930,
					    1890, 3810, 7410, 11010, 14610, 18210 };
	struct memory_guard g = { 0 };
	uint64_t nr = 0;

	for (uint64_t i = 0; i < WINDOWS; i++) {
		uint64_t now = 77 * WINDOW + i * WINDOW;

		CHECK(!coati_memory_guard(&g, now, LIMIT, LIMIT));
		if (!coati_memory_guard(&g, now, LIMIT + 1, LIMIT))
			continue;
		CHECK_U64(nr, <, sizeof(seconds) / sizeof(*seconds));
		CHECK_U64(i * WINDOW, ==, seconds[nr] * NSEC_PER_SEC);
		nr++;
	}
	CHECK_U64(nr, ==, sizeof(seconds) / sizeof(*seconds));
	CHECK_U64(g.restarts, ==, nr);
}

TEST(agent_that_was_under_its_memory_limit_for_long_begins_anew_at_once_again)
{
	struct memory_guard g = { 0 };
	uint64_t now = 1;

	CHECK(coati_memory_guard(&g, now, LIMIT + 1, LIMIT));
	now += MEMORY_PAUSE_FIRST;
	CHECK(coati_memory_guard(&g, now, LIMIT + 1, LIMIT));
	CHECK_U64(g.pause_ns, ==, 2 * MEMORY_PAUSE_FIRST);
	/* four pauses later it is as the first time; not a moment earlier */
	now += 4 * g.pause_ns - 1;
	CHECK(coati_memory_guard(&g, now, LIMIT + 1, LIMIT));
	CHECK_U64(g.pause_ns, ==, 4 * MEMORY_PAUSE_FIRST);
	now += 4 * g.pause_ns;
	CHECK(coati_memory_guard(&g, now, LIMIT + 1, LIMIT));
	CHECK_U64(g.pause_ns, ==, MEMORY_PAUSE_FIRST);
}
