/* SPDX-License-Identifier: MIT */
/* Rings of perf events on the real kernel: mapping, waiting, the end of a task, pauses, losses,
 * snapshots. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/ring.h>

#include "base/clock.h"
#include "need.h"
#include "ring/budget.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define PAGE UINT64_C(4096)
#define FAR  (20 * NSEC_PER_SEC)

#define REFRESH _IO('$', 2)

/* An event with a reader over its ring. */
struct rig {
	struct coati_event *ev;
	struct coati_reader *rd;
	struct coati_attr attr;
	uint64_t id;
};

static struct coati_attr faults(void)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = COATI_SAMPLE_TIME | COATI_SAMPLE_TID;
	attr.read_format = COATI_READ_ID | COATI_READ_LOST;
	attr.flags |= COATI_ATTR_EXCLUDE_KERNEL;
	attr.wakeup = 1;
	return attr;
}

/* TIME is behind TID in these samples. */
static int time_of(void *ctx, const struct coati_ring_item *item, uint64_t *ret)
{
	uint32_t type;

	memcpy(&type, item->bytes, 4);
	if (type != 9 || item->size < 24)
		return 0;
	memcpy(ret, item->bytes + 16, 8);
	return 1;
}

static void rig_open_on(struct rig *rig, struct coati_attr attr, struct coati_target target,
			uint64_t data_bytes)
{
	struct coati_reader_opts o = { .size = sizeof(o), .time_fn = time_of };
	struct coati_reader_ring_opts ro = { .size = sizeof(ro) };
	struct coati_error err = { 0 };

	need_perf();
	rig->attr = attr;
	rig->ev = NULL;
	rig->rd = NULL;
	if (coati_event_open(&attr, &target, NULL, &rig->ev, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_OK(coati_reader_new(&o, &rig->rd, NULL));
	ro.ring.data_bytes = data_bytes;
	ro.ring.kind =
		attr.flags & COATI_ATTR_WRITE_BACKWARD ? COATI_RING_BACKWARD : COATI_RING_FORWARD;
	ro.read_format = coati_event_attr(rig->ev)->read_format;
	CHECK_OK(coati_event_id(rig->ev, &ro.event_id));
	rig->id = ro.event_id;
	if (coati_reader_add(rig->rd, coati_event_fd(rig->ev), &ro, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

static void rig_open(struct rig *rig, struct coati_attr attr, uint64_t data_bytes)
{
	rig_open_on(rig, attr, COATI_SELF, data_bytes);
}

static void rig_close(struct rig *rig)
{
	coati_reader_close(rig->rd);
	coati_reader_free(&rig->rd);
	coati_event_close(&rig->ev);
}

static void fault(uintptr_t nr)
{
	touch_pages(&nr);
}

static void enable(struct rig *rig)
{
	CHECK_OK(coati_event_enable(rig->ev));
}

static void disable(struct rig *rig)
{
	CHECK_OK(coati_event_disable(rig->ev));
}

/* ---- mapping ---- */

TEST(ring_size_is_rounded_up_to_a_power_of_two_of_pages)
{
	static const uint64_t wanted[] = { 1, PAGE, PAGE + 1, 3 * PAGE, 8 * PAGE };
	static const uint64_t given[] = { PAGE, PAGE, 2 * PAGE, 4 * PAGE, 8 * PAGE };

	for (int i = 0; i < 5; i++) {
		struct rig rig;

		rig_open(&rig, faults(), wanted[i]);
		CHECK_U64(coati_ring_data_bytes(coati_reader_ring(rig.rd, 0)), ==, given[i]);
		CHECK_U64(coati_ring_unread_bytes(coati_reader_ring(rig.rd, 0)), ==, 0);
		CHECK_INT(coati_ring_fd(coati_reader_ring(rig.rd, 0)), ==, coati_event_fd(rig.ev));
		rig_close(&rig);
	}
}

TEST(ring_of_something_else_than_an_event_is_refused_with_a_word)
{
	struct coati_ring *ring = NULL;
	struct coati_error err;
	struct coati_ring_opts o = { .size = sizeof(o) };
	int fd[2];

	CHECK_OK(pipe(fd));
	CHECK(coati_ring_open(fd[0], NULL, &ring, &err) < 0);
	CHECK_HAS(err.text, "mapping");
	CHECK_ERR(coati_ring_open(-1, NULL, &ring, &err), -EINVAL);
	o.kind = COATI_RING_BPF;
	CHECK(coati_ring_open(fd[0], &o, &ring, &err) < 0);
	CHECK_HAS(err.text, "BPF");
	o = (struct coati_ring_opts){ .size = sizeof(o), .data_bytes = UINT64_MAX };
	CHECK_ERR(coati_ring_open(fd[0], &o, &ring, &err), -EINVAL);
	CHECK(!ring);
}

/* Big rings fail late elsewhere (C14). */
TEST(ring_over_the_budget_is_refused_with_the_numbers_and_can_be_clamped_C14)
{
	struct coati_attr attr = faults();
	struct coati_ring_opts o = { .size = sizeof(o), .data_bytes = UINT64_C(1) << 30 };
	struct coati_ring *ring = NULL;
	struct coati_event *ev;
	struct coati_error err = { 0 };
	uint64_t budget;

	need_perf();
	if (geteuid() == 0)
		become_nobody();
	budget = coati_ring_budget(1);
	if (budget == UINT64_MAX)
		test_skip("no limit on locked memory here");
	attr.flags |= COATI_ATTR_EXCLUDE_KERNEL;
	ev = opened(&attr, NULL);
	CHECK_ERR(coati_ring_open(coati_event_fd(ev), &o, &ring, &err), -EPERM);
	CHECK_HAS(err.text, "perf_event_mlock_kb");
	CHECK_HAS(err.text, "ulimit");
	o.flags = COATI_RING_CLAMP;
	CHECK_OK(coati_ring_open(coati_event_fd(ev), &o, &ring, &err));
	CHECK_U64(coati_ring_data_bytes(ring), <=, budget);
	CHECK_U64(coati_ring_data_bytes(ring), >=, PAGE);
	coati_ring_close(&ring);
	coati_event_close(&ev);
}

TEST(ring_aux_area_of_a_software_event_is_refused_with_a_word)
{
	struct coati_attr attr = faults();
	struct coati_ring_opts o = { .size = sizeof(o), .data_bytes = PAGE, .aux_bytes = PAGE };
	struct coati_ring *ring = NULL;
	struct coati_event *ev;
	struct coati_error err = { 0 };

	need_perf();
	ev = opened(&attr, NULL);
	CHECK(coati_ring_open(coati_event_fd(ev), &o, &ring, &err) < 0);
	CHECK_HAS(err.text, "AUX");
	CHECK(!ring);
	coati_event_close(&ev);
}

/* ---- waiting ---- */

TEST(reader_poll_timeout_first_record_at_once_then_the_deadline)
{
	struct coati_ring_item item;
	struct rig rig;
	int64_t deadline;

	rig_open(&rig, faults(), 8 * PAGE);
	enable(&rig);
	fault(1);
	disable(&rig);
	deadline = (int64_t)(now_ns() + 20 * NSEC_PER_MSEC);
	CHECK_OK(coati_reader_set_deadline(rig.rd, deadline));
	while (coati_reader_next(rig.rd, &item) == 1)
		CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	CHECK_U64(now_ns(), >=, deadline);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

static void *wake_it(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&rig->rd->waiting))
		usleep(100);
	coati_reader_wake(rig->rd);
	return NULL;
}

TEST(reader_poll_cancel_unblocks)
{
	struct coati_ring_item item;
	pthread_t thread;
	struct rig rig;

	rig_open(&rig, faults(), 8 * PAGE);
	CHECK_INT(pthread_create(&thread, NULL, wake_it, &rig), ==, 0);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EINTR);
	pthread_join(thread, NULL);
	rig_close(&rig);
}

TEST(reader_poll_expired_returns_at_once_with_what_is_there)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, faults(), 8 * PAGE);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 1));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

static uint64_t count_samples(struct rig *rig, int *ret_last)
{
	struct coati_ring_item item;
	uint64_t n = 0;
	int r;

	while ((r = coati_reader_next(rig->rd, &item)) == 1)
		n += item.kind == COATI_ITEM_RECORD;
	*ret_last = r;
	return n;
}

TEST(reader_poll_disabled_explicitly_has_what_came_before)
{
	struct rig rig;
	uint64_t n;
	int last;

	rig_open(&rig, faults(), 16 * PAGE);
	enable(&rig);
	fault(30);
	disable(&rig);
	fault(30);
	coati_reader_flush(rig.rd);
	n = count_samples(&rig, &last);
	CHECK_ERR(last, -ECANCELED);
	CHECK_U64(n, >=, 30);
	CHECK_U64(n, <, 60);
	rig_close(&rig);
}

TEST(reader_poll_disabled_by_refresh_has_exactly_three)
{
	struct rig rig;
	int last;

	rig_open(&rig, faults(), 16 * PAGE);
	fault(4);
	CHECK_OK(ioctl(coati_event_fd(rig.ev), REFRESH, 3));
	fault(6);
	coati_reader_flush(rig.rd);
	CHECK_U64(count_samples(&rig, &last), ==, 3);
	rig_close(&rig);
}

/* ---- the end ---- */

/* A child that waits for a byte, touches pages and exits. */
struct child {
	pid_t pid;
	int go;
};

static struct child child_start(uintptr_t nr_faults)
{
	struct child c;
	int fd[2];

	CHECK_OK(pipe2(fd, O_CLOEXEC));
	c.pid = fork();
	CHECK_OK(c.pid);
	if (c.pid == 0) {
		char byte;

		if (read(fd[0], &byte, 1) != 1)
			_exit(1);
		fault(nr_faults);
		_exit(0);
	}
	close(fd[0]);
	c.go = fd[1];
	return c;
}

static void child_finish(struct child *c)
{
	int status;

	CHECK_INT(write(c->go, "g", 1), ==, 1);
	CHECK_INT(waitpid(c->pid, &status, 0), ==, c->pid);
	CHECK_INT(status, ==, 0);
	close(c->go);
}

TEST(reader_poll_disabled_by_exit_gives_samples_then_the_end)
{
	struct coati_ring_item item;
	struct child c;
	struct rig rig;
	uint64_t samples = 0;

	need_perf();
	c = child_start(5);
	rig_open_on(&rig, faults(), COATI_ON(c.pid, -1), 64 * PAGE);
	enable(&rig);
	child_finish(&c);
	do {
		CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
		samples += item.kind == COATI_ITEM_RECORD;
	} while (item.kind != COATI_ITEM_END);
	CHECK_U64(samples, >=, 5);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 0);
	CHECK_INT(coati_reader_wait(rig.rd), ==, 0);
	rig_close(&rig);
}

/* go-perf reports the end as soon as it sees HUP, records or not (B10); and LOST comes never when
 * nothing follows (K2). */
TEST(reader_drains_a_full_ring_after_hup_and_closes_the_balance_B10)
{
	struct coati_ring_item item = { 0 };
	struct child c;
	struct coati_count count = { 0 };
	uint64_t samples = 0, lost = 0, balance = 0;
	struct rig rig;

	need_perf();
	c = child_start(500);
	rig_open_on(&rig, faults(), COATI_ON(c.pid, -1), PAGE);
	enable(&rig);
	child_finish(&c);
	if (!(coati_event_attr(rig.ev)->read_format & COATI_READ_LOST))
		test_skip("the kernel has no LOST to read (before 6.0)");
	while (coati_reader_next(rig.rd, &item) == 1) {
		samples += item.kind == COATI_ITEM_RECORD;
		if (item.kind != COATI_ITEM_LOSS)
			continue;
		lost += item.count;
		balance += item.flags & COATI_ITEM_BALANCE ? item.count : 0;
		CHECK_U64(item.id, ==, rig.id);
		CHECK_U64(item.first_time, !=, 0);
		CHECK_U64(item.flags & COATI_ITEM_TOO_BIG, ==, 0);
	}
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	CHECK_U64(samples, >=, 100);
	CHECK_U64(balance, >, 0);
	CHECK_OK(coati_event_read(rig.ev, &count));
	CHECK_U64(samples + lost, ==, count.value);
	rig_close(&rig);
}

TEST(reader_takes_an_ended_event_out_of_its_set_and_sleeps_on_the_others)
{
	struct coati_ring_item item;
	struct child c = child_start(3);
	struct coati_reader_ring_opts ro = { .size = sizeof(ro),
					     .ring = { .key = 1, .data_bytes = PAGE } };
	struct coati_attr attr = faults();
	struct coati_event *other = NULL;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct rig rig;

	rig_open_on(&rig, attr, COATI_ON(c.pid, -1), 8 * PAGE);
	other = opened(&attr, NULL);
	CHECK_OK(coati_reader_add(rig.rd, coati_event_fd(other), &ro, NULL));
	enable(&rig);
	child_finish(&c);
	do
		CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	while (item.kind != COATI_ITEM_END);
	CHECK_INT(item.key, ==, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 30 * NSEC_PER_MSEC)));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.wakeups, <, 20);
	rig_close(&rig);
	coati_event_close(&other);
}

/* The kernel says of a forward ring once that it has ended, of a backward one whenever it is
 * asked. */
TEST(reader_takes_an_ended_backward_ring_out_of_its_set_and_sleeps_on_the_others)
{
	struct coati_reader_ring_opts ro = { .size = sizeof(ro),
					     .ring = { .key = 1, .data_bytes = PAGE } };
	struct child c = child_start(3);
	struct coati_attr attr = faults(), backward = attr;
	struct coati_event *other = NULL;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring_item item;
	struct rig rig;
	int r;

	backward.flags |= COATI_ATTR_WRITE_BACKWARD;
	rig_open_on(&rig, backward, COATI_ON(c.pid, -1), 8 * PAGE);
	other = opened(&attr, NULL);
	CHECK_OK(coati_reader_add(rig.rd, coati_event_fd(other), &ro, NULL));
	enable(&rig);
	child_finish(&c);
	do
		CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	while (item.kind != COATI_ITEM_END);
	CHECK_INT(item.key, ==, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 30 * NSEC_PER_MSEC)));
	while ((r = coati_reader_next(rig.rd, &item)) == 1)
		;
	CHECK_ERR(r, -ETIMEDOUT);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.wakeups, <, 20);
	rig_close(&rig);
	coati_event_close(&other);
}

struct faulter {
	struct coati_reader *rd;
	pthread_barrier_t ready, done;
	_Atomic int tid, cpu;
};

/* Stays on its CPU, and has its page faults when the reader sleeps. */
static void *fault_when_it_sleeps(void *arg)
{
	struct faulter *f = arg;
	cpu_set_t set;

	f->cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET(f->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	f->tid = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&f->ready);
	pthread_barrier_wait(&f->ready); /* the event is there */
	while (!atomic_load(&f->rd->waiting))
		sched_yield();
	fault(1);
	pthread_barrier_wait(&f->done); /* no end of a thread wakes the reader */
	return NULL;
}

TEST(reader_is_woken_for_a_ring_that_events_of_several_threads_share)
{
	struct faulter f = { 0 };
	struct coati_attr attr = faults();
	struct coati_reader_ring_opts ro = { .size = sizeof(ro) };
	struct coati_event *second = NULL;
	struct coati_ring_item item;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_target target;
	pthread_t thread;
	struct rig rig;

	need_perf();
	pthread_barrier_init(&f.ready, NULL, 2);
	pthread_barrier_init(&f.done, NULL, 2);
	CHECK_INT(pthread_create(&thread, NULL, fault_when_it_sleeps, &f), ==, 0);
	pthread_barrier_wait(&f.ready);
	rig_open_on(&rig, attr, COATI_ON(f.tid, f.cpu), 8 * PAGE);
	target = COATI_ON(0, f.cpu);
	attr.flags |= COATI_ATTR_DISABLED;
	CHECK_OK(coati_event_open(&attr, &target, NULL, &second, NULL));
	CHECK_OK(coati_event_set_output(second, rig.ev, NULL));
	ro.read_format = coati_event_attr(second)->read_format;
	CHECK_OK(coati_reader_attach(rig.rd, 0, coati_event_fd(second), &ro, NULL));
	enable(&rig);
	f.rd = rig.rd;
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	pthread_barrier_wait(&f.ready);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.wakeups, >, 0); /* and not found by a look at its losses */
	pthread_barrier_wait(&f.done);
	pthread_join(thread, NULL);
	rig_close(&rig);
	coati_event_close(&second);
}

TEST(reader_ring_with_two_writers_ends_when_both_have)
{
	struct child c[2];
	struct coati_attr attr = faults();
	struct coati_reader_ring_opts ro = { .size = sizeof(ro) };
	struct coati_event *second = NULL;
	struct coati_ring_item item;
	struct coati_target target;
	struct coati_error err;
	struct rig rig;

	need_perf();
	for (int i = 0; i < 2; i++)
		c[i] = child_start(3);
	rig_open_on(&rig, attr, COATI_ON(c[0].pid, 0), 8 * PAGE);
	target = COATI_ON(c[1].pid, 0);
	CHECK_OK(coati_event_open(&attr, &target, NULL, &second, &err));
	CHECK_OK(coati_event_set_output(second, rig.ev, &err));
	ro.read_format = coati_event_attr(second)->read_format;
	CHECK_OK(coati_reader_attach(rig.rd, 0, coati_event_fd(second), &ro, &err));
	CHECK_ERR(coati_reader_attach(rig.rd, 9, coati_event_fd(second), &ro, &err), -ENOENT);
	child_finish(&c[0]);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 20 * NSEC_PER_MSEC)));
	while (coati_reader_next(rig.rd, &item) == 1)
		CHECK_INT(item.kind, !=, COATI_ITEM_END);
	child_finish(&c[1]);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	rig_close(&rig);
	coati_event_close(&second);
}

/* Records besides samples come through the same ring (C11), and the child's name even when it exits
 * at once. */
TEST(reader_delivers_comm_and_exit_of_a_child_that_is_gone_C11)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	bool comm = false, gone = false;
	struct coati_ring_item item;
	struct rig rig;
	int fd[2], status;
	char byte;
	pid_t pid;

	attr.flags |= COATI_ATTR_COMM | COATI_ATTR_TASK | COATI_ATTR_EXCLUDE_KERNEL;
	attr.flags &= ~COATI_ATTR_DISABLED;
	CHECK_OK(pipe(fd));
	pid = fork();
	if (pid == 0) {
		if (read(fd[0], &byte, 1) == 1)
			prctl(PR_SET_NAME, "gone-soon");
		_exit(0);
	}
	rig_open_on(&rig, attr, COATI_ON(pid, -1), PAGE);
	CHECK_INT(write(fd[1], "g", 1), ==, 1);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	while (coati_reader_next(rig.rd, &item) == 1) {
		uint32_t type = 0, who = 0;

		if (item.kind != COATI_ITEM_RECORD)
			continue;
		memcpy(&type, item.bytes, 4);
		memcpy(&who, item.bytes + 8, 4);
		CHECK_U64(who, ==, pid);
		if (type == 3) {
			CHECK_STR((const char *)item.bytes + 16, "gone-soon");
			comm = true;
		}
		gone = gone || type == 4;
	}
	CHECK(comm && gone);
	rig_close(&rig);
}

/* ---- loss ---- */

TEST(reader_balance_of_a_page_fault_flood_is_exact)
{
	struct coati_count count = { 0 };
	struct coati_ring_item item;
	uint64_t samples = 0, lost = 0;
	struct rig rig;
	int r;

	rig_open(&rig, faults(), PAGE);
	if (!(coati_event_attr(rig.ev)->read_format & COATI_READ_LOST))
		test_skip("the kernel has no LOST to read (before 6.0)");
	enable(&rig);
	for (int i = 0; i < 20; i++) {
		fault(2000);
		if (i % 3)
			continue;
		/* Some losses are told by the balance first and by a record later: they count
		 * once. */
		coati_reader_flush(rig.rd);
		while ((r = coati_reader_next(rig.rd, &item)) == 1)
			item.kind == COATI_ITEM_RECORD ? samples++ : (lost += item.count);
		CHECK_ERR(r, -ECANCELED);
	}
	disable(&rig);
	coati_reader_flush(rig.rd);
	while (coati_reader_next(rig.rd, &item) == 1)
		item.kind == COATI_ITEM_RECORD ? samples++ : (lost += item.count);
	CHECK_OK(coati_event_read(rig.ev, &count));
	CHECK_U64(samples + lost, ==, count.value);
	CHECK_U64(lost, >, 20000);
	CHECK_U64(samples, >, 500);
	rig_close(&rig);
}

TEST(ring_pause_counts_what_is_lost_meanwhile_K4)
{
	struct coati_ring_item item;
	uint64_t lost = 0;
	struct rig rig;

	rig_open(&rig, faults(), 64 * PAGE);
	enable(&rig);
	CHECK_OK(coati_ring_pause(coati_reader_ring(rig.rd, 0), 1, NULL));
	CHECK_OK(coati_ring_pause(coati_reader_ring(rig.rd, 0), 1, NULL));
	fault(10);
	CHECK_OK(coati_ring_pause(coati_reader_ring(rig.rd, 0), 0, NULL));
	fault(1);
	disable(&rig);
	coati_reader_flush(rig.rd);
	while (coati_reader_next(rig.rd, &item) == 1)
		if (item.kind == COATI_ITEM_LOSS) {
			lost += item.count;
			CHECK_U64(item.flags & COATI_ITEM_TOO_BIG, ==, 0);
		}
	CHECK_U64(lost, >=, 10);
	rig_close(&rig);
}

/* ---- backward ---- */

TEST(backward_ring_of_the_kernel_is_read_newest_first)
{
	struct coati_attr attr = faults();
	struct coati_ring_item item;
	struct coati_ring *ring;
	uint64_t last = UINT64_MAX, n = 0;
	bool overwritten = false;
	struct rig rig;
	int r;

	attr.flags |= COATI_ATTR_WRITE_BACKWARD;
	rig_open(&rig, attr, PAGE);
	ring = coati_reader_ring(rig.rd, 0);
	CHECK_ERR(coati_ring_next(ring, &item), -EINVAL);
	enable(&rig);
	for (int pause = 0; pause <= 1; pause++) {
		fault(1000);
		CHECK_OK(coati_ring_snapshot(ring, pause, NULL));
		n = 0;
		last = UINT64_MAX;
		while ((r = coati_reader_try(rig.rd, &item)) == 1) {
			if (item.kind == COATI_ITEM_LOSS) {
				overwritten = (item.flags & COATI_ITEM_UNKNOWN_COUNT) != 0;
				continue;
			}
			CHECK_U64(item.time, <=, last);
			last = item.time;
			n++;
		}
		CHECK_ERR(r, -EAGAIN);
		CHECK_U64(n, >=, pause ? PAGE / 24 - 6 : PAGE / 24 / 2 - 1);
		CHECK(overwritten);
	}
	disable(&rig);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	while (coati_ring_next(ring, &item) == 1)
		CHECK_U64(item.position, !=, 0);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_INT(coati_ring_next(ring, &item), ==, 0);
	rig_close(&rig);
}

TEST(backward_ring_does_not_wake_a_reader_that_waits)
{
	struct coati_attr attr = faults();
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring_item item;
	struct rig rig;

	attr.flags |= COATI_ATTR_WRITE_BACKWARD;
	rig_open(&rig, attr, PAGE);
	enable(&rig);
	fault(100);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 5 * NSEC_PER_MSEC)));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.wakeups, ==, 0);
	rig_close(&rig);
}
