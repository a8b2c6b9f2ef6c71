/* SPDX-License-Identifier: MIT */
/* A ring that several events write into, of threads that end one after the other. */
#include <coati/ring.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "need.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define FAULTS	400
#define BOUND_S 20 /* a bound, not a measure: who is not woken waits so long */

static pthread_barrier_t barrier, go; /* of all, and of the one that is left */

struct worker {
	pthread_t thread;
	int32_t tid;
	int cpu;
	bool faults;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	uintptr_t pages = FAULTS;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(w->cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	w->tid = gettid();
	pthread_barrier_wait(&barrier); /* it can be opened */
	pthread_barrier_wait(&barrier); /* it was */
	if (w->faults) {
		pthread_barrier_wait(&go); /* the other one has ended */
		touch_pages(&pages);
		pthread_barrier_wait(&go); /* its own end is not what is waited for */
	}
	return NULL;
}

/* Who can be joined has yet to leave its counters. */
static void wait_until_gone(int32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (access(path, F_OK) == 0)
		usleep(100);
}

static struct coati_event *fault_event(const struct worker *w)
{
	struct coati_attr attr = {
		.type = COATI_TYPE_SOFTWARE,
		.config = COATI_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_TIME,
		.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_WATERMARK,
		.wakeup = 2048,
	};
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	if (coati_event_open(&attr, &COATI_ON(w->tid, w->cpu), NULL, &ev, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return ev;
}

TEST_LIMIT(reader_is_woken_by_the_threads_that_are_left, 60)
{
	int cpu = sched_getcpu();
	struct worker w[2] = { { .cpu = cpu }, { .cpu = cpu, .faults = true } };
	struct coati_reader_ring_opts o = { .size = sizeof(o), .ring.data_bytes = 65536 };
	struct coati_event *ev[2];
	struct coati_reader *rd = NULL;

	need_perf();
	pthread_barrier_init(&barrier, NULL, 3);
	pthread_barrier_init(&go, NULL, 2);
	for (int i = 0; i < 2; i++)
		CHECK_OK(-pthread_create(&w[i].thread, NULL, work, &w[i]));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 2; i++)
		ev[i] = fault_event(&w[i]);
	CHECK_OK(coati_reader_new(NULL, &rd, NULL));
	CHECK_OK(coati_reader_add(rd, coati_event_fd(ev[0]), &o, NULL));
	CHECK_OK(coati_event_set_output(ev[1], ev[0], NULL));
	CHECK_OK(coati_reader_attach(rd, 0, coati_event_fd(ev[1]), NULL, NULL));
	pthread_barrier_wait(&barrier);
	pthread_join(w[0].thread, NULL);
	wait_until_gone(w[0].tid);
	/* hear that it has ended, and take what it wrote while it did */
	CHECK_OK(coati_reader_set_deadline(rd, (int64_t)(now_ns() + 50 * NSEC_PER_MSEC)));
	while (coati_reader_wait(rd) != -ETIMEDOUT) {
		struct coati_span a, b;

		CHECK_OK(coati_ring_peek(coati_reader_ring(rd, 0), &a, &b));
		coati_ring_consume(coati_reader_ring(rd, 0), a.size + b.size);
	}
	CHECK_OK(coati_reader_set_deadline(rd, (int64_t)(now_ns() + BOUND_S * NSEC_PER_SEC)));
	pthread_barrier_wait(&go);
	CHECK_INT(coati_reader_wait(rd), ==, 1);
	CHECK_U64(coati_ring_unread_bytes(coati_reader_ring(rd, 0)), >, 0);
	pthread_barrier_wait(&go);
	pthread_join(w[1].thread, NULL);
	coati_reader_free(&rd);
	for (int i = 0; i < 2; i++)
		coati_event_close(&ev[i]);
}
