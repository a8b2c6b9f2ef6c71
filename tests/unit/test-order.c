/* SPDX-License-Identifier: MIT */
/* The order of records: by time, equal times as they came, rounds, what is late, and what is too
 * much. */
#include "lib/test.h"

#include <coati/recording.h>

#include "base/alloc.h"
#include "recording/order.h"
#include "ring/heap.h"

static void put(struct order *o, uint64_t time, uint64_t number)
{
	const struct order_entry e = { .time = time, .offset = number };

	CHECK_INT(order_add(o, &e), ==, 0);
}

/* The next is that one; @late: it is flagged so. */
static void expect(struct order *o, uint64_t time, uint64_t number, bool late)
{
	const struct order_entry *e = order_next(o);

	CHECK(e);
	CHECK_U64(e->offset, ==, number);
	CHECK_U64(e->flags & ORDER_BORROWED ? 0 : e->time, ==, time);
	CHECK_INT(!!(e->flags & COATI_RECORDING_ITEM_LATE), ==, late);
}

TEST(order_lets_go_at_a_round_what_is_not_newer_than_the_round_before)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	put(&o, 100, 1);
	put(&o, 300, 2);
	put(&o, 200, 3);
	CHECK(!order_next(&o));
	coati_order_round(&o); /* nothing is known of a round before */
	CHECK(!order_next(&o));
	put(&o, 250, 4);
	put(&o, 301, 5);
	put(&o, 300, 6);
	coati_order_round(&o); /* up to 300 */
	expect(&o, 100, 1, false);
	expect(&o, 200, 3, false);
	expect(&o, 250, 4, false);
	expect(&o, 300, 2, false);
	expect(&o, 300, 6, false);
	CHECK(!order_next(&o));
	coati_order_end(&o);
	expect(&o, 301, 5, false);
	CHECK(!order_next(&o));
	coati_order_fini(&o, NULL);
}

TEST(order_puts_what_has_no_time_ahead_of_what_waits_and_sorts_nothing_for_it)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	put(&o, 100, 1);
	put(&o, 200, 2);
	coati_order_round(&o);
	put(&o, 300, 3);
	coati_order_round(&o); /* up to 200 */
	expect(&o, 100, 1, false);
	expect(&o, 200, 2, false);
	CHECK(!order_next(&o));
	put(&o, 0, 4); /* in front of 300, and not before its round has ended */
	CHECK(!order_next(&o));
	CHECK(!o.is_unsorted);
	put(&o, 0, 5); /* behind the other one */
	CHECK(!order_next(&o));
	put(&o, 400, 6);
	coati_order_round(&o); /* up to 300 */
	expect(&o, 0, 4, false);
	expect(&o, 0, 5, false);
	expect(&o, 300, 3, false);
	CHECK(!order_next(&o));
	coati_order_end(&o);
	expect(&o, 400, 6, false);
	coati_order_fini(&o, NULL);
}

/* What was sorted ends with its newest: what comes next and is older is not in order. */
TEST(order_sorts_again_what_is_older_than_the_newest_that_was_sorted)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	put(&o, 100, 1);
	put(&o, 300, 2);
	put(&o, 200, 3);
	coati_order_round(&o);
	CHECK(!o.is_unsorted);
	CHECK_U64(o.last, ==, 300);
	put(&o, 299, 4);
	CHECK(o.is_unsorted);
	coati_order_end(&o);
	expect(&o, 100, 1, false);
	expect(&o, 200, 3, false);
	expect(&o, 299, 4, false);
	expect(&o, 300, 2, false);
	CHECK(!order_next(&o));
	coati_order_fini(&o, NULL);
}

/* However long a recording is, its rounds have a place in front of what waits: nothing is sorted
 * because of them, and all come in order. */
TEST(order_of_many_rounds_sorts_nothing)
{
	uint64_t next = 0, rounds = 0, got = 0;
	struct order o;

	coati_order_init(&o, 1 << 24);
	/* the first mark finds nothing before it, and stands in front once it is sorted in */
	for (uint64_t round = 0; round < 40; round++) {
		for (uint64_t i = 0; i < 3000; i++, next++)
			put(&o, 1000 + next, next);
		put(&o, 0, UINT64_MAX);
		CHECK_INT(o.is_unsorted, ==, round == 0);
		coati_order_round(&o);
		for (const struct order_entry *e; (e = order_next(&o));) {
			if (e->offset == UINT64_MAX)
				rounds++;
			else
				CHECK_U64(e->offset, ==, got++);
		}
	}
	CHECK_U64(rounds, ==, 40);
	CHECK_U64(got, ==, next - 3000);
	coati_order_fini(&o, NULL);
}

TEST(order_of_equal_times_is_that_in_which_they_came)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	for (uint64_t i = 0; i < 300; i++)
		put(&o, 1000 - i / 10 % 3, i);
	coati_order_end(&o);
	for (uint64_t third = 3; third-- > 0;)
		for (uint64_t i = 0; i < 300; i++)
			if (i / 10 % 3 == third)
				expect(&o, 1000 - third, i, false);
	CHECK(!order_next(&o));
	coati_order_fini(&o, NULL);
}

TEST(order_of_a_late_record_is_at_once_and_flagged)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	put(&o, 100, 1);
	put(&o, 200, 2);
	coati_order_end(&o);
	expect(&o, 100, 1, false);
	expect(&o, 200, 2, false);
	put(&o, 150, 3);
	put(&o, 200, 4);
	coati_order_end(&o);
	expect(&o, 150, 3, true);
	CHECK_U64(o.delivered, ==, 200);
	expect(&o, 200, 4, false);
	coati_order_fini(&o, NULL);
}

TEST(order_of_a_record_without_a_time_is_ahead_of_all_that_wait)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	put(&o, 100, 1);
	put(&o, 200, 2);
	coati_order_round(&o);
	coati_order_round(&o);
	expect(&o, 100, 1, false);
	put(&o, 0, 3); /* as of 100 */
	put(&o, 100, 4);
	coati_order_end(&o);
	expect(&o, 0, 3, false);
	expect(&o, 100, 4, false);
	expect(&o, 200, 2, false);
	coati_order_fini(&o, NULL);
}

TEST(order_of_the_file_is_kept_when_it_is_asked_for)
{
	struct order o;

	coati_order_init(&o, 1 << 20);
	o.file_order = true;
	put(&o, 300, 1);
	expect(&o, 300, 1, false);
	put(&o, 100, 2);
	put(&o, 200, 3);
	coati_order_round(&o);
	expect(&o, 100, 2, false);
	CHECK_U64(o.delivered, ==, 100);
	expect(&o, 200, 3, false);
	CHECK(!order_next(&o));
	coati_order_end(&o);
	CHECK(!order_next(&o));
	coati_order_fini(&o, NULL);
}

TEST(order_is_crowded_from_its_ceiling_on_and_lets_the_older_half_go)
{
	struct order o;

	coati_order_init(&o, 0);
	CHECK_U64(o.max_entries, ==, 1024); /* the least */
	coati_order_init(&o, 1024 * 3 * sizeof(struct order_entry) - 1);
	CHECK_U64(o.max_entries, ==, 1024);
	coati_order_init(&o, 1025 * 3 * sizeof(struct order_entry));
	CHECK_U64(o.max_entries, ==, 1025);
	for (uint64_t i = 0; i < 1025; i++) {
		CHECK(!order_crowded(&o));
		put(&o, 5000 - i, i);
	}
	CHECK(order_crowded(&o));
	coati_order_relieve(&o); /* up to the time in the middle */
	for (uint64_t i = 1025; i-- > 512;)
		expect(&o, 5000 - i, i, false);
	CHECK(!order_next(&o));
	CHECK(!order_crowded(&o));
	coati_order_fini(&o, NULL);
}

/* Against a stable sort by insertion, with rounds at any place. */
TEST(order_agrees_with_a_plain_sort)
{
	static uint64_t times[4000];
	uint64_t last = 0, nr = 0, got = 0;
	struct order o;

	coati_order_init(&o, 1 << 24);
	while (nr < 4000) {
		uint64_t some = test_random() % 700;

		/* within a round and the next, times may be anywhere behind what was let go */
		for (uint64_t i = 0; i < some && nr < 4000; i++, nr++) {
			times[nr] = o.newest_before + 1 + test_random() % 50;
			put(&o, times[nr], nr);
		}
		coati_order_round(&o);
		if (nr == 4000)
			coati_order_end(&o);
		for (const struct order_entry *e, *before = NULL; (e = order_next(&o));) {
			static struct order_entry copy;

			CHECK_U64(e->time, ==, times[e->offset]);
			CHECK_U64(e->time, >=, last);
			if (before && before->time == e->time)
				CHECK_U64(e->offset, >, before->offset);
			CHECK(!(e->flags & COATI_RECORDING_ITEM_LATE));
			last = e->time;
			copy = *e;
			before = &copy;
			got++;
		}
	}
	CHECK_U64(got, ==, 4000);
	coati_order_fini(&o, NULL);
}

/* What has gone makes room for what comes, at every fill. */
TEST(order_moves_what_waits_to_the_front_before_it_grows)
{
	for (uint64_t gone = 0; gone <= 1024; gone += 128) {
		struct order o;

		coati_order_init(&o, 1 << 20);
		for (uint64_t i = 0; i < 1024; i++)
			put(&o, 1000 + i, i);
		coati_order_end(&o);
		for (uint64_t i = 0; i < gone; i++)
			expect(&o, 1000 + i, i, false);
		put(&o, 9000, 9999);
		CHECK_U64(o.cap, ==, gone > 256 ? 1024 : 2048);
		CHECK_U64(o.len - o.at, ==, 1024 - gone + 1);
		for (uint64_t i = gone; i < 1024; i++)
			expect(&o, 1000 + i, i, false);
		CHECK(!order_next(&o));
		coati_order_end(&o);
		expect(&o, 9000, 9999, false);
		coati_order_fini(&o, NULL);
	}
}

TEST(order_without_memory_says_so_and_keeps_what_it_has)
{
	for (uint64_t n = 0; n < 2; n++) {
		const struct order_entry e = { .time = 5000, .offset = 5000 };
		struct order o;

		coati_order_init(&o, 1 << 20);
		for (uint64_t i = 0; i < 1024; i++)
			put(&o, 1000 + i, i);
		coati_alloc_fail_after(n);
		CHECK_ERR(order_add(&o, &e), -ENOMEM);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_INT(order_add(&o, &e), ==, 0);
		coati_order_end(&o);
		for (uint64_t i = 0; i < 1024; i++)
			expect(&o, 1000 + i, i, false);
		expect(&o, 5000, 5000, false);
		coati_order_fini(&o, NULL);
	}
}

/* ---- the heap ---- */

TEST(heap_of_random_times_comes_out_sorted_and_stable)
{
	static uint64_t times[500];

	for (uint64_t nr = 1; nr <= 500; nr = nr * 3 / 2 + 1) {
		struct heap h = { .max = 1000 };
		uint64_t last = 0, last_number = 0;

		for (uint64_t i = 0; i < nr; i++) {
			times[i] = test_random() % 40;
			CHECK_INT(coati_heap_put(&h, times[i], &times[i]), ==, 0);
		}
		for (uint64_t i = 0; i < nr; i++) {
			const struct heap_entry *top = heap_top(&h);
			uint64_t number = (uint64_t)((uint64_t *)top->what - times);

			CHECK_U64(top->time, ==, times[number]);
			CHECK(i == 0 || top->time > last ||
			      (top->time == last && number > last_number));
			last = top->time;
			last_number = number;
			coati_heap_pop(&h);
		}
		CHECK(!heap_top(&h));
		coati_heap_fini(&h);
	}
}

TEST(heap_has_a_ceiling_and_room_that_was_reserved)
{
	struct heap h = { .max = 3 };
	int what[4];

	CHECK_ERR(coati_heap_reserve(&h, 4), -ENOMEM);
	CHECK_INT(coati_heap_reserve(&h, 3), ==, 0);
	coati_alloc_fail_after(0);
	CHECK_INT(coati_heap_reserve(&h, 3), ==, 0); /* it is there */
	CHECK_INT(coati_heap_reserve(&h, 2), ==, 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_INT(coati_heap_put(&h, 10 - i, &what[i]), ==, 0);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_ERR(coati_heap_put(&h, 1, &what[3]), -ENOMEM);
	CHECK_U64(h.len, ==, 3);
	CHECK(heap_top(&h)->what == &what[2]);
	coati_heap_remove(&h, &what[2]);
	CHECK_U64(h.len, ==, 2);
	CHECK(heap_top(&h)->what == &what[1]);
	coati_heap_fini(&h);
	CHECK(!heap_top(&h));
}
