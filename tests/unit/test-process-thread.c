/* SPDX-License-Identifier: MIT */
/* Threads: their names over time, namespaces, cgroups; what is forgotten. */
#include <errno.h>
#include <string.h>

#include "lib/test.h"
#include "process/processes.h"
#include "unit/process-feeder.h"

#define A UINT64_C(0x400000)

TEST(thread_name_is_that_of_its_time)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_comm(&f, 1, 1, 10, "one"));
	CHECK_OK(feeder_comm(&f, 1, 1, 30, "three"));
	CHECK_OK(feeder_comm(&f, 1, 1, 20, "two"));
	CHECK_STR(feeder_name(&f, 1, 1, 9), ":1");
	CHECK_STR(feeder_name(&f, 1, 1, 10), "one");
	CHECK_STR(feeder_name(&f, 1, 1, 20), "two");
	CHECK_STR(feeder_name(&f, 1, 1, 29), "two");
	CHECK_STR(feeder_name(&f, 1, 1, 1000), "three");
	CHECK_STR(feeder_name(&f, 1, 1, 15), "one");
	feeder_close(&f);
}

TEST(thread_begins_with_the_name_of_the_one_that_made_it)
{
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_comm(&f, 1, 1, 10, "main"));
	CHECK_OK(feeder_thread(&f, 1, 5, 1, 20));
	CHECK_OK(feeder_thread(&f, 1, 6, 5, 21));
	CHECK_OK(feeder_comm(&f, 1, 1, 30, "renamed"));
	CHECK_OK(feeder_comm(&f, 1, 6, 40, "worker"));
	CHECK_STR(feeder_name(&f, 1, 5, 50), "main");
	CHECK_STR(feeder_name(&f, 1, 6, 39), "main");
	CHECK_STR(feeder_name(&f, 1, 6, 40), "worker");
	CHECK_OK(coati_processes_thread(f.ps, 1, 6, 50, &info));
	CHECK_STR(info.process_comm, "renamed");
	CHECK_OK(coati_processes_thread(f.ps, 1, 6, 25, &info));
	CHECK_STR(info.process_comm, "main");
	feeder_close(&f);
}

TEST(thread_that_nobody_told_of_is_added)
{
	struct coati_thread_info first, again;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 100, &first));
	CHECK_STR(first.comm, ":6");
	CHECK_STR(first.process_comm, ":5");
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 50, &again));
	CHECK_U64(first.thread, ==, again.thread);
	CHECK_U64(first.process, ==, again.process);
	CHECK_STR(feeder_name(&f, 0, 0, 100), "swapper");
	CHECK_STR(feeder_name(&f, -1, -1, 100), ":-1");
	feeder_close(&f);
}

TEST(thread_number_that_went_to_another_process_is_another_thread)
{
	struct coati_thread_info first, second, again;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 100, &first));
	CHECK_OK(coati_processes_thread(f.ps, 7, 6, 200, &second));
	CHECK_U64(first.thread, !=, second.thread);
	CHECK_INT(second.pid, ==, 7);
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 150, &again));
	CHECK_U64(again.thread, ==, first.thread);
	/* process 0 is one like the others, -1 is any */
	CHECK_OK(coati_processes_thread(f.ps, 0, 6, 300, &second));
	CHECK_U64(second.thread, !=, first.thread);
	CHECK_INT(second.pid, ==, 0);
	CHECK_OK(coati_processes_thread(f.ps, -1, 6, 300, &again));
	CHECK_U64(again.thread, ==, second.thread);
	feeder_close(&f);
}

/* A jitdump is mapped to tell where it is: code that has a name like it is code. */
TEST(thread_runs_no_code_of_a_jitdump_and_that_of_all_other_files)
{
	static const char *const paths[] = { "/tmp/jit-9.dump", "/tmp/jit_9.dump",
					     "/tmp/jit-9.dumb", "/tmp/jit-.dump" };
	struct feeder f;

	feeder_open(&f, NULL);
	for (int32_t i = 0; i < 4; i++) {
		CHECK_OK(feeder_map(&f, 5 + i, 10, A, paths[i]));
		CHECK_STR(feeder_path(&f, 5 + i, A, 20), i ? paths[i] : "-");
	}
	feeder_close(&f);
}

/* What lies where the time would be, is none. */
TEST(thread_name_without_a_time_holds_from_the_beginning)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .id = { .time = 500 },
				    .u.comm = { .pid = 1, .tid = 1, .name = "timeless" } };
	struct coati_raw raw = { .type = rec.type };
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(coati_processes_feed(f.ps, &raw, &rec));
	CHECK_STR(feeder_name(&f, 1, 1, 1), "timeless");
	rec.id.present = COATI_SAMPLE_TIME;
	rec.u.comm.name = "timed";
	CHECK_OK(coati_processes_feed(f.ps, &raw, &rec));
	CHECK_STR(feeder_name(&f, 1, 1, 499), "timeless");
	CHECK_STR(feeder_name(&f, 1, 1, 500), "timed");
	feeder_close(&f);
}

TEST(thread_exit_of_the_first_leaves_the_process)
{
	struct coati_thread_info before, after;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 5, 1, 10));
	CHECK_OK(feeder_map(&f, 5, 11, A, "/a"));
	CHECK_OK(feeder_thread(&f, 5, 6, 5, 12));
	CHECK_OK(feeder_exit(&f, 5, 5, 20));
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 15, &before));
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 25, &after));
	CHECK_U64(before.process, ==, after.process);
	CHECK_STR(feeder_path(&f, 5, A, 25), "/a");
	feeder_close(&f);
}

static int feed_namespaces(struct feeder *f, uint32_t pid, uint64_t time, uint64_t base)
{
	uint64_t links[14];
	struct coati_record rec = { .type = COATI_RECORD_NAMESPACES,
				    .id = { .present = COATI_SAMPLE_TIME, .time = time } };
	struct coati_raw raw = { .type = rec.type };

	for (uint64_t i = 0; i < 7; i++) {
		links[2 * i] = 4;
		links[2 * i + 1] = base + i;
	}
	rec.u.namespaces = (struct coati_namespaces){
		.pid = pid, .tid = pid, .nr = 7, .links = { (const uint8_t *)links, 14, 0 }
	};
	return coati_processes_feed(f->ps, &raw, &rec);
}

TEST(thread_has_the_namespaces_of_its_process)
{
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feed_namespaces(&f, 5, 10, 100));
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 20, &info));
	CHECK_U64(info.pid_ns, ==, 103);
	CHECK_U64(info.mnt_ns, ==, 105);
	CHECK_OK(feed_namespaces(&f, 5, 30, 200));
	CHECK_OK(feed_namespaces(&f, 5, 25, 300));
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 40, &info));
	CHECK_U64(info.mnt_ns, ==, 205);
	feeder_close(&f);
}

TEST(thread_cgroup_comes_with_samples_and_its_path_with_a_record)
{
	struct coati_record rec = { .type = COATI_RECORD_CGROUP,
				    .u.cgroup = { .id = 77, .path = "/system.slice" } };
	struct coati_raw raw = { .type = rec.type };
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(coati_processes_feed(f.ps, &raw, &rec));
	CHECK_STR(coati_processes_cgroup(f.ps, 77), "/system.slice");
	CHECK(!coati_processes_cgroup(f.ps, 78));
	rec = (struct coati_record){ .type = COATI_RECORD_SAMPLE,
				     .id = { .present = COATI_SAMPLE_TID, .pid = 5, .tid = 6 },
				     .u.sample = { .present = COATI_SAMPLE_CGROUP, .cgroup = 77 } };
	CHECK_OK(coati_processes_feed(f.ps, &raw, &rec));
	CHECK_OK(coati_processes_thread(f.ps, 5, 6, 20, &info));
	CHECK_U64(info.cgroup, ==, 77);
	feeder_close(&f);
}

/* ---- forgetting ---- */

TEST(process_forget_keeps_what_lives_and_what_it_took_over)
{
	struct coati_processes_stats stats;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 10, 1, 10));
	CHECK_OK(feeder_map(&f, 10, 11, A, "/inherited"));
	CHECK_OK(feeder_fork(&f, 20, 10, 20));
	CHECK_OK(feeder_comm(&f, 20, 20, 21, "child"));
	CHECK_OK(feeder_exit(&f, 10, 10, 30));
	for (uint64_t i = 0; i < 1000; i++)
		CHECK_OK(feeder_map(&f, 20, 40 + i, A + 0x10000, i % 2 ? "/odd" : "/even"));
	coati_processes_forget(f.ps, 900);
	CHECK_STR(feeder_path(&f, 20, A, 900), "/inherited");
	CHECK_STR(feeder_path(&f, 20, A + 0x10000, 901), "/odd");
	CHECK_STR(feeder_path(&f, 20, A + 0x10000, 902), "/even");
	CHECK_STR(feeder_path(&f, 10, A, 25), "-");
	CHECK_STR(feeder_name(&f, 20, 20, 950), "child");
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.threads, ==, 1);
	feeder_close(&f);
}

TEST(process_forget_over_and_over_holds_the_memory)
{
	struct coati_processes_opts o = { .size = sizeof(o),
					  .max_threads = 64,
					  .max_mappings = 1024 };
	struct coati_processes_stats stats;
	struct feeder f;

	feeder_open(&f, &o);
	CHECK_OK(feeder_map(&f, 1, 1, A, "/init"));
	for (uint64_t t = 10; t < 100000; t += 10) {
		int32_t pid = (int32_t)(100 + t / 10 % 5000);

		CHECK_OK(feeder_fork(&f, pid, 1, t));
		CHECK_OK(feeder_map(&f, pid, t + 1, A + 0x1000, "/x"));
		CHECK_STR(feeder_path(&f, pid, A, t + 2), "/init");
		CHECK_STR(feeder_path(&f, pid, A + 0x1000, t + 2), "/x");
		CHECK_OK(feeder_exit(&f, pid, pid, t + 5));
		if (t % 100 == 0)
			coati_processes_forget(f.ps, t);
	}
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.refused, ==, 0);
	feeder_close(&f);
}
