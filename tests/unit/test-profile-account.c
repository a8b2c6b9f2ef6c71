/* SPDX-License-Identifier: MIT */
/* The data quality line, word for word. */
#include "lib/test.h"

#include <coati/profile.h>

#include "reading/parts.h"

static void check_line(const struct coati_profile_quality *q, const char *want)
{
	char text[1024], cut[8];

	CHECK_INT(coati_profile_quality_format(q, text, sizeof(text)), ==, strlen(want));
	CHECK_STR(text, want);
	CHECK_INT(coati_profile_quality_format(q, cut, sizeof(cut)), ==, strlen(want));
	CHECK_MEM(cut, want, sizeof(cut) - 1);
	CHECK_INT(cut[sizeof(cut) - 1], ==, 0);
}

TEST(account_of_nothing_is_all_zero)
{
	check_line(&(struct coati_profile_quality){ 0 },
		   "0 lost, 0 throttled; stacks: 0 % complete; 0 % without a symbol");
}

TEST(account_has_losses_and_shares_of_every_kind_of_stack)
{
	struct coati_profile_quality q = { .samples = 1000,
					   .lost = 1234567,
					   .throttled = 8,
					   .complete = 600,
					   .truncated = 200,
					   .gap = 100,
					   .guessed = 50,
					   .unrooted = 50,
					   .unsymbolized = 5 };

	check_line(&q, "1,234,567 lost, 8 throttled; stacks: 60.0 % complete, 20.0 % truncated, "
		       "10.0 % with a gap, 5.0 % guessed, 5.0 % with an unknown root; "
		       "0.5 % without a symbol");
	q.gap = q.unrooted = 0;
	check_line(&q, "1,234,567 lost, 8 throttled; stacks: 60.0 % complete, 20.0 % truncated, "
		       "5.0 % guessed; 0.5 % without a symbol");
}

/* A trace has page faults without stacks beside samples with whole ones: nothing is missing. */
TEST(account_of_stacks_leaves_out_events_that_take_none)
{
	struct coati_profile_quality q = {
		.samples = 474, .complete = 180, .gap = 7, .single = 287
	};

	check_line(&q, "0 lost, 0 throttled; stacks: 96.3 % complete, 3.7 % with a gap; "
		       "287 samples of events without stacks; 0 % without a symbol");
	q = (struct coati_profile_quality){ .samples = 2, .complete = 1, .single = 1 };
	check_line(&q, "0 lost, 0 throttled; stacks: 100 % complete; "
		       "1 sample of an event without stacks; 0 % without a symbol");
	CHECK(coati_profile_with_stacks(&q) == 1);
	q.single = 2;
	CHECK(coati_profile_with_stacks(&q) == 2);
	q = (struct coati_profile_quality){ .samples = 10, .single = 10, .unsymbolized = 10 };
	check_line(&q, "0 lost, 0 throttled; no stacks; 100 % without a symbol");
	q.single = 9;
	q.complete = 1;
	check_line(&q, "0 lost, 0 throttled; stacks: 100 % complete; "
		       "9 samples of events without stacks; 100 % without a symbol");
}

TEST(account_never_rounds_a_few_to_none)
{
	struct coati_profile_quality q = { .samples = 10000, .complete = 10000 };

	q.unsymbolized = 10;
	check_line(&q, "0 lost, 0 throttled; stacks: 100 % complete; 0.1 % without a symbol");
	q.unsymbolized = 9;
	check_line(&q, "0 lost, 0 throttled; stacks: 100 % complete; <0.1 % without a symbol");
	q.unsymbolized = 0;
	check_line(&q, "0 lost, 0 throttled; stacks: 100 % complete; 0 % without a symbol");
}

TEST(account_has_the_share_of_what_was_counted)
{
	struct coati_profile_quality q = { .samples = 1, .complete = 1 };

	CHECK(coati_profile_sampled(&q) == -1);
	q.counted = 200;
	check_line(&q, "0 lost, 0 throttled, sampled 0 % of CPU time; stacks: 100 % complete; "
		       "0 % without a symbol");
	q.sampled = 1;
	check_line(&q, "0 lost, 0 throttled, sampled <1 % of CPU time; stacks: 100 % complete; "
		       "0 % without a symbol");
	q.sampled = 2;
	check_line(&q, "0 lost, 0 throttled, sampled 1 % of CPU time; stacks: 100 % complete; "
		       "0 % without a symbol");
	q.sampled = 150;
	q.sampled_event = "cycles";
	CHECK(coati_profile_sampled(&q) == 0.75);
	check_line(&q, "0 lost, 0 throttled, sampled 75 % of cycles; stacks: 100 % complete; "
		       "0 % without a symbol");
	q.sampled = 201; /* counting began later than sampling */
	CHECK(coati_profile_sampled(&q) == 1);
	q.no_event = 1500;
	check_line(&q, "0 lost, 0 throttled, sampled 100 % of cycles, 1,500 of no event in the "
		       "file; stacks: 100 % complete; 0 % without a symbol");
}

TEST(account_of_time_off_cpus_has_what_is_missing_there)
{
	struct coati_profile_quality q = { .off_intervals = 8, .off_ns = 2500000 };

	check_line(&q, "0 lost, 0 throttled; 2.50 ms off CPUs: 0 % without a stack");
	q.off_no_stack = 2;
	q.off_truncated = 4;
	q.off_gap = 1;
	q.off_unpaired = 1001;
	q.recorder_cpu_ns = 1500;
	check_line(&q, "0 lost, 0 throttled; 2.50 ms off CPUs: 25.0 % without a stack, "
		       "50.0 % truncated, 12.5 % with a gap, "
		       "1,001 times left out because records are missing; recording cost 1.50 us");
	q = (struct coati_profile_quality){ .off_unpaired = 3 };
	check_line(&q, "0 lost, 0 throttled; stacks: 0 % complete; 0 % without a symbol; "
		       "0 ns off CPUs: 0 % without a stack, "
		       "3 times left out because records are missing");
	q = (struct coati_profile_quality){ .samples = 1, .off_intervals = 1 };
	check_line(&q, "0 lost, 0 throttled; stacks: 0 % complete; 0 % without a symbol; "
		       "0 ns off CPUs: 0 % without a stack");
}
