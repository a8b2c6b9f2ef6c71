/* SPDX-License-Identifier: MIT */
/* Time over many rings: losses between two times, the merge, its delay and its ceiling. */
#include "lib/test.h"

#include <coati/ring.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/fake-ring.h"
#include "ring/heap.h"
#include "ring/reader.h"

#define PAGE	 UINT64_C(4096)
#define NR_RINGS 3

struct rig {
	struct coati_reader *rd;
	struct fake_ring f[NR_RINGS];
};

/* The number of a record is its time; 0: it has none. */
static int time_of(void *ctx, const struct coati_ring_item *item, uint64_t *ret)
{
	struct rig *rig = ctx;

	*ret = fake_ring_number(&rig->f[0], item);
	return *ret != 0;
}

static void rig_open(struct rig *rig, uint64_t delay_ns, uint64_t bytes, uint64_t size)
{
	struct coati_reader_opts o = { .size = sizeof(o),
				       .time_fn = time_of,
				       .time_ctx = rig,
				       .merge_delay_ns = delay_ns,
				       .merge_bytes = bytes };

	CHECK_OK(coati_reader_new(&o, &rig->rd, NULL));
	for (int i = 0; i < NR_RINGS; i++) {
		struct coati_ring *ring;

		fake_ring_init(&rig->f[i], COATI_RING_FORWARD, size, 0);
		ring = fake_ring_open(&rig->f[i], 0);
		ring->key = i;
		CHECK_OK(coati_reader_adopt(rig->rd, ring, -1,
					    &(struct coati_reader_ring_opts){ 0 }, NULL));
	}
}

static void rig_close(struct rig *rig)
{
	coati_reader_close(rig->rd);
	coati_reader_free(&rig->rd);
	for (int i = 0; i < NR_RINGS; i++)
		fake_ring_fini(&rig->f[i]);
}

static void put(struct rig *rig, int i, uint64_t time)
{
	CHECK(fake_ring_write(&rig->f[i], FAKE_SAMPLE, 64, time));
}

TEST(heap_gives_the_least_time_first_and_equal_ones_in_order)
{
	struct heap h = { .max = 1000 };
	uint64_t last = 0, last_order = 0;

	for (int i = 0; i < 1000; i++)
		CHECK_OK(coati_heap_put(&h, test_random() % 50, NULL));
	CHECK_ERR(coati_heap_put(&h, 0, NULL), -ENOMEM);
	for (int i = 0; i < 1000; i++) {
		struct heap_entry top = *heap_top(&h);

		coati_heap_pop(&h);
		CHECK(top.time > last || (top.time == last && (i == 0 || top.order > last_order)));
		last = top.time;
		last_order = top.order;
	}
	CHECK(!heap_top(&h));
	coati_heap_fini(&h);
}

TEST(heap_remove_takes_out_what_it_is_told_and_keeps_the_order)
{
	struct heap h = { .max = 100 };
	uint64_t last = 0;
	int n = 0;

	for (uint64_t i = 0; i < 100; i++)
		CHECK_OK(coati_heap_put(&h, i * 37 % 101, i % 3 ? &h : NULL));
	coati_heap_remove(&h, NULL);
	for (; heap_top(&h); coati_heap_pop(&h), n++) {
		CHECK(heap_top(&h)->what == &h);
		CHECK_U64(heap_top(&h)->time, >=, last);
		last = heap_top(&h)->time;
	}
	CHECK_INT(n, ==, 66);
	coati_heap_fini(&h);
}

TEST(reader_gives_losses_the_times_around_them)
{
	struct coati_ring_item item;
	struct rig rig;
	uint64_t time = 1000, n = 0;

	rig_open(&rig, 0, 0, PAGE);
	while (fake_ring_write(&rig.f[1], FAKE_SAMPLE, 192, time))
		time++;
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_U64(item.time, ==, 1000);
	while (coati_reader_try(rig.rd, &item) == 1)
		n++;
	CHECK_U64(n, ==, time - 1001);
	put(&rig, 1, 5000);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 1);
	CHECK_U64(item.first_time, ==, time - 1);
	CHECK_U64(item.last_time, ==, 5000);
	CHECK_U64(item.size, ==, 24);
	CHECK_INT(item.bytes[0], ==, 2);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	fake_ring_check(&rig.f[1], &item, 64, 5000);
	CHECK_U64(item.time, ==, 5000);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

TEST(reader_gives_two_losses_in_a_row_their_times_too)
{
	struct {
		uint32_t type;
		uint16_t misc, size;
		uint64_t id, lost;
	} lost = { 2, 0, 24, 1, 4 };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, 0, 0, PAGE);
	put(&rig, 0, 100);
	fake_ring_write_raw(&rig.f[0], &lost, 24);
	fake_ring_write_raw(&rig.f[0], &lost, 24);
	put(&rig, 0, 200);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
		CHECK_U64(item.count, ==, 4);
		CHECK_U64(item.first_time, ==, 100);
		CHECK_U64(item.last_time, ==, i ? 200 : 0);
	}
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	fake_ring_check(&rig.f[0], &item, 64, 200);
	rig_close(&rig);
}

/* Every large user of cilium/ebpf sorts again (C10). */
TEST(merge_puts_the_records_of_all_rings_in_order_C10)
{
	struct coati_ring_item item;
	uint64_t time = 1000, wrote = 0, read = 0, last = 0;
	struct rig rig;

	rig_open(&rig, 300 * NSEC_PER_SEC, 0, PAGE);
	while (read < 5000) {
		for (int i = 0; i < 40 && wrote < 5000; i++, wrote++)
			put(&rig, (int)(test_random() % NR_RINGS),
			    time += test_random() % 10 * NSEC_PER_SEC);
		if (wrote == 5000)
			coati_reader_flush(rig.rd);
		while (coati_reader_try(rig.rd, &item) == 1) {
			CHECK_U64(item.time, >=, last);
			CHECK_U64(item.flags, ==, 0);
			fake_ring_check(&rig.f[item.key], &item, 64, item.time);
			last = item.time;
			read++;
			CHECK(wrote == 5000 || item.time + 300 * NSEC_PER_SEC <= time);
		}
	}
	CHECK_U64(read, ==, 5000);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

TEST(merge_does_not_let_one_full_ring_run_ahead_of_the_others)
{
	struct coati_ring_item item;
	uint64_t last = 0, n = 0;
	struct rig rig;

	rig_open(&rig, 5, 0, 16 * PAGE);
	for (int i = 0; i < NR_RINGS; i++)
		for (uint64_t t = 0; t < 500; t++)
			put(&rig, i, 1000 + t * NR_RINGS + (uint64_t)i);
	coati_reader_flush(rig.rd);
	while (coati_reader_try(rig.rd, &item) == 1) {
		CHECK_U64(item.time, >=, last);
		CHECK_U64(item.flags, ==, 0);
		last = item.time;
		n++;
	}
	CHECK_U64(n, ==, 1500);
	rig_close(&rig);
}

TEST(merge_sorts_what_is_out_of_order_inside_a_ring_and_flags_what_comes_too_late)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, 100 * NSEC_PER_SEC, 0, PAGE);
	put(&rig, 0, 1000 * NSEC_PER_SEC);
	put(&rig, 0, 990 * NSEC_PER_SEC);
	put(&rig, 1, 995 * NSEC_PER_SEC);
	put(&rig, 1, 1200 * NSEC_PER_SEC);
	for (int i = 0; i < 3; i++) {
		static const uint64_t want[] = { 990, 995, 1000 };

		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		CHECK_U64(item.time, ==, want[i] * NSEC_PER_SEC);
		CHECK_U64(item.flags, ==, 0);
	}
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	put(&rig, 2, 980 * NSEC_PER_SEC);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_U64(item.time, ==, 980 * NSEC_PER_SEC);
	CHECK_U64(item.flags, ==, COATI_ITEM_LATE);
	coati_reader_flush(rig.rd);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_U64(item.time, ==, 1200 * NSEC_PER_SEC);
	CHECK_U64(item.flags, ==, 0);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -ECANCELED);
	rig_close(&rig);
}

TEST(merge_lets_held_records_go_when_nothing_newer_comes)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, NSEC_PER_MSEC, 0, PAGE);
	put(&rig, 0, 10 * NSEC_PER_MSEC);
	put(&rig, 1, 9 * NSEC_PER_MSEC + 1);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.key, ==, 1);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.key, ==, 0);
	rig_close(&rig);
}

TEST(merge_gives_ring_space_back_while_it_holds_records)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, FAKE_SAMPLE * NSEC_PER_SEC, 0, PAGE);
	for (uint64_t i = 0; i < 50; i++)
		put(&rig, 0, 1000 + i);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_U64(fake_ring_tail(&rig.f[0]), ==, rig.f[0].head);
	/* what is written over the old bytes does not change what is held */
	for (uint64_t i = 50; i < 100; i++)
		put(&rig, 0, 1000 + i);
	coati_reader_flush(rig.rd);
	for (uint64_t i = 0; i < 100; i++) {
		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		fake_ring_check(&rig.f[0], &item, 64, 1000 + i);
	}
	CHECK_ERR(coati_reader_try(rig.rd, &item), -ECANCELED);
	rig_close(&rig);
}

TEST(merge_lets_the_oldest_go_early_at_its_ceiling)
{
	struct coati_ring_item item;
	uint64_t wrote = 0, read = 0, last = 0;
	struct rig rig;

	/* room for two blocks: some 3000 records of 64 bytes with their items */
	rig_open(&rig, NSEC_PER_SEC * 1000, 512 * 1024, PAGE);
	while (wrote < 20000) {
		for (int i = 0; i < 50; i++)
			put(&rig, (int)(wrote % NR_RINGS), 1000 + wrote), wrote++;
		while (coati_reader_try(rig.rd, &item) == 1) {
			CHECK_U64(item.time, >=, last);
			last = item.time;
			fake_ring_check(&rig.f[item.key], &item, 64, item.time);
			read++;
		}
		CHECK_U64(wrote - read, <=, 512 * 1024 / 64);
	}
	CHECK_U64(read, >, 0);
	coati_reader_flush(rig.rd);
	while (coati_reader_try(rig.rd, &item) == 1)
		read++;
	CHECK_U64(read, ==, wrote);
	rig_close(&rig);
}

TEST(merge_with_no_memory_at_all_still_delivers_everything)
{
	struct coati_ring_item item;
	struct rig rig;
	uint64_t n = 0;

	rig_open(&rig, NSEC_PER_SEC * 1000, 1, PAGE);
	for (uint64_t i = 0; i < 60; i++)
		put(&rig, (int)(i % NR_RINGS), 1000 + i);
	while (coati_reader_try(rig.rd, &item) == 1) {
		CHECK_U64(item.time, ==, 1000 + n);
		n++;
	}
	CHECK_U64(n, ==, 60);
	rig_close(&rig);
}

TEST(merge_keeps_records_without_a_time_behind_their_ring)
{
	struct coati_ring_item item;
	struct rig rig;
	static const struct {
		int key;
		uint64_t number;
	} want[] = { { 0, 1000 }, { 0, 0 }, { 1, 1500 }, { 0, 2000 } };

	rig_open(&rig, 100, 0, PAGE);
	put(&rig, 0, 1000);
	put(&rig, 0, 0);
	put(&rig, 0, 2000);
	put(&rig, 1, 1500);
	coati_reader_flush(rig.rd);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		CHECK_INT(item.key, ==, want[i].key);
		CHECK_U64(fake_ring_number(&rig.f[0], &item), ==, want[i].number);
	}
	rig_close(&rig);
}

TEST(merge_delivers_all_before_the_end)
{
	struct coati_ring_item item;
	uint64_t records = 0, ends = 0;
	struct rig rig;
	int r;

	rig_open(&rig, NSEC_PER_SEC * 1000, 0, PAGE);
	for (uint64_t i = 0; i < 60; i++)
		put(&rig, (int)(i % NR_RINGS), 1000 + i);
	for (int i = 0; i < NR_RINGS; i++)
		CHECK_OK(coati_reader_end(rig.rd, i));
	while ((r = coati_reader_next(rig.rd, &item)) == 1) {
		records += item.kind == COATI_ITEM_RECORD;
		ends += item.kind == COATI_ITEM_END;
	}
	CHECK_INT(r, ==, 0);
	CHECK_U64(records, ==, 60);
	CHECK_U64(ends, ==, NR_RINGS);
	rig_close(&rig);
}

TEST(merge_forgets_a_ring_that_is_removed)
{
	struct coati_ring_item item;
	struct rig rig;
	uint64_t n = 0;

	rig_open(&rig, 10, 0, PAGE);
	for (uint64_t i = 0; i < 30; i++)
		put(&rig, (int)(i % NR_RINGS), 1000 + i);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_OK(coati_reader_remove(rig.rd, 1));
	coati_reader_flush(rig.rd);
	while (coati_reader_try(rig.rd, &item) == 1)
		n++;
	CHECK_U64(n, >=, 18);
	rig_close(&rig);
}
