/* SPDX-License-Identifier: MIT */
/* Live events in exports: traces written as text, put into a recording beside samples, in every
 * format that has room for them. */
#include "lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "format/export.h"
#include "readback/readback.h"
#include "unit/profile-tape.h"

/* ---- recordings ---- */

/* The recording "a": process 7 is sampled, if @samples, from 1 s on; and tells @text. */
static void tape_live(const char *text, uint32_t samples)
{
	struct tape t;

	tape_begin(&t, "a");
	t.attr_flags = COATI_ATTR_USE_CLOCKID;
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, 7, "app");
	for (uint32_t i = 0; i < samples; i++)
		tape_put(&t, (struct tape_sample){ .pid = 7, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_live_text(&t, text);
	tape_close(&t);
}

/* What "a" is in one format: the file "out", read back and compared. */
static void export_as(enum coati_format format, const struct coati_filter *filter,
		      struct strbuf *ret, struct strbuf *ret_notes)
{
	struct coati_export_opts o = {
		.size = sizeof(o), .format = format, .flags = COATI_EXPORT_PLAIN, .filter = filter
	};
	struct coati_export *x = NULL;
	struct coati_error err = { 0 };
	const char *note;
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	if (coati_export_new(&o, &x, &err) < 0 || coati_export_read(x, "a", NULL, NULL, &err) < 0 ||
	    coati_export_write(x, fd, &err) < 0 || coati_export_check(x, fd, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", coati_format_name(format), err.text);
	for (uint32_t i = 0; ret_notes && (note = coati_export_note(x, i)); i++)
		coati_strbuf_printf(ret_notes, "%s\n", note);
	coati_export_free(&x);
	close(fd);
	if (ret) {
		coati_strbuf_clear(ret);
		CHECK_INT(coati_file_read(AT_FDCWD, "out", ret), ==, 0);
	}
}

static void read_golden(const char *name, struct strbuf *ret)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/live/%s", test_data_dir(), name);
	CHECK_INT(coati_file_read(AT_FDCWD, path, ret), ==, 0);
}

/* ---- tests ---- */

TEST(export_live_goldens_are_read_back_from_every_format)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	char path[512];
	unsigned int nr = 0;
	DIR *d;

	tape_program();
	snprintf(path, sizeof(path), "%s/live", test_data_dir());
	d = opendir(path);
	CHECK(d);
	for (const struct dirent *e; (e = readdir(d));) {
		if (!strstr(e->d_name, ".txt"))
			continue;
		coati_strbuf_clear(&text);
		read_golden(e->d_name, &text);
		for (uint32_t samples = 0; samples < 3; samples += 2) {
			tape_live(text.text, samples);
			for (int f = COATI_FORMAT_PPROF; f < COATI_FORMAT_COUNT; f++)
				export_as((enum coati_format)f, NULL, NULL, NULL);
		}
		nr++;
	}
	CHECK_U64(nr, >, 20);
	closedir(d);
	coati_strbuf_fini(&text);
}

/* Samples of process 7, as far apart as can be: the last at @last. */
static void tape_late(uint64_t last)
{
	struct tape t;

	tape_open(&t, "a");
	tape_process(&t, 7, "app");
	tape_put(&t, (struct tape_sample){ .pid = 7, .time = 1, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 7, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t,
		 (struct tape_sample){ .pid = 7, .time = last, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_close(&t);
}

/* A hostile file may claim any time. A format that shifts times must not wrap around: samples would
 * go back in time, and slices end before they began. */
TEST(export_live_times_at_the_end_of_the_clock_are_read_back_from_every_format)
{
	tape_program();
	for (uint64_t before_end = 1; before_end <= UINT64_C(1) << 40; before_end *= 8) {
		tape_late(UINT64_MAX - 1 - before_end);
		for (int f = COATI_FORMAT_PPROF; f < COATI_FORMAT_COUNT; f++)
			export_as((enum coati_format)f, NULL, NULL, NULL);
	}
}

TEST(export_live_states_without_a_length_come_before_the_state_that_follows_them)
{
	tape_program();
	tape_live("batch kind=sites pid=7\n"
		  "- type id=1 name=\"queue\" states=\"empty:3 full:3\"\n"
		  "batch tid=7 base=100\n"
		  "100 resource_new type=1 id=4 state=0 name=\"q\"\n"
		  "100 resource_set type=1 id=4 from=0 to=1\n"
		  "200 resource_end type=1 id=4\n"
		  "batch kind=end\n",
		  1);
	for (int f = COATI_FORMAT_PPROF; f < COATI_FORMAT_COUNT; f++)
		export_as((enum coati_format)f, NULL, NULL, NULL);
}

TEST(export_live_every_kind_is_a_chrome_event_of_its_own)
{
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	read_golden("every_kind_of_event.txt", &s);
	tape_live(s.text, 1);
	export_as(COATI_FORMAT_CHROME, NULL, &s, NULL);
	CHECK_HAS(s.text, "\"ph\":\"X\",\"name\":\"region\",\"pid\":7,\"tid\":7,\"cat\":\"cat\","
			  "\"ts\":0,\"dur\":0.018,\"args\":{\"file\":\"a.c\",\"line\":1,"
			  "\"function\":\"f\"}}");
	CHECK_HAS(s.text, "\"ph\":\"b\",\"name\":\"task\",\"pid\":7,\"tid\":7,\"cat\":\"task\","
			  "\"id2\":{\"local\":\"0x3\"},\"ts\":0.001,\"args\":{\"task\":3,"
			  "\"parent\":1}}");
	CHECK_HAS(s.text, "\"ph\":\"e\",\"name\":\"task\",\"pid\":7,\"tid\":7,\"cat\":\"task\","
			  "\"id2\":{\"local\":\"0x3\"},\"ts\":0.017}");
	CHECK_HAS(s.text, "\"ph\":\"n\",\"name\":\"task\"");
	CHECK_HAS(s.text, "\"ph\":\"i\",\"name\":\"interned \\\"quoted\\\"\\n\"");
	CHECK_HAS(s.text, "\"ph\":\"C\",\"name\":\"region\",\"pid\":7,\"tid\":7,\"cat\":\"cat\","
			  "\"ts\":0.004,\"args\":{\"value\":-9223372036854775808}}");
	CHECK_HAS(s.text, "\"args\":{\"value\":0.1}}");
	CHECK_HAS(s.text, "\"ph\":\"f\",\"name\":\"region\",\"pid\":7,\"tid\":7,\"cat\":\"flow\","
			  "\"id\":\"7.0xc\",\"bp\":\"e\"");
	CHECK_HAS(s.text, "\"fields\":{\"fd\":-1,\"bytes\":18446744073709551615,"
			  "\"ratio\":1.5e+300,\"from\":\"\xef\xbf\xbd\xef\xbf\xbd\","
			  "\"addr\":\"0xdead\"}");
	CHECK_HAS(s.text, "\"ph\":\"b\",\"name\":\"a\",\"pid\":7,\"tid\":7,\"cat\":\"conn\"");
	CHECK_HAS(s.text, "\"ph\":\"b\",\"name\":\"b\",\"pid\":7,\"tid\":7,\"cat\":\"conn\"");
	CHECK_HAS(s.text, "\"fields\":{\"reason\":\"why\"}");
	CHECK_HAS(s.text,
		  "\"name\":\"thread_name\",\"pid\":7,\"tid\":7,\"args\":{\"name\":\"main\"");
	CHECK_HAS(s.text, "\"args\":{\"name\":\"server\"");
	CHECK_HAS(s.text, "\"labels\":{\"k\":\"vv\"}");
	coati_strbuf_fini(&s);
}

TEST(export_live_every_kind_is_a_firefox_marker_with_a_schema)
{
	static const char *const types[] = { "region",	"task",	    "resource", "log",
					     "instant", "works on", "labels",	"flow" };
	struct strbuf s = STRBUF_INIT(1 << 20);
	char word[64];

	tape_program();
	read_golden("every_kind_of_event.txt", &s);
	tape_live(s.text, 1);
	export_as(COATI_FORMAT_FIREFOX, NULL, &s, NULL);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		snprintf(word, sizeof(word), "{\"type\":\"%s\"", types[i]);
		CHECK_HAS(s.text, word);
		snprintf(word, sizeof(word), "{\"name\":\"%s\",\"tooltipLabel\"", types[i]);
		CHECK_HAS(s.text, word);
	}
	CHECK_HAS(s.text, "\"place\":\"f (a.c:1)\"");
	CHECK_HAS(s.text, "\"fields\":\"k=vv\"");
	CHECK_HAS(s.text, "\"counters\":[{\"name\":\"region\"");
	CHECK_HAS(s.text, "\"display\":{\"graphType\":\"line-accumulated\"");
	CHECK_HAS(s.text, "\"resource\":\"conn 6 c\",\"state\":\"b\",\"reason\":\"why\"");
	coati_strbuf_fini(&s);
}

/* Two threads of 7, and one of 8. */
static const char three_threads[] = "batch kind=sites pid=7\n"
				    "- site id=1 kind=1 name=\"outer\"\n"
				    "- site id=2 kind=1 name=\"inner\"\n"
				    "- site id=3 kind=3 name=\"job\"\n"
				    "batch tid=7 base=1000100000\n"
				    "1000100000 open_enter tid=7 id=0\n"
				    "1000100000 region_begin site=1\n"
				    "1000100500 region_begin site=2\n"
				    "1000100600 region_end\n"
				    "1000100700 task_begin site=3 id=5\n"
				    "1000101000 log site=1 text=\"of seven\"\n"
				    "1000102000 region_end\n"
				    "batch tid=9 base=1000100000\n"
				    "1000100100 open_enter tid=9 id=0\n"
				    "1000100800 task_enter id=5\n"
				    "1000100900 log site=1 text=\"of nine\"\n"
				    "1000101500 task_end id=5\n"
				    "batch kind=end\n"
				    "batch kind=sites pid=8\n"
				    "- site id=1 kind=1 name=\"elsewhere\"\n"
				    "batch tid=8 pid=8 base=1000100000\n"
				    "1000100200 log site=1 text=\"of eight\"\n"
				    "batch kind=end\n";

TEST(export_live_follows_threads_and_processes)
{
	struct coati_filter f = { .size = sizeof(f), .thread = "9" };
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	tape_live(three_threads, 2);
	export_as(COATI_FORMAT_CHROME, &f, &s, NULL);
	CHECK_HAS(s.text, "of nine");
	CHECK(!strstr(s.text, "of seven") && !strstr(s.text, "of eight"));
	/* begun by another thread, but worked on by this one */
	CHECK_HAS(s.text, "\"ph\":\"b\",\"name\":\"job\"");
	f = (struct coati_filter){ .size = sizeof(f), .process = "app" };
	export_as(COATI_FORMAT_CHROME, &f, &s, NULL);
	CHECK_HAS(s.text, "of seven");
	CHECK(!strstr(s.text, "of eight"));
	coati_strbuf_fini(&s);
}

TEST(export_live_is_cut_to_the_time_that_was_asked_for)
{
	struct coati_filter f = { .size = sizeof(f), .time = "@1.00010055-@1.0001012" };
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	tape_live(three_threads, 0);
	export_as(COATI_FORMAT_CHROME, &f, &s, NULL);
	CHECK_HAS(s.text, "\"name\":\"outer\",\"pid\":7,\"tid\":7,\"cat\":\"region\",\"ts\":0,"
			  "\"dur\":0.65,\"args\":{\"began before\":true,\"has no end\":true}");
	CHECK_HAS(s.text, "\"name\":\"inner\",\"pid\":7,\"tid\":7,\"cat\":\"region\",\"ts\":0,"
			  "\"dur\":0.05,\"args\":{\"began before\":true}");
	CHECK_HAS(s.text, "of nine");
	CHECK(!strstr(s.text, "of eight"));
	for (int i = COATI_FORMAT_FIREFOX; i <= COATI_FORMAT_PERFETTO; i++)
		export_as((enum coati_format)i, &f, NULL, NULL);
	coati_strbuf_fini(&s);
}

TEST(export_live_bears_names_that_break_formats)
{
	static const char *const names[] = { "\"\\x00\\x01\\x1b[31m\\x7f\\n\"",
					     "\"\\xff\\xfe\\xc3\\x28\\xed\\xa0\\x80\"",
					     "\"</script>\\\"'\\\\\"",
					     "\"\"",
					     "\"__proto__\"",
					     "\"x\"*3000" };
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *n = names[i];

		coati_strbuf_clear(&s);
		coati_strbuf_printf(
			&s,
			"batch kind=sites pid=7\n- site id=1 kind=1 name=%s category=%s "
			"file=%s\n- type id=1 name=%s states=\"a:2 b:1\"\n"
			"batch tid=7 base=100\n100 region_begin site=1\n110 log site=1 "
			"text=%s\n120 counter site=1 value=3\n130 task_begin site=1 id=3\n"
			"140 resource_new type=1 id=6 state=0 name=%s\n150 thread_name "
			"name=%s\n160 process_name name=%s\nbatch kind=end\n",
			n, n, n, n, n, n, n, n);
		tape_live(s.text, 1);
		for (int f = COATI_FORMAT_FIREFOX; f <= COATI_FORMAT_CHROME; f++)
			export_as((enum coati_format)f, NULL, NULL, NULL);
	}
	coati_strbuf_fini(&s);
}

TEST(export_live_spreads_slices_that_do_not_nest)
{
	static const char text[] = "batch kind=sites pid=7\n- site id=1 kind=1 name=\"r\"\n"
				   "batch tid=7 base=1000\n2000 range site=1 length=500\n"
				   "2200 range site=1 length=600\n2300 range site=1 length=400\n"
				   "batch kind=end\n";
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	tape_live(text, 0);
	export_as(COATI_FORMAT_CHROME, NULL, &s, NULL);
	CHECK_HAS(s.text, "\"cat\":\"what does not nest\"");
	export_as(COATI_FORMAT_PERFETTO, NULL, &s, NULL);
	coati_strbuf_fini(&s);
}

/* Chrome's events of the name "r": how many there are, each not before the one before. */
static unsigned int count_in_order(const char *text)
{
	double time = -1;
	unsigned int nr = 0;

	for (const char *at = text; (at = strstr(at, "\"name\":\"r\"")); nr++) {
		const char *ts = strstr(at, "\"ts\":");
		double now;

		CHECK(ts);
		now = strtod(ts + 5, NULL);
		CHECK(now >= time);
		time = now;
		at = ts;
	}
	return nr;
}

TEST(export_live_puts_ranges_in_order_however_they_are_told)
{
	struct strbuf text = STRBUF_INIT(1 << 16), out = STRBUF_INIT(1 << 20);

	/* each comes after those inside it: one place, a few, and as far as can be */
	for (unsigned int inside = 1; inside <= 100; inside *= 10) {
		coati_strbuf_clear(&text);
		coati_strbuf_adds(&text, "batch kind=sites pid=7\n- site id=1 kind=1 name=\"r\"\n"
					 "batch tid=7 generation=1 flags=4 base=1000\n");
		for (unsigned int i = 0; i < 100; i++) {
			unsigned int half = (i % inside + 1) * 10;

			coati_strbuf_printf(&text, "%u range site=1 length=%u\n",
					    1000000 + i / inside * 10000 + half, 2 * half);
		}
		tape_live(text.text, 1);
		export_as(COATI_FORMAT_CHROME, NULL, &out, NULL);
		CHECK_U64(count_in_order(out.text), ==, 100);
	}
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

TEST(export_live_says_what_was_lost_and_what_is_left_out)
{
	struct strbuf s = STRBUF_INIT(1 << 20), notes = STRBUF_INIT(1 << 20);

	tape_program();
	read_golden("loss_is_told_where_it_happened.txt", &s);
	tape_live(s.text, 0);
	export_as(COATI_FORMAT_CHROME, NULL, &s, &notes);
	CHECK_HAS(s.text, "\"name\":\"lost live events\"");
	CHECK_HAS(s.text, "\"count\":37");
	CHECK_HAS(notes.text, "37 live events");
	CHECK(!strstr(notes.text, "may be off")); /* there are no samples beside them */
	coati_strbuf_fini(&s);
	coati_strbuf_fini(&notes);
}

/* The pairs of the clock say how far live events may be from samples. */
TEST(export_live_beside_samples_says_how_far_its_clock_may_be_off)
{
	struct strbuf s = STRBUF_INIT(1 << 20), notes = STRBUF_INIT(1 << 20);

	tape_program();
	read_golden("clock_goes_between_its_pairs.txt", &s);
	tape_live(s.text, 1);
	export_as(COATI_FORMAT_CHROME, NULL, NULL, &notes);
	CHECK_HAS(notes.text, "live events may be off by up to 30 ns against samples");
	coati_strbuf_clear(&notes);
	tape_live(s.text, 0);
	export_as(COATI_FORMAT_CHROME, NULL, NULL, &notes);
	CHECK(!strstr(notes.text, "may be off"));
	coati_strbuf_clear(&notes);
	tape_live(three_threads, 1);
	export_as(COATI_FORMAT_CHROME, NULL, NULL, &notes);
	CHECK(!strstr(notes.text, "may be off")); /* it is exact */
	coati_strbuf_fini(&s);
	coati_strbuf_fini(&notes);
}

/* A request of process 7, in which it took samples of itself; one is outside of it. */
static const char sampled[] = "batch kind=sites pid=7\n"
			      "- site id=1 kind=1 name=\"handle\"\n"
			      "- site id=3 kind=3 name=\"request\"\n"
			      "batch kind=table pid=7\n"
			      "- stack id=1 addresses=0x7f0000000224,0x7f0000000205\n"
			      "- stack id=2 addresses=0x7f0000000214,0x7f0000000205\n"
			      "batch tid=7 base=1000100000\n"
			      "1000100000 open_enter tid=7 id=0\n"
			      "1000100000 sample stack=1 weight=7000\n"
			      "1000110000 task_begin site=3 id=1\n"
			      "1000110000 task_enter id=1\n"
			      "1000115000 sample stack=1 weight=20\n"
			      "1000120000 region_begin site=1\n"
			      "1000125000 sample stack=2 weight=300\n"
			      "1000130000 region_end\n"
			      "1000140000 task_enter id=0\n"
			      "1000140000 task_end id=1\n"
			      "batch kind=end\n";

/* What the kernel's samples lack: they are those of the program. */
static void tape_sampled(uint32_t samples)
{
	tape_program();
	tape_live(sampled, samples);
}

TEST(export_live_samples_are_in_every_format)
{
	struct strbuf s = STRBUF_INIT(1 << 20), notes = STRBUF_INIT(1 << 20);

	tape_sampled(0);
	for (int f = COATI_FORMAT_PPROF; f < COATI_FORMAT_COUNT; f++)
		export_as((enum coati_format)f, NULL, NULL, NULL);
	export_as(COATI_FORMAT_FOLDED, NULL, &s, NULL);
	CHECK_STR(s.text, "app-7/7;main;leaf 7020\napp-7/7;main;work 300\n");
	export_as(COATI_FORMAT_PPROF, NULL, &s, NULL);
	CHECK(memmem(s.text, s.len, "nanoseconds", 11) && memmem(s.text, s.len, "request", 7));
	export_as(COATI_FORMAT_CHROME, NULL, &s, &notes);
	CHECK_HAS(s.text, "\"cpu\":-1,\"pid\":7,\"tid\":7,\"ts\":25,\"name\":\"live:cpu\"");
	CHECK_HAS(s.text, "\"weight\":300");
	CHECK(!strstr(notes.text, "no samples"));
	export_as(COATI_FORMAT_FIREFOX, NULL, &s, NULL);
	CHECK_HAS(s.text, "\"leaf\"");
	CHECK_HAS(s.text, "0.007,0.00002,0.0003");
	export_as(COATI_FORMAT_PERFETTO, NULL, &s, NULL);
	CHECK(memmem(s.text, s.len, COATI_LIVE_CPU, strlen(COATI_LIVE_CPU)));
	coati_strbuf_fini(&s);
	coati_strbuf_fini(&notes);
}

TEST(export_live_samples_of_a_task_or_a_region_alone)
{
	struct coati_filter f = { .size = sizeof(f), .task = "request" };
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_sampled(0);
	export_as(COATI_FORMAT_FOLDED, &f, &s, NULL);
	CHECK_STR(s.text, "app-7/7;main;leaf 20\napp-7/7;main;work 300\n");
	export_as(COATI_FORMAT_PPROF, &f, &s, NULL);
	CHECK(!memmem(s.text, s.len, "\xd8\x36", 2)); /* 7000 */
	f = (struct coati_filter){ .size = sizeof(f), .region = "handle" };
	export_as(COATI_FORMAT_FOLDED, &f, &s, NULL);
	CHECK_STR(s.text, "app-7/7;main;work 300\n");
	coati_strbuf_fini(&s);
}

TEST(export_live_samples_beside_those_of_the_kernel_are_asked_for_by_name)
{
	struct coati_filter f = { .size = sizeof(f), .event = COATI_LIVE_CPU };
	struct strbuf s = STRBUF_INIT(1 << 20), notes = STRBUF_INIT(1 << 20);

	tape_sampled(2);
	export_as(COATI_FORMAT_FOLDED, NULL, &s, &notes);
	CHECK_STR(s.text, "app-7/7;main;leaf 2000\n");
	CHECK_HAS(notes.text, "3 samples that the program took of itself are left out");
	for (int i = COATI_FORMAT_PPROF; i < COATI_FORMAT_COUNT; i++)
		export_as((enum coati_format)i, NULL, NULL, NULL);
	export_as(COATI_FORMAT_FOLDED, &f, &s, NULL);
	CHECK_STR(s.text, "app-7/7;main;leaf 7020\napp-7/7;main;work 300\n");
	export_as(COATI_FORMAT_CHROME, NULL, &s, NULL);
	CHECK(!strstr(s.text, "\"name\":\"live:cpu\""));
	/* records are copied: they are still there */
	export_as(COATI_FORMAT_PERFDATA, NULL, NULL, NULL);
	CHECK_INT(rename("out", "a"), ==, 0);
	export_as(COATI_FORMAT_FOLDED, &f, &s, NULL);
	CHECK_STR(s.text, "app-7/7;main;leaf 7020\napp-7/7;main;work 300\n");
	coati_strbuf_fini(&s);
	coati_strbuf_fini(&notes);
}

/* One letter of the file "out" changed: what does the check say? */
static void spoil(enum coati_format format, const char *find, const char *by, const char *wanted)
{
	struct coati_export_opts o = { .size = sizeof(o),
				       .format = format,
				       .flags = COATI_EXPORT_PLAIN };
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_export *x = NULL;
	struct coati_error err = { 0 };
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at;

	CHECK_OK(coati_export_new(&o, &x, &err));
	CHECK_OK(coati_export_read(x, "a", NULL, NULL, &err));
	CHECK_OK(coati_export_write(x, fd, &err));
	CHECK_INT(coati_file_read(AT_FDCWD, "out", &s), ==, 0);
	at = strstr(s.text, find);
	CHECK(at);
	CHECK_INT(pwrite(fd, by, strlen(by), at - s.text), ==, (ssize_t)strlen(by));
	CHECK_INT(coati_export_check(x, fd, &err), ==, -EBADMSG);
	CHECK_HAS(err.text, wanted);
	coati_export_free(&x);
	coati_strbuf_fini(&s);
	close(fd);
}

TEST(export_live_check_finds_what_is_missing)
{
	tape_program();
	tape_live(three_threads, 1);
	spoil(COATI_FORMAT_CHROME, "\"ph\":\"i\"", "\"ph\":\"R\"", "points in time");
	spoil(COATI_FORMAT_CHROME, "\"dur\":2,", "\"dur\":3,", "nanoseconds of slices");
	spoil(COATI_FORMAT_CHROME, "\"ph\":\"e\"", "\"ph\":\"R\"", "chrome");
	spoil(COATI_FORMAT_CHROME, "\"ph\":\"e\"", "\"ph\":\"b\"", "chrome"); /* begins twice */
	spoil(COATI_FORMAT_FIREFOX, "{\"type\":\"region\"", "{\"type\":\"fegion\"", "firefox");
}

/* All of it, with the n-th allocation failing. */
static int try_without(enum coati_format format, uint64_t n, struct coati_error *err)
{
	struct coati_export_opts o = { .size = sizeof(o),
				       .format = format,
				       .flags = COATI_EXPORT_PLAIN };
	struct coati_export *x = NULL;
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600), r;

	coati_alloc_fail_after(n);
	r = coati_export_new(&o, &x, err);
	if (r == 0)
		r = coati_export_read(x, "a", NULL, NULL, err);
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

TEST_LIMIT(export_live_without_memory_says_so, 120)
{
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	read_golden("every_kind_of_event.txt", &s);
	tape_live(s.text, 1);
	for (int f = COATI_FORMAT_FIREFOX; f <= COATI_FORMAT_CHROME; f++) {
		uint64_t all = coati_alloc_count();

		CHECK_OK(try_without((enum coati_format)f, UINT64_MAX, NULL));
		all = coati_alloc_count() - all;
		for (uint64_t n = 0; n < all; n += 1 + (n > 100) * 3) {
			struct coati_error err = { 0 };
			int r = try_without((enum coati_format)f, n, &err);

			if (r < 0 && r != -ENOMEM)
				test_fail_at(__FILE__, __LINE__, "%s, allocation %llu: %s",
					     coati_format_name((enum coati_format)f),
					     (unsigned long long)n, err.text);
		}
	}
	coati_strbuf_fini(&s);
}

/* Every label of a sample is in the file, the first and the last. */
TEST(export_live_samples_have_all_labels)
{
	static const char text[] =
		"batch kind=sites pid=7\n"
		"batch kind=table pid=7\n"
		"- stack id=1 addresses=0x7f0000000224,0x7f0000000205\n"
		"batch tid=7 base=1000100000\n"
		"1000100000 open_enter tid=7 id=0\n"
		"1000100000 labels set=\"\\x04zone\\x05north\\x04role\\x06writer\"\n"
		"1000100000 sample stack=1 weight=7000\n"
		"batch kind=end\n";
	static const char *const words[] = { "zone", "north", "role", "writer" };
	static const enum coati_format formats[] = { COATI_FORMAT_PPROF, COATI_FORMAT_OTLP };
	struct strbuf s = STRBUF_INIT(1 << 20);

	tape_program();
	tape_live(text, 0);
	for (size_t f = 0; f < sizeof(formats) / sizeof(*formats); f++) {
		export_as(formats[f], NULL, &s, NULL);
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!memmem(s.text, s.len, words[i], strlen(words[i])))
				test_fail_at(__FILE__, __LINE__, "%s lacks %s",
					     coati_format_name(formats[f]), words[i]);
	}
	coati_strbuf_fini(&s);
}
