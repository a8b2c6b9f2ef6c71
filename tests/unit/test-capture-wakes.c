/* SPDX-License-Identifier: MIT */
/* The filter for the wake-ups of some threads, made from a /proc of plain files. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/wakes.h"
#include "lib/fake-tree.h"

static void fake_proc(const char *last, const char *most)
{
	char text[64];

	snprintf(text, sizeof(text), "0.10 0.20 0.30 2/345 %s\n", last);
	CHECK_INT(fake_file("proc", "loadavg", text), ==, 0);
	snprintf(text, sizeof(text), "%s\n", most);
	CHECK_INT(fake_file("proc", "sys/kernel/pid_max", text), ==, 0);
}

static void fake_thread(int pid, int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%d/comm", pid, tid);
	CHECK_INT(fake_file("proc", path, "x\n"), ==, 0);
}

static int filter_of(const int32_t *pids, uint64_t nr, uint64_t flags, char *text)
{
	struct coati_capture_opts o = {
		.size = sizeof(o), .flags = flags, .procfs = "proc", .pids = pids, .nr_pids = nr
	};

	return coati_wakes_filter(&o, text);
}

TEST(wakes_filter_has_the_threads_that_live_and_those_to_come)
{
	static const int32_t pids[] = { 100, 300 };
	char text[WAKES_FILTER_BYTES];

	fake_proc("5000", "4194304");
	fake_thread(100, 100);
	fake_thread(100, 101);
	fake_thread(100, 102);
	fake_thread(300, 300);
	CHECK_ERR(filter_of(pids, 2, 0, text), 0);
	CHECK_STR(text, "(pid>=100&&pid<=102)||pid==300||pid>5000");
	CHECK_ERR(filter_of(pids, 2, COATI_CAPTURE_NO_INHERIT, text), 0);
	CHECK_STR(text, "(pid>=100&&pid<=102)||pid==300");
}

TEST(wakes_filter_takes_all_where_numbers_start_again_soon)
{
	static const int32_t pids[] = { 100 };
	static const char *const last[] = { "28672", "32767", "x", "", "0", "99999999999" };
	char text[WAKES_FILTER_BYTES];

	fake_thread(100, 100);
	fake_proc("28671", "32768");
	CHECK_ERR(filter_of(pids, 1, 0, text), 0);
	CHECK_STR(text, "pid==100||pid>28671");
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		fake_proc(last[i], "32768");
		CHECK_ERR(filter_of(pids, 1, 0, text), 0);
		CHECK_STR(text, "");
	}
}

TEST(wakes_filter_of_many_threads_closes_the_smallest_gaps)
{
	static const int32_t pids[] = { 1000 };
	char text[WAKES_FILTER_BYTES];
	unsigned int ranges = 1;

	fake_proc("2000000", "4194304");
	/* 300 pairs, whose two are 3 apart; each pair is further away from the next than the one
	 * before */
	for (int i = 0, tid = 1000; i < 300; i++, tid += 103 + i) {
		fake_thread(1000, tid);
		fake_thread(1000, tid + 3);
	}
	CHECK_ERR(filter_of(pids, 1, 0, text), 0);
	for (const char *p = text; (p = strstr(p, "||")); p += 2)
		ranges++;
	/* one is that of threads to come; the widest 63 gaps stay, which lie behind pair 236 on */
	CHECK_INT(ranges, ==, WAKES_RANGES_MAX + 1);
	CHECK(strstr(text, "(pid>=1000&&pid<=53277)||(pid>=53614&&"));
	CHECK(strstr(text, "||pid>2000000"));
}

TEST(wakes_filter_of_nobody_is_an_error)
{
	static const int32_t pids[] = { 100 };
	char text[WAKES_FILTER_BYTES];

	fake_proc("5000", "32768");
	CHECK_ERR(filter_of(pids, 1, 0, text), -ESRCH);
}
