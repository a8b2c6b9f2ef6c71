/* SPDX-License-Identifier: MIT */
/* Groups on the real kernel: together, in order, exact when repeated. */
#include <fcntl.h>
#include <unistd.h>

#include "event/event.h"
#include "event/group.h"
#include "need.h"

static struct coati_group *opened_group(const uint64_t *configs, uint32_t nr)
{
	struct coati_group *g = NULL;
	struct coati_error err = { 0 };

	need_perf();
	CHECK_OK(coati_group_new(&g));
	for (uint32_t i = 0; i < nr; i++) {
		struct coati_attr attr = software(configs[i]);

		CHECK_OK(coati_group_add(g, &attr, NULL));
	}
	if (coati_group_open(g, &COATI_SELF, 0, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return g;
}

TEST(group_counts_carry_their_labels_in_order)
{
	const uint64_t configs[] = { COATI_SW_TASK_CLOCK, COATI_SW_DUMMY, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 3);
	struct coati_count c[3];
	uintptr_t pages = 20;
	uint32_t nr;

	rehearse(touch_pages, &pages);
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 3)));
	CHECK_INT(nr, ==, 3);
	CHECK_STR(c[0].label, "task-clock");
	CHECK_STR(c[1].label, "dummy");
	CHECK_STR(c[2].label, "page-faults");
	CHECK_U64(c[0].value, >, 0);
	CHECK_U64(c[1].value, ==, 0);
	CHECK_U64(c[2].value, ==, 20);
	CHECK_U64(c[0].enabled_ns, ==, c[2].enabled_ns);
	CHECK_U64(c[2].enabled_ns, >, 0);
	coati_group_close(&g);
}

/* B8: the second measurement of a group equals the first; the followers are reset too. */
TEST(group_measured_twice_gives_the_same_twice)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 2);
	uintptr_t pages = 100;

	rehearse(touch_pages, &pages);
	for (int i = 0; i < 3; i++) {
		struct coati_count c[2];
		uint32_t nr;

		CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 2)));
		CHECK_U64(c[1].value, ==, 100);
	}
	coati_group_close(&g);
}

TEST(group_measured_after_other_orders_counts_the_region_alone)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_PAGE_FAULTS, COATI_SW_TASK_CLOCK };
	struct coati_group *g = opened_group(configs, 3);
	uintptr_t pages = 10;

	rehearse(touch_pages, &pages);
	for (int i = 0; i < 5; i++) {
		struct coati_count c[3];
		uint32_t nr;

		CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c,
								  i == 4 ? 2 : 3)));
		CHECK_U64(c[1].value, ==, 10);
		if (i == 0)
			CHECK_OK(coati_event_reset(coati_group_event(g, 1)));
		if (i == 1)
			CHECK_OK(coati_group_reset(g));
		if (i == 2) {
			CHECK_OK(coati_group_enable(g));
			touch_pages(&pages);
		}
		if (i == 3)
			CHECK_OK(coati_group_drop(g, 2));
	}
	coati_group_close(&g);
}

/* The trap of kernel-side scheduling: a follower of another PMU in a group that runs already counts
 * nothing. */
TEST(group_with_members_of_three_pmus_counts_all_of_them)
{
	struct coati_attr attr = need_tracepoint("syscalls", "sys_enter_munmap");
	struct coati_attr clock = software(COATI_SW_TASK_CLOCK), faults;
	struct coati_group *g = NULL;
	struct coati_count c[3];
	uintptr_t pages = 30;
	uint32_t nr;

	faults = software(COATI_SW_PAGE_FAULTS);
	CHECK_OK(coati_group_new(&g));
	CHECK_OK(coati_group_add(g, &clock, NULL));
	CHECK_OK(coati_group_add(g, &faults, NULL));
	CHECK_OK(coati_group_add(g, &attr, "munmap"));
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	rehearse(touch_pages, &pages);
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 3)));
	CHECK_U64(c[0].value, >, 0);
	CHECK_U64(c[1].value, ==, 30);
	CHECK_U64(c[2].value, ==, 1);
	coati_group_close(&g);
}

TEST(group_of_one_member_works_as_any_other)
{
	const uint64_t configs[] = { COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 1);
	struct coati_count c;
	uintptr_t pages = 7;
	uint32_t nr;

	rehearse(touch_pages, &pages);
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, &c, 1)));
	CHECK_INT(nr, ==, 1);
	CHECK_U64(c.value, ==, 7);
	coati_group_close(&g);
}

/* B15: after a follower is closed the labels of the others stay with their counts. */
TEST(group_labels_stay_right_when_a_follower_is_closed)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_TASK_CLOCK, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 3);
	struct coati_count c[3];
	uintptr_t pages = 9;
	uint32_t nr;

	rehearse(touch_pages, &pages);
	CHECK_OK(coati_group_drop(g, 1));
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 3)));
	CHECK_INT(nr, ==, 2);
	CHECK_STR(c[0].label, "dummy");
	CHECK_STR(c[1].label, "page-faults");
	CHECK_U64(c[1].value, ==, 9);
	coati_group_close(&g);
}

/* B15: the kernel has fewer members than we know of. A descriptor that is another file by now is
 * one that was closed. */
TEST(group_labels_stay_right_when_the_kernel_has_fewer_members_B15)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_TASK_CLOCK, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 3);
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct coati_count c[3];
	uintptr_t pages = 9;
	uint32_t nr;

	rehearse(touch_pages, &pages);
	CHECK_INT(dup2(nothing, coati_event_fd(coati_group_event(g, 1))), >=, 0);
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 3)));
	CHECK_INT(nr, ==, 2);
	CHECK_STR(c[0].label, "dummy");
	CHECK_STR(c[1].label, "page-faults");
	CHECK_U64(c[1].value, ==, 9);
	coati_group_close(&g);
	close(nothing);
}

/* B15, the other way: the kernel has more members than we know of. */
TEST(group_with_a_member_from_elsewhere_is_read_whole)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 2);
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *strangers[40] = { NULL };
	struct coati_count c[42];
	uint32_t nr;

	for (int i = 0; i < 40; i++) {
		struct coati_event_opts opts = { .size = sizeof(opts), .label = "stranger" };

		opts.group = coati_group_event(g, 0);
		strangers[i] = opened(&attr, &opts);
	}
	CHECK_OK(coati_group_read(g, c, 42, &nr));
	CHECK_INT(nr, ==, 42);
	CHECK_STR(c[1].label, "page-faults");
	CHECK_STR(c[41].label, "stranger");
	CHECK_OK(coati_group_read(g, c, 1, &nr));
	CHECK_INT(nr, ==, 42);
	for (int i = 0; i < 40; i++)
		coati_event_close(&strangers[i]);
	CHECK_OK(coati_group_read(g, c, 42, &nr));
	CHECK_INT(nr, ==, 2);
	coati_group_close(&g);
}

TEST(group_starts_and_stops_as_one)
{
	const uint64_t configs[] = { COATI_SW_DUMMY, COATI_SW_PAGE_FAULTS };
	struct coati_group *g = opened_group(configs, 2);
	struct coati_count c[2];
	uintptr_t pages = 10;
	uint32_t nr;

	rehearse(touch_pages, &pages);
	CHECK_OK(coati_group_read(g, c, 2, &nr));
	CHECK_U64(c[1].value, ==, 0);
	CHECK_OK(coati_group_enable(g));
	touch_pages(&pages);
	CHECK_OK(coati_group_disable(g));
	touch_pages(&pages);
	CHECK_OK(coati_group_read(g, c, 2, &nr));
	CHECK_U64(c[1].value, ==, 10);
	CHECK_OK(coati_group_reset(g));
	CHECK_OK(coati_group_read(g, c, 2, &nr));
	CHECK_U64(c[1].value, ==, 0);
	coati_group_close(&g);
}

TEST(group_of_two_hardware_counters_counts_both)
{
	struct coati_group *g = NULL;
	struct coati_count c[2];
	uintptr_t pages = 10;
	uint32_t nr;

	need_perf();
	CHECK_OK(coati_group_new(&g));
	for (uint64_t i = COATI_HW_CPU_CYCLES; i <= COATI_HW_INSTRUCTIONS; i++) {
		struct coati_attr attr = { .type = COATI_TYPE_HARDWARE,
					   .config = i,
					   .flags = COATI_ATTR_EXCLUDE_KERNEL };

		CHECK_OK(coati_group_add(g, &attr, NULL));
	}
	if (coati_group_open(g, &COATI_SELF, 0, NULL) < 0) {
		coati_group_close(&g);
		test_skip_need("hw", "no PMU with cycles and instructions");
	}
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 2)));
	CHECK_U64(c[0].value, >, 0);
	CHECK_U64(c[1].value, >, 0);
	coati_group_close(&g);
}

TEST(group_of_cache_accesses_and_misses_counts_both)
{
	static const uint64_t results[] = { COATI_CACHE_RESULT_ACCESS, COATI_CACHE_RESULT_MISS };
	struct coati_group *g = NULL;
	struct coati_count c[2];
	uintptr_t pages = 200;
	uint32_t nr;

	need_perf();
	CHECK_OK(coati_group_new(&g));
	for (int i = 0; i < 2; i++) {
		struct coati_attr attr = { .type = COATI_TYPE_HW_CACHE,
					   .config = COATI_CACHE(COATI_CACHE_L1D,
								 COATI_CACHE_OP_READ, results[i]),
					   .flags = COATI_ATTR_EXCLUDE_KERNEL };

		CHECK_OK(coati_group_add(g, &attr, NULL));
	}
	if (coati_group_open(g, &COATI_SELF, 0, NULL) < 0) {
		coati_group_close(&g);
		test_skip("no PMU with accesses and misses of the level-one cache");
	}
	CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, touch_pages, &pages, c, 2)));
	CHECK_U64(c[0].value, >, 0);
	CHECK_U64(c[1].value, >, 0);
	CHECK_U64(c[0].value, >=, c[1].value);
	coati_group_close(&g);
}
