/* SPDX-License-Identifier: MIT */
/* Ranges over time against the plain list of all that was told, looked through one by one. */
#include "base/ranges.h"

#include <errno.h>

#include "base/alloc.h"
#include "lib/test.h"

#define NR_TOLD 3000

static struct range told[NR_TOLD];
static size_t nr_told;

static struct range naive(uint64_t addr, uint64_t time)
{
	struct range best = { .id = RANGE_HOLE };

	for (size_t i = 0; i < nr_told; i++) {
		const struct range *r = &told[i];

		if (r->time <= time && addr >= r->start && addr < r->end && r->time >= best.time)
			best = *r;
	}
	return best;
}

static void tell(struct ranges *s, struct range r)
{
	told[nr_told++] = r;
	CHECK_OK(coati_ranges_add(s, &r));
}

static struct range random_range(uint64_t time)
{
	uint64_t start = test_random() % 1000,
		 len = 1 + test_random() % (test_random() % 8 ? 20 : 300);

	return (struct range){ .start = start,
			       .end = start + len,
			       .offset = test_random() % 1000,
			       .time = time,
			       .id = test_random() % 10 ? (uint32_t)nr_told : RANGE_HOLE };
}

static void compare(struct ranges *s, uint64_t addr, uint64_t time)
{
	struct range want = naive(addr, time), got = { .start = 0, .end = UINT64_MAX };
	int r = coati_ranges_find(s, addr, time, &got);

	CHECK(addr >= got.start && addr < got.end);
	CHECK_U64(r ? got.id : RANGE_HOLE, ==, want.id);
	if (want.id != RANGE_HOLE)
		CHECK_U64(got.offset + (addr - got.start), ==, want.offset + (addr - want.start));
	/* the answer holds in the whole range that it names */
	for (uint64_t a = got.start; a < got.end && a < 1400; a += 1 + test_random() % 16)
		CHECK_U64(naive(a, time).id, ==, want.id);
}

/* Told in order, or up to @late too late. */
static void run_model(uint64_t late)
{
	struct ranges s;
	uint64_t now = 0;

	coati_ranges_init(&s);
	for (nr_told = 0; nr_told < NR_TOLD;) {
		uint64_t back = late ? test_random() % late : 0;

		now += test_random() % 3;
		tell(&s, random_range(back > now ? 0 : now - back));
		if (test_random() % 4 == 0)
			compare(&s, test_random() % 1400, now);
		if (test_random() % 4 == 0)
			compare(&s, test_random() % 1400, test_random() % (now + 2));
	}
	for (int i = 0; i < 3000; i++)
		compare(&s, test_random() % 1400, test_random() % (now + 10));
	coati_ranges_fini(&s);
}

TEST(ranges_told_in_order_are_found_at_every_time)
{
	run_model(0);
}

TEST(ranges_told_a_little_late_are_found_as_if_in_order)
{
	run_model(30);
}

TEST(ranges_told_in_any_order_are_found_as_if_in_order)
{
	run_model(100000);
}

TEST(ranges_view_is_what_find_gives_everywhere)
{
	struct ranges s;

	coati_ranges_init(&s);
	for (nr_told = 0; nr_told < 500;)
		tell(&s, random_range(test_random() % 500));
	for (uint64_t time = 0; time < 500; time += 7) {
		struct range *v;
		size_t nr, i = 0;

		CHECK_OK(coati_ranges_view(&s, time, &v, &nr));
		for (uint64_t a = 0; a < 1400; a++) {
			while (i < nr && v[i].end <= a)
				i++;
			CHECK_U64(i < nr && v[i].start <= a ? v[i].id : RANGE_HOLE, ==,
				  naive(a, time).id);
		}
		coati_free(v);
	}
	coati_ranges_fini(&s);
}

TEST(ranges_split_moves_all_that_is_later)
{
	struct ranges s, to;
	struct range got = { .end = UINT64_MAX };

	coati_ranges_init(&s);
	coati_ranges_init(&to);
	for (uint64_t t = 10; t > 0; t--)
		CHECK_OK(coati_ranges_add(&s,
					  &(struct range){ .start = t, .end = t + 1, .time = t }));
	CHECK_OK(coati_ranges_split(&s, 6, &to));
	CHECK_INT(coati_ranges_find(&s, 7, 100, &got), ==, 0);
	got = (struct range){ .end = UINT64_MAX };
	CHECK_INT(coati_ranges_find(&to, 7, 100, &got), ==, 1);
	got = (struct range){ .end = UINT64_MAX };
	CHECK_INT(coati_ranges_find(&s, 6, 100, &got), ==, 1);
	coati_ranges_fini(&s);
	coati_ranges_fini(&to);
}

TEST(ranges_forget_keeps_every_later_answer)
{
	struct ranges s;

	coati_ranges_init(&s);
	for (nr_told = 0; nr_told < 1000;)
		tell(&s, random_range(nr_told));
	CHECK_INT(coati_ranges_forget(&s, 700), >, 100);
	for (int i = 0; i < 3000; i++)
		compare(&s, test_random() % 1400, 700 + test_random() % 310);
	coati_ranges_fini(&s);
}

TEST(ranges_put_below_fill_the_gaps_alone)
{
	struct ranges s;
	struct range below = { .start = 0, .end = 1400, .offset = 0, .id = 77 };
	struct range got;

	coati_ranges_init(&s);
	for (nr_told = 0; nr_told < 20;)
		tell(&s, random_range(5));
	CHECK_OK(coati_ranges_put_below(&s, &below, 1));
	for (uint64_t a = 0; a < 1400; a++) {
		bool covered = false;

		for (size_t i = 0; i < nr_told; i++)
			covered |= a >= told[i].start && a < told[i].end;
		got = (struct range){ .end = UINT64_MAX };
		CHECK_INT(coati_ranges_find(&s, a, 9, &got), ==, 1);
		CHECK_U64(got.id, ==, covered ? naive(a, 9).id : 77);
	}
	coati_ranges_fini(&s);
}

TEST(ranges_stay_right_when_memory_ends)
{
	for (uint64_t n = 0; n < 60; n++) {
		struct ranges s;

		coati_ranges_init(&s);
		nr_told = 0;
		coati_alloc_fail_after(n);
		for (int i = 0; i < 400; i++) {
			struct range r = random_range(test_random() % 400);

			if (coati_ranges_add(&s, &r) >= 0)
				told[nr_told++] = r;
			if (i % 16 == 0)
				compare(&s, test_random() % 1400, 300);
		}
		coati_alloc_fail_after(UINT64_MAX);
		for (int i = 0; i < 100; i++)
			compare(&s, test_random() % 1400, test_random() % 410);
		coati_ranges_fini(&s);
	}
}
