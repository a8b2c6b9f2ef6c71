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

#define PAGE	 UINT64_C(4096)
#define FAR	 (60 * NSEC_PER_SEC)
#define LITTLE	 (20 * NSEC_PER_MSEC)
#define NR_RINGS 3

/* A reader over rings in memory, each with an eventfd in place of the kernel's wake-up. */
struct rig {
	struct coati_reader *rd;
	struct fake_ring f[NR_RINGS];
	int bell[NR_RINGS];
};

static void rig_open(struct rig *rig, enum coati_ring_kind kind,
		     const struct coati_reader_opts *opts)
{
	CHECK_OK(coati_reader_new(opts, &rig->rd, NULL));
	for (int i = 0; i < NR_RINGS; i++) {
		struct coati_reader_ring_opts o = { .size = sizeof(o) };
		struct coati_ring *ring = NULL;
		struct coati_ring_opts ro = { .size = sizeof(ro), .kind = kind, .key = i };

		fake_ring_init(&rig->f[i], kind, 2 * PAGE, 0);
		CHECK_OK(coati_ring_from_memory(rig->f[i].memory, rig->f[i].bytes, &ro, &ring,
						NULL));
		rig->bell[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		CHECK_OK(coati_reader_adopt(rig->rd, ring, rig->bell[i], &o, NULL));
	}
}

static void rig_close(struct rig *rig)
{
	coati_reader_close(rig->rd);
	coati_reader_free(&rig->rd);
	for (int i = 0; i < NR_RINGS; i++) {
		close(rig->bell[i]);
		fake_ring_fini(&rig->f[i]);
	}
}

static void put(struct rig *rig, int i, uint64_t number)
{
	CHECK(fake_ring_write(&rig->f[i], FAKE_SAMPLE, 64, number));
}

static void ring_bell(struct rig *rig, int i)
{
	CHECK_INT(eventfd_write(rig->bell[i], 1), ==, 0);
}

static void expect(struct rig *rig, int key, uint64_t number)
{
	struct coati_ring_item item;

	CHECK_INT(coati_reader_next(rig->rd, &item), ==, 1);
	CHECK_INT(item.key, ==, key);
	fake_ring_check(&rig->f[key], &item, 64, number);
}

static int64_t from_now(uint64_t ns)
{
	return (int64_t)(now_ns() + ns);
}

TEST(reader_looks_at_all_rings_after_any_wake)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, from_now(FAR)));
	put(&rig, 0, 10);
	put(&rig, 2, 12);
	ring_bell(&rig, 1);
	expect(&rig, 0, 10);
	expect(&rig, 2, 12);
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
	put(&rig, 1, 5);
	expect(&rig, 1, 5);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

TEST(reader_delivers_what_is_below_the_mark_at_the_deadline_and_later_data_after_the_report)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 1));
	put(&rig, 0, 1);
	put(&rig, 1, 2);
	expect(&rig, 0, 1);
	put(&rig, 0, 3); /* after the snapshot that the deadline took */
	put(&rig, 2, 4);
	expect(&rig, 1, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	expect(&rig, 0, 3);
	expect(&rig, 2, 4);
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
			int64_t deadline = from_now(i * 31 * NSEC_PER_USEC);

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
	put(&rig, 0, 1);
	ring_bell(&rig, 0);
	expect(&rig, 0, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, -1));
	put(&rig, 0, 2);
	ring_bell(&rig, 0);
	expect(&rig, 0, 2);
	CHECK_ERR(coati_reader_set_deadline(rig.rd, -2), -EINVAL);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

/* ---- other threads ---- */

enum act { ACT_DEADLINE, ACT_WAKE, ACT_FLUSH, ACT_CLOSE, ACT_DATA };

struct actor {
	struct rig *rig;
	enum act act;
};

/* Until the reader is in its wait; what then happens is what is tested. */
static void until_waiting(struct coati_reader *rd)
{
	while (!atomic_load(&rd->waiting))
		usleep(100);
	usleep(2000);
}

static void *act(void *arg)
{
	struct actor *a = arg;

	until_waiting(a->rig->rd);
	if (a->act == ACT_DEADLINE)
		CHECK_OK(coati_reader_set_deadline(a->rig->rd, from_now(1)));
	if (a->act == ACT_WAKE)
		coati_reader_wake(a->rig->rd);
	if (a->act == ACT_FLUSH) {
		put(a->rig, 1, 42);
		/* a second one may come during the first, and be told too */
		coati_reader_flush(a->rig->rd);
	}
	if (a->act == ACT_CLOSE)
		coati_reader_close(a->rig->rd);
	if (a->act == ACT_DATA) {
		put(a->rig, 1, 42);
		ring_bell(a->rig, 1);
	}
	return NULL;
}

static pthread_t start(struct actor *a)
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, act, a), ==, 0);
	return thread;
}

/* cilium/ebpf cannot shorten a read that is under way (C5). */
TEST(reader_that_waits_takes_up_a_new_deadline_at_once_C5)
{
	for (int old_kernel = 0; old_kernel <= 1; old_kernel++) {
		struct coati_ring_item item;
		struct rig rig;
		struct actor a = { &rig, ACT_DEADLINE };
		pthread_t thread;

		rig_open(&rig, COATI_RING_FORWARD, NULL);
		rig.rd->no_pwait2 = old_kernel != 0;
		CHECK_OK(coati_reader_set_deadline(rig.rd, from_now(FAR)));
		thread = start(&a);
		CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
		pthread_join(thread, NULL);
		rig_close(&rig);
	}
}

TEST(reader_that_waits_is_woken_by_data_wake_flush_and_close)
{
	static const struct {
		enum act act;
		int first, second;
	} rows[] = { { ACT_DATA, 1, -EAGAIN },
		     { ACT_WAKE, -EINTR, -EAGAIN },
		     { ACT_FLUSH, 1, -ECANCELED },
		     { ACT_CLOSE, -EBADF, -EBADF } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct coati_ring_item item;
		struct rig rig;
		struct actor a = { &rig, rows[i].act };
		pthread_t thread;

		rig_open(&rig, COATI_RING_FORWARD, NULL);
		thread = start(&a);
		CHECK_ERR(coati_reader_next(rig.rd, &item), rows[i].first);
		pthread_join(thread, NULL);
		CHECK_ERR(coati_reader_try(rig.rd, &item), rows[i].second);
		CHECK_ERR(coati_reader_try(rig.rd, &item),
			  rows[i].act == ACT_CLOSE ? -EBADF : -EAGAIN);
		rig_close(&rig);
	}
}

TEST(reader_flush_delivers_first_and_is_told_once)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	put(&rig, 0, 1);
	put(&rig, 1, 2);
	coati_reader_flush(rig.rd);
	coati_reader_flush(rig.rd);
	expect(&rig, 0, 1);
	put(&rig, 2, 3);
	expect(&rig, 1, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	fake_ring_check(&rig.f[2], &item, 64, 3);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	rig_close(&rig);
}

TEST(reader_flush_is_reported_before_data_that_came_after_it)
{
	static const enum coati_ring_kind kinds[] = { COATI_RING_FORWARD, COATI_RING_BPF };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct coati_ring_item item;
		struct rig rig;

		rig_open(&rig, kinds[i], NULL);
		put(&rig, 0, 1);
		put(&rig, 1, 2);
		coati_reader_flush(rig.rd);
		put(&rig, 0, 3);
		put(&rig, 2, 4);
		ring_bell(&rig, 0);
		expect(&rig, 0, 1);
		expect(&rig, 1, 2);
		CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
		expect(&rig, 0, 3);
		expect(&rig, 2, 4);
		CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
		rig_close(&rig);
	}
}

/* A second one, while the first is delivered, has a report of its own. */
TEST(reader_flush_during_a_flush_is_reported_after_it)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	put(&rig, 0, 1);
	put(&rig, 1, 2);
	coati_reader_flush(rig.rd);
	expect(&rig, 0, 1);
	put(&rig, 2, 3);
	coati_reader_flush(rig.rd);
	put(&rig, 2, 4);
	expect(&rig, 1, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	expect(&rig, 2, 3);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	fake_ring_check(&rig.f[2], &item, 64, 4);
	rig_close(&rig);
}

/* The end of a ring comes behind all of its data, a flush in between or not. */
TEST(reader_flush_of_a_ring_that_ends_leaves_what_came_after_it_for_the_end)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	put(&rig, 1, 1);
	coati_reader_flush(rig.rd);
	put(&rig, 1, 2);
	for (int i = 0; i < NR_RINGS; i++)
		CHECK_OK(coati_reader_end(rig.rd, i));
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	expect(&rig, 1, 1);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.key, ==, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	expect(&rig, 1, 2);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 0);
	rig_close(&rig);
}

/* A snapshot of a ring that nobody wakes us for. */
TEST(reader_that_waits_delivers_each_snapshot)
{
	struct rig rig;

	rig_open(&rig, COATI_RING_BACKWARD, NULL);
	for (uint64_t i = 0; i < 3; i++) {
		put(&rig, 1, i);
		CHECK_OK(coati_ring_snapshot(coati_reader_ring(rig.rd, 1), 1, NULL));
		expect(&rig, 1, i);
	}
	rig_close(&rig);
}

struct patient {
	struct rig *rig;
	_Atomic bool flushed;
};

/* Reaches the reader in every way that is no wake of a ring, then flushes. */
static void *bother_then_flush(void *arg)
{
	struct patient *p = arg;

	for (int i = 0; i < 20; i++) {
		struct timespec ms = { 0, NSEC_PER_MSEC };

		nanosleep(&ms, NULL);
		CHECK_OK(coati_reader_set_deadline(p->rig->rd, from_now(FAR)));
	}
	atomic_store(&p->flushed, true);
	coati_reader_flush(p->rig->rd);
	return NULL;
}

TEST(reader_leaves_what_is_below_the_mark_where_it_is_until_a_flush)
{
	struct coati_ring_item item;
	struct patient p = { 0 };
	pthread_t thread;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	p.rig = &rig;
	put(&rig, 0, 1); /* before the first call: that is no wake either */
	coati_reader_wake(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EINTR);
	CHECK_INT(pthread_create(&thread, NULL, bother_then_flush, &p), ==, 0);
	expect(&rig, 0, 1);
	CHECK(atomic_load(&p.flushed));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	pthread_join(thread, NULL);
	rig_close(&rig);
}

TEST(reader_wake_comes_before_data_and_drains_nothing)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	put(&rig, 0, 1);
	coati_reader_wake(rig.rd);
	coati_reader_wake(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EINTR);
	CHECK_U64(coati_ring_unread_bytes(coati_reader_ring(rig.rd, 0)), ==, 64);
	ring_bell(&rig, 0);
	expect(&rig, 0, 1);
	rig_close(&rig);
}

/* Reading after close must not touch what is gone (C8). */
TEST(reader_is_closed_for_every_call_until_it_is_freed_C8)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	put(&rig, 0, 1);
	coati_reader_close(rig.rd);
	coati_reader_close(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EBADF);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EBADF);
	CHECK_ERR(coati_reader_wait(rig.rd), -EBADF);
	CHECK_ERR(coati_reader_drain(rig.rd, NULL, NULL, 0), -EBADF);
	CHECK_ERR(coati_reader_set_deadline(rig.rd, 0), -EBADF);
	CHECK_ERR(coati_reader_fd(rig.rd), -EBADF);
	CHECK_ERR(coati_reader_add(rig.rd, 0, NULL, NULL), -EBADF);
	rig_close(&rig);
	coati_reader_free(&rig.rd);
}

static volatile sig_atomic_t signals;

static void count_signal(int signal_number)
{
	signals = signals + 1;
}

/* go-perf starts its time anew after every signal (B9). */
TEST(reader_deadline_is_not_moved_by_a_storm_of_signals_B9)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct coati_ring_item item;
	timer_t timer;
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, 200000 }, { 0, 200000 } };
	struct rig rig;
	int64_t deadline;
	int interrupts = 0, r;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	CHECK_OK(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(timer_create(CLOCK_MONOTONIC, &how, &timer));
	CHECK_OK(timer_settime(timer, 0, &often, NULL));
	/* once is enough, but a busy machine may let no signal fall into a wait */
	for (int i = 0; i < 100 && !interrupts; i++) {
		deadline = from_now(LITTLE);
		CHECK_OK(coati_reader_set_deadline(rig.rd, deadline));
		while ((r = coati_reader_next(rig.rd, &item)) == -EINTR)
			CHECK(++interrupts < 100000);
		CHECK_ERR(r, -ETIMEDOUT);
		CHECK_U64(now_ns(), >=, deadline);
	}
	timer_delete(timer);
	rig_close(&rig);
	if (!signals)
		test_skip("no timer signals here (an emulator)");
	CHECK_INT(interrupts, >, 0);
}

#define DRIFT (40 * NSEC_PER_MSEC)

struct drifter {
	struct rig *rig;
	int64_t deadline;
};

static void sleep_until(int64_t ns)
{
	struct timespec at = { ns / (int64_t)NSEC_PER_SEC, ns % (int64_t)NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Wakes the reader for nothing shortly before the deadline, and has data half a deadline after
 * it. */
static void *wake_for_nothing(void *arg)
{
	struct drifter *d = arg;

	sleep_until(d->deadline - (int64_t)DRIFT / 5);
	CHECK_OK(coati_reader_set_deadline(d->rig->rd, d->deadline));
	sleep_until(d->deadline + (int64_t)DRIFT / 2);
	put(d->rig, 0, 1);
	ring_bell(d->rig, 0);
	return NULL;
}

/* The other half of B9: a wait that begins anew with all of its time ends after the data came,
 * every time; one that does not, only when this thread was not let run for so long. */
TEST(reader_deadline_is_not_moved_by_wakes_for_nothing_B9)
{
	for (int old_kernel = 0; old_kernel <= 1; old_kernel++) {
		bool met = false;

		for (int i = 0; i < 20 && !met; i++) {
			struct coati_ring_item item;
			struct rig rig;
			struct drifter d = { &rig, 0 };
			pthread_t thread;

			rig_open(&rig, COATI_RING_FORWARD, NULL);
			rig.rd->no_pwait2 = old_kernel != 0;
			d.deadline = from_now(DRIFT);
			CHECK_OK(coati_reader_set_deadline(rig.rd, d.deadline));
			CHECK_INT(pthread_create(&thread, NULL, wake_for_nothing, &d), ==, 0);
			met = coati_reader_next(rig.rd, &item) == -ETIMEDOUT;
			pthread_join(thread, NULL);
			rig_close(&rig);
		}
		CHECK(met);
	}
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
	put(&rig, 1, 1);
	CHECK_OK(coati_reader_end(rig.rd, 1));
	put(&rig, 1, 2);
	expect(&rig, 1, 1);
	expect(&rig, 1, 2);
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
		put(&rig, 0, i);
	put(&rig, 2, 9);
	ring_bell(&rig, 0);
	expect(&rig, 0, 0);
	CHECK_OK(coati_reader_remove(rig.rd, 0));
	CHECK_ERR(coati_reader_remove(rig.rd, 0), -ENOENT);
	CHECK_U64(coati_reader_count(rig.rd), ==, 2);
	CHECK(!coati_reader_ring(rig.rd, 2));
	expect(&rig, 2, 9);
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
		put(&rig, (int)(i % NR_RINGS), i);
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
	put(&rig, 1, 1);
	ring_bell(&rig, 1);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
	CHECK_INT(coati_reader_drain(rig.rd, count_one, &d, 0), ==, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, from_now(NSEC_PER_MSEC)));
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
	put(&rig, 1, 1);
	ring_bell(&rig, 1);
	CHECK_INT(readable(fd, 1000), ==, 1);
	CHECK_INT(coati_reader_try(rig.rd, &item), ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	coati_reader_wake(rig.rd);
	CHECK_INT(readable(fd, 1000), ==, 1);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EINTR);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_INT(readable(fd, 0), ==, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, from_now(NSEC_PER_MSEC)));
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
		put(&rig, 0, i);
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
		put(&rig, 1, i);
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
		put(&rig, 2, i);
		expect(&rig, 2, i);
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
	CHECK_OK(coati_reader_set_deadline(rig.rd, from_now(FAR)));
	for (uint64_t i = 0; i < 3; i++) {
		put(&rig, 1, i);
		expect(&rig, 1, i);
	}
	put(&rig, 2, 7);
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
	deadline = from_now(LITTLE);
	CHECK_OK(coati_reader_set_deadline(rig.rd, deadline));
	CHECK_ERR(coati_reader_wait(rig.rd), -ETIMEDOUT);
	CHECK_U64(now_ns(), >=, deadline);
	rig_close(&rig);
}

/* ---- a storm ---- */

struct storm {
	struct rig *rig;
	_Atomic bool stop;
};

static void *storm_control(void *arg)
{
	struct storm *s = arg;
	uint64_t i = 0;

	while (!atomic_load(&s->stop)) {
		switch (i++ % 4) {
		case 0:
			coati_reader_wake(s->rig->rd);
			break;
		case 1:
			coati_reader_flush(s->rig->rd);
			break;
		case 2:
			(void)coati_reader_set_deadline(s->rig->rd, from_now(i % 7 * 10000));
			break;
		default:
			(void)coati_reader_set_deadline(s->rig->rd, -1);
		}
		if (i % 64 == 0)
			usleep(50);
	}
	return NULL;
}

static void *storm_write(void *arg)
{
	struct storm *s = arg;
	uint64_t number = 0;

	while (!atomic_load(&s->stop)) {
		for (int i = 0; i < NR_RINGS; i++)
			(void)fake_ring_write(&s->rig->f[i], FAKE_SAMPLE, 64, number++);
		ring_bell(s->rig, (int)(number / NR_RINGS % NR_RINGS));
	}
	coati_reader_close(s->rig->rd);
	return NULL;
}

TEST_LIMIT(reader_stands_a_storm_of_wake_flush_deadlines_and_close, 60)
{
	struct coati_ring_item item;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct storm s = { 0 };
	pthread_t control[2], writer;
	uint64_t until, n = 0, lost = 0;
	struct rig rig;
	int r;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	s.rig = &rig;
	until = now_ns() + test_rounds(2) * NSEC_PER_SEC;
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&control[i], NULL, storm_control, &s), ==, 0);
	CHECK_INT(pthread_create(&writer, NULL, storm_write, &s), ==, 0);
	while ((r = coati_reader_next(rig.rd, &item)) != -EBADF) {
		CHECK(r == 1 || r == -EINTR || r == -ECANCELED || r == -ETIMEDOUT);
		if (r == 1 && item.kind == COATI_ITEM_RECORD)
			n++;
		else if (r == 1)
			lost += item.count;
		if (n % 16 == 0 && now_ns() > until)
			atomic_store(&s.stop, true);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(control[i], NULL);
	pthread_join(writer, NULL);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.records, ==, n);
	CHECK_U64(stats.lost, ==, lost);
	CHECK_U64(stats.damaged, ==, 0);
	CHECK_U64(n, >, 0);
	rig_close(&rig);
}
