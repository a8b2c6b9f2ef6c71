/* SPDX-License-Identifier: MIT */
/* Losses that the events' own counters know: the read format, played from a file, and the balance
 * of a ring. */
#include "lib/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "lib/fake-ring.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define LOST COATI_READ_LOST

/* A descriptor whose read gives these words. */
static int file_of(const uint64_t *words, size_t nr)
{
	int fd = memfd_create("counter", MFD_CLOEXEC);

	CHECK_OK(fd);
	CHECK_INT(pwrite(fd, words, nr * 8, 0), ==, nr * 8);
	return fd;
}

/* The lost count in a read of @nr words, -1 when there is none. */
static int64_t read_lost(uint64_t format, uint64_t id, const uint64_t *words, size_t nr)
{
	struct reader_member m = { .read_format = format, .id = id, .fd = file_of(words, nr) };
	uint64_t lost = 4711;
	int r = coati_member_read_lost(&m, &lost);

	close(m.fd);
	if (r == 0)
		CHECK_U64(lost, ==, 4711);
	else
		CHECK_INT(r, ==, 1);
	return r ? (int64_t)lost : -1;
}

TEST(loss_counter_of_one_event_is_the_last_word)
{
	const uint64_t words[] = { 10, 20, 30, 40, 50 };

	CHECK_INT(read_lost(LOST, 0, words, 2), ==, 20);
	CHECK_INT(read_lost(LOST | COATI_READ_ID, 7, words, 3), ==, 30);
	CHECK_INT(read_lost(LOST | COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID, 7,
			    words, 5),
		  ==, 50);
	CHECK_INT(read_lost(LOST, 0, words, 1), ==, -1);
	CHECK_INT(read_lost(LOST, 0, words, 0), ==, -1);
	CHECK_INT(read_lost(COATI_READ_ID, 0, words, 5), ==, -1);
}

TEST(loss_counter_of_a_group_is_that_of_the_member_with_the_id)
{
	const uint64_t ids[] = { 2, 100, 71, 1, 200, 72, 2 };
	const uint64_t times[] = { 2, 8, 9, 100, 71, 1, 200, 72, 2 };
	const uint64_t bare[] = { 2, 100, 1, 200, 2 };
	uint64_t group = LOST | COATI_READ_GROUP;

	CHECK_INT(read_lost(group | COATI_READ_ID, 71, ids, 7), ==, 1);
	CHECK_INT(read_lost(group | COATI_READ_ID, 72, ids, 7), ==, 2);
	CHECK_INT(read_lost(group | COATI_READ_ID, 73, ids, 7), ==, -1);
	CHECK_INT(read_lost(group | COATI_READ_ID, 72, ids, 6), ==, -1);
	CHECK_INT(read_lost(group | COATI_READ_ID, 0, ids, 7), ==, 1);
	CHECK_INT(read_lost(group | COATI_READ_ID | COATI_READ_ENABLED, 72,
			    (const uint64_t[]){ 1, 8, 100, 72, 6 }, 5),
		  ==, 6);
	CHECK_INT(read_lost(group | COATI_READ_ID | COATI_READ_ENABLED | COATI_READ_RUNNING, 72,
			    times, 9),
		  ==, 2);
	CHECK_INT(read_lost(group | COATI_READ_ID | COATI_READ_RUNNING, 71,
			    (const uint64_t[]){ 1, 9, 100, 71, 5 }, 5),
		  ==, 5);
	CHECK_INT(read_lost(group, 99, bare, 5), ==, 1); /* without ids: the leader's */
	CHECK_INT(read_lost(group, 99, bare, 3), ==, 1);
	CHECK_INT(read_lost(group, 99, bare, 2), ==, -1);
	CHECK_INT(read_lost(group, 99, bare, 0), ==, -1);
}

TEST(loss_counter_may_be_descriptor_0_and_no_negative_one)
{
	const uint64_t words[] = { 10, 20 };
	struct reader_member m = { .read_format = LOST, .fd = 0 };
	uint64_t lost = 0;

	CHECK_INT(dup2(file_of(words, 2), 0), ==, 0);
	CHECK_INT(coati_member_read_lost(&m, &lost), ==, 1);
	CHECK_U64(lost, ==, 20);
	m.fd = -1;
	CHECK_INT(coati_member_read_lost(&m, &lost), ==, 0);
}

TEST(loss_counter_of_a_group_without_memory_is_not_known)
{
	const uint64_t bare[] = { 2, 100, 1, 200, 2 };

	coati_alloc_fail_after(0);
	CHECK_INT(read_lost(LOST | COATI_READ_GROUP, 0, bare, 5), ==, -1);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_INT(read_lost(LOST | COATI_READ_GROUP, 0, bare, 5), ==, 1);
}

/* ---- the balance ---- */

#define MEMBERS 2

struct scales {
	struct fake_ring f;
	struct reader_ring rr;
	struct reader_member members[MEMBERS];
};

static void scales_open(struct scales *s, uint32_t nr)
{
	*s = (struct scales){ 0 };
	fake_ring_init(&s->f, COATI_RING_FORWARD, 4096, 0);
	s->rr.ring = fake_ring_open(&s->f, 0);
	s->rr.nr_members = nr;
	s->rr.members = s->members;
	for (uint32_t i = 0; i < nr; i++)
		s->members[i] =
			(struct reader_member){ .next = i + 1 < nr ? &s->members[i + 1] : NULL,
						.fd = memfd_create("counter", MFD_CLOEXEC),
						.read_format = LOST,
						.id = 70 + i };
}

static void scales_close(struct scales *s)
{
	coati_ring_close(&s->rr.ring);
	fake_ring_fini(&s->f);
	for (uint32_t i = 0; i < s->rr.nr_members; i++)
		close(s->members[i].fd);
}

/* The counter of a member says this from now on. */
static void counts(struct scales *s, uint32_t i, uint64_t lost)
{
	const uint64_t words[] = { 1, lost };

	CHECK_INT(pwrite(s->members[i].fd, words, sizeof(words), 0), ==, sizeof(words));
}

/* What settling announces, 0: nothing. */
static uint64_t settle(struct scales *s, struct coati_ring_item *item)
{
	for (uint32_t i = 0; i < s->rr.nr_members; i++)
		CHECK_INT(lseek(s->members[i].fd, 0, SEEK_SET), ==, 0);
	s->rr.settle = true;
	*item = (struct coati_ring_item){ 0 };
	if (!coati_reader_settle(NULL, &s->rr, item))
		return 0;
	CHECK(!s->rr.settle);
	CHECK_INT(item->kind, ==, COATI_ITEM_LOSS);
	CHECK(item->flags & COATI_ITEM_BALANCE);
	return item->count;
}

TEST(balance_announces_each_lost_record_once)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 2);
	s.members[0].lost_before = 5; /* before we came */
	counts(&s, 0, 5);
	counts(&s, 1, 0);
	CHECK_U64(settle(&s, &item), ==, 0);
	counts(&s, 0, 8);
	counts(&s, 1, 4);
	s.rr.last_time = 777;
	CHECK_U64(settle(&s, &item), ==, 3 + 4);
	CHECK_U64(item.id, ==, 0); /* which of the two is not known */
	CHECK_U64(item.first_time, ==, 777);
	CHECK_U64(s.rr.ring->stats.lost, ==, 7);
	CHECK_U64(s.rr.ring->announced, ==, 7);
	CHECK_U64(s.rr.ring->credit, ==, 7);
	CHECK_U64(settle(&s, &item), ==, 0);
	counts(&s, 0, 9);
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK_U64(s.rr.ring->stats.lost, ==, 8);
	scales_close(&s);
}

TEST(balance_of_one_event_has_its_id)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 6);
	CHECK_U64(settle(&s, &item), ==, 6);
	CHECK_U64(item.id, ==, 70);
	scales_close(&s);
}

TEST(balance_stays_when_a_counter_cannot_be_read_any_more)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 6);
	CHECK_U64(settle(&s, &item), ==, 6);
	CHECK_OK(ftruncate(s.members[0].fd, 0));
	CHECK_U64(settle(&s, &item), ==, 0);
	CHECK_U64(s.members[0].lost, ==, 6);
	scales_close(&s);
}

TEST(balance_that_is_ahead_of_the_counters_announces_nothing)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 6);
	s.rr.ring->announced = 7; /* told by LOST records, which count other kinds of records too */
	CHECK_U64(settle(&s, &item), ==, 0);
	CHECK_U64(s.rr.ring->stats.lost, ==, 0);
	s.rr.ring->announced = 0;
	counts(&s, 0, INT64_MAX);
	CHECK_U64(settle(&s, &item), ==, INT64_MAX);
	scales_close(&s);
}

/* A record that is larger than the ring is lost though the ring is empty, before and after. */
TEST(balance_tells_records_that_are_too_big_from_those_that_found_no_room)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 1);
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK(!(item.flags & COATI_ITEM_TOO_BIG)); /* whether it was empty before is not known */
	counts(&s, 0, 3);
	CHECK_U64(settle(&s, &item), ==, 2);
	CHECK(item.flags & COATI_ITEM_TOO_BIG);
	counts(&s, 0, 4);
	s.rr.ring->was_paused = true; /* a ring that is paused loses everything */
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK(!(item.flags & COATI_ITEM_TOO_BIG));
	/* something is there that was not read */
	CHECK(fake_ring_write(&s.f, FAKE_SAMPLE, 64, 1));
	counts(&s, 0, 5);
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK(!(item.flags & COATI_ITEM_TOO_BIG));
	/* and has been read since: it was not empty before */
	CHECK(coati_ring_look(s.rr.ring));
	CHECK_INT(ring_take(s.rr.ring, &item), ==, 1);
	coati_ring_publish(s.rr.ring);
	counts(&s, 0, 6);
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK(!(item.flags & COATI_ITEM_TOO_BIG));
	counts(&s, 0, 7);
	CHECK_U64(settle(&s, &item), ==, 1);
	CHECK(item.flags & COATI_ITEM_TOO_BIG);
	scales_close(&s);
}

TEST(balance_of_a_ring_that_is_read_as_bytes_is_not_asked_for)
{
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 6);
	CHECK(fake_ring_write(&s.f, FAKE_SAMPLE, 64, 1));
	CHECK(coati_ring_look(s.rr.ring));
	coati_ring_consume(s.rr.ring, 64);
	CHECK_U64(settle(&s, &item), ==, 0);
	CHECK_U64(s.rr.ring->stats.lost, ==, 0);
	scales_close(&s);
}

TEST(balance_is_settled_against_the_record_that_tells_the_same_later)
{
	const uint64_t told[] = { (UINT64_C(24) << 48) | 2, 70, 9 };
	struct coati_ring_item item;
	struct scales s;

	scales_open(&s, 1);
	counts(&s, 0, 6);
	CHECK_U64(settle(&s, &item), ==, 6);
	fake_ring_write_raw(&s.f, told, sizeof(told)); /* LOST: nine, six of which are known */
	CHECK(coati_ring_look(s.rr.ring));
	CHECK_INT(ring_take(s.rr.ring, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 3);
	CHECK_U64(item.id, ==, 70);
	CHECK_U64(s.rr.ring->stats.lost, ==, 9);
	CHECK_U64(s.rr.ring->credit, ==, 0);
	counts(&s, 0, 10);
	CHECK_U64(settle(&s, &item), ==, 1);
	scales_close(&s);
}

TEST(ring_consume_takes_whole_words_and_no_more_than_there_is)
{
	struct fake_ring f;
	struct coati_ring *ring;

	fake_ring_init(&f, COATI_RING_FORWARD, 4096, 0);
	ring = fake_ring_open(&f, 0);
	CHECK(fake_ring_write(&f, FAKE_SAMPLE, 64, 1));
	CHECK(coati_ring_look(ring));
	coati_ring_consume(ring, 9);
	CHECK_U64(fake_ring_tail(&f), ==, 8);
	coati_ring_consume(ring, 7);
	CHECK_U64(fake_ring_tail(&f), ==, 8);
	coati_ring_consume(ring, 57);
	CHECK_U64(fake_ring_tail(&f), ==, 64);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}
