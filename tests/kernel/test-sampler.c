/* SPDX-License-Identifier: MIT */
/*
 * The sampler against what is known: functions and threads that measure their own CPU time, and a profile that must say the same. Tolerances are those of the
 * sampling itself, so that another load on the machine does not matter.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/sampler.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/leb128.h"
#include "base/strbuf.h"
#include "format/gzip.h"
#include "format/proto.h"
#include "kernel/need.h"
#include "live/sampler/sampler.h"
#include "unit/sampler-frames.h"

#define SHARES_MAX 1024

static struct coati_error err;
static volatile uint64_t sink; /* written by all threads; nobody reads it */

/* ---- work ---- */

__attribute__((noinline)) static void burn_half(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i;
}

__attribute__((noinline)) static void burn_third(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i + 1;
}

__attribute__((noinline)) static void burn_fifth(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i + 2;
}

/* Not known to the compiler: it would make functions of other names for these. */
static volatile uint64_t parts[] = { 400000, 240000, 160000 };

struct burnt {
	uint64_t half_ns, third_ns, fifth_ns;
	int32_t tid;
};

static uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Between a quarter and seven quarters of it: work of a fixed length keeps step with samples of a fixed period, and some of it is never hit. */
static uint64_t part(int i, uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return parts[i] / 4 + parts[i] * (*seed >> 40) * 3 / (2 << 24);
}

/* So much CPU time in the relation 5 : 3 : 2 or so, and how much it was. */
static struct burnt burn(uint64_t cpu_ns)
{
	struct burnt b = { .tid = (int32_t)syscall(SYS_gettid) };
	uint64_t start = thread_ns(), at = start, now, seed = start;

	while (at - start < cpu_ns) {
		burn_half(part(0, &seed));
		now = thread_ns();
		b.half_ns += now - at;
		at = now;
		burn_third(part(1, &seed));
		now = thread_ns();
		b.third_ns += now - at;
		at = now;
		burn_fifth(part(2, &seed));
		now = thread_ns();
		b.fifth_ns += now - at;
		at = now;
	}
	return b;
}

static void *burn_in_thread(void *arg)
{
	struct burnt *b = arg;

	*b = burn(b->half_ns);
	return NULL;
}

/* ---- the profile ---- */

struct share {
	uint64_t id; /* of a function, or thread */
	char name[48];
	uint64_t samples, cpu_ns;
};

static struct {
	struct strbuf bytes;
	const char *texts[65536];
	size_t text_sizes[65536];
	uint32_t nr_texts;
	uint64_t leaf_name[65536];   /* text by function */
	uint64_t function_of[65536]; /* by location */
	struct share functions[SHARES_MAX], threads[SHARES_MAX], labels[SHARES_MAX];
	uint64_t samples, cpu_ns;
	uint64_t rooted; /* samples whose stack has the function @root */
} profile;
static const char *root;

static struct share *share_of(struct share *list, uint64_t id)
{
	for (int i = 0; i < SHARES_MAX; i++)
		if (list[i].id == id || !list[i].samples) {
			list[i].id = id;
			return &list[i];
		}
	CHECK(false);
	return NULL;
}

static uint64_t field_of(const struct proto_reader *message, uint32_t field)
{
	struct proto_reader r = proto_over(message->bytes, message->size);

	while (coati_proto_next(&r))
		if (r.field == field && r.wire == PROTO_VARINT)
			return r.value;
	return 0;
}

static bool is_function(uint64_t id, const char *name)
{
	uint64_t text = id < 65536 ? profile.leaf_name[id] : 0;

	return text && profile.text_sizes[text] == strlen(name) &&
	       !memcmp(profile.texts[text], name, strlen(name));
}

static bool has_root(struct cursor c)
{
	while (root && cursor_left(&c) && !c.bad) {
		uint64_t location = cursor_uleb(&c);

		if (location < 65536 && is_function(profile.function_of[location], root))
			return true;
	}
	return false;
}

static void take_sample(const struct proto_reader *message)
{
	struct proto_reader r = proto_over(message->bytes, message->size);
	uint64_t leaf = 0, values[2] = { 0 }, thread = 0, label = 0;
	bool rooted = false;

	while (coati_proto_next(&r)) {
		struct cursor c = cursor_over(r.bytes, r.size);

		if (r.field == 1) {
			rooted = has_root(c);
			leaf = cursor_uleb(&c);
		} else if (r.field == 2) {
			values[0] = cursor_uleb(&c);
			values[1] = cursor_uleb(&c);
		} else if (r.field == 3) {
			thread = field_of(&r, 3) ? field_of(&r, 3) : thread;
			label = field_of(&r, 2) ? field_of(&r, 2) : label;
		}
		CHECK(r.field > 2 || !c.bad);
	}
	CHECK(!r.bad);
	profile.samples += values[0];
	profile.rooted += rooted ? values[0] : 0;
	profile.cpu_ns += values[1];
	share_of(profile.threads, thread)->samples += values[0];
	share_of(profile.labels, label)->samples += values[0];
	share_of(profile.functions, leaf < 65536 ? profile.function_of[leaf] : 0)->samples +=
		values[0];
}

static void take_field(const struct proto_reader *r, bool samples)
{
	if (samples) {
		if (r->field == 2)
			take_sample(r);
	} else if (r->field == 6) {
		CHECK_U64(profile.nr_texts, <, 65536);
		profile.texts[profile.nr_texts] = (const char *)r->bytes;
		profile.text_sizes[profile.nr_texts++] = r->size;
	} else if (r->field == 5 && field_of(r, 1) < 65536) {
		profile.leaf_name[field_of(r, 1)] = field_of(r, 2);
	} else if (r->field == 4 && field_of(r, 1) < 65536) {
		struct proto_reader l = proto_over(r->bytes, r->size);

		while (coati_proto_next(&l))
			if (l.field == 4)
				profile.function_of[field_of(r, 1)] = field_of(&l, 1);
	}
}

/* Stop, and read what was written. */
static void stop_and_read(struct coati_sampler_stats *ret)
{
	struct strbuf file = STRBUF_INIT(64 << 20);
	int fd = open("cpu.pb.gz", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT(fd, >=, 0);
	CHECK_OK(coati_sampler_stop(fd, ret, &err));
	close(fd);
	memset(&profile, 0, sizeof(profile));
	profile.bytes = (struct strbuf)STRBUF_INIT(256 << 20);
	CHECK_OK(coati_file_read(AT_FDCWD, "cpu.pb.gz", &file));
	if (!coati_gzip_works())
		test_skip("there is no zlib to read the profile with");
	CHECK_OK(coati_inflate_gzip(file.text, file.len, &profile.bytes, &err));
	coati_strbuf_fini(&file);
	for (int pass = 0; pass < 2; pass++) {
		struct proto_reader r = proto_over(profile.bytes.text, profile.bytes.len);

		while (coati_proto_next(&r))
			take_field(&r, pass);
		CHECK(!r.bad);
	}
	CHECK_U64(profile.cpu_ns, ==, ret->cpu_ns);
}

static uint64_t samples_of_function(const char *name)
{
	for (int i = 0; i < SHARES_MAX && profile.functions[i].samples; i++)
		if (is_function(profile.functions[i].id, name))
			return profile.functions[i].samples;
	return 0;
}

static uint64_t samples_of_label(const char *value)
{
	for (uint32_t i = 1; i < profile.nr_texts; i++)
		if (profile.text_sizes[i] == strlen(value) &&
		    !memcmp(profile.texts[i], value, strlen(value)))
			return share_of(profile.labels, i)->samples;
	return 0;
}

static bool has_comment(const char *part)
{
	for (uint32_t i = 0; i < profile.nr_texts; i++)
		if (memmem(profile.texts[i], profile.text_sizes[i], part, strlen(part)))
			return true;
	return false;
}

/* Whether it is within three sigma of a draw of @of with the chance @part / @whole. */
static bool is_share(const char *what, uint64_t got, uint64_t of, uint64_t part, uint64_t whole)
{
	double p = (double)part / (double)whole, want = p * (double)of;
	double distance = (double)got - want;

	test_note("%s: %llu of %llu samples, %.1f expected", what, (unsigned long long)got,
		  (unsigned long long)of, want);
	return distance * distance <= 9 * want * (1 - p);
}

/* Hundredths of a second that the host has taken from this guest. */
static uint64_t stolen(void)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	uint64_t ticks = 0;
	char *at;

	CHECK_OK(coati_file_read(AT_FDCWD, "/proc/stat", &text));
	at = text.text;
	for (int i = 0; i < 8; i++)
		at += strcspn(at, " \n") + strspn(at + strcspn(at, " \n"), " ");
	ticks = strtoull(at, NULL, 10);
	coati_strbuf_fini(&text);
	return ticks;
}

/* Three sigma are missed by chance once in 370 times: not three times of three. What the host takes from a guest is in the samples, whose clock goes on, and not in
 * the CPU time; or no timer went off in it. Such tries do not count. */
static void try_often(bool (*fn)(void))
{
	int wrong = 0;

	for (int i = 0; i < 12; i++) {
		uint64_t before = stolen();
		bool ok = fn();

		coati_strbuf_fini(&profile.bytes);
		if (ok)
			return;
		wrong += stolen() == before;
		CHECK_INT(wrong, <, 3);
	}
	test_skip("the host takes CPU time from this guest again and again");
}

static void start(uint32_t rate, enum coati_sampler_engine engine)
{
	struct coati_sampler_opts o = {
		.size = sizeof(o), .rate_hz = rate, .engine = engine, .flags = COATI_SAMPLER_NAMES
	};

	int r = coati_sampler_start(&o, &err);

	if (r == -EOPNOTSUPP || r == -EACCES || r == -EPERM)
		test_skip_need("perf", "%s", err.text);
	CHECK_OK(r);
}

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

static void need_signals(void)
{
	if (UNDER_TSAN)
		test_skip("TSan delivers signals late: samples are not where they were taken");
}

/* ---- what it says ---- */

static uint64_t all_of(const struct burnt *b)
{
	return b->half_ns + b->third_ns + b->fifth_ns;
}

static bool functions_have_their_shares(void)
{
	struct coati_sampler_stats stats;
	struct burnt b;
	bool ok;

	start(1000, COATI_SAMPLER_PERF);
	b = burn(400 * NSEC_PER_MSEC);
	stop_and_read(&stats);
	ok = is_share("half", samples_of_function("burn_half"), profile.samples, b.half_ns,
		      all_of(&b));
	ok = is_share("third", samples_of_function("burn_third"), profile.samples, b.third_ns,
		      all_of(&b)) &&
	     ok;
	ok = is_share("fifth", samples_of_function("burn_fifth"), profile.samples, b.fifth_ns,
		      all_of(&b)) &&
	     ok;
	CHECK(has_comment("engine: perf task-clock"));
	CHECK(has_comment(" taken, 0 lost"));
	return ok;
}

TEST(sampler_gives_functions_their_shares)
{
	need_signals();
	try_often(functions_have_their_shares);
}

/* Two functions in turns, each for half of the period that is asked for: samples with that period would all hit the same one. */
static bool work_in_step_is_seen(void)
{
	struct coati_sampler_stats stats;
	uint64_t at, even, odd;

	start(2000, COATI_SAMPLER_PERF);
	at = thread_ns();
	for (int i = 0; i < 800; i++) {
		at += 250000;
		while (thread_ns() < at)
			(i % 2 ? burn_half : burn_third)(parts[2] / 64);
	}
	stop_and_read(&stats);
	even = samples_of_function("burn_third");
	odd = samples_of_function("burn_half");
	test_note("%llu and %llu samples", (unsigned long long)even, (unsigned long long)odd);
	return even >= 100 && odd >= 100 && even < 2 * odd && odd < 2 * even;
}

TEST(sampler_keeps_step_with_nothing)
{
	need_signals();
	try_often(work_in_step_is_seen);
}

static bool equal_threads_have_equal_shares(void)
{
	struct burnt b[2] = { { .half_ns = 200 * NSEC_PER_MSEC },
			      { .half_ns = 200 * NSEC_PER_MSEC } };
	struct coati_sampler_stats stats;
	pthread_t threads[2];
	uint64_t both = 0;

	start(1000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, burn_in_thread, &b[i]), ==, 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
	stop_and_read(&stats);
	for (int i = 0; i < 2; i++)
		both += share_of(profile.threads, (uint64_t)b[i].tid)->samples;
	return is_share("first thread", share_of(profile.threads, (uint64_t)b[0].tid)->samples,
			both, all_of(&b[0]), all_of(&b[0]) + all_of(&b[1]));
}

TEST(sampler_gives_equal_threads_equal_shares)
{
	need_signals();
	try_often(equal_threads_have_equal_shares);
}

static uint64_t usage_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NSEC_PER_USEC;
}

/* The CPU time of the process and of the samples. */
static bool is_usage(uint32_t rate, uint64_t percent)
{
	struct coati_sampler_stats stats;
	uint64_t before, used, slack;

	start(rate, COATI_SAMPLER_PERF);
	before = usage_ns();
	burn(300 * NSEC_PER_MSEC);
	used = usage_ns() - before;
	stop_and_read(&stats);
	test_note("%u Hz: %llu ns used, %llu ns in %llu samples, %llu ns in all", rate,
		  (unsigned long long)used, (unsigned long long)stats.cpu_ns,
		  (unsigned long long)stats.samples, (unsigned long long)stats.total_ns);
	slack = used * percent / 100;
	CHECK_U64(stats.lost, ==, 0);
	return stats.cpu_ns <= used + slack && stats.cpu_ns >= used - slack &&
	       stats.total_ns <= used + slack && stats.total_ns >= used - slack &&
	       stats.samples * NSEC_PER_SEC >= used * rate / 100 * 95 &&
	       stats.samples * NSEC_PER_SEC <= used * rate / 100 * 105;
}

static bool cpu_time_is_found(void)
{
	return is_usage(1000, 2);
}

TEST(sampler_finds_all_cpu_time)
{
	need_signals();
	try_often(cpu_time_is_found);
}

/* Far above the kernel's tick. Each sample costs an interrupt, which is in the time that the next one waits for, and on some kernels not in the usage. */
static bool rate_is_kept(void)
{
	return is_usage(4000, 5);
}

TEST(sampler_keeps_4000_samples_a_second)
{
	need_signals();
	try_often(rate_is_kept);
}

#define SHORT_LIVES 40

/* Each of them is seen, and the kernel's way of beginning each life with a whole period costs each at most that. */
static bool short_lives_are_seen(void)
{
	static struct burnt b[SHORT_LIVES];
	struct coati_sampler_stats stats;
	uint64_t used = 0, samples = 0, ends = SHORT_LIVES * UINT64_C(255000);
	bool ok = true;

	start(4000, COATI_SAMPLER_PERF);
	for (int i = 0; i < SHORT_LIVES; i++) {
		pthread_t thread;

		b[i].half_ns = 5 * NSEC_PER_MSEC;
		CHECK_INT(pthread_create(&thread, NULL, burn_in_thread, &b[i]), ==, 0);
		CHECK_INT(pthread_join(thread, NULL), ==, 0);
	}
	stop_and_read(&stats);
	for (int i = 0; i < SHORT_LIVES; i++) {
		uint64_t got = share_of(profile.threads, (uint64_t)b[i].tid)->samples;

		ok = ok && got > 0;
		used += all_of(&b[i]);
		samples += got;
	}
	test_note("%llu ns used, %llu ns in samples", (unsigned long long)used,
		  (unsigned long long)samples * 250000);
	/* two in a hundred for the period, and one for what each thread does before and after it looks at the clock */
	return ok && samples * 250000 >= used - used / 33 - ends &&
	       samples * 250000 <= used + used / 33;
}

TEST(sampler_sees_threads_that_live_for_5_ms)
{
	need_signals();
	try_often(short_lives_are_seen);
}

/* ---- stacks ---- */

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
	struct coati_sampler_stats stats;

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
	struct coati_sampler_stats stats;

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
	struct coati_sampler_stats stats;

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
	struct coati_sampler_stats stats;
	struct sampler_objects *before;
	frames_burn_fn fn;
	void *module;

	need_signals();
	root = "burn_below";
	start_stacks(COATI_SAMPLER_STACKS_AUTO);
	before = atomic_load(&coati_sampler_shared.objects);
	module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);
	if (!module)
		test_skip("%s", dlerror());
	fn = (frames_burn_fn)dlsym(module, "coati_frames_burn");
	while (atomic_load(&coati_sampler_shared.objects) == before)
		usleep(1000);
	burn_below(fn, below_ns);
	stop_and_read(&stats);
	test_note("%llu of %llu samples below, %llu cut", (unsigned long long)profile.rooted,
		  (unsigned long long)stats.samples, (unsigned long long)stats.cut);
	CHECK_U64(stats.samples, >=, 50);
	CHECK_U64(profile.rooted, >=, stats.samples * 8 / 10);
	CHECK_OK(dlclose(module));
}

TEST(sampler_by_timer_stands_for_all_cpu_time)
{
	struct coati_sampler_stats stats;
	uint64_t before, used;

	need_signals();
	start(1000, COATI_SAMPLER_TIMER);
	before = usage_ns();
	burn(500 * NSEC_PER_MSEC);
	used = usage_ns() - before;
	stop_and_read(&stats);
	test_note("%llu ns used, %llu ns in %llu samples", (unsigned long long)used,
		  (unsigned long long)stats.cpu_ns, (unsigned long long)stats.samples);
	/* what has run since the last tick, up to 10 ms, is still to come */
	CHECK_U64(stats.cpu_ns, <=, used + used / 20);
	CHECK_U64(stats.cpu_ns, >=, used - used / 20);
	CHECK(has_comment("looked at by the kernel at its tick"));
}

/* One descriptor for each thread is needed, and there is none left. */
TEST(sampler_without_descriptors_takes_the_timer_and_says_why)
{
	struct rlimit few = { 3, 3 };
	struct coati_sampler_stats stats;
	int low = dup(0), high = dup(0); /* the lowest ones that are free */

	need_signals();
	few.rlim_cur = few.rlim_max = (rlim_t)high + 1;
	close(high); /* the start has one, for /proc/self/task, and the end two */
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &few));
	start(1000, COATI_SAMPLER_UNKNOWN);
	burn(50 * NSEC_PER_MSEC);
	close(low);
	stop_and_read(&stats);
	CHECK_INT(stats.engine, ==, COATI_SAMPLER_TIMER);
	CHECK(has_comment("a better engine could not be had: sampler: one descriptor for each"));
}

TEST(sampler_works_for_an_ordinary_user)
{
	struct coati_sampler_stats stats;

	need_signals();
	need_root();
	become_nobody();
	start(1000, COATI_SAMPLER_UNKNOWN);
	burn(100 * NSEC_PER_MSEC);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	test_note("engine %d", (int)stats.engine);
	CHECK_U64(stats.cpu_ns, >=, 50 * NSEC_PER_MSEC);
}

static uint64_t burn_with(const char *tenant, uint64_t cpu_ns)
{
	uint64_t start = thread_ns();

	COATI_LABEL("tenant", tenant);
	burn(cpu_ns);
	return thread_ns() - start;
}

static bool labels_have_their_shares(void)
{
	uint64_t large = 0, small = 0;
	struct coati_sampler_stats stats;

	start(1000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 10; i++) {
		large += burn_with("large", 20 * NSEC_PER_MSEC);
		small += burn_with("small", 10 * NSEC_PER_MSEC);
	}
	stop_and_read(&stats);
	return is_share("large", samples_of_label("large"), profile.samples, large, large + small);
}

TEST(sampler_has_the_labels_of_the_thread)
{
	need_signals();
	try_often(labels_have_their_shares);
}

/* ---- how it lives with its host ---- */

TEST(sampler_is_one_at_a_time_and_starts_again)
{
	struct coati_sampler_opts wrong = { .size = sizeof(wrong), .rate_hz = 10001 };
	struct coati_sampler_stats stats;

	need_signals();
	CHECK_ERR(coati_sampler_stop(-1, NULL, &err), -ESRCH);
	CHECK_ERR(coati_sampler_start(&wrong, &err), -EINVAL);
	for (int i = 0; i < 5; i++) {
		start(4000, i % 2 ? COATI_SAMPLER_TIMER : COATI_SAMPLER_PERF);
		CHECK_ERR(coati_sampler_start(NULL, &err), -EBUSY);
		burn(30 * NSEC_PER_MSEC);
		CHECK_OK(coati_sampler_stop(-1, &stats, &err));
		CHECK_U64(stats.samples, >, 0);
	}
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
	for (enum coati_sampler_engine e = COATI_SAMPLER_PERF; e <= COATI_SAMPLER_TIMER; e++) {
		struct coati_sampler_stats stats;

		start(1000, e);
		for (int i = 0; i < 5; i++, taken += 2) {
			raise(SIGTRAP);
			raise(SIGPROF);
			burn(5 * NSEC_PER_MSEC);
		}
		CHECK_OK(coati_sampler_stop(-1, &stats, &err));
		CHECK_U64(stats.samples, >, 0);
		CHECK_INT(atomic_load(&host_signals), ==, taken);
	}
}

TEST(sampler_keeps_errno)
{
	struct coati_sampler_stats stats;

	need_signals();
	start(10000, COATI_SAMPLER_PERF);
	for (int i = 0; i < 200; i++) {
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
	struct coati_sampler_stats stats;
	pthread_t thread;

	need_signals();
	start(4000, COATI_SAMPLER_PERF);
	CHECK_INT(pthread_create(&thread, NULL, burn_on_a_small_stack, NULL), ==, 0);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
	CHECK_OK(coati_sampler_stop(-1, &stats, &err));
	CHECK_U64(stats.samples, >=, 60);
}

TEST(sampler_after_fork_is_the_parents)
{
	struct coati_sampler_stats stats;
	int status;
	pid_t pid;

	need_signals();
	start(4000, COATI_SAMPLER_PERF);
	burn(10 * NSEC_PER_MSEC);
	pid = fork();
	if (pid == 0) {
		CHECK_ERR(coati_sampler_stop(-1, &stats, &err), -ESRCH);
		burn(10 * NSEC_PER_MSEC);
		start(4000, COATI_SAMPLER_PERF);
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

static void *burn_a_little(void *arg)
{
	burn_half(parts[2] / 8);
	return arg;
}

/* 10 kHz, threads that come and go in twos, start and stop between: nothing hangs, nothing crashes, all of it is counted. */
TEST_LIMIT(sampler_in_a_storm_of_threads_counts_what_it_loses, 60)
{
	struct coati_sampler_stats stats;

	need_signals();
	for (unsigned int round = 0; round < test_rounds(3); round++) {
		start(10000, COATI_SAMPLER_PERF);
		for (int i = 0; i < 200; i++) {
			pthread_t threads[2];

			for (int k = 0; k < 2; k++)
				CHECK_INT(pthread_create(&threads[k], NULL, burn_a_little, NULL),
					  ==, 0);
			for (int k = 0; k < 2; k++)
				CHECK_INT(pthread_join(threads[k], NULL), ==, 0);
		}
		stop_and_read(&stats);
		CHECK_U64(profile.samples, ==, stats.samples);
		coati_strbuf_fini(&profile.bytes);
	}
}
