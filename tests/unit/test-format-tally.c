/* SPDX-License-Identifier: MIT */
/* Sums of a profile against sums of a file: every difference is named. */
#include "lib/test.h"

#include "readback/tally.h"

/* Thread 10/11 with 5 in leaf and 7 in work. */
static void fill(struct tally *t)
{
	uint32_t thread;

	coati_tally_init(t);
	thread = coati_tally_thread(t, 10, 11, "app");
	coati_tally_add(t, thread, coati_tally_function(t, "leaf"), 5);
	coati_tally_add(t, thread, coati_tally_function(t, "work"), 7);
}

static void check(const struct tally *wanted, const struct tally *found, const char *text)
{
	struct coati_error err = { 0 };

	if (!text) {
		CHECK_INT(coati_tally_compare(wanted, found, &err), ==, 0);
		return;
	}
	CHECK_ERR(coati_tally_compare(wanted, found, &err), -EBADMSG);
	CHECK_STR(err.text, text);
}

TEST(tally_of_a_file_that_has_the_same_is_right)
{
	struct tally a, b;

	fill(&a);
	fill(&b);
	CHECK_U64(a.weight, ==, 12);
	check(&a, &b, NULL);
	coati_tally_function(&b, "nothing"); /* no weight: no difference */
	coati_tally_thread(&b, 1, 1, "nobody");
	check(&a, &b, NULL);
	check(&b, &a, NULL);
	coati_tally_fini(&a);
	coati_tally_fini(&b);
}

TEST(tally_names_the_first_thing_that_differs)
{
	struct tally a, b;

	fill(&a);
	fill(&b);
	coati_tally_add(&b, 0, 1, 3);
	check(&a, &b, "weight: the profile has 12, the file 15");
	coati_tally_add(&a, 0, 0, 3);
	check(&a, &b, "function leaf: the profile has 8, the file 5");
	coati_tally_fini(&b);
	fill(&b);
	coati_tally_add(&b, coati_tally_thread(&b, 10, 12, "app"), 0, 3);
	check(&a, &b, "thread 10/11 app: the profile has 15, the file 12");
	coati_tally_fini(&a);
	coati_tally_fini(&b);
}

TEST(tally_names_what_only_the_file_has)
{
	struct tally a, b;

	fill(&a);
	fill(&b);
	a.weight = b.weight = 100; /* as if the rest were the same */
	b.threads.sums.v[0].weight = 12;
	coati_tally_function(&b, "more");
	b.functions.sums.v[2].weight = 4;
	check(&a, &b, "function more: the file has 4, the profile none");
	coati_tally_thread(&b, 20, 20, "tool");
	b.threads.sums.v[1].weight = 9;
	check(&a, &b, "thread 20/20 tool: the file has 9, the profile none");
	coati_tally_fini(&a);
	coati_tally_fini(&b);
}

TEST(tally_compares_samples_and_live_events_where_they_are_known)
{
	struct tally a, b;

	fill(&a);
	fill(&b);
	a.samples = 2;
	check(&a, &b, NULL); /* the file does not say */
	b.has_samples = true;
	check(&a, &b, "samples: the profile has 2, the file 0");
	b.samples = 2;
	check(&a, &b, NULL);
	a.live = (struct live_counts){ .slices = 1, .slice_ns = 2, .points = 3, .counters = 4 };
	check(&a, &b, NULL);
	a.has_live = true;
	check(&a, &b, "slices: the live events have 1, the file 0");
	b.live.slices = 1;
	check(&a, &b, "nanoseconds of slices: the live events have 2, the file 0");
	b.live.slice_ns = 2;
	check(&a, &b, "points in time: the live events have 3, the file 0");
	b.live.points = 3;
	check(&a, &b, "values of counters: the live events have 4, the file 0");
	b.live.counters = 4;
	check(&a, &b, NULL);
	a.failed = -ENOMEM;
	CHECK_ERR(coati_tally_compare(&a, &b, NULL), -ENOMEM);
	CHECK_ERR(coati_tally_compare(&b, &a, NULL), -ENOMEM);
	coati_tally_fini(&a);
	coati_tally_fini(&b);
}
