/* SPDX-License-Identifier: MIT */
/* Forward rings against a kernel in memory: wraps, sizes, counters, losses, damage. */
#include "lib/test.h"

#include <coati/abi.h>
#include <coati/ring.h>

#include "base/alloc.h"
#include "lib/fake-ring.h"
#include "ring/ring.h"

#define PAGE UINT64_C(4096)

static const uint64_t starts[] = {
	0,
	(UINT64_C(1) << 30) - 2048,
	(UINT64_C(1) << 32) - 2048,
	(UINT64_C(1) << 63) - 2048,
	UINT64_MAX - 2047,
};
#define NR_STARTS (sizeof(starts) / sizeof(starts[0]))

TEST(ring_next_joins_a_record_that_wraps_at_every_offset)
{
	for (uint32_t size = 8; size <= 264; size += 64) {
		for (uint64_t start = 0; start < PAGE; start += 8) {
			struct fake_ring f;
			struct coati_ring *ring;
			struct coati_ring_item item;

			fake_ring_init(&f, COATI_RING_FORWARD, PAGE, start);
			ring = fake_ring_open(&f, 0);
			for (uint64_t i = 0; i < 3; i++)
				CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, i));
			for (uint64_t i = 0; i < 3; i++) {
				CHECK_INT(coati_ring_next(ring, &item), ==, 1);
				CHECK_U64(item.position, ==, start + i * size);
				CHECK_INT(item.key, ==, 7);
				fake_ring_check(&f, &item, size, i);
			}
			CHECK_INT(coati_ring_next(ring, &item), ==, 0);
			coati_ring_close(&ring);
			fake_ring_fini(&f);
		}
	}
}

TEST(ring_delivers_every_size_of_record)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, 128 * 1024, 0);
	ring = fake_ring_open(&f, 0);
	for (uint32_t size = 8; size <= 65528; size += size < 2048 ? 8 : 488) {
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, size));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, size, size);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	}
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 65528, 1));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, 65528, 1);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

/* As many records as it takes to wrap a hundred times: none of them costs memory (C15). */
static void read_without_memory(enum coati_ring_kind kind)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	uint64_t before;

	fake_ring_init(&f, kind, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 1000, 0));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	before = coati_alloc_count();
	for (uint64_t i = 1; i <= 1000; i++) {
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 16 + 8 * (uint32_t)(i % 100), i));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 16 + 8 * (uint32_t)(i % 100), i);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	}
	CHECK_U64(coati_alloc_count(), ==, before);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_reading_allocates_nothing_C15)
{
	read_without_memory(COATI_RING_FORWARD);
	read_without_memory(COATI_RING_BPF);
}

/* All that is there, from record number @read on; the number of the next. */
static uint64_t read_rest(struct fake_ring *f, struct coati_ring *ring, uint64_t read)
{
	struct coati_ring_item item;

	for (; coati_ring_next(ring, &item) == 1; read++)
		if (item.size >= 16)
			fake_ring_check(f, &item, 8 + 8 * (uint32_t)(read % 40), read);
	return read;
}

TEST(ring_counters_may_pass_any_power_of_two)
{
	for (size_t s = 0; s < NR_STARTS; s++) {
		struct coati_ring_stats stats = { .size = sizeof(stats) };
		struct coati_ring *ring;
		struct fake_ring f;
		uint64_t wrote = 0, read = 0;

		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, starts[s]);
		ring = fake_ring_open(&f, 0);
		while (read < 500) {
			while (fake_ring_write(&f, FAKE_SAMPLE, 8 + 8 * (uint32_t)(wrote % 40),
					       wrote))
				wrote++;
			f.lost = 0; /* the one that did not fit comes again */
			read = read_rest(&f, ring, read);
			CHECK_U64(fake_ring_tail(&f), ==, f.head);
		}
		coati_ring_get_stats(ring, &stats);
		CHECK_U64(stats.records, ==, read);
		CHECK_U64(stats.bytes, ==, f.head - starts[s]);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

/* The kernel never does, but a saved ring may: go-perf copied such a record as nothing (B11). */
TEST(ring_delivers_a_record_as_long_as_the_ring)
{
	for (uint64_t start = 0; start < PAGE; start += 1024) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;
		static uint8_t bytes[4096];

		memset(bytes, 0x5a, sizeof(bytes));
		memcpy(bytes, &(struct ring_header){ FAKE_SAMPLE, 0, 4096 }, 8);
		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, start);
		ring = fake_ring_open(&f, 0);
		fake_ring_write_raw(&f, bytes, 4096);
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_U64(item.size, ==, 4096);
		CHECK_MEM(item.bytes, bytes, 4096);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(ring_gives_space_back_in_batches_and_all_of_it_at_the_end)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	uint64_t changes = 0, last = 0;

	fake_ring_init(&f, COATI_RING_FORWARD, 16 * PAGE, 0);
	ring = fake_ring_open(&f, 0);
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, i));
	for (uint64_t i = 0; i < 1000; i++) {
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		/* the record that we look at is never given back */
		CHECK_U64(fake_ring_tail(&f), <=, item.position);
		changes += fake_ring_tail(&f) != last;
		last = fake_ring_tail(&f);
	}
	CHECK_U64(changes, >=, 4);
	CHECK_U64(changes, <=, 8);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	CHECK_U64(fake_ring_tail(&f), ==, 64000);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_release_gives_back_what_was_delivered_and_hold_nothing_else)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, COATI_RING_HOLD);
	for (uint64_t i = 0; i < 60; i++)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, i));
	for (uint64_t i = 0; i < 60; i++)
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	CHECK_U64(fake_ring_tail(&f), ==, 0);
	CHECK_U64(coati_ring_free_bytes(ring), ==, PAGE - 60 * 64);
	coati_ring_release(ring);
	CHECK_U64(fake_ring_tail(&f), ==, 60 * 64);
	CHECK_U64(coati_ring_free_bytes(ring), ==, PAGE);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_views_held_across_the_wrap_stay_whole)
{
	struct coati_ring_item item[50];
	struct coati_ring *ring;
	struct fake_ring f;

	for (uint64_t start = 0; start < 80; start += 8) {
		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, start);
		ring = fake_ring_open(&f, COATI_RING_HOLD);
		for (uint64_t i = 0; i < 50; i++) {
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 80, i));
			CHECK_INT(coati_ring_next(ring, &item[i]), ==, 1);
		}
		for (uint64_t i = 0; i < 50; i++)
			fake_ring_check(&f, &item[i], 80, i);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(ring_turns_lost_records_into_losses_in_their_place)
{
	struct coati_ring_item item;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring *ring;
	struct fake_ring f;
	uint64_t i = 0;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	while (fake_ring_write(&f, FAKE_SAMPLE, 192, i))
		i++;
	for (int n = 0; n < 4; n++)
		CHECK(!fake_ring_write(&f, FAKE_SAMPLE, 192, i));
	for (uint64_t n = 0; n < i; n++) {
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 192, n);
	}
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 99));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 5);
	CHECK_U64(item.id, ==, 77);
	CHECK_U64(item.size, ==, 24);
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, 64, 99);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	coati_ring_get_stats(ring, &stats);
	CHECK_U64(stats.lost, ==, 5);
	CHECK_U64(stats.records, ==, i + 1);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

/* cilium/ebpf takes the rest of such a record for records (C2). */
TEST(ring_steps_over_an_unknown_type_by_its_length_C2)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 4000);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 1));
	CHECK(fake_ring_write(&f, 4711, 128, 2));
	CHECK(fake_ring_write(&f, 0, 64, 3));
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 4));
	for (uint64_t i = 1; i <= 4; i++) {
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, i == 2 ? 128 : 64, i);
	}
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

/* The inner length is never followed (C3). */
TEST(ring_follows_the_header_when_the_raw_size_disagrees_C3)
{
	static const struct {
		uint32_t raw;
		uint32_t flags;
	} rows[] = { { 4, 0 },
		     { 12, 0 },
		     { 13, COATI_ITEM_INNER },
		     { 70000, COATI_ITEM_INNER },
		     { UINT32_MAX, COATI_ITEM_INNER } };
	struct coati_ring_opts o = { .size = sizeof(o), .raw_offset = 8 };
	struct coati_ring *ring = NULL;
	struct coati_ring_item item;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, PAGE - 16);
	CHECK_OK(coati_ring_from_memory(f.memory, f.bytes, &o, &ring, NULL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct {
			struct ring_header header;
			uint32_t raw, body[3];
		} record = { { FAKE_SAMPLE, 0, 24 }, rows[i].raw, { 1, 2, 3 } };

		fake_ring_write_raw(&f, &record, sizeof(record));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_U64(item.size, ==, 24);
		CHECK_U64(item.flags, ==, rows[i].flags);
	}
	fake_ring_write_header(&f, FAKE_SAMPLE, 8, 8);
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_U64(item.flags, ==, COATI_ITEM_INNER);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_reports_a_length_that_cannot_be_and_goes_on_at_the_head)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 9, 12, 65535, 104, 128 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct coati_ring_stats stats = { .size = sizeof(stats) };
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, PAGE - 48);
		ring = fake_ring_open(&f, 0);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 1));
		fake_ring_write_header(&f, FAKE_SAMPLE, sizes[i], 32);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 2));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 64, 1);
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
		CHECK_U64(item.position, ==, PAGE - 48 + 64);
		CHECK_U64(item.skipped, ==, 96);
		CHECK(!item.bytes);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		CHECK_U64(fake_ring_tail(&f), ==, f.head);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 3));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 64, 3);
		coati_ring_get_stats(ring, &stats);
		CHECK_U64(stats.damaged, ==, 1);
		CHECK_U64(stats.skipped_bytes, ==, 96);
		CHECK_U64(stats.records, ==, 2);
		CHECK_U64(stats.bytes, ==, 128);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(ring_reports_a_head_that_cannot_be_once)
{
	static const uint64_t heads[] = { 8 + 4096 + 8, 3, 1 << 20, UINT64_MAX, (uint64_t)-8, 12 };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 8);
		ring = fake_ring_open(&f, 0);
		fake_ring_set_head(&f, heads[i]);
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
		CHECK_U64(item.skipped, <=, PAGE);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		fake_ring_set_head(&f, heads[i] & ~7ull);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 5));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 64, 5);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(ring_delivers_a_lost_record_that_is_too_short_as_what_it_is)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, 2, 16, 1));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	CHECK_U64(item.flags, ==, COATI_ITEM_INNER);
	CHECK_U64(ring->records, ==, 1);
	CHECK_U64(ring->stats.lost, ==, 0);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_counts_lost_samples_of_the_hardware_as_loss)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, 13, 16, 42));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 42);
	CHECK_U64(item.id, ==, 0);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(ring_peek_shows_everything_in_two_spans_at_every_offset)
{
	for (uint64_t start = 0; start < PAGE; start += 8) {
		struct coati_span a, b;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, start);
		ring = fake_ring_open(&f, 0);
		CHECK_OK(coati_ring_peek(ring, &a, &b));
		CHECK_U64(a.size + b.size, ==, 0);
		for (uint64_t i = 0; i < 10; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 72, i));
		CHECK_OK(coati_ring_peek(ring, &a, &b));
		CHECK_U64(a.size + b.size, ==, 720);
		CHECK_U64(coati_ring_unread_bytes(ring), ==, 720);
		CHECK_INT(a.bytes[6], ==, 72);
		CHECK_U64(b.size, ==, start % PAGE + 720 > PAGE ? start + 720 - PAGE : 0);
		coati_ring_consume(ring, 72);
		CHECK_U64(fake_ring_tail(&f), ==, start + 72);
		coati_ring_consume(ring, 10000);
		CHECK_U64(fake_ring_tail(&f), ==, f.head);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(ring_from_memory_refuses_what_is_not_laid_out_as_a_ring)
{
	struct coati_ring_opts o = { .size = sizeof(o) };
	struct coati_ring *ring = NULL;
	struct coati_error err;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, 4 * PAGE, 0);
	CHECK_ERR(coati_ring_from_memory(f.memory, 4 * PAGE, &o, &ring, &err), -EINVAL);
	CHECK_ERR(coati_ring_from_memory(f.memory, PAGE, &o, &ring, &err), -EINVAL);
	CHECK_ERR(coati_ring_from_memory(f.memory + 4, f.bytes, &o, &ring, &err), -EINVAL);
	CHECK_ERR(coati_ring_from_memory(NULL, f.bytes, &o, &ring, &err), -EINVAL);
	o.kind = COATI_RING_BPF;
	CHECK_ERR(coati_ring_from_memory(f.memory, f.bytes, &o, &ring, &err), -EINVAL);
	o.kind = COATI_RING_FORWARD;
	o.data_bytes = 2 * PAGE;
	CHECK_ERR(coati_ring_from_memory(f.memory, f.bytes, &o, &ring, &err), -EBADMSG);
	o.data_bytes = 0;
	((struct coati_control_page *)(void *)f.memory)->data_tail = 5;
	CHECK_ERR(coati_ring_from_memory(f.memory, f.bytes, &o, &ring, &err), -EBADMSG);
	CHECK_HAS(err.text, "tail");
	CHECK(!ring);
	fake_ring_fini(&f);
}

TEST(ring_open_fails_cleanly_when_any_allocation_fails)
{
	struct coati_ring_opts o = { .size = sizeof(o) };
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	for (uint64_t n = 0;; n++) {
		struct coati_ring *ring = NULL;
		int r;

		coati_alloc_fail_after(n);
		r = coati_ring_from_memory(f.memory, f.bytes, &o, &ring, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (r >= 0) {
			coati_ring_close(&ring);
			CHECK_U64(n, >=, 2);
			break;
		}
		CHECK_ERR(r, -ENOMEM);
		CHECK(!ring);
	}
	fake_ring_fini(&f);
}

TEST(ring_says_how_large_a_record_can_be)
{
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK_U64(coati_ring_max_record(ring), ==, PAGE - 8);
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, (uint32_t)PAGE - 8, 0));
	CHECK_U64(coati_ring_data_bytes(ring), ==, PAGE);
	CHECK_INT(coati_ring_kind(ring), ==, COATI_RING_FORWARD);
	CHECK_INT(coati_ring_fd(ring), ==, -1);
	CHECK_INT(coati_ring_key(ring), ==, 7);
	coati_ring_close(&ring);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}
