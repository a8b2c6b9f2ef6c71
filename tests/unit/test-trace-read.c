/* SPDX-License-Identifier: MIT */
/* Recordings on their way into a timeline: what their records become, and what happens when they
 * lie or memory runs out. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "unit/profile-tape.h"

#define PID 10

/* Thread 10 is preempted and comes back, 11 is started, runs, and waits to the end. */
static void write_tape(void)
{
	struct coati_record fork = { .type = COATI_RECORD_FORK,
				     .id = { .pid = PID, .tid = PID, .time = 1200 },
				     .u.task = {
					     .pid = PID, .tid = 11, .ppid = PID, .ptid = PID } };
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CONTEXT_SWITCHES, COATI_OFF_CPU_EVENT,
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	tape_process(&t, PID, "app");
	tape_switch(&t, PID, PID, 1000, 0);
	tape_record(&t, &fork);
	tape_put(&t, (struct tape_sample){
			     .pid = PID, .tid = PID, .time = 1250, TAPE_STACK(TAPE_LEAF) });
	tape_switch(&t, PID, PID, 1300, COATI_MISC_SWITCH_OUT | COATI_MISC_SWITCH_OUT_PREEMPT);
	tape_switch(&t, PID, 11, 1310, 0);
	tape_put(&t, (struct tape_sample){ .event = 1,
					   .pid = PID,
					   .tid = 11,
					   .time = 1400,
					   TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_switch(&t, PID, 11, 1400, COATI_MISC_SWITCH_OUT);
	tape_switch(&t, PID, PID, 1410, 0);
	tape_switch(&t, PID, PID, 1500, COATI_MISC_SWITCH_OUT);
	tape_close(&t);
}

static int read_tape(struct coati_timeline **ret)
{
	int r = coati_timeline_new(NULL, ret, NULL);

	return r < 0 ? r : coati_timeline_read(*ret, "a", NULL, NULL, NULL);
}

TEST(timeline_read_makes_states_of_records)
{
	struct coati_timeline *t = NULL;
	struct coati_timeline_interval v;
	struct coati_timeline_info info;
	struct coati_ledger l;

	write_tape();
	CHECK_OK(read_tape(&t));
	coati_timeline_info(t, &info);
	CHECK_U64(info.switches, ==, 3);
	CHECK_U64(info.samples, ==, 1);
	CHECK_U64(info.nr_cpus, ==, 1);
	CHECK(info.has & COATI_TIMELINE_HAS_STACKS);
	CHECK_OK(
		coati_timeline_ledger(t, coati_timeline_find_thread(t, PID, 1000), 1000, 1500, &l));
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 390);
	CHECK_U64(l.parts[COATI_WAIT_PREEMPTED], ==, 110);
	CHECK_U64(l.samples, ==, 1);
	CHECK_OK(coati_timeline_ledger(t, coati_timeline_find_thread(t, 11, 1400), 1200, 1500, &l));
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 110);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 90);
	CHECK_U64(l.parts[COATI_WAIT_OTHER], ==, 100);
	CHECK_OK(coati_timeline_interval(t, coati_timeline_find_thread(t, 11, 1400), 2, &v));
	CHECK_INT(v.stack, !=, COATI_TIMELINE_NONE);
	coati_timeline_free(&t);
}

static void put_loss(struct tape *t, uint32_t type, uint32_t cpu, uint64_t time, uint64_t nr)
{
	struct coati_record rec = { .type = type,
				    .id = { .pid = PID, .tid = PID, .cpu = cpu, .time = time } };

	if (type == COATI_RECORD_LOST)
		rec.u.lost.lost = nr;
	else
		rec.u.lost_samples = nr;
	tape_record(t, &rec);
}

/* Thread 10 runs from 1000 to 3000 on CPU 0; CPU 1 is heard of at 1500 and 2500. LOST tells of
 * @told, the events' own count at the end of @counted; @account: NULL, or the recorder's. */
static struct coati_timeline *read_losses(uint64_t told, uint64_t counted, const char *account)
{
	struct coati_timeline *timeline = NULL;
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_start(&t);
	tape_process(&t, PID, "app");
	tape_switch(&t, PID, PID, 1000, 0);
	for (uint64_t time = 1500; time <= 2500; time += 1000) {
		tape_put(&t, (struct tape_sample){ .pid = PID,
						   .tid = 11,
						   .cpu = 1,
						   .time = time,
						   TAPE_STACK(TAPE_LEAF) });
		if (told && time == 1500)
			put_loss(&t, COATI_RECORD_LOST, 1, 2000, told);
	}
	tape_switch(&t, PID, PID, 3000, COATI_MISC_SWITCH_OUT);
	tape_switch(&t, PID, PID, 3500, 0);
	tape_put(&t, (struct tape_sample){
			     .pid = PID, .tid = PID, .time = 4000, TAPE_STACK(TAPE_LEAF) });
	if (counted)
		put_loss(&t, COATI_RECORD_LOST_SAMPLES, 0, 4000, counted);
	if (account)
		CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, account,
					      strlen(account)));
	tape_close(&t);
	CHECK_OK(read_tape(&timeline));
	return timeline;
}

static void check_walked(uint64_t told, uint64_t counted, const char *account, uint64_t lost,
			 uint64_t running)
{
	struct coati_timeline *t = read_losses(told, counted, account);
	struct coati_timeline_info info;
	struct coati_ledger l;

	coati_timeline_info(t, &info);
	CHECK_U64(info.lost, ==, lost);
	CHECK_OK(
		coati_timeline_ledger(t, coati_timeline_find_thread(t, PID, 1000), 1000, 4000, &l));
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, running);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING] + l.parts[COATI_WAIT_OTHER] +
			  l.parts[COATI_WAIT_UNKNOWN],
		  ==, 3000);
	coati_timeline_free(&t);
}

static void check_losses(uint64_t told, uint64_t counted, uint64_t lost, uint64_t running)
{
	check_walked(told, counted, NULL, lost, running);
}

/* LOST counts the walker's reports, too: 14 are 7 samples and 7 reports, and what both counts have
 * beyond that was lost at the end. */
TEST(timeline_read_finds_the_loss_at_the_end_beside_the_walkers_reports)
{
	check_walked(14, 7, "lost_exact=1\nwalks=1\nwalks_dropped=7\n", 7, 500 + 500);
	check_walked(14, 9, "lost_exact=1\nwalks=1\nwalks_dropped=9\n", 9, 500);
	check_walked(14, 7, "lost_exact=1\nwalks=1\nwalks_dropped=8\n", 7, 500);
	/* of an older recorder, which did not count them */
	check_walked(14, 9, "lost_exact=1\nwalks=1\n", 9, 500 + 500);
}

TEST(timeline_read_takes_from_running_what_lies_in_a_loss)
{
	check_losses(0, 0, 0, 2500);
	check_losses(7, 0, 7, 500 + 500); /* lost since 1500: not known until 3000 */
	check_losses(7, 7, 7, 500 + 500); /* the same, told twice */
	/* two more since the CPU fell silent at 2500 that was heard of first */
	check_losses(0, 2, 2, 1500);
	check_losses(7, 9, 9, 500);
}

TEST(timeline_read_survives_every_failing_allocation)
{
	int r = -ENOMEM;

	write_tape();
	/* names may be missing: then all is well but them, so one success is not the end */
	for (uint64_t n = 0, good = 0; good < 100 && n < 20000; n++) {
		struct coati_timeline *t = NULL;

		coati_alloc_fail_after(n);
		r = read_tape(&t);
		coati_timeline_free(&t);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		good = r == 0 ? good + 1 : 0;
	}
	CHECK_OK(r);
}

TEST(timeline_read_survives_recordings_that_lie)
{
	uint8_t bytes[8192];
	size_t size;
	FILE *f;

	write_tape();
	f = fopen("a", "rb");
	CHECK(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t i = 0; i < size; i += 7) {
		struct coati_timeline *t = NULL;
		uint8_t keep = bytes[i];

		bytes[i] = (uint8_t)(keep ^ 0xff);
		f = fopen("a", "wb");
		CHECK(f);
		CHECK_INT(fwrite(bytes, 1, size, f), ==, size);
		fclose(f);
		(void)read_tape(&t); /* may fail, must not crash */
		coati_timeline_free(&t);
		bytes[i] = keep;
	}
}
