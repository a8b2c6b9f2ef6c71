/* SPDX-License-Identifier: MIT */
/* The filter for the wake-ups of some threads, made from a /proc of plain files. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/switching.h"
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

	return coati_wakes_filter(&o, "pid", text);
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

/* ---- whether targets switch often ---- */

TEST(switching_knows_how_often_the_threads_of_targets_left_a_cpu)
{
	static const int32_t pids[] = { 100 }, tids[] = { 300 };
	static struct coati_capture cap = {
		.opts = { .procfs = "proc", .pids = pids, .nr_pids = 1, .tids = tids, .nr_tids = 1 }
	};
	uint64_t own = 0, all = 0;

	fake_thread(100, 100);
	fake_thread(100, 101);
	fake_thread(300, 300);
	CHECK_INT(fake_file("proc", "100/schedstat", "5000 40 3\n"), ==, 0);
	CHECK_INT(fake_file("proc", "101/schedstat", "700 0 20\n"), ==, 0);
	CHECK_INT(fake_file("proc", "300/schedstat", "1 2 100\n"), ==, 0);
	CHECK(!coati_switching_count(&cap, &own, &all));
	CHECK_INT(fake_file("proc", "stat", "cpu 1 2\nintr 7 7\nctxt 54321\nbtime 1\n"), ==, 0);
	CHECK(coati_switching_count(&cap, &own, &all));
	CHECK_U64(own, ==, 123);
	CHECK_U64(all, ==, 54321);
	/* one that is gone was counted; of one that lives it must be known */
	CHECK_INT(fake_file("proc", "300/schedstat", "none\n"), ==, 0);
	CHECK(coati_switching_count(&cap, &own, &all));
	CHECK_U64(own, ==, 23);
	CHECK_INT(fake_file("proc", "300/stat",
			    "300 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1\n"),
		  ==, 0);
	CHECK(!coati_switching_count(&cap, &own, &all));
}
