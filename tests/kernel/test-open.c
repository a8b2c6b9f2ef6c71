/* SPDX-License-Identifier: MIT */
/* Opening events on the real kernel: descriptors, ids, labels, states, groups as the kernel sees
 * them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "event/event.h"
#include "need.h"

TEST(open_gives_a_descriptor_that_is_close_on_exec_and_non_blocking)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *ev;

	need_perf();
	ev = opened(&attr, NULL);
	CHECK(fcntl(coati_event_fd(ev), F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(coati_event_fd(ev), F_GETFL) & O_NONBLOCK);
	coati_event_close(&ev);
	CHECK(!ev);
	coati_event_close(&ev);
	coati_event_close(NULL);
}

TEST(open_fills_the_label_from_type_and_config_when_none_is_given)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event_opts opts = { .size = sizeof(opts), .label = "mine" };
	struct coati_event *ev;

	need_perf();
	ev = opened(&attr, NULL);
	CHECK_STR(coati_event_label(ev), "page-faults");
	coati_event_close(&ev);
	ev = opened(&attr, &opts);
	CHECK_STR(coati_event_label(ev), "mine");
	coati_event_close(&ev);
}

TEST(open_copies_the_attributes)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;

	need_perf();
	ev = opened(&attr, NULL);
	attr.config = 99;
	CHECK_U64(coati_event_attr(ev)->config, ==, COATI_SW_PAGE_FAULTS);
	coati_event_close(&ev);
}

TEST(open_refuses_a_bogus_type)
{
	struct coati_attr attr = { .type = 4711, .flags = COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	need_perf();
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err), -ENOENT);
	CHECK(!ev);
	CHECK_INT(err.code, ==, -ENOENT);
	CHECK_HAS(err.text, "4711");
}

TEST(open_refuses_what_breaks_the_contract_without_asking_the_kernel)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = UINT32_C(1) << 31 };
	struct coati_event *ev = NULL;

	CHECK_ERR(coati_event_open(NULL, &COATI_SELF, NULL, &ev, NULL), -EINVAL);
	CHECK_ERR(coati_event_open(&attr, NULL, NULL, &ev, NULL), -EINVAL);
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, NULL, NULL, NULL), -EINVAL);
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, &opts, &ev, NULL), -EINVAL);
	opts = (struct coati_event_opts){ .size = 3 };
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, &opts, &ev, NULL), -EINVAL);
}

TEST(open_takes_longer_options_only_when_the_unknown_part_is_zero)
{
	struct {
		struct coati_event_opts opts;
		uint64_t more;
	} longer = { .opts.size = sizeof(longer) };
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *ev = NULL;

	need_perf();
	CHECK_OK(coati_event_open(&attr, &COATI_SELF, &longer.opts, &ev, NULL));
	coati_event_close(&ev);
	longer.more = 1;
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, &longer.opts, &ev, NULL), -E2BIG);
	longer.opts.size = sizeof(uint64_t);
	longer.opts.flags = ~UINT32_C(0); /* beyond the size: not looked at */
	CHECK_OK(coati_event_open(&attr, &COATI_SELF, &longer.opts, &ev, NULL));
	coati_event_close(&ev);
}

TEST(open_with_a_closed_group_leader_fails_cleanly)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event_opts opts = { .size = sizeof(opts) };
	struct coati_event *leader, *ev = NULL;
	struct coati_error err = { 0 };

	need_perf();
	leader = opened(&attr, NULL);
	close(coati_event_fd(leader));
	opts.group = leader;
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, &opts, &ev, &err), -EBADF);
	CHECK(err.text[0]);
	coati_event_close(&leader);
}

TEST(open_with_a_follower_as_leader_is_refused_in_words)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event_opts opts = { .size = sizeof(opts) };
	struct coati_event *leader, *follower, *ev = NULL;
	struct coati_error err = { 0 };

	need_perf();
	leader = opened(&attr, NULL);
	opts.group = leader;
	follower = opened(&attr, &opts);
	opts.group = follower;
	CHECK_ERR(coati_event_open(&attr, &COATI_SELF, &opts, &ev, &err), -EINVAL);
	CHECK_HAS(err.text, "follower");
	coati_event_close(&follower);
	coati_event_close(&leader);
}

TEST(open_of_the_same_attributes_on_two_cpus_gives_two_ids)
{
	struct coati_attr attr = software(COATI_SW_CPU_CLOCK);
	struct coati_event *ev[2] = { NULL };
	uint64_t id[2];

	need_root();
	need_two_cpus();
	for (int i = 0; i < 2; i++) {
		CHECK_OK(coati_event_open(&attr, &COATI_ON(-1, i), NULL, &ev[i], NULL));
		CHECK_OK(coati_event_id(ev[i], &id[i]));
	}
	CHECK_U64(id[0], !=, id[1]);
	coati_event_close(&ev[0]);
	coati_event_close(&ev[1]);
}

TEST(open_negotiates_the_attribute_size_with_this_kernel)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_event *ev;

	need_perf();
	attr.config4 = 1;
	attr.flags |= COATI_ATTR_DEFER_CALLCHAIN;
	ev = opened(&attr, &opts);
	/* newer kernels know one or both */
	CHECK_U64(coati_event_dropped(ev) & ~(COATI_DROP_CONFIG34 | COATI_DROP_DEFER), ==, 0);
	if (coati_event_dropped(ev) & COATI_DROP_CONFIG34)
		CHECK_U64(coati_event_attr(ev)->config4, ==, 0);
	coati_event_close(&ev);
}

TEST(open_lowers_a_rate_above_the_sysctl_and_says_so)
{
	struct coati_attr attr = software(COATI_SW_CPU_CLOCK);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_event *ev;

	need_perf();
	attr.flags |= COATI_ATTR_FREQ;
	attr.sample_period = 100000000;
	ev = opened(&attr, &opts);
	CHECK_U64(coati_event_dropped(ev), ==, COATI_DROP_FREQ);
	CHECK_U64(coati_event_attr(ev)->sample_period, <, 100000000);
	coati_event_close(&ev);
}

TEST(open_lowers_a_stack_depth_above_the_sysctl_and_says_so)
{
	struct coati_attr attr = software(COATI_SW_CPU_CLOCK);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_event *ev;

	need_perf();
	attr.sample_period = 1000000;
	attr.sample_type = COATI_SAMPLE_CALLCHAIN;
	attr.sample_max_stack = 60000;
	ev = opened(&attr, &opts);
	CHECK_U64(coati_event_dropped(ev), ==, COATI_DROP_MAX_STACK);
	coati_event_close(&ev);
}

TEST(every_function_answers_null_and_a_vanished_descriptor_with_an_error)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *ev;
	struct coati_count c;
	uint32_t *ids, nr;

	need_perf();
	CHECK_ERR(coati_event_fd(NULL), -EINVAL);
	CHECK_ERR(coati_event_enable(NULL), -EINVAL);
	CHECK_ERR(coati_event_disable(NULL), -EINVAL);
	CHECK_ERR(coati_event_reset(NULL), -EINVAL);
	CHECK_ERR(coati_event_refresh(NULL, 1), -EINVAL);
	CHECK_ERR(coati_event_set_period(NULL, 1), -EINVAL);
	CHECK_ERR(coati_event_read(NULL, &c), -EINVAL);
	CHECK_ERR(coati_event_pause(NULL), -EINVAL);
	CHECK_ERR(coati_event_resume(NULL), -EINVAL);
	CHECK_ERR(coati_event_set_filter(NULL, "", NULL), -EINVAL);
	CHECK_ERR(coati_event_set_output(NULL, NULL, NULL), -EINVAL);
	CHECK_ERR(coati_event_set_bpf(NULL, 3, NULL), -EINVAL);
	CHECK_ERR(coati_event_query_bpf(NULL, &ids, &nr, NULL), -EINVAL);
	CHECK_ERR(coati_event_modify(NULL, &attr, NULL), -EINVAL);
	CHECK_ERR(coati_event_measure(NULL, do_nothing, NULL, &c, NULL), -EINVAL);
	CHECK_U64(coati_event_dropped(NULL), ==, 0);
	ev = opened(&attr, NULL);
	close(coati_event_fd(ev));
	CHECK_ERR(coati_event_enable(ev), -EBADF);
	CHECK_ERR(coati_event_read(ev, &c), -EBADF);
	CHECK_ERR(coati_event_set_filter(ev, "", NULL), -EBADF);
	CHECK_ERR(coati_event_measure(ev, do_nothing, NULL, &c, NULL), -EBADF);
	coati_event_close(&ev);
}
