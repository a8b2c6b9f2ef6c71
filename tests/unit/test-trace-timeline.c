/* SPDX-License-Identifier: MIT */
/* Threads, tasks and regions on one timeline: made of events whose outcome is known. */
#include "lib/test.h"

#include <errno.h>

#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"
#include "unit/timeline-feeder.h"

static struct coati_ledger ledger(struct coati_timeline *t, int32_t tid, uint64_t from, uint64_t to)
{
	struct coati_ledger l = { 0 };

	CHECK_ERR(coati_timeline_ledger(t, coati_timeline_find_thread(t, tid, from), from, to, &l),
		  0);
	return l;
}

static uint64_t sum_of(const struct coati_ledger *l)
{
	uint64_t sum = 0;

	for (int i = 0; i < COATI_PART_COUNT; i++)
		sum += l->parts[i];
	return sum;
}

TEST(timeline_thread_states_follow_from_switches_and_wakes)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 1100);
	out(t, 11, 1300, COATI_WAIT_FUTEX);
	wake(t, 12, 11, 1600);
	in(t, 11, 1650);
	out(t, 11, 1700, COATI_WAIT_PREEMPTED);
	in(t, 11, 1800);
	end(t, 2000);
	l = ledger(t, 11, 1000, 2000);
	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 100);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 450);
	CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 300);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 50);
	CHECK_U64(l.parts[COATI_WAIT_PREEMPTED], ==, 100);
	CHECK_U64(l.switches, ==, 2);
	CHECK_U64(l.wakes, ==, 1);
	l = ledger(t, 11, 1250, 1620);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 50);
	CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 300);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 20);
	coati_timeline_free(&t);
}

TEST(timeline_thread_that_leaves_first_ran_since_the_beginning)
{
	struct coati_timeline *t = begin(1000);

	exists(t, 11);
	out(t, 11, 1300, COATI_WAIT_READ);
	end(t, 1500);
	CHECK_U64(ledger(t, 11, 1000, 1500).parts[COATI_WAIT_RUNNING], ==, 300);
	CHECK_U64(ledger(t, 11, 1000, 1500).parts[COATI_WAIT_READ], ==, 200);
	coati_timeline_free(&t);
}

TEST(timeline_thread_that_slept_before_waits_where_the_recorder_found_it)
{
	/* with a wake-up, and without */
	for (int woken = 0; woken < 2; woken++) {
		struct coati_timeline *t = begin(100);
		struct coati_timeline_interval v;
		struct coati_ledger l;

		exists(t, 1);
		if (woken)
			wake(t, 2, 1, 300);
		add(t, (struct coati_timeline_event){
			       .kind = COATI_TIMELINE_IN, .tid = 1, .time = 400, .stack = 5 });
		out(t, 1, 500, COATI_WAIT_READ);
		/* only the first time counts */
		add(t, (struct coati_timeline_event){
			       .kind = COATI_TIMELINE_IN, .tid = 1, .time = 600, .stack = 6 });
		end(t, 1000);
		CHECK_ERR(coati_timeline_interval(t, 0, 0, &v), 0);
		CHECK_INT(v.wait, ==, COATI_WAIT_OTHER);
		CHECK_INT(v.stack, ==, 5);
		CHECK_U64(v.begin, ==, 100);
		CHECK_ERR(coati_timeline_ledger(t, 0, 100, 1000, &l), 0);
		CHECK_U64(l.parts[COATI_WAIT_OTHER], ==, woken ? 200 : 300);
		CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, woken ? 100 : 0);
		CHECK_U64(l.parts[COATI_WAIT_READ], ==, 100);
		CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 500);
		CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 0);
		coati_timeline_free(&t);
	}
}

TEST(timeline_wake_before_the_thread_has_left_its_cpu_makes_it_wait_for_one)
{
	/* only where all wake-ups are recorded can nothing else have brought it back */
	for (int all = 0; all < 2; all++) {
		struct coati_timeline *t = begin(100);
		struct coati_timeline_wake w;
		struct coati_ledger l;

		if (all)
			t->info.has |= COATI_TIMELINE_ALL_WAKES;
		exists(t, 1);
		exists(t, 2);
		in(t, 1, 100);
		wake(t, 2, 1, 390);
		out(t, 1, 400, COATI_WAIT_FAULT);
		in(t, 2, 500);
		out(t, 2, 510, COATI_WAIT_READ);
		wake(t, 1, 2, 520);
		in(t, 1, 900);
		/* woken while it went on running: what it sleeps for later has a wake-up of its own
		 *  */
		wake(t, 2, 1, 1000);
		out(t, 1, 1100, COATI_WAIT_FUTEX);
		wake(t, 2, 1, 1200);
		in(t, 1, 1300);
		end(t, 2000);
		CHECK_ERR(coati_timeline_ledger(t, 0, 100, 2000, &l), 0);
		CHECK_U64(l.parts[COATI_WAIT_FAULT], ==, all ? 0 : 500);
		CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, all ? 600 : 100);
		CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 100);
		CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 1200);
		CHECK_INT(coati_timeline_wake_count(t), ==, all ? 3 : 2);
		CHECK_ERR(coati_timeline_wake(t, 0, &w), 0);
		CHECK_U64(w.time, ==, all ? 400 : 520);
		CHECK_INT(w.woken, ==, all ? 0 : 1);
		CHECK_INT(w.wait, ==, all ? COATI_WAIT_FAULT : COATI_WAIT_READ);
		coati_timeline_free(&t);
	}
}

TEST(timeline_thread_that_is_woken_first_has_slept)
{
	struct coati_timeline *t = begin(100);
	struct coati_ledger l;

	exists(t, 1);
	exists(t, 2);
	wake(t, 9, 1, 300);
	wake(t, 9, 2, 300);
	in(t, 1, 400);
	out(t, 2, 400, COATI_WAIT_READ); /* it had not left its CPU: it did not sleep */
	end(t, 500);
	CHECK_ERR(coati_timeline_ledger(t, 0, 100, 500, &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_OTHER], ==, 200);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 100);
	CHECK_ERR(coati_timeline_ledger(t, 1, 100, 500, &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_OTHER], ==, 0);
	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 200);
	coati_timeline_free(&t);
}

TEST(timeline_number_that_is_used_again_is_another_thread)
{
	struct coati_timeline *t = begin(1000);
	uint32_t first, second;

	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_START, .tid = 11, .time = 1000 });
	in(t, 11, 1010);
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_EXIT, .tid = 11, .time = 1100 });
	out(t, 11, 1101, COATI_WAIT_EXIT);
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_START, .tid = 11, .time = 1500 });
	in(t, 11, 1600);
	end(t, 2000);
	first = coati_timeline_find_thread(t, 11, 1050);
	second = coati_timeline_find_thread(t, 11, 1700);
	CHECK_INT(first, !=, second);
	CHECK_U64(ledger(t, 11, 1000, 1100).parts[COATI_WAIT_RUNNING], ==, 90);
	CHECK_U64(ledger(t, 11, 1500, 2000).parts[COATI_WAIT_RUNNABLE], ==, 100);
	CHECK_U64(ledger(t, 11, 1500, 2000).parts[COATI_WAIT_RUNNING], ==, 400);
	coati_timeline_free(&t);
}

TEST(timeline_thread_whose_cpu_another_one_left_was_not_running_there)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_info info;

	exists(t, 11);
	exists(t, 12);
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_IN, .tid = 11, .time = 1000, .cpu = 3, .other = -1 });
	/* that 11 left is missing, and that 12 came */
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_IN, .tid = 13, .time = 1500, .cpu = 3, .other = 12 });
	end(t, 2000);
	CHECK_U64(ledger(t, 11, 1000, 2000).parts[COATI_WAIT_RUNNING], ==, 0);
	CHECK_U64(ledger(t, 11, 1000, 2000).parts[COATI_WAIT_UNKNOWN], ==, 1000);
	CHECK_U64(ledger(t, 13, 1500, 2000).parts[COATI_WAIT_RUNNING], ==, 500);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 1);
	coati_timeline_free(&t);
}

TEST(timeline_what_was_lost_is_unknown_until_the_next_thing_that_is_told)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	exists(t, 11);
	in(t, 11, 1100);
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_LOST, .time = 1400, .number = 5 });
	in(t, 11, 1500);
	end(t, 2000);
	l = ledger(t, 11, 1000, 2000);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 500);
	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 500);
	coati_timeline_free(&t);
}

static void lose(struct coati_timeline *t, uint64_t time)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_LOST, .time = time, .number = 1 });
}

/* Each loss takes what is known of every thread away, once: what is not known already stays
 * whole. */
TEST(timeline_of_many_losses_has_no_more_intervals_than_things_that_happened)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_interval i;
	struct coati_timeline_thread th;

	in(t, 1, 1000);
	in(t, 2, 1000);
	for (uint64_t n = 0; n < 1000; n++) {
		/* the CPU tells something in between, or it would be one loss */
		in(t, 3, 2000 + 10 * n);
		lose(t, 2005 + 10 * n);
	}
	out(t, 1, 50000, COATI_WAIT_FUTEX);
	CHECK_OK(coati_timeline_end(t, 60000, NULL));
	CHECK_OK(coati_timeline_thread(t, coati_timeline_find_thread(t, 1, 60000), &th));
	CHECK_U64(th.nr_intervals, ==, 3);
	CHECK_OK(coati_timeline_interval(t, coati_timeline_find_thread(t, 1, 60000), 0, &i));
	CHECK_INT(i.wait, ==, COATI_WAIT_RUNNING);
	CHECK_U64(i.begin, ==, 1000);
	CHECK_U64(i.end, ==, 2000);
	CHECK_OK(coati_timeline_interval(t, coati_timeline_find_thread(t, 1, 60000), 1, &i));
	CHECK_INT(i.wait, ==, COATI_WAIT_UNKNOWN);
	CHECK_U64(i.end, ==, 50000);
	CHECK_OK(coati_timeline_interval(t, coati_timeline_find_thread(t, 1, 60000), 2, &i));
	CHECK_INT(i.wait, ==, COATI_WAIT_FUTEX);
	CHECK_U64(i.end, ==, 60000);
	CHECK_OK(coati_timeline_thread(t, coati_timeline_find_thread(t, 2, 60000), &th));
	CHECK_U64(th.nr_intervals, ==, 2);
	coati_timeline_free(&t);
}

TEST(timeline_task_is_worked_on_by_several_threads_or_by_nobody)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 1000);
	in(t, 12, 1000);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 1100, 7, "request");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 1150, 7, NULL);
	out(t, 11, 1200, COATI_WAIT_FUTEX);
	in(t, 11, 1300);
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 1400, 0, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 1600, 7, NULL);
	live(t, COATI_TIMELINE_TASK_END, 12, 1700, 7, NULL);
	end(t, 2000);
	CHECK_ERR(coati_timeline_task_ledger(t, coati_timeline_find_task(t, 7), &l), 0);
	CHECK_U64(l.duration, ==, 600);
	CHECK_U64(l.parts[COATI_PART_NOBODY], ==, 50 + 200);
	CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 100);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 50 + 100 + 100);
	coati_timeline_free(&t);
}

TEST(timeline_task_knows_the_threads_on_which_it_began_and_ended)
{
	struct coati_timeline *t = begin(0);
	struct coati_timeline_task k;

	exists(t, 1);
	exists(t, 2);
	exists(t, 3);
	live(t, COATI_TIMELINE_TASK_BEGIN, 1, 100, 7, "request");
	live(t, COATI_TIMELINE_TASK_ENTER, 2, 200, 7, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 2, 300, 0, NULL);
	live(t, COATI_TIMELINE_TASK_END, 3, 400, 7, NULL);
	/* the first end counts */
	live(t, COATI_TIMELINE_TASK_END, 1, 500, 7, NULL);
	/* open before, and afterwards */
	live(t, COATI_TIMELINE_TASK_ENTER, 2, 600, 8, NULL);
	end(t, 1000);
	CHECK_ERR(coati_timeline_task(t, 0, &k), 0);
	CHECK_INT(k.begin_thread, ==, coati_timeline_find_thread(t, 1, 100));
	CHECK_INT(k.end_thread, ==, coati_timeline_find_thread(t, 3, 100));
	CHECK_ERR(coati_timeline_task(t, 1, &k), 0);
	CHECK_INT(k.begin_thread, ==, NONE);
	CHECK_INT(k.end_thread, ==, NONE);
	coati_timeline_free(&t);
}

TEST(timeline_of_threads_that_work_at_once_the_one_that_runs_counts)
{
	struct coati_timeline *t = begin(0);
	struct coati_ledger l;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 100);
	in(t, 12, 100);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 7, "request");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 7, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 200, 7, NULL);
	out(t, 11, 300, COATI_WAIT_READ);
	out(t, 12, 400, COATI_WAIT_FUTEX);
	in(t, 11, 500);
	live(t, COATI_TIMELINE_TASK_END, 11, 600, 7, NULL);
	end(t, 700);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 400);
	CHECK_U64(sum_of(&l), ==, 500);
	coati_timeline_free(&t);
}

TEST(timeline_work_on_a_part_of_a_task_is_work_on_it)
{
	struct coati_timeline *t = begin(0);
	struct coati_ledger l;

	exists(t, 11);
	in(t, 11, 100);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "request");
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_TASK_BEGIN,
					      .tid = 11,
					      .time = 200,
					      .id = 2,
					      .parent = 1,
					      .text = "query" });
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 200, 2, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 300, 2, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 400, 1, NULL);
	end(t, 500);
	CHECK_ERR(coati_timeline_task_ledger(t, coati_timeline_find_task(t, 1), &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 100);
	CHECK_U64(l.parts[COATI_PART_NOBODY], ==, 200);
	coati_timeline_free(&t);
}

TEST(timeline_regions_nest_and_know_their_task)
{
	struct coati_timeline *t = begin(0);
	struct coati_timeline_region g;
	struct coati_timeline_type k;

	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 5, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 5, NULL);
	live(t, COATI_TIMELINE_REGION_BEGIN, 11, 110, 0, "outer");
	live(t, COATI_TIMELINE_REGION_BEGIN, 11, 120, 0, "inner");
	live(t, COATI_TIMELINE_REGION_END, 11, 130, 0, NULL);
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_RANGE,
					      .tid = 11,
					      .time = 160,
					      .number = 20,
					      .text = "inner" });
	live(t, COATI_TIMELINE_REGION_END, 11, 180, 0, NULL);
	live(t, COATI_TIMELINE_REGION_END, 11, 190, 0, NULL); /* of nothing */
	end(t, 200);
	CHECK_ERR(coati_timeline_region(t, 0, 0, &g), 0);
	CHECK_STR(g.name, "outer");
	CHECK_U64(g.end, ==, 180);
	CHECK_INT(g.task, ==, 0);
	CHECK_ERR(coati_timeline_region(t, 0, 2, &g), 0);
	CHECK_STR(g.name, "inner");
	CHECK_U64(g.begin, ==, 140);
	CHECK_INT(g.depth, ==, 1);
	CHECK_ERR(coati_timeline_type(t, coati_timeline_find_type(t, "inner"), &k), 0);
	CHECK_INT(k.nr, ==, 2);
	CHECK_U64(k.max, ==, 20);
	CHECK_ERR(coati_timeline_region(t, 0, 3, &g), -ENOENT);
	coati_timeline_free(&t);
}

/* Its regions; the process must be @pid. */
static uint32_t regions_of(const struct coati_timeline *t, uint32_t i, int32_t pid)
{
	struct coati_timeline_thread th;

	CHECK_ERR(coati_timeline_thread(t, i, &th), 0);
	CHECK_INT(th.pid, ==, pid);
	return th.nr_regions;
}

/* A program can write any number of a thread into its live events, also that of one of another
 * user, before or after that is known. */
TEST(timeline_live_events_are_not_on_threads_of_another_process)
{
	static const int32_t claimed[] = { 11, 12, 11, 12 };
	struct coati_timeline *t = begin(0);

	exists(t, 11);
	for (size_t i = 0; i < 4; i++) {
		add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_RANGE,
						      .pid = 66,
						      .tid = claimed[i],
						      .time = 100 + 10 * i,
						      .number = 5,
						      .text = "forged" });
		if (i == 1)
			add(t, (struct coati_timeline_event){
				       .kind = COATI_TIMELINE_START, .tid = 12, .time = 115 });
	}
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_RANGE,
					      .tid = 12,
					      .time = 150,
					      .number = 5,
					      .text = "true" });
	end(t, 200);
	CHECK_INT(coati_timeline_thread_count(t), ==, 5);
	CHECK_INT(coati_timeline_find_thread(t, 11, 200), ==, 0);
	CHECK_INT(regions_of(t, 0, 10), ==, 0);
	CHECK_INT(regions_of(t, 1, 66), ==, 2);
	CHECK_INT(regions_of(t, coati_timeline_find_thread(t, 12, 200), 10), ==, 1);
	coati_timeline_free(&t);
}

TEST(timeline_wake_knows_the_task_and_the_labels_of_the_waker)
{
	struct coati_timeline *t = begin(0);
	struct coati_timeline_wake w;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 100);
	in(t, 12, 100);
	live(t, COATI_TIMELINE_TASK_BEGIN, 12, 110, 9, "writer");
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 120, 9, NULL);
	live(t, COATI_TIMELINE_LABELS, 12, 130, 0, "route=/put");
	out(t, 11, 200, COATI_WAIT_FUTEX);
	wake(t, 12, 11, 450);
	in(t, 11, 460);
	end(t, 500);
	CHECK_ERR(coati_timeline_wake(t, 0, &w), 0);
	CHECK_INT(w.waker, ==, coati_timeline_find_thread(t, 12, 450));
	CHECK_INT(w.waker_task, ==, 0);
	CHECK_STR(w.labels, "route=/put");
	CHECK_U64(w.blocked_ns, ==, 250);
	CHECK_INT(w.wait, ==, COATI_WAIT_FUTEX);
	CHECK_ERR(coati_timeline_wake(t, 1, &w), -ENOENT);
	coati_timeline_free(&t);
}

/* 11 works, waits for 12, which runs, waits for 13, and both are woken in turn. */
TEST(timeline_thread_that_starts_while_it_is_described_is_one_thread)
{
	struct coati_timeline *t = begin(100);
	struct coati_timeline_thread th;

	exists(t, 2);
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_START, .tid = 2, .time = 200 });
	in(t, 2, 300);
	end(t, 1000);
	CHECK_INT(coati_timeline_thread_count(t), ==, 1);
	CHECK_ERR(coati_timeline_thread(t, 0, &th), 0);
	CHECK_U64(th.begin, ==, 200);
	CHECK_INT(th.nr_intervals, ==, 2);
	coati_timeline_free(&t);
}

TEST(timeline_waker_that_is_not_recorded_has_no_length)
{
	struct coati_timeline *t = begin(100);
	struct coati_timeline_wake w;
	struct coati_timeline_info info;
	struct coati_timeline_thread th;

	in(t, 1, 100);
	out(t, 1, 200, COATI_WAIT_READ);
	add(t,
	    (struct coati_timeline_event){
		    .kind = COATI_TIMELINE_WAKE, .pid = 70, .tid = 77, .other = 1, .time = 500 });
	/* nobody that is recorded is woken */
	wake(t, 77, 88, 550);
	wake(t, 1, 77, 560);
	in(t, 1, 600);
	end(t, 1000);
	CHECK_ERR(coati_timeline_wake(t, 0, &w), 0);
	CHECK_ERR(coati_timeline_wake(t, 1, &w), -ENOENT);
	CHECK_U64(w.blocked_ns, ==, 300);
	CHECK_ERR(coati_timeline_thread(t, w.waker, &th), 0);
	CHECK_INT(th.pid, ==, 70);
	CHECK_INT(th.tid, ==, 77);
	CHECK_U64(th.begin, ==, th.end);
	CHECK_INT(th.nr_intervals, ==, 0);
	coati_timeline_info(t, &info);
	CHECK_U64(info.wakes, ==, 1);
	coati_timeline_free(&t);
}

#define MS UINT64_C(1000000)

/* Process 10 has threads 10 and 11; it has started process 20. */
static struct coati_timeline *begin_family(void)
{
	struct coati_timeline *t = begin(0);

	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_EXISTS, .tid = 10 });
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_EXISTS, .tid = 11 });
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_EXISTS, .pid = 20, .tid = 20, .other = 10 });
	in(t, 10, 1 * MS);
	return t;
}

static void leave(struct coati_timeline *t, int32_t pid, int32_t tid, uint64_t time)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_EXIT, .pid = pid, .tid = tid, .time = time });
}

TEST(timeline_wait_for_a_child_ends_with_the_child)
{
	struct coati_timeline *t = begin_family();
	struct coati_timeline_interval v;
	struct coati_timeline_wake w;
	struct coati_ledger l;

	out(t, 10, 2 * MS, COATI_WAIT_READ);
	wake(t, 11, 10, 3 * MS);
	in(t, 10, 4 * MS);
	out(t, 10, 5 * MS, COATI_WAIT_CHILD);
	leave(t, 20, 20, 50 * MS);
	in(t, 10, 60 * MS);
	out(t, 10, 70 * MS, COATI_WAIT_READ);
	wake(t, 11, 10, 80 * MS);
	in(t, 10, 90 * MS);
	end(t, 100 * MS);
	CHECK_INT(coati_timeline_wake_count(t), ==, 3);
	CHECK_ERR(coati_timeline_wake(t, 1, &w), 0);
	CHECK_U64(w.time, ==, 60 * MS);
	CHECK_U64(w.blocked_ns, ==, 55 * MS);
	CHECK_INT(w.wait, ==, COATI_WAIT_CHILD);
	CHECK_INT(w.waker, ==, coati_timeline_find_thread(t, 20, 0));
	CHECK_INT(w.flags, ==, COATI_TIMELINE_IMPLIED);
	/* the one behind it still belongs to its state, and no time has moved */
	CHECK_ERR(coati_timeline_wake(t, 2, &w), 0);
	CHECK_U64(w.time, ==, 80 * MS);
	CHECK_ERR(coati_timeline_interval(t, 0, 9, &v), 0);
	CHECK_INT(v.wait, ==, COATI_WAIT_RUNNABLE);
	CHECK_INT(v.wake, ==, 2);
	CHECK_ERR(coati_timeline_ledger(t, 0, 0, 100 * MS, &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_CHILD], ==, 55 * MS);
	CHECK_U64(l.parts[COATI_WAIT_READ], ==, 11 * MS);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 11 * MS);
	coati_timeline_free(&t);
}

TEST(timeline_futex_ends_with_the_thread_that_is_joined)
{
	/* the end is recorded a little after the wake-up: the joining thread may run before */
	for (uint64_t exit = 49 * MS; exit <= 51 * MS; exit += MS / 2) {
		struct coati_timeline *t = begin_family();
		struct coati_timeline_wake w;

		out(t, 10, 2 * MS, COATI_WAIT_FUTEX);
		if (exit <= 50 * MS)
			leave(t, 10, 11, exit);
		in(t, 10, 50 * MS);
		if (exit > 50 * MS)
			leave(t, 10, 11, exit);
		end(t, 100 * MS);
		CHECK_ERR(coati_timeline_wake(t, 0, &w), 0);
		CHECK_INT(w.waker, ==, coati_timeline_find_thread(t, 11, 0));
		CHECK_U64(w.blocked_ns, ==, 48 * MS);
		coati_timeline_free(&t);
	}
}

/* Several end near the time at which it runs again, itself among them: the nearest other one. */
TEST(timeline_futex_ends_with_the_thread_whose_end_is_nearest)
{
	static const struct {
		uint64_t first, second; /* ends of 11 and 12, in microseconds around the time */
		int32_t waker;
	} rows[] = { { 970, 990, 12 },	{ 990, 970, 11 },   { 970, 1005, 12 },
		     { 1005, 970, 11 }, { 1005, 1020, 11 }, { 1020, 1005, 12 },
		     { 995, 1006, 11 }, { 1006, 995, 12 },  { 990, 990, 12 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct coati_timeline *t = begin_family();
		struct coati_timeline_wake w;

		in(t, 12, MS);
		out(t, 10, 2 * MS, COATI_WAIT_FUTEX);
		for (uint64_t us = 960; us <= 1030; us++) {
			uint64_t time = 49 * MS + us * (MS / 1000);

			if (us == 1000)
				in(t, 10, time);
			if (us == 1001)
				leave(t, 10, 10, time); /* its own end */
			if (us == rows[i].first)
				leave(t, 10, 11, time);
			if (us == rows[i].second)
				leave(t, 10, 12, time);
		}
		end(t, 100 * MS);
		CHECK_INT(coati_timeline_wake_count(t), ==, 1);
		CHECK_ERR(coati_timeline_wake(t, 0, &w), 0);
		CHECK_INT(w.waker, ==, coati_timeline_find_thread(t, rows[i].waker, 0));
		CHECK_U64(w.time, ==, 50 * MS);
		coati_timeline_free(&t);
	}
}

TEST(timeline_end_of_a_thread_explains_no_other_wait)
{
	static const struct {
		enum coati_wait wait;
		int32_t pid, tid;
		uint64_t exit;
	} not [] = {
		{ COATI_WAIT_POLL, 10, 11, 50 * MS },  /* not what polling waits for */
		{ COATI_WAIT_FUTEX, 20, 20, 50 * MS }, /* another process */
		{ COATI_WAIT_CHILD, 10, 11, 50 * MS }, /* no child, but a thread */
		{ COATI_WAIT_FUTEX, 10, 11, 48 * MS }, /* too long before */
		{ COATI_WAIT_OTHER, 20, 20, 39 * MS },
		{ COATI_WAIT_CHILD, 20, 20, 1 * MS + 1 }, /* before the wait */
	};

	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++) {
		struct coati_timeline *t = begin_family();

		if (not [i].exit < 2 * MS)
			leave(t, not [i].pid, not [i].tid, not [i].exit);
		out(t, 10, 2 * MS, not [i].wait);
		if (not [i].exit > 2 * MS)
			leave(t, not [i].pid, not [i].tid, not [i].exit);
		in(t, 10, 50 * MS);
		end(t, 100 * MS);
		CHECK_INT(coati_timeline_wake_count(t), ==, 0);
		coati_timeline_free(&t);
	}
}

TEST(timeline_type_has_exact_percentiles)
{
	struct coati_timeline *t = begin(0);
	struct coati_timeline_type k;

	for (uint64_t i = 1; i <= 200; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, 1000 * i, i, "job");
		live(t, COATI_TIMELINE_TASK_END, 11, 1000 * i + i, i, NULL);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 300000, 999, "job");
	end(t, 400000);
	CHECK_ERR(coati_timeline_type(t, 0, &k), 0);
	CHECK_INT(k.nr, ==, 200);
	CHECK_INT(k.nr_open, ==, 1);
	CHECK_U64(k.p50, ==, 100);
	CHECK_U64(k.p90, ==, 180);
	CHECK_U64(k.p99, ==, 198);
	CHECK_U64(k.max, ==, 200);
	coati_timeline_free(&t);
}

TEST(timeline_takes_no_events_after_its_end_and_none_that_it_does_not_know)
{
	struct coati_timeline *t = begin(0);

	CHECK_ERR(coati_timeline_add(t, &(struct coati_timeline_event){ .kind = 999 }), -EINVAL);
	end(t, 0);
	CHECK_ERR(
		coati_timeline_add(t, &(struct coati_timeline_event){ .kind = COATI_TIMELINE_IN }),
		-EINVAL);
	CHECK_ERR(coati_timeline_end(t, 0, NULL), -EINVAL);
	coati_timeline_free(&t);
	coati_timeline_free(&t);
}

/* ---- interrupts ---- */

TEST(timeline_interrupts_are_taken_from_running_and_nested_ones_count_once)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_info info;
	struct coati_ledger l;

	exists(t, 11);
	in(t, 11, 1000);
	irq_entry(t, 11, 1100, 5);
	irq_entry(t, 11, 1150, 100);
	irq_exit(t, 11, 1170, 100);
	irq_exit(t, 11, 1300, 5);
	irq_entry(t, 11, 1300, 6);
	irq_exit(t, 11, 1310, 6);
	out(t, 11, 1800, COATI_WAIT_READ);
	end(t, 2000);
	l = ledger(t, 11, 1000, 2000);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 210);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 590);
	CHECK_U64(l.parts[COATI_WAIT_READ], ==, 200);
	CHECK_U64(l.switches, ==, 1);
	l = ledger(t, 11, 1160, 1250);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 90);
	CHECK_U64(sum_of(&l), ==, 90);
	l = ledger(t, 11, 1200, 1305);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 105);
	l = ledger(t, 11, 1310, 1400);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 0);
	CHECK_STR(coati_part_name(COATI_PART_IRQ), "irq");
	coati_timeline_info(t, &info);
	CHECK_U64(info.irqs, ==, 2);
	CHECK_U64(info.unpaired, ==, 0);
	CHECK(info.has & COATI_TIMELINE_HAS_IRQS);
	coati_timeline_free(&t);
}

/* It cannot go on when the thread has left its CPU, so nobody knows when it ended. */
TEST(timeline_interrupt_whose_end_is_lost_stays_running)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_info info;
	struct coati_ledger l;

	exists(t, 11);
	in(t, 11, 1000);
	irq_entry(t, 11, 1100, 5); /* lost */
	out(t, 11, 1200, COATI_WAIT_PREEMPTED);
	in(t, 11, 1300);
	irq_exit(t, 11, 1350, 5); /* of nothing */
	irq_entry(t, 11, 1400, 5);
	irq_exit(t, 11, 1410, 5);
	end(t, 2000);
	l = ledger(t, 11, 1000, 2000);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 10);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 200 + 690);
	CHECK_U64(l.parts[COATI_WAIT_PREEMPTED], ==, 100);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 2);
	coati_timeline_free(&t);
}

TEST(timeline_interrupt_in_another_counts_when_either_end_is_lost)
{
	struct coati_timeline *t = begin(1000);

	exists(t, 11);
	in(t, 11, 1000);
	irq_entry(t, 11, 1100, 5);
	irq_entry(t, 11, 1150, 100); /* lost */
	irq_exit(t, 11, 1200, 5);
	irq_entry(t, 11, 1500, 5); /* lost */
	irq_entry(t, 11, 1550, 100);
	irq_exit(t, 11, 1560, 100);
	out(t, 11, 1800, COATI_WAIT_READ);
	end(t, 2000);
	CHECK_U64(ledger(t, 11, 1000, 1400).parts[COATI_PART_IRQ], ==, 100);
	CHECK_U64(ledger(t, 11, 1400, 2000).parts[COATI_PART_IRQ], ==, 10);
	coati_timeline_free(&t);
}

TEST(timeline_of_threads_that_work_at_once_an_interrupt_counts_when_none_runs)
{
	struct coati_timeline *t = begin(0);
	struct coati_ledger l;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 100);
	in(t, 12, 100);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 7, "request");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 7, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 100, 7, NULL);
	irq_entry(t, 11, 200, 5); /* while 12 runs */
	irq_exit(t, 11, 250, 5);
	out(t, 12, 300, COATI_WAIT_FUTEX);
	irq_entry(t, 11, 400, 5); /* while 12 waits */
	irq_exit(t, 11, 430, 5);
	live(t, COATI_TIMELINE_TASK_END, 11, 600, 7, NULL);
	end(t, 700);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), 0);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 30);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 470);
	CHECK_U64(sum_of(&l), ==, 500);
	coati_timeline_free(&t);
}

/* ---- property: whatever happens, ledgers add up ---- */

#define TASKS	100000
#define THREADS 8

struct world {
	struct coati_timeline *t;
	uint64_t now, next_task;
	uint64_t working[THREADS]; /* task of each thread, 0: none */
	bool running[THREADS];
	struct {
		uint64_t id, begin, end;
	} tasks[TASKS];
};

static void switch_thread(struct world *w, int32_t i)
{
	if (w->running[i])
		out(w->t, 11 + i, w->now,
		    1 + (enum coati_wait)(test_random() % COATI_WAIT_RUNNABLE));
	else if (test_random() % 2)
		wake(w->t, 11 + (int32_t)(test_random() % THREADS), 11 + i, w->now);
	if (!w->running[i])
		in(w->t, 11 + i, w->now + test_random() % 3);
	w->running[i] = !w->running[i];
}

static void step(struct world *w)
{
	int32_t i = (int32_t)(test_random() % THREADS);
	uint64_t id = test_random() % (w->next_task + 1);

	w->now += test_random() % 2000;
	switch (test_random() % 8) {
	case 6:
		irq_entry(w->t, 11 + i, w->now, test_random() % 3);
		break;
	case 7:
		irq_exit(w->t, 11 + i, w->now, test_random() % 3);
		break;
	case 0:
		live(w->t, COATI_TIMELINE_TASK_ENTER, 11 + i, w->now, id, NULL);
		break;
	case 1:
		if (id && !w->tasks[id - 1].end) {
			live(w->t, COATI_TIMELINE_TASK_END, 11 + i, w->now, id, NULL);
			w->tasks[id - 1].end = w->now;
		}
		break;
	case 2:
	case 3:
		add(w->t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_TASK_BEGIN,
							 .tid = 11 + i,
							 .time = w->now,
							 .id = w->next_task + 1,
							 .parent = test_random() % 8 ? 0 : id,
							 .text = "job" });
		live(w->t, COATI_TIMELINE_TASK_ENTER, 11 + i, w->now, w->next_task + 1, NULL);
		w->tasks[w->next_task++].begin = w->now;
		break;
	default:
		switch_thread(w, i);
	}
}

TEST(timeline_ledgers_of_a_hundred_thousand_tasks_add_up)
{
	static struct world w;
	uint64_t wrong = 0, all = 0, irq = 0;

	w.t = begin(1);
	w.now = 1;
	for (int32_t i = 0; i < THREADS; i++)
		exists(w.t, 11 + i);
	while (w.next_task < TASKS)
		step(&w);
	end(w.t, w.now + 1);
	CHECK_INT(coati_timeline_task_count(w.t), ==, TASKS);
	for (uint32_t i = 0; i < TASKS; i++) {
		uint64_t want = (w.tasks[i].end ? w.tasks[i].end : w.now + 1) - w.tasks[i].begin;
		struct coati_ledger l;

		CHECK_ERR(coati_timeline_task_ledger(w.t, i, &l), 0);
		wrong += l.duration != want || sum_of(&l) != want;
		all += sum_of(&l);
		irq += l.parts[COATI_PART_IRQ];
	}
	CHECK_U64(wrong, ==, 0);
	CHECK_U64(all, >, 0);
	CHECK_U64(irq, >, 0);
	coati_timeline_free(&w.t);
}

/* So many interrupts in each other that the ends of some must have been lost: all of them are. */
TEST(timeline_interrupts_deeper_than_64_are_lost_ends)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_info info;

	exists(t, 11);
	in(t, 11, 1000);
	for (uint64_t i = 0; i < 64; i++)
		irq_entry(t, 11, 1100 + i, i + 1);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 0);
	irq_entry(t, 11, 1200, 100);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 64);
	irq_exit(t, 11, 1230, 100);
	end(t, 2000);
	CHECK_U64(ledger(t, 11, 1000, 2000).parts[COATI_PART_IRQ], ==, 30);
	coati_timeline_free(&t);
}

TEST(timeline_thread_that_gets_a_cpu_twice_is_unpaired)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_interval v;
	struct coati_timeline_info info;

	exists(t, 11);
	in(t, 11, 1000);
	out(t, 11, 1100, COATI_WAIT_READ);
	in(t, 11, 1200);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 0);
	in(t, 11, 1300);
	coati_timeline_info(t, &info);
	CHECK_U64(info.unpaired, ==, 1);
	end(t, 2000);
	CHECK_ERR(coati_timeline_interval(t, 0, 1, &v), 0);
	CHECK_INT(v.wait, ==, COATI_WAIT_READ);
	CHECK_INT(v.cpu, ==, -1); /* on none */
	coati_timeline_free(&t);
}

TEST(timeline_leaves_out_events_beyond_its_ceiling_and_counts_them)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_info info;

	t->opts.max_events = 3; /* as of a small memory */
	exists(t, 11);
	in(t, 11, 1000);
	coati_timeline_info(t, &info);
	CHECK_U64(info.refused, ==, 0);
	out(t, 11, 1300, COATI_WAIT_READ);
	in(t, 11, 1400);
	coati_timeline_info(t, &info);
	CHECK_U64(info.refused, ==, 2);
	CHECK_U64(info.switches, ==, 0);
	end(t, 2000);
	CHECK_U64(ledger(t, 11, 1000, 2000).parts[COATI_WAIT_RUNNING], ==, 1000);
	coati_timeline_free(&t);
}
