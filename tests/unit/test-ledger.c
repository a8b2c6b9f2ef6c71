/* SPDX-License-Identifier: MIT */
/* Where the time of a thread or a task went: every part to the nanosecond, at every boundary. */
#include "lib/test.h"

#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"
#include "unit/timeline-feeder.h"

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

/*
 * A thread that lives from 100 to 1000:
 *	100 runs	(an interrupt from 120 to 140, one from 190 to 200)
 *	200 waits for a futex
 *	300 runnable, woken by wake 5
 *	350 runs	(an interrupt from 360 to 400)
 *	400 preempted
 *	500 runs, to its end
 */
static struct stretch stretches[] = {
	{ .begin = 100, .wait = COATI_WAIT_RUNNING, .stack = NONE },
	{ .begin = 200, .wait = COATI_WAIT_FUTEX, .stack = 7 },
	{ .begin = 300, .wait = COATI_WAIT_RUNNABLE, .stack = 5 },
	{ .begin = 350, .wait = COATI_WAIT_RUNNING, .stack = NONE },
	{ .begin = 400, .wait = COATI_WAIT_PREEMPTED, .stack = NONE },
	{ .begin = 500, .wait = COATI_WAIT_RUNNING, .stack = NONE },
};
static struct irq irqs[] = { { 120, 140 }, { 190, 200 }, { 360, 400 } };
static struct seen samples[] = { { .time = 110 },
				 { .time = 130, .in_fault = true },
				 { .time = 600 } };
static uint64_t faults[] = { 110, 111, 600 };

static struct thread whole(void)
{
	struct thread th = { .begin = 100, .end = 1000 };

	th.stretches.v = stretches;
	th.stretches.len = LENGTH(stretches);
	th.irqs.v = irqs;
	th.irqs.len = LENGTH(irqs);
	th.samples.v = samples;
	th.samples.len = LENGTH(samples);
	th.faults.v = faults;
	th.faults.len = LENGTH(faults);
	return th;
}

static struct coati_ledger of_range(uint64_t from, uint64_t to)
{
	struct thread th = whole();
	struct coati_ledger l = { 0 };
	uint64_t sum = 0;

	coati_ledger_range(&th, from, to, &l);
	for (int i = 0; i < COATI_PART_COUNT; i++)
		sum += l.parts[i];
	CHECK_U64(sum, ==, to > from ? to - from : 0);
	CHECK_U64(l.duration, ==, sum);
	return l;
}

TEST(ledger_of_a_whole_life_has_every_part)
{
	struct coati_ledger l = of_range(100, 1000);

	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 100 - 30 + 10 + 500);
	CHECK_U64(l.parts[COATI_PART_IRQ], ==, 20 + 10 + 40);
	CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 100);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 50);
	CHECK_U64(l.parts[COATI_WAIT_PREEMPTED], ==, 100);
	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 0);
	CHECK_U64(l.switches, ==, 2);
	CHECK_U64(l.wakes, ==, 1);
	CHECK_U64(l.samples, ==, 3);
	CHECK_U64(l.fault_samples, ==, 1);
	CHECK_U64(l.faults, ==, 3);
}

TEST(ledger_outside_of_a_life_is_unknown)
{
	struct coati_ledger l = of_range(40, 1100);

	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 60 + 100);
	CHECK_U64(of_range(0, 100).parts[COATI_WAIT_UNKNOWN], ==, 100);
	CHECK_U64(of_range(0, 101).parts[COATI_WAIT_RUNNING], ==, 1);
	CHECK_U64(of_range(1000, 1010).parts[COATI_WAIT_UNKNOWN], ==, 10);
	CHECK_U64(of_range(999, 1010).parts[COATI_WAIT_RUNNING], ==, 1);
	CHECK_U64(of_range(999, 1010).parts[COATI_WAIT_UNKNOWN], ==, 10);
	CHECK_U64(of_range(1005, 1010).parts[COATI_WAIT_UNKNOWN], ==, 5);
	CHECK_U64(of_range(1005, 1010).parts[COATI_WAIT_RUNNING], ==, 0);
}

/* Every range of the life: what is added up nanosecond by nanosecond is the same. */
TEST(ledger_of_any_range_is_the_sum_of_its_nanoseconds)
{
	static struct coati_ledger one[1100];

	for (uint64_t at = 80; at < LENGTH(one); at++)
		one[at] = of_range(at, at + 1);
	for (uint64_t from = 80; from < 520; from += 3) {
		struct coati_ledger sum = { 0 };

		for (uint64_t to = from; to < 560; to++) {
			struct coati_ledger l = of_range(from, to);

			CHECK_MEM(l.parts, sum.parts, sizeof(l.parts));
			CHECK_U64(l.samples, ==, sum.samples);
			CHECK_U64(l.fault_samples, ==, sum.fault_samples);
			CHECK_U64(l.faults, ==, sum.faults);
			CHECK_U64(l.wakes, ==, sum.wakes);
			CHECK_U64(l.switches, ==, sum.switches);
			coati_ledger_sum(&sum, &one[to]);
		}
	}
}

/* Beside what was found before, whichever that was. */
TEST(ledger_near_another_is_that_of_any_range)
{
	struct thread th = whole();
	struct ledger_near near = { 0 };

	for (uint64_t step = 1; step < 800; step += 37)
		for (uint64_t n = 0, from = 90; n < 400; n++, from = 60 + (from + step) % 1000)
			for (uint64_t length = 1; length < 400; length = length * 3 + n % 2) {
				struct coati_ledger l = { 0 }, want = of_range(from, from + length);

				coati_ledger_near(&th, from, from + length, &near, &l);
				CHECK_MEM(&l, &want, sizeof(l));
			}
	for (size_t i = 0; i < LENGTH(stretches); i++) {
		uint64_t end = i + 1 < LENGTH(stretches) ? stretches[i + 1].begin : 1000;

		for (uint64_t late = 0; late < 2; late++)
			for (uint64_t to = end - 1; to <= end + 1; to++) {
				uint64_t from = stretches[i].begin + late;
				struct coati_ledger l = { 0 }, want = of_range(from, to);

				coati_ledger_near(&th, from, to, &near, &l);
				CHECK_MEM(&l, &want, sizeof(l));
			}
	}
}

/* It is runnable when it is first seen: woken then, and not before. */
TEST(ledger_of_a_thread_that_was_woken_first_counts_the_wake_from_there_on)
{
	static struct stretch woken[] = {
		{ .begin = 100, .wait = COATI_WAIT_RUNNABLE, .stack = 5 },
		{ .begin = 150, .wait = COATI_WAIT_RUNNING, .stack = NONE },
	};
	struct thread th = { .begin = 50, .end = 1000 };

	th.stretches.v = woken;
	th.stretches.len = LENGTH(woken);
	for (uint64_t to = 99; to <= 102; to++) {
		struct coati_ledger l = { 0 };

		coati_ledger_range(&th, 60, to, &l);
		CHECK_U64(l.wakes, ==, to > 100);
		CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, to > 100 ? 40 : to - 60);
		CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, to > 100 ? to - 100 : 0);
	}
}

TEST(ledger_counts_a_switch_and_a_wake_where_they_begin)
{
	CHECK_U64(of_range(199, 200).switches, ==, 0);
	CHECK_U64(of_range(200, 201).switches, ==, 1);
	CHECK_U64(of_range(201, 300).switches, ==, 0);
	CHECK_U64(of_range(299, 300).wakes, ==, 0);
	CHECK_U64(of_range(300, 301).wakes, ==, 1);
	CHECK_U64(of_range(301, 350).wakes, ==, 0);
	CHECK_U64(of_range(400, 401).switches, ==, 1);
	CHECK_U64(of_range(350, 351).switches, ==, 0); /* it got a CPU */
	CHECK_U64(of_range(110, 111).faults, ==, 1);
	CHECK_U64(of_range(110, 111).samples, ==, 1);
	CHECK_U64(of_range(109, 110).samples, ==, 0);
}

TEST(ledger_of_an_empty_or_backward_range_is_nothing)
{
	CHECK_U64(of_range(300, 300).duration, ==, 0);
	CHECK_U64(of_range(300, 200).duration, ==, 0);
}

TEST(ledger_of_a_thread_that_was_never_seen_is_unknown)
{
	struct thread th = { .begin = 100, .end = 1000 };
	struct coati_ledger l = { 0 };

	coati_ledger_range(&th, 100, 1000, &l);
	CHECK_U64(l.parts[COATI_WAIT_UNKNOWN], ==, 900);
	CHECK_U64(l.duration, ==, 900);
}

TEST(ledger_of_a_woken_thread_without_a_wake_counts_none)
{
	struct stretch started[] = { { .begin = 10, .wait = COATI_WAIT_RUNNABLE, .stack = NONE } };
	struct thread th = { .begin = 10, .end = 30 };
	struct coati_ledger l = { 0 };

	th.stretches.v = started;
	th.stretches.len = 1;
	coati_ledger_range(&th, 10, 30, &l);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 20);
	CHECK_U64(l.wakes, ==, 0);
	CHECK_U64(l.switches, ==, 0);
}

TEST(ledger_stretch_at_a_time_is_the_last_that_has_begun)
{
	struct thread th = whole();

	CHECK_U64(coati_timeline_stretch_at(&th, 99), ==, SIZE_MAX);
	for (size_t i = 0; i < LENGTH(stretches); i++) {
		CHECK_U64(coati_timeline_stretch_at(&th, stretches[i].begin), ==, i);
		CHECK_U64(coati_timeline_stretch_at(&th, stretches[i].begin + 1), ==, i);
		if (i)
			CHECK_U64(coati_timeline_stretch_at(&th, stretches[i].begin - 1), ==,
				  i - 1);
	}
	CHECK_U64(coati_timeline_stretch_at(&th, UINT64_MAX), ==, LENGTH(stretches) - 1);
}

TEST(ledger_refuses_what_is_not_there)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	exists(t, 11);
	in(t, 11, 1000);
	end(t, 2000);
	CHECK_ERR(coati_timeline_ledger(t, 0, 1000, 2000, &l), 0);
	CHECK_ERR(coati_timeline_ledger(t, 0, 1500, 1500, &l), 0);
	CHECK_U64(l.duration, ==, 0);
	CHECK_ERR(coati_timeline_ledger(t, 0, 1500, 1499, &l), -EINVAL);
	CHECK_ERR(coati_timeline_ledger(t, 1, 1000, 2000, &l), -EINVAL);
	CHECK_ERR(coati_timeline_ledger(NULL, 0, 1000, 2000, &l), -EINVAL);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), -EINVAL);
	CHECK_ERR(coati_timeline_task_ledger(NULL, 0, &l), -EINVAL);
	coati_timeline_free(&t);
}

/* ---- tasks ---- */

static void task(struct coati_timeline *t, enum coati_timeline_kind kind, int32_t tid,
		 uint64_t time, uint64_t id)
{
	live(t, kind, tid, time, id, kind == COATI_TIMELINE_TASK_BEGIN ? "job" : NULL);
}

static void check_sum(const struct coati_ledger *l)
{
	uint64_t sum = 0;

	for (int i = 0; i < COATI_PART_COUNT; i++)
		sum += l->parts[i];
	CHECK_U64(sum, ==, l->duration);
}

/* Two threads work on one task at once: each instant counts for who gets farthest. */
TEST(ledger_of_a_task_takes_who_gets_farthest)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	exists(t, 11);
	exists(t, 12);
	in(t, 11, 1000);
	in(t, 12, 1000);
	task(t, COATI_TIMELINE_TASK_BEGIN, 11, 1000, 8);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1100, 8);
	task(t, COATI_TIMELINE_TASK_ENTER, 12, 1200, 8);
	out(t, 11, 1300, COATI_WAIT_FUTEX);
	out(t, 12, 1400, COATI_WAIT_READ);
	wake(t, 13, 11, 1500);
	in(t, 11, 1600);
	out(t, 11, 1700, COATI_WAIT_PREEMPTED);
	in(t, 11, 1750);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1800, 0);
	in(t, 12, 1850);
	task(t, COATI_TIMELINE_TASK_ENTER, 12, 1900, 0);
	task(t, COATI_TIMELINE_TASK_END, 12, 2000, 8);
	end(t, 3000);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), 0);
	check_sum(&l);
	CHECK_U64(l.duration, ==, 1000);
	CHECK_U64(l.parts[COATI_PART_NOBODY], ==, 100 + 100);
	/* 11 alone, both, 12 alone until 1400; 11 from 1600 and from 1750; 12 from 1850 */
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 300 + 100 + 50 + 50);
	CHECK_U64(l.parts[COATI_WAIT_PREEMPTED], ==, 50);
	CHECK_U64(l.parts[COATI_WAIT_RUNNABLE], ==, 100);
	/* both wait from 1400 to 1500, and 12 alone from 1800 to 1850 */
	CHECK_U64(l.parts[COATI_WAIT_FUTEX] + l.parts[COATI_WAIT_READ], ==, 100 + 50);
	CHECK_U64(l.parts[COATI_WAIT_READ], >=, 50);
	CHECK_U64(l.switches, ==, 3);
	CHECK_U64(l.wakes, ==, 1);
	coati_timeline_free(&t);
}

/* What another task does at the same time is no part of it. */
TEST(ledger_of_a_task_has_nothing_of_another)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	for (int32_t tid = 11; tid <= 12; tid++) {
		exists(t, tid);
		in(t, tid, 1000);
		task(t, COATI_TIMELINE_TASK_BEGIN, tid, 1000, (uint64_t)tid);
		task(t, COATI_TIMELINE_TASK_ENTER, tid, 1000, (uint64_t)tid);
	}
	out(t, 11, 1100, COATI_WAIT_FUTEX);
	task(t, COATI_TIMELINE_TASK_END, 11, 1900, 11);
	task(t, COATI_TIMELINE_TASK_END, 12, 1900, 12);
	end(t, 3000);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), 0);
	CHECK_U64(l.duration, ==, 900);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 100);
	CHECK_U64(l.parts[COATI_WAIT_FUTEX], ==, 800);
	CHECK_ERR(coati_timeline_task_ledger(t, 1, &l), 0);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 900);
	coati_timeline_free(&t);
}

/* Tasks below a task count for it down to the 64th level, each for the 5 ns of its span, and the
 * rest of the time is nobody's. */
TEST(ledger_of_a_task_has_the_tasks_of_64_levels_below_it)
{
	struct coati_timeline *t = begin(1000);
	const uint64_t levels = 70;
	struct coati_ledger l;

	in(t, 11, 1000);
	for (uint64_t id = 1; id <= levels; id++)
		add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_TASK_BEGIN,
						      .tid = 11,
						      .time = 1000,
						      .id = id,
						      .parent = id - 1,
						      .text = "job" });
	for (uint64_t id = 1; id <= levels; id++) {
		task(t, COATI_TIMELINE_TASK_ENTER, 11, 1000 + 10 * id, id);
		task(t, COATI_TIMELINE_TASK_ENTER, 11, 1005 + 10 * id, 0);
	}
	for (uint64_t id = levels; id > 0; id--)
		task(t, COATI_TIMELINE_TASK_END, 11, 2000, id);
	end(t, 3000);
	for (uint32_t i = 0; i < levels; i++) {
		uint64_t counted = levels - i < 65 ? levels - i : 65; /* itself and 64 below it */

		CHECK_ERR(coati_timeline_task_ledger(t, i, &l), 0);
		check_sum(&l);
		CHECK_U64(l.duration, ==, 1000);
		CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 5 * counted);
		CHECK_U64(l.parts[COATI_PART_NOBODY], ==, 1000 - 5 * counted);
	}
	coati_timeline_free(&t);
}

/* Spans that follow each other are no overlap; what lies between them is nobody's. */
TEST(ledger_of_a_task_that_goes_from_thread_to_thread)
{
	struct coati_timeline *t = begin(1000);
	struct coati_ledger l;

	in(t, 11, 1000);
	in(t, 12, 1000);
	task(t, COATI_TIMELINE_TASK_BEGIN, 11, 1000, 8);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1000, 8);
	out(t, 11, 1150, COATI_WAIT_READ);
	in(t, 11, 1190);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1200, 0);
	task(t, COATI_TIMELINE_TASK_ENTER, 12, 1200, 8);
	task(t, COATI_TIMELINE_TASK_ENTER, 12, 1300, 0);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1310, 8);
	task(t, COATI_TIMELINE_TASK_ENTER, 11, 1400, 0);
	task(t, COATI_TIMELINE_TASK_END, 11, 1400, 8);
	end(t, 3000);
	CHECK_ERR(coati_timeline_task_ledger(t, 0, &l), 0);
	check_sum(&l);
	CHECK_U64(l.duration, ==, 400);
	CHECK_U64(l.parts[COATI_WAIT_READ], ==, 40);
	CHECK_U64(l.parts[COATI_PART_NOBODY], ==, 10);
	CHECK_U64(l.parts[COATI_WAIT_RUNNING], ==, 350);
	CHECK_U64(l.switches, ==, 1);
	coati_timeline_free(&t);
}

TEST(ledger_types_have_counts_sums_and_percentiles)
{
	struct coati_timeline *t = begin(1000);
	struct coati_timeline_type k;
	uint64_t at = 1000;

	in(t, 11, 1000);
	/* tasks of 1 to 200 ns, and one that does not end */
	for (uint64_t i = 1; i <= 200; i++) {
		task(t, COATI_TIMELINE_TASK_BEGIN, 11, at, i);
		task(t, COATI_TIMELINE_TASK_ENTER, 11, at, i);
		at += i;
		task(t, COATI_TIMELINE_TASK_ENTER, 11, at, 0);
		task(t, COATI_TIMELINE_TASK_END, 11, at, i);
	}
	task(t, COATI_TIMELINE_TASK_BEGIN, 11, at, 999);
	live(t, COATI_TIMELINE_TASK_BEGIN, 11, at, 1000, "other");
	live(t, COATI_TIMELINE_TASK_END, 11, at + 5, 1000, NULL);
	end(t, 100000);
	CHECK_INT(coati_timeline_type_count(t), ==, 2);
	CHECK_INT(coati_timeline_find_type(t, "job"), ==, 0);
	CHECK_INT(coati_timeline_find_type(t, "other"), ==, 1);
	CHECK_U64(coati_timeline_find_type(t, "none"), ==, NONE);
	CHECK_ERR(coati_timeline_type(t, 0, &k), 0);
	CHECK_U64(k.nr, ==, 200);
	CHECK_U64(k.nr_open, ==, 1);
	CHECK_U64(k.nr_before, ==, 0);
	CHECK_U64(k.sum, ==, 200 * 201 / 2);
	CHECK_U64(k.p50, ==, 100);
	CHECK_U64(k.p90, ==, 180);
	CHECK_U64(k.p99, ==, 198);
	CHECK_U64(k.max, ==, 200);
	CHECK_U64(k.ledger.duration, ==, k.sum);
	CHECK_U64(k.ledger.parts[COATI_WAIT_RUNNING], ==, k.sum);
	CHECK(!k.is_region);
	CHECK_ERR(coati_timeline_type(t, 1, &k), 0);
	CHECK_U64(k.nr, ==, 1);
	CHECK_U64(k.p50, ==, 5);
	CHECK_U64(k.p99, ==, 5);
	CHECK_U64(k.max, ==, 5);
	CHECK_U64(k.ledger.parts[COATI_PART_NOBODY], ==, 5);
	CHECK_ERR(coati_timeline_type(t, 2, &k), -ENOENT);
	coati_timeline_free(&t);
}
