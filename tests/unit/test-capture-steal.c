/* SPDX-License-Identifier: MIT */
/* Time that the host took, read from a /proc made of plain files. */
#include "lib/test.h"

#include <stdio.h>

#include "capture/steal.h"
#include "lib/fake-tree.h"

TEST(steal_is_the_eighth_number_of_all_cpus_together)
{
	uint64_t ns = 0;

	CHECK_INT(fake_file("proc", "stat",
			    "cpu  10 20 30 40 50 60 70 81 90 100\ncpu0 1 2 3 4 5 6 7 8 9\n"),
		  ==, 0);
	CHECK_ERR(coati_steal_read("proc", &ns), 0);
	CHECK_U64(ns, ==, 81 * coati_steal_step_ns());
}

TEST(steal_that_is_not_told_is_an_error)
{
	static const char *const bad[] = { "cpu  1 2 3 4 5 6 7\n",
					   "cpu\n",
					   "\n",
					   "intr 1 2 3 4 5 6 7 8 9\n",
					   "",
					   "cpu  1 2 3 4 5 6 7 x\n",
					   "cpu  1 2 3 4 5 6 7 18446744073709551615\n" };
	uint64_t ns = 7;

	CHECK_INT(coati_steal_read("nowhere", &ns), <, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_INT(fake_file("proc", "stat", bad[i]), ==, 0);
		CHECK_INT(coati_steal_read("proc", &ns), <, 0);
	}
	CHECK_U64(ns, ==, 7);
}

static void set_steal(uint64_t ticks)
{
	char text[64];

	snprintf(text, sizeof(text), "cpu  1 2 3 4 5 6 7 %llu 9 10\n", (unsigned long long)ticks);
	CHECK_INT(fake_file("proc", "stat", text), ==, 0);
}

TEST(steal_log_says_when_the_host_took_how_much)
{
	const uint64_t every = STEAL_EVERY_NS, step = coati_steal_step_ns();
	struct steal_log log;
	char text[1000], want[1000];

	set_steal(100);
	coati_steal_begin(&log, "proc", 1000);
	set_steal(103);
	coati_steal_look(&log, "proc", 1000 + every - 1); /* too early to read again */
	CHECK_INT(log.nr, ==, 0);
	coati_steal_look(&log, "proc", 1000 + every);
	coati_steal_look(&log, "proc", 1000 + 2 * every); /* nothing new */
	set_steal(104);
	coati_steal_look(&log, "proc", 1000 + 3 * every);
	CHECK_U64(coati_steal_next(&log), ==, 1000 + 4 * every);
	CHECK_INT(coati_steal_print(&log, "proc", 1000 + 4 * every, text, sizeof(text)), >, 0);
	snprintf(want, sizeof(want),
		 "steal_told=1\nsteal_most_ns=%llu\nsteal=1000 %llu %llu\nsteal=%llu %llu %llu\n"
		 "steal=%llu %llu %llu\nsteal=%llu %llu %llu\n",
		 (unsigned long long)(5 * step), (unsigned long long)(1000 + every),
		 (unsigned long long)(4 * step), (unsigned long long)(1000 + every),
		 (unsigned long long)(1000 + 2 * every), (unsigned long long)step,
		 (unsigned long long)(1000 + 2 * every), (unsigned long long)(1000 + 3 * every),
		 (unsigned long long)(2 * step), (unsigned long long)(1000 + 3 * every),
		 (unsigned long long)(1000 + 4 * every), (unsigned long long)step);
	CHECK_STR(text, want);
}

TEST(steal_log_of_a_machine_that_nobody_takes_from_is_not_read_often)
{
	struct steal_log log;
	char text[200];

	set_steal(0);
	coati_steal_begin(&log, "proc", 1000);
	CHECK_U64(coati_steal_next(&log), ==, UINT64_MAX);
	coati_steal_print(&log, "proc", 5000, text, sizeof(text));
	CHECK_STR(text, "steal_told=1\nsteal_most_ns=0\n");
	coati_steal_begin(&log, "nowhere", 1000);
	CHECK_U64(coati_steal_next(&log), ==, UINT64_MAX);
	CHECK_U64(coati_steal_print(&log, "nowhere", 5000, text, sizeof(text)), ==, 0);
}

/* However long the recording: no window is lost, and their sum stays what the host took. */
TEST(steal_log_joins_windows_when_there_are_too_many)
{
	const uint64_t nr = STEAL_WINDOWS + 5;
	struct steal_log log;
	uint64_t sum = 0, at = 1;

	set_steal(1);
	coati_steal_begin(&log, "proc", 1);
	for (uint64_t i = 1; i <= nr; i++) {
		set_steal(1 + i);
		coati_steal_look(&log, "proc", 1 + i * STEAL_EVERY_NS);
	}
	CHECK_INT(log.nr, ==, STEAL_WINDOWS / 2 + 5);
	for (uint32_t i = 0; i < log.nr; i++) {
		CHECK_U64(log.v[i].begin, ==, at);
		at = log.v[i].end;
		sum += log.v[i].ns;
	}
	CHECK_U64(at, ==, 1 + nr * STEAL_EVERY_NS);
	CHECK_U64(sum, ==, nr * coati_steal_step_ns());
}
