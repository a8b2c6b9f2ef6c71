/* SPDX-License-Identifier: MIT */
/*
 * What needs a PMU, kprobes or an older kernel. On machines without them these skip; the guest of
 * scripts/test-vm has all three.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "event/event.h"
#include "need.h"

#define SPIN 2000000u
/* events: more than any PMU has counters for, given that all are the same */
#define NR_MORE	     16
#define NR_CALLS     1000
#define PROBED_CALL  SYS_getpgid
#define PROBE_EVENTS "/sys/kernel/tracing/kprobe_events"

static struct coati_attr cycles(uint64_t flags)
{
	return (struct coati_attr){
		.type = COATI_TYPE_HARDWARE,
		.config = COATI_HW_CPU_CYCLES,
		.read_format = COATI_READ_ENABLED | COATI_READ_RUNNING,
		.flags = flags | COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL |
			 COATI_ATTR_EXCLUDE_HV,
	};
}

static void need_hw(void)
{
	struct coati_attr attr = cycles(0);
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	need_perf();
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err) < 0)
		test_skip_need("hw", "%s", err.text);
	coati_event_close(&ev);
}

static void spin(void *rounds)
{
	for (uint64_t i = 0; i < (uintptr_t)rounds; i++)
		__asm__ volatile("" : : "r"(i));
}

static uint64_t count_of(struct coati_event *ev, uintptr_t rounds)
{
	struct coati_count count;

	CHECK_OK(coati_event_measure(ev, spin, (void *)rounds, &count, NULL));
	CHECK_U64(count.enabled_ns, ==, count.running_ns);
	return count.value;
}

TEST(hardware_cycles_follow_the_work)
{
	struct coati_attr attr = cycles(0);
	struct coati_event *ev;
	uint64_t once, thrice;

	need_hw();
	ev = opened(&attr, NULL);
	once = count_of(ev, SPIN);
	thrice = count_of(ev, 3 * SPIN);
	CHECK_U64(once, >=, SPIN / 4); /* no machine does four rounds in a cycle */
	CHECK_U64(thrice, >, 2 * once);
	coati_event_close(&ev);
}

TEST(hardware_second_measurement_equals_the_first)
{
	struct coati_attr attr = cycles(0);
	struct coati_event *ev;
	uint64_t first, second;

	need_hw();
	ev = opened(&attr, NULL);
	count_of(ev, SPIN); /* warms up */
	first = count_of(ev, SPIN);
	second = count_of(ev, SPIN);
	CHECK_U64(second, <, 2 * first); /* a sum of both would be twice the first or more */
	CHECK_U64(2 * second, >, first);
	coati_event_close(&ev);
}

TEST(hardware_instructions_of_a_loop_grow_by_the_same_for_each_round)
{
	struct coati_attr attr = cycles(0);
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };
	uint64_t one, two, three;

	need_hw();
	attr.config = COATI_HW_INSTRUCTIONS;
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err) < 0)
		test_skip_need("instructions", "%s", err.text);
	one = count_of(ev, SPIN);
	two = count_of(ev, 2 * SPIN);
	three = count_of(ev, 3 * SPIN);
	CHECK_U64(two - one, >=, 2 * SPIN); /* at least count and branch */
	/* an interrupt on the way may add a few */
	CHECK_U64(three - two, >, (two - one) - (two - one) / 100);
	CHECK_U64(three - two, <, (two - one) + (two - one) / 100);
	coati_event_close(&ev);
}

TEST(hardware_group_is_read_at_once_and_counts_together)
{
	struct coati_attr attr = cycles(0);
	struct coati_group *g = NULL;
	struct coati_count counts[3];
	uint32_t nr;

	need_hw();
	CHECK_OK(coati_group_new(&g));
	CHECK_OK(coati_group_add(g, &attr, "leader"));
	CHECK_OK(coati_group_add(g, &attr, "follower"));
	attr = software(COATI_SW_TASK_CLOCK);
	CHECK_OK(coati_group_add(g, &attr, "clock"));
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, spin, (void *)(uintptr_t)SPIN, counts,
							  3)));
	CHECK_U64(nr, ==, 3);
	CHECK_STR(counts[0].label, "leader");
	CHECK_STR(counts[2].label, "clock");
	CHECK_U64(counts[0].value, >, 0);
	CHECK_U64(counts[2].value, >, 0);
	/* the same event, started and stopped together */
	CHECK_U64(counts[1].value, >=, counts[0].value - counts[0].value / 20);
	CHECK_U64(counts[1].value, <=, counts[0].value + counts[0].value / 20);
	coati_group_close(&g);
}

/* Opens events until the kernel has to take turns, spins, and compares each scaled value with a
 * pinned event that never lost its counter. */
TEST_LIMIT(hardware_multiplexed_counts_are_scaled_to_within_five_percent, 60)
{
	struct coati_attr attr = cycles(COATI_ATTR_PINNED);
	struct coati_event *truth, *more[NR_MORE];
	struct coati_count count;
	uint64_t value;
	int nr_shared = 0;

	need_hw();
	truth = opened(&attr, NULL);
	attr = cycles(0);
	for (int i = 0; i < NR_MORE; i++)
		more[i] = opened(&attr, NULL);
	for (int i = 0; i < NR_MORE; i++)
		CHECK_OK(coati_event_enable(more[i]));
	CHECK_OK(coati_event_enable(truth));
	for (int i = 0; i < 400; i++)
		spin((void *)(uintptr_t)SPIN);
	CHECK_OK(coati_event_disable(truth));
	for (int i = 0; i < NR_MORE; i++)
		CHECK_OK(coati_event_disable(more[i]));
	CHECK_OK(coati_event_read(truth, &count));
	CHECK_U64(count.enabled_ns, ==, count.running_ns);
	value = count.value;
	for (int i = 0; i < NR_MORE; i++) {
		uint64_t scaled;

		CHECK_OK(coati_event_read(more[i], &count));
		scaled = coati_count_scaled(&count);
		nr_shared += count.running_ns < count.enabled_ns;
		CHECK_U64(scaled, >, value - value / 20);
		CHECK_U64(scaled, <, value + value / 20);
		coati_event_close(&more[i]);
	}
	if (!nr_shared)
		test_skip_need("multiplex", "this PMU has counters for all %d events", NR_MORE);
	coati_event_close(&truth);
}

/* What the kernel has of probes, as its own files tell: those of tracefs, and the list of all that
 * debugfs shows. */
static void read_probes(char *text, size_t size)
{
	static const char *const paths[] = { PROBE_EVENTS, "/sys/kernel/debug/kprobes/list" };
	size_t len = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text + len, size - 1 - len);

		len += n > 0 ? (size_t)n : 0;
		if (fd >= 0)
			close(fd);
	}
	text[len] = '\0';
}

static void call_probed(void *nr_calls)
{
	for (uintptr_t i = 0; i < (uintptr_t)nr_calls; i++)
		syscall(PROBED_CALL, 0);
}

/* The count of @event (one of its kind, on getpgid) over known calls; nothing of it may be seen
 * before or after. */
static void check_probe(const char *event)
{
	char before[4096], during[4096], after[4096];
	struct coati_event_list *list = NULL;
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };
	struct coati_count count;
	struct coati_attr attr;

	need_root();
	if (access("/sys/bus/event_source/devices/kprobe", F_OK) < 0)
		test_skip_need("kprobe", "this kernel has no kprobe PMU");
	read_probes(before, sizeof(before));
	CHECK_OK(coati_event_list_new(NULL, &list, NULL));
	if (coati_event_list_add(list, event, &err) < 0)
		CHECK_STR(err.text, "");
	attr = coati_event_list_get(list, 0)->attr;
	attr.flags |= COATI_ATTR_DISABLED;
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err) < 0)
		CHECK_STR(err.text, "");
	read_probes(during, sizeof(during));
	CHECK_OK(coati_event_measure(ev, call_probed, (void *)(uintptr_t)NR_CALLS, &count, NULL));
	CHECK_U64(count.value, ==, NR_CALLS);
	CHECK_OK(coati_event_measure(ev, call_probed, (void *)(uintptr_t)7, &count, NULL));
	CHECK_U64(count.value, ==, 7);
	coati_event_close(&ev);
	coati_event_list_free(list);
	read_probes(after, sizeof(after));
	CHECK_STR(after, before);
	if (access("/sys/kernel/debug/kprobes/list", R_OK) == 0)
		CHECK(strcmp(during, before) != 0); /* or the comparison above shows nothing */
}

#if defined(__aarch64__)
#define PROBED_SYMBOL "__arm64_sys_getpgid"
#else
#define PROBED_SYMBOL "__x64_sys_getpgid"
#endif

TEST(hardware_kprobe_counts_every_call_and_leaves_nothing)
{
	check_probe("kprobe:" PROBED_SYMBOL);
}

TEST(hardware_kretprobe_counts_every_return_and_leaves_nothing)
{
	check_probe("kretprobe:" PROBED_SYMBOL);
}

TEST(hardware_negotiation_leaves_out_what_an_older_kernel_lacks_and_nothing_else)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_event *ev;
	struct utsname uts;
	int major, minor;

	need_root();
	CHECK_OK(uname(&uts));
	major = (int)strtol(uts.release, NULL, 10);
	minor = (int)strtol(strchr(uts.release, '.') + 1, NULL, 10);
	if (major != 6 || minor >= 3)
		test_skip_need("old", "a kernel from 6.0 to 6.2 is wanted, this is %s",
			       uts.release);
	attr.sample_type = COATI_SAMPLE_IP;
	attr.read_format = COATI_READ_LOST;
	attr.flags |= COATI_ATTR_MMAP | COATI_ATTR_MMAP2 | COATI_ATTR_BUILD_ID |
		      COATI_ATTR_KSYMBOL | COATI_ATTR_DEFER_OUTPUT;
	attr.config3 = 1; /* came with 6.3 */
	ev = opened(&attr, &opts);
	CHECK_U64(coati_event_dropped(ev), ==, COATI_DROP_CONFIG34 | COATI_DROP_DEFER);
	CHECK_U64(coati_event_attr(ev)->config3, ==, 0);
	CHECK_U64(coati_event_attr(ev)->read_format & COATI_READ_LOST, !=, 0);
	coati_event_close(&ev);
}
