/* SPDX-License-Identifier: MIT */
/* Segments of an agent's folder, and times of day as they are asked for. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cli/agent/conditions.h"
#include "cli/agent/segments.h"

#define NOW (UINT64_C(1794849711) * NSEC_PER_SEC) /* 2026-11-16 17:21:51 UTC */

TEST(segment_names_tell_when_they_began)
{
	static const char *const others[] = { "coati-20261116T172151Z-0001.data.gz",
					      "coati-20261116T172151Z.data",
					      "perf.data",
					      "coati-2026-0001.data",
					      "coati-x-0001.data",
					      "" };
	uint64_t ns = 0;

	CHECK(coati_segment_time("coati-20261116T172151Z-0001.data", &ns));
	CHECK_U64(ns, ==, NOW);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!coati_segment_time(others[i], &ns));
}

TEST(segments_overlap_a_range_of_time)
{
	const struct segment s = { .start_ns = NOW, .end_ns = NOW + 600 * NSEC_PER_SEC };
	const struct wall_range before = { NOW - 900 * NSEC_PER_SEC, NOW - 300 * NSEC_PER_SEC };
	const struct wall_range in = { NOW + NSEC_PER_SEC, NOW + 2 * NSEC_PER_SEC };
	const struct wall_range after = { NOW + 900 * NSEC_PER_SEC, NOW + 901 * NSEC_PER_SEC };
	const struct wall_range all = { 0, 0 };

	CHECK(!coati_segment_overlaps(&s, &before));
	CHECK(coati_segment_overlaps(&s, &in));
	CHECK(!coati_segment_overlaps(&s, &after));
	CHECK(coati_segment_overlaps(&s, &all));
}

TEST(times_of_day_are_understood_in_several_forms)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{ "now", NOW },
		{ "-2h", NOW - 7200 * NSEC_PER_SEC },
		{ "-90s", NOW - 90 * NSEC_PER_SEC },
		{ "@1794849700.5", NOW - 10 * NSEC_PER_SEC - NSEC_PER_SEC / 2 },
		{ "2026-11-16 17:21:51", NOW },
		{ "2026-11-16T17:21:51Z", NOW },
		{ "2026-11-16 17:21", NOW - 51 * NSEC_PER_SEC },
		{ "17:21", NOW - 51 * NSEC_PER_SEC },
		{ "18:00", NOW - 51 * NSEC_PER_SEC - (86400 - 39 * 60) * NSEC_PER_SEC },
		{ "2026-11-16", NOW - (17 * 3600 + 21 * 60 + 51) * NSEC_PER_SEC },
	};
	static const char *const wrong[] = { "", "2h", "yesterday", "25:00", "2026-13-01", "-x" };
	struct coati_error err;
	uint64_t ns;

	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK_INT(coati_wall_parse(rows[i].text, NOW, &ns, &err), ==, 0);
		CHECK_U64(ns, ==, rows[i].ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_ERR(coati_wall_parse(wrong[i], NOW, &ns, &err), -EINVAL);
}

TEST(agent_conditions_are_parsed_with_their_units)
{
	static const char *const wrong[] = { "",
					     "cpu",
					     "cpu > ",
					     "cpu > 101%",
					     "psi.disk > 1",
					     "task.p99 > 1ms",
					     "task.p0(a) > 1",
					     "rate() > 1",
					     "memory > 1",
					     "run-delay > x" };
	struct agent_condition c;
	struct coati_error err;

	CHECK_INT(coati_agent_condition_parse(&c, "cpu > 90%", &err), ==, 0);
	CHECK_INT((int)c.kind, ==, CONDITION_CPU);
	CHECK(c.limit == 90 && !c.below);
	CHECK_INT(coati_agent_condition_parse(&c, "task.p99(request) > 50ms", &err), ==, 0);
	CHECK_INT((int)c.kind, ==, CONDITION_TASK);
	CHECK_STR(c.name, "request");
	CHECK_U64(c.percent, ==, 99);
	CHECK(c.limit == 5e7);
	CHECK_INT(coati_agent_condition_parse(&c, "rate(page-faults)<1.5", &err), ==, 0);
	CHECK_STR(c.name, "page-faults");
	CHECK(c.limit == 1.5 && c.below);
	CHECK_INT(coati_agent_condition_parse(&c, "psi.io > 20", &err), ==, 0);
	CHECK_STR(c.name, "io");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_ERR(coati_agent_condition_parse(&c, wrong[i], &err), -EINVAL);
}

TEST(agent_percentiles_are_of_the_last_seconds)
{
	struct recent_tasks *r = calloc(1, sizeof(*r));
	struct agent_condition c;
	double value = 0;

	CHECK_INT(coati_agent_condition_parse(&c, "task.p50(a) > 50ms", NULL), ==, 0);
	CHECK(!coati_agent_condition_holds(&c, r, NOW, &value));
	for (uint64_t i = 1; i <= 100; i++)
		coati_recent_add(r, &(struct agent_task_end){ NOW, i * NSEC_PER_MSEC, 1, "a" });
	coati_recent_add(r, &(struct agent_task_end){ NOW, 900 * NSEC_PER_MSEC, 1, "b" });
	CHECK(!coati_agent_condition_holds(&c, r, NOW, &value));
	CHECK(value == 50e6);
	c.percent = 99;
	CHECK(coati_agent_condition_holds(&c, r, NOW, &value));
	CHECK(value == 99e6);
	CHECK(!coati_agent_condition_holds(&c, r, NOW + 11 * NSEC_PER_SEC, &value));
	free(r);
}
