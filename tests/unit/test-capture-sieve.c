/* SPDX-License-Identifier: MIT */
/* Which records of a whole machine are those of the targets. */
#include "lib/test.h"

#include <string.h>

#include "capture/attr.h"
#include "capture/sieve.h"
#include "capture/spans.h"
#include "record/record.h"

static struct coati_sample_format side_format(void)
{
	struct coati_attr attr = { .sample_type = CAPTURE_IDENTITY,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_sample_format f;

	coati_sample_format_init(&attr, &f);
	return f;
}

static const uint8_t *encode(struct coati_record rec, uint32_t pid, uint32_t tid)
{
	static uint8_t bytes[256];
	struct coati_sample_format f = side_format();

	rec.id = (struct coati_identity){ .present = COATI_SAMPLE_TID | COATI_SAMPLE_TIME |
						     COATI_SAMPLE_CPU | COATI_SAMPLE_IDENTIFIER,
					  .pid = pid,
					  .tid = tid,
					  .time = 7 };
	CHECK_INT(coati_record_encode(&rec, &f, bytes, sizeof(bytes)), >, 0);
	return bytes;
}

static void fork_of(struct sieve *s, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	CHECK_OK(coati_sieve_feed(s, encode((struct coati_record){ .type = COATI_RECORD_FORK,
								   .u.task = { .pid = pid,
									       .ppid = ppid,
									       .tid = tid,
									       .ptid = ptid } },
					    ppid, ptid)));
}

static const uint8_t *pass(struct sieve *s, uint32_t type, uint32_t pid, uint32_t tid)
{
	struct coati_sample_format f = side_format();

	return coati_sieve_pass(
		s,
		encode((struct coati_record){ .type = type, .u.task = { .pid = pid, .tid = tid } },
		       pid, tid),
		&f);
}

TEST(sieve_follows_what_a_thread_starts_and_not_what_its_process_does)
{
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_thread(&s, 100, 105), ==, 1);
	CHECK_INT(coati_sieve_add_thread(&s, 100, 105), ==, 0);
	fork_of(&s, 100, 110, 100, 105); /* a thread of the target */
	fork_of(&s, 100, 111, 100, 100); /* one of another */
	fork_of(&s, 200, 200, 100, 105); /* a process of the target */
	fork_of(&s, 300, 300, 100, 100);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK(coati_sieve_has(&s, 100, 105));
	CHECK(coati_sieve_has(&s, 100, 110));
	CHECK(!coati_sieve_has(&s, 100, 111));
	CHECK(!coati_sieve_has(&s, 100, 100));
	CHECK(coati_sieve_has(&s, 200, 200));
	CHECK(coati_sieve_has(&s, 200, 201)); /* whoever starts it there */
	CHECK(!coati_sieve_has(&s, 300, 300));
	coati_sieve_fini(&s);
}

TEST(sieve_knows_a_grandchild_whose_fork_is_read_before_that_of_its_parent)
{
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_process(&s, 100), ==, 1);
	fork_of(&s, 400, 400, 300, 300);
	fork_of(&s, 300, 300, 200, 200);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK(!coati_sieve_has(&s, 400, 400));
	fork_of(&s, 200, 200, 100, 107); /* in the next round */
	CHECK_OK(coati_sieve_settle(&s));
	CHECK(coati_sieve_has(&s, 200, 200));
	CHECK(coati_sieve_has(&s, 300, 300));
	CHECK(coati_sieve_has(&s, 400, 400));
	CHECK_INT(s.forks.len, ==, 0);
	coati_sieve_fini(&s);
}

TEST(sieve_forgets_forks_of_others_after_two_rounds)
{
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_process(&s, 100), ==, 1);
	fork_of(&s, 300, 300, 200, 200);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK_INT(s.forks.len, ==, 1);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK_INT(s.forks.len, ==, 0);
	coati_sieve_fini(&s);
}

TEST(sieve_without_children_has_its_first_targets_alone)
{
	struct sieve s;

	coati_sieve_init(&s, false);
	CHECK_INT(coati_sieve_add_thread(&s, 100, 105), ==, 1);
	fork_of(&s, 100, 110, 100, 105);
	fork_of(&s, 200, 200, 100, 105);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK(!coati_sieve_has(&s, 100, 110));
	CHECK(!coati_sieve_has(&s, 200, 200));
	coati_sieve_fini(&s);
}

TEST(sieve_gives_up_a_number_that_another_gets)
{
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_process(&s, 100), ==, 1);
	CHECK_INT(coati_sieve_add_thread(&s, 500, 505), ==, 1);
	fork_of(&s, 100, 100, 1, 1);
	fork_of(&s, 600, 505, 600, 600);
	CHECK_OK(coati_sieve_settle(&s));
	CHECK(!coati_sieve_has(&s, 100, 100));
	CHECK(!coati_sieve_has(&s, 600, 505));
	coati_sieve_fini(&s);
}

TEST(sieve_passes_records_of_processes_with_a_target)
{
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_process(&s, 100), ==, 1);
	CHECK_INT(coati_sieve_add_thread(&s, 500, 505), ==, 1);
	CHECK(pass(&s, COATI_RECORD_EXIT, 100, 107));
	CHECK(pass(&s, COATI_RECORD_EXIT, 500, 506)); /* what it maps the target uses, too */
	CHECK(!pass(&s, COATI_RECORD_EXIT, 600, 600));
	CHECK(!pass(&s, COATI_RECORD_FORK, 600, 600));
	CHECK(pass(&s, COATI_RECORD_LOST, 600, 600));
	coati_sieve_fini(&s);
}

TEST(sieve_writes_context_switches_of_targets_as_their_own_events_would)
{
	struct coati_sample_format f = side_format();
	struct coati_record rec = { .type = COATI_RECORD_SWITCH_CPU_WIDE,
				    .misc = COATI_MISC_SWITCH_OUT },
			    back;
	struct coati_raw raw;
	struct sieve s;
	const uint8_t *to;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_thread(&s, 500, 505), ==, 1);
	CHECK(!coati_sieve_pass(&s, encode(rec, 500, 506), &f));
	to = coati_sieve_pass(&s, encode(rec, 500, 505), &f);
	CHECK(to);
	raw = record_raw(to);
	CHECK_OK(coati_record_decode(&raw, &f, &back));
	CHECK_INT(back.type, ==, COATI_RECORD_SWITCH);
	CHECK_INT(back.misc & COATI_MISC_SWITCH_OUT, ==, COATI_MISC_SWITCH_OUT);
	CHECK_INT(back.id.pid, ==, 500);
	CHECK_INT(back.id.tid, ==, 505);
	CHECK_U64(back.id.time, ==, 7);
	coati_sieve_fini(&s);
}

TEST(sieve_drops_records_that_are_too_short)
{
	struct coati_sample_format f = side_format();
	uint8_t bytes[64] = { 0 };
	struct sieve s;

	coati_sieve_init(&s, true);
	CHECK_INT(coati_sieve_add_process(&s, 0), ==, 1);
	for (uint32_t type = 0; type < 32; type++)
		for (uint16_t size = 8; size < 24; size += 8) {
			memcpy(bytes, &type, sizeof(type));
			memcpy(bytes + 6, &size, sizeof(size));
			CHECK_OK(coati_sieve_feed(&s, bytes));
			(void)coati_sieve_pass(&s, bytes, &f);
		}
	CHECK_INT(s.forks.len, ==, 0);
	coati_sieve_fini(&s);
}
