/* SPDX-License-Identifier: MIT */
/*
 * What the slow tasks spend their time on: one cause each, made of events. How often the answer is
 * right when chance has its share is in test-why-rates.c.
 */
#include "lib/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "trace/why.h"
#include "unit/timeline-feeder.h"
#include "unit/why-stage.h"

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
	CHECK_ERR(coati_timeline_why(t, 0, 99, &w, &err), 0);
	CHECK_INT(w->answer, ==, COATI_WHY_CANNOT_TELL);
	CHECK_INT(w->reason, ==, COATI_WHY_BY_COUNT);
	CHECK(w->number == 1 && w->limit == 5);
	CHECK_INT(w->nr_causes, ==, 0);
	coati_why_free(&w);
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

/* ---- three verdicts ---- */

/* 1000 tasks of about a microsecond; every hundredth gets 20 us more, by turns of two kinds. */
static struct coati_timeline *make_slow(enum coati_wait even, enum coati_wait odd)
{
	struct coati_timeline *t = begin(1);
	uint64_t now = 1000;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 500);
	in(t, 12, 500);
	for (uint64_t i = 1; i <= 1000; i++) {
		enum coati_wait wait = i / 100 % 2 ? odd : even;

		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		if (i % 100 == 7) {
			if (wait != COATI_WAIT_RUNNING) {
				out(t, 11, now, wait);
				wake(t, 12, 11, now + 20000);
				in(t, 11, now + 20000);
			}
			now += 20000;
		}
		now += 950 + i * 37 % 101;
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, 0, NULL);
		now += 10;
	}
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_LOG, .tid = 11, .time = now, .text = "end" });
	return t;
}

static void stolen(struct coati_timeline *t, uint64_t from, uint64_t to, uint64_t ns)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_STOLEN, .id = from, .time = to, .number = ns });
}

TEST(why_names_both_of_two_causes_with_how_many_have_them)
{
	struct coati_timeline *t = make_slow(COATI_WAIT_FUTEX, COATI_WAIT_IO);
	struct coati_why *w;

	end(t, 0);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CAUSES);
	CHECK_INT(w->reason, ==, COATI_WHY_BY_EXTRA);
	CHECK_INT(w->nr_slow, ==, 10);
	CHECK_INT(w->nr_causes, ==, 2);
	CHECK(!strcmp(w->rows[0].name, "futex") ? !strcmp(w->rows[1].name, "io")
						: !strcmp(w->rows[1].name, "futex"));
	for (int i = 0; i < 2; i++) {
		CHECK_INT(w->rows[i].nr_affected, ==, 5);
		CHECK(w->rows[i].extra == 10000); /* over all ten */
		CHECK(w->rows[i].number > w->rows[i].limit);
	}
	CHECK(w->number == w->rows[0].number && w->limit == w->rows[0].limit);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* The host took a second, but not while the slow ones ran. */
TEST(why_charges_stolen_time_to_the_intervals_in_which_it_was_taken)
{
	struct coati_timeline *t = make_slow(COATI_WAIT_RUNNING, COATI_WAIT_RUNNING);
	struct coati_why *w;

	stolen(t, 0, 0, 1000000000);
	stolen(t, 1, 1000, 1000000000);
	end(t, 0);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CAUSES);
	CHECK_STR(w->rows[0].name, "running");
	CHECK(w->stolen == 0);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* It took enough meanwhile, or in a recording that says only how much it took in all. */
TEST(why_cannot_tell_what_the_host_may_have_taken)
{
	for (int windows = 0; windows < 2; windows++) {
		struct coati_timeline *t = make_slow(COATI_WAIT_RUNNING, COATI_WAIT_RUNNING);
		struct coati_why *w;

		stolen(t, 0, 0, 1000000000);
		if (windows)
			stolen(t, 1, 10000000, 1000000000);
		end(t, 0);
		w = ask_why(t, "job");
		CHECK_INT(w->answer, ==, COATI_WHY_CANNOT_TELL);
		CHECK_INT(w->reason, ==, COATI_WHY_BY_STEAL);
		CHECK_INT(w->nr_causes, ==, 0);
		/* all that ten took longer than a typical one */
		CHECK(fabs(w->stolen - 10 * 20000) < 10 * 101);
		CHECK(w->number <= w->limit);
		coati_why_free(&w);
		coati_timeline_free(&t);
	}
}

/* What a window holds excuses as many as it can pay for, and no more. */
TEST(why_lets_stolen_time_excuse_only_once)
{
	struct coati_timeline *t = make_slow(COATI_WAIT_RUNNING, COATI_WAIT_RUNNING);
	struct coati_why *w;

	stolen(t, 0, 0, 1000000000);
	stolen(t, 1, 10000000, 30000);
	end(t, 0);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CAUSES);
	CHECK(w->stolen == 30000);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* A loop works on two tasks by turns; task 700 hogs it for 5 ms in its region. */
TEST(why_names_the_task_that_hogged_the_event_loop)
{
	struct coati_timeline *t = begin(1);
	const struct coati_why_row *row;
	struct coati_timeline_task hog;
	uint64_t now = 1000;
	struct coati_why *w;

	exists(t, 11);
	in(t, 11, 500);
	for (uint64_t i = 1; i <= 1000; i++) {
		/* nine of each hundred wait for the one that comes before them */
		uint64_t work = i % 100 == 0 ? 50000 : 1000;

		if (i % 100 == 0)
			for (uint64_t n = 1; n <= 9 && i + n <= 1000; n++)
				live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i + n, "job");
		if (i % 100 == 0 || i % 100 > 9 || i < 10)
			live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, i % 100 ? "job" : "batch");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		live(t, COATI_TIMELINE_REGION_BEGIN, 11, now, 0, "step");
		live(t, COATI_TIMELINE_REGION_BEGIN, 11, now, 0, i % 100 ? "small" : "large");
		now += i == 700 ? 5000000 : work;
		live(t, COATI_TIMELINE_REGION_END, 11, now, 0, NULL);
		live(t, COATI_TIMELINE_REGION_END, 11, now, 0, NULL);
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, 0, NULL);
	}
	end(t, now);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CAUSES);
	row = &w->rows[0];
	CHECK_STR(row->name, "nobody");
	CHECK_ERR(coati_timeline_task(t, row->hog, &hog), 0);
	CHECK_U64(hog.id, ==, 700);
	CHECK_STR(hog.name, "batch");
	CHECK_STR(row->hog_region, "large");
	CHECK_INT(row->hog_thread, ==, coati_timeline_find_thread(t, 11, 500));
	CHECK(row->hog_share > 0.99 && row->hog_share <= 1);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* Two of five are of a kind that takes ten times as long: "typical" is neither. */
TEST(why_cannot_tell_when_there_are_two_kinds)
{
	struct coati_timeline *t = begin(1);
	uint64_t now = 1000;
	struct coati_why *w;

	exists(t, 11);
	in(t, 11, 500);
	for (uint64_t i = 1; i <= 1000; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		now += (i % 5 < 2 ? 10000 : 1000) * (950 + i * 37 % 101) / 1000;
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
	}
	end(t, now);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CANNOT_TELL);
	CHECK_INT(w->reason, ==, COATI_WHY_BY_MIXTURE);
	CHECK(fabs(w->number - 0.4) < 0.02 && w->limit == 0.25);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

TEST(why_cannot_tell_from_live_events_alone)
{
	struct coati_timeline *t = begin(1);
	uint64_t now = 1000;
	struct coati_why *w;

	for (uint64_t i = 1; i <= 1000; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		now += i % 50 ? 1000 : 20000;
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
	}
	end(t, now);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CANNOT_TELL);
	CHECK_INT(w->reason, ==, COATI_WHY_BY_UNKNOWN);
	CHECK(w->number == 1 && w->limit == 0.5);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* One of the five slow ones waited for a disk: that may be an accident. */
TEST(why_cannot_tell_from_a_single_one)
{
	struct coati_timeline *t = begin(1);
	uint64_t now = 1000;
	struct coati_why *w;

	exists(t, 11);
	in(t, 11, 500);
	for (uint64_t i = 1; i <= 500; i++) {
		live(t, COATI_TIMELINE_TASK_BEGIN, 11, now, i, "job");
		live(t, COATI_TIMELINE_TASK_ENTER, 11, now, i, NULL);
		if (i == 250) {
			out(t, 11, now, COATI_WAIT_IO);
			in(t, 11, now + 20000);
			now += 20000;
		}
		now += 950 + i * 37 % 101;
		live(t, COATI_TIMELINE_TASK_END, 11, now, i, NULL);
	}
	end(t, now);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CANNOT_TELL);
	CHECK_INT(w->reason, ==, COATI_WHY_BY_AFFECTED);
	CHECK(w->number == 1 && w->limit == 2);
	CHECK_STR(w->rows[w->row].name, "io");
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/*
 * 12 of 1200 requests compute for 15 ms, and the others for 10 us: too short for samples. The host
 * took a second somewhere, and the recording does not say when. But samples saw the slow ones run,
 * and how often a thread that runs is seen is known from what else the threads did.
 */
TEST(why_believes_samples_also_when_typical_ones_are_too_short_for_them)
{
	struct coati_timeline *t;
	struct coati_why *w;
	struct actor a, other;
	struct stage s;

	stage_init(&s, 1);
	actor_init(&a, &s, 11, 1e6);
	actor_init(&other, &s, 12, 1e6);
	for (int i = 1; i <= 1200; i++) {
		uint64_t task = actor_begin(&a, "job", a.now);

		actor_enter(&a, task);
		actor_run(&a, i % 100 == 7 ? 15e6 : 1e4);
		actor_end(&a, task);
	}
	actor_run(&other, a.now - other.now);
	s.told = true;
	CHECK(ARRAY_ADD(&s.taken));
	s.taken.v[0] = (struct stage_burst){ 0, 1e9 }; /* in every window */
	t = stage_end(&s);
	w = ask_why(t, "job");
	CHECK_INT(w->answer, ==, COATI_WHY_CAUSES);
	CHECK_STR(w->rows[0].name, "running");
	CHECK(w->number > 13e6 && w->number < 15e6); /* less a tick of the sampler */
	CHECK(w->seen > 0.9);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* With a cause of each kind of blame: a waker, code and a hog. */
TEST(why_survives_every_allocation_that_fails)
{
	struct coati_why *w = NULL;
	struct coati_timeline *t;
	struct actor a;
	struct stage s;
	int r = -ENOMEM;

	stage_init(&s, 1);
	s.told = true;
	s.tick_ns = 0;
	actor_init(&a, &s, 11, 1e6);
	for (int i = 1; i <= 100; i++) {
		uint64_t task = actor_begin(&a, "job", a.now), other;

		if (i % 30 == 7) {
			other = actor_begin(&a, "other", a.now);
			actor_enter(&a, other);
			actor_run(&a, 1e8);
			actor_end(&a, other);
		}
		actor_enter(&a, task);
		actor_run(&a, i % 30 == 17 ? 1e8 : 1e6);
		if (i % 30 == 27)
			actor_wait(&a, COATI_WAIT_FUTEX, a.now + 1e8, 12);
		actor_end(&a, task);
	}
	t = stage_end(&s);
	for (uint64_t n = 0; r == -ENOMEM && n < 10000; n++) {
		coati_alloc_fail_after(n);
		r = coati_timeline_why(t, coati_timeline_find_type(t, "job"), 90, &w, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK((r == 0) == (w != NULL));
	}
	CHECK_ERR(r, 0);
	CHECK_INT(w->nr_causes, ==, 3);
	coati_why_free(&w);
	coati_timeline_free(&t);
}

/* ---- tails ---- */

/* Quantiles of an exponential distribution with a mean of 1, behind @zeros that have nothing: those
 * that are longer than the limit of a share are 1 longer than it, in the mean. */
static double tail_of(size_t nr, size_t zeros, double share)
{
	static double sorted[4000];

	for (size_t i = 0; i < zeros; i++)
		sorted[i] = 0;
	for (size_t i = zeros; i < nr; i++)
		sorted[i] = -log(1 - ((double)(i - zeros) + 0.5) / (double)(nr - zeros));
	return coati_why_tail(sorted, nr, share, 1e-6);
}

TEST(why_tail_of_an_exponential_distribution_is_its_mean_behind_the_limit)
{
	double all = 1 - log(0.01), half = 1 - log(0.02);

	CHECK(fabs(tail_of(4000, 0, 0.01) - all) < 0.05 * all);
	/* one in a hundred of all is two in a hundred of the half that has something */
	CHECK(fabs(tail_of(4000, 2000, 0.01) - half) < 0.05 * half);
	CHECK(tail_of(4000, 4000, 0.01) == 0);
}
