/* SPDX-License-Identifier: MIT */
/* The tracer: what a program says is what comes out. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "tracer-spool.h"

static void work(void)
{
	COATI_REGION("outer");
	{
		COATI_REGION("inner");
	}
}

TEST(tracer_writes_nothing_while_nobody_records)
{
	work();
	CHECK(!COATI_TRACING());
}

TEST(tracer_writes_regions_as_begin_and_end)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	work();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 2);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 2);
	CHECK_U64(t.processes, ==, t.ends);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK(!rec);
	CHECK(!COATI_TRACING());
}

TEST(tracer_region_events_take_at_most_six_bytes)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct spool t;

	for (int i = 0; i < 50000; i++)
		work();
	spool_snapshot(&t, rec);
	coati_recorder_stats(rec, &stats);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 100000);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 100000);
	test_note("%.2f bytes an event", (double)t.size / 200000);
	CHECK_U64(t.size, <, UINT64_C(6) * 200000);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
