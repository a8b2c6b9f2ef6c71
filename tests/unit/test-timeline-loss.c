/* SPDX-License-Identifier: MIT */
/* Lost records on a timeline: what is not known any more, to the nanosecond. */
#include "lib/test.h"

#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"
#include "unit/timeline-feeder.h"

static void lose(struct coati_timeline *t, int32_t cpu, uint64_t time, uint64_t number)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_LOST, .cpu = cpu, .time = time, .number = number });
}

static void in_on(struct coati_timeline *t, int32_t tid, int32_t cpu, uint64_t time)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_IN, .tid = tid, .cpu = cpu, .time = time });
}

/* Thread 11 runs from 1100, waits from 1300, runs from 1600; CPU 1 has told something at 1200. */
static struct coati_timeline *two_cpus(void)
{
	struct coati_timeline *t = begin(1000);

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 1100);
	in_on(t, 12, 1, 1200);
	out(t, 11, 1300, COATI_WAIT_FUTEX);
	return t;
}

static void check_interval(struct coati_timeline *t, uint32_t i, uint64_t begin_ns, uint64_t end_ns,
			   enum coati_wait wait)
{
	struct coati_timeline_interval v;

	CHECK_ERR(coati_timeline_interval(t, 0, i, &v), 0);
	CHECK_U64(v.begin, ==, begin_ns);
	CHECK_U64(v.end, ==, end_ns);
	CHECK_INT(v.wait, ==, wait);
	if (wait == COATI_WAIT_UNKNOWN) {
		CHECK_U64(v.stack, ==, NONE);
		CHECK_U64(v.wake, ==, NONE);
	}
}

static uint64_t lost_by(const struct coati_timeline *t)
{
	struct coati_timeline_info info;

	coati_timeline_info(t, &info);
	return info.lost;
}

TEST(timeline_loss_hides_a_state_that_begins_in_it_until_the_next_one)
{
	struct coati_timeline *t = two_cpus();

	lose(t, 0, 1500, 7); /* since 1300 */
	in(t, 11, 1600);
	end(t, 2000);
	CHECK_U64(lost_by(t), ==, 7);
	check_interval(t, 0, 1000, 1100, COATI_WAIT_UNKNOWN);
	check_interval(t, 1, 1100, 1300, COATI_WAIT_RUNNING);
	check_interval(t, 2, 1300, 1600, COATI_WAIT_UNKNOWN);
	check_interval(t, 3, 1600, 2000, COATI_WAIT_RUNNING);
	CHECK_U64(t->threads.v[0].stretches.len, ==, 4);
	coati_timeline_free(&t);
}

TEST(timeline_loss_in_the_middle_of_a_state_splits_it)
{
	struct coati_timeline *t = two_cpus();

	lose(t, 1, 1500, 3); /* since 1200 */
	in(t, 11, 1600);
	end(t, 2000);
	check_interval(t, 0, 1000, 1100, COATI_WAIT_UNKNOWN);
	check_interval(t, 1, 1100, 1200, COATI_WAIT_RUNNING);
	check_interval(t, 2, 1200, 1300, COATI_WAIT_UNKNOWN);
	check_interval(t, 3, 1300, 1600, COATI_WAIT_UNKNOWN);
	check_interval(t, 4, 1600, 2000, COATI_WAIT_RUNNING);
	CHECK_U64(t->threads.v[0].stretches.len, ==, 5);
	coati_timeline_free(&t);
}

TEST(timeline_loss_ends_where_the_next_state_begins)
{
	struct coati_timeline *t = two_cpus();

	in(t, 11, 1600);
	lose(t, 1, 1600, 3);
	end(t, 2000);
	check_interval(t, 3, 1300, 1600, COATI_WAIT_UNKNOWN);
	check_interval(t, 4, 1600, 2000, COATI_WAIT_RUNNING);
	coati_timeline_free(&t);
}

TEST(timeline_loss_of_an_unknown_cpu_hides_everything_before_it)
{
	const int32_t cpus[] = { -1, TIMELINE_CPUS_MAX, TIMELINE_CPUS_MAX + 1 };

	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		struct coati_timeline *t = two_cpus();

		lose(t, cpus[i], 1250, 1);
		in(t, 11, 1600);
		end(t, 2000);
		check_interval(t, 0, 1000, 1100, COATI_WAIT_UNKNOWN);
		check_interval(t, 1, 1100, 1300, COATI_WAIT_UNKNOWN);
		check_interval(t, 2, 1300, 1600, COATI_WAIT_FUTEX);
		coati_timeline_free(&t);
	}
}

TEST(timeline_loss_on_the_last_cpu_that_is_known_is_since_its_last_event)
{
	struct coati_timeline *t = begin(1000);

	exists(t, 11);
	in(t, 11, 1100);
	in_on(t, 12, TIMELINE_CPUS_MAX - 1, 1400);
	lose(t, TIMELINE_CPUS_MAX - 1, 1500, 1);
	end(t, 2000);
	check_interval(t, 1, 1100, 1400, COATI_WAIT_RUNNING);
	check_interval(t, 2, 1400, 2000, COATI_WAIT_UNKNOWN);
	coati_timeline_free(&t);
}

TEST(timeline_losses_that_touch_are_one)
{
	struct coati_timeline *t = two_cpus();

	lose(t, 0, 1500, 7); /* 1300 to 1500 */
	lose(t, 0, 1700, 2); /* 1500 to 1700, as the loss is the last thing its CPU told */
	CHECK_U64(t->windows.len, ==, 1);
	CHECK_U64(t->windows.v[0].from, ==, 1300);
	CHECK_U64(t->windows.v[0].to, ==, 1700);
	lose(t, 1, 1650, 1); /* 1200 to 1650 */
	CHECK_U64(t->windows.len, ==, 1);
	CHECK_U64(t->windows.v[0].from, ==, 1200);
	CHECK_U64(t->windows.v[0].to, ==, 1700);
	in(t, 11, 1701);
	lose(t, 0, 1800, 1);
	CHECK_U64(t->windows.len, ==, 2);
	CHECK_U64(t->windows.v[1].from, ==, 1701);
	CHECK_U64(t->windows.v[1].to, ==, 1800);
	CHECK_U64(lost_by(t), ==, 11);
	end(t, 2000);
	coati_timeline_free(&t);
}

TEST(timeline_losses_beyond_the_ceiling_widen_the_last_one)
{
	struct coati_timeline *t = two_cpus();

	lose(t, 0, 1500, 7);
	in(t, 11, 1600);
	t->windows.max = 1;
	lose(t, 0, 1700, 1);
	CHECK_U64(t->windows.len, ==, 1);
	CHECK_U64(t->windows.v[0].from, ==, 1300);
	CHECK_U64(t->windows.v[0].to, ==, 1700);
	end(t, 2000);
	coati_timeline_free(&t);
}

TEST(timeline_loss_outside_the_life_of_a_thread_does_not_concern_it)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	in_on(t, 12, 1, 1100);
	lose(t, 1, 1500, 1);
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_START, .tid = 11, .time = 1500 });
	in(t, 11, 1500);
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_EXIT, .tid = 11, .time = 1700 });
	in_on(t, 12, 1, 1700);
	lose(t, 1, 1800, 1);
	end(t, 2000);
	CHECK_U64(t->windows.len, ==, 2);
	CHECK_ERR(coati_timeline_ledger(t, coati_timeline_find_thread(t, 11, 1600), 1500, 1700, &l),
		  0);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 200);
	coati_timeline_free(&t);
}

/* However many states there are, also as many as there is memory for. */
TEST(timeline_loss_hides_states_up_to_the_last_and_not_beyond)
{
	for (uint64_t nr = 1; nr < 40; nr++) {
		struct coati_timeline *t = begin(1000);
		struct coati_ledger l;

		in(t, 11, 1000);
		for (uint64_t i = 1; i < nr; i++) {
			out(t, 11, 1000 + 20 * i, COATI_WAIT_READ);
			in(t, 11, 1010 + 20 * i);
		}
		lose(t, -1, 9000, 1);
		end(t, 5000);
		CHECK_U64(t->threads.v[0].stretches.len, ==, 2 * nr - 1);
		CHECK_ERR(coati_timeline_ledger(t, 0, 1000, 5000, &l), 0);
		CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 4000);
		coati_timeline_free(&t);
	}
}
