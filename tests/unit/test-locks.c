/* SPDX-License-Identifier: MIT */
/* Mutex and block profiles: waits whose length the test knows from both sides. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/locks.h>

#include "base/clock.h"
#include "live/profiles/locks.h"

#include <coati/locks-hook.h>

static const char *profile_text(enum coati_locks_profile which)
{
	static char text[1 << 20];
	int fd = memfd_create("locks", MFD_CLOEXEC);
	struct coati_error err = { 0 };
	ssize_t n;

	CHECK_OK(fd);
	if (coati_locks_write(which, fd, COATI_LOCKS_TEXT, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = 0;
	close(fd);
	return text;
}

struct sums {
	uint64_t waits, ns;
};

/* Of all stacks, or of those whose lines have @name in them. */
static struct sums sums_of(enum coati_locks_profile which, const char *name)
{
	const char *text = profile_text(which), *at = text, *end;
	const char *maps = strstr(text, "\nMAPPED_LIBRARIES:");
	struct sums sums = { 0, 0 }, one;

	CHECK(maps);
	for (; (at = strchr(at, '\n')) && at < maps; at = end) {
		at++;
		for (end = at; (end = strchr(end, '\n')) && end[1] == '#';)
			end++;
		if (!end)
			break;
		if (sscanf(at, "%" SCNu64 " %" SCNu64 " @", &one.ns, &one.waits) != 2)
			continue;
		if (name && !memmem(at, (size_t)(end - at), name, strlen(name)))
			continue;
		sums.ns += one.ns;
		sums.waits += one.waits;
	}
	return sums;
}

static void start(uint64_t fraction, uint64_t rate)
{
	struct coati_locks_opts o = {
		.size = sizeof(o), .mutex_fraction = fraction, .block_rate_ns = rate, .seed = 1
	};

	CHECK_OK(coati_locks_start(&o, NULL));
}

static struct coati_locks_stats stats(void)
{
	struct coati_locks_stats s = { .size = sizeof(s) };

	coati_locks_stats(&s);
	return s;
}

/* ---- waits of a known length ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;

struct waiter {
	pthread_t thread;
	_Atomic int32_t tid;
	int (*wait)(void);
	uint64_t waited_ns; /* by its own clock, around the call */
};

static void *run_waiter(void *arg)
{
	struct waiter *w = arg;
	uint64_t begin = now_ns();

	atomic_store(&w->tid, (int32_t)syscall(SYS_gettid));
	CHECK_INT(w->wait(), ==, 0);
	w->waited_ns = now_ns() - begin;
	return NULL;
}

static char state_of(int32_t tid)
{
	char path[64], text[512] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	end = strrchr(text, ')');
	return end && strlen(end) > 2 ? end[2] : '?';
}

/* A thread that waits: it is asleep in the kernel, and stays so for some looks (a sanitizer may let
 * it sleep for its own reasons, not for long). */
static void start_waiter(struct waiter *w, int (*wait)(void))
{
	const struct timespec pause = { 0, 500000 };

	w->wait = wait;
	CHECK_INT(pthread_create(&w->thread, NULL, run_waiter, w), ==, 0);
	while (!atomic_load(&w->tid))
		sched_yield();
	for (int seen = 0; seen < 5; clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL))
		seen = state_of(atomic_load(&w->tid)) == 'S' ? seen + 1 : 0;
}

static void busy_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static __attribute__((noinline)) int take_and_give(void)
{
	int r = pthread_mutex_lock(&mutex);

	return r ? r : pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void let_them_wait(void)
{
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("" ::: "memory");
}

TEST_LIMIT(locks_charge_all_waits_to_who_unlocks_and_each_to_who_waits, 60)
{
	struct waiter w[3] = { { .tid = 0 } };
	uint64_t measured = 0, held;
	struct sums s;

	start(1, 1);
	CHECK_INT(pthread_mutex_lock(&mutex), ==, 0);
	for (int i = 0; i < 3; i++)
		start_waiter(&w[i], take_and_give);
	held = now_ns();
	busy_for(2 * NSEC_PER_MSEC);
	held = now_ns() - held;
	let_them_wait();
	for (int i = 0; i < 3; i++) {
		pthread_join(w[i].thread, NULL);
		measured += w[i].waited_ns;
	}
	s = sums_of(COATI_LOCKS_MUTEX, "let_them_wait");
	test_note("held for %" PRIu64 " ns, charged %" PRIu64 ", waited %" PRIu64, held, s.ns,
		  measured);
	CHECK_U64(s.waits, ==, 3);
	CHECK_U64(s.ns, >=, 3 * held);
	CHECK_U64(sums_of(COATI_LOCKS_MUTEX, NULL).ns, <=, measured);
	s = sums_of(COATI_LOCKS_BLOCK, "take_and_give");
	CHECK_U64(s.waits, ==, 3);
	CHECK_U64(s.ns, >=, 3 * held);
	CHECK_U64(s.ns, <=, measured);
	CHECK_U64(stats().unseen, ==, 0);
}

static __attribute__((noinline)) int read_and_give(void)
{
	int r = pthread_rwlock_rdlock(&rwlock);

	return r ? r : pthread_rwlock_unlock(&rwlock);
}

static __attribute__((noinline)) int write_and_give(void)
{
	int r = pthread_rwlock_wrlock(&rwlock);

	return r ? r : pthread_rwlock_unlock(&rwlock);
}

static __attribute__((noinline)) int take_one(void)
{
	int r = sem_wait(&sem);

	__asm__ volatile("" ::: "memory");
	return r;
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool is_ready;

static __attribute__((noinline)) int wait_until_ready(void)
{
	pthread_mutex_lock(&mutex);
	while (!is_ready)
		pthread_cond_wait(&cond, &mutex);
	return pthread_mutex_unlock(&mutex);
}

TEST_LIMIT(locks_of_all_kinds_are_in_the_block_profile, 60)
{
	struct waiter w[4] = { { .tid = 0 } };

	start(1, 1);
	CHECK_OK(sem_init(&sem, 0, 0));
	CHECK_INT(pthread_rwlock_wrlock(&rwlock), ==, 0);
	start_waiter(&w[0], read_and_give);
	start_waiter(&w[1], write_and_give);
	start_waiter(&w[2], take_one);
	start_waiter(&w[3], wait_until_ready);
	CHECK_INT(pthread_rwlock_unlock(&rwlock), ==, 0);
	CHECK_OK(sem_post(&sem));
	pthread_mutex_lock(&mutex);
	is_ready = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_join(w[i].thread, NULL);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, "read_and_give").waits, ==, 1);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, "write_and_give").waits, ==, 1);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, "take_one").waits, ==, 1);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, "wait_until_ready").waits, >=, 1);
	/* of the lock for readers and writers */
	CHECK_U64(sums_of(COATI_LOCKS_MUTEX, NULL).waits, >=, 2);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, "take_one").ns, <=, w[2].waited_ns);
}

#define THREADS 4
static uint64_t measured_ns[THREADS];
static pthread_barrier_t barrier;

static void *contend(void *arg)
{
	uint64_t *mine = arg;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 2000; i++) {
		uint64_t begin = now_ns();

		pthread_mutex_lock(&mutex);
		*mine += now_ns() - begin;
		sched_yield(); /* to those who wait */
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

TEST_LIMIT(locks_under_contention_are_balanced, 60)
{
	pthread_t threads[THREADS];
	uint64_t measured = 0;
	struct sums m, b;

	start(1, 1);
	CHECK_INT(pthread_barrier_init(&barrier, NULL, THREADS), ==, 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, contend, &measured_ns[i]), ==, 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		measured += measured_ns[i];
	}
	m = sums_of(COATI_LOCKS_MUTEX, NULL);
	b = sums_of(COATI_LOCKS_BLOCK, NULL);
	test_note("%" PRIu64 " waits of %" PRIu64 " ns, charged %" PRIu64 " of %" PRIu64
		  " ns, %" PRIu64 " unseen",
		  b.waits, b.ns, m.waits, m.ns, stats().unseen);
	CHECK_U64(b.waits, >, 0);
	CHECK_U64(m.waits + stats().unseen + stats().untracked, ==, b.waits);
	CHECK_U64(m.ns, <=, b.ns);
	CHECK_U64(b.ns, <=, measured);
}

/* ---- chance ---- */

TEST(locks_one_in_ten_stands_for_all_within_what_chance_allows)
{
	const double n = 20000, fraction = 10;
	struct coati_wait w;
	double waits;
	char lock;

	start((uint64_t)fraction, 0);
	for (int i = 0; i < (int)n; i++) {
		coati_wait_begin(&w, &lock);
		coati_wait_release(&lock);
		coati_wait_end(&w);
	}
	waits = (double)sums_of(COATI_LOCKS_MUTEX, NULL).waits;
	CHECK(fabs(waits - n) < 4 * sqrt(n * (fraction - 1)));
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, NULL).waits, ==, 0);
	CHECK_U64(stats().unseen, ==, 0);
}

TEST(locks_block_rate_scales_short_waits_and_takes_long_ones)
{
	const double n = 20000, rate = 1000, ns = 50, p = ns / rate;
	struct sums s;

	start(0, (uint64_t)rate);
	for (int i = 0; i < (int)n; i++)
		coati_locks_block((uint64_t)ns, __builtin_frame_address(0));
	s = sums_of(COATI_LOCKS_BLOCK, NULL);
	CHECK(fabs((double)s.waits - n) < 4 * sqrt(n * (1 - p) / p));
	CHECK(fabs((double)s.ns - n * ns) < 4 * ns * sqrt(n * (1 - p) / p));
	for (int i = 0; i < 10; i++)
		coati_locks_block(5000, __builtin_frame_address(0));
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, NULL).ns, ==, s.ns + 50000);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, NULL).waits, ==, s.waits + 10);
}

/* ---- the same results ---- */

TEST(locks_answer_as_the_plain_calls_do)
{
	struct timespec past = { 1, 0 };
	pthread_mutexattr_t attr;
	pthread_mutex_t strict;
	int r;

	for (int on = 0; on < 2; on++) {
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
		CHECK_INT(pthread_mutex_init(&strict, &attr), ==, 0);
#ifndef UNDER_TSAN /* which has its own word for this */
		CHECK_INT(pthread_mutex_unlock(&strict), ==, EPERM);
#endif
		CHECK_INT(pthread_mutex_lock(&strict), ==, 0);
		CHECK_INT(pthread_mutex_lock(&strict), ==, EDEADLK);
		CHECK_INT(pthread_mutex_unlock(&strict), ==, 0);
		CHECK_INT(pthread_mutex_lock(&mutex), ==, 0);
		CHECK_INT(pthread_mutex_timedlock(&mutex, &past), ==, ETIMEDOUT);
		CHECK_INT(pthread_cond_timedwait(&cond, &mutex, &past), ==, ETIMEDOUT);
		CHECK_INT(pthread_mutex_unlock(&mutex), ==, 0);
		CHECK_OK(sem_init(&sem, 0, 1));
		CHECK_OK(sem_timedwait(&sem, &past));
		r = sem_timedwait(&sem, &past) < 0 ? errno : 0;
		CHECK_INT(r, ==, ETIMEDOUT);
		CHECK_INT(pthread_rwlock_rdlock(&rwlock), ==, 0);
		CHECK_INT(pthread_rwlock_timedrdlock(&rwlock, &past), ==, 0);
		CHECK_INT(pthread_rwlock_timedwrlock(&rwlock, &past), ==, ETIMEDOUT);
		CHECK_INT(pthread_rwlock_unlock(&rwlock), ==, 0);
		CHECK_INT(pthread_rwlock_unlock(&rwlock), ==, 0);
		start(1, 1);
	}
	CHECK_U64(stats().unseen, ==, 3); /* a deadlock that was not, and two that waited in vain */
	CHECK_U64(sums_of(COATI_LOCKS_MUTEX, NULL).waits, ==, 0);
}

TEST(locks_refuse_what_cannot_be_and_stop)
{
	struct coati_locks_opts o = { .size = sizeof(o), .mutex_fraction = UINT64_MAX };
	struct coati_wait w;
	char lock;

	CHECK_ERR(coati_locks_write(COATI_LOCKS_BLOCK, 1, 0, NULL), -ESRCH);
	CHECK_ERR(coati_locks_start(&o, NULL), -EINVAL);
	CHECK_OK(coati_locks_start(NULL, NULL));
	CHECK_ERR(coati_locks_write(COATI_LOCKS_BLOCK, 1, 4, NULL), -EINVAL);
	CHECK_ERR(coati_locks_write((enum coati_locks_profile)2, 1, 0, NULL), -EINVAL);
	start(1, 1);
	coati_locks_stop();
	coati_wait_begin(&w, &lock);
	coati_wait_release(&lock);
	coati_wait_end(&w);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, NULL).waits, ==, 0);
}

TEST(locks_waited_for_at_once_are_more_than_there_is_room_for)
{
	static struct coati_wait waits[4000];
	static char locks[4000 * 8];

	start(1, 1);
	for (int i = 0; i < 4000; i++)
		coati_wait_begin(&waits[i], &locks[8 * i]);
	for (int i = 0; i < 4000; i++)
		coati_wait_release(&locks[8 * i]);
	for (int i = 0; i < 4000; i++)
		coati_wait_end(&waits[i]);
	CHECK_U64(stats().untracked, >, 0);
	CHECK_U64(sums_of(COATI_LOCKS_MUTEX, NULL).waits + stats().untracked, ==, 4000);
	CHECK_U64(sums_of(COATI_LOCKS_BLOCK, NULL).waits, ==, 4000);
}

#ifndef UNDER_TSAN /* which finds that the child leaks the thread */
TEST_LIMIT(locks_of_a_child_go_on_alone, 60)
{
	struct waiter w = { .tid = 0 };
	int status;
	pid_t pid;

	start(1, 1);
	CHECK_INT(pthread_mutex_lock(&mutex), ==, 0);
	start_waiter(&w, take_and_give);
	pid = fork();
	if (!pid) {
		pthread_mutex_unlock(&mutex); /* nobody waits for it here */
		_exit(sums_of(COATI_LOCKS_MUTEX, NULL).waits == 0 && take_and_give() == 0 ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	let_them_wait();
	pthread_join(w.thread, NULL);
	CHECK_U64(sums_of(COATI_LOCKS_MUTEX, NULL).waits, ==, 1);
}
#endif
