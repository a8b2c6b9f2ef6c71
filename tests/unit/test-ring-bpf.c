/* SPDX-License-Identifier: MIT */
/* BPF ring buffers against a kernel in memory: busy and discarded records, wraps, wake-up order,
 * damage. */
#include "lib/test.h"

#include <pthread.h>

#include <coati/ring.h>

#include "lib/fake-ring.h"
#include "ring/ring.h"

#define PAGE UINT64_C(4096)

TEST(bpf_ring_delivers_every_length_at_every_offset)
{
	for (uint64_t start = 0; start < PAGE; start += 64) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_BPF, PAGE, start);
		ring = fake_ring_open(&f, 0);
		for (uint32_t size = 8; size < 300; size++) {
			CHECK(fake_ring_write(&f, 0, size, size));
			CHECK_INT(coati_ring_next(ring, &item), ==, 1);
			fake_ring_check(&f, &item, size, size);
			CHECK_INT(coati_ring_next(ring, &item), ==, 0);
			CHECK_U64(fake_ring_tail(&f), ==, f.head);
		}
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(bpf_ring_counters_may_pass_any_power_of_two)
{
	static const uint64_t starts[] = { (UINT64_C(1) << 32) - 2048, UINT64_MAX - 2047 };

	for (size_t s = 0; s < 2; s++) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_BPF, PAGE, starts[s]);
		ring = fake_ring_open(&f, 0);
		for (uint64_t i = 0; i < 300; i++) {
			CHECK(fake_ring_write(&f, 0, 40, i));
			CHECK_INT(coati_ring_next(ring, &item), ==, 1);
			fake_ring_check(&f, &item, 40, i);
		}
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(bpf_ring_max_record_fits_and_one_more_does_not)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	uint32_t max;

	fake_ring_init(&f, COATI_RING_BPF, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	max = (uint32_t)coati_ring_max_record(ring);
	CHECK(!fake_ring_write(&f, 0, max + 1, 0));
	CHECK(fake_ring_write(&f, 0, max, 0));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, max, 0);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(bpf_ring_skips_discarded_records_or_delivers_them_when_asked)
{
	for (int asked = 0; asked <= 1; asked++) {
		struct coati_ring_stats stats = { .size = sizeof(stats) };
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;

		fake_ring_init(&f, COATI_RING_BPF, PAGE, 4000);
		ring = fake_ring_open(&f, asked ? COATI_RING_DISCARDS : 0);
		for (uint64_t i = 0; i < 9; i++)
			fake_ring_commit(fake_ring_reserve(&f, 24, i), i % 3 == 1);
		for (uint64_t i = 0; i < 9; i++) {
			if (i % 3 == 1 && !asked)
				continue;
			CHECK_INT(coati_ring_next(ring, &item), ==, 1);
			CHECK_U64(item.flags, ==, i % 3 == 1 ? COATI_ITEM_DISCARD : 0);
			fake_ring_check(&f, &item, 24, i);
		}
		CHECK_INT(coati_ring_next(ring, &item), ==, 0);
		CHECK_U64(fake_ring_tail(&f), ==, f.head);
		coati_ring_get_stats(ring, &stats);
		CHECK_U64(stats.discarded, ==, 3);
		CHECK_U64(stats.records, ==, 6);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

TEST(bpf_ring_waits_behind_a_busy_record_and_lets_the_writer_know_where)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	uint32_t *busy;

	fake_ring_init(&f, COATI_RING_BPF, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, 0, 24, 1));
	busy = fake_ring_reserve(&f, 24, 2);
	CHECK(fake_ring_write(&f, 0, 24, 3));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, 24, 1);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	/* The kernel wakes for a record only when the consumer stands in front of it. */
	CHECK_U64(fake_ring_tail(&f), ==, 32);
	CHECK(coati_bpf_idle(ring));
	fake_ring_commit(busy, false);
	CHECK(!coati_bpf_idle(ring));
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, 24, 2);
	CHECK_INT(coati_ring_next(ring, &item), ==, 1);
	fake_ring_check(&f, &item, 24, 3);
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	CHECK(coati_bpf_idle(ring));
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(bpf_ring_reports_a_length_past_the_producer)
{
	static const uint32_t sizes[] = { 64, 4096, 0x3fffffff };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct fake_ring f;
		uint32_t *header;

		fake_ring_init(&f, COATI_RING_BPF, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		CHECK(fake_ring_write(&f, 0, 24, 1));
		header = fake_ring_reserve(&f, 24, 2);
		*header = sizes[i];
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
		CHECK_U64(item.position, ==, 32);
		CHECK_U64(item.skipped, ==, 32);
		CHECK(fake_ring_write(&f, 0, 24, 3));
		CHECK_INT(coati_ring_next(ring, &item), ==, 1);
		fake_ring_check(&f, &item, 24, 3);
		coati_ring_close(&ring);
		fake_ring_fini(&f);
	}
}

struct writer {
	struct fake_ring *f;
	uint64_t count;
};

static void *write_all(void *arg)
{
	struct writer *w = arg;

	for (uint64_t i = 0; i < w->count;)
		if (fake_ring_write(w->f, FAKE_SAMPLE, 16 + 8 * (uint32_t)(i % 9), i))
			i++;
	return NULL;
}

/* Both kinds with a real second thread: every byte, in order, none twice. */
static void race(enum coati_ring_kind kind, uint64_t count)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct fake_ring f;
	struct writer w = { &f, count };
	pthread_t thread;
	uint64_t n = 0;

	fake_ring_init(&f, kind, 2 * PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK_INT(pthread_create(&thread, NULL, write_all, &w), ==, 0);
	while (n < count) {
		int r = coati_ring_next(ring, &item);

		CHECK_INT(r, >=, 0);
		if (r == 0 || item.kind == COATI_ITEM_LOSS)
			continue;
		fake_ring_check(&f, &item, 16 + 8 * (uint32_t)(n % 9), n);
		n++;
	}
	pthread_join(thread, NULL);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}

TEST(bpf_ring_with_a_writer_on_another_cpu_delivers_every_byte)
{
	race(COATI_RING_BPF, 100000);
}

TEST(forward_ring_with_a_writer_on_another_cpu_delivers_every_byte)
{
	race(COATI_RING_FORWARD, 100000);
}
