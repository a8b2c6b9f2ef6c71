/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer with its two sides in two threads, and with signal handlers as the writer:
 * nothing torn, nothing lost without being told, no wake lost, an end that is the end. What is left
 * to chance is repeated; scripts/soak repeats more.
 */
#include "unit/profbuf-pair.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* TSan delivers signals inside of some calls alone, and nested ones leave a thread with all signals
 * blocked. */
#define SIGNALS_ARE_ODD 0
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#undef SIGNALS_ARE_ODD
#define SIGNALS_ARE_ODD 1
#endif
#endif

static const struct coati_profbuf_opts small = { .size = sizeof(small),
						 .data_words = 256,
						 .header_words = 1 };

/* A reader thread: reads to the end, checks every record and that times ascend. */
struct reading {
	struct pair *pair;
	pthread_t thread;
	uint64_t delivered, told, last;
};

static void *read_all(void *arg)
{
	struct reading *t = arg;
	struct coati_profbuf_record record;
	int r;

	while ((r = coati_profbuf_read(&t->pair->reader, COATI_PROFBUF_FOREVER, &record)) == 1) {
		CHECK_U64(record.time_ns, >, t->last);
		t->last = record.time_ns;
		if (record.kind == COATI_PROFBUF_LOSS) {
			CHECK_U64(record.last_ns, >=, record.first_ns);
			t->told += record.count;
			t->last = record.last_ns;
			continue;
		}
		pair_check(&record);
		t->delivered++;
	}
	CHECK_INT(r, ==, 0);
	CHECK_INT(coati_profbuf_read(&t->pair->reader, COATI_PROFBUF_NOW, &record), ==, 0);
	return NULL;
}

static void start_reading(struct reading *t, struct pair *p)
{
	*t = (struct reading){ .pair = p };
	CHECK_INT(pthread_create(&t->thread, NULL, read_all, t), ==, 0);
}

static uint64_t unread(struct pair *p)
{
	return atomic_load(&p->buf->stored) - atomic_load(&p->buf->given);
}

static void wait_asleep(struct pair *p)
{
	while (!atomic_load(&p->buf->sleeping))
		sched_yield();
}

TEST(profbuf_reader_that_sleeps_gets_what_comes_and_then_the_end)
{
	struct reading t;
	struct pair p;

	pair_open(&p, &small, 0);
	start_reading(&t, &p);
	for (uint64_t n = 1; n <= 100; n++)
		pair_write(&p.writer, n, (uint32_t)(n % 20));
	coati_profbuf_close(&p.writer);
	CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
	pair_check_balance(&p, 100, t.delivered, t.told);
	pair_close(&p);
}

TEST(profbuf_reader_sleeps_below_the_mark_and_is_woken_once_at_it)
{
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };
	struct reading t;
	struct pair p;

	pair_open(&p, &small, 0); /* mark: 128 words */
	start_reading(&t, &p);
	wait_asleep(&p);
	for (uint64_t n = 1; n <= 9; n++) {
		CHECK_OK(pair_write(&p.writer, n, 8)); /* 12 words each */
		CHECK_U64(atomic_load(&p.buf->sleeping), ==, 1);
	}
	CHECK_OK(pair_write(&p.writer, 10, 8));
	CHECK_U64(atomic_load(&p.buf->sleeping), ==, 1);
	CHECK_OK(pair_write(&p.writer, 11, 8)); /* 132 */
	wait_asleep(&p); /* it has been awake, read all of it and sleeps again */
	coati_profbuf_get_stats(p.buf, &stats);
	CHECK_U64(stats.wakes, ==, 1);
	CHECK_U64(atomic_load(&p.buf->given), ==, 132);
	coati_profbuf_close(&p.writer);
	CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
	CHECK_U64(t.delivered, ==, 11);
	pair_close(&p);
}

TEST(profbuf_many_drops_in_a_tiny_buffer_do_not_wake_twice)
{
	struct coati_profbuf_opts o = { .size = sizeof(o), .data_words = 64, .header_words = 1 };

	for (int round = 0; round < 20; round++) {
		struct reading t;
		struct pair p;

		pair_open(&p, &o, 0);
		start_reading(&t, &p);
		for (uint64_t n = 1; n <= 1000; n++)
			pair_write(&p.writer, n, 16);
		coati_profbuf_close(&p.writer);
		CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
		pair_check_balance(&p, 1000, t.delivered, t.told);
		pair_close(&p);
	}
}

/* A lost wake is a reader that sleeps for ever: the time limit finds it. */
TEST_LIMIT(profbuf_no_wake_is_lost, 60)
{
	static const uint64_t marks[] = { 1, 5, 40, 128 };
	unsigned int rounds = test_rounds(20000);

	for (int i = 0; i < 4; i++) {
		struct coati_profbuf_opts o = small;
		struct reading t;
		struct pair p;
		uint64_t n = 0;

		o.wake_words = marks[i];
		pair_open(&p, &o, UINT64_MAX - 4000);
		start_reading(&t, &p);
		for (unsigned int k = 0; k < rounds; k++) {
			n++, pair_write(&p.writer, n, (uint32_t)(n * 7 % 30));
			/* it must not sleep on with so much there; with less it may */
			while (k % 4 && unread(&p) >= marks[i])
				sched_yield();
		}
		coati_profbuf_close(&p.writer);
		CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
		CHECK_U64(t.delivered + t.told, ==, n);
		pair_close(&p);
	}
}

TEST_LIMIT(profbuf_every_record_comes_once_or_is_told_as_lost, 60)
{
	uint64_t calls = 100000 * (uint64_t)test_rounds(1);
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };
	struct reading t;
	struct pair p;

	pair_open(&p, &small, UINT64_MAX - 50000);
	start_reading(&t, &p);
	for (uint64_t n = 1; n <= calls; n++) {
		pair_write(&p.writer, n, (uint32_t)(n * 7 % 60));
		if (n % 8 == 0 && unread(&p) > 128)
			sched_yield();
	}
	coati_profbuf_close(&p.writer);
	CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
	coati_profbuf_get_stats(p.buf, &stats);
	test_note("%llu delivered, %llu lost, %llu wakes", (unsigned long long)t.delivered,
		  (unsigned long long)t.told, (unsigned long long)stats.wakes);
	CHECK_U64(t.delivered, ==, stats.written);
	CHECK_U64(t.delivered + t.told, ==, calls);
	pair_close(&p);
}

static atomic_ullong write_calls;

static void *write_until_closed(void *arg)
{
	struct pair *p = arg;
	uint64_t n = 1;

	for (; pair_write(&p->writer, n, (uint32_t)(n % 16)) != -EBADF; n++)
		atomic_store(&write_calls, n);
	atomic_store(&write_calls, n);
	return NULL;
}

TEST_LIMIT(profbuf_close_in_the_middle_of_writes_is_accounted_to_the_last, 60)
{
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };

	for (unsigned int round = 0; round < test_rounds(300); round++) {
		uint64_t when = test_random() % 200;
		struct reading t;
		pthread_t writer;
		struct pair p;

		pair_open(&p, &small, 0);
		if (round % 2) /* also as where there is no membarrier() */
			((struct profbuf_writer *)(void *)&p.writer)->fenced = true;
		atomic_store(&write_calls, 0);
		start_reading(&t, &p);
		CHECK_INT(pthread_create(&writer, NULL, write_until_closed, &p), ==, 0);
		while (atomic_load(&write_calls) < when)
			sched_yield();
		coati_profbuf_close(&p.writer);
		CHECK_INT(pthread_join(writer, NULL), ==, 0);
		CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
		coati_profbuf_get_stats(p.buf, &stats);
		CHECK_U64(stats.after_close, ==, 1);
		CHECK_U64(t.delivered + t.told + 1, ==, atomic_load(&write_calls));
		pair_close(&p);
	}
}

TEST(profbuf_deadline_is_absolute_and_never_early)
{
	struct coati_profbuf_record record;
	struct pair p;
	uint64_t deadline;

	pair_open(&p, &small, 0);
	CHECK_ERR(coati_profbuf_read(&p.reader, 1, &record), -ETIMEDOUT);
	deadline = now_ns() + 2000000;
	CHECK_ERR(coati_profbuf_read(&p.reader, deadline, &record), -ETIMEDOUT);
	CHECK_U64(now_ns(), >=, deadline);
	CHECK_U64(atomic_load(&p.buf->sleeping), ==, 0);
	/* below the mark nobody wakes, but the deadline finds it */
	CHECK_OK(pair_write(&p.writer, 1, 1));
	CHECK_INT(coati_profbuf_read(&p.reader, now_ns(), &record), ==, 1);
	pair_close(&p);
}

/* ---- signal handlers as writers ---- */

static struct pair storm;
static atomic_ullong storm_calls, storm_signals, storm_times;

static void storm_handler(int sig)
{
	/* Numbers ascend although handlers interrupt each other: an inner call is a loss or whole
	 * before the outer one. */
	uint64_t n = atomic_fetch_add(&storm_times, 1) + 1;

	atomic_fetch_add(&storm_signals, sig != 0);
	pair_write(&storm.writer, n, (uint32_t)(n % 48));
	atomic_fetch_add(&storm_calls, 1);
}

/* Handlers must leave time for what they interrupt, or a slow CPU runs nothing else: the period is
 * at least 16 times what a signal takes. The minimum of several measurements, because other
 * processes run in between. */
static long storm_period_ns(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		uint64_t start_ns = now_ns(), took_ns;

		raise(SIGPROF);
		took_ns = now_ns() - start_ns;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	return least_ns * 16 > 100000 ? (long)least_ns * 16 : 100000;
}

static void handle(int sig)
{
	struct sigaction act = { .sa_handler = storm_handler, .sa_flags = SA_RESTART };

	CHECK_OK(sigaction(sig, &act, NULL));
}

static timer_t start_timer(int sig, long period_ns)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	struct itimerspec when = { { 0, period_ns }, { 0, period_ns } };
	timer_t timer;

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	CHECK_OK(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_OK(timer_settime(timer, 0, &when, NULL));
	return timer;
}

/* Reads without regard to the order of times: an outer write has the number that it drew before it
 * was interrupted. */
static void *read_storm(void *arg)
{
	struct reading *t = arg;
	struct coati_profbuf_record record;
	int r;

	while ((r = coati_profbuf_read(&t->pair->reader, COATI_PROFBUF_FOREVER, &record)) == 1) {
		if (record.kind == COATI_PROFBUF_LOSS) {
			t->told += record.count;
			continue;
		}
		pair_check(&record);
		t->delivered++;
	}
	CHECK_INT(r, ==, 0);
	return NULL;
}

TEST_LIMIT(profbuf_storm_of_nested_signals_loses_nothing_silently, 60)
{
	uint64_t enough = 2000 * (uint64_t)test_rounds(1);
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };
	struct reading t = { .pair = &storm };
	timer_t timers[2];
	sigset_t mask, old;
	long period_ns;

	if (SIGNALS_ARE_ODD)
		test_skip("TSan does not deliver nested signals as they come");
	pair_open(&storm, &small, 0);
	handle(SIGPROF);
	handle(SIGUSR1);
	period_ns = storm_period_ns();
	/* the handlers run in this thread alone */
	sigemptyset(&mask);
	sigaddset(&mask, SIGPROF);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, &old);
	CHECK_INT(pthread_create(&t.thread, NULL, read_storm, &t), ==, 0);
	timers[0] = start_timer(SIGPROF, period_ns);
	timers[1] = start_timer(SIGUSR1, period_ns * 97 / 100);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* interrupted by both */
	while (atomic_load(&storm_signals) < enough)
		if (unread(&storm) < 200)
			storm_handler(0);
	timer_delete(timers[0]);
	timer_delete(timers[1]);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	coati_profbuf_close(&storm.writer);
	CHECK_INT(pthread_join(t.thread, NULL), ==, 0);
	coati_profbuf_get_stats(storm.buf, &stats);
	test_note("%llu calls, %llu delivered, %llu lost, of these %llu nested",
		  (unsigned long long)atomic_load(&storm_calls), (unsigned long long)t.delivered,
		  (unsigned long long)t.told, (unsigned long long)stats.reentered);
	CHECK_U64(t.delivered + t.told, ==, atomic_load(&storm_calls));
	CHECK_U64(stats.written, ==, t.delivered);
	pair_close(&storm);
}

/* ---- eventfd ---- */

TEST(profbuf_eventfd_becomes_readable_at_the_mark_and_at_close)
{
	struct coati_profbuf_opts o = small;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct coati_profbuf_writer_opts w = { .size = sizeof(w), .wake_fd = fd };
	struct coati_profbuf_reader_opts d = { .size = sizeof(d), .wake_fd = fd };
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	_Alignas(64) static uint8_t memory[8192];
	struct coati_profbuf_record record;
	struct coati_error err;
	struct pair p;
	uint64_t count;

	o.flags = COATI_PROFBUF_EVENTFD;
	p.bytes = sizeof(memory);
	CHECK_OK(coati_profbuf_init(memory, p.bytes, &o, &p.buf, &err));
	CHECK_ERR(coati_profbuf_writer_init(&p.writer, p.buf, p.bytes, NULL, &err), -EINVAL);
	CHECK_HAS(err.text, "wake_fd");
	CHECK_OK(coati_profbuf_writer_init(&p.writer, p.buf, p.bytes, &w, &err));
	CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, NULL, &err));
	CHECK_ERR(coati_profbuf_read(&p.reader, COATI_PROFBUF_FOREVER, &record), -EBADF);
	CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, &d, &err));

	CHECK_INT(coati_profbuf_arm(&p.reader), ==, 0);
	CHECK_OK(pair_write(&p.writer, 1, 40));
	CHECK_INT(poll(&poll_fd, 1, 0), ==, 0);
	for (uint64_t n = 2; n <= 3; n++)
		CHECK_OK(pair_write(&p.writer, n, 40));
	CHECK_INT(poll(&poll_fd, 1, 0), ==, 1);
	for (uint64_t n = 1; n <= 3; n++) {
		CHECK_INT(coati_profbuf_arm(&p.reader), ==, 1);
		pair_expect(&p, n, 40);
	}
	/* a count that is left over does not end a sleep */
	CHECK_ERR(coati_profbuf_read(&p.reader, now_ns() + 1000000, &record), -ETIMEDOUT);
	CHECK_INT(read(fd, &count, sizeof(count)), <, 0);
	CHECK_INT(coati_profbuf_arm(&p.reader), ==, 0);
	coati_profbuf_close(&p.writer);
	CHECK_INT(poll(&poll_fd, 1, 0), ==, 1);
	CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_FOREVER, &record), ==, 0);
	close(fd);
}

/* ---- a word ---- */

TEST(profbuf_wake_word_counts_up_at_the_mark_when_somebody_asked)
{
	struct coati_profbuf_opts o = small;
	uint32_t word = UINT32_MAX; /* it may wrap */
	struct coati_profbuf_writer_opts w = { .size = sizeof(w),
					       .wake_fd = -1,
					       .wake_word = &word };
	_Alignas(64) static uint8_t memory[8192];
	struct coati_error err;
	struct pair p;

	p.bytes = sizeof(memory);
	CHECK_OK(coati_profbuf_init(memory, p.bytes, &o, &p.buf, &err));
	CHECK_ERR(coati_profbuf_writer_init(&p.writer, p.buf, p.bytes, &w, &err), -EINVAL);
	CHECK_HAS(err.text, "wake_word");
	o.flags = COATI_PROFBUF_EVENTFD;
	CHECK_OK(coati_profbuf_init(memory, p.bytes, &o, &p.buf, &err));
	CHECK_OK(coati_profbuf_writer_init(&p.writer, p.buf, p.bytes, &w, &err));
	CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, NULL, &err));
	CHECK_INT(coati_profbuf_arm(&p.reader), ==, 0);
	CHECK_OK(pair_write(&p.writer, 1, 40));
	CHECK_U64(word, ==, UINT32_MAX);
	for (uint64_t n = 2; n <= 3; n++)
		CHECK_OK(pair_write(&p.writer, n, 40));
	CHECK_U64(word, ==, 0);
	coati_profbuf_close(&p.writer);
	CHECK_U64(word, ==, 0);
}
