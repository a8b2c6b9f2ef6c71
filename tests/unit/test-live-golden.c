/* SPDX-License-Identifier: MIT */
/*
 * Traces as text in tests/data/live, each with what reader and validator must say about it in the
 * lines behind `#`. A file is one claim, and its name is the claim.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "lib/live-text.h"
#include "lib/test.h"

/* The lines that begin with #> #! #? #=, without the #. */
static void expected(const char *text, struct strbuf *ret)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (text[0] == '#' && len > 1 && strchr(">!?=", text[1])) {
			coati_strbuf_add(ret, text + 1, len - 1);
			coati_strbuf_addc(ret, '\n');
		}
		text += len + (text[len] == '\n');
	}
}

static void run_golden(const char *name)
{
	struct strbuf text = STRBUF_INIT(1 << 20), want = STRBUF_INIT(1 << 20),
		      out = STRBUF_INIT(1 << 20);
	struct coati_error err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/live/%s.txt", test_data_dir(), name);
	CHECK_INT(coati_file_read(AT_FDCWD, path, &text), ==, 0);
	expected(text.text, &want);
	if (live_text_run(text.text, &out, &err) < 0)
		coati_strbuf_printf(&out, "error: %s\n", err.text);
	if (strcmp(out.text, want.text) != 0)
		test_fail_at(__FILE__, __LINE__, "%s says\n%s\nnot\n%s", name, out.text, want.text);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&want);
	coati_strbuf_fini(&out);
}

TEST(live_golden_regions_nest_and_have_lengths)
{
	run_golden("regions_nest_and_have_lengths");
}

TEST(live_golden_threads_are_merged_by_time)
{
	run_golden("threads_are_merged_by_time");
}

TEST(live_golden_batches_may_come_in_any_order)
{
	run_golden("batches_may_come_in_any_order");
}

TEST(live_golden_open_batch_lies_between_the_pairs_of_others)
{
	run_golden("open_batch_lies_between_the_pairs_of_others");
}

TEST(live_golden_age_is_told_by_the_pairs_of_all_batches)
{
	run_golden("age_is_told_by_the_pairs_of_all_batches");
}

TEST(live_golden_long_region_is_one_across_short_batches)
{
	run_golden("long_region_is_one_across_short_batches");
}

TEST(live_golden_task_keeps_its_type_across_generations)
{
	run_golden("task_keeps_its_type_across_generations");
}

TEST(live_golden_sequence_goes_on_across_generations)
{
	run_golden("sequence_goes_on_across_generations");
}

TEST(live_golden_thread_number_is_used_again)
{
	run_golden("thread_number_is_used_again");
}

TEST(live_golden_damage_of_an_earlier_generation_comes_first)
{
	run_golden("damage_of_an_earlier_generation_comes_first");
}

TEST(live_golden_region_ends_without_a_begin_among_many)
{
	run_golden("region_ends_without_a_begin_among_many");
}

TEST(live_golden_batches_of_one_number_come_as_they_arrived)
{
	run_golden("batches_of_one_number_come_as_they_arrived");
}

TEST(live_golden_region_ends_without_a_begin)
{
	run_golden("region_ends_without_a_begin");
}

TEST(live_golden_task_begins_twice)
{
	run_golden("task_begins_twice");
}

TEST(live_golden_site_is_not_known)
{
	run_golden("site_is_not_known");
}

TEST(live_golden_text_of_70000_bytes)
{
	run_golden("text_of_70000_bytes");
}

TEST(live_golden_resource_goes_its_way)
{
	run_golden("resource_goes_its_way");
}

TEST(live_golden_resource_takes_a_forbidden_step)
{
	run_golden("resource_takes_a_forbidden_step");
}

TEST(live_golden_open_things_are_told_again)
{
	run_golden("open_things_are_told_again");
}

TEST(live_golden_loss_is_told_where_it_happened)
{
	run_golden("loss_is_told_where_it_happened");
}

TEST(live_golden_missing_batch_is_found_by_its_gap)
{
	run_golden("missing_batch_is_found_by_its_gap");
}

TEST(live_golden_checksum_is_wrong)
{
	run_golden("checksum_is_wrong");
}

TEST(live_golden_open_batch_is_read_as_far_as_it_is)
{
	run_golden("open_batch_is_read_as_far_as_it_is");
}

TEST(live_golden_clock_goes_between_its_pairs)
{
	run_golden("clock_goes_between_its_pairs");
}

TEST(live_golden_clock_contradicts_itself)
{
	run_golden("clock_contradicts_itself");
}

TEST(live_golden_unknown_kinds_are_skipped_by_their_schema)
{
	run_golden("unknown_kinds_are_skipped_by_their_schema");
}

TEST(live_golden_batch_of_an_unknown_kind_costs_itself_alone)
{
	run_golden("batch_of_an_unknown_kind_costs_itself_alone");
}

TEST(live_golden_clock_of_a_long_uptime_keeps_every_nanosecond)
{
	run_golden("clock_of_a_long_uptime_keeps_every_nanosecond");
}

TEST(live_golden_generations_have_numbers_up_to_the_last)
{
	run_golden("generations_have_numbers_up_to_the_last");
}

TEST(live_golden_handler_has_a_slot_of_its_own)
{
	run_golden("handler_has_a_slot_of_its_own");
}

TEST(live_golden_strings_may_stand_behind_their_use)
{
	run_golden("strings_may_stand_behind_their_use");
}

TEST(live_golden_every_kind_of_event)
{
	run_golden("every_kind_of_event");
}

TEST(live_golden_pid_is_used_again)
{
	run_golden("pid_is_used_again");
}

TEST(live_golden_two_processes_are_merged)
{
	run_golden("two_processes_are_merged");
}

/* A file without a test would prove nothing. */
TEST(live_golden_files_are_all_tested)
{
	struct strbuf source = STRBUF_INIT(1 << 16);
	char path[512], word[300];
	DIR *d;

	snprintf(path, sizeof(path), "%s/live", test_data_dir());
	d = opendir(path);
	CHECK(d);
	snprintf(path, sizeof(path), "%s/../unit/test-live-golden.c", test_data_dir());
	CHECK_INT(coati_file_read(AT_FDCWD, path, &source), ==, 0);
	for (const struct dirent *e; (e = readdir(d));) {
		const char *dot = strstr(e->d_name, ".txt");

		if (!dot)
			continue;
		snprintf(word, sizeof(word), "run_golden(\"%.*s\")", (int)(dot - e->d_name),
			 e->d_name);
		CHECK_HAS(source.text, word);
	}
	closedir(d);
	coati_strbuf_fini(&source);
}
