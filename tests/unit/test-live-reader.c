/* SPDX-License-Identifier: MIT */
/* The reader of live events: text in both directions, limits, memory, damage, and that it is the
 * same every time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "lib/live-text.h"
#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "live-read/text.h"
#include "record/live-decode.h"

static void read_data(const char *name, struct strbuf *ret)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/live/%s.txt", test_data_dir(), name);
	CHECK_INT(coati_file_read(AT_FDCWD, path, ret), ==, 0);
}

/* ---- text ---- */

struct both {
	struct strbuf text, bytes;
	struct live_names names;
};

static int write_text(void *ctx, const uint8_t *bytes, size_t size)
{
	struct both *b = ctx;

	coati_strbuf_add(&b->bytes, bytes, size);
	return coati_live_text_write(bytes, size, &b->names, &b->text);
}

static void through(const char *text, struct both *b)
{
	struct coati_error err = { 0 };

	*b = (struct both){ .text = STRBUF_INIT(1 << 20), .bytes = STRBUF_INIT(1 << 20) };
	coati_live_names_init(&b->names, 0);
	if (coati_live_text_read(text, write_text, b, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

static void both_fini(struct both *b)
{
	coati_strbuf_fini(&b->text);
	coati_strbuf_fini(&b->bytes);
	coati_live_names_fini(&b->names);
}

TEST(live_text_comes_back_from_bytes_as_it_went_in)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct both once, twice;

	read_data("every_kind_of_event", &text);
	through(text.text, &once);
	through(once.text.text, &twice);
	CHECK_STR(once.text.text, twice.text.text);
	CHECK_U64(once.bytes.len, ==, twice.bytes.len);
	CHECK_MEM(once.bytes.text, twice.bytes.text, once.bytes.len);
	CHECK_HAS(once.text.text, " instant site=3 fd=-1 bytes=18446744073709551615");
	both_fini(&once);
	both_fini(&twice);
	coati_strbuf_fini(&text);
}

TEST(live_text_has_the_schema_of_later_versions)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct both b;

	read_data("unknown_kinds_are_skipped_by_their_schema", &text);
	through(text.text, &b);
	CHECK_HAS(b.text.text, "\n- schema kind=8 name=\"counter\" letters=\"tzv\"\n"
			       "- schema kind=10 name=\"flow\" letters=\"sd\"\nbatch ");
	both_fini(&b);
	coati_strbuf_fini(&text);
}

static int ignore(void *ctx, const uint8_t *bytes, size_t size)
{
	return 0;
}

TEST(live_text_says_line_and_reason_of_what_it_refuses)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "1 log site=1\n", "line 1: log stands before the first batch" },
		{ "batch pid=1\n# ok\n5 dance\n", "line 3: dance is not a kind of event" },
		{ "batch base=9\n8 region_end\n", "line 2: 8 is before the event before it" },
		{ "batch\n1 log site=x\n", "line 2: site wants a number" },
		{ "batch\n1 log text=x\n", "line 2: text wants a text in quotes" },
		{ "batch\n1 log text=\"x\n", "line 2: a word is not name=value" },
		{ "batch\n1 log text=\"\\q\"\n", "line 2: a word is not name=value" },
		{ "batch\n1 log color=3\n", "line 2: color is not one of its arguments" },
		{ "batch color=3\n", "line 1: color is not a field of a batch" },
		{ "batch slot=70000\n", "line 1: slot is too large a number" },
		{ "batch kind=moon\n", "line 1: kind is not a kind of batch" },
		{ "batch\n1 log text=\"\\", "line 2: a word is not name=value" },
		{ "batch\n- schema kind=1\n", "line 2: schema stands in a batch of another kind" },
		{ "batch\nhex 0\n", "line 2: hex wants pairs of digits" },
		{ "batch\n1 log text=\"x\"*40000\nbatch\n",
		  "line 3: the batch before does not fit" },
		{ "batch\n- type states=\"a\"\n", "line 2: states wants NAME:SET" },
		{ "batch\n1 gauge value=\"x\"\n", "line 2: value wants a number with a point" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct coati_error err = { 0 };

		CHECK_INT(coati_live_text_read(wrong[i].text, ignore, NULL, &err), <, 0);
		CHECK_HAS(err.text, wrong[i].says);
	}
}

/* The bytes of the example in docs/formats/live.md are what its text says. */
TEST(live_format_page_has_an_example_that_reads_as_it_says)
{
	struct strbuf page = STRBUF_INIT(1 << 16), text = STRBUF_INIT(1 << 16);
	uint8_t bytes[256];
	size_t size = 0;
	struct live_names names;
	const char *at, *end;
	char path[512], two[3] = { 0 };
	uint64_t v;

	snprintf(path, sizeof(path), "%s/../../docs/formats/live.md", test_data_dir());
	CHECK_INT(coati_file_read(AT_FDCWD, path, &page), ==, 0);
	at = strstr(page.text, "```\n43 4c") + 4;
	end = strstr(at, "\n```");
	while (at < end) {
		for (unsigned int i = 0; i < 16; i++, at += 3) {
			memcpy(two, at, 2);
			CHECK_INT(coati_parse_hex(two, &v), ==, 0);
			bytes[size++] = (uint8_t)v;
		}
		at += strcspn(at, "\n") + 1;
	}
	coati_live_names_init(&names, 0);
	CHECK_INT(coati_live_text_write(bytes, size, &names, &text), ==, 0);
	CHECK_HAS(text.text, "generation=3");
	CHECK_HAS(page.text, strchr(text.text, '\n') + 1);
	coati_live_names_fini(&names);
	coati_strbuf_fini(&page);
	coati_strbuf_fini(&text);
}

/* ---- the decoder ---- */

struct one {
	uint8_t bytes[LIVE_BATCH_MAX];
	size_t size;
};

static int keep_last(void *ctx, const uint8_t *bytes, size_t size)
{
	struct one *o = ctx;

	memcpy(o->bytes, bytes, size);
	o->size = size;
	return 0;
}

static void make_batch(const char *text, struct one *ret)
{
	struct coati_error err = { 0 };

	if (coati_live_text_read(text, keep_last, ret, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

TEST(live_batch_of_every_shorter_length_is_refused)
{
	static struct one o;
	struct live_view b;

	make_batch("batch pid=7 base=5\n5 counter site=1 value=300\n9 region_end\n", &o);
	CHECK(!coati_live_open(o.bytes, o.size, &b));
	for (size_t size = 0; size < o.size; size++)
		CHECK(coati_live_open(o.bytes, size, &b));
}

TEST(live_batch_with_any_bit_of_its_events_changed_is_refused)
{
	static struct one o;
	struct live_view b;

	make_batch("batch pid=7 base=5\n5 counter site=1 value=300\n9 region_end\n", &o);
	for (size_t bit = 8 * LIVE_HEAD; bit < 8 * o.size; bit++) {
		o.bytes[bit / 8] ^= (uint8_t)(1u << (bit & 7));
		CHECK_STR(coati_live_open(o.bytes, o.size, &b), "its checksum is wrong");
		o.bytes[bit / 8] ^= (uint8_t)(1u << (bit & 7));
	}
}

static const char *walk_end(const char *hex)
{
	static struct one o;
	struct live_view b;
	struct live_walk w;
	struct live_event e;
	char text[256];
	int n;

	snprintf(text, sizeof(text), "batch pid=7 base=18446744073709551614\nhex %s\n", hex);
	make_batch(text, &o);
	CHECK(!coati_live_open(o.bytes, o.size, &b));
	w = coati_live_walk(&b, NULL, NULL, NULL);
	while ((n = coati_live_next(&w, &e)) > 0)
		;
	CHECK_INT(coati_live_next(&w, &e), ==, n);
	return n < 0 ? w.why : "";
}

TEST(live_numbers_have_at_most_ten_bytes_and_fit)
{
	CHECK_STR(walk_end("0500ffffffffffffffffff01"), "");
	CHECK_STR(walk_end("050080808080808080808000"), "");
	CHECK_HAS(walk_end("0500ffffffffffffffffff02"), "impossible number");
	CHECK_HAS(walk_end("05008080808080808080808000"), "impossible number");
	CHECK_HAS(walk_end("0500ff"), "longer than its batch");
	CHECK_STR(walk_end("0201"), "");
	CHECK_HAS(walk_end("0202"), "a time does not fit");
	CHECK_HAS(walk_end("e20000000000"), "a time does not fit");
	CHECK_HAS(walk_end("20"), "padding has a time");
	CHECK_STR(walk_end("000000"), "");
	CHECK_HAS(walk_end("0700010a6869"), "longer than its batch");
	CHECK_HAS(walk_end("1a000181010000"), "impossible number");
}

/* ---- the reader ---- */

TEST(live_reader_gives_the_same_twice_whatever_the_order_of_arrival_says)
{
	struct strbuf text = STRBUF_INIT(1 << 20), a = STRBUF_INIT(1 << 20),
		      b = STRBUF_INIT(1 << 20);

	read_data("two_processes_are_merged", &text);
	CHECK_INT(live_text_run(text.text, &a, NULL), >=, 0);
	CHECK_INT(live_text_run(text.text, &b, NULL), >=, 0);
	CHECK_STR(a.text, b.text);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&a);
	coati_strbuf_fini(&b);
}

/* @nr generations of one thread with a counter each, process by process in turn. */
static void many(struct strbuf *s, unsigned int processes, unsigned int generations, bool ends)
{
	for (unsigned int g = 1; g <= generations; g++)
		for (unsigned int p = 1; p <= processes; p++) {
			coati_strbuf_printf(s,
					    "batch kind=sites pid=%u tid=%u generation=%u\n"
					    "- site id=1 kind=2 name=\"n\"\n"
					    "batch tid=%u base=%u\n%u counter site=1 value=%u\n",
					    p, p, g, p, 1000 * g + p, 1000 * g + p, g);
			if (ends)
				coati_strbuf_adds(s, "batch kind=end\n");
		}
}

TEST(live_reader_gives_out_what_is_certain_before_the_end)
{
	struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;

	many(&text, 2, 10, true);
	CHECK_INT(coati_live_reader_new(NULL, &t, NULL), ==, 0);
	CHECK_INT(live_text_feed(t, text.text, NULL), ==, 0);
	CHECK_INT(live_text_drain(t, NULL, &out), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, >=, 16);
	CHECK_U64(q.events, <, 20);
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	CHECK_INT(live_text_drain(t, NULL, &out), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 20);
	CHECK_U64(q.late, ==, 0);
	CHECK_U64(q.held_bytes, ==, 0);
	CHECK_INT(coati_live_reader_feed(t, "", 0, 0, NULL), ==, -EINVAL);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

/* ---- processes that end ---- */

#define LAST "flags=21" /* closed, nanoseconds, the last */

/* One generation of a process: two counters with the next values, and its end mark. */
static void tell(struct strbuf *s, unsigned int pid, unsigned int g, bool ends)
{
	coati_strbuf_printf(s,
			    "batch kind=sites pid=%u tid=%u generation=%u\n"
			    "- site id=1 kind=2 name=\"n\"\n"
			    "batch tid=%u seq=%u base=%u\n"
			    "%u counter site=1 value=%u\n%u counter site=1 value=%u\n",
			    pid, pid, g, pid, g - 1, 1000 * g + pid, 1000 * g + pid, 2 * g - 1,
			    1000 * g + 500 + pid, 2 * g);
	if (ends)
		coati_strbuf_adds(s, "batch kind=end\n");
}

static void tell_last(struct strbuf *s, unsigned int pid, unsigned int g)
{
	coati_strbuf_printf(s, "batch kind=end pid=%u tid=%u generation=%u " LAST "\n", pid, pid,
			    g);
}

struct told {
	uint64_t count[4], events; /* by process */
	uint64_t time;
};

/* What can be had: each process counts without a gap, and times never go back. */
static void drain_counts(struct coati_live_reader *t, struct told *ret)
{
	const struct coati_trace_event *e;
	int n;

	while ((n = coati_live_reader_next(t, &e)) > 0) {
		CHECK_INT(e->kind, ==, COATI_TRACE_COUNTER);
		CHECK_U64(e->time, >=, ret->time);
		CHECK(!(e->flags & COATI_TRACE_LATE));
		CHECK_INT(e->number, ==, ++ret->count[e->pid]);
		ret->time = e->time;
		ret->events++;
	}
	CHECK_INT(n, ==, 0);
}

static void feed_and_drain(struct coati_live_reader *t, struct strbuf *text, struct told *ret)
{
	CHECK_OK(live_text_feed(t, text->text, NULL));
	coati_strbuf_clear(text);
	drain_counts(t, ret);
}

/* Process 1 ends in order, 2 is killed before it ends its last generation, 3 goes on. */
static void three_processes(struct strbuf *text)
{
	for (unsigned int g = 1; g <= 4; g++)
		for (unsigned int pid = 1; pid <= 3; pid++)
			tell(text, pid, g, pid != 2 || g < 4);
}

TEST(live_reader_waits_for_no_process_that_has_ended)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	struct told told = { 0 };

	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	three_processes(&text);
	feed_and_drain(t, &text, &told);
	CHECK_U64(told.events, ==, 11); /* up to the last event of the second generation of 2 */
	tell_last(&text, 1, 4);
	feed_and_drain(t, &text, &told);
	CHECK_U64(told.events, ==, 11); /* 2 may only be quiet */
	tell_last(&text, 2, 4);
	feed_and_drain(t, &text, &told);
	for (unsigned int g = 5; g <= 1000; g++) {
		tell(&text, 3, g, true);
		feed_and_drain(t, &text, &told);
		CHECK_U64(told.count[1], ==, 8);
		CHECK_U64(told.count[2], ==, 8);
		CHECK_U64(told.count[3], ==, 2 * (g - 1));
		coati_live_reader_get_quality(t, &q);
		CHECK_U64(q.held_bytes, <, 2048);
	}
	CHECK_OK(coati_live_reader_finish(t));
	drain_counts(t, &told);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(told.events, ==, 8 + 8 + 2000);
	CHECK_U64(q.incomplete, ==, 1);
	CHECK_U64(q.generations, ==, 4 + 4 + 1000);
	CHECK_U64(q.late + q.forced + q.missing + q.damaged + q.held_bytes, ==, 0);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

/* Process 1 has nothing to tell, but goes on to end its generations. */
TEST(live_reader_waits_for_a_quiet_process_one_generation_long)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	struct told told = { 0 };
	unsigned int g;

	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	for (g = 1; g <= 1000; g++) {
		tell(&text, 3, g, true);
		coati_strbuf_printf(&text, "batch kind=end pid=1 tid=1 generation=%u base=%u\n", g,
				    1000 * g + 400);
		feed_and_drain(t, &text, &told);
		/* the first event of the generation before is earlier than its end, the second
		 * is not */
		CHECK_U64(told.count[3], ==, g < 2 ? 0 : 2 * g - 3);
		coati_live_reader_get_quality(t, &q);
		CHECK_U64(q.held_bytes, <, 2048);
	}
	/* now it stands still, and may have something to tell */
	for (; g <= 1100; g++) {
		tell(&text, 3, g, true);
		feed_and_drain(t, &text, &told);
		CHECK_U64(told.count[3], ==, 2 * 1000 - 3);
	}
	/* it had: nothing has overtaken that */
	coati_strbuf_printf(&text,
			    "batch pid=1 tid=1 generation=1001 seq=0 base=%u\n"
			    "%u counter site=1 value=1\n%u counter site=1 value=2\n",
			    1000 * 1000 + 402, 1000 * 1000 + 402, 1000 * 1001 + 1);
	feed_and_drain(t, &text, &told);
	CHECK_OK(coati_live_reader_finish(t));
	drain_counts(t, &told);
	CHECK_U64(told.count[1], ==, 2);
	CHECK_U64(told.count[3], ==, 2 * 1100);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.late + q.forced + q.missing + q.damaged + q.held_bytes, ==, 0);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

/* All of them end; the same mark a second time, or of an unknown process, changes nothing. */
TEST(live_reader_gives_all_when_the_last_process_has_ended)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct coati_live_reader *t = NULL;
	struct told told = { 0 };

	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	tell_last(&text, 2, 7); /* of one that is not known */
	three_processes(&text);
	for (unsigned int pid = 3; pid; pid--)
		tell_last(&text, pid, 4);
	tell_last(&text, 2, 4);
	feed_and_drain(t, &text, &told);
	CHECK_U64(told.events, ==, 24);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

/* A process whose recorder has ended may start another: its generations begin at 1 again, and the
 * others wait for them. */
TEST(live_reader_waits_for_a_process_that_begins_again)
{
	struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	struct coati_live_process p;

	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	for (unsigned int g = 1; g <= 10; g++) {
		tell(&text, 3, g, true);
		if (g <= 4)
			tell(&text, 1, g, true);
		if (g == 4)
			tell_last(&text, 1, g);
	}
	CHECK_OK(live_text_feed(t, text.text, NULL));
	CHECK_OK(live_text_drain(t, NULL, &out));
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 8 + 18);
	coati_strbuf_clear(&text);
	coati_strbuf_adds(&text, "batch pid=1 tid=1 generation=1 seq=0 base=20000\n"
				 "20001 counter site=1 value=1\nbatch kind=end\n");
	for (unsigned int g = 11; g <= 30; g++)
		tell(&text, 3, g, true);
	CHECK_OK(live_text_feed(t, text.text, NULL));
	CHECK_OK(live_text_drain(t, NULL, &out));
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 8 + 18);
	CHECK_OK(coati_live_reader_process(t, 2, &p));
	CHECK_U64(p.pid, ==, 1);
	CHECK_OK(coati_live_reader_finish(t));
	CHECK_OK(live_text_drain(t, NULL, &out));
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 8 + 60 + 1);
	CHECK_U64(q.late, ==, 0);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

/* What is said of @text from a time on. */
static void run_from(const char *text, uint64_t from_ns, struct strbuf *out)
{
	struct coati_trace_opts o = { .size = sizeof(o), .from_ns = from_ns };
	struct coati_trace_check *c = NULL;
	struct coati_live_reader *t = NULL;

	CHECK_OK(coati_live_reader_new(&o, &t, NULL));
	CHECK_OK(coati_trace_check_new(&c, NULL));
	CHECK_OK(live_text_feed(t, text, NULL));
	CHECK_OK(coati_live_reader_finish(t));
	CHECK_OK(live_text_drain(t, c, out));
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
}

/* The time of a line "> SECONDS.NANOSECONDS ...". */
static uint64_t time_of(const char *line)
{
	return strtoull(line + 2, NULL, 10) * 1000000000 +
	       strtoull(strchr(line, '.') + 1, NULL, 10);
}

static size_t line_size(const char *line)
{
	return strcspn(line, "\n") + 1;
}

/* Names, labels and what is open come first, at that time; the rest is unchanged. */
static void check_from(const char *text, const char *whole, uint64_t from_ns)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	const char *at;

	run_from(text, from_ns, &out);
	if (strstr(out.text, "! "))
		test_fail_at(__FILE__, __LINE__, "from %llu on: %s", (unsigned long long)from_ns,
			     out.text);
	at = out.text;
	while (*whole && time_of(whole) < from_ns)
		whole += line_size(whole);
	while (*at && strncmp(at, whole, line_size(whole)) != 0) {
		CHECK_U64(time_of(at), ==, from_ns);
		at += line_size(at);
	}
	CHECK_STR(at, whole);
	coati_strbuf_fini(&out);
}

TEST(live_reader_from_any_time_on_gives_the_rest_and_what_is_open)
{
	static const char *const names[] = { "every_kind_of_event",
					     "regions_nest_and_have_lengths",
					     "open_things_are_told_again",
					     "resource_goes_its_way",
					     "task_keeps_its_type_across_generations",
					     "two_processes_are_merged" };
	unsigned int times = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct strbuf text = STRBUF_INIT(1 << 20), whole = STRBUF_INIT(1 << 20);

		read_data(names[i], &text);
		run_from(text.text, 0, &whole);
		for (const char *at = whole.text; *at; at += line_size(at), times++) {
			check_from(text.text, whole.text, time_of(at));
			check_from(text.text, whole.text, time_of(at) + 1);
		}
		coati_strbuf_fini(&text);
		coati_strbuf_fini(&whole);
	}
	CHECK_INT(times, >, 50);
}

TEST(live_reader_from_a_time_on_tells_how_old_what_is_open_is)
{
	struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);

	read_data("open_things_are_told_again", &text);
	run_from(text.text, 1100, &out); /* the inner region ends at that very time */
	CHECK_HAS(out.text,
		  "> 0.000001100 7/0 task_begin site=\"job\" id=9 parent=2 duration=600 "
		  "flags=reopened\n"
		  "> 0.000001100 7/7 task_enter id=9 flags=reopened\n"
		  "> 0.000001100 7/7 region_begin site=\"outer\" depth=0 duration=500 task=9 "
		  "flags=reopened\n"
		  "> 0.000001100 7/7 region_begin site=\"inner\" depth=1 duration=200 task=9 "
		  "flags=reopened\n");
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

static int feed_one(void *ctx, const uint8_t *bytes, size_t size)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct coati_live_reader *t = ctx;
	struct coati_trace_quality q = { .size = sizeof(q) };

	CHECK_INT(coati_live_reader_feed(t, bytes, size, 0, NULL), ==, 0);
	CHECK_INT(live_text_drain(t, NULL, &out), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.held_bytes, <, 8192);
	coati_strbuf_fini(&out);
	return 0;
}

/* Process 2 says nothing after its first batch: nobody may wait for it without limit. */
TEST(live_reader_holds_no_more_than_its_ceiling)
{
	struct coati_trace_opts o = { .size = sizeof(o), .max_bytes = 4096 };
	struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;

	coati_strbuf_adds(&text, "batch pid=2 tid=2 base=5\n5 region_end\n");
	many(&text, 1, 300, true);
	CHECK_INT(coati_live_reader_new(&o, &t, NULL), ==, 0);
	CHECK_INT(coati_live_text_read(text.text, feed_one, t, NULL), ==, 0);
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	CHECK_INT(live_text_drain(t, NULL, &out), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 301);
	CHECK_U64(q.forced, >, 0);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

TEST(live_reader_refuses_more_when_nobody_takes_events_out)
{
	struct coati_trace_opts o = { .size = sizeof(o), .max_bytes = 4096 };
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct coati_error err = { 0 };
	struct coati_live_reader *t = NULL;

	many(&text, 1, 300, true);
	CHECK_INT(coati_live_reader_new(&o, &t, NULL), ==, 0);
	CHECK_INT(live_text_feed(t, text.text, &err), ==, -E2BIG);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

TEST(live_reader_survives_every_failing_allocation)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	int n = -ENOMEM;

	read_data("every_kind_of_event", &text);
	for (uint64_t i = 0; n < 0; i++) {
		struct strbuf out = STRBUF_INIT(1 << 20);

		coati_alloc_fail_after(i);
		n = live_text_run(text.text, &out, NULL);
		n = n < 0 || out.failed ? -ENOMEM : 0;
		coati_alloc_fail_after(UINT64_MAX);
		coati_strbuf_fini(&out);
		CHECK_U64(i, <, 10000);
	}
	coati_strbuf_fini(&text);
}

TEST(live_reader_follows_ten_thousand_threads_that_come_and_go)
{
	struct strbuf text = STRBUF_INIT(16 << 20), out = STRBUF_INIT(16 << 20);
	struct coati_error err = { 0 };
	/* ASan looks at the whole rest of the text for every word of it */
	const unsigned int nr = test_slow() ? 1000 : 10000;
	char expected[64];

	for (unsigned int i = 0; i < nr; i++)
		coati_strbuf_printf(
			&text, "batch pid=1 tid=%u generation=%u seq=0 base=%u\n%u region_end\n",
			10 + i, 1 + i / (nr / 10), 100 * i, 100 * i + 1);
	CHECK_INT(live_text_run(text.text, &out, &err), >=, 0);
	snprintf(expected, sizeof(expected), "= batches %u events %u incomplete 10\n", nr, nr);
	CHECK_HAS(out.text, expected);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}

TEST(live_open_things_are_listed_at_the_end)
{
	struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
	const struct coati_live_opened *open = NULL;
	struct coati_live_process process;
	struct coati_live_reader *t = NULL;
	uint32_t nr = 0;

	coati_strbuf_adds(
		&text,
		"batch kind=process pid=7\n- process pid=7 uid=3 start=9 comm=\"app\"\n"
		"batch kind=sites\n- site id=1 kind=1 name=\"r\"\n- site id=2 kind=3 name=\"t\"\n"
		"batch tid=9 base=100\n100 region_begin site=1\n110 region_begin site=1\n"
		"120 task_begin site=2 id=4\n130 task_begin site=2 id=3 parent=4\n"
		"batch tid=8 base=100\n105 region_begin site=1\n");
	CHECK_INT(coati_live_reader_new(NULL, &t, NULL), ==, 0);
	CHECK_INT(live_text_feed(t, text.text, NULL), ==, 0);
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	CHECK_INT(live_text_drain(t, NULL, &out), ==, 0);
	CHECK_INT(coati_live_reader_open_regions(t, &open, &nr), ==, 0);
	CHECK_INT(nr, ==, 3);
	CHECK(open[0].tid == 8 && open[1].tid == 9 && open[2].depth == 1);
	CHECK_U64(open[2].began_ns, ==, 110);
	CHECK_INT(coati_live_reader_open_tasks(t, &open, &nr), ==, 0);
	CHECK_INT(nr, ==, 2);
	CHECK(open[0].id == 3 && open[0].parent == 4 && open[1].id == 4);
	CHECK_INT(coati_live_reader_process(t, 0, &process), ==, 0);
	CHECK(process.pid == 7 && process.uid == 3 && process.nr_open_tasks == 2);
	CHECK_INT(coati_live_reader_process(t, 1, &process), ==, -ENOENT);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&out);
}
