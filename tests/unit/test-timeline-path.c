/* SPDX-License-Identifier: MIT */
/* The critical path of a task: from who ends it back to who begins it, over wakes and spans. */
#include "lib/test.h"

#include <errno.h>

#include "base/alloc.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "unit/timeline-feeder.h"

TEST(timeline_critical_path_goes_from_wake_to_wake)
{
	static const struct {
		uint64_t begin, end;
		int32_t tid;
		uint32_t part;
	} want[] = {
		{ 100, 200, 11, COATI_WAIT_RUNNING }, { 200, 300, 12, COATI_WAIT_RUNNING },
		{ 300, 500, 13, COATI_WAIT_RUNNING }, { 500, 520, 12, COATI_WAIT_RUNNABLE },
		{ 520, 600, 12, COATI_WAIT_RUNNING }, { 600, 610, 11, COATI_WAIT_RUNNABLE },
		{ 610, 700, 11, COATI_WAIT_RUNNING },
	};
	struct coati_timeline *t = begin(0);
	struct coati_timeline_step *steps;
	struct coati_timeline_thread th;
	size_t nr = 0;

	for (int32_t tid = 11; tid <= 13; tid++) {
		exists(t, tid);
		in(t, tid, 50);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 1, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 700, 1, NULL);
	out(t, 11, 200, COATI_WAIT_FUTEX);
	out(t, 12, 300, COATI_WAIT_READ);
	wake(t, 13, 12, 500);
	in(t, 12, 520);
	wake(t, 12, 11, 600);
	in(t, 11, 610);
	end(t, 800);
	CHECK_ERR(coati_timeline_path(t, 0, &steps, &nr, NULL), 0);
	CHECK_INT(nr, ==, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < nr && i < sizeof(want) / sizeof(*want); i++) {
		CHECK_U64(steps[i].begin, ==, want[i].begin);
		CHECK_U64(steps[i].end, ==, want[i].end);
		CHECK_INT(steps[i].part, ==, want[i].part);
		CHECK_ERR(coati_timeline_thread(t, steps[i].thread, &th), 0);
		CHECK_INT(th.tid, ==, want[i].tid);
	}
	coati_timeline_path_free(&steps);
	coati_timeline_free(&t);
}

struct step {
	uint64_t begin, end;
	int32_t tid; /* 0: no thread */
	uint32_t part;
};

/* The critical path of the first task. */
static void check_path(struct coati_timeline *t, const struct step *want, size_t nr_want)
{
	struct coati_timeline_step *steps;
	size_t nr = 0;
	int r;

	for (uint64_t n = 0;; n++) { /* and without memory at any time there is none */
		coati_alloc_fail_after(n);
		r = coati_timeline_path(t, 0, &steps, &nr, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (r == 0)
			break;
		CHECK_INT(r, ==, -ENOMEM);
		CHECK_U64(n, <, 100);
	}
	CHECK_INT(nr, ==, nr_want);
	for (size_t i = 0; i < nr; i++) {
		struct coati_timeline_thread th = { 0 };

		CHECK_U64(steps[i].begin, ==, want[i].begin);
		CHECK_U64(steps[i].end, ==, want[i].end);
		CHECK_INT(steps[i].part, ==, want[i].part);
		CHECK_INT(steps[i].thread == COATI_TIMELINE_NONE, ==, !want[i].tid);
		if (want[i].tid) {
			CHECK_ERR(coati_timeline_thread(t, steps[i].thread, &th), 0);
			CHECK_INT(th.tid, ==, want[i].tid);
		}
	}
	coati_timeline_path_free(&steps);
}

#define PATH(t, ...)                                        \
	check_path(t, (const struct step[]){ __VA_ARGS__ }, \
		   sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

TEST(timeline_critical_path_has_what_no_thread_works_on)
{
	struct coati_timeline *t = begin(0);

	for (int32_t tid = 11; tid <= 12; tid++) {
		exists(t, tid);
		in(t, tid, 50);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 150, 1, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 200, 1, NULL);
	/* both leave it at once: who took it up last worked on it last */
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 600, 0, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 600, 0, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 700, 1, NULL);
	end(t, 800);
	PATH(t, { 100, 150, 0, COATI_PART_NOBODY }, { 150, 200, 11, COATI_WAIT_RUNNING },
	     { 200, 600, 12, COATI_WAIT_RUNNING }, { 600, 700, 0, COATI_PART_NOBODY });
	coati_timeline_free(&t);
}

/* A third takes it up when one of two leaves it: before that, the one that had taken it up last. */
TEST(timeline_critical_path_goes_to_the_last_that_was_still_at_it)
{
	struct coati_timeline *t = begin(0);

	for (int32_t tid = 11; tid <= 13; tid++) {
		exists(t, tid);
		in(t, tid, 50);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 1, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 200, 1, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 12, 600, 0, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 13, 600, 1, NULL);
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 650, 0, NULL);
	live(t, COATI_TIMELINE_TASK_END, 13, 700, 1, NULL);
	end(t, 800);
	PATH(t, { 100, 200, 11, COATI_WAIT_RUNNING }, { 200, 600, 12, COATI_WAIT_RUNNING },
	     { 600, 700, 13, COATI_WAIT_RUNNING });
	coati_timeline_free(&t);
}

TEST(timeline_critical_path_stays_on_a_thread_that_an_interrupt_woke)
{
	struct coati_timeline *t = begin(0);

	for (int32_t tid = 11; tid <= 12; tid++) {
		exists(t, tid);
		in(t, tid, 50);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 1, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 700, 1, NULL);
	out(t, 11, 200, COATI_WAIT_READ);
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_WAKE,
					      .tid = 12,
					      .other = 11,
					      .time = 300,
					      .flags = COATI_TIMELINE_IRQ });
	in(t, 11, 350);
	end(t, 800);
	PATH(t, { 100, 200, 11, COATI_WAIT_RUNNING }, { 200, 300, 11, COATI_WAIT_READ },
	     { 300, 350, 11, COATI_WAIT_RUNNABLE }, { 350, 700, 11, COATI_WAIT_RUNNING });
	coati_timeline_free(&t);
}

/* It was woken before anything else is known of it, and ran at once. */
TEST(timeline_critical_path_ends_where_a_thread_is_first_seen)
{
	struct coati_timeline *t = begin(0);

	exists(t, 11);
	exists(t, 13);
	in(t, 11, 50);
	in(t, 13, 50);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 1, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 700, 1, NULL);
	out(t, 11, 200, COATI_WAIT_FUTEX);
	wake(t, 13, 12, 500);
	in(t, 12, 500);
	wake(t, 12, 11, 600);
	in(t, 11, 610);
	end(t, 800);
	PATH(t, { 100, 200, 11, COATI_WAIT_RUNNING }, { 200, 500, 12, COATI_WAIT_UNKNOWN },
	     { 500, 600, 12, COATI_WAIT_RUNNING }, { 600, 610, 11, COATI_WAIT_RUNNABLE },
	     { 610, 700, 11, COATI_WAIT_RUNNING });
	coati_timeline_free(&t);
}

/* Who ran in the instant in which it was woken was not runnable for any time, but was woken all the
 * same: the path goes to its waker, and not over the wait. */
TEST(timeline_critical_path_goes_to_the_waker_of_one_that_ran_at_once)
{
	struct coati_timeline *t = begin(0);

	for (int32_t tid = 11; tid <= 12; tid++) {
		exists(t, tid);
		in(t, tid, 50);
	}
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, 100, 1, "job");
	live(t, COATI_TIMELINE_TASK_ENTER, 11, 100, 1, NULL);
	live(t, COATI_TIMELINE_TASK_END, 11, 700, 1, NULL);
	out(t, 11, 200, COATI_WAIT_FUTEX);
	wake(t, 12, 11, 600);
	in(t, 11, 600);
	end(t, 800);
	PATH(t, { 100, 200, 11, COATI_WAIT_RUNNING }, { 200, 600, 12, COATI_WAIT_RUNNING },
	     { 600, 700, 11, COATI_WAIT_RUNNING });
	coati_timeline_free(&t);
}
