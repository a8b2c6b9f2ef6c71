/* SPDX-License-Identifier: MIT */
/* What the slow tasks spend their time on: one cause each, made of events. How often the answer is right when chance has its share is in test-why-rates.c. */
#include "lib/test.h"

#include <errno.h>

#include <coati/timeline.h>

#include "unit/timeline-feeder.h"

/* 1000 tasks of about a microsecond; what makes one in fifty longer. */
static struct coati_timeline *make_tasks(enum coati_wait wait, uint64_t extra)
{
	struct coati_timeline *t = begin(1);
	uint64_t now = 1000;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 500);
	in(t, 12, 500);
	for (uint64_t i = 1; i <= 1000; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		live(t, COATI_TIMELINE_REGION_BEGIN, 11, now, 0, "inside");
		if (i % 50 == 7 && wait == COATI_WAIT_RUNNING) {
			now += extra;
		} else if (i % 50 == 7 && wait != COATI_WAIT_COUNT) {
			out(t, 11, now, wait);
			if (wait != COATI_WAIT_PREEMPTED)
				wake(t, 12, 11, now + extra);
			in(t, 11, now + extra);
			now += extra;
		}
		now += 950 + i * 37 % 101;
		live(t, COATI_TIMELINE_REGION_END, 11, now, 0, NULL);
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
		now += 10;
	}
	end(t, now);
	return t;
}

static struct coati_why *ask_why(const struct coati_timeline *t, const char *name)
{
	struct coati_error err = { 0 };
	struct coati_why *w = NULL;

	CHECK_ERR(coati_timeline_why(t, coati_timeline_find_type(t, name), 99, &w, &err), 0);
	return w;
}

TEST(why_names_what_the_slow_ones_wait_for_and_who_ends_it)
{
	struct coati_timeline *t = make_tasks(COATI_WAIT_FUTEX, 20000);
	struct coati_why *w = ask_why(t, "job");

	CHECK_INT(w->nr_causes, ==, 1);
	CHECK_STR(w->rows[0].name, "futex");
	CHECK_INT(w->rows[0].waker, ==, coati_timeline_find_thread(t, 12, 500));
	CHECK(w->rows[0].low > 19000 && w->rows[0].high < 21000);
	CHECK_INT(w->nr_slow, ==, 10);
	coati_why_free(&w);
	w = ask_why(t, "inside");
	CHECK_STR(w->rows[0].name, "futex");
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_shows_the_code_of_the_waiter_where_an_interrupt_ends_the_wait)
{
	struct coati_timeline *t = begin(1);
	struct coati_why *w;
	struct coati_timeline_wake wake;
	uint64_t now = 1000;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 500);
	in(t, 12, 500);
	for (uint64_t i = 1; i <= 1000; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		if (i % 50 == 7) {
			add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_OUT,
							      .tid = 11,
							      .time = now,
							      .stack = 3,
							      .wait = COATI_WAIT_SLEEP });
			/* a timer interrupts thread 12, which has nothing to do with it */
			add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_WAKE,
							      .flags = COATI_TIMELINE_IRQ,
							      .tid = 12,
							      .other = 11,
							      .time = now + 20000,
							      .stack = 4 });
			in(t, 11, now + 20000);
			now += 20000;
		}
		now += 950 + i * 37 % 101;
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
		now += 10;
	}
	end(t, now);
	CHECK_ERR(coati_timeline_wake(t, 0, &wake), 0);
	CHECK_INT(wake.waker, ==, NONE);
	CHECK_INT(wake.stack, ==, NONE);
	w = ask_why(t, "job");
	CHECK_STR(w->rows[0].name, "sleep");
	CHECK_INT(w->rows[0].waker, ==, NONE);
	CHECK_INT(w->rows[0].stack, ==, 3);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_tells_computing_from_waiting)
{
	struct coati_timeline *t = make_tasks(COATI_WAIT_RUNNING, 20000);
	struct coati_why *w = ask_why(t, "job");

	CHECK_INT(w->nr_causes, ==, 1);
	CHECK_STR(w->rows[0].name, "running");
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_finds_no_difference_where_there_is_none)
{
	struct coati_timeline *t = make_tasks(COATI_WAIT_COUNT, 0);
	struct coati_why *w = ask_why(t, "job");

	CHECK_INT(w->nr_causes, ==, 0);
	CHECK_INT(w->without_cpu, ==, 0);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_does_not_blame_the_program_for_a_busy_machine)
{
	struct coati_timeline *t = make_tasks(COATI_WAIT_PREEMPTED, 20000);
	struct coati_why *w = ask_why(t, "job");

	CHECK_INT(w->nr_causes, ==, 0);
	CHECK_INT(w->without_cpu, ==, 1);
	CHECK(w->machine > 0.9);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_says_when_there_are_too_few)
{
	struct coati_timeline *t = begin(1);
	struct coati_error err = { 0 };
	struct coati_why *w = NULL;

	for (uint64_t i = 1; i <= 10; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100 * i, i, "job");
		live(t, COATI_TIMELINE_TASK_END, 11, 100 * i + i, i, NULL);
	}
	end(t, 10000);
	CHECK_ERR(coati_timeline_why(t, 0, 99, &w, &err), -ENODATA);
	CHECK_ERR(coati_timeline_why(t, 7, 99, &w, &err), -EINVAL);
	CHECK_ERR(coati_timeline_why(t, 0, 100, &w, &err), -EINVAL);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* The durations at the boundary are equal, as the own times of equal requests are now and then. */
TEST(why_takes_the_slowest_hundredth_also_when_durations_are_equal)
{
	struct coati_timeline *t = begin(1);
	struct coati_why *w;
	uint64_t now = 1000;

	exists(t, 11);
	in(t, 11, 500);
	for (uint64_t i = 1; i <= 500; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		now += 1000 + (i == 495 || i == 496 ? 495 : i);
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
	}
	end(t, now);
	w = ask_why(t, "job");
	CHECK_INT(w->nr_slow, ==, 5);
	CHECK_INT(w->nr_typical, ==, 250);
	CHECK_U64(w->threshold, ==, 1495);
	coati_why_free(&w);
	coati_timeline_free(&t);
}
