/* SPDX-License-Identifier: MIT */
/* Lists of events on many targets, on a kernel that lacks what it is told to lack. */
#include "lib/test.h"

#include <unistd.h>

#include <coati/event.h>

#include "base/alloc.h"
#include "event/event.h"
#include "event/set.h"
#include "lib/events.h"
#include "lib/fake-kernel.h"

static struct fake_kernel k;
static const int32_t self[] = { 0 };

static int try_set(const char *events, struct coati_set_opts opts, struct coati_set **ret,
		   struct coati_error *err)
{
	static struct coati_event_list *list;
	struct set_request req = { &k.calls, NULL, &opts };

	coati_event_list_free(list);
	list = events_parse(events);
	req.list = list;
	opts.size = sizeof(opts);
	return coati_set_request(&req, ret, err);
}

static struct coati_set *set_of(const char *events, struct coati_set_opts opts)
{
	struct coati_set *set = NULL;
	struct coati_error err = { 0 };

	if (try_set(events, opts, &set, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return set;
}

static const struct coati_attr *attr_of(const struct coati_set *set, uint32_t i)
{
	struct coati_set_entry e;

	CHECK_OK(coati_set_entry(set, i, &e));
	return coati_event_attr(e.handle);
}

static int group_of(const struct coati_set *set, uint32_t i)
{
	struct coati_set_entry e;

	CHECK_OK(coati_set_entry(set, i, &e));
	return fake_kernel_event(&k, coati_event_fd(e.handle))->group_fd;
}

#define ON_SELF .tids = self, .nr_tids = 1

TEST(set_opens_each_event_on_each_thread)
{
	const int32_t tids[] = { 11, 12, 12 };
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("page-faults,task-clock",
		     (struct coati_set_opts){ .tids = tids, .nr_tids = 3 });
	CHECK_INT(coati_set_count(set), ==, 4); /* a thread named twice is one thread */
	CHECK_INT(k.nr_open, ==, 4);
	for (uint32_t i = 0; i < 4; i++) {
		struct coati_set_entry e;

		CHECK_OK(coati_set_entry(set, i, &e));
		CHECK_U64(e.event, ==, i / 2);
		CHECK_INT(e.tid, ==, 11 + i % 2);
		CHECK_INT(e.cpu, ==, -1);
		CHECK(attr_of(set, i)->flags & COATI_ATTR_DISABLED);
	}
	coati_set_close(&set);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(set_opens_groups_as_groups_with_only_the_leader_stopped)
{
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("{page-faults,task-clock,dummy},cpu-clock",
		     (struct coati_set_opts){ ON_SELF });
	CHECK_INT(coati_set_count(set), ==, 4);
	CHECK_INT(group_of(set, 0), ==, -1);
	CHECK_INT(group_of(set, 1), >=, 0);
	CHECK_INT(group_of(set, 2), ==, group_of(set, 1));
	CHECK_INT(group_of(set, 3), ==, -1);
	CHECK(attr_of(set, 0)->flags & COATI_ATTR_DISABLED);
	CHECK(attr_of(set, 0)->read_format & COATI_READ_GROUP);
	CHECK(!(attr_of(set, 1)->flags & COATI_ATTR_DISABLED));
	CHECK(attr_of(set, 3)->flags & COATI_ATTR_DISABLED);
	CHECK(!(attr_of(set, 3)->read_format & COATI_READ_GROUP));
	coati_set_close(&set);
}

TEST(set_per_cpu_opens_each_thread_on_each_online_cpu)
{
	const int32_t tids[] = { 11, 12 };
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct coati_set *set;
	bool seen[2][FAKE_FDS] = { 0 };

	if (nr_cpus > 32)
		test_skip("%ld CPUs are more than the fake kernel has descriptors for", nr_cpus);
	fake_kernel_init(&k);
	set = set_of(
		"page-faults",
		(struct coati_set_opts){ .tids = tids, .nr_tids = 2, .flags = COATI_SET_PER_CPU });
	CHECK_INT(coati_set_count(set), ==, 2 * nr_cpus);
	for (uint32_t i = 0; i < coati_set_count(set); i++) {
		struct coati_set_entry e;

		CHECK_OK(coati_set_entry(set, i, &e));
		CHECK_INT(e.cpu, >=, 0);
		CHECK_INT(e.cpu, <, FAKE_FDS);
		CHECK(!seen[e.tid - 11][e.cpu]);
		seen[e.tid - 11][e.cpu] = true;
	}
	coati_set_close(&set);
}

TEST(set_with_attributes_opens_them_as_they_are_but_for_their_start)
{
	const struct coati_attr attrs[] = {
		{ .type = COATI_TYPE_SOFTWARE,
		  .config = COATI_SW_CPU_CLOCK,
		  .sample_period = 99,
		  .sample_type = COATI_SAMPLE_IP,
		  .flags = COATI_ATTR_FREQ | COATI_ATTR_ENABLE_ON_EXEC },
		{ .type = COATI_TYPE_SOFTWARE,
		  .config = COATI_SW_DUMMY,
		  .flags = COATI_ATTR_MMAP | COATI_ATTR_INHERIT },
	};
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("page-faults,task-clock", (struct coati_set_opts){ ON_SELF, .attrs = attrs });
	CHECK_U64(attr_of(set, 0)->config, ==, COATI_SW_CPU_CLOCK);
	CHECK_U64(attr_of(set, 0)->sample_period, ==, 99);
	CHECK_U64(attr_of(set, 0)->sample_type, ==, COATI_SAMPLE_IP);
	CHECK_U64(attr_of(set, 0)->flags, ==, COATI_ATTR_FREQ | COATI_ATTR_DISABLED);
	CHECK_U64(attr_of(set, 1)->flags, ==, COATI_ATTR_MMAP | COATI_ATTR_DISABLED);
	coati_set_close(&set);
}

TEST(set_leaves_out_namespace_records_for_ordinary_users)
{
	const struct coati_attr attr = {
		.type = COATI_TYPE_SOFTWARE,
		.config = COATI_SW_DUMMY,
		.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_NAMESPACES | COATI_ATTR_MMAP,
	};
	struct coati_set *set;

	fake_kernel_init(&k);
	k.user_only = true;
	set = set_of("dummy", (struct coati_set_opts){ ON_SELF, .attrs = &attr,
						       .flags = COATI_SET_NEGOTIATE });
	CHECK_U64(coati_set_event_dropped(set, 0), ==, COATI_DROP_NAMESPACES);
	CHECK_U64(attr_of(set, 0)->flags & COATI_ATTR_MMAP, !=, 0);
	coati_set_close(&set);
}

TEST(set_leaves_out_what_the_machine_lacks_and_tells_why)
{
	struct coati_set *set;

	fake_kernel_init(&k);
	k.no_pmu = true;
	set = set_of("cycles,page-faults,{instructions,task-clock,cpu-clock}",
		     (struct coati_set_opts){ ON_SELF });
	CHECK_INT(coati_set_count(set), ==, 3);
	CHECK(coati_set_event_error(set, 0));
	CHECK_INT(coati_set_event_error(set, 0)->code, ==, -ENOENT);
	CHECK_HAS(coati_set_event_error(set, 0)->text, "cycles");
	CHECK(!coati_set_event_error(set, 1));
	CHECK(coati_set_event_error(set, 2));
	CHECK(!coati_set_event_error(set, 3));
	/* the next member leads */
	CHECK_INT(group_of(set, 1), ==, -1);
	CHECK_INT(group_of(set, 2), >=, 0);
	coati_set_close(&set);
}

TEST(set_of_which_nothing_can_be_opened_still_tells_why)
{
	struct coati_set *set;

	fake_kernel_init(&k);
	k.no_pmu = true;
	set = set_of("cycles", (struct coati_set_opts){ ON_SELF });
	CHECK_INT(coati_set_count(set), ==, 0);
	CHECK(coati_set_event_error(set, 0));
	CHECK(!coati_set_event_error(set, 1));
	coati_set_close(&set);
}

TEST(set_breaks_up_a_weak_group_that_does_not_fit_and_says_so)
{
	const int32_t tids[] = { 11, 12 };
	struct coati_set_opts opts = { .tids = tids, .nr_tids = 2 };
	struct coati_set *set;

	fake_kernel_init(&k);
	k.group_max = 2;
	set = set_of("{page-faults,task-clock,dummy}:W", opts);
	CHECK_INT(coati_set_count(set), ==, 6);
	for (uint32_t i = 0; i < 6; i++) {
		CHECK_INT(group_of(set, i), ==, -1);
		CHECK(attr_of(set, i)->flags & COATI_ATTR_DISABLED);
	}
	CHECK_U64(coati_set_event_dropped(set, 2), ==, COATI_DROP_GROUP);
	coati_set_close(&set);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(set_with_a_strong_group_that_does_not_fit_fails_and_leaks_nothing)
{
	struct coati_set *set = NULL;

	fake_kernel_init(&k);
	k.group_max = 2;
	CHECK_ERR(try_set("{page-faults,task-clock,dummy}", (struct coati_set_opts){ ON_SELF },
			  &set, NULL),
		  -EINVAL);
	CHECK(!set);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(set_falls_back_to_user_space_only_for_events_without_modifiers)
{
	struct coati_set *set = NULL;
	struct coati_set_opts opts = { ON_SELF, .flags = COATI_SET_USER_OK };

	fake_kernel_init(&k);
	k.user_only = true;
	set = set_of("page-faults,task-clock:u", opts);
	CHECK_U64(coati_set_event_dropped(set, 0), ==, COATI_DROP_KERNEL);
	CHECK_U64(coati_set_event_dropped(set, 1), ==, 0);
	coati_set_close(&set);
	CHECK_ERR(try_set("page-faults:k", opts, &set, NULL), -EACCES);
	CHECK_ERR(try_set("page-faults", (struct coati_set_opts){ ON_SELF }, &set, NULL), -EACCES);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(set_never_opens_tool_events)
{
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("duration_time,page-faults", (struct coati_set_opts){ ON_SELF });
	CHECK_INT(coati_set_count(set), ==, 1);
	CHECK(!coati_set_event_error(set, 0));
	coati_set_close(&set);
}

TEST(set_inherits_and_waits_for_exec_where_told)
{
	struct coati_set_opts opts = { ON_SELF,
				       .flags = COATI_SET_INHERIT | COATI_SET_ENABLE_ON_EXEC };
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("{page-faults,task-clock}", opts);
	CHECK(attr_of(set, 0)->flags & COATI_ATTR_INHERIT);
	CHECK(attr_of(set, 1)->flags & COATI_ATTR_INHERIT);
	CHECK(attr_of(set, 0)->flags & COATI_ATTR_ENABLE_ON_EXEC);
	CHECK(!(attr_of(set, 1)->flags & COATI_ATTR_ENABLE_ON_EXEC));
	coati_set_close(&set);
}

TEST(set_takes_no_samples)
{
	struct coati_set *set;

	fake_kernel_init(&k);
	set = set_of("cycles:pp", (struct coati_set_opts){ ON_SELF });
	CHECK_U64(attr_of(set, 0)->sample_period, ==, 0);
	CHECK_U64(attr_of(set, 0)->flags & (COATI_ATTR_FREQ | COATI_ATTR_PRECISE_MASK), ==, 0);
	coati_set_close(&set);
}

TEST(set_refuses_wrong_options_in_words)
{
	const int32_t gone[] = { 0x7ffffff0 };
	const struct {
		struct coati_set_opts opts;
		int code;
		const char *part;
	} wrong[] = {
		{ { .cpus = "x" }, -EINVAL, "0-3,8" },
		{ { .cpus = "8000" }, -ENODEV, "8000" },
		{ { .flags = UINT64_C(1) << 40 }, -EINVAL, "flags" },
		{ { .nr_tids = 1 }, -EINVAL, "lengths" },
		{ { .pids = gone, .nr_pids = 1 }, -ESRCH, "2147483632" },
		{ { .cgroup = "/", ON_SELF }, -EINVAL, "cgroup" },
	};

	fake_kernel_init(&k);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct coati_set *set = NULL;
		struct coati_error err = { 0 };

		CHECK_ERR(try_set("page-faults", wrong[i].opts, &set, &err), wrong[i].code);
		CHECK_HAS(err.text, wrong[i].part);
		CHECK(!set);
	}
}

TEST(set_survives_each_failing_allocation)
{
	int r = -ENOMEM;

	fake_kernel_init(&k);
	for (uint64_t n = 0; r < 0; n++) {
		struct coati_event_list *list = events_parse("{page-faults,dummy}:W,cycles");
		struct coati_set_opts opts = { .size = sizeof(opts), ON_SELF };
		struct set_request req = { &k.calls, list, &opts };
		struct coati_set *set = NULL;

		CHECK_U64(n, <, 100);
		k.no_pmu = true;
		coati_alloc_fail_after(n);
		r = coati_set_request(&req, &set, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0)
			CHECK_ERR(r, -ENOMEM);
		coati_set_close(&set);
		CHECK_INT(k.nr_open, ==, 0);
		coati_event_list_free(list);
	}
}

TEST(set_leaks_nothing_whichever_call_fails)
{
	for (int step = 0; step < 9; step++) {
		struct coati_set *set = NULL;

		fake_kernel_init(&k);
		k.fail_call = step;
		k.fail_code = -EIO;
		CHECK_ERR(try_set("{page-faults,dummy},task-clock",
				  (struct coati_set_opts){ ON_SELF }, &set, NULL),
			  -EIO);
		CHECK_INT(k.nr_open, ==, 0);
	}
}

TEST(set_states_are_checked)
{
	struct coati_set *none = NULL;
	struct coati_set_entry e;
	struct coati_count c;

	CHECK_ERR(coati_set_enable(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_set_disable(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_set_entry(NULL, 0, &e), -EINVAL);
	CHECK_ERR(coati_set_read(NULL, 0, &c), -EINVAL);
	CHECK_INT(coati_set_count(NULL), ==, 0);
	CHECK(!coati_set_event_error(NULL, 0));
	coati_set_close(&none);
	coati_set_close(NULL);
}
