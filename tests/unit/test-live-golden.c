/* SPDX-License-Identifier: MIT */
/*
 * Traces as text in tests/data/live, each with what reader and validator must say about it in the lines behind `#`. A file is one claim, and its
 * name is the claim.
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

#define GOLDEN(name)               \
	TEST(live_golden_##name)   \
	{                          \
		run_golden(#name); \
	}

GOLDEN(regions_nest_and_have_lengths)
GOLDEN(threads_are_merged_by_time)
GOLDEN(batches_may_come_in_any_order)
GOLDEN(task_keeps_its_type_across_generations)
GOLDEN(sequence_goes_on_across_generations)
GOLDEN(thread_number_is_used_again)
GOLDEN(damage_of_an_earlier_generation_comes_first)
GOLDEN(region_ends_without_a_begin)
GOLDEN(task_begins_twice)
GOLDEN(site_is_not_known)
GOLDEN(text_of_70000_bytes)
GOLDEN(resource_goes_its_way)
GOLDEN(resource_takes_a_forbidden_step)
GOLDEN(open_things_are_told_again)
GOLDEN(loss_is_told_where_it_happened)
GOLDEN(missing_batch_is_found_by_its_gap)
GOLDEN(checksum_is_wrong)
GOLDEN(open_batch_is_read_as_far_as_it_is)
GOLDEN(clock_goes_between_its_pairs)
GOLDEN(clock_contradicts_itself)
GOLDEN(unknown_kinds_are_skipped_by_their_schema)
GOLDEN(handler_has_a_slot_of_its_own)
GOLDEN(strings_may_stand_behind_their_use)
GOLDEN(every_kind_of_event)
GOLDEN(pid_is_used_again)
GOLDEN(two_processes_are_merged)

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
		snprintf(word, sizeof(word), "(%.*s)", (int)(dot - e->d_name), e->d_name);
		CHECK_HAS(source.text, word);
	}
	closedir(d);
	coati_strbuf_fini(&source);
}
