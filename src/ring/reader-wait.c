/* SPDX-License-Identifier: MIT */
/*
 * How a reader waits, and how others reach it. One epoll set holds the events of all rings
 * (edge-triggered: everything is drained before every sleep), an eventfd behind the request bits,
 * and, once a foreign loop polls the set or the kernel has no epoll_pwait2 (before 5.11), a timer
 * for the deadline.
 *
 * wake, flush, close and a new deadline are a store, a bit and a write to the eventfd: safe in
 * signal handlers and from any thread. The order that loses nothing: they set the bit, then write;
 * the reader empties the eventfd, then takes the bits. A deadline is loaded after `waiting` is set
 * and stored before `waiting` is looked at.
 */
#include "ring/reader.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "ring/shared.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* Linux 5.11, all architectures */
#endif

#define EVENTS_AT_ONCE 64

struct coati_timespec64 {
	int64_t tv_sec, tv_nsec;
};

/* Never blocks and never fails: the counter cannot overflow before the reader empties it. */
static COATI_SIGSAFE void ring_bell(struct coati_reader *rd, uint32_t request)
{
	uint64_t one = 1;
	int keep = errno;
	ssize_t n;

	/* pairs with: the exchange in coati_reader_requests() */
	atomic_fetch_or_explicit(&rd->requests, request, memory_order_seq_cst);
	n = write(rd->event_fd, &one, sizeof(one));
	(void)n;
	errno = keep;
}

static void empty_bell(struct coati_reader *rd)
{
	uint64_t count;
	ssize_t n = read(rd->event_fd, &count, sizeof(count));

	(void)n;
}

int coati_reader_requests(struct coati_reader *rd, uint32_t *ret_flush)
{
	uint32_t bits;

	*ret_flush = 0;
	if (unlikely(atomic_load_explicit(&rd->closed, memory_order_relaxed)))
		return -EBADF;
	if (likely(!atomic_load_explicit(&rd->requests, memory_order_relaxed)))
		return 0;
	empty_bell(rd);
	/* pairs with: the fetch_or in ring_bell() */
	bits = atomic_exchange_explicit(&rd->requests, 0, memory_order_seq_cst);
	*ret_flush = bits & (READER_FLUSH | READER_UNMARKED);
	return bits & READER_WAKE ? -EINTR : 0;
}

bool coati_reader_deadline_passed(const struct coati_reader *rd)
{
	int64_t deadline = atomic_load_explicit(&rd->deadline_ns, memory_order_seq_cst);

	return deadline >= 0 && now_ns() >= (uint64_t)deadline;
}

static int add_to_set(struct coati_reader *rd, int fd, uint32_t events, void *what)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	return epoll_ctl(rd->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int coati_reader_wait_init(struct coati_reader *rd, struct coati_error *err)
{
	int r;

	atomic_init(&rd->deadline_ns, -1);
	atomic_init(&rd->timer_fd, -1);
	rd->event_fd = -1;
	rd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (rd->epoll_fd < 0)
		return coati_fail(err, -errno, "reader: epoll: %m");
	rd->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rd->event_fd < 0)
		return coati_fail(err, -errno, "reader: eventfd: %m");
	r = add_to_set(rd, rd->event_fd, EPOLLIN, &rd->event_fd);
	return r < 0 ? coati_fail(err, r, "reader: eventfd into epoll: %m") : 0;
}

void coati_reader_wait_fini(struct coati_reader *rd)
{
	int timer = atomic_load_explicit(&rd->timer_fd, memory_order_relaxed);

	fd_closep(&timer);
	fd_closep(&rd->event_fd);
	fd_closep(&rd->epoll_fd);
}

/* All events of a ring are asked whether it can be read: the kernel reports it once, to the first
 * that epoll asks, and one that was only waited for its end would swallow it. Backward rings have
 * nothing to say when they are written to; the end is always reported. */
int coati_reader_watch(struct coati_reader *rd, struct reader_member *m)
{
	bool forward = m->ring->ring->kind != COATI_RING_BACKWARD;

	return add_to_set(rd, m->fd, forward ? EPOLLIN | EPOLLET : 0, m);
}

void coati_reader_unwatch(struct coati_reader *rd, struct reader_member *m)
{
	if (m->fd >= 0)
		(void)epoll_ctl(rd->epoll_fd, EPOLL_CTL_DEL, m->fd, NULL);
}

static COATI_SIGSAFE void set_timer(int timer_fd, int64_t deadline_ns)
{
	struct itimerspec when = { { 0, 0 }, { 0, 0 } };

	if (deadline_ns >= 0) {
		when.it_value.tv_sec = deadline_ns / (int64_t)NSEC_PER_SEC;
		when.it_value.tv_nsec = deadline_ns % (int64_t)NSEC_PER_SEC;
		/* zero would disarm it */
		if (!when.it_value.tv_sec && !when.it_value.tv_nsec)
			when.it_value.tv_nsec = 1;
	}
	(void)timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* When two threads set deadlines at the same time, the one that arms the timer last must not
 * restore the older deadline. */
static COATI_SIGSAFE void arm_timer(struct coati_reader *rd, int timer_fd)
{
	int64_t deadline;

	do {
		deadline = atomic_load_explicit(&rd->deadline_ns, memory_order_seq_cst);
		set_timer(timer_fd, deadline);
	} while (deadline != atomic_load_explicit(&rd->deadline_ns, memory_order_seq_cst));
}

/* From now on the deadline is in the epoll set, too. */
static int need_timer(struct coati_reader *rd)
{
	CLEANUP(fd_closep) int fd = -1;
	int r;

	if (atomic_load_explicit(&rd->timer_fd, memory_order_relaxed) >= 0)
		return 0;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = add_to_set(rd, fd, EPOLLIN, &rd->timer_fd);
	if (r < 0)
		return r;
	/* pairs with: the load in coati_reader_set_deadline(); one of the two arms it */
	atomic_store_explicit(&rd->timer_fd, fd, memory_order_seq_cst);
	arm_timer(rd, fd);
	(void)TAKE_FD(fd);
	return 0;
}

int coati_reader_fd(struct coati_reader *rd)
{
	int r;

	if (!rd)
		return -EINVAL;
	if (atomic_load_explicit(&rd->closed, memory_order_relaxed))
		return -EBADF;
	r = need_timer(rd);
	if (r < 0)
		return r;
	rd->foreign = true;
	return rd->epoll_fd;
}

/* An event that has ended leaves the set, or it would be reported forever. */
static void member_event(struct coati_reader *rd, struct reader_member *m, uint32_t events)
{
	struct reader_ring *rr = m->ring;

	rr->ring->stats.wakeups++;
	if (!(events & (EPOLLHUP | EPOLLERR)) || m->ended)
		return;
	coati_reader_unwatch(rd, m);
	m->ended = true;
	if (--rr->nr_live == 0)
		rr->over = true;
}

/* True when it is a ring's. */
static bool one_event(struct coati_reader *rd, const struct epoll_event *event)
{
	uint64_t count;
	ssize_t n;

	if (event->data.ptr == &rd->event_fd) {
		/* Emptied with its bits; a late write whose bits are taken already is emptied
		 * here. */
		if (!atomic_load_explicit(&rd->requests, memory_order_seq_cst))
			empty_bell(rd);
	} else if (event->data.ptr == &rd->timer_fd) {
		n = read(atomic_load_explicit(&rd->timer_fd, memory_order_relaxed), &count,
			 sizeof(count));
		(void)n;
	} else {
		member_event(rd, event->data.ptr, event->events);
		return true;
	}
	return false;
}

/* When the wait must end by itself, as a time of CLOCK_MONOTONIC; UINT64_MAX: never. */
static uint64_t wait_until(struct coati_reader *rd, int64_t deadline)
{
	uint64_t until = deadline >= 0 ? (uint64_t)deadline : UINT64_MAX, due;

	if (rd->merge && (due = coati_merge_due_ns(rd->merge)) < until)
		until = due;
	if (rd->loss_check_ns && rd->loss_check_at < until)
		until = rd->loss_check_at;
	if (rd->look_ns && rd->look_at < until)
		until = rd->look_at;
	return until;
}

static int wait_for_events(struct coati_reader *rd, struct epoll_event *events, uint64_t until)
{
	struct coati_timespec64 timeout = { 0, 0 };
	uint64_t now = until == 0 || until == UINT64_MAX ? 0 : now_ns();
	uint64_t left = until > now ? until - now : 0;
	long n;

	timeout.tv_sec = (int64_t)(left / NSEC_PER_SEC);
	timeout.tv_nsec = (int64_t)(left % NSEC_PER_SEC);
	if (!rd->no_pwait2) {
		n = syscall(SYS_epoll_pwait2, rd->epoll_fd, events, EVENTS_AT_ONCE,
			    until == UINT64_MAX ? NULL : &timeout, NULL, (size_t)8);
		if (n >= 0 || errno != ENOSYS)
			return n < 0 ? -errno : (int)n;
		rd->no_pwait2 = true;
	}
	/* The timer has the nanoseconds; our own ticks can do with milliseconds, rounded up. */
	if (left && until != UINT64_MAX && (n = need_timer(rd)) < 0)
		return (int)n;
	left = (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	n = epoll_wait(rd->epoll_fd, events, EVENTS_AT_ONCE,
		       until == UINT64_MAX || left > INT32_MAX ? -1 : (int)left);
	return n < 0 ? -errno : (int)n;
}

int coati_reader_sleep(struct coati_reader *rd, bool block)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	bool rings = false;
	int64_t deadline;
	int n;

	if (block) {
		/* pairs with: set_deadline, which stores the deadline and then looks here */
		atomic_store_explicit(&rd->waiting, true, memory_order_seq_cst);
		deadline = atomic_load_explicit(&rd->deadline_ns, memory_order_seq_cst);
		n = wait_for_events(rd, events, wait_until(rd, deadline));
		atomic_store_explicit(&rd->waiting, false, memory_order_relaxed);
	} else {
		n = wait_for_events(rd, events, 0);
	}
	for (int i = 0; i < n; i++)
		rings |= one_event(rd, &events[i]);
	if (n < 0)
		return n;
	return rings ? 1 : n > 0 || block ? 0 : -EAGAIN;
}

int coati_reader_set_deadline(struct coati_reader *rd, int64_t deadline_ns)
{
	int keep = errno, timer;

	if (!rd || deadline_ns < -1)
		return -EINVAL;
	if (atomic_load_explicit(&rd->closed, memory_order_relaxed))
		return -EBADF;
	atomic_store_explicit(&rd->deadline_ns, deadline_ns, memory_order_seq_cst);
	timer = atomic_load_explicit(&rd->timer_fd, memory_order_seq_cst);
	if (timer >= 0)
		arm_timer(rd, timer);
	/* pairs with: coati_reader_sleep(), which says that it waits and then loads the deadline */
	if (atomic_load_explicit(&rd->waiting, memory_order_seq_cst))
		ring_bell(rd, READER_DEADLINE);
	errno = keep;
	return 0;
}

void coati_reader_wake(struct coati_reader *rd)
{
	ring_bell(rd, READER_WAKE);
}

/* ---- flush ---- */

void coati_reader_begin_change(struct coati_reader *rd)
{
	/* pairs with: mark_rings(), which says that it walks and then looks here */
	atomic_store_explicit(&rd->stable, false, memory_order_seq_cst);
	while (atomic_load_explicit(&rd->flushers, memory_order_seq_cst))
		sched_yield();
}

void coati_reader_end_change(struct coati_reader *rd)
{
	atomic_store_explicit(&rd->stable, true, memory_order_seq_cst);
}

/* Only upwards: of two that flush at once, the later head counts. */
static COATI_SIGSAFE void mark_ring(struct reader_ring *rr)
{
	uint64_t head = shared_load_acquire(rr->ring->head_word);
	uint64_t mark = atomic_load_explicit(&rr->flush_mark, memory_order_relaxed);

	while ((int64_t)(head - mark) > 0 &&
	       !atomic_compare_exchange_weak_explicit(&rr->flush_mark, &mark, head,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* Note where the heads are, unless the reader is just changing the set of rings. */
static COATI_SIGSAFE bool mark_rings(struct coati_reader *rd)
{
	bool stable;

	atomic_fetch_add_explicit(&rd->flushers, 1, memory_order_seq_cst);
	stable = atomic_load_explicit(&rd->stable, memory_order_seq_cst);
	for (size_t i = 0; stable && i < rd->rings.len; i++)
		if (rd->rings.v[i]->ring->kind != COATI_RING_BACKWARD)
			mark_ring(rd->rings.v[i]);
	/* pairs with: the load in coati_reader_begin_change() */
	atomic_fetch_sub_explicit(&rd->flushers, 1, memory_order_seq_cst);
	return stable;
}

void coati_reader_flush(struct coati_reader *rd)
{
	ring_bell(rd, mark_rings(rd) ? READER_FLUSH : READER_FLUSH | READER_UNMARKED);
}

void coati_reader_close(struct coati_reader *rd)
{
	if (!rd)
		return;
	atomic_store_explicit(&rd->closed, true, memory_order_seq_cst);
	ring_bell(rd, READER_WAKE);
}
