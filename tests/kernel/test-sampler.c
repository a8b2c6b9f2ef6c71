/* SPDX-License-Identifier: MIT */
/* What the profiles of the sampler say, against functions and threads that measure their own CPU
 * time; and how it lives with its host. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/fiber.h>
#include <coati/live.h>
#include <coati/sampler.h>

#include "base/clock.h"
#include "kernel/need.h"
#include "kernel/sampler-tape.h"
#include "live/sampler/engine.h"
#include "live/sampler/objects.h"

/* ---- what it says ---- */

static void add_functions(struct odds_share *shares)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t half, third, fifth, all;
	struct burnt b;

	start_sampler(4000, COATI_SAMPLER_PERF);
	b = burn(450 * NSEC_PER_MSEC);
	stop_and_read(&stats);
	half = samples_of_function("burn_half");
	third = samples_of_function("burn_third");
	fifth = samples_of_function("burn_fifth");
	all = half + third + fifth;
	/* the others are of looks at the clock */
	CHECK_U64(all, >=, profile.samples * 9 / 10);
	odds_share_add(&shares[0], half, all, b.half_ns, all_of(&b));
	odds_share_add(&shares[1], third, all, b.third_ns, all_of(&b));
	odds_share_add(&shares[2], fifth, all, b.fifth_ns, all_of(&b));
	CHECK(has_comment("engine: perf task-clock"));
	CHECK(has_comment(" taken, 0 lost"));
}

/* False-alarm rate and power: see judge_shares(). */
TEST_LIMIT(sampler_gives_functions_their_shares, 120)
{
	need_signals();
	judge_shares(add_functions, 3);
}

/* A program that was built when there was less to tell. */
TEST(sampler_stats_are_written_as_far_as_the_caller_has_room)
{
	struct coati_sampler_stats stats = { .size = offsetof(struct coati_sampler_stats, samples),
					     .samples = 12345 };

	need_signals();
	start_sampler(1000, COATI_SAMPLER_PERF);
	CHECK_OK(coati_sampler_stop(-1, &stats, NULL));
	CHECK_U64(stats.period_ns, ==, 1000000);
	CHECK_U64(stats.samples, ==, 12345);
	CHECK_U64(stats.size, ==, offsetof(struct coati_sampler_stats, samples));
}

/*
 * Work in pieces of a fiftieth of the period: so long it goes on past the end of its turn, and the
 * clock has a small share.
 */
static void burn_until(void (*fn)(uint64_t), uint64_t at, uint64_t rounds)
{
	while (thread_ns() < at)
		fn(rounds);
}

/* Two functions in turns, each for half of the period that is asked for: samples with that period
 * would all hit the same one. */
static bool work_in_step_is_seen(void)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t at, even, odd, rounds = rounds_for(10000);

	start_sampler(2000, COATI_SAMPLER_PERF);
	at = thread_ns();
	for (int i = 0; i < 1200; i++) {
		at += 250000;
		burn_until(i % 2 ? burn_half : burn_third, at, rounds);
	}
	stop_and_read(&stats);
	even = samples_of_function("burn_third");
	odd = samples_of_function("burn_half");
	test_note("%llu and %llu of %llu samples", (unsigned long long)even,
		  (unsigned long long)odd, (unsigned long long)stats.samples);
	CHECK_U64(even + odd, >=, stats.samples / 2);
	return 20 * even < 29 * odd && 20 * odd < 29 * even;
}

/*
 * 600 samples with a period that is 0.5 to 2 % off pass through 3 to 12 turns of both, so one of
 * them has 4/7 at most (of 3.5 turns, 2 are its own): a factor of 1.33; 1.29 was the largest of 36
 * tries, 1.45 is off. Wrong: the period that was asked for. Its phase does not move, and it hits
 * both only where a turn ends within the last piece of work, in 4 % of the tries: power 0.999.
 * Where the host takes CPU time the phase moves: 35 of 42 tries were off there (power 0.96).
 */
TEST_LIMIT(sampler_keeps_step_with_nothing, 120)
{
	need_signals();
	try_often(work_in_step_is_seen);
}

static void add_threads(struct odds_share *shares)
{
	struct burnt b[2] = { { .half_ns = 220 * NSEC_PER_MSEC },
			      { .half_ns = 220 * NSEC_PER_MSEC } };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	pthread_t threads[2];
	uint64_t first, both;

	start_sampler(4000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, burn_in_thread, &b[i]), ==, 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
	stop_and_read(&stats);
	first = share_of(profile.threads, (uint64_t)b[0].tid)->samples;
	both = first + share_of(profile.threads, (uint64_t)b[1].tid)->samples;
	odds_share_add(shares, first, both, all_of(&b[0]), all_of(&b[0]) + all_of(&b[1]));
}

/* False-alarm rate and power: see judge_shares(). */
TEST_LIMIT(sampler_gives_equal_threads_equal_shares, 120)
{
	need_signals();
	judge_shares(add_threads, 1);
}

static bool is_near(uint64_t got, uint64_t want, uint64_t percent)
{
	uint64_t slack = want * percent / 100;

	return got <= want + slack && got >= want - slack;
}

/* The same of samples: an ordinary user has none of the kernel, which works on others' interrupts
 * meanwhile, too. */
static bool is_seen(uint64_t got, uint64_t want, uint64_t percent)
{
	uint64_t unseen = geteuid() ? 5 : 0;

	return got <= want + want * percent / 100 && got >= want - want * (percent + unseen) / 100;
}

/*
 * The CPU time of the process, and the time of the samples, in which is also what the host took
 * while the thread ran.
 */
static bool is_usage(uint32_t rate, uint64_t percent)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_event *clock = counted_clock(0);
	uint64_t before, own, counted, used;

	start_sampler(rate, COATI_SAMPLER_PERF);
	before = usage_ns();
	own = thread_ns();
	counted = counted_ns(clock);
	burn(300 * NSEC_PER_MSEC);
	counted = counted_ns(clock) - counted;
	own = thread_ns() - own;
	used = usage_ns() - before;
	counted = counted > own ? used + counted - own : used;
	stop_and_read(&stats);
	coati_event_close(&clock);
	test_note("%u Hz: %llu ns used, %llu ns counted, %llu ns in %llu samples, %llu ns in all",
		  rate, (unsigned long long)used, (unsigned long long)counted,
		  (unsigned long long)stats.cpu_ns, (unsigned long long)stats.samples,
		  (unsigned long long)stats.total_ns);
	CHECK_U64(stats.lost, ==, 0);
	return is_seen(stats.cpu_ns, counted, percent) && is_near(stats.total_ns, used, percent) &&
	       is_seen(stats.samples * NSEC_PER_SEC / rate, counted, 5);
}

static bool cpu_time_is_found(void)
{
	return is_usage(1000, 2);
}

/*
 * Off by chance: see try_often(). Wrong: 5 % of the CPU time are missing or too many, in each try.
 */
TEST_LIMIT(sampler_finds_all_cpu_time, 120)
{
	need_signals();
	try_often(cpu_time_is_found);
}

/* Far above the kernel's tick. Each sample costs an interrupt, which is in the time that the next
 * one waits for, and on some kernels not in the usage. */
static bool rate_is_kept(void)
{
	return is_usage(4000, 5);
}

/*
 * Off by chance: see try_often(). Wrong: 10 % of the samples are missing or too many, in each try.
 */
TEST_LIMIT(sampler_keeps_4000_samples_a_second, 120)
{
	need_signals();
	try_often(rate_is_kept);
}

#define SHORT_LIVES 40

/* Each of them is seen, and the kernel's way of beginning each life with a whole period costs each
 * at most that. */
static bool short_lives_are_seen(void)
{
	static struct burnt b[SHORT_LIVES];
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_event *clock = counted_clock(COATI_ATTR_INHERIT), *own = counted_clock(0);
	uint64_t used = 0, all, sampled = 0, ends = SHORT_LIVES * UINT64_C(255000);
	bool ok = true;

	start_sampler(4000, COATI_SAMPLER_PERF);
	all = counted_ns(clock) - counted_ns(own);
	for (int i = 0; i < SHORT_LIVES; i++) {
		pthread_t thread;

		b[i].half_ns = 5 * NSEC_PER_MSEC;
		CHECK_INT(pthread_create(&thread, NULL, burn_in_thread, &b[i]), ==, 0);
		CHECK_INT(pthread_join(thread, NULL), ==, 0);
	}
	all = counted_ns(clock) - counted_ns(own) - all;
	stop_and_read(&stats);
	coati_event_close(&clock);
	coati_event_close(&own);
	for (int i = 0; i < SHORT_LIVES; i++) {
		uint64_t got = share_of(profile.threads, (uint64_t)b[i].tid)->samples;

		ok = ok && got > 0;
		used += b[i].thread_ns;
		sampled += got * 250000;
	}
	test_note("%llu ns used up to the last looks, %llu ns counted, %llu ns in samples",
		  (unsigned long long)used, (unsigned long long)all, (unsigned long long)sampled);
	/*
	 * two in a hundred for the period, and one for the rest; what a thread does after its last
	 * look is counted alone
	 */
	return ok && sampled >= used - used / 33 - ends && sampled <= all + all / 33;
}

/*
 * Off by chance: see try_often(). Wrong: a tenth of the threads' time is missed or counted twice,
 * in each try.
 */
TEST_LIMIT(sampler_sees_threads_that_live_for_5_ms, 120)
{
	need_signals();
	try_often(short_lives_are_seen);
}

/* ---- short threads ---- */

static void *burn_shortly(void *arg)
{
	burn_half(*(const uint64_t *)arg);
	return NULL;
}

static void run_short_threads(uint64_t cpu_ns)
{
	uint64_t end = usage_ns() + cpu_ns, rounds = rounds_for(100 * 1000);

	while (usage_ns() < end) {
		pthread_t t[4];

		for (int i = 0; i < 4; i++)
			CHECK_INT(pthread_create(&t[i], NULL, burn_shortly, &rounds), ==, 0);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
}

/* Each thread uses about a tenth of a period, and its end is inside the kernel. */
static bool short_threads_are_seen(enum coati_sampler_engine engine)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t hits;

	start_sampler(1000, engine);
	run_short_threads(800 * NSEC_PER_MSEC);
	stop_and_read(&stats);
	hits = samples_of_function("burn_half");
	test_note("%llu ns used, %llu ns in samples, %llu of them by the timer; %llu of %llu in "
		  "the threads",
		  (unsigned long long)stats.total_ns, (unsigned long long)stats.cpu_ns,
		  (unsigned long long)stats.rest_ns, (unsigned long long)hits,
		  (unsigned long long)stats.samples);
	CHECK_U64(stats.rest_ns, <=, stats.cpu_ns);
	if (stats.rest_ns)
		CHECK(has_comment("short threads: a timer over the CPU time of the process"));
	CHECK(has_comment("% of it in samples"));
	return stats.cpu_ns >= stats.total_ns / 2 && hits * 10 >= stats.samples;
}

static bool short_threads_by_perf(void)
{
	return short_threads_are_seen(COATI_SAMPLER_PERF);
}

static bool short_threads_by_timers(void)
{
	return short_threads_are_seen(COATI_SAMPLER_THREADS);
}

/* Off by chance: see try_often(). Wrong: 1 to 20 % are seen, in each try. */
TEST_LIMIT(sampler_sees_threads_shorter_than_a_period, 120)
{
	struct utsname u;

	need_signals();
	CHECK_OK(uname(&u));
	if (!coati_sampler_can_rest())
		test_skip("Linux %s gives signals of the process to its first thread", u.release);
	try_often(short_threads_by_perf);
	try_often(short_threads_by_timers);
}

static bool long_threads_need_no_timer(void)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	start_sampler(1000, COATI_SAMPLER_PERF);
	burn(300 * NSEC_PER_MSEC);
	stop_and_read(&stats);
	CHECK_U64(stats.rest_ns, ==, 0);
	return !has_comment("short threads:");
}

/* Where nothing is missing there is no timer over the process, whose signals may end calls. Off by
 * chance where samples come late: see try_often(). Wrong: the timer is there in each try. */
TEST_LIMIT(sampler_of_long_threads_needs_no_timer_over_the_process, 60)
{
	need_signals();
	try_often(long_threads_need_no_timer);
}

static uint64_t burn_with(const char *tenant, uint64_t cpu_ns)
{
	uint64_t start = thread_ns();

	COATI_LABEL("tenant", tenant);
	burn(cpu_ns);
	return thread_ns() - start;
}

static void add_labels(struct odds_share *shares)
{
	uint64_t large = 0, small = 0;
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	start_sampler(4000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 15; i++) {
		large += burn_with("large", 20 * NSEC_PER_MSEC);
		small += burn_with("small", 10 * NSEC_PER_MSEC);
	}
	stop_and_read(&stats);
	odds_share_add(shares, samples_of_label("large"), profile.samples, large, large + small);
}

/* False-alarm rate and power: see judge_shares(). */
TEST_LIMIT(sampler_has_the_labels_of_the_thread, 120)
{
	need_signals();
	judge_shares(add_labels, 1);
}

static struct coati_label_key tenant_key = COATI_LABEL_KEY("tenant");

static struct coati_fiber *fiber_with(const char *tenant)
{
	struct coati_fiber *f = NULL;

	CHECK_OK(coati_fiber_create(&f, &err));
	CHECK_OK(coati_fiber_switch(f));
	CHECK_OK(coati_label_set(&tenant_key, tenant));
	CHECK_OK(coati_fiber_switch(NULL));
	return f;
}

static uint64_t burn_on(struct coati_fiber *f, uint64_t cpu_ns)
{
	uint64_t start = thread_ns();

	CHECK_OK(coati_fiber_switch(f));
	burn(cpu_ns);
	return thread_ns() - start;
}

static void add_fibers(struct odds_share *shares)
{
	struct coati_fiber *many = fiber_with("large"), *few = fiber_with("small");
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t large = 0, small = 0;

	start_sampler(4000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 15; i++) {
		large += burn_on(many, 20 * NSEC_PER_MSEC);
		small += burn_on(few, 10 * NSEC_PER_MSEC);
	}
	CHECK_OK(coati_fiber_switch(NULL));
	stop_and_read(&stats);
	odds_share_add(&shares[0], samples_of_label("large"), profile.samples, large,
		       large + small);
	odds_share_add(&shares[1], samples_of_label("small"), profile.samples, small,
		       large + small);
	CHECK_OK(coati_fiber_end(&many));
	CHECK_OK(coati_fiber_end(&few));
}

/* False-alarm rate and power: see judge_shares(). */
TEST_LIMIT(sampler_has_the_labels_of_the_fiber_that_runs, 120)
{
	need_signals();
	judge_shares(add_fibers, 2);
}

/* ---- how it lives with its host ---- */

TEST(sampler_is_one_at_a_time_and_starts_again)
{
	struct coati_sampler_opts wrong = { .size = sizeof(wrong), .rate_hz = 10001 };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	need_signals();
	CHECK_ERR(coati_sampler_stop(-1, NULL, &err), -ESRCH);
	CHECK_ERR(coati_sampler_start(&wrong, &err), -EINVAL);
	for (int i = 0; i < 5; i++) {
		start_sampler(4000, i % 2 ? COATI_SAMPLER_TIMER : COATI_SAMPLER_PERF);
		CHECK_ERR(coati_sampler_start(NULL, &err), -EBUSY);
		burn(30 * NSEC_PER_MSEC);
		CHECK_OK(coati_sampler_stop(-1, &stats, &err));
		/* on a busy machine a tick may find others for as long */
		CHECK(stats.samples > 0 || i % 2);
	}
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CHILD_MAY_ALLOCATE 0 /* its allocator may be locked for ever there */
#endif
#endif
#ifndef CHILD_MAY_ALLOCATE
#define CHILD_MAY_ALLOCATE 1
#endif

static _Atomic bool is_over;

/* Other tables each time, so that somebody is at them nearly always. */
static void *look_often(void *arg)
{
	for (uint64_t n = 0; !is_over; n++)
		coati_sampler_objects_refresh((UINT64_C(1) << 20) + n % 2);
	return arg;
}

/* Handlers of fork() that are put there now are too late for the fork that is under way. */
static pthread_t looker;

static void start_late(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	start_sampler(1000, COATI_SAMPLER_PERF);
	CHECK_INT(pthread_create(&looker, NULL, look_often, NULL), ==, 0);
	burn(5 * NSEC_PER_MSEC);
}

static int sample_in_child(void)
{
	if (coati_sampler_stop(-1, NULL, NULL) != -ESRCH)
		return 1;
	if (coati_sampler_start(NULL, NULL) < 0)
		return 2;
	return coati_sampler_stop(-1, NULL, NULL) < 0 ? 3 : 0;
}

TEST(sampler_of_a_child_that_was_made_during_the_first_start_is_its_own)
{
	int status;
	pid_t pid;

	need_signals();
	if (!CHILD_MAY_ALLOCATE)
		test_skip("ASan's allocator may be locked for ever in a child of threads");
	CHECK_INT(pthread_atfork(start_late, NULL, NULL), ==, 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(sample_in_child());
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	is_over = true;
	CHECK_INT(pthread_join(looker, NULL), ==, 0);
	CHECK_OK(coati_sampler_stop(-1, NULL, &err));
}

static _Atomic int host_signals;

static void on_host_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&host_signals, 1);
}

TEST(sampler_leaves_the_hosts_own_signals_to_the_host)
{
	struct sigaction act = { .sa_handler = on_host_signal };
	int taken = 0;

	need_signals();
	CHECK_OK(sigaction(SIGTRAP, &act, NULL));
	CHECK_OK(sigaction(SIGPROF, &act, NULL));
	for (enum coati_sampler_engine e = COATI_SAMPLER_PERF; e <= COATI_SAMPLER_THREADS; e++) {
		struct coati_sampler_stats stats = { .size = sizeof(stats) };

		start_sampler(1000, e);
		for (int i = 0; i < 5; i++, taken += 2) {
			raise(SIGTRAP);
			raise(SIGPROF);
			burn(5 * NSEC_PER_MSEC);
		}
		CHECK_OK(coati_sampler_stop(-1, &stats, &err));
		CHECK(stats.samples > 0 || e != COATI_SAMPLER_PERF); /* timers need more time */
		CHECK_INT(atomic_load(&host_signals), ==, taken);
	}
}

TEST(sampler_keeps_errno)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t start;

	need_signals();
	start_sampler(top_rate_hz(), COATI_SAMPLER_PERF);
	for (start = thread_ns(); thread_ns() - start < 20 * NSEC_PER_MSEC;) {
		errno = 4242;
		burn_half(parts[0] / 4);
		CHECK_INT(errno, ==, 4242);
	}
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	CHECK_U64(stats.samples, >, 0);
}

static void *burn_on_a_small_stack(void *arg)
{
	static char stack[16384];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) }, old;
	sigset_t all;

	sigaltstack(&alternate, &old);
	burn(20 * NSEC_PER_MSEC);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	burn(20 * NSEC_PER_MSEC);
	sigaltstack(&old, NULL); /* ASan has one of its own */
	return arg;
}

TEST(sampler_survives_alternate_stacks_and_blocked_signals)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	pthread_t thread;

	need_signals();
	start_sampler(4000, COATI_SAMPLER_PERF);
	CHECK_INT(pthread_create(&thread, NULL, burn_on_a_small_stack, NULL), ==, 0);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	CHECK_U64(stats.samples, >=, 60);
}

TEST(sampler_after_fork_is_the_parents)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	int status;
	pid_t pid;

	need_signals();
	start_sampler(4000, COATI_SAMPLER_PERF);
	burn(10 * NSEC_PER_MSEC);
	pid = fork();
	if (pid == 0) {
		CHECK_ERR(coati_sampler_stop(-1, &stats, &err), -ESRCH);
		burn(10 * NSEC_PER_MSEC);
		start_sampler(4000, COATI_SAMPLER_PERF);
		burn(20 * NSEC_PER_MSEC);
		CHECK_OK(coati_sampler_stop(-1, &stats, &err));
		_exit(stats.samples >= 40 ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	burn(20 * NSEC_PER_MSEC);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	CHECK_U64(stats.samples, >=, 80);
}
