/* SPDX-License-Identifier: MIT */
/* How much readers keep of a file: limits by its size, by the environment, and what is said at
 * each. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "process-feeder.h"
#include "process/processes.h"
#include "profile-tape.h"
#include "reading/profile.h"
#include "trace/timeline.h"

TEST(limits_grow_with_the_bytes_that_were_read)
{
	struct limits l = { 0 };

	CHECK_U64(coati_limit(&l, LIMIT_THREADS, 0), ==, 65536);
	CHECK_U64(coati_limit(&l, LIMIT_THREADS, 1600), ==, 65536 + 100);
	CHECK_U64(coati_limit(&l, LIMIT_PROCESSES, 1600), ==, 65536 + 100);
	CHECK_U64(coati_limit(&l, LIMIT_MAPPINGS, 400), ==, 262144 + 100);
	CHECK_U64(coati_limit(&l, LIMIT_IMAGES, 12800), ==, 16384 + 100);
	CHECK_U64(coati_limit(&l, LIMIT_NAMES, 100), ==, (UINT64_C(64) << 20) + 1600);
	CHECK_U64(coati_limit(&l, LIMIT_STACKS, 100), ==, (UINT64_C(256) << 20) + 3200);
	CHECK_U64(coati_limit(&l, LIMIT_NODES, 400), ==, (UINT64_C(2) << 20) + 100);
	CHECK_U64(coati_limit(&l, LIMIT_EVENTS, 100), ==, (UINT64_C(4) << 20) + 100);
	CHECK_U64(coati_limit(&l, LIMIT_UNPACK, UINT64_MAX), ==, 500);
	CHECK_U64(coati_limit(&l, LIMIT_STACKS, UINT64_MAX), ==, UINT64_MAX);
	l.set[LIMIT_THREADS] = 7;
	CHECK_U64(coati_limit(&l, LIMIT_THREADS, UINT64_MAX), ==, 7);
}

TEST(limits_come_from_the_environment_one_variable_each)
{
	struct coati_error err;
	struct limits l;

	for (int i = 0; i < LIMITS; i++) {
		CHECK_OK(setenv(coati_limit_variable((enum limit)i), "18", 1));
		CHECK_OK(coati_limits_read(&l, &err));
		for (int k = 0; k < LIMITS; k++)
			CHECK_U64(l.set[k], ==, k == i ? 18u : 0u);
		CHECK_OK(setenv(coati_limit_variable((enum limit)i), "all", 1));
		CHECK_ERR(coati_limits_read(&l, &err), -EINVAL);
		CHECK(strstr(err.text, coati_limit_variable((enum limit)i)));
		CHECK(strstr(err.text, "=all: it must be a number"));
		CHECK_OK(setenv(coati_limit_variable((enum limit)i), "", 1));
		CHECK_OK(coati_limits_read(&l, &err));
	}
}

TEST(limits_of_processes_rise_with_what_was_read_and_count_what_they_leave_out)
{
	struct limits l = {
		.set = { [LIMIT_THREADS] = 4, [LIMIT_PROCESSES] = 6, [LIMIT_MAPPINGS] = 3 }
	};
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, NULL);
	coati_processes_allow(f.ps, &l, 0);
	for (int i = 0; i < 10; i++)
		CHECK_OK(feeder_fork(&f, 100 + i, 1, 50));
	/* the parent is one, too; of ten children five are known */
	CHECK_U64(coati_processes_over(f.ps, LIMIT_PROCESSES), ==, 5);
	CHECK_U64(coati_processes_over(f.ps, LIMIT_THREADS), ==, 6);
	for (uint64_t i = 0; i < 8; i++)
		CHECK_OK(feeder_map(&f, 100, 60 + i, 0x1000 * (i + 1), "/a"));
	CHECK_U64(coati_processes_over(f.ps, LIMIT_MAPPINGS), ==, 5);
	CHECK_ERR(coati_processes_thread(f.ps, 200, 200, 60, &info), -E2BIG);
	l.set[LIMIT_THREADS] = l.set[LIMIT_PROCESSES] = 20;
	coati_processes_allow(f.ps, &l, 0);
	CHECK_OK(coati_processes_thread(f.ps, 200, 200, 60, &info));
	CHECK_INT(info.pid, ==, 200);
	feeder_close(&f);
}

TEST(limits_on_executed_programs_hold_for_one_process_too)
{
	struct limits l = { .set = { [LIMIT_PROCESSES] = 5 } };
	struct coati_processes_stats stats;
	struct feeder f;

	feeder_open(&f, NULL);
	coati_processes_allow(f.ps, &l, 0);
	for (uint64_t i = 0; i < 12; i++)
		CHECK_OK(feeder_exec(&f, 7, 100 + i, "again"));
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.execs, ==, 4);
	CHECK_U64(coati_processes_over(f.ps, LIMIT_PROCESSES), ==, 8);
	feeder_close(&f);
}

TEST(limits_on_names_leave_a_word_in_their_place)
{
	struct limits l = { .set = { [LIMIT_NAMES] = 8192 } };
	struct coati_thread_info info;
	char name[256];
	struct feeder f;

	feeder_open(&f, NULL);
	coati_processes_allow(f.ps, &l, 0);
	memset(name, 'n', sizeof(name));
	for (int i = 0; i < 40; i++) {
		snprintf(name + 200, 50, "%d", i);
		CHECK_OK(feeder_exec(&f, 10 + i, 100, name));
	}
	CHECK_OK(coati_processes_thread(f.ps, 10, 10, 200, &info));
	CHECK(strstr(info.comm, "nnn"));
	CHECK_OK(coati_processes_thread(f.ps, 49, 49, 200, &info));
	CHECK_STR(info.comm, "[over the limit]");
	CHECK_U64(coati_processes_over(f.ps, LIMIT_NAMES), >, 0);
	feeder_close(&f);
}

/* A process with ten threads besides the first, each with a stack of its own. */
static void write_threads(const char *path)
{
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	for (uint32_t i = 0; i < 10; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .tid = 11 + i,
						   TAPE_STACK(TAPE_LEAF + i, TAPE_MAIN) });
	tape_close(&t);
}

static bool has_note(const struct coati_profile *p, const char *text)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_profile_note(p, i)); i++)
		if (strstr(note, text))
			return true;
	return false;
}

TEST(profile_says_which_limit_was_reached_and_what_raises_it)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_threads("a");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 10);
	CHECK_U64(q.refused, ==, 0);
	CHECK(!has_note(p, "limit"));
	coati_profile_free(&p);

	CHECK_OK(setenv("COATI_THREADS_MOST", "5", 1));
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 4); /* the first thread has none */
	CHECK_U64(q.refused, ==, 6);
	CHECK(has_note(p, "a: more than 5 threads: others were left out 6 times; "
			  "COATI_THREADS_MOST=NUMBER in the environment raises the limit"));
	coati_profile_free(&p);
	CHECK_OK(unsetenv("COATI_THREADS_MOST"));

	CHECK_OK(setenv("COATI_STACKS_MOST", "1", 1));
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 0);
	CHECK_U64(q.refused, ==, 10);
	CHECK(has_note(p, "COATI_STACKS_MOST=NUMBER"));
	coati_profile_free(&p);
	CHECK_OK(unsetenv("COATI_STACKS_MOST"));
}

TEST(profile_with_more_images_than_the_limit_counts_their_samples_as_unknown)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_open(&t, "a");
	for (uint32_t i = 0; i < 8; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/no/file/%u", i);
		tape_map(&t, 10, TAPE_BASE + 0x100000 * i, path);
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .tid = 10,
						   TAPE_STACK(TAPE_BASE + 0x100000 * i + 0x10) });
	}
	tape_close(&t);
	CHECK_OK(setenv("COATI_IMAGES_MOST", "3", 1));
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_U64(tape_row(v, COATI_BY_IMAGE, "0").self, ==, 1000);
	CHECK_U64(tape_row(v, COATI_BY_IMAGE, "2").self, ==, 1000);
	CHECK_U64(tape_row(v, COATI_BY_IMAGE, "3").self, ==, 0);
	CHECK_U64(tape_row(v, COATI_BY_IMAGE, "[unknown]").self, ==, 5000);
	CHECK(has_note(p, "a: more than 3 mapped files: others were left out 5 times"));
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(tree_with_more_nodes_than_the_limit_is_refused_in_words)
{
	struct coati_tree_query q = { .size = sizeof(q), .by = COATI_BY_ADDRESS };
	const struct coati_tree_node *nodes;
	struct coati_error err = { 0 };
	struct coati_profile *p;
	struct coati_view *v;
	size_t nr;

	write_threads("a");
	CHECK_OK(setenv("COATI_NODES_MOST", "12", 1));
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_OK(coati_view_tree(v, &q, &nodes, &nr, &err));
	CHECK_U64(nr, ==, 12); /* the root, main and ten leaves */
	coati_view_free(&v);
	coati_profile_free(&p);

	CHECK_OK(setenv("COATI_NODES_MOST", "11", 1));
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_ERR(coati_view_tree(v, &q, &nodes, &nr, &err), -E2BIG);
	CHECK_STR(err.text, "more than 11 nodes of a tree; COATI_NODES_MOST=NUMBER in the "
			    "environment raises the limit");
	coati_view_free(&v);
	coati_profile_free(&p);
}

static bool has_timeline_note(const struct coati_timeline *t, const char *text)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_timeline_note(t, i)); i++)
		if (strstr(note, text))
			return true;
	return false;
}

TEST(timeline_says_which_limit_was_reached_and_what_raises_it)
{
	struct coati_timeline_info info;
	struct coati_timeline *t = NULL;

	write_threads("a");
	CHECK_OK(setenv("COATI_EVENTS_MOST", "4", 1));
	CHECK_OK(coati_timeline_new(NULL, &t, NULL));
	CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, NULL));
	coati_timeline_info(t, &info);
	CHECK_U64(info.refused, >, 0);
	CHECK(has_timeline_note(t, "more than 4 events of a timeline: others were left out"));
	CHECK(has_timeline_note(t, "COATI_EVENTS_MOST=NUMBER"));
	coati_timeline_free(&t);
	CHECK_OK(unsetenv("COATI_EVENTS_MOST"));

	CHECK_OK(setenv("COATI_THREADS_MOST", "3", 1));
	CHECK_OK(coati_timeline_new(NULL, &t, NULL));
	CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, NULL));
	CHECK_U64(coati_timeline_thread_count(t), ==, 3);
	CHECK(has_timeline_note(t, "more than 3 threads"));
	coati_timeline_free(&t);
}
