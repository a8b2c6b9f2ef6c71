/* SPDX-License-Identifier: MIT */
/* Counts that are known beforehand, from the real kernel. */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "need.h"

#define TIMES (COATI_READ_ENABLED | COATI_READ_RUNNING)

TEST(count_of_page_faults_is_exact_and_has_its_times)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count c;
	struct coati_error err;
	uintptr_t pages = 100;

	need_perf();
	attr.read_format = TIMES;
	ev = opened(&attr, NULL);
	rehearse(touch_pages, &pages); /* code and stack of the work itself */
	CHECK_OK(coati_event_measure(ev, touch_pages, &pages, &c, &err));
	CHECK_U64(c.value, ==, 100);
	CHECK_STR(c.label, "page-faults");
	CHECK_U64(c.enabled_ns, >, 0);
	CHECK_U64(c.running_ns, ==, c.enabled_ns);
	CHECK_U64(coati_count_scaled(&c), ==, 100);
	coati_event_close(&ev);
}

TEST(count_of_a_second_measurement_starts_from_zero_with_times_of_its_own)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count first, second;
	uintptr_t many = 2000, few = 5;

	need_perf();
	attr.read_format = TIMES;
	ev = opened(&attr, NULL);
	rehearse(touch_pages, &many);
	CHECK_OK(coati_event_measure(ev, touch_pages, &many, &first, NULL));
	CHECK_OK(coati_event_measure(ev, touch_pages, &few, &second, NULL));
	CHECK_U64(first.value, ==, 2000);
	CHECK_U64(second.value, ==, 5);
	CHECK_U64(second.enabled_ns, <, first.enabled_ns);
	coati_event_close(&ev);
}

/* So many that a page which a sanitizer touches now and then would be in some of them. */
TEST(count_of_page_faults_is_exact_in_each_of_many_measurements)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count c;
	uintptr_t pages = 5;

	need_perf();
	ev = opened(&attr, NULL);
	for (int i = 0; i < 300; i++) {
		rehearse(touch_pages, &pages);
		CHECK_OK(coati_event_measure(ev, touch_pages, &pages, &c, NULL));
		CHECK_U64(c.value, ==, 5);
	}
	coati_event_close(&ev);
}

TEST(count_of_an_event_that_runs_already_is_measured_from_zero)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count c;
	uintptr_t pages = 10;

	need_perf();
	attr.flags &= ~COATI_ATTR_DISABLED;
	ev = opened(&attr, NULL);
	rehearse(touch_pages, &pages);
	CHECK_OK(coati_event_measure(ev, touch_pages, &pages, &c, NULL));
	CHECK_U64(c.value, ==, 10);
	coati_event_close(&ev);
}

TEST(count_in_every_read_format_of_the_kernel)
{
	for (uint64_t format = 0; format < 32; format++) {
		struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
		struct coati_event_opts opts = { .size = sizeof(opts),
						 .flags = COATI_EVENT_NEGOTIATE };
		struct coati_event *ev;
		struct coati_count c;
		uint32_t nr = 1;
		uint64_t id;

		need_perf();
		attr.read_format = format;
		ev = opened(&attr, &opts);
		if (format & COATI_READ_GROUP) {
			CHECK_ERR(coati_event_read(ev, &c), -EINVAL);
			CHECK_OK(coati_event_read_group(ev, &c, 1, &nr));
		} else {
			CHECK_ERR(coati_event_read_group(ev, &c, 1, &nr), -EINVAL);
			CHECK_OK(coati_event_read(ev, &c));
		}
		CHECK_U64(nr, ==, 1);
		CHECK_STR(c.label, "page-faults");
		CHECK_OK(coati_event_id(ev, &id));
		CHECK_U64(c.id, ==, format & COATI_READ_ID ? id : 0);
		coati_event_close(&ev);
	}
}

TEST(count_and_ioctl_agree_on_the_id)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *ev;
	struct coati_count c;
	uint64_t id;

	need_perf();
	attr.read_format = COATI_READ_ID;
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_read(ev, &c));
	CHECK_OK(coati_event_id(ev, &id));
	CHECK_U64(c.id, ==, id);
	coati_event_close(&ev);
}

static void call_getpid(void *unused)
{
	syscall(SYS_getpid);
}

static void call_read(void *unused)
{
	char byte;

	syscall(SYS_read, -1, &byte, 1);
}

static void call_write(void *unused)
{
	syscall(SYS_write, -1, "", 1);
}

TEST(count_of_a_tracepoint_is_one_for_one_call)
{
	static const struct {
		const char *name;
		void (*call)(void *);
	} calls[] = { { "sys_enter_getpid", call_getpid },
		      { "sys_enter_getppid", call_getppid },
		      { "sys_enter_read", call_read },
		      { "sys_enter_write", call_write } };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct coati_attr attr = need_tracepoint("syscalls", calls[i].name);
		struct coati_event *ev = opened(&attr, NULL);
		struct coati_count c;

		CHECK_OK(coati_event_measure(ev, calls[i].call, NULL, &c, NULL));
		CHECK_U64(c.value, ==, 1);
		coati_event_close(&ev);
	}
}

static void walk_memory(void *step)
{
	static char area[1 << 20];

	for (size_t i = 0; i < sizeof(area); i++)
		((volatile char *)area)[i * *(size_t *)step % sizeof(area)]++;
}

/* Good and bad locality through the same code: the misses of a level-one cache tell them apart. */
TEST(count_of_cache_misses_is_larger_for_bad_locality)
{
	struct coati_attr attr = { .type = COATI_TYPE_HW_CACHE,
				   .config = COATI_CACHE(COATI_CACHE_L1D, COATI_CACHE_OP_READ,
							 COATI_CACHE_RESULT_MISS),
				   .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_event *ev = NULL;
	struct coati_count good, bad;
	size_t near = 1, far = 4099;

	need_perf();
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, NULL) < 0)
		test_skip_need("cache", "no PMU with level-one cache misses");
	walk_memory(&near);
	CHECK_OK(coati_event_measure(ev, walk_memory, &near, &good, NULL));
	CHECK_OK(coati_event_measure(ev, walk_memory, &far, &bad, NULL));
	CHECK_U64(bad.value, >, good.value);
	coati_event_close(&ev);
}

TEST(count_of_task_clock_and_cpu_clock_is_not_zero)
{
	for (uint64_t config = COATI_SW_CPU_CLOCK; config <= COATI_SW_TASK_CLOCK; config++) {
		struct coati_attr attr = software(config);
		struct coati_event *ev;
		struct coati_count c;
		uintptr_t pages = 50;

		need_perf();
		ev = opened(&attr, NULL);
		CHECK_OK(coati_event_measure(ev, touch_pages, &pages, &c, NULL));
		CHECK_U64(c.value, >, 0);
		coati_event_close(&ev);
	}
}

static void ping_pong(void *ctx)
{
	int *fds = ctx;
	char byte = 0;

	for (int i = 0; i < 10; i++) {
		CHECK_INT(write(fds[1], &byte, 1), ==, 1);
		CHECK_INT(read(fds[2], &byte, 1), ==, 1);
	}
}

TEST(count_of_context_switches_has_one_for_each_time_we_wait)
{
	struct coati_attr attr = software(COATI_SW_CONTEXT_SWITCHES);
	struct coati_event *ev;
	struct coati_count c;
	cpu_set_t one;
	int to[2], from[2], fds[3];
	pid_t pid;

	need_root(); /* a context switch happens in the kernel */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK_OK(sched_setaffinity(0, sizeof(one), &one)); /* one CPU: each answer needs a switch */
	CHECK_OK(pipe(to));
	CHECK_OK(pipe(from));
	pid = fork();
	if (pid == 0) {
		char byte;

		close(to[1]);
		while (read(to[0], &byte, 1) == 1)
			if (write(from[1], &byte, 1) != 1)
				break;
		_exit(0);
	}
	fds[1] = to[1];
	fds[2] = from[0];
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_measure(ev, ping_pong, fds, &c, NULL));
	CHECK_U64(c.value, >=, 10);
	close(to[1]);
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	coati_event_close(&ev);
}

/* More pages than fork() itself has to copy: with ASan, whose locks are taken before it, about a
 * thousand. */
#define INHERITED 5000

static void *thread_touches(void *pages)
{
	touch_pages(pages);
	return NULL;
}

static void in_a_thread(void *pages)
{
	pthread_t t;

	CHECK_INT(pthread_create(&t, NULL, thread_touches, pages), ==, 0);
	pthread_join(t, NULL);
}

static void in_a_child(void *pages)
{
	pid_t pid = fork();

	if (pid == 0) {
		touch_pages(pages);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

/* Faults of @work (which touches 300 pages elsewhere) as seen from here. */
static uint64_t faults_of(void (*work)(void *), uint64_t flags)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count c;
	uintptr_t pages = INHERITED;

	need_perf();
	attr.flags |= flags;
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_measure(ev, work, &pages, &c, NULL));
	coati_event_close(&ev);
	return c.value;
}

TEST(count_is_inherited_by_threads_and_children_when_asked)
{
	CHECK_U64(faults_of(in_a_thread, COATI_ATTR_INHERIT), >=, INHERITED);
	CHECK_U64(faults_of(in_a_child, COATI_ATTR_INHERIT), >=, INHERITED);
	CHECK_U64(faults_of(in_a_thread, 0), <, INHERITED);
	CHECK_U64(faults_of(in_a_child, 0), <, INHERITED);
}

TEST(count_with_inherit_thread_leaves_children_out)
{
	uint64_t flags = COATI_ATTR_INHERIT | COATI_ATTR_INHERIT_THREAD;

	CHECK_U64(faults_of(in_a_thread, flags), >=, INHERITED);
	CHECK_U64(faults_of(in_a_child, flags), <, INHERITED);
}

TEST(count_read_fast_equals_the_system_call_whether_the_page_helps_or_not)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	struct coati_count c;
	uintptr_t pages = 12;
	int fast = -1;

	need_perf();
	attr.read_format = COATI_READ_ID;
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_read_fast(ev, &c, &fast)); /* not mapped: the system call */
	CHECK_INT(fast, ==, 0);
	CHECK_OK(coati_event_map_counter(ev, NULL));
	CHECK_OK(coati_event_map_counter(ev, NULL));
	rehearse(touch_pages, &pages);
	CHECK_OK(coati_event_enable(ev));
	touch_pages(&pages);
	CHECK_OK(coati_event_disable(ev));
	CHECK_OK(coati_event_read_fast(ev, &c, &fast));
	CHECK_U64(c.value, ==, 12);
	CHECK_INT(fast, ==, 0); /* software events are in no counter */
	CHECK_OK(coati_event_read_fast(ev, &c, NULL));
	coati_event_close(&ev);
	CHECK_ERR(coati_event_map_counter(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_event_read_fast(NULL, &c, NULL), -EINVAL);
}

TEST(count_opened_fast_is_mapped_and_counts_the_same)
{
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_FAST };
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev = NULL;
	struct coati_count c;
	uintptr_t pages = 12;

	need_perf();
	CHECK_OK(coati_event_open(&attr, &COATI_SELF, &opts, &ev, NULL));
	CHECK(ev->page);
	rehearse(touch_pages, &pages);
	CHECK_OK(coati_event_enable(ev));
	touch_pages(&pages);
	CHECK_OK(coati_event_disable(ev));
	CHECK_OK(coati_event_read_fast(ev, &c, NULL));
	CHECK_U64(c.value, ==, 12);
	coati_event_close(&ev);
}

TEST(count_read_fast_follows_a_hardware_counter)
{
	struct coati_attr attr = { .type = COATI_TYPE_HARDWARE,
				   .config = COATI_HW_INSTRUCTIONS,
				   .flags = COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_event *ev = NULL;
	struct coati_count before, fast_count, after;
	int fast = 0;

	need_perf();
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, NULL) < 0)
		test_skip_need("hw", "no PMU with instructions");
	CHECK_OK(coati_event_map_counter(ev, NULL));
	CHECK_OK(coati_event_read(ev, &before));
	CHECK_OK(coati_event_read_fast(ev, &fast_count, &fast));
	CHECK_OK(coati_event_read(ev, &after));
	CHECK_U64(before.value, <=, fast_count.value);
	CHECK_U64(fast_count.value, <=, after.value);
	coati_event_close(&ev);
	if (!fast)
		test_skip_need("rdpmc", "this kernel does not let user space read counters");
}
