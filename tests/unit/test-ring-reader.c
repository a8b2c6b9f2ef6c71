/* SPDX-License-Identifier: MIT */
/* Readers over rings in memory: rounds, deadlines, flush, wake, close, the end, losses, the
 * merge. */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <coati/ring.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/fake-ring.h"
#include "ring/reader.h"
#include "ring/ring.h"
#include "unit/reader-rig.h"

TEST(reader_looks_at_all_rings_after_any_wake)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, rig_from_now(FAR)));
	rig_put(&rig, 0, 10);
	rig_put(&rig, 2, 12);
	rig_ring(&rig, 1);
	rig_expect(&rig, 0, 10);
	rig_expect(&rig, 2, 12);
	rig_close(&rig);
}

TEST(reader_deadline_in_the_past_never_waits_and_is_told_each_time)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 1));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_put(&rig, 1, 5);
	rig_expect(&rig, 1, 5);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

TEST(reader_delivers_what_is_below_the_mark_at_the_deadline_and_later_data_after_the_report)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 1));
	rig_put(&rig, 0, 1);
	rig_put(&rig, 1, 2);
	rig_expect(&rig, 0, 1);
	rig_put(&rig, 0, 3); /* after the snapshot that the deadline took */
	rig_put(&rig, 2, 4);
	rig_expect(&rig, 1, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_expect(&rig, 0, 3);
	rig_expect(&rig, 2, 4);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

TEST(reader_deadline_is_met_to_the_nanosecond_and_not_early_C4)
{
	for (int old_kernel = 0; old_kernel <= 1; old_kernel++) {
		struct coati_ring_item item;
		struct rig rig;

		rig_open(&rig, COATI_RING_FORWARD, NULL);
		rig.rd->no_pwait2 = old_kernel != 0;
		for (uint64_t i = 1; i <= 20; i++) {
			int64_t deadline = rig_from_now(i * 31 * NSEC_PER_USEC);

			CHECK_OK(coati_reader_set_deadline(rig.rd, deadline));
			CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
			CHECK_U64(now_ns(), >=, deadline);
		}
		rig_close(&rig);
	}
}

TEST(reader_takes_huge_and_no_deadlines)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, INT64_MAX));
	rig_put(&rig, 0, 1);
	rig_ring(&rig, 0);
	rig_expect(&rig, 0, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, -1));
	rig_put(&rig, 0, 2);
	rig_ring(&rig, 0);
	rig_expect(&rig, 0, 2);
	CHECK_ERR(coati_reader_set_deadline(rig.rd, -2), -EINVAL);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

/* ---- the end ---- */

TEST(reader_with_no_rings_is_at_its_end)
{
	struct coati_reader *rd = NULL;
	struct coati_ring_item item;

	CHECK_OK(coati_reader_new(NULL, &rd, NULL));
	CHECK_INT(coati_reader_next(rd, &item), ==, 0);
	CHECK_INT(coati_reader_wait(rd), ==, 0);
	coati_reader_free(&rd);
}

TEST(reader_end_comes_after_the_data_and_once_per_ring)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	rig_put(&rig, 1, 1);
	CHECK_OK(coati_reader_end(rig.rd, 1));
	rig_put(&rig, 1, 2);
	rig_expect(&rig, 1, 1);
	rig_expect(&rig, 1, 2);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	CHECK_INT(item.key, ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_OK(coati_reader_end(rig.rd, 0));
	CHECK_OK(coati_reader_end(rig.rd, 2));
	for (int i = 0; i < 2; i++) {
		CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
		CHECK_INT(item.kind, ==, COATI_ITEM_END);
	}
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 0);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 0);
	CHECK_ERR(coati_reader_end(rig.rd, 99), -ENOENT);
	rig_close(&rig);
}

TEST(reader_remove_counts_what_it_drops)
{
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	for (uint64_t i = 0; i < 3; i++)
		rig_put(&rig, 0, i);
	rig_put(&rig, 2, 9);
	rig_ring(&rig, 0);
	rig_expect(&rig, 0, 0);
	CHECK_OK(coati_reader_remove(rig.rd, 0));
	CHECK_ERR(coati_reader_remove(rig.rd, 0), -ENOENT);
	CHECK_U64(coati_reader_count(rig.rd), ==, 2);
	CHECK(!coati_reader_ring(rig.rd, 2));
	rig_expect(&rig, 2, 9);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.records, ==, 2);
	CHECK_U64(stats.skipped_bytes, ==, 128);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

/* ---- drain, wait, foreign loops ---- */

struct drained {
	uint64_t n, stop_at;
};

static int count_one(void *ctx, const struct coati_ring_item *item)
{
	struct drained *d = ctx;

	CHECK_INT(item->kind, ==, COATI_ITEM_RECORD);
	return ++d->n == d->stop_at;
}

TEST(reader_drain_stops_where_it_is_told_and_goes_on_there)
{
	struct drained d = { 0, 0 };
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	for (uint64_t i = 0; i < 30; i++)
		rig_put(&rig, (int)(i % NR_RINGS), i);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 7), ==, 7);
	d.stop_at = d.n + 6;
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 6);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 17);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 0);
	CHECK_U64(d.n, ==, 30);
	CHECK_U64(fake_ring_tail(&rig.f[2]), ==, rig.f[2].head);
	rig_close(&rig);
}

TEST(reader_wait_reports_data_deadline_flush_wake_and_the_end)
{
	struct drained d = { 0, 0 };
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	rig_put(&rig, 1, 1);
	rig_ring(&rig, 1);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, rig_from_now(NSEC_PER_MSEC)));
	CHECK_ERR(coati_reader_wait(rig.rd), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, -1));
	coati_reader_flush(rig.rd);
	coati_reader_wake(rig.rd);
	CHECK_ERR(coati_reader_wait(rig.rd), -EINTR);
	CHECK_ERR(coati_reader_wait(rig.rd), -ECANCELED);
	for (int i = 0; i < NR_RINGS; i++)
		CHECK_OK(coati_reader_end(rig.rd, i));
	CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 0);
	rig_close(&rig);
}

static int readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_OK(poll(&p, 1, timeout_ms));
	return (p.revents & POLLIN) != 0;
}

TEST(reader_fd_polls_readable_for_data_deadline_flush_and_wake_C12)
{
	struct coati_ring_item item;
	struct rig rig;
	int fd;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	fd = coati_reader_fd(rig.rd);
	CHECK_OK(fd);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	rig_put(&rig, 1, 1);
	rig_ring(&rig, 1);
	CHECK_INT(readable(fd, 1000), ==, 1);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	coati_reader_wake(rig.rd);
	CHECK_INT(readable(fd, 1000), ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EINTR);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, rig_from_now(NSEC_PER_MSEC)));
	CHECK_INT(readable(fd, 10000), ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, -1));
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	rig_close(&rig);
}

TEST(reader_try_sees_data_that_came_after_its_round)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	for (uint64_t i = 0; i < 5; i++) {
		rig_put(&rig, 0, i);
		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		fake_ring_check(&rig.f[0], &item, 64, i);
	}
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

TEST(reader_of_backward_rings_delivers_snapshots)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_BACKWARD, NULL);
	for (uint64_t i = 0; i < 4; i++)
		rig_put(&rig, 1, i);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_OK(coati_ring_snapshot(coati_reader_ring(rig.rd, 1), 1, NULL));
	for (uint64_t i = 4; i-- > 0;) {
		CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
		fake_ring_check(&rig.f[1], &item, 64, i);
	}
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

TEST(reader_of_bpf_rings_does_not_sleep_over_data_without_a_wake)
{
	struct rig rig;

	rig_open(&rig, COATI_RING_BPF, NULL);
	for (uint64_t i = 0; i < 50; i++) {
		rig_put(&rig, 2, i);
		rig_expect(&rig, 2, i);
	}
	rig_close(&rig);
}

TEST(reader_refuses_a_key_twice_and_options_that_it_does_not_know)
{
	struct coati_reader_opts o = { .size = sizeof(o), .flags = 1 };
	struct coati_reader *rd = NULL;
	struct coati_error err;
	struct rig rig;
	struct coati_ring *ring;

	CHECK_ERR(coati_reader_new(&o, &rd, &err), -EINVAL);
	o = (struct coati_reader_opts){ .size = sizeof(o), .merge_delay_ns = 1 };
	CHECK_ERR(coati_reader_new(&o, &rd, &err), -EINVAL);
	CHECK_HAS(err.text, "time function");
	o.size = 3;
	CHECK_ERR(coati_reader_new(&o, &rd, &err), -EINVAL);
	CHECK(!rd);
	rig_open(&rig, COATI_RING_FORWARD, NULL);
	ring = fake_ring_open(&rig.f[0], 0);
	ring->key = 1;
	CHECK_ERR(coati_reader_adopt(rig.rd, ring, -1, &(struct coati_reader_ring_opts){ 0 }, &err),
		  -EEXIST);
	coati_ring_close(&ring);
	rig_close(&rig);
}

TEST(reader_survives_every_failing_allocation)
{
	struct coati_reader_opts o = { .size = sizeof(o) };

	for (uint64_t n = 0;; n++) {
		struct coati_reader *rd = NULL;
		struct fake_ring f;
		struct coati_ring *ring;
		int r;

		fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
		ring = fake_ring_open(&f, 0);
		coati_alloc_fail_after(n);
		r = coati_reader_new(&o, &rd, NULL);
		if (r >= 0)
			r = coati_reader_adopt(rd, ring, -1, &(struct coati_reader_ring_opts){ 0 },
					       NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0)
			coati_ring_close(&ring);
		coati_reader_free(&rd);
		fake_ring_fini(&f);
		if (r >= 0)
			break;
		CHECK_ERR(r, -ENOMEM);
	}
}

/* ---- looks without a wake ---- */

TEST(reader_looks_by_itself_when_it_was_told_how_often)
{
	struct coati_reader_opts o = { .size = sizeof(o), .look_ns = NSEC_PER_MSEC };
	struct drained d = { 0, 0 };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, &o);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, rig_from_now(FAR)));
	for (uint64_t i = 0; i < 3; i++) {
		rig_put(&rig, 1, i);
		rig_expect(&rig, 1, i);
	}
	rig_put(&rig, 2, 7);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 1);
	rig_close(&rig);
}

TEST(reader_wait_survives_its_own_ticks_until_the_deadline)
{
	struct coati_reader_opts o = { .size = sizeof(o), .look_ns = NSEC_PER_MSEC };
	int64_t deadline;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, &o);
	deadline = rig_from_now(LITTLE);
	CHECK_OK(coati_reader_set_deadline(rig.rd, deadline));
	CHECK_ERR(coati_reader_wait(rig.rd), -ETIMEDOUT);
	CHECK_U64(now_ns(), >=, deadline);
	rig_close(&rig);
}
