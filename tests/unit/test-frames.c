/* SPDX-License-Identifier: MIT */
/* Frames and regions with names of run time: what was marked is on the timeline and in the numbers.
 *  */
#include "lib/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <coati/frames.h>

#include "base/clock.h"
#include "tracer-spool.h"
#include "unit/serve-client.h"

/* ---- frames ---- */

static void one_frame(void)
{
	COATI_FRAME("frame");
}

/* The program's own clock around each frame: it cannot have been shorter inside, nor longer
 * outside. */
TEST(frames_are_counted_and_measured_between_marks)
{
	struct coati_frame_stats s = { .size = sizeof(s) };
	uint64_t before[101], after[101], least = 0, most = 0, shortest = UINT64_MAX, longest = 0;

	CHECK_INT(coati_frame_stats("frame", &s), ==, -ENOENT);
	for (int i = 0; i <= 100; i++) {
		before[i] = now_ns();
		one_frame();
		after[i] = now_ns();
		while (now_ns() - after[i] < (i < 95 ? 20000u : 400000u))
			;
	}
	for (int i = 0; i < 100; i++) {
		uint64_t low = before[i + 1] - after[i], high = after[i + 1] - before[i];

		least += low;
		most += high;
		shortest = low < shortest ? low : shortest;
		longest = high > longest ? high : longest;
	}
	CHECK_OK(coati_frame_stats("frame", &s));
	CHECK_U64(s.frames, ==, 100);
	CHECK_U64(s.sum_ns, >=, least);
	CHECK_U64(s.sum_ns, <=, most);
	CHECK_U64(s.min_ns, >=, shortest);
	CHECK_U64(s.max_ns, <=, longest);
	CHECK_U64(s.p50_ns, >=, s.min_ns);
	CHECK_U64(s.p90_ns, >=, s.p50_ns);
	CHECK_U64(s.p99_ns, >=, 400000); /* five of a hundred took so long */
	CHECK_U64(s.p99_ns, <=, s.max_ns);
	CHECK_U64(s.last_ns, >=, 400000);
	s.size = 16; /* of an older header */
	s.sum_ns = 7;
	CHECK_OK(coati_frame_stats("frame", &s));
	CHECK_U64(s.sum_ns, ==, 7);
}

TEST(frames_are_tasks_of_the_timeline)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;
	uint32_t named = 0;

	for (int i = 0; i < 11; i++)
		one_frame();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_TASK_BEGIN], ==, 11);
	CHECK_U64(t.kinds[LIVE_TASK_END], ==, 10);
	/* each is entered, and left before the next */
	CHECK_U64(t.kinds[LIVE_TASK_ENTER], ==, 21);
	for (int i = 0; i < SPOOL_SITES; i++)
		named += !strcmp(t.sites[i], "frame");
	CHECK_U64(named, ==, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

static void *mark_often(void *ctx)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&turn);
		one_frame();
		pthread_mutex_unlock(&turn);
	}
	return ctx;
}

TEST(frames_of_several_threads_are_one_sequence)
{
	struct coati_frame_stats s = { .size = sizeof(s) };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, mark_often, NULL), ==, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_OK(coati_frame_stats("frame", &s));
	CHECK_U64(s.frames, ==, 3999);
}

TEST(frames_are_a_page_of_the_server)
{
	struct coati_server *server = started("0", NULL);

	CHECK_INT(status_of(asked(server, PAGE("frames"))), ==, 404);
	for (int i = 0; i < 6; i++)
		one_frame();
	CHECK_HAS(asked(server, PAGE("frames")), " name\n         5 ");
	CHECK_HAS(asked(server, PAGE("")), "/debug/pprof/frames");
	coati_server_stop(server);
}

/* ---- names ---- */

static void named(const char *name)
{
	COATI_REGION_NAMED(name);
}

static uint32_t sites_named(const struct spool *t, const char *name)
{
	uint32_t nr = 0;

	for (int i = 0; i < SPOOL_SITES; i++)
		nr += !strcmp(t->sites[i], name);
	return nr;
}

TEST(regions_with_names_of_run_time_are_one_site_for_a_name)
{
	struct coati_recorder *rec;
	struct spool t;
	char name[32];

	named("before"); /* nobody records */
	rec = spool_start(0);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "level %d", i);
			named(name);
		}
	named("");
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 301);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 301);
	CHECK_U64(sites_named(&t, "before"), ==, 0);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "level %d", i);
		CHECK_U64(sites_named(&t, name), ==, 1);
	}
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* The 4097th name and those behind it share a site, and their names are log lines. */
TEST(regions_of_too_many_names_share_one_and_keep_theirs_as_text)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;
	char name[32];

	for (int i = 0; i < 4096 + 10; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		named(name);
	}
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 4106);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 4106);
	CHECK_U64(t.kinds[LIVE_LOG], ==, 10);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

static void *name_all(void *ctx)
{
	char name[32];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "shared %d", i);
		named(name);
	}
	return ctx;
}

TEST(regions_that_threads_name_at_once_have_one_site_each)
{
	struct coati_recorder *rec = spool_start(0);
	pthread_t threads[4];
	struct spool t;
	char name[32];

	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, name_all, NULL), ==, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 800);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "shared %d", i);
		CHECK_U64(sites_named(&t, name), ==, 1);
	}
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
