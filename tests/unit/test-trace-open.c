/* SPDX-License-Identifier: MIT */
/* Live events of a file by one call: recordings, flight recorders, what is neither, what is cut. */
#include <coati/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "lib/live-map.h"
#include "lib/test.h"
#include "profile-tape.h"

static const char told[] =
	"batch kind=sites pid=7\n"
	"- site id=1 kind=1 name=\"serve\" file=\"s.c\" line=7\n"
	"- site id=2 kind=2 name=\"log\" category=\"http\"\n"
	"- site id=3 kind=9 name=\"opened\" fields=\"fd:i from:s\"\n"
	"batch tid=7 base=1000 pair_cycles=1000 pair_ns=5000 end_cycles=3000 end_ns=6000\n"
	"1000 open_enter tid=7 id=0\n"
	"1100 region_begin site=1\n"
	"1200 log site=2 text=\"hello\"\n"
	"1300 labels set=\"\\x05route\\x04/api\"\n"
	"1400 region_end\n"
	"batch kind=end\n";

static void write_recording(const char *path)
{
	struct tape t;

	tape_program();
	tape_begin(&t, path);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", 0);
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, 7, "app");
	tape_put(&t, (struct tape_sample){ .pid = 7, TAPE_STACK(TAPE_LEAF) });
	tape_live_text(&t, told);
	tape_close(&t);
}

/* Kinds of all events, blanks between; what the last next() returned. */
static int kinds_of(struct coati_trace *t, struct strbuf *ret)
{
	const struct coati_trace_event *e;
	int n;

	while ((n = coati_trace_next(t, &e)) > 0)
		coati_strbuf_printf(ret, "%s%s", ret->len ? " " : "",
				    coati_trace_kind_name(e->kind));
	return n;
}

TEST(trace_open_gives_the_events_of_a_recording_and_then_the_end)
{
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct strbuf kinds = STRBUF_INIT(4096);
	struct coati_trace *t = NULL;

	write_recording("a");
	CHECK_OK(coati_trace_open("a", NULL, &t, NULL));
	CHECK_INT(kinds_of(t, &kinds), ==, 0);
	CHECK_STR(kinds.text, "task_enter region_begin log labels region_end");
	CHECK_INT(coati_trace_next(t, &(const struct coati_trace_event *){ NULL }), ==, 0);
	coati_trace_get_quality(t, &q);
	CHECK_U64(q.events, ==, 5);
	CHECK_U64(q.lost, ==, 0);
	CHECK_INT(coati_trace_damage(t)->code, ==, 0);
	coati_trace_close(&t);
	CHECK(!t);
	coati_strbuf_fini(&kinds);
}

TEST(trace_open_gives_labels_and_lines)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_text key, value;
	const struct coati_trace_event *e;
	struct coati_trace *t = NULL;
	char line[256];

	write_recording("a");
	CHECK_OK(coati_trace_open("a", NULL, &t, NULL));
	do
		CHECK_INT(coati_trace_next(t, &e), ==, 1);
	while (e->kind != COATI_TRACE_LOG);
	coati_trace_event_format(t, e, line, sizeof(line));
	CHECK_HAS(line, " log site=\"log\" category=\"http\" text=\"hello\"");
	CHECK_INT(coati_trace_next(t, &e), ==, 1);
	CHECK_INT(coati_trace_label_next(e, &pos, &key, &value), ==, 1);
	CHECK_MEM(key.text, "route", 5);
	CHECK_MEM(value.text, "/api", 4);
	CHECK_INT(coati_trace_label_next(e, &pos, &key, &value), ==, 0);
	coati_trace_close(&t);
}

TEST(trace_open_omits_what_lies_outside_of_the_window)
{
	struct coati_trace_opts o = { .size = sizeof(o), .from_ns = 5120, .to_ns = 5180 };
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct strbuf kinds = STRBUF_INIT(4096);
	struct coati_trace *t = NULL;

	write_recording("a");
	CHECK_OK(coati_trace_open("a", &o, &t, NULL));
	CHECK_INT(kinds_of(t, &kinds), ==, 0);
	CHECK_HAS(kinds.text, "labels");
	CHECK(!strstr(kinds.text, "log"));
	CHECK(!strstr(kinds.text, "region_end"));
	coati_trace_get_quality(t, &q);
	CHECK_U64(q.left_out, >, 0);
	coati_trace_close(&t);
	coati_strbuf_fini(&kinds);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT(fd, >=, 0);
	CHECK_OK(coati_write_all(fd, bytes, size));
	close(fd);
}

TEST(trace_open_reads_the_memory_of_a_flight_recorder)
{
	struct strbuf kinds = STRBUF_INIT(4096);
	uint8_t *map = coati_alloc(LIVE_MAP_BYTES);
	struct coati_error err = { 0 };
	struct coati_trace *t = NULL;

	CHECK(map);
	CHECK_OK(live_map_make("batch kind=sites pid=4242\n"
			       "- site id=2 kind=2 name=\"log\" category=\"http\"\n"
			       "batch generation=1 tid=4242 flags=0 base=4000 pair_cycles=4000 "
			       "pair_ns=6500 capacity=4000\n"
			       "4000 open_enter tid=4242 id=0\n"
			       "4200 log site=2 text=\"last words\"\n",
			       99, map, &err));
	write_bytes("flight", map, LIVE_MAP_BYTES);
	CHECK_OK(coati_trace_open("flight", NULL, &t, &err));
	CHECK_INT(kinds_of(t, &kinds), ==, 0);
	CHECK_STR(kinds.text, "task_enter log");
	coati_trace_close(&t);
	coati_strbuf_fini(&kinds);
	coati_free(map);
}

TEST(trace_open_says_what_is_no_such_file)
{
	struct coati_error err = { 0 };
	struct coati_trace *t = NULL;

	CHECK_INT(coati_trace_open("none", NULL, &t, &err), ==, -ENOENT);
	CHECK_HAS(err.text, "none");
	write_bytes("text", "#!/bin/sh\necho hello, this is no recording at all\n", 50);
	CHECK_INT(coati_trace_open("text", NULL, &t, &err), ==, -EBADMSG);
	CHECK_HAS(err.text, "text: not a recording, a flight recorder's file or a core file");
	CHECK_INT(coati_trace_open(NULL, NULL, &t, &err), ==, -EINVAL);
	CHECK(!t);
	coati_trace_close(&t);
	CHECK_INT(coati_trace_next(NULL, &(const struct coati_trace_event *){ NULL }), ==, -EINVAL);
}

TEST(trace_open_gives_the_events_before_a_cut_and_then_the_error)
{
	struct strbuf whole = STRBUF_INIT(1 << 20), kinds = STRBUF_INIT(4096);
	struct coati_trace *t = NULL;

	/* wherever it is cut: an end, or an error with its sentence */
	write_recording("a");
	CHECK_OK(coati_file_read(AT_FDCWD, "a", &whole));
	for (size_t cut = whole.len - 1; cut > 0; cut -= cut > 4096 ? 4096 : 13) {
		write_bytes("cut", whole.text, cut);
		coati_strbuf_clear(&kinds);
		if (coati_trace_open("cut", NULL, &t, NULL) == 0) {
			int n = kinds_of(t, &kinds);

			CHECK(n == 0 || coati_trace_damage(t)->code == n);
			CHECK(n == 0 || coati_trace_damage(t)->text[0]);
			coati_trace_close(&t);
		}
		if (cut < 14)
			break;
	}
	coati_strbuf_fini(&whole);
	coati_strbuf_fini(&kinds);
}
