/* SPDX-License-Identifier: MIT */
/* A recording that is followed while it is written gives the same model as the whole file; labels
 * that live events tell late reach the samples that they are about. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/top/feed.h"
#include "cli/top/rows.h"
#include "reading/contexts-live.h"
#include "reading/contexts.h"
#include "reading/parts.h"
#include "recording/writer.h"
#include "unit/profile-tape.h"

#define MIB (UINT64_C(1) << 20)
#define PID 10
#define T0  (UINT64_C(100) * NSEC_PER_SEC)

struct live_tape {
	struct tape t;
	int fd;
	struct top_model m;
	struct top_feed f;
};

/* A stream in memory in place of the tape's file. */
static void open_stream(struct live_tape *l, bool off_cpu, bool live)
{
	struct coati_writer_opts o = { .size = sizeof(o), .flags = COATI_WRITER_PIPE };
	struct tape *t = &l->t;

	tape_program();
	tape_begin(t, "unused");
	CHECK_OK(coati_writer_close(&t->writer, NULL));
	l->fd = memfd_create("tape", MFD_CLOEXEC);
	CHECK(l->fd >= 0);
	CHECK_OK(coati_writer_open_fd(dup(l->fd), &o, &t->writer, NULL));
	t->time = T0;
	t->attr_flags = off_cpu ? COATI_ATTR_CONTEXT_SWITCH : 0;
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", COATI_SAMPLE_CALLCHAIN);
	if (off_cpu)
		tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CONTEXT_SWITCHES, COATI_OFF_CPU_EVENT,
			   COATI_SAMPLE_CALLCHAIN);
	if (live)
		tape_live_event(t);
	tape_start(t);
	tape_process(t, PID, "app");
	CHECK_OK(coati_writer_round(t->writer));
}

static void follow(struct live_tape *l)
{
	const struct coati_follow_opts o = { .begin_ns = T0, .whole = true };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->fd);
	CHECK_OK(coati_top_model_init(&l->m, 64 * MIB, 600));
	CHECK_OK(coati_top_feed_init(&l->f, &l->m, true, NULL));
	CHECK_OK(coati_top_feed_begin(&l->f, open(path, O_RDONLY | O_CLOEXEC), NULL, &o, NULL));
}

static void sample_at(struct live_tape *l, uint64_t time, uint64_t leaf, uint64_t period)
{
	tape_put(&l->t, (struct tape_sample){ .pid = PID,
					      .tid = PID,
					      .time = time,
					      .period = period,
					      TAPE_STACK(leaf, TAPE_MAIN) });
}

static void finish(struct live_tape *l)
{
	coati_top_feed_fini(&l->f);
	coati_top_model_fini(&l->m);
	close(l->fd);
}

static struct top_row row_of(const struct top_model *m, struct top_query q, const char *name)
{
	struct top_rows rows;
	struct top_row ret = { 0 };

	CHECK_OK(coati_top_rows(m, &q, &rows));
	for (size_t i = 0; i < rows.rows.len; i++)
		if (!strcmp(rows.rows.v[i].name, name))
			ret = rows.rows.v[i];
	coati_top_rows_fini(&rows);
	return ret;
}

TEST(top_feed_takes_what_two_rounds_have_put_in_order_and_the_rest_at_the_end)
{
	struct top_query q = { .to = UINT64_MAX };
	struct live_tape l = { 0 };

	open_stream(&l, false, false);
	follow(&l);
	for (uint64_t i = 0; i < 10; i++) {
		sample_at(&l, T0 + i * NSEC_PER_SEC + NSEC_PER_SEC / 2,
			  i % 2 ? TAPE_LEAF : TAPE_WORK, 10 + i);
		CHECK_OK(coati_writer_round(l.t.writer));
		CHECK_OK(coati_top_feed_take(&l.f));
		/* the last round is not in order yet */
		if (i == 5)
			CHECK_U64(row_of(&l.m, q, "main").total_count, ==, 5);
	}
	tape_close(&l.t);
	CHECK_OK(coati_top_feed_end(&l.f));
	CHECK_U64(row_of(&l.m, q, "main").total, ==, 10 * 10 + 45);
	CHECK_U64(row_of(&l.m, q, "leaf").self, ==, 11 + 13 + 15 + 17 + 19);
	CHECK_U64(row_of(&l.m, q, "work").self, ==, 10 + 12 + 14 + 16 + 18);
	q.from = q.to = T0 / NSEC_PER_SEC + 3;
	CHECK_U64(row_of(&l.m, q, "leaf").self, ==, 13);
	CHECK_STR(l.f.unit, "ns");
	finish(&l);
}

static void put_switch(struct live_tape *l, uint64_t time, uint16_t misc)
{
	struct coati_record rec = { .type = COATI_RECORD_SWITCH,
				    .misc = misc,
				    .id = { .pid = PID, .tid = PID, .time = time } };

	if (misc)
		tape_put(&l->t, (struct tape_sample){ .event = 1,
						      .pid = PID,
						      .tid = PID,
						      .time = time,
						      TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_record(&l->t, &rec);
}

TEST(top_feed_counts_a_wait_while_it_lasts_and_once_when_it_ends)
{
	struct top_query q = { .to = UINT64_MAX, .mode = TOP_OFF_CPU };
	uint64_t s = NSEC_PER_SEC, weight = 0;
	struct live_tape l = { 0 };

	open_stream(&l, true, false);
	follow(&l);
	sample_at(&l, T0 + 1, TAPE_LEAF, 1);
	put_switch(&l, T0 + s, COATI_MISC_SWITCH_OUT);
	for (uint64_t i = 1; i < 8; i++) {
		/* another thread keeps the clock going */
		tape_put(&l.t, (struct tape_sample){ .pid = PID,
						     .tid = PID + 1,
						     .time = T0 + s + i * s,
						     .period = 1,
						     TAPE_STACK(TAPE_OTHER, TAPE_MAIN) });
		tape_comm(&l.t, PID, PID + 1, "other", 0);
		CHECK_OK(coati_writer_round(l.t.writer));
		CHECK_OK(coati_top_feed_take(&l.f));
		CHECK_U64(row_of(&l.m, q, "work").self, >=, weight);
		CHECK_U64(row_of(&l.m, q, "work").self_count, ==, 0);
		weight = row_of(&l.m, q, "work").self;
	}
	CHECK_U64(weight, >=, 4 * s);
	put_switch(&l, T0 + 10 * s, 0);
	tape_close(&l.t);
	CHECK_OK(coati_top_feed_end(&l.f));
	CHECK_U64(row_of(&l.m, q, "work").self, ==, 9 * s);
	CHECK_U64(row_of(&l.m, q, "work").self_count, ==, 1);
	q.from = q.to = (T0 + 4 * s) / s;
	CHECK_U64(row_of(&l.m, q, "work").self, ==, s);
	finish(&l);
}

static const char told[] = "batch kind=sites pid=10\n"
			   "- site id=3 kind=3 name=\"request\"\n"
			   "batch tid=10 base=100000000000\n"
			   "100000000000 open_enter tid=10 id=0\n"
			   "101000000000 task_begin site=3 id=1\n"
			   "101000000000 task_enter id=1\n"
			   "103000000000 task_enter id=0\n"
			   "103000000000 task_end id=1\n"
			   "batch kind=end\n";

TEST(top_feed_labels_samples_when_live_events_that_are_about_them_come)
{
	struct top_query q = { .to = UINT64_MAX, .by = TOP_BY_TASK };
	uint64_t s = NSEC_PER_SEC;
	struct live_tape l = { 0 };
	top_tasks tasks = { 0 };

	open_stream(&l, false, true);
	follow(&l);
	for (uint64_t i = 0; i < 5; i++) {
		sample_at(&l, T0 + i * s + s / 2, TAPE_LEAF, 1 + i);
		CHECK_OK(coati_writer_round(l.t.writer));
		CHECK_OK(coati_top_feed_take(&l.f));
	}
	CHECK_U64(row_of(&l.m, q, "").self, ==, 1 + 2 + 3 + 4);
	tape_live_text(&l.t, told);
	tape_close(&l.t);
	CHECK_OK(coati_top_feed_finish(&l.f));
	CHECK_U64(row_of(&l.m, q, "request").self, ==, 2 + 3);
	CHECK_U64(row_of(&l.m, q, "").self, ==, 1 + 4 + 5);
	CHECK_OK(coati_top_tasks(&l.m, 0, UINT64_MAX, &tasks));
	CHECK_U64(tasks.len, ==, 1);
	CHECK_STR(tasks.v[0].type, "request");
	CHECK_U64(tasks.v[0].count, ==, 1);
	CHECK_U64(tasks.v[0].max, >=, 2 * s);
	CHECK_U64(tasks.v[0].max, <=, 2 * s + s / 16);
	ARRAY_FINI(&tasks);
	finish(&l);
}

static const char kept[] = "batch kind=sites pid=10\n"
			   "- site id=3 kind=3 name=\"request\"\n"
			   "batch tid=10 base=100000000000\n"
			   "100000000000 open_enter tid=10 id=0\n"
			   "101000000000 task_begin site=3 id=1\n"
			   "101000000000 task_enter id=1\n"
			   "102000000000 labels set=\"\\x05route\\x04/old\"\n"
			   "103000000000 labels set=\"\\x05route\\x04/new\"\n"
			   "batch tid=11 base=100000000000\n"
			   "100000000000 open_enter tid=11 id=0\n"
			   "101000000000 labels set=\"\\x05route\\x07/eleven\"\n"
			   "102000000000 labels set=\"\"\n"
			   "batch kind=end\n";

/* The value of a label of a thread at a time, "" without. */
static const char *label_at(struct coati_contexts *c, int32_t tid, uint64_t time, const char *key)
{
	struct coati_label_list labels = { 0 };

	coati_contexts_source(c)->find(c, PID, tid, time, &labels);
	for (uint32_t i = 0; i < labels.nr; i++)
		if (!strcmp(labels.v[i].key, key))
			return labels.v[i].value;
	return "";
}

TEST(contexts_live_keep_what_threads_do_now_when_the_rest_is_dropped)
{
	uint64_t s = NSEC_PER_SEC;
	struct coati_contexts *c;
	struct live_tape l = { 0 };

	open_stream(&l, false, true);
	follow(&l);
	c = l.f.live;
	tape_live_text(&l.t, kept);
	tape_close(&l.t);
	CHECK_OK(coati_top_feed_finish(&l.f));
	CHECK_STR(label_at(c, PID, T0 + 5 * s / 2, "route"), "/old");
	CHECK_STR(label_at(c, PID + 1, T0 + 3 * s / 2, "route"), "/eleven");
	CHECK_U64(coati_contexts_live_horizon(c), ==, T0 + 3 * s);
	/* nobody asks for the time before 102.5 s any more: that state stays */
	CHECK_OK(coati_contexts_live_trim(c, T0 + 5 * s / 2, SIZE_MAX));
	CHECK_STR(label_at(c, PID, T0 + 5 * s / 2, "route"), "/old");
	CHECK_STR(label_at(c, PID, T0 + 3 * s / 2, "route"), "");
	/* and with no room at all what they do now */
	CHECK_OK(coati_contexts_live_trim(c, T0 + 5 * s / 2, 0));
	CHECK_STR(label_at(c, PID, T0 + 4 * s, "route"), "/new");
	CHECK_STR(label_at(c, PID, T0 + 4 * s, "task"), "request");
	CHECK_STR(label_at(c, PID, T0 + 5 * s / 2, "route"), "");
	CHECK_STR(label_at(c, PID + 1, T0 + 4 * s, "route"), "");
	finish(&l);
}
