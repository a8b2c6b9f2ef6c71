/* SPDX-License-Identifier: MIT */
/* Samples that programs took of themselves and told in live events: in profiles, in views beside
 * those of the kernel, and on a timeline. */
#include "lib/test.h"

#include <string.h>

#include <coati/trace.h>

#include "base/strbuf.h"
#include "live-read/sampled.h"
#include "live-read/text.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "trace/timeline.h"
#include "unit/profile-tape.h"

/* Process 7: thread 7 works on a request, thread 9 has a label. Stack 1: leaf called by main; 2:
 * work called by main; 3: nowhere. */
static const char told[] = "batch kind=process pid=7\n"
			   "- process pid=7 uid=0 start=99 boot=\"0123456789abcdef\" "
			   "comm=\"app\" exe=\"/bin/app\"\n"
			   "batch kind=sites pid=7\n"
			   "- site id=1 kind=1 name=\"handle\"\n"
			   "- site id=3 kind=3 name=\"request\"\n"
			   "batch kind=table pid=7\n"
			   "- stack id=1 addresses=0x7f0000000224,0x7f0000000205\n"
			   "- stack id=2 addresses=0x7f0000000214,0x7f0000000205\n"
			   "- stack id=3 addresses=0x10,0x20\n"
			   "batch tid=7 base=1001000000\n"
			   "1001000000 open_enter tid=7 id=0\n"
			   "1001000000 thread_name name=\"main\"\n"
			   "1001001000 sample stack=1 weight=1000\n"
			   "1001010000 task_begin site=3 id=1\n"
			   "1001010000 task_enter id=1\n"
			   "1001015000 sample stack=1 weight=20\n"
			   "1001020000 region_begin site=1\n"
			   "1001025000 sample stack=2 weight=300\n"
			   "1001030000 region_end\n"
			   "1001035000 sample stack=2 weight=4\n"
			   "1001040000 task_enter id=0\n"
			   "batch tid=9 base=1001000000\n"
			   "1001000000 open_enter tid=9 id=0\n"
			   "1001000000 thread_name name=\"worker\"\n"
			   "1001030000 labels set=\"\\x05route\\x04/api\"\n"
			   "1001036000 sample stack=1 weight=50000\n"
			   "batch kind=end\n";

/* The recording "a": what process 7 tells, and @samples of the kernel's, of 1000 each. */
static void tape_told(const char *text, uint32_t samples, bool is_mapped)
{
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	t.attr_flags = COATI_ATTR_USE_CLOCKID;
	if (samples)
		tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
			   COATI_SAMPLE_CALLCHAIN);
	else
		tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_DUMMY, "dummy", 0);
	tape_live_event(&t);
	tape_start(&t);
	if (is_mapped)
		tape_process(&t, 7, "app");
	for (uint32_t i = 0; i < samples; i++)
		tape_put(&t, (struct tape_sample){ .pid = 7, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_live_text(&t, text);
	tape_close(&t);
}

struct sampled {
	struct coati_contexts *contexts;
	struct coati_profile *profile;
	struct coati_view *view;
	struct coati_view_info info;
};

static struct sampled open_sampled(const struct coati_filter *f, bool with_labels)
{
	struct sampled s = { 0 };
	struct coati_profile_opts o = { .size = sizeof(o), .filter = f };
	struct coati_profile_hooks hooks = { 0 };

	CHECK_OK(coati_contexts_new(&s.contexts, NULL));
	hooks.contexts = with_labels ? coati_contexts_source(s.contexts)
				     : coati_contexts_samples(s.contexts);
	s.profile = tape_read_hooked(&o, &hooks, (const char *const[]){ "a", NULL });
	s.view = tape_view(s.profile, f);
	s.info.size = sizeof(s.info);
	coati_view_info(s.view, &s.info);
	return s;
}

static void close_sampled(struct sampled *s)
{
	coati_view_free(&s->view);
	coati_profile_free(&s->profile);
	coati_contexts_free(&s->contexts);
}

static uint64_t weight_by(const struct sampled *s, const char *label, const char *value)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_LABEL, .label = label };
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(s->view, &q, &rows, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].name, value))
			return rows[i].self;
	return 0;
}

static uint64_t total_of(const struct coati_filter *f)
{
	struct sampled s = open_sampled(f, true);
	uint64_t total = s.info.total;

	close_sampled(&s);
	return total;
}

static bool has_note(const struct coati_profile *p, const char *word)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_profile_note(p, i)); i++)
		if (strstr(note, word))
			return true;
	return false;
}

TEST(live_samples_have_weights_stacks_and_an_event_of_their_own)
{
	const struct coati_profile_event *e;
	struct sampled s;

	tape_told(told, 0, true);
	s = open_sampled(NULL, false);
	CHECK_U64(s.info.total, ==, 51324);
	CHECK_U64(s.info.samples, ==, 5);
	CHECK_STR(s.info.unit, "ns");
	CHECK_U64(tape_row(s.view, COATI_BY_FUNCTION, "leaf").self, ==, 51020);
	CHECK_U64(tape_row(s.view, COATI_BY_FUNCTION, "work").self, ==, 304);
	CHECK_U64(tape_row(s.view, COATI_BY_FUNCTION, "main").total, ==, 51324);
	e = coati_profile_event(s.profile, coati_profile_event_count(s.profile) - 1);
	CHECK_STR(e->name, COATI_LIVE_CPU);
	CHECK_U64(e->samples, ==, 5);
	CHECK_U64(e->weight, ==, 51324);
	CHECK_U64(e->is_live, ==, 1);
	CHECK(!has_note(s.profile, "have no names"));
	close_sampled(&s);
}

TEST(live_samples_know_task_region_and_labels_without_a_second_walk)
{
	struct sampled s;

	tape_told(told, 0, true);
	for (int with_labels = 0; with_labels < 2; with_labels++) {
		s = open_sampled(NULL, with_labels);
		CHECK_U64(weight_by(&s, "task", "request"), ==, 324);
		CHECK_U64(weight_by(&s, "task", ""), ==, 51000);
		CHECK_U64(weight_by(&s, "region", "handle"), ==, 300);
		CHECK_U64(weight_by(&s, "route", "/api"), ==, 50000);
		close_sampled(&s);
	}
}

TEST(live_samples_follow_the_filter)
{
	tape_told(told, 0, true);
#define ONLY(...) &(struct coati_filter){ .size = sizeof(struct coati_filter), __VA_ARGS__ }
	CHECK_U64(total_of(ONLY(.task = "request")), ==, 324);
	CHECK_U64(total_of(ONLY(.region = "handle")), ==, 300);
	CHECK_U64(total_of(ONLY(.label = "route=/api")), ==, 50000);
	CHECK_U64(total_of(ONLY(.thread = "9")), ==, 50000);
	CHECK_U64(total_of(ONLY(.event = "cpu-clock")), ==, 0);
	CHECK_U64(total_of(ONLY(.event = COATI_LIVE_CPU)), ==, 51324);
	CHECK_U64(total_of(ONLY(.cpu = "0")), ==, 0);
	CHECK_U64(total_of(ONLY(.focus = "work")), ==, 304);
	CHECK_U64(total_of(ONLY(.time = "14us-30us")), ==, 320);
	/* from 1001001000 to 1001036000 */
	CHECK_U64(total_of(ONLY(.time = "90%-")), ==, 50004);
	CHECK_U64(total_of(ONLY(.time = "-50%")), ==, 1020);
}

TEST(live_samples_beside_those_of_the_kernel_are_left_out_unless_asked_for)
{
	struct sampled s;

	tape_told(told, 3, true);
	s = open_sampled(NULL, true);
	CHECK_U64(s.info.total, ==, 3000);
	CHECK_U64(s.info.nr_events, ==, 1);
	CHECK_STR(s.info.unit, "ns");
	CHECK_U64(weight_by(&s, "task", "request"), ==, 0);
	CHECK(has_note(s.profile, "5 samples that the program took of itself are left out"));
	close_sampled(&s);
	CHECK_U64(total_of(ONLY(.event = COATI_LIVE_CPU)), ==, 51324);
	CHECK_U64(total_of(ONLY(.event = "cpu-clock")), ==, 3000);
	CHECK_U64(total_of(ONLY(.event = "cpu-clock,live:*")), ==, 54324);
}

TEST(live_samples_of_threads_that_nobody_else_tells_of_have_the_names_of_the_program)
{
	struct sampled s;

	tape_told(told, 0, false);
	s = open_sampled(NULL, false);
	CHECK_U64(s.info.total, ==, 51324);
	CHECK_U64(tape_row(s.view, COATI_BY_PROCESS, "app").self, ==, 51324);
	CHECK_U64(tape_row(s.view, COATI_BY_THREAD, "worker").self, ==, 50000);
	CHECK(has_note(s.profile, "5 of 5 samples of live:cpu have no names"));
	close_sampled(&s);
}

/* A stack that is not there, and two batches that are not. */
TEST(live_samples_of_a_damaged_trace_say_so)
{
	static const char text[] = "batch kind=process pid=7\n"
				   "- process pid=7 uid=0 start=99 boot=\"0123456789abcdef\" "
				   "comm=\"app\" exe=\"/bin/app\"\n"
				   "batch tid=7 base=1000 seq=0\n"
				   "1001 sample stack=77 weight=5\n"
				   "batch tid=7 base=2000 seq=3\n"
				   "2001 sample stack=0 weight=6\n"
				   "batch kind=end\n";
	struct sampled s;

	tape_told(text, 0, true);
	s = open_sampled(NULL, false);
	CHECK_U64(s.info.total, ==, 11);
	CHECK_U64(s.info.samples, ==, 2);
	CHECK(has_note(s.profile, "2 batches are missing"));
	close_sampled(&s);
}

/* Of a timeline that keeps everything, and of a summary. */
static void check_seen(uint32_t kernel, uint32_t flags)
{
	const struct coati_timeline_opts o = { .size = sizeof(o), .flags = flags };
	struct coati_timeline *t = NULL;
	struct coati_timeline_info info;
	struct coati_timeline_type type;

	CHECK_OK(coati_timeline_new(&o, &t, NULL));
	CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, NULL));
	coati_timeline_info(t, &info);
	/* where the kernel takes some, these are enough */
	CHECK_U64(info.samples, ==, kernel ? kernel : 5);
	CHECK(info.has & COATI_TIMELINE_HAS_SAMPLES);
	CHECK_OK(coati_timeline_type(t, coati_timeline_find_type(t, "handle"), &type));
	CHECK_U64(type.nr, ==, 1);
	CHECK_U64(type.ledger.samples, ==, kernel ? 0 : 1);
	if (!kernel) { /* with their stacks, which were told before them */
		struct coati_view *v = tape_view(coati_timeline_profile(t), NULL);

		CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "leaf").self, ==, 51020);
		coati_view_free(&v);
	}
	coati_timeline_free(&t);
}

TEST(live_samples_are_where_threads_were_seen_running)
{
	struct coati_timeline *t = NULL;
	struct coati_timeline_info info;
	struct coati_ledger ledger;
	uint32_t task;

	for (uint32_t kernel = 0; kernel < 3; kernel += 2) {
		tape_told(told, kernel, true);
		CHECK_OK(coati_timeline_new(NULL, &t, NULL));
		CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, NULL));
		coati_timeline_info(t, &info);
		/* where the kernel takes some, these are enough */
		CHECK_U64(info.samples, ==, kernel ? kernel : 5);
		CHECK(info.has & COATI_TIMELINE_HAS_SAMPLES);
		task = coati_timeline_find_task(t, 1);
		CHECK_OK(coati_timeline_task_ledger(t, task, &ledger));
		CHECK_U64(ledger.samples, ==, kernel ? 0 : 3);
		coati_timeline_free(&t);
		check_seen(kernel, 0);
		check_seen(kernel, COATI_TIMELINE_SUMMARY);
	}
}

/* ---- which batches have some ---- */

static int ask(void *ctx, const uint8_t *bytes, size_t size)
{
	struct strbuf *answers = ctx;

	coati_strbuf_addc(answers, coati_live_may_have_samples(bytes, size) ? '1' : '0');
	return 0;
}

static void check_batches(const char *text, const char *want)
{
	struct strbuf answers = STRBUF_INIT(64);
	struct coati_error err = { 0 };

	coati_live_text_read(text, ask, &answers, &err);
	CHECK_STR(err.text, "");
	CHECK_STR(answers.text, want);
	coati_strbuf_fini(&answers);
}

TEST(live_samples_are_looked_for_in_batches_that_have_some)
{
	check_batches(told, "000110");
	/* a number that is one of a sample is none, wherever it stands */
	check_batches("batch tid=7 pid=7 base=1000\n"
		      "1017 region_begin site=17\n1017 region_end\n"
		      "1034 task_begin site=17 id=17 parent=145\n"
		      "1051 log site=17 text=\"\\x11\\x11\"\n+17 counter site=17 value=17\n"
		      "+17 gauge site=1 value=0.17\n+17 labels set=\"\\x01a\\x01\\x11\"\n"
		      "+17 thread_name name=\"\\x11\"\n+17 flow site=1 id=17 phase=1\n"
		      "batch tid=8\n1017 region_begin site=17\n1018 sample stack=0 weight=1\n"
		      "batch tid=9 checksum=1\n1018 sample stack=0 weight=1\n",
		      "010");
	/* the length of these is in another batch */
	check_batches("batch kind=sites pid=7\n- site id=1 kind=6 name=\"i\" fields=\"a:u\"\n"
		      "batch tid=7 base=1000\n1017 instant site=1 a=3\n"
		      "batch tid=8 base=1000\nhex 01\n",
		      "011");
}
