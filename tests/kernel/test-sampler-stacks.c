/* SPDX-License-Identifier: MIT */
/* Stacks of code that keeps no frame pointers, in profiles of the sampler. */
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/clock.h"
#include "kernel/need.h"
#include "kernel/sampler-tape.h"
#include "live/sampler/sampler.h"
#include "unit/sampler-frames.h"

static void start_stacks(enum coati_sampler_stacks stacks)
{
	struct coati_sampler_opts o = {
		.size = sizeof(o), .rate_hz = 2000, .stacks = stacks, .flags = COATI_SAMPLER_NAMES
	};

	CHECK_OK(coati_sampler_start(&o, &err));
}

static volatile uint64_t below_ns = 100 * NSEC_PER_MSEC; /* as the parts above */

/* Named in the profile; the code below it keeps no frame pointers. */
__attribute__((noinline)) static void burn_below(frames_burn_fn fn, uint64_t cpu_ns)
{
	uint64_t begin = thread_ns();

	while (thread_ns() - begin < cpu_ns)
		fn(16, parts[0] / 8);
	sink = begin; /* or it were a jump */
}

TEST(sampler_follows_code_without_frame_pointers)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	need_signals();
	root = "burn_below";
	start_stacks(COATI_SAMPLER_STACKS_TABLES);
	burn_below(coati_frames_burn, below_ns);
	stop_and_read(&stats);
	test_note("%llu of %llu samples below, %llu cut, %u objects, %llu bytes",
		  (unsigned long long)profile.rooted, (unsigned long long)stats.samples,
		  (unsigned long long)stats.cut, stats.objects,
		  (unsigned long long)stats.table_bytes);
	CHECK_INT(stats.how, ==, COATI_SAMPLER_STACKS_TABLES);
	CHECK(has_comment("stacks: by unwind tables of"));
	/* some are of the start and the end, and of how the clock is asked */
	CHECK_U64(stats.samples, >=, 50);
	CHECK_U64(profile.rooted, >=, stats.samples * 9 / 10);
	CHECK_U64(stats.cut, <=, stats.samples / 10);
}

TEST(sampler_by_frame_pointers_alone_says_so)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	need_signals();
	start_stacks(COATI_SAMPLER_STACKS_POINTERS);
	burn(20 * NSEC_PER_MSEC);
	stop_and_read(&stats);
	CHECK_INT(stats.how, ==, COATI_SAMPLER_STACKS_POINTERS);
	CHECK_U64(stats.table_bytes, ==, 0);
	CHECK(has_comment("stacks: by frame pointers"));
}

TEST(sampler_without_memory_for_tables_says_so)
{
	struct coati_sampler_opts o = { .size = sizeof(o),
					.rate_hz = 1000,
					.max_table_bytes = 16,
					.stacks = COATI_SAMPLER_STACKS_TABLES };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };

	need_signals();
	CHECK_ERR(coati_sampler_start(&o, &err), -ENODATA);
	o.stacks = COATI_SAMPLER_STACKS_AUTO;
	CHECK_OK(coati_sampler_start(&o, &err));
	burn(20 * NSEC_PER_MSEC);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	CHECK_INT(stats.how, ==, COATI_SAMPLER_STACKS_POINTERS);
}

/* Loaded while it runs: found by the thread that folds, and gone again without harm. */
TEST(sampler_follows_what_is_loaded_later)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct sampler_objects *before;
	frames_burn_fn fn;
	void *module;

	need_signals();
	root = "burn_below";
	start_stacks(COATI_SAMPLER_STACKS_AUTO);
	before = atomic_load(&coati_sampler_objects);
	module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);
	if (!module)
		test_skip("%s", dlerror());
	fn = (frames_burn_fn)dlsym(module, "coati_frames_burn");
	while (atomic_load(&coati_sampler_objects) == before)
		usleep(1000);
	burn_below(fn, below_ns);
	stop_and_read(&stats);
	test_note("%llu of %llu samples below, %llu cut", (unsigned long long)profile.rooted,
		  (unsigned long long)stats.samples, (unsigned long long)stats.cut);
	CHECK_U64(stats.samples, >=, 50);
	CHECK_U64(profile.rooted, >=, stats.samples * 8 / 10);
	CHECK_OK(dlclose(module));
}
