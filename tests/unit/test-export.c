/* SPDX-License-Identifier: MIT */
/* Exports: every format that there is, over recordings with known contents; sums that are read
 * back, and what each file lacks. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "format/dictionary.h"
#include "format/export.h"
#include "format/format.h"
#include "format/weights.h"
#include "profile/walk.h"
#include "readback/readback.h"
#include "unit/profile-tape.h"

/* An export of the recording "a" in one format, opened and read. */
static struct coati_export *open_export(enum coati_format format, uint32_t flags,
					const struct coati_filter *filter)
{
	struct coati_export_opts o = {
		.size = sizeof(o), .format = format, .flags = flags, .filter = filter
	};
	struct coati_export *x = NULL;
	struct coati_error err = { 0 };

	if (coati_export_new(&o, &x, &err) < 0 || coati_export_read(x, "a", NULL, NULL, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", coati_format_name(format), err.text);
	return x;
}

/* Write it, read it back, compare. */
static void write_and_check(struct coati_export *x, const char *path)
{
	struct coati_error err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	if (coati_export_write(x, fd, &err) < 0 || coati_export_check(x, fd, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", path, err.text);
	CHECK_STR(err.text, ""); /* what succeeds says nothing */
	close(fd);
}

/* Every format that there is: next_format(), from COATI_FORMAT_UNKNOWN on; 0 at the end. */
static enum coati_format next_format(enum coati_format f)
{
	do
		f = (enum coati_format)(f + 1);
	while (f < COATI_FORMAT_COUNT && !coati_format_name(f));
	return f < COATI_FORMAT_COUNT ? f : COATI_FORMAT_UNKNOWN;
}

#define EACH_FORMAT(f) \
	for (enum coati_format f = next_format(COATI_FORMAT_UNKNOWN); f; f = next_format(f))

/* The recording "a" in every format, each read back and compared; its weight must be @weight. */
static void check_all(uint64_t weight, uint64_t samples)
{
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL);
		struct coati_export_summary s;
		struct stat st;

		write_and_check(x, coati_format_name(f));
		coati_export_summary(x, &s);
		CHECK_U64(s.weight, ==, weight);
		CHECK_U64(s.samples, ==, samples);
		CHECK(stat(coati_format_name(f), &st) == 0);
		CHECK_U64(s.bytes, ==, st.st_size);
		coati_export_free(&x);
	}
}

/* Two threads of one process and one of another, the kernel, and the same stack from both. */
static void tape_some(struct tape *t)
{
	tape_open(t, "a");
	tape_process(t, 10, "app");
	tape_fork(t, 10, 11, 10, 10);
	tape_comm(t, 10, 11, "worker", 0);
	tape_process(t, 20, "tool");
	for (uint32_t i = 0; i < 3; i++) {
		tape_put(t, (struct tape_sample){ .pid = 10,
						  .period = 1000 + i,
						  TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
		tape_put(t, (struct tape_sample){ .pid = 10,
						  .tid = 11,
						  .cpu = 1,
						  TAPE_STACK(TAPE_LEAF, TAPE_OTHER, TAPE_MAIN) });
		tape_put(t, (struct tape_sample){ .pid = 20,
						  .period = 7,
						  TAPE_STACK(TAPE_WORK, TAPE_WORK, TAPE_MAIN) });
	}
}

/* What a sample of each event stands for: a period is its weight; of a rate only time is known. */
TEST(export_names_the_weights_of_each_event_and_what_a_sample_stands_for)
{
	static const struct {
		uint32_t type;
		uint64_t config, flags;
		const char *name, *unit;
		uint64_t period;
	} events[] = {
		{ COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, 0, "cpu-clock", "nanoseconds", 1000 },
		{ COATI_TYPE_SOFTWARE, COATI_SW_TASK_CLOCK, COATI_ATTR_FREQ, "task-clock",
		  "nanoseconds", 1000000 },
		{ COATI_TYPE_HARDWARE, 0, 0, "cycles", "count", 1000 },
		{ COATI_TYPE_HARDWARE, 1, COATI_ATTR_FREQ, "instructions", "count", 0 },
	};

	for (uint32_t only = 0; only <= 4; only++) { /* 4: all of them */
		struct format_input in = { 0 };
		struct weights w;
		struct tape t;

		tape_program();
		tape_begin(&t, "a");
		for (uint32_t i = 0; i < 4; i++) {
			t.attr_flags = events[i].flags;
			tape_event(&t, events[i].type, events[i].config, events[i].name,
				   COATI_SAMPLE_CALLCHAIN);
		}
		tape_start(&t);
		tape_process(&t, 10, "app");
		for (uint32_t i = 0; i < 4; i++)
			if (only == i || only == 4)
				tape_put(&t, (struct tape_sample){ .event = i,
								   .pid = 10,
								   TAPE_STACK(TAPE_LEAF) });
		tape_close(&t);
		in.profile = tape_profile("a");
		in.view = tape_view(in.profile, NULL);
		in.info.size = sizeof(in.info);
		CHECK_OK(coati_view_info(in.view, &in.info));
		CHECK_OK(coati_weights_init(&w, &in));
		CHECK_U64(w.nr, ==, only == 4 ? 4 : 1);
		for (uint32_t i = 0; i < w.nr; i++) {
			uint32_t e = only == 4 ? i : only;
			bool is_cpu = only < 2;

			CHECK_STR(coati_profile_event(in.profile, w.v[i].event)->name,
				  events[e].name);
			CHECK_U64(w.of_event[w.v[i].event], ==, i);
			CHECK_STR(w.v[i].type, is_cpu ? "cpu" : events[e].name);
			CHECK_STR(w.v[i].unit, events[e].unit);
			CHECK_U64(w.v[i].period, ==, events[e].period);
		}
		CHECK(!w.is_cut);
		CHECK_U64(coati_weights_int64(&w, INT64_MAX), ==, INT64_MAX);
		CHECK(!w.is_cut);
		CHECK_U64(coati_weights_int64(&w, (uint64_t)INT64_MAX + 1), ==, INT64_MAX);
		CHECK(w.is_cut);
		coati_weights_fini(&w);
		coati_view_free(&in.view);
		coati_profile_free(&in.profile);
	}
}

TEST(export_has_the_same_sums_in_every_format)
{
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	check_all(3003 + 3000 + 21, 9);
}

TEST(export_to_firefox_knows_the_first_thread_of_a_process)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_export *x;
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	x = open_export(COATI_FORMAT_FIREFOX, COATI_EXPORT_PLAIN, NULL);
	write_and_check(x, "out");
	coati_export_free(&x);
	CHECK_OK(coati_file_read(AT_FDCWD, "out", &s));
	CHECK_HAS(s.text, "{\"name\":\"app\",\"isMainThread\":true,");
	CHECK_HAS(s.text, "{\"name\":\"worker\",\"isMainThread\":false,");
	coati_strbuf_fini(&s);
}

/* Is it among the notes of @x? */
static bool has_note(const struct coati_export *x, const char *part)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_export_note(x, i)); i++)
		if (strstr(note, part))
			return true;
	return false;
}

TEST(export_of_one_sample_is_good_in_every_format)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	check_all(1000, 1);
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL);

		write_and_check(x, "out");
		CHECK(!has_note(x, "of timeline")); /* there is none between one sample */
		coati_export_free(&x);
	}
}

/* Frames behind the end of a stack are not its own, whatever lies there. */
TEST(export_stack_has_as_many_locations_as_it_has_frames)
{
	const struct coati_export_opts opts = { .size = sizeof(opts) };
	struct format_input in = { .opts = &opts };
	struct dictionary d;
	uint32_t frames[4];
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){
			     .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_OTHER, TAPE_MAIN) });
	tape_close(&t);
	in.profile = tape_profile("a");
	in.view = tape_view(in.profile, NULL);
	CHECK_U64(coati_view_frame_count(in.view), ==, 4);
	CHECK_OK(coati_dictionary_init(&d, &in));
	for (uint32_t i = 0; i < 4; i++)
		frames[i] = i;
	CHECK_U64(coati_dictionary_stack(&d, frames, 0), ==, 0);
	for (uint32_t nr = 1; nr <= 3; nr++) {
		CHECK_U64(coati_dictionary_stack(&d, frames, nr), ==, nr);
		for (uint32_t i = 0; i < nr; i++)
			CHECK_U64(d.room[i], ==, i + 1);
		CHECK_U64(d.locations.len, ==, nr);
	}
	coati_dictionary_fini(&d);
	coati_view_free(&in.view);
	coati_profile_free(&in.profile);
}

TEST(export_without_samples_is_good_and_says_so)
{
	struct tape t;

	tape_open(&t, "a");
	tape_close(&t);
	check_all(0, 0);
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL);

		write_and_check(x, "out");
		CHECK(has_note(x, "no samples"));
		coati_export_free(&x);
	}
}

/* The page of Firefox shows nothing of a file that has no thread. */
TEST(export_to_firefox_without_samples_has_one_thread_that_says_so)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_export *x;
	struct tape t;

	tape_open(&t, "a");
	tape_close(&t);
	x = open_export(COATI_FORMAT_FIREFOX, COATI_EXPORT_PLAIN, NULL);
	write_and_check(x, "out");
	coati_export_free(&x);
	CHECK_OK(coati_file_read(AT_FDCWD, "out", &s));
	CHECK_HAS(s.text, "\"threads\":[{\"name\":\"no samples\"");
	coati_strbuf_fini(&s);
}

TEST(export_of_a_recording_with_losses_says_how_many)
{
	struct coati_record lost = { .type = COATI_RECORD_LOST,
				     .u.lost = { .id = 100, .lost = 4711 } };
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_record(&t, &lost);
	tape_close(&t);
	check_all(3003 + 3000 + 21, 9);
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL);
		struct coati_export_summary s;

		write_and_check(x, "out");
		coati_export_summary(x, &s);
		CHECK(has_note(x, "4711 records were lost"));
		CHECK_HAS(s.account, "4,711 lost");
		coati_export_free(&x);
	}
}

/* ---- names ---- */

TEST(export_survives_names_that_break_formats)
{
	static const char *const names[][4] = {
		{ "a;b", "with blanks 12", "12", "x 1 2.5 " },
		{ "\"quoted\\\"", "line\nend\r", "tab\there", "\x01\x02\x7f" },
		{ "\xff\xfe", "\xc3\xa4\xc3", "half \xed\xa0\x80 pair", "\xf4\x90\x80\x80" },
		{ "foo_[k]", "foo_[i]", "foo", ";;;" },
		{ " ", "  7", "a-1/2", "-" },
		{ "operator()<a, b>::c()", "$x", "%s%n", "</script>" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tape t;

		tape_program_named(names[i]);
		tape_some(&t);
		for (int j = 0; j < 4; j++) {
			tape_comm(&t, 30, 30 + (uint32_t)j, names[i][j], 0);
			tape_put(&t, (struct tape_sample){
					     .pid = 10,
					     TAPE_STACK(TAPE_MAIN + 16 * (uint64_t)j, TAPE_MAIN) });
			tape_put(&t, (struct tape_sample){ .pid = 30,
							   .tid = 30 + (uint32_t)j,
							   TAPE_STACK(TAPE_MAIN) });
		}
		tape_close(&t);
		check_all(3003 + 3000 + 21 + 8000, 17);
	}
}

TEST(export_survives_a_name_of_a_megabyte)
{
	char *name = coati_alloc((1 << 20) + 1);
	const char *const names[4] = { "main", name, "leaf", "other" };
	struct tape t;

	memset(name, 'x', 1 << 20);
	memcpy(name + 1000, "; \n\"\xff", 5);
	tape_program_named(names);
	tape_some(&t);
	tape_close(&t);
	check_all(3003 + 3000 + 21, 9);
	coati_free(name);
}

TEST_LIMIT(export_survives_a_hundred_thousand_threads, 240)
{
	const uint32_t nr = test_slow() ? 5000 : 100000;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint32_t i = 0; i < nr; i++) {
		char name[32];

		snprintf(name, sizeof(name), "thread %u", i % 1000);
		tape_comm(&t, 10, 100 + i, name, 0);
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .tid = 100 + i,
						   .period = i,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	}
	tape_close(&t);
	check_all((uint64_t)nr * (nr - 1) / 2 + 1000, nr); /* a period of 0 is 1000 for the tape */
}

/* ---- options ---- */

TEST(export_follows_the_filter_and_counts)
{
	struct coati_filter f = { .size = sizeof(f), .process = "app", .focus = "other" };
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	EACH_FORMAT(format)
	{
		struct coati_export *x = open_export(format, 0, &f);
		struct coati_export_summary s;

		write_and_check(x, "out");
		coati_export_summary(x, &s);
		CHECK_U64(s.weight, ==, 3000);
		CHECK_U64(s.samples, ==, 3);
		coati_export_free(&x);
	}
}

/* Formats that cannot hide frames refuse it; the others have the same sums after it. */
TEST(export_hides_frames_or_refuses_to)
{
	struct coati_filter f = { .size = sizeof(f), .hide = "leaf", .show_from = "main" };
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	EACH_FORMAT(format)
	{
		struct coati_export_opts o = { .size = sizeof(o), .format = format, .filter = &f };
		struct coati_export *x = NULL;
		struct coati_error err = { 0 };
		int r = coati_export_new(&o, &x, &err);

		if (r == -EOPNOTSUPP) {
			CHECK_HAS(err.text, "hide");
			continue;
		}
		CHECK_OK(r);
		CHECK_OK(coati_export_read(x, "a", NULL, NULL, NULL));
		write_and_check(x, "out");
		coati_export_free(&x);
	}
}

TEST(export_adds_up_several_events_by_their_samples)
{
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_PAGE_FAULTS, "page-faults",
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	tape_process(&t, 10, "app");
	for (uint32_t i = 0; i < 6; i++)
		tape_put(&t, (struct tape_sample){ .event = i % 2,
						   .pid = 10,
						   .period = 500,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_close(&t);
	check_all(6, 6);
	EACH_FORMAT(format)
	{
		struct coati_export *x = open_export(format, 0, NULL);

		write_and_check(x, "out");
		CHECK(has_note(x, "several events"));
		coati_export_free(&x);
	}
}

TEST(export_formats_are_known_by_name_and_by_ending)
{
	struct coati_error err = { 0 };
	enum coati_format f;

	EACH_FORMAT(format)
	{
		char path[64];

		CHECK_OK(coati_format_parse(coati_format_name(format), &f, NULL));
		CHECK_INT(f, ==, format);
		snprintf(path, sizeof(path), "x%s", coati_format_suffix(format));
		CHECK_INT(coati_format_guess(path), ==, format);
	}
	CHECK_ERR(coati_format_parse("folder", &f, &err), -EINVAL);
	CHECK_HAS(err.text, "did you mean folded?");
	CHECK_ERR(coati_format_parse("", &f, &err), -EINVAL);
	CHECK_HAS(err.text, "there are pprof");
	CHECK_INT(coati_format_guess("x.firefox.json"), ==, COATI_FORMAT_FIREFOX);
	CHECK_INT(coati_format_guess("x.json"), ==, COATI_FORMAT_JSON);
	CHECK_INT(coati_format_guess("x.pb"), ==, COATI_FORMAT_PPROF);
	CHECK_INT(coati_format_guess("x.txt"), ==, COATI_FORMAT_UNKNOWN);
	CHECK_INT(coati_format_guess(".folded"), ==, COATI_FORMAT_UNKNOWN);
	CHECK(!coati_format_name(COATI_FORMAT_UNKNOWN));
	CHECK(!coati_format_name(COATI_FORMAT_COUNT));
}

/* ---- failures ---- */

TEST(export_check_names_the_first_difference)
{
	struct coati_error err = { 0 };
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL), *other;
		struct coati_filter filter = { .size = sizeof(filter), .thread = "11,10" };
		int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);

		other = open_export(f, 0, &filter);
		CHECK_OK(coati_export_write(x, fd, NULL));
		close(fd);
		fd = open("other", O_RDWR | O_CREAT | O_TRUNC, 0600);
		CHECK_OK(coati_export_write(other, fd, NULL));
		CHECK_ERR(coati_export_check(x, fd, &err), -EBADMSG);
		CHECK_HAS(err.text, "the profile has 6024, the file 6003");
		CHECK(ftruncate(fd, 0) == 0);
		CHECK_ERR(coati_export_check(x, fd, &err), -EBADMSG);
		close(fd);
		coati_export_free(&x);
		coati_export_free(&other);
	}
}

TEST(export_to_a_full_disk_fails_with_its_reason)
{
	struct coati_error err = { 0 };
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	EACH_FORMAT(f)
	{
		struct coati_export *x = open_export(f, 0, NULL);
		int fd = open("/dev/full", O_WRONLY);

		CHECK(fd >= 0);
		CHECK_ERR(coati_export_write(x, fd, &err), -ENOSPC);
		CHECK_HAS(err.text, "No space left");
		close(fd);
		coati_export_free(&x);
	}
}

/* All of it, with the n-th allocation failing. */
static int try_export(enum coati_format format, uint64_t n, struct coati_error *err)
{
	struct coati_export_opts o = { .size = sizeof(o), .format = format };
	struct coati_export *x = NULL;
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600), r;

	coati_alloc_fail_after(n);
	r = coati_export_new(&o, &x, err);
	if (r == 0)
		r = coati_export_read(x, "a", NULL, NULL, err);
	/* a reader without memory takes the file for a damaged one */
	r = r == -EBADMSG ? -ENOMEM : r;
	if (r == 0)
		r = coati_export_write(x, fd, err);
	if (r == 0)
		r = coati_export_check(x, fd, err);
	coati_alloc_fail_after(UINT64_MAX);
	coati_export_free(&x);
	close(fd);
	return r;
}

TEST_LIMIT(export_without_memory_says_so, 120)
{
	struct tape t;

	tape_program();
	tape_some(&t);
	tape_close(&t);
	EACH_FORMAT(f)
	{
		uint64_t n = 0, all = coati_alloc_count();

		CHECK_OK(try_export(f, UINT64_MAX, NULL));
		all = coati_alloc_count() - all;
		/* from there on at the latest it must work; what fails before fails for want of
		 * memory */
		for (; n < all; n += 1 + (n > 200) * 7) {
			struct coati_error err = { 0 };
			int r = try_export(f, n, &err);

			/* records are read again, and again without memory are damaged */
			if (r == -EBADMSG && f == COATI_FORMAT_PERFDATA)
				continue;
			if (r < 0 && r != -ENOMEM)
				test_fail_at(__FILE__, __LINE__, "%s, allocation %llu: %s",
					     coati_format_name(f), (unsigned long long)n, err.text);
		}
		CHECK_OK(try_export(f, all, NULL));
	}
}
