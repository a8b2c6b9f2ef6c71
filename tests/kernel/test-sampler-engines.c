/* SPDX-License-Identifier: MIT */
/* The engines of the sampler besides perf events, and what they sample. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/clock.h"
#include "kernel/need.h"
#include "kernel/sampler-tape.h"
#include "live/sampler/sampler.h"

/* What was used since the last tick that found the process running is still to come: several of
 * them on a machine that is busy. */
static bool is_most(enum coati_sampler_engine engine)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t before, used;

	start_sampler(1000, engine);
	before = usage_ns();
	burn(200 * NSEC_PER_MSEC);
	used = usage_ns() - before;
	stop_and_read(&stats);
	test_note("%llu ns used, %llu ns in %llu samples", (unsigned long long)used,
		  (unsigned long long)stats.cpu_ns, (unsigned long long)stats.samples);
	CHECK_INT(stats.engine, ==, engine);
	CHECK(has_comment("the kernel checks CPU-time timers at its tick"));
	CHECK(has_comment(engine == COATI_SAMPLER_TIMER
				  ? "engine: one timer over the CPU time"
				  : "engine: a timer over the CPU time of every thread"));
	return stats.cpu_ns <= used + used / 10 && stats.cpu_ns >= used / 4 * 3;
}

static bool timer_finds_most(void)
{
	return is_most(COATI_SAMPLER_TIMER);
}

/* Off by chance: see try_often(). Wrong: half of the CPU time is missing, in each try. */
TEST_LIMIT(sampler_by_timer_stands_for_all_cpu_time, 120)
{
	need_signals();
	try_often(timer_finds_most);
}

static bool thread_timers_find_most(void)
{
	return is_most(COATI_SAMPLER_THREADS);
}

/* Off by chance: see try_often(). Wrong: half of the CPU time is missing, in each try. */
TEST_LIMIT(sampler_by_timers_on_threads_stands_for_all_cpu_time, 120)
{
	need_signals();
	try_often(thread_timers_find_most);
}

/* One that runs at the start, and one that comes later and is found. On a busy machine ticks may
 * find others for a while. */
static bool later_threads_are_found(void)
{
	struct burnt b = { .half_ns = 100 * NSEC_PER_MSEC };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	pthread_t thread;

	start_sampler(1000, COATI_SAMPLER_THREADS);
	CHECK_INT(pthread_create(&thread, NULL, burn_in_thread, &b), ==, 0);
	burn(50 * NSEC_PER_MSEC);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
	stop_and_read(&stats);
	return share_of(profile.threads, (uint64_t)b.tid)->samples > 0 &&
	       share_of(profile.threads, (uint64_t)getpid())->samples > 0;
}

/* Off by chance: see try_often(). Wrong: later threads are never found. */
TEST_LIMIT(sampler_by_timers_finds_threads_that_come_later, 120)
{
	need_signals();
	try_often(later_threads_are_found);
}

static int waits[2];

static void *wait_in_read(void *arg)
{
	char byte;

	*(int32_t *)arg = (int32_t)syscall(SYS_gettid);
	/* begun again by the kernel after each signal */
	return read(waits[0], &byte, 1) == 1 ? arg : NULL;
}

/* Waiting counts, and is not cut short. */
TEST(sampler_of_wall_time_sees_threads_that_wait)
{
	struct coati_sampler_opts o = { .size = sizeof(o),
					.rate_hz = 1000,
					.clock = COATI_SAMPLER_WALL };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	_Atomic int32_t tid = 0;
	uint64_t begin, wall;
	pthread_t thread;
	void *ret;

	need_signals();
	CHECK_OK(pipe(waits));
	CHECK_INT(pthread_create(&thread, NULL, wait_in_read, &tid), ==, 0);
	while (!tid)
		usleep(1000);
	CHECK_OK(coati_sampler_start(&o, &err));
	begin = now_ns();
	burn(50 * NSEC_PER_MSEC);
	wall = now_ns() - begin;
	CHECK_OK(write(waits[1], "x", 1) == 1 ? 0 : -errno);
	CHECK_INT(pthread_join(thread, &ret), ==, 0);
	CHECK(ret == &tid);
	stop_and_read(&stats);
	test_note("%llu ns passed for two threads, %llu ns in samples", (unsigned long long)wall,
		  (unsigned long long)stats.cpu_ns);
	CHECK_U64(share_of(profile.threads, (uint64_t)tid)->samples, >, 0);
	CHECK_U64(share_of(profile.threads, (uint64_t)getpid())->samples, >, 0);
	/* each of them all the time; late ones stand for several */
	CHECK_U64(stats.cpu_ns, >=, wall);
	CHECK_U64(stats.total_ns, ==, 0);
	CHECK(has_comment("engine: a timer over wall time on every thread"));
	CHECK(has_comment("wall"));
}

static bool one_thread_is_seen_alone(enum coati_sampler_engine engine)
{
	struct coati_sampler_opts o = { .size = sizeof(o),
					.rate_hz = 1000,
					.engine = engine,
					.flags = COATI_SAMPLER_THIS_THREAD };
	struct burnt b = { .half_ns = 50 * NSEC_PER_MSEC };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	pthread_t thread;

	CHECK_OK(coati_sampler_start(&o, &err));
	CHECK_INT(pthread_create(&thread, NULL, burn_in_thread, &b), ==, 0);
	burn(50 * NSEC_PER_MSEC);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
	stop_and_read(&stats);
	CHECK_U64(share_of(profile.threads, (uint64_t)getpid())->samples, ==, stats.samples);
	CHECK(has_comment("one thread alone is sampled"));
	return stats.samples > 0;
}

static bool one_thread_by_perf(void)
{
	return one_thread_is_seen_alone(COATI_SAMPLER_PERF);
}

static bool one_thread_by_timer(void)
{
	return one_thread_is_seen_alone(COATI_SAMPLER_THREADS);
}

/*
 * Off by chance: see try_often(). Wrong: the one thread is never found; a sample of another fails
 * at once.
 */
TEST_LIMIT(sampler_of_one_thread_sees_no_other, 120)
{
	need_signals();
	try_often(one_thread_by_perf);
	try_often(one_thread_by_timer);
}

TEST(sampler_refuses_what_an_engine_cannot)
{
	struct coati_sampler_opts o = { .size = sizeof(o),
					.engine = COATI_SAMPLER_PERF,
					.clock = COATI_SAMPLER_WALL };

	CHECK_ERR(coati_sampler_start(&o, &err), -EINVAL);
	CHECK(strstr(err.text, "only thread timers measure wall time"));
	o = (struct coati_sampler_opts){ .size = sizeof(o),
					 .engine = COATI_SAMPLER_TIMER,
					 .flags = COATI_SAMPLER_THIS_THREAD };
	CHECK_ERR(coati_sampler_start(&o, &err), -EINVAL);
	CHECK(strstr(err.text, "cannot sample a single thread"));
	CHECK_ERR(coati_sampler_stop(-1, NULL, NULL), -ESRCH);
}

/* One descriptor for each thread is needed, and there is none left. */
TEST(sampler_without_descriptors_takes_timers_and_says_why)
{
	struct rlimit few = { 3, 3 };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	int low = dup(0), high = dup(0); /* the lowest ones that are free */

	need_signals();
	few.rlim_cur = few.rlim_max = (rlim_t)high + 1;
	close(high); /* the start has one, for /proc/self/task, and the end two */
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &few));
	start_sampler(1000, COATI_SAMPLER_UNKNOWN);
	burn(50 * NSEC_PER_MSEC);
	close(low);
	stop_and_read(&stats);
	CHECK_INT(stats.engine, ==, COATI_SAMPLER_THREADS);
	CHECK(has_comment(
		"a better engine is not available: sampler: cannot open a descriptor for each"));
}

TEST(sampler_works_for_an_ordinary_user)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	need_signals();
	need_root();
	become_nobody();
	start_sampler(1000, COATI_SAMPLER_UNKNOWN);
	burn(100 * NSEC_PER_MSEC);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	test_note("engine %d", (int)stats.engine);
	CHECK_U64(stats.cpu_ns, >=, 50 * NSEC_PER_MSEC);
}

/* ---- exec ---- */

/* Samples itself at the highest rate and becomes another program. Its status. */
static int become_true(bool prepared)
{
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid = fork();

	CHECK_OK(pid);
	if (!pid) {
		start_sampler(10000, COATI_SAMPLER_PERF);
		burn(NSEC_PER_MSEC);
		if (prepared)
			coati_sampler_before_exec();
		execvp(argv[0], argv);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	return status;
}

TEST_LIMIT(sampler_that_is_told_before_exec_kills_no_program, 120)
{
	int killed = 0;

	need_signals();
	need_perf();
	for (int i = 0; i < 100; i++)
		CHECK_INT(become_true(true), ==, 0);
	for (int i = 0; i < 20; i++)
		killed += become_true(false) != 0;
	test_note("%d of 20 were killed that did not tell", killed);
}

static uint64_t samples_now(void)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		samples += coati_sampler_shared.slots[i].samples;
	return samples;
}

TEST(sampler_is_off_before_an_exec_and_goes_on_when_it_failed)
{
	char *argv[] = { "none", NULL };
	uint64_t samples;

	need_signals();
	need_perf();
	start_sampler(10000, COATI_SAMPLER_PERF);
	coati_sampler_before_exec();
	samples = samples_now();
	burn(20 * NSEC_PER_MSEC);
	CHECK_U64(samples_now(), ==, samples);
	CHECK_INT(execv("/nonexistent/none", argv), ==, -1);
	coati_sampler_exec_failed();
	CHECK_INT(errno, ==, ENOENT);
	while (samples_now() == samples)
		burn(NSEC_PER_MSEC);
	CHECK_OK(coati_sampler_stop(-1, NULL, NULL));
	coati_sampler_before_exec(); /* nothing runs */
	coati_sampler_exec_failed();
}
