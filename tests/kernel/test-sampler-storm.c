/* SPDX-License-Identifier: MIT */
/*
 * The sampler while everything else happens: threads that come and go, modules loaded and unloaded,
 * children, memory, C++ exceptions, others who start and stop it. Nothing hangs (the runner has a
 * clock), nothing crashes, and every sample that was taken is in the profile or counted as lost.
 * Seconds here, a minute each in scripts/soak.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/clock.h"
#include "kernel/need.h"
#include "kernel/sampler-tape.h"
#include "live/sampler/sampler.h"
#include "unit/sampler-frames.h"

#define ROUNDS	 4   /* times test_rounds() */
#define ROUND_MS 500 /* and 1500 in the long form: 60 s */
#define WORKERS	 5

static _Atomic bool is_over;
static _Atomic uint64_t done[WORKERS]; /* what each of them did */

static uint64_t round_ns(void)
{
	return (test_rounds(1) > 1 ? 3 : 1) * ROUND_MS * NSEC_PER_MSEC;
}

/* ---- what happens ---- */

static void load_and_call(void)
{
	void *module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);
	frames_burn_fn fn = module ? (frames_burn_fn)dlsym(module, "coati_frames_burn") : NULL;

	if (fn)
		fn(12, 2000);
	if (module)
		dlclose(module);
}

static int sample_in_child(void)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = top_rate_hz() };

	if (coati_sampler_stop(-1, NULL, NULL) != -ESRCH)
		return 1;
	if (coati_sampler_start(&o, NULL) < 0)
		return 2;
	burn_half(parts[0]);
	return coati_sampler_stop(-1, NULL, NULL) < 0 ? 3 : 0;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
/* ASan's allocator may be locked for ever there, by a thread that is gone */
#define CHILD_MAY_ALLOCATE 0
#endif
#endif
#ifndef CHILD_MAY_ALLOCATE
#define CHILD_MAY_ALLOCATE 1
#endif

/* Every eighth child has a sampler of its own. */
static void fork_and_wait(uint64_t n)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(n % 8 || !CHILD_MAY_ALLOCATE ? 0 : sample_in_child());
	if (pid > 0) {
		CHECK_INT(waitpid(pid, &status, 0), ==, pid);
		CHECK_INT(status, ==, 0);
	}
}

static void allocate(uint64_t n)
{
	void *some[64];

	for (uint32_t i = 0; i < 64; i++)
		some[i] = malloc((n * 37 + i * 101) % 5000);
	for (uint32_t i = 0; i < 64; i++)
		free(some[i]);
}

static void *burn_a_little(void *arg)
{
	burn_half(parts[2] / 8);
	return arg;
}

static void start_and_join(void)
{
	pthread_t threads[2];
	int r[2];

	for (int i = 0; i < 2; i++)
		r[i] = pthread_create(&threads[i], NULL, burn_a_little, NULL);
	for (int i = 0; i < 2; i++)
		if (r[i] == 0)
			CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
}

/* ---- a storm of signals ---- */

static _Atomic bool race; /* whether the racer starts and stops the sampler */

static void *worker(void *arg)
{
	uintptr_t who = (uintptr_t)arg;

	for (uint64_t n = 0; !is_over; n++) {
		struct coati_sampler_opts o = { .size = sizeof(o),
						.rate_hz = top_rate_hz(),
						.stacks = n % 2 ? COATI_SAMPLER_STACKS_POINTERS
								: COATI_SAMPLER_STACKS_AUTO };

		if (who == 0)
			load_and_call();
		else if (who == 1)
			fork_and_wait(n);
		else if (who == 2)
			start_and_join();
		else if (who == 3)
			allocate(n);
		else if (!race)
			usleep(1000);
		else if (n % 3)
			coati_sampler_start(&o, NULL);
		else
			coati_sampler_stop(-1, NULL, NULL);
		done[who]++;
	}
	return NULL;
}

static void run_workers(pthread_t *threads)
{
	for (uintptr_t i = 0; i < WORKERS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, worker, (void *)i), ==, 0);
}

static void end_workers(const pthread_t *threads)
{
	is_over = true;
	for (int i = 0; i < WORKERS; i++) {
		CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
		CHECK_U64(done[i], >, 0);
	}
}

/* Taken by handlers since the start of the run. */
static uint64_t taken(void)
{
	uint64_t n = atomic_load(&coati_sampler_shared.no_slot);

	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		n += coati_sampler_shared.slots[i].samples;
	return n;
}

static uint64_t all; /* samples of all rounds: a tick may find others for as long as one takes */

static void sample_round(uint32_t rate, enum coati_sampler_engine engine)
{
	uint64_t end = now_ns() + round_ns();
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	start_sampler(rate, engine);
	while (now_ns() < end)
		burn_half(parts[0]);
	stop_and_read(&stats);
	CHECK_U64(profile.samples, ==, stats.samples);
	CHECK_U64(stats.samples + stats.lost + stats.replaced, ==, taken());
	all += stats.samples;
	test_note("%llu samples, %llu lost, %llu cut, %llu stacks",
		  (unsigned long long)stats.samples, (unsigned long long)stats.lost,
		  (unsigned long long)stats.cut, (unsigned long long)stats.stacks);
	coati_strbuf_fini(&profile.bytes);
}

/* Two who start and stop as they like: each call works or says why not. */
static void race_round(void)
{
	uint64_t end = now_ns() + round_ns();
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = top_rate_hz() };

	race = true;
	while (now_ns() < end) {
		int r = coati_sampler_start(&o, NULL);

		CHECK(r == 0 || r == -EBUSY);
		burn_half(parts[2]);
		r = coati_sampler_stop(-1, NULL, NULL);
		CHECK(r == 0 || r == -ESRCH);
	}
	race = false;
	/* the other one may be in the middle of its last */
	while (coati_sampler_start(&o, NULL) == -EBUSY)
		coati_sampler_stop(-1, NULL, NULL);
	CHECK_OK(coati_sampler_stop(-1, NULL, NULL));
}

TEST_LIMIT(sampler_in_a_storm_counts_all_samples, 60)
{
	static const enum coati_sampler_engine engines[] = { COATI_SAMPLER_PERF,
							     COATI_SAMPLER_THREADS };
	pthread_t threads[WORKERS];

	need_signals();
	run_workers(threads);
	for (unsigned int i = 0; i < test_rounds(ROUNDS); i++) {
		if (i % 2)
			race_round();
		else
			sample_round(top_rate_hz(), engines[i / 2 % 2]);
	}
	end_workers(threads);
	CHECK_U64(all, >, 0);
}

/* ---- deadlocks ---- */

typedef int (*throw_fn)(int depth);

/* All of it in a row, in one thread and in another beside it: each place of each is interrupted
 * some time. */
static void *do_everything(void *arg)
{
	throw_fn throw_and_catch = (throw_fn)(uintptr_t)arg;

	for (uint64_t n = 0; !is_over; n++) {
		for (int i = 0; i < 20; i++)
			CHECK_INT(throw_and_catch(8), ==, 9);
		load_and_call();
		allocate(n);
		if (n % 16 == 0)
			fork_and_wait(n / 16);
		done[0]++;
	}
	return NULL;
}

TEST_LIMIT(sampler_never_waits_for_what_it_interrupts, 60)
{
	void *module = dlopen(COATI_SAMPLER_THROW, RTLD_NOW), *fn;
	pthread_t threads[2];

	need_signals();
	if (!CHILD_MAY_ALLOCATE)
		test_skip("ASan in a C program cannot throw: it looked for the C++ runtime when it "
			  "began");
	if (!module)
		test_skip("no C++ compiler made the module that throws: %s", dlerror());
	fn = dlsym(module, "coati_throw_and_catch");
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, do_everything, fn), ==, 0);
	for (unsigned int i = 0; i < test_rounds(ROUNDS); i++)
		sample_round(4000, COATI_SAMPLER_PERF);
	is_over = true;
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
	CHECK_U64(done[0], >, 0);
	CHECK_U64(all, >, 0);
}
