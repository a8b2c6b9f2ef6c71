/* SPDX-License-Identifier: MIT */
/* Probes with exact hit counts on the real kernel, and nothing of them left behind. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event/probe.h"
#include "need.h"
#include "probed.h"

#define TIMES 1000

/* ---- what is probed ---- */

/* Called through a variable that the compiler may not look through. */
static int (*volatile call_target)(int) = coati_test_target;
static int (*volatile call_recursive)(int) = coati_test_recursive;
static void (*volatile call_tick)(void) = coati_test_tick;
static long (*volatile call_a64l)(const char *) = a64l;

static void many_targets(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		call_target(i);
}

static void many_ticks(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		call_tick();
}

static void many_a64l(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		call_a64l("/");
}

static void one_recursion(void *unused)
{
	call_recursive(7);
}

static void many_getppid(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		call_getppid(NULL);
}

/* ---- help ---- */

static void need_pmu(const char *name)
{
	char path[PATH_MAX];

	need_root();
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	if (access(path, R_OK) < 0)
		test_skip_need(name, "this kernel has no %s PMU", name);
}

/* Open the only place of @spec on ourselves, stopped. */
static struct coati_event *probe(const struct probe_spec *spec)
{
	static struct arena arena;
	struct coati_error err = { 0 };
	struct probe_site *sites;
	struct coati_event *ev;
	int nr;

	coati_arena_init(&arena, 1 << 16);
	nr = coati_probe_resolve(spec, "/sys", &arena, &sites, &err);
	if (nr < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(nr, ==, 1);
	sites->attr.flags = COATI_ATTR_DISABLED;
	ev = opened(&sites->attr, NULL);
	coati_arena_fini(&arena); /* the kernel has its own copy of the path */
	return ev;
}

static uint64_t hits(struct coati_event *ev, void (*fn)(void *))
{
	struct coati_count c;
	struct coati_error err = { 0 };

	if (coati_event_measure(ev, fn, NULL, &c, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return c.value;
}

/* ---- uprobes ---- */

TEST(uprobe_counts_each_call_of_a_function_of_this_program)
{
	struct probe_spec spec = { .path = "/proc/self/exe", .symbol = "coati_test_target" };
	struct coati_event *ev;

	need_pmu("uprobe");
	ev = probe(&spec);
	CHECK_U64(hits(ev, do_nothing), ==, 0);
	CHECK_U64(hits(ev, many_targets), ==, TIMES);
	CHECK_U64(hits(ev, many_targets), ==, TIMES);
	coati_event_close(&ev);
}

TEST(uprobe_counts_each_call_of_a_function_of_libc)
{
	struct probe_spec spec = { .path = "libc", .symbol = "a64l" };
	char loaded[PATH_MAX];
	struct coati_event *ev;
	Dl_info info;

	need_pmu("uprobe");
	if (!dladdr((void *)(uintptr_t)call_a64l, &info) || !realpath(info.dli_fname, loaded) ||
	    !strstr(loaded, "libc"))
		test_skip("libc is linked statically");
	ev = probe(&spec);
	CHECK_U64(hits(ev, many_a64l), ==, TIMES);
	coati_event_close(&ev);
}

TEST(uretprobe_counts_each_return)
{
	struct probe_spec spec = { .path = "/proc/self/exe",
				   .symbol = "coati_test_target",
				   .is_return = true };
	struct coati_event *ev;

	need_pmu("uprobe");
	ev = probe(&spec);
	CHECK_U64(hits(ev, many_targets), ==, TIMES);
	coati_event_close(&ev);
	spec.symbol = "coati_test_recursive";
	ev = probe(&spec);
	CHECK_U64(hits(ev, one_recursion), ==, 7);
	coati_event_close(&ev);
}

TEST(uprobe_by_file_offset_counts_the_same)
{
	struct probe_spec spec = { .path = "/proc/self/exe", .symbol = "coati_test_target" };
	struct coati_event *ev;

	need_pmu("uprobe");
	ev = probe(&spec);
	spec.symbol = NULL;
	spec.offset = coati_event_attr(ev)->config2;
	coati_event_close(&ev);
	ev = probe(&spec);
	CHECK_U64(hits(ev, many_targets), ==, TIMES);
	coati_event_close(&ev);
}

TEST(uprobe_leaves_the_text_as_it_was)
{
	struct probe_spec spec = { .path = "/proc/self/exe", .symbol = "coati_test_target" };
	uint8_t before[16], now[16];
	struct coati_event *ev;

	need_pmu("uprobe");
	memcpy(before, (const void *)(uintptr_t)call_target, sizeof(before));
	ev = probe(&spec);
	CHECK_U64(hits(ev, many_targets), ==, TIMES);
	memcpy(now, (const void *)(uintptr_t)call_target, sizeof(now));
	CHECK(memcmp(before, now, sizeof(now)) != 0);
	coati_event_close(&ev);
	memcpy(now, (const void *)(uintptr_t)call_target, sizeof(now));
	CHECK_MEM(now, before, sizeof(now));
}

/* What tracefs has of dynamic probes. */
static void read_probes(const char *tracefs, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tracefs, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
}

TEST(uprobe_does_not_show_in_tracefs)
{
	struct probe_spec spec = { .path = "/proc/self/exe", .symbol = "coati_test_target" };
	char before[4096], now[4096];
	const char *tracefs = need_tracefs();
	struct coati_event *ev;

	need_pmu("uprobe");
	read_probes(tracefs, "uprobe_events", before, sizeof(before));
	ev = probe(&spec);
	read_probes(tracefs, "uprobe_events", now, sizeof(now));
	CHECK_STR(now, before);
	coati_event_close(&ev);
	read_probes(tracefs, "uprobe_events", now, sizeof(now));
	CHECK_STR(now, before);
}

TEST(uprobe_for_an_ordinary_user_is_refused_with_the_remedy)
{
	struct probe_spec spec = { .symbol = "coati_test_target" };
	struct coati_error err = { 0 };
	struct coati_event *ev = NULL;
	struct probe_site *sites;
	struct arena arena;
	char path[PATH_MAX];

	need_pmu("uprobe");
	/* a copy: the folder of this program may be closed to others, as /root is */
	test_copy_file("/proc/self/exe", "probed");
	CHECK(realpath("probed", path));
	spec.path = path;
	become_nobody();
	coati_arena_init(&arena, 1 << 16);
	CHECK_OK(coati_probe_resolve(&spec, "/sys", &arena, &sites, &err));
	CHECK_ERR(coati_event_open(&sites->attr, &COATI_SELF, NULL, &ev, &err), -EACCES);
	CHECK_HAS(err.text, "cap_perfmon");
	coati_arena_fini(&arena);
}

/* ---- USDT ---- */

TEST(usdt_counts_each_hit_and_raises_its_semaphore_while_it_is_open)
{
	struct probe_spec spec = { .path = "/proc/self/exe",
				   .provider = "coati_test",
				   .name = "tick" };
	struct coati_event *ev;

	need_pmu("uprobe");
	CHECK_INT(coati_test_semaphore, ==, 0);
	ev = probe(&spec);
	CHECK_INT(coati_test_semaphore, ==, 1);
	CHECK_U64(hits(ev, many_ticks), ==, TIMES);
	coati_event_close(&ev);
	CHECK_INT(coati_test_semaphore, ==, 0);
}

/* ---- kprobes ---- */

#if defined(__x86_64__)
#define GETPPID "__x64_sys_getppid"
#elif defined(__aarch64__)
#define GETPPID "__arm64_sys_getppid"
#else
#define GETPPID "sys_getppid"
#endif

TEST(kprobe_and_kretprobe_count_each_system_call)
{
	struct probe_spec spec = { .kernel = true, .symbol = GETPPID };

	need_pmu("kprobe");
	for (int is_return = 0; is_return < 2; is_return++) {
		struct coati_event *ev;

		spec.is_return = is_return;
		ev = probe(&spec);
		CHECK_U64(hits(ev, many_getppid), ==, TIMES);
		CHECK_U64(hits(ev, do_nothing), ==, 0);
		coati_event_close(&ev);
	}
}

TEST(kprobe_does_not_show_in_tracefs)
{
	struct probe_spec spec = { .kernel = true, .symbol = GETPPID };
	char before[4096], now[4096];
	const char *tracefs;
	struct coati_event *ev;

	need_pmu("kprobe");
	tracefs = need_tracefs();
	read_probes(tracefs, "kprobe_events", before, sizeof(before));
	ev = probe(&spec);
	read_probes(tracefs, "kprobe_events", now, sizeof(now));
	CHECK_STR(now, before);
	coati_event_close(&ev);
	read_probes(tracefs, "kprobe_events", now, sizeof(now));
	CHECK_STR(now, before);
}
