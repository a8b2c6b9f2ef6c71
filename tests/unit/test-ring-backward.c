/* SPDX-License-Identifier: MIT */
/* Backward rings against a kernel in memory: snapshots, cut records, what is overtaken. */
#include "lib/test.h"

#include <coati/ring.h>

#include "lib/fake-ring.h"
#include "ring/ring.h"

#define PAGE UINT64_C(4096)

/* Walks the snapshot; records must count down from @newest. Returns how many there were. */
static uint64_t walk_down(struct fake_ring *f, struct coati_ring *ring, uint32_t size,
			  uint64_t newest, bool *ret_loss)
{
	struct coati_ring_item item;
	uint64_t n = 0;
	int r;

	*ret_loss = false;
	while ((r = coati_ring_next(ring, &item)) > 0) {
		CHECK(!*ret_loss);
		if (item.kind == COATI_ITEM_LOSS) {
			CHECK_U64(item.flags, ==, COATI_ITEM_UNKNOWN_COUNT);
			*ret_loss = true;
			continue;
		}
		fake_ring_check(f, &item, size, newest - n);
		n++;
	}
	CHECK_INT(r, ==, 0);
	return n;
}

TEST(backward_ring_refuses_to_be_read_without_a_snapshot)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	bool loss;

	fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK_ERR(coati_ring_next(ring, &item), -EINVAL);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, 64, 0, &loss), ==, 0);
	CHECK(!loss);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(backward_ring_that_is_not_full_is_delivered_whole_without_loss)
{
	for (int pause = 0; pause <= 1; pause++) {
		struct coati_ring *ring;
		struct fake_ring f;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, 4 * PAGE, 0);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < 20; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 48, i));
		CHECK_OK(coati_ring_snapshot(ring, pause, NULL));
		CHECK_U64(walk_down(&f, ring, 48, 19, &loss), ==, 20);
		CHECK(!loss);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_ends_at_the_oldest_whole_record_at_every_size)
{
	for (uint32_t size = 16; size <= 2048; size += 8) {
		struct coati_ring *ring;
		struct fake_ring f;
		uint64_t total = 3 * PAGE / size + 3;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < total; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, i));
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		CHECK_U64(walk_down(&f, ring, size, total - 1, &loss), ==, PAGE / size);
		CHECK(loss);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_that_is_just_full_has_lost_nothing_and_8_bytes_more_have)
{
	for (uint32_t more = 0; more <= 8; more += 8) {
		struct coati_ring *ring;
		struct fake_ring f;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 16 + more, 0));
		for (uint64_t i = 1; i < PAGE / 16; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 16, i));
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		CHECK_U64(walk_down(&f, ring, 16, PAGE / 16 - 1, &loss), ==,
			  PAGE / 16 - (more != 0));
		CHECK_INT(loss, ==, more != 0);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_counters_may_pass_any_power_of_two)
{
	static const uint64_t starts[] = { 0,
					   1024,
					   UINT64_C(1) << 30,
					   (UINT64_C(1) << 32) + 1024,
					   (UINT64_C(1) << 63) + 1024,
					   (uint64_t)-1024 };

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		struct coati_ring *ring;
		struct fake_ring f;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, starts[s]);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < 200; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 40, i));
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		CHECK_U64(walk_down(&f, ring, 40, 199, &loss), ==, PAGE / 40);
		CHECK(loss);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_as_long_as_one_record_delivers_it)
{
	struct coati_ring *ring;
	struct fake_ring f;
	bool loss;

	fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, (uint32_t)PAGE, i));
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, (uint32_t)PAGE, 2, &loss), ==, 1);
	CHECK(loss);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(backward_second_snapshot_delivers_only_what_is_newer)
{
	struct coati_ring *ring;
	struct fake_ring f;
	uint64_t i = 0;
	bool loss;

	fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	while (i < 200)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 48, i++));
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, 48, 199, &loss), ==, PAGE / 48);
	while (i < 230)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 48, i++));
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, 48, 229, &loss), ==, 30);
	CHECK(!loss);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, 48, 229, &loss), ==, 0);
	CHECK(!loss);
	/* What the first one held and was not read is not delivered by the second. */
	while (i < 240)
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 48, i++));
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 48, i++));
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_U64(walk_down(&f, ring, 48, 240, &loss), ==, 1);
	CHECK(!loss);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

struct overtaker {
	struct fake_ring *f;
	uint64_t next, count;
};

static void overtake(void *ctx)
{
	struct overtaker *o = ctx;

	for (uint64_t i = 0; i < o->count; i++)
		CHECK(fake_ring_write(o->f, FAKE_SAMPLE, 64, o->next++));
}

TEST(backward_snapshot_without_pause_drops_what_writers_may_have_overtaken)
{
	for (uint64_t during = 0; during < 300; during += 7) {
		struct coati_ring *ring;
		struct overtaker o;
		struct fake_ring f;
		uint64_t n, intact;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, 4 * PAGE, 0);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < 1000; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, i));
		o = (struct overtaker){ &f, 1000, during };
		ring->after_copy = overtake;
		ring->after_copy_ctx = &o;
		CHECK_OK(coati_ring_snapshot(ring, 0, NULL));
		n = walk_down(&f, ring, 64, 999, &loss);
		/* 4 KiB of margin, and all that was written meanwhile */
		intact = 3 * PAGE > during * 64 ? (3 * PAGE - during * 64) / 64 : 0;
		CHECK_U64(n, ==, intact);
		CHECK(loss);
		/* the next one has what was written meanwhile, and nothing twice */
		ring->after_copy = NULL;
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		n = walk_down(&f, ring, 64, 999 + during, &loss);
		CHECK_U64(n, ==, during < 256 ? during : 256);
		CHECK(loss == (during > 256));
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

/* Pausing does not wait for a record that was begun: its bytes are there, the head is not. Seen on
 * the real kernel. */
TEST(backward_snapshot_drops_what_a_writer_paused_in_the_middle_has_overtaken)
{
	for (uint32_t size = 16; size <= 512; size += 8) {
		uint64_t total = 3 * PAGE / size, n, head;
		struct coati_ring *ring;
		struct fake_ring f;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < total; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, i));
		head = f.head;
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, 1000000));
		fake_ring_set_head(&f, head);
		ring->fd = 0; /* of a live ring, that somebody has paused */
		ring->paused = true;
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		n = walk_down(&f, ring, size, total - 1, &loss);
		CHECK_U64(n, >=, PAGE / size - 5);
		CHECK(loss);
		ring->fd = -1;
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

/* Who says that nobody writes any more gets every whole record, and is not believed when somebody
 * does. */
TEST(backward_snapshot_of_stopped_writers_has_every_whole_record)
{
	for (uint32_t size = 16; size <= 512; size += 8) {
		uint64_t total = 3 * PAGE / size;
		struct coati_ring *ring;
		struct overtaker o;
		struct fake_ring f;
		bool loss;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < total; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, i));
		ring->fd = 0; /* of a live ring */
		CHECK_OK(coati_ring_snapshot(ring, COATI_SNAPSHOT_STOPPED, NULL));
		CHECK_U64(walk_down(&f, ring, size, total - 1, &loss), ==, PAGE / size);
		CHECK(loss);
		for (uint64_t i = 0; i < total; i++)
			CHECK(fake_ring_write(&f, FAKE_SAMPLE, size, total + i));
		o = (struct overtaker){ &f, 2 * total, 1 };
		ring->after_copy = overtake;
		ring->after_copy_ctx = &o;
		CHECK_OK(coati_ring_snapshot(ring, COATI_SNAPSHOT_STOPPED, NULL));
		CHECK_U64(walk_down(&f, ring, size, 2 * total - 1, &loss), <=, PAGE / 2 / size);
		CHECK(loss);
		CHECK_ERR(coati_ring_snapshot(ring, 3, NULL), -EINVAL);
		CHECK_ERR(coati_ring_snapshot(ring, -1, NULL), -EINVAL);
		ring->fd = -1;
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_reports_a_length_that_cannot_be)
{
	static const uint16_t sizes[] = { 4, 7, 12, 65535 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 1));
		fake_ring_write_header(&f, FAKE_SAMPLE, sizes[i], 32);
		CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 2));
		CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 64, 2);
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
		CHECK_U64(item.skipped, ==, 96);
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(backward_ring_with_an_odd_head_is_damage)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_BACKWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	fake_ring_set_head(&f, (uint64_t)-13);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(snapshot_of_another_kind_is_refused)
{
	struct coati_ring *ring;
	struct coati_error err;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK_ERR(coati_ring_snapshot(ring, 1, &err), -EINVAL);
	CHECK_ERR(coati_ring_pause(ring, 1, &err), -EINVAL);
	CHECK_ERR(coati_ring_watch_drops(ring, 0, 0, &err), -EINVAL);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}
