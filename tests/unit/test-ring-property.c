/* SPDX-License-Identifier: MIT */
/*
 * The kernel in memory and a model of it side by side: whatever is written, in any size from 8 to
 * 65528 bytes, at any offset, from any start of the counters, with losses, discards and damage
 * between, comes out as the model says. The seed that a run prints repeats it; scripts/soak makes
 * it longer.
 */
#include "lib/test.h"

#include <stdlib.h>

#include <coati/ring.h>

#include "base/alloc.h"
#include "lib/fake-ring.h"
#include "ring/ring.h"

#define PAGE	   UINT64_C(4096)
#define SIZE_MAX_  65528u
#define QUEUE	   65536u
#define NR_STEPS   300
#define NR(array_) (sizeof(array_) / sizeof((array_)[0]))

static const uint64_t edges[] = { 0, UINT64_C(1) << 30, UINT64_C(1) << 32, UINT64_C(1) << 63 };
static const uint64_t ring_sizes[] = { PAGE, 2 * PAGE, 16 * PAGE, 64 * PAGE };

struct expected {
	enum coati_item_kind kind;
	uint32_t size;
	uint64_t number; /* or count */
};

struct model {
	struct fake_ring f;
	struct coati_ring *ring;
	struct expected queue[QUEUE];
	uint64_t put, got, number;
	uint64_t start, records, lost, damaged, skipped, discarded;
};

static struct model m;

static uint64_t below(uint64_t n)
{
	return test_random() % n;
}

/* Counters that pass an edge while the test runs. */
static uint64_t near_an_edge(uint64_t size)
{
	return edges[below(NR(edges))] - 8 * below(size / 4);
}

/* As often small as large. */
static uint32_t some_size(uint64_t max)
{
	uint64_t size = 8 * (1 + below(UINT64_C(1) << below(14)));

	return (uint32_t)(size < max ? size : max);
}

static void model_open(enum coati_ring_kind kind, uint64_t size, uint64_t start)
{
	m.put = m.got = m.number = 0;
	m.start = start;
	m.records = m.lost = m.damaged = m.skipped = m.discarded = 0;
	fake_ring_init(&m.f, kind, size, start);
	m.ring = fake_ring_open(&m.f, 0);
}

static void model_close(void)
{
	struct coati_ring_stats stats = { .size = sizeof(stats) };

	coati_ring_get_stats(m.ring, &stats);
	CHECK_U64(stats.records, ==, m.records);
	CHECK_U64(stats.bytes, ==, m.f.head - m.start - m.skipped); /* headers and all */
	CHECK_U64(stats.lost, ==, m.lost);
	CHECK_U64(stats.damaged, ==, m.damaged);
	CHECK_U64(stats.skipped_bytes, ==, m.skipped);
	CHECK_U64(stats.discarded, ==, m.discarded);
	coati_ring_close(&m.ring);
	fake_ring_fini(&m.f);
}

static void expect(enum coati_item_kind kind, uint32_t size, uint64_t number)
{
	CHECK_U64(m.put - m.got, <, QUEUE);
	m.queue[m.put++ % QUEUE] = (struct expected){ kind, size, number };
}

static void check_item(const struct coati_ring_item *item)
{
	const struct expected *e = &m.queue[m.got++ % QUEUE];

	CHECK_INT(item->kind, ==, e->kind);
	if (e->kind == COATI_ITEM_LOSS) {
		CHECK_U64(item->count, ==, e->number);
		m.lost += e->number;
		return;
	}
	CHECK_U64(item->size, ==, e->size);
	if (e->size >= 16 || m.f.kind == COATI_RING_BPF)
		fake_ring_check(&m.f, item, e->size, e->number);
	m.records++;
}

/* Up to @max items, and no more than there are. */
static void read_some(uint64_t max)
{
	struct coati_ring_item item;

	for (uint64_t i = 0; i < max; i++) {
		int r = coati_ring_next(m.ring, &item);

		CHECK_INT(r, ==, m.got < m.put);
		if (!r)
			return;
		check_item(&item);
	}
}

static void read_all(void)
{
	read_some(UINT64_MAX);
	CHECK_U64(fake_ring_tail(&m.f), ==, m.f.head);
}

/* ---- forward ---- */

static void write_forward(void)
{
	uint32_t size = some_size(SIZE_MAX_);
	uint64_t lost = m.f.lost;

	if (!fake_ring_write(&m.f, FAKE_SAMPLE, size, m.number))
		return;
	if (lost)
		expect(COATI_ITEM_LOSS, 24, lost);
	expect(COATI_ITEM_RECORD, size, m.number++);
}

/* Behind a whole record a header that cannot be, and behind that bytes which nobody may take for
 * records. */
static void damage_forward(void)
{
	static const uint16_t wrong[] = { 0, 1, 7, 12, 65535 };
	uint64_t position, bytes = 8 * (1 + below(200));
	struct coati_ring_item item;
	uint16_t length = wrong[below(NR(wrong))];

	read_all();
	m.f.lost = 0;
	CHECK(fake_ring_write(&m.f, FAKE_SAMPLE, 64, m.number));
	expect(COATI_ITEM_RECORD, 64, m.number++);
	position = m.f.head;
	/* the least that is more than there is */
	if (below(2))
		length = (uint16_t)(bytes + 48 + 8);
	fake_ring_write_header(&m.f, FAKE_SAMPLE, length, bytes);
	CHECK(fake_ring_write(&m.f, FAKE_SAMPLE, 48, 0));
	read_some(1);
	CHECK_INT(coati_ring_next(m.ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
	CHECK_U64(item.position, ==, position);
	CHECK_U64(item.skipped, ==, m.f.head - position);
	m.damaged++;
	m.skipped += item.skipped;
}

TEST_LIMIT(forward_rings_deliver_what_the_model_says, 60)
{
	for (unsigned int round = test_rounds(test_slow() ? 20 : 60); round; round--) {
		uint64_t size = ring_sizes[below(NR(ring_sizes))];

		model_open(COATI_RING_FORWARD, size, near_an_edge(size));
		for (int step = 0; step < NR_STEPS; step++) {
			for (uint64_t i = below(30); i; i--)
				write_forward();
			if (below(20) == 0)
				damage_forward();
			read_some(below(40));
		}
		read_all();
		model_close();
	}
}

/* ---- BPF ---- */

static void write_bpf(void)
{
	uint32_t size = some_size(SIZE_MAX_) - (uint32_t)below(8);
	bool discard = below(4) == 0;
	uint32_t *header = fake_ring_reserve(&m.f, size, m.number);

	if (!header)
		return;
	fake_ring_commit(header, discard);
	m.discarded += discard;
	if (!discard)
		expect(COATI_ITEM_RECORD, size, m.number);
	m.number++;
}

/* A length that reaches past the producer. */
static void damage_bpf(void)
{
	struct coati_ring_item item;
	uint32_t *header;

	read_all();
	header = fake_ring_reserve(&m.f, 64, 0);
	CHECK(header);
	__atomic_store_n(header, 72 + 8 * (uint32_t)below(1000), __ATOMIC_RELEASE);
	CHECK_INT(coati_ring_next(m.ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_DAMAGE);
	CHECK_U64(item.skipped, ==, 72);
	m.damaged++;
	m.skipped += 72;
}

TEST_LIMIT(bpf_rings_deliver_what_the_model_says, 60)
{
	for (unsigned int round = test_rounds(test_slow() ? 20 : 60); round; round--) {
		uint64_t size = ring_sizes[below(NR(ring_sizes))];

		model_open(COATI_RING_BPF, size, near_an_edge(size));
		for (int step = 0; step < NR_STEPS; step++) {
			for (uint64_t i = below(30); i; i--)
				write_bpf();
			if (below(20) == 0)
				damage_bpf();
			read_some(below(40));
		}
		read_all();
		model_close();
	}
}

/* ---- backward ---- */

/* The snapshot goes down from the newest; what lies within @size of the head, and is newer than the
 * last snapshot, is there. */
static void check_snapshot(uint64_t *ret_seen, const uint32_t *sizes)
{
	uint64_t number = m.number, bytes = 0;
	bool loss = false;
	struct coati_ring_item item;

	CHECK_OK(coati_ring_snapshot(m.ring, 1, NULL));
	while (coati_ring_next(m.ring, &item) == 1) {
		CHECK(!loss);
		loss = item.kind == COATI_ITEM_LOSS;
		if (loss)
			continue;
		CHECK_U64(number, >, *ret_seen);
		number--;
		fake_ring_check(&m.f, &item, sizes[number % QUEUE], number);
		bytes += item.size;
		CHECK_U64(bytes, <=, m.f.size);
	}
	/* it ended where it had to: at the last snapshot, or where the next one does not fit */
	CHECK_INT(loss, ==, number > *ret_seen);
	if (loss)
		CHECK_U64(bytes + sizes[(number - 1) % QUEUE], >, m.f.size);
	*ret_seen = m.number;
}

TEST_LIMIT(backward_rings_deliver_what_the_model_says, 60)
{
	static uint32_t sizes[QUEUE];
	struct coati_ring_item item;

	for (unsigned int round = test_rounds(test_slow() ? 15 : 40); round; round--) {
		uint64_t size = ring_sizes[below(NR(ring_sizes))], seen = 0;
		uint64_t max = size < SIZE_MAX_ ? size : SIZE_MAX_;

		model_open(COATI_RING_BACKWARD, size, edges[below(NR(edges))] + 8 * below(size));
		/* what a ring that does not begin at 0 had before is unknown, and said once */
		CHECK_OK(coati_ring_snapshot(m.ring, 1, NULL));
		while (coati_ring_next(m.ring, &item) == 1)
			CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
		for (int step = 0; step < NR_STEPS; step++) {
			for (uint64_t i = below(30); i; i--) {
				uint32_t one = some_size(max - 8) + 8;

				sizes[m.number % QUEUE] = one;
				CHECK(fake_ring_write(&m.f, FAKE_SAMPLE, one, m.number++));
			}
			if (below(3) == 0)
				check_snapshot(&seen, sizes);
		}
		coati_ring_close(&m.ring);
		fake_ring_fini(&m.f);
	}
}

/* ---- every size, wrapped at every word ---- */

static void one_wrapped(uint32_t size, uint64_t before)
{
	uint64_t bytes = size < PAGE / 2 ? PAGE : 32 * PAGE;

	model_open(COATI_RING_FORWARD, bytes, 0 - before); /* passes 2^64 as well */
	CHECK(fake_ring_write(&m.f, FAKE_SAMPLE, size, size));
	expect(COATI_ITEM_RECORD, size, size);
	read_all();
	model_close();
}

/* Words of all sizes times all offsets are more than a test can do: each size gets its first, its
 * last and a random one, and some sizes all of them. */
TEST_LIMIT(ring_joins_records_of_every_size_wherever_they_wrap, 120)
{
	uint32_t step = getenv("COATI_SOAK") ? 8 : 8 * 13;

	for (uint32_t size = 16; size <= SIZE_MAX_; size += size < 1024 ? 8 : step) {
		one_wrapped(size, 8);
		one_wrapped(size, size - 8);
		one_wrapped(size, 8 * (1 + below(size / 8 - 1)));
	}
	for (uint64_t before = 8; before < SIZE_MAX_; before += 8 * step)
		one_wrapped(SIZE_MAX_, before);
	for (uint32_t size = 16; size <= 512; size += 8)
		for (uint64_t before = 8; before < size; before += 8)
			one_wrapped(size, before);
}
