/* SPDX-License-Identifier: MIT */
/* Profiles of recordings whose answers are known exactly: who is counted, with how much, once or
 * twice. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "unit/profile-tape.h"

/* main calls work calls leaf, three times; main calls work, once. */
static void write_simple(const char *path)
{
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	for (int i = 0; i < 3; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_close(&t);
}

static void check_row(struct coati_view *v, enum coati_by by, const char *name, uint64_t self,
		      uint64_t total)
{
	struct coati_row row = tape_row(v, by, name);

	if (row.self != self || row.total != total)
		test_fail_at(__FILE__, __LINE__, "%s: self %llu, total %llu; not %llu, %llu", name,
			     (unsigned long long)row.self, (unsigned long long)row.total,
			     (unsigned long long)self, (unsigned long long)total);
}

TEST(profile_gives_self_to_the_leaf_and_total_to_all_callers)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct coati_view_info info = { .size = sizeof(info) };

	write_simple("a");
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 4000);
	CHECK_U64(info.samples, ==, 4);
	CHECK_STR(info.unit, "ns");
	check_row(v, COATI_BY_FUNCTION, "leaf", 3000, 3000);
	check_row(v, COATI_BY_FUNCTION, "work", 1000, 4000);
	check_row(v, COATI_BY_FUNCTION, "main", 0, 4000);
	check_row(v, COATI_BY_FUNCTION, "other", 0, 0);
	check_row(v, COATI_BY_IMAGE, "program", 4000, 4000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_keeps_each_distinct_stack_once)
{
	struct coati_profile_stack s;
	struct coati_profile *p;

	write_simple("a");
	p = tape_profile("a");
	CHECK_U64(coati_profile_stack_count(p), ==, 2);
	CHECK_U64(coati_profile_entry_count(p), ==, 2);
	/* leaf exact, callers inside the call, work as leaf exact */
	CHECK_U64(coati_profile_location_count(p), ==, 4);
	CHECK_OK(coati_profile_stack(p, 0, &s));
	CHECK_U64(s.nr, ==, 3);
	CHECK_U64(coati_profile_location(p, s.locations[0])->address, ==, TAPE_LEAF);
	CHECK_U64(coati_profile_location(p, s.locations[1])->address, ==, TAPE_WORK - 1);
	CHECK_U64(coati_profile_entry(p, 0)->count, ==, 3);
	CHECK_ERR(coati_profile_stack(p, 2, &s), -EINVAL);
	coati_profile_free(&p);
}

#define MANY_PLACES 264 /* squared: more stacks than the reader remembers as chains */

/* Each pair of places is one stack; every stack comes twice, the second time long after the
 * first. */
TEST(profile_adds_up_more_different_stacks_than_are_remembered)
{
	uint64_t sum = 0, places = MANY_PLACES;
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t i = 0; i < 2 * places * places; i++) {
		uint64_t number = i % (places * places);

		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(0x10000 + 16 * (number % places),
							      0x20000 + 16 * (number / places)) });
	}
	tape_close(&t);
	p = tape_profile("a");
	CHECK_U64(coati_profile_stack_count(p), ==, places * places);
	CHECK_U64(coati_profile_location_count(p), ==, 2 * places);
	CHECK_U64(coati_profile_entry_count(p), ==, places * places);
	for (uint32_t i = 0; i < coati_profile_entry_count(p); i++) {
		CHECK_U64(coati_profile_entry(p, i)->count, ==, 2);
		sum += coati_profile_entry(p, i)->weight;
	}
	CHECK_U64(sum, ==, 2 * places * places * 1000);
	coati_profile_free(&p);
}

TEST(profile_counts_recursion_once)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){
			     .pid = 10, TAPE_STACK(TAPE_WORK, TAPE_WORK, TAPE_WORK, TAPE_MAIN) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "work", 1000, 1000);
	check_row(v, COATI_BY_FUNCTION, "main", 0, 1000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* A return address at the very end of a function (a call that does not return) belongs to the
 * caller. */
TEST(profile_looks_up_callers_inside_the_call)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_OTHER, TAPE_TEXT + 0x20) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "work", 0, 1000);
	check_row(v, COATI_BY_FUNCTION, "leaf", 0, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_joins_kernel_and_user_part)
{
	static const uint64_t chain[] = {
		COATI_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
		COATI_CONTEXT_USER,   TAPE_LEAF,	  TAPE_MAIN
	};
	const struct coati_profile_location *l;
	struct coati_profile_stack s;
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .misc = COATI_MISC_KERNEL, .chain = chain, .nr = 6 });
	tape_close(&t);
	p = tape_profile("a");
	CHECK_OK(coati_profile_stack(p, 0, &s));
	CHECK_U64(s.nr, ==, 4);
	l = coati_profile_location(p, s.locations[0]);
	CHECK_U64(l->flags, ==, COATI_LOCATION_KERNEL);
	CHECK_U64(l->address, ==, 0xffffffff81000010);
	CHECK_U64(coati_profile_location(p, s.locations[1])->address, ==, 0xffffffff8100001f);
	CHECK_U64(coati_profile_location(p, s.locations[2])->address, ==, TAPE_LEAF);
	CHECK_U64(coati_profile_location(p, s.locations[2])->flags, ==, 0);
	CHECK_U64(coati_profile_location(p, s.locations[3])->address, ==, TAPE_MAIN - 1);
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "leaf", 0, 1000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* Code made at run time, with frame pointers: the kernel's part comes from the chain, the rest from
 * registers and stack. */
TEST(profile_walks_a_copied_stack)
{
	static const uint64_t chain[] = { COATI_CONTEXT_KERNEL, 0xffffffff81000010 };
	static const uint64_t stack[TAPE_STACK_BYTES / 8] = { 0, 0, 0, 0x500020 };
	static const uint64_t regs[3] = { 0x7000010, 0x7000000, 0x500100 };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile_stack s;
	struct coati_profile *p;
	struct tape t;

	tape_begin(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_REGS_USER | COATI_SAMPLE_STACK_USER);
	tape_start(&t);
	tape_comm(&t, 10, 10, "app", COATI_MISC_COMM_EXEC);
	tape_map(&t, 10, 0x500000, "//anon");
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .misc = COATI_MISC_KERNEL,
					   .chain = chain,
					   .nr = 2,
					   .regs = regs,
					   .stack = stack });
	tape_close(&t);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.by_unwinder, ==, 1);
	CHECK_OK(coati_profile_stack(p, 0, &s));
	CHECK(s.flags & COATI_STACK_UNWOUND);
	CHECK_U64(s.nr, ==, 3);
	CHECK_U64(coati_profile_location(p, s.locations[0])->address, ==, 0xffffffff81000010);
	CHECK_U64(coati_profile_location(p, s.locations[1])->address, ==, 0x500100);
	CHECK_U64(coati_profile_location(p, s.locations[2])->address, ==, 0x50001f);
	coati_profile_free(&p);
}

TEST(profile_takes_the_ip_where_it_differs_from_the_chain)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .ip = TAPE_OTHER, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "other", 1000, 1000);
	check_row(v, COATI_BY_FUNCTION, "leaf", 1000, 1000);
	check_row(v, COATI_BY_FUNCTION, "main", 0, 2000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_of_samples_without_stacks_says_so)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", 0);
	tape_start(&t);
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, .ip = TAPE_LEAF });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "leaf", 1000, 1000);
	coati_profile_quality(p, &q);
	CHECK_U64(q.single, ==, 1);
	CHECK_U64(q.complete, ==, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_says_which_stacks_are_as_long_as_the_recorder_allowed)
{
	uint64_t chain[1 + 127];
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	chain[0] = COATI_CONTEXT_USER;
	for (uint32_t i = 1; i < 128; i++)
		chain[i] = TAPE_WORK;
	tape_put(&t, (struct tape_sample){ .pid = 10, .chain = chain, .nr = 128 });
	tape_put(&t, (struct tape_sample){ .pid = 10, .chain = chain, .nr = 127 });
	tape_close(&t);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.truncated, ==, 1);
	CHECK_U64(q.unrooted, ==, 1);
	CHECK_U64(q.by_kernel, ==, 2);
	coati_profile_free(&p);
}

/* By frame pointers: what calls main() is a root, main() itself is none, the kernel's own stack has
 * one. */
TEST(profile_calls_a_stack_complete_when_its_root_is_known)
{
	static const uint64_t kernel[] = { COATI_CONTEXT_KERNEL, 0xffffffff81000010 };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (int i = 0; i < 3; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN, TAPE_OTHER) });
	for (int i = 0; i < 2; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .misc = COATI_MISC_KERNEL, .chain = kernel, .nr = 2 });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_profile_quality(p, &q);
	CHECK_U64(q.complete, ==, 4);
	CHECK_U64(q.unrooted, ==, 2);
	CHECK_U64(q.by_kernel, ==, 6);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_cuts_stacks_at_its_own_ceiling)
{
	struct coati_profile_opts o = { .size = sizeof(o), .max_frames = 2 };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile_stack s;
	struct coati_profile *p;

	write_simple("a");
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	CHECK_OK(coati_profile_stack(p, 0, &s));
	CHECK_U64(s.nr, ==, 2);
	coati_profile_quality(p, &q);
	CHECK_U64(q.truncated, ==, 3);
	CHECK_U64(q.unrooted, ==, 1);
	coati_profile_free(&p);
}

/* Three threads: two of one process, one of another; one of them changes its name. */
static void write_threads(const char *path)
{
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	tape_fork(&t, 10, 11, 10, 10);
	tape_comm(&t, 10, 11, "worker", 0);
	tape_process(&t, 20, "tool");
	tape_put(&t, (struct tape_sample){ .pid = 10, .cpu = 0, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .tid = 11, .cpu = 1, TAPE_STACK(TAPE_LEAF, TAPE_WORK) });
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .tid = 11, .cpu = 1, TAPE_STACK(TAPE_LEAF, TAPE_WORK) });
	tape_put(&t, (struct tape_sample){ .pid = 20, .cpu = 1, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_comm(&t, 10, 11, "closer", 0);
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .tid = 11, .cpu = 0, TAPE_STACK(TAPE_OTHER, TAPE_WORK) });
	tape_close(&t);
}

TEST(profile_tells_threads_processes_and_names_apart)
{
	struct coati_profile *p;
	struct coati_view *v;

	write_threads("a");
	p = tape_profile("a");
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_THREAD, "worker", 2000, 2000);
	check_row(v, COATI_BY_THREAD, "closer", 1000, 1000);
	CHECK_INT(tape_row(v, COATI_BY_THREAD, "worker").tid, ==, 11);
	check_row(v, COATI_BY_PROCESS, "app", 4000, 4000);
	CHECK_INT(tape_row(v, COATI_BY_PROCESS, "app").pid, ==, 10);
	check_row(v, COATI_BY_PROCESS, "tool", 1000, 1000);
	check_row(v, COATI_BY_COMM, "app", 1000, 1000);
	check_row(v, COATI_BY_CPU, "unknown", 5000, 5000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_is_kept_apart_by_cpu_and_by_time_when_asked)
{
	struct coati_profile_opts o = { .size = sizeof(o),
					.flags = COATI_PROFILE_PER_CPU,
					.bin_ns = 2000 };
	struct coati_profile *p;
	struct coati_view *v;

	write_threads("a");
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_CPU, "0", 2000, 2000);
	check_row(v, COATI_BY_CPU, "1", 3000, 3000);
	/* the samples come 1000 ns after each other; a COMM stands before the last */
	check_row(v, COATI_BY_TIME, "0.000000", 2000, 2000);
	check_row(v, COATI_BY_TIME, "0.000002", 2000, 2000);
	check_row(v, COATI_BY_TIME, "0.000004", 1000, 1000);
	CHECK_U64(coati_profile_entry(p, coati_profile_entry_count(p) - 1)->bin, ==, 2);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_makes_bins_longer_when_there_are_too_many)
{
	struct coati_profile_opts o = { .size = sizeof(o), .bin_ns = 1000, .max_bins = 8 };
	struct coati_profile *p;
	struct coati_view *v;
	uint64_t sum = 0;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t i = 0; i < 50; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .time = 2000000000 + 1000 * i,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_close(&t);
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	/* 50 us in at most 8 bins: they became 8 us long */
	CHECK_INT(coati_profile_entry_count(p), ==, 7);
	for (uint32_t i = 0; i < 7; i++) {
		CHECK_INT(coati_profile_entry(p, i)->bin, ==, i);
		CHECK_U64(coati_profile_entry(p, i)->count, ==, i < 6 ? 8 : 2);
		sum += coati_profile_entry(p, i)->weight;
	}
	CHECK_U64(sum, ==, 50000);
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_TIME, "0.000048", 2000, 2000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_begins_anew_at_an_exec)
{
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "first");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_comm(&t, 10, 10, "second", COATI_MISC_COMM_EXEC);
	tape_map(&t, 10, TAPE_BASE, "/nowhere/second");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	p = tape_profile("a");
	CHECK_U64(coati_profile_stack_count(p), ==, 2);
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "leaf", 1000, 1000);
	check_row(v, COATI_BY_IMAGE, "second", 1000, 1000);
	check_row(v, COATI_BY_COMM, "first", 1000, 1000);
	check_row(v, COATI_BY_COMM, "second", 1000, 1000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

static void write_events(const char *path, uint64_t attr_flags, const char *faults)
{
	struct tape t;

	tape_program();
	tape_begin(&t, path);
	t.attr_flags = attr_flags;
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_PAGE_FAULTS, faults, COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, .period = 500, TAPE_STACK(TAPE_LEAF) });
	tape_put(&t,
		 (struct tape_sample){ .event = 1, .pid = 10, .period = 3, TAPE_STACK(TAPE_LEAF) });
	tape_put(&t,
		 (struct tape_sample){ .event = 1, .pid = 10, .period = 4, TAPE_STACK(TAPE_WORK) });
	tape_close(&t);
}

static void write_two_events(const char *path)
{
	write_events(path, 0, "page-faults:u");
}

/* A selection without one interval off CPUs, of a recording that could have them. */
TEST(profile_leaves_page_faults_out_of_time_whatever_was_selected)
{
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p;
	struct coati_view *v;

	write_events("a", COATI_ATTR_CONTEXT_SWITCH, "page-faults");
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	CHECK_STR(info.unit, "ns");
	CHECK_U64(info.total, ==, 500);
	CHECK_U64(info.samples, ==, 1);
	CHECK_U64(info.nr_events, ==, 1);
	CHECK_U64(info.nr_stacks, ==, 1);
	CHECK(coati_profile_note(p, 0));
	CHECK(!strncmp(coati_profile_note(p, 0), "2 page faults are omitted", 25));
	CHECK(!coati_profile_note(p, 1));
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_does_not_add_up_weights_of_different_things)
{
	struct coati_filter faults = { .size = sizeof(faults), .event = "page-faults" };
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p;
	struct coati_view *v;

	write_two_events("a");
	p = tape_profile("a");
	CHECK_U64(coati_profile_event_count(p), ==, 2);
	CHECK_U64(coati_profile_event(p, 1)->weight, ==, 7);
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	CHECK_STR(info.unit, "samples");
	CHECK_U64(info.total, ==, 3);
	CHECK_U64(info.nr_events, ==, 2);
	check_row(v, COATI_BY_EVENT, "page-faults:u", 2, 2);
	coati_view_free(&v);
	v = tape_view(p, &faults);
	coati_view_info(v, &info);
	CHECK_STR(info.unit, "page-faults:u");
	CHECK_U64(info.total, ==, 7);
	check_row(v, COATI_BY_FUNCTION, "leaf", 3, 3);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_merges_files_and_keeps_their_processes_apart)
{
	struct coati_profile *p;
	struct coati_view *v;

	write_simple("a");
	write_threads("b");
	p = tape_read(NULL, (const char *const[]){ "a", "b", NULL });
	v = tape_view(p, NULL);
	check_row(v, COATI_BY_FUNCTION, "leaf", 7000, 7000);
	check_row(v, COATI_BY_EVENT, "cpu-clock", 9000, 9000);
	CHECK_U64(coati_profile_event_count(p), ==, 1);
	CHECK_U64(coati_profile_thread(p, 0)->file, ==, 0);
	CHECK_U64(coati_profile_thread(p, 1)->file, ==, 1);
	CHECK(coati_profile_processes(p, 1) && !coati_profile_processes(p, 2));
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_of_a_file_that_was_cut_has_what_it_holds_and_a_note)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_simple("a");
	/* in the middle of the last sample: what lies behind are sections */
	CHECK_OK(truncate("a", 104 + 700));
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.is_truncated, ==, 1);
	CHECK(coati_profile_note(p, 0) != NULL);
	CHECK(q.samples < 4);
	coati_profile_free(&p);
}

TEST(profile_of_nothing_is_empty_but_answers)
{
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_open(&t, "a");
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 0);
	for (int by = 0; by < COATI_BY_COUNT; by++)
		check_row(v, (enum coati_by)by, "x", 0, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_says_that_a_file_is_missing)
{
	struct coati_profile *p = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(coati_profile_new(NULL, &p, NULL));
	CHECK_ERR(coati_profile_read(p, "not/there", NULL, NULL, &err), -ENOENT);
	CHECK_HAS(err.text, "not/there");
	coati_profile_free(&p);
}

TEST(profile_refuses_what_is_over_its_ceiling_and_counts_it)
{
	struct coati_profile_opts o = { .size = sizeof(o), .max_bytes = 16384 };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t i = 0; i < 4000; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(0x1000 + i, TAPE_MAIN) });
	tape_close(&t);
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	coati_profile_quality(p, &q);
	CHECK_U64(q.refused, >, 0);
	CHECK_U64(q.refused + q.samples, ==, 4000);
	coati_profile_free(&p);
}

static int stop_at_once(void *ctx, const struct coati_profile_progress *progress)
{
	*(uint64_t *)ctx = progress->total_bytes;
	return 1;
}

TEST(profile_reading_is_stopped_by_who_watches_it)
{
	struct coati_profile *p = NULL;
	uint64_t total = 0;

	write_simple("a");
	CHECK_OK(coati_profile_new(NULL, &p, NULL));
	CHECK_ERR(coati_profile_read(p, "a", stop_at_once, &total, NULL), -EINTR);
	CHECK_U64(total, >, 1000);
	coati_profile_free(&p);
}

static void count_sample(void *ctx, const struct coati_profile_sample *s)
{
	uint64_t *sum = ctx;

	sum[0]++;
	sum[1] += s->weight;
	CHECK(s->time > sum[2]);
	sum[2] = s->time;
}

TEST(profile_hands_on_every_sample_in_order)
{
	uint64_t sum[3] = { 0 };
	struct coati_profile_hooks hooks = { .on_sample = count_sample, .ctx = sum };
	struct coati_profile *p;

	write_simple("a");
	p = tape_read_hooked(NULL, &hooks, (const char *const[]){ "a", NULL });
	CHECK_U64(sum[0], ==, 4);
	CHECK_U64(sum[1], ==, 4000);
	coati_profile_free(&p);
}

static void keep_loss(void *ctx, const struct coati_profile_loss *l)
{
	struct coati_profile_loss **at = ctx;

	*(*at)++ = *l;
}

TEST(profile_hands_on_what_the_recording_lacks)
{
	struct coati_record lost = { .type = COATI_RECORD_LOST,
				     .id = { .time = 500, .cpu = 3 },
				     .u.lost = { .id = 1, .lost = 7 } };
	struct coati_record throttle = { .type = COATI_RECORD_THROTTLE, .id.time = 600 };
	struct coati_record samples = { .type = COATI_RECORD_LOST_SAMPLES,
					.id.time = 700,
					.u.lost_samples = 5 };
	struct coati_profile_loss losses[4], *end = losses;
	struct coati_profile_hooks hooks = { .on_loss = keep_loss, .ctx = &end };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_record(&t, &lost);
	tape_record(&t, &throttle);
	tape_record(&t, &samples);
	tape_close(&t);
	p = tape_read_hooked(NULL, &hooks, (const char *const[]){ "a", NULL });
	CHECK_U64(end - losses, ==, 3);
	CHECK_INT(losses[0].kind, ==, COATI_LOSS_RECORDS);
	CHECK_U64(losses[0].count, ==, 7);
	CHECK_U64(losses[0].time, ==, 500);
	CHECK_INT(losses[0].cpu, ==, 3);
	CHECK_INT(losses[1].kind, ==, COATI_LOSS_THROTTLE);
	CHECK_U64(losses[1].count, ==, 1);
	CHECK_INT(losses[2].kind, ==, COATI_LOSS_SAMPLES);
	CHECK_U64(losses[2].count, ==, 5);
	coati_profile_quality(p, &q);
	CHECK_U64(q.lost, ==, 7);
	CHECK_U64(q.throttled, ==, 1);
	CHECK_U64(q.damaged, ==, 0);
	coati_profile_free(&p);
}

/* Reads, makes a view, a table and a tree; all of it or -ENOMEM. */
static int try_all(void)
{
	struct coati_images_opts images = { .size = sizeof(images),
					    .flags = COATI_IMAGES_NO_CACHE };
	struct coati_profile_opts o = { .size = sizeof(o), .images = &images };
	struct coati_rows_query rows_query = { .size = sizeof(rows_query) };
	struct coati_tree_query tree_query = { .size = sizeof(tree_query) };
	const struct coati_tree_node *nodes;
	const struct coati_row *rows;
	struct coati_profile *p = NULL;
	struct coati_view *v = NULL;
	size_t nr;
	int r = coati_profile_new(&o, &p, NULL);

	if (r == 0)
		r = coati_profile_read(p, "a", NULL, NULL, NULL);
	if (r == 0)
		r = coati_view_new(p, NULL, &v, NULL);
	if (r == 0)
		r = coati_view_rows(v, &rows_query, &rows, &nr, NULL);
	if (r == 0)
		r = coati_view_tree(v, &tree_query, &nodes, &nr, NULL);
	coati_view_free(&v);
	coati_profile_free(&p);
	return r;
}

TEST(profile_survives_every_failing_allocation)
{
	int r = -ENOMEM;

	write_threads("a");
	/* names may be missing: then all is well but them, so one success is not the end */
	for (uint64_t n = 0, good = 0; good < 500 && n < 100000; n++) {
		coati_alloc_fail_after(n);
		r = try_all();
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		good = r == 0 ? good + 1 : 0;
	}
	CHECK_OK(r);
}

/* Every count in every sample lies, byte by byte: nothing crashes, and no more samples come out
 * than went in. */
TEST(profile_survives_recordings_that_lie)
{
	uint8_t bytes[8192];
	size_t size;
	FILE *f;

	write_threads("a");
	f = fopen("a", "r");
	CHECK(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t i = 104; i < size; i += 3) {
		struct coati_profile *p = NULL;
		uint8_t old = bytes[i];
		struct coati_view *v = NULL;

		bytes[i] = (uint8_t)(i % 2 ? 0xff : old ^ 0x41);
		f = fopen("b", "w");
		CHECK(f && fwrite(bytes, 1, size, f) == size);
		fclose(f);
		bytes[i] = old;
		CHECK_OK(coati_profile_new(NULL, &p, NULL));
		if (coati_profile_read(p, "b", NULL, NULL, NULL) == 0)
			CHECK_OK(coati_view_new(p, NULL, &v, NULL));
		coati_view_free(&v);
		coati_profile_free(&p);
	}
}
