/* SPDX-License-Identifier: MIT */
/* Labels that were read with samples come out as live events: in order of time, whatever the order
 * of the rings, each change once, and never a label that the sample did not have. */
#include "lib/test.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "capture/labels.h"
#include "live-read/reader.h"

#define FAMILY 77u

/* What a reader makes of the batches. */
struct tape {
	struct thread_labels *labels;
	struct coati_live_reader *reader;
	struct strbuf text;
	uint64_t where;
};

static int write_batch(void *ctx, const struct coati_batch *b)
{
	struct tape *t = ctx;

	CHECK_INT(b->kind, ==, COATI_BATCH_TRACE);
	return coati_live_reader_feed(t->reader, b->payload, b->payload_size, t->where++, NULL);
}

static struct tape open_tape(void)
{
	struct tape t = { .text = STRBUF_INIT(1 << 20) };

	CHECK_OK(coati_thread_labels_new(&t.labels));
	CHECK_OK(coati_live_reader_new(NULL, &t.reader, NULL));
	return t;
}

static void settle(struct tape *t, bool all)
{
	CHECK_OK(coati_thread_labels_settle(t->labels, all, write_batch, t));
}

static void add_event(struct tape *t, const struct coati_trace_event *e)
{
	struct coati_trace_text key, value;
	struct coati_trace_pos pos = { 0 };

	CHECK_INT(e->kind, ==, COATI_TRACE_LABELS);
	coati_strbuf_printf(&t->text, "%u/%u %" PRIu64, e->pid, e->tid, e->time);
	while (coati_trace_label_next(e, &pos, &key, &value) > 0)
		coati_strbuf_printf(&t->text, " %.*s=%.*s", (int)key.size, key.text,
				    (int)value.size, value.text);
	coati_strbuf_adds(&t->text, "\n");
}

/* Everything that comes, as lines; what is wrong with the batches fails. */
static void check_tape(struct tape *t, const char *text)
{
	const struct coati_trace_event *e;
	struct coati_trace_quality q;

	settle(t, true);
	CHECK_OK(coati_live_reader_finish(t->reader));
	while (coati_live_reader_next(t->reader, &e) > 0)
		add_event(t, e);
	CHECK_STR(t->text.text, text);
	coati_live_reader_get_quality(t->reader, &q);
	CHECK_U64(q.damaged, ==, 0);
	CHECK_U64(q.missing, ==, 0);
	CHECK_U64(q.incomplete, ==, 0);
	CHECK_U64(q.late, ==, 0);
	coati_live_reader_free(&t->reader);
	coati_thread_labels_free(&t->labels);
	coati_strbuf_fini(&t->text);
}

/* The names of the keys of @pid: tenant, route. */
static void name_keys(struct tape *t, int32_t pid, uint64_t family, uint32_t nr)
{
	static const char *const names[] = { "tenant", "route" };
	struct context_keys keys = { .time = 1, .nr = nr };

	for (uint32_t i = 0; i < nr; i++)
		keys.names[i] = coati_strdup(names[i]);
	coati_thread_labels_name(t->labels, pid, family, &keys);
	CHECK_U64(keys.nr, ==, 0);
}

static void see_bytes(struct tape *t, uint32_t tid, uint64_t time, const void *entries,
		      uint32_t size)
{
	const struct label_of of = { .pid = 7, .tid = tid, .time = time, .family = FAMILY };

	coati_thread_labels_seen(t->labels, &of, entries, size);
}

/* A sample of process 7 with one label; NULL: without any. */
static void see(struct tape *t, uint32_t tid, uint64_t time, uint8_t key, const char *value)
{
	uint8_t entry[64] = { key, (uint8_t)(value ? strlen(value) : 0) };

	if (value)
		memcpy(entry + 2, value, entry[1]);
	see_bytes(t, tid, time, value ? entry : NULL, value ? 2u + entry[1] : 0);
}

TEST(thread_labels_are_written_in_order_of_time_when_nothing_older_can_come)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	/* the ring of one CPU, and then that of the one where the thread was meanwhile */
	see(&t, 8, 10, 0, "a");
	see(&t, 8, 20, 0, "a");
	see(&t, 8, 60, 0, "a");
	see(&t, 9, 65, 1, "/");
	see(&t, 8, 30, 0, "b");
	see(&t, 8, 40, 0, "b");
	settle(&t, false);
	CHECK_U64(t.where, ==, 0);
	/* of the next round, before the last of the round before */
	see(&t, 8, 50, 0, "c");
	see(&t, 8, 70, 0, "a");
	settle(&t, false);
	/* two threads and the end of a generation */
	CHECK_U64(t.where, ==, 3);
	CHECK_U64(t.labels->counts.changes, ==, 5);
	see(&t, 8, 80, 0, "d");
	check_tape(&t, "7/8 10 tenant=a\n7/8 30 tenant=b\n7/8 50 tenant=c\n7/8 60 tenant=a\n"
		       "7/9 65 route=/\n7/8 80 tenant=d\n");
}

TEST(thread_labels_end_with_the_first_sample_that_has_none)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	see(&t, 9, 5, 0, NULL); /* has never had one */
	see(&t, 8, 10, 0, "a");
	see(&t, 9, 15, 0, NULL);
	see(&t, 8, 20, 0, NULL);
	see(&t, 8, 30, 0, NULL);
	settle(&t, false);
	settle(&t, false);
	see(&t, 8, 40, 0, NULL);
	see(&t, 8, 50, 0, "a");
	CHECK_U64(t.labels->counts.samples, ==, 2);
	check_tape(&t, "7/8 10 tenant=a\n7/8 20\n7/8 50 tenant=a\n");
}

TEST(thread_labels_have_the_last_value_of_a_key_and_none_that_is_hidden)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	see_bytes(&t, 8, 10, "\0\1x\1\1/\0\1y", 9);
	see_bytes(&t, 8, 20, "\1\1/\0\1y", 6); /* the same set */
	see_bytes(&t, 8, 30, "\1\1/\0\1y\1\0", 8);
	see_bytes(&t, 8, 40, "\0\0", 2);
	check_tape(&t, "7/8 10 route=/ tenant=y\n7/8 30 tenant=y\n7/8 40\n");
}

TEST(thread_labels_wait_a_second_for_the_names_of_their_keys)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 1);
	see(&t, 8, 10, 0, "a");
	see(&t, 8, 20, 1, "/");
	see(&t, 8, 30, 0, "b"); /* behind one that waits */
	settle(&t, false);
	settle(&t, false);
	CHECK_U64(t.labels->counts.changes, ==, 1);
	name_keys(&t, 7, FAMILY, 2);
	settle(&t, false);
	CHECK_U64(t.labels->counts.changes, ==, 3);
	/* a key that never gets a name */
	see(&t, 8, 40, 2, "?");
	see(&t, 8, 50, 0, "c");
	settle(&t, false);
	settle(&t, false);
	CHECK_U64(t.labels->counts.changes, ==, 3);
	see(&t, 8, 50 + NSEC_PER_SEC, 0, "d");
	settle(&t, false);
	CHECK_U64(t.labels->counts.unnamed, ==, 1);
	CHECK_U64(t.labels->counts.changes, ==, 5);
	check_tape(&t, "7/8 10 tenant=a\n7/8 20 route=/\n7/8 30 tenant=b\n7/8 40\n"
		       "7/8 50 tenant=c\n7/8 1000000050 tenant=d\n");
}

TEST(thread_labels_are_not_named_by_the_keys_of_another_program)
{
	struct tape t = open_tape();

	/* what had the number before, and what is of another number */
	name_keys(&t, 7, FAMILY + 1, 2);
	name_keys(&t, 6, FAMILY + 2, 2);
	see(&t, 8, 10, 0, "a");
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 1);
	/* a relative: what it has published may be its own alone */
	name_keys(&t, 5, FAMILY, 2);
	see(&t, 8, 20, 0, "b");
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 2);
	check_tape(&t, "");
}

/* Keys of FAMILY that were all published by @time. */
static void name_keys_by(struct tape *t, int32_t pid, uint64_t time, const char *first,
			 const char *second)
{
	struct context_keys keys = {
		.time = 1, .nr = second ? 2 : 1, .begun_ns = time, .known_ns = time
	};

	keys.names[0] = coati_strdup(first);
	if (second)
		keys.names[1] = coati_strdup(second);
	coati_thread_labels_name(t->labels, pid, FAMILY, &keys);
}

TEST(thread_labels_of_a_child_have_the_keys_that_its_parent_had_before)
{
	struct tape t = open_tape();

	name_keys_by(&t, 5, 10, "tenant", NULL);
	name_keys_by(&t, 5, 20, "tenant", "route");
	coati_thread_labels_forked(t.labels, 6, 5, 15);
	coati_thread_labels_forked(t.labels, 7, 6, 25); /* by the child, which has but one */
	see(&t, 8, 30, 0, "a");
	see(&t, 8, 40, 1, "own");
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 1);
	name_keys_by(&t, 7, 45, "tenant", "user");
	coati_thread_labels_forked(t.labels, 7, 6, 25); /* known late */
	see(&t, 8, 50, 1, "own");
	check_tape(&t, "7/8 30 tenant=a\n7/8 40\n7/8 50 user=own\n");
}

TEST(thread_labels_of_a_process_are_not_named_by_who_had_its_number_before)
{
	struct tape t = open_tape();

	name_keys_by(&t, 7, 5, "tenant", "route");
	see(&t, 8, 10, 0, "a");
	settle(&t, true);
	coati_thread_labels_forked(t.labels, 7, 5, 20); /* nothing is known of it */
	see(&t, 8, 30, 0, "a");
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 1);
	name_keys_by(&t, 7, 35, "user", "route");
	/* the end of the one before is heard of late */
	coati_thread_labels_gone(t.labels, 7, 15);
	see(&t, 8, 40 + 10 * NSEC_PER_SEC, 0, "a");
	settle(&t, true);
	/* without a fork that was heard of */
	name_keys_by(&t, 7, 45, "group", "route");
	see(&t, 8, 50 + 10 * NSEC_PER_SEC, 0, "a");
	check_tape(&t, "7/8 10 tenant=a\n7/8 30\n7/8 10000000040 user=a\n"
		       "7/8 10000000050 group=a\n");
}

/* The names of 256 keys as long as can be, of each process. */
TEST(thread_labels_keep_64_mebibytes_of_names)
{
	const size_t least = CONTEXT_KEYS_MAX * (CONTEXT_KEY_MAX + 1);
	struct tape t = open_tape();
	char name[CONTEXT_KEY_MAX + 1] = { 0 };

	memset(name, 'n', CONTEXT_KEY_MAX);
	for (int32_t pid = 101; pid <= 1300; pid++) {
		struct context_keys keys = { .nr = CONTEXT_KEYS_MAX };

		for (uint32_t i = 0; i < CONTEXT_KEYS_MAX; i++)
			keys.names[i] = coati_strdup(name);
		coati_thread_labels_name(t.labels, pid, FAMILY, &keys);
	}
	CHECK_U64(t.labels->names.bytes, <=, 64u << 20);
	CHECK_U64(t.labels->names.bytes, >, (64u << 20) - 2 * least);
	CHECK_U64(t.labels->names.processes.len, >, 900);
	CHECK_U64(t.labels->names.processes.len, <=, (64u << 20) / least);
	for (int32_t pid = 101; pid <= 1300; pid++)
		coati_thread_labels_gone(t.labels, pid, 1);
	see(&t, 8, 10 * NSEC_PER_SEC, 0, "a");
	settle(&t, true);
	settle(&t, true);
	CHECK_U64(t.labels->names.bytes, ==, 0);
	check_tape(&t, "");
}

static void count_ask(void *ctx, int32_t pid, uint64_t family)
{
	uint32_t *nr = ctx;

	CHECK_INT(pid, ==, 7);
	CHECK_U64(family - FAMILY, <, 2);
	++*nr;
}

TEST(thread_labels_ask_for_the_names_of_a_process_once)
{
	struct tape t = open_tape();
	uint32_t nr = 0;

	for (uint64_t i = 0; i < 100; i++) {
		const struct label_of of = {
			.pid = 7, .tid = 8, .time = 10 + i, .family = FAMILY + i % 2
		};

		coati_thread_labels_seen(t.labels, &of, (const uint8_t *)"\0\1a", 3);
	}
	coati_thread_labels_ask(t.labels, count_ask, &nr);
	CHECK_INT(nr, ==, 2);
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 100);
	check_tape(&t, "");
}

/* Its number is another thread's before its last batch is written, and behind that. */
TEST(thread_labels_end_with_the_thread_which_is_forgotten)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	coati_thread_labels_ended(t.labels, 7, 9, 5); /* has never had one */
	see(&t, 8, 10, 0, "a");
	coati_thread_labels_ended(t.labels, 7, 8, 20);
	see(&t, 8, 15, 0, "a");
	see(&t, 8, 30, 0, "b");
	settle(&t, true);
	CHECK_U64(t.labels->threads.len, ==, 1);
	coati_thread_labels_ended(t.labels, 7, 8, 40);
	settle(&t, true);
	CHECK_U64(t.labels->threads.len, ==, 0);
	CHECK_U64(t.labels->counts.unnamed + t.labels->counts.over, ==, 0);
	see(&t, 8, 50, 0, NULL);
	see(&t, 8, 60, 0, "b");
	check_tape(&t, "7/8 10 tenant=a\n7/8 20\n7/8 30 tenant=b\n7/8 40\n7/8 60 tenant=b\n");
}

TEST(thread_labels_are_none_where_the_report_is_missing)
{
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	coati_thread_labels_missing(t.labels, 7, 8, 5); /* has never had one */
	see(&t, 8, 10, 0, "a");
	coati_thread_labels_missing(t.labels, 7, 8, 20);
	see(&t, 8, 30, 0, "a");
	CHECK_U64(t.labels->counts.unread, ==, 1);
	check_tape(&t, "7/8 10 tenant=a\n7/8 20\n7/8 30 tenant=a\n");
}

TEST(thread_labels_of_a_process_that_ended_are_named_for_five_seconds)
{
	struct tape t = open_tape();

	/* what a round has of processes is known before its samples */
	name_keys(&t, 7, FAMILY, 2);
	coati_thread_labels_gone(t.labels, 7, 10 * NSEC_PER_SEC);
	see(&t, 8, 20 * NSEC_PER_SEC, 0, "a");
	settle(&t, false);
	settle(&t, false); /* written: names are forgotten behind it */
	see(&t, 8, 21 * NSEC_PER_SEC, 0, "b");
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 1);
	/* within the time, and then of who has the number now */
	name_keys(&t, 7, FAMILY, 2);
	coati_thread_labels_gone(t.labels, 7, 22 * NSEC_PER_SEC);
	see(&t, 8, 26 * NSEC_PER_SEC, 0, "c");
	settle(&t, true);
	see(&t, 8, 26 * NSEC_PER_SEC + 1, 0, "d");
	name_keys(&t, 7, FAMILY + 1, 2);
	settle(&t, true);
	CHECK_U64(t.labels->counts.unnamed, ==, 2);
	name_keys(&t, 7, FAMILY, 2);
	see(&t, 8, 27 * NSEC_PER_SEC, 0, "e");
	check_tape(&t, "7/8 20000000000 tenant=a\n7/8 21000000000\n7/8 26000000000 tenant=c\n"
		       "7/8 26000000001\n7/8 27000000000 tenant=e\n");
}

TEST(thread_labels_that_are_malformed_are_counted)
{
	static const uint8_t zeros[613];
	struct tape t = open_tape();

	name_keys(&t, 7, FAMILY, 2);
	see(&t, 8, 10, 0, "a");
	see_bytes(&t, 8, 20, "\0\1b\0", 4);	    /* no length */
	see_bytes(&t, 8, 30, "\0\1b\0\3xy", 7);	    /* longer than the rest */
	see_bytes(&t, 8, 40, zeros, sizeof(zeros)); /* longer than a record */
	coati_thread_labels_unread(t.labels);
	CHECK_U64(t.labels->counts.unread, ==, 4);
	CHECK_U64(t.labels->counts.samples, ==, 1);
	check_tape(&t, "7/8 10 tenant=a\n7/8 20\n");
}

TEST(thread_labels_are_written_again_in_the_next_recording)
{
	struct tape t = open_tape(), next;

	name_keys(&t, 7, FAMILY, 2);
	see(&t, 8, 10, 0, "a");
	settle(&t, true);
	next = t;
	next.reader = NULL;
	CHECK_OK(coati_live_reader_new(NULL, &next.reader, NULL));
	coati_thread_labels_restart(t.labels);
	coati_live_reader_free(&t.reader);
	see(&next, 8, 20, 0, "a");
	check_tape(&next, "7/8 20 tenant=a\n");
}

/* More sets than a recording has, and more than are kept of those that were read. */
TEST(thread_labels_over_the_limit_of_sets_are_counted)
{
	const uint32_t nr = COATI_LABEL_SETS_MAX + 5000;
	struct tape t = open_tape();
	char value[16];

	name_keys(&t, 7, FAMILY, 2);
	for (uint32_t i = 0; i < nr; i++) {
		snprintf(value, sizeof(value), "%u", i);
		see(&t, 8, 10 + i, 0, value);
		if (i % 1000 == 999)
			settle(&t, false);
	}
	settle(&t, true);
	CHECK_U64(t.labels->counts.samples, ==, nr);
	CHECK_U64(t.labels->counts.over, ==, 5000);
	CHECK_U64(t.labels->counts.sets, ==, COATI_LABEL_SETS_MAX);
	/* each a change, and the end of the last */
	CHECK_U64(t.labels->counts.changes, ==, COATI_LABEL_SETS_MAX + 1);
	coati_live_reader_free(&t.reader);
	coati_thread_labels_free(&t.labels);
	coati_strbuf_fini(&t.text);
}
