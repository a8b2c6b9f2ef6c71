/* SPDX-License-Identifier: MIT */
/* A reader that waits while other threads and signals disturb it: new deadlines, flush, wake,
 * close, a storm of all of them. */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ring/ring.h"
#include "unit/reader-rig.h"

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
		CHECK_OK(coati_reader_set_deadline(a->rig->rd, rig_from_now(1)));
	if (a->act == ACT_WAKE)
		coati_reader_wake(a->rig->rd);
	if (a->act == ACT_FLUSH) {
		rig_put(a->rig, 1, 42);
		/* a second one may come during the first, and be told too */
		coati_reader_flush(a->rig->rd);
	}
	if (a->act == ACT_CLOSE)
		coati_reader_close(a->rig->rd);
	if (a->act == ACT_DATA) {
		rig_put(a->rig, 1, 42);
		rig_ring(a->rig, 1);
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
		CHECK_OK(coati_reader_set_deadline(rig.rd, rig_from_now(FAR)));
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
	rig_put(&rig, 0, 1);
	rig_put(&rig, 1, 2);
	coati_reader_flush(rig.rd);
	coati_reader_flush(rig.rd);
	rig_expect(&rig, 0, 1);
	rig_put(&rig, 2, 3);
	rig_expect(&rig, 1, 2);
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
		rig_put(&rig, 0, 1);
		rig_put(&rig, 1, 2);
		coati_reader_flush(rig.rd);
		rig_put(&rig, 0, 3);
		rig_put(&rig, 2, 4);
		rig_ring(&rig, 0);
		rig_expect(&rig, 0, 1);
		rig_expect(&rig, 1, 2);
		CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
		rig_expect(&rig, 0, 3);
		rig_expect(&rig, 2, 4);
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
	rig_put(&rig, 0, 1);
	rig_put(&rig, 1, 2);
	coati_reader_flush(rig.rd);
	rig_expect(&rig, 0, 1);
	rig_put(&rig, 2, 3);
	coati_reader_flush(rig.rd);
	rig_put(&rig, 2, 4);
	rig_expect(&rig, 1, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	rig_expect(&rig, 2, 3);
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
	rig_put(&rig, 1, 1);
	coati_reader_flush(rig.rd);
	rig_put(&rig, 1, 2);
	for (int i = 0; i < NR_RINGS; i++)
		CHECK_OK(coati_reader_end(rig.rd, i));
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	rig_expect(&rig, 1, 1);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.key, ==, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	rig_expect(&rig, 1, 2);
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
		rig_put(&rig, 1, i);
		CHECK_OK(coati_ring_snapshot(coati_reader_ring(rig.rd, 1), 1, NULL));
		rig_expect(&rig, 1, i);
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
		CHECK_OK(coati_reader_set_deadline(p->rig->rd, rig_from_now(FAR)));
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
	rig_put(&rig, 0, 1); /* before the first call: that is no wake either */
	coati_reader_wake(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EINTR);
	CHECK_INT(pthread_create(&thread, NULL, bother_then_flush, &p), ==, 0);
	rig_expect(&rig, 0, 1);
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
	rig_put(&rig, 0, 1);
	coati_reader_wake(rig.rd);
	coati_reader_wake(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EINTR);
	CHECK_U64(coati_ring_unread_bytes(coati_reader_ring(rig.rd, 0)), ==, 64);
	rig_ring(&rig, 0);
	rig_expect(&rig, 0, 1);
	rig_close(&rig);
}

/* Reading after close must not touch what is gone (C8). */
TEST(reader_is_closed_for_every_call_until_it_is_freed_C8)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, COATI_RING_FORWARD, NULL);
	rig_put(&rig, 0, 1);
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
		deadline = rig_from_now(LITTLE);
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
	rig_put(d->rig, 0, 1);
	rig_ring(d->rig, 0);
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
			d.deadline = rig_from_now(DRIFT);
			CHECK_OK(coati_reader_set_deadline(rig.rd, d.deadline));
			CHECK_INT(pthread_create(&thread, NULL, wake_for_nothing, &d), ==, 0);
			met = coati_reader_next(rig.rd, &item) == -ETIMEDOUT;
			pthread_join(thread, NULL);
			rig_close(&rig);
		}
		CHECK(met);
	}
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
			(void)coati_reader_set_deadline(s->rig->rd, rig_from_now(i % 7 * 10000));
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
		rig_ring(s->rig, (int)(number / NR_RINGS % NR_RINGS));
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
