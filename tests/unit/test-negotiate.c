/* SPDX-License-Identifier: MIT */
/* Opening on kernels that know less than we do. */
#include "lib/test.h"

#include <coati/event.h>

#include "base/alloc.h"
#include "event/event.h"
#include "lib/fake-kernel.h"

static struct fake_kernel k;

static struct coati_attr rich_attr(void)
{
	return (struct coati_attr){
		.type = COATI_TYPE_SOFTWARE,
		.config = COATI_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = COATI_SAMPLE_CGROUP | COATI_SAMPLE_CODE_PAGE_SIZE |
			       COATI_SAMPLE_DATA_PAGE_SIZE | COATI_SAMPLE_WEIGHT_STRUCT,
		.read_format = COATI_READ_ENABLED | COATI_READ_LOST,
		.flags = COATI_ATTR_INHERIT | COATI_ATTR_INHERIT_THREAD | COATI_ATTR_TEXT_POKE |
			 COATI_ATTR_CGROUP | COATI_ATTR_BUILD_ID | COATI_ATTR_KSYMBOL |
			 COATI_ATTR_BPF_EVENT | COATI_ATTR_NAMESPACES | COATI_ATTR_USE_CLOCKID |
			 COATI_ATTR_EXCLUDE_GUEST | COATI_ATTR_PRECISE(2),
		.clockid = 1,
	};
}

static int open_with(const struct coati_attr *attr, uint32_t flags, struct coati_event **ret,
		     struct coati_error *err)
{
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = flags };
	struct event_request req = { &k.calls, attr, &COATI_SELF, &opts };

	return coati_event_request(&req, ret, err);
}

/* Open @attr with negotiation; what was dropped, and the attributes as opened. */
static uint32_t negotiated(const struct coati_attr *attr, struct coati_attr *ret)
{
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };
	uint32_t dropped;

	if (open_with(attr, COATI_EVENT_NEGOTIATE, &ev, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	dropped = coati_event_dropped(ev);
	*ret = *coati_event_attr(ev);
	coati_event_close(&ev);
	CHECK_INT(k.nr_open, ==, 0);
	return dropped;
}

TEST(negotiation_of_what_the_kernel_knows_costs_one_call_and_drops_nothing)
{
	struct coati_attr attr = rich_attr(), got;

	fake_kernel_init(&k);
	CHECK_U64(negotiated(&attr, &got), ==, 0);
	CHECK_INT(k.nr_opens, ==, 1);
	CHECK_U64(got.flags, ==, attr.flags);
}

static const struct {
	uint32_t bit;
	uint64_t flags, sample_type, read_format;
} lacking[] = {
	{ COATI_DROP_LOST, .read_format = COATI_READ_LOST },
	{ COATI_DROP_BUILD_ID, .flags = COATI_ATTR_BUILD_ID },
	{ COATI_DROP_THREAD, .flags = COATI_ATTR_INHERIT_THREAD },
	{ COATI_DROP_TEXT_POKE, .flags = COATI_ATTR_TEXT_POKE },
	{ COATI_DROP_CGROUP, .flags = COATI_ATTR_CGROUP, .sample_type = COATI_SAMPLE_CGROUP },
	{ COATI_DROP_PAGE_SIZE,
	  .sample_type = COATI_SAMPLE_CODE_PAGE_SIZE | COATI_SAMPLE_DATA_PAGE_SIZE },
	{ COATI_DROP_WEIGHT, .sample_type = COATI_SAMPLE_WEIGHT_STRUCT },
	{ COATI_DROP_BPF_EVENT, .flags = COATI_ATTR_KSYMBOL | COATI_ATTR_BPF_EVENT },
	{ COATI_DROP_NAMESPACES, .flags = COATI_ATTR_NAMESPACES },
	{ COATI_DROP_CLOCKID, .flags = COATI_ATTR_USE_CLOCKID },
	{ COATI_DROP_GUEST, .flags = COATI_ATTR_EXCLUDE_GUEST },
};

TEST(negotiation_drops_exactly_the_one_feature_that_the_kernel_lacks)
{
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		struct coati_attr attr = rich_attr(), got;

		fake_kernel_init(&k);
		k.known_flags &= ~lacking[i].flags;
		k.known_sample_type &= ~lacking[i].sample_type;
		k.known_read_format &= ~lacking[i].read_format;
		CHECK_U64(negotiated(&attr, &got), ==, lacking[i].bit);
		CHECK_U64(got.flags, ==, attr.flags & ~lacking[i].flags);
		CHECK_U64(got.read_format, ==, attr.read_format & ~lacking[i].read_format);
		CHECK_INT(k.nr_opens, <=, 30);
	}
}

TEST(negotiation_finds_two_features_that_the_kernel_lacks)
{
	struct coati_attr attr = rich_attr(), got;

	fake_kernel_init(&k);
	k.known_flags &= ~(COATI_ATTR_TEXT_POKE | COATI_ATTR_NAMESPACES);
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_TEXT_POKE | COATI_DROP_NAMESPACES);
}

TEST(negotiation_replaces_structured_weights_by_plain_ones)
{
	struct coati_attr attr = rich_attr(), got;

	fake_kernel_init(&k);
	k.known_sample_type &= ~COATI_SAMPLE_WEIGHT_STRUCT;
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_WEIGHT);
	CHECK(got.sample_type & COATI_SAMPLE_WEIGHT);
}

TEST(negotiation_takes_the_size_that_an_older_kernel_writes_back)
{
	struct coati_attr attr = rich_attr(), got;

	attr.config3 = 3;
	attr.config4 = 4;
	attr.sig_data = 5;
	fake_kernel_init(&k);
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_CONFIG34);
	CHECK_U64(got.config3, ==, 3);
	CHECK_U64(got.config4, ==, 0);
	CHECK_INT(k.nr_opens, ==, 2);
	fake_kernel_init(&k);
	k.attr_size = 120;
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_CONFIG34 | COATI_DROP_SIG_DATA);
	CHECK_U64(got.config3, ==, 0);
	CHECK_U64(got.sig_data, ==, 0);
}

TEST(negotiation_without_leave_changes_nothing)
{
	struct coati_attr attr = rich_attr();
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	fake_kernel_init(&k);
	k.known_flags &= ~COATI_ATTR_TEXT_POKE;
	CHECK_ERR(open_with(&attr, 0, &ev, &err), -EINVAL);
	CHECK_INT(k.nr_opens, ==, 1);
	CHECK(!ev);
}

TEST(negotiation_ends_a_wrong_request_as_einval_with_a_sentence)
{
	struct coati_attr attr = rich_attr();
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_target nowhere = { -1, -1, -1 };
	struct event_request req = { &k.calls, &attr, &nowhere, &opts };
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	fake_kernel_init(&k);
	CHECK_ERR(coati_event_request(&req, &ev, &err), -EINVAL);
	CHECK_HAS(err.text, "page-faults");
	CHECK_INT(k.nr_open, ==, 0);
	CHECK_INT(k.nr_opens, <=, 20);
}

TEST(negotiation_keeps_inheritance_and_counts_in_samples_and_names_the_way_out)
{
	struct coati_attr attr = rich_attr();
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	attr.sample_type |= COATI_SAMPLE_READ | COATI_SAMPLE_TID;
	fake_kernel_init(&k);
	k.no_inherited_read = true;
	k.known_flags &= ~COATI_ATTR_BUILD_ID; /* old in other ways too */
	CHECK_ERR(open_with(&attr, COATI_EVENT_NEGOTIATE, &ev, &err), -EINVAL);
	CHECK(!ev);
	CHECK_INT(k.nr_open, ==, 0);
	CHECK_HAS(err.text, "--no-inherit");
	CHECK_HAS(err.text, "6.13");
	attr.flags &= ~COATI_ATTR_INHERIT & ~COATI_ATTR_INHERIT_THREAD;
	CHECK_OK(open_with(&attr, COATI_EVENT_NEGOTIATE, &ev, &err));
	CHECK_U64(coati_event_dropped(ev), ==, COATI_DROP_BUILD_ID);
	coati_event_close(&ev);
}

TEST(a_newer_kernel_is_not_blamed_for_inherited_counts_in_samples)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .sample_period = 1,
				   .sample_type = COATI_SAMPLE_READ | COATI_SAMPLE_TID,
				   .flags = COATI_ATTR_INHERIT | COATI_ATTR_TEXT_POKE };
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	fake_kernel_init(&k);
	k.known_flags &= ~COATI_ATTR_TEXT_POKE;
	CHECK_ERR(open_with(&attr, 0, &ev, &err), -EINVAL);
	CHECK(!strstr(err.text, "--no-inherit"));
}

/* B1: precise 2 and 3 keep both of their bits on the way to the kernel. */
TEST(precision_reaches_the_kernel_in_both_bits)
{
	for (unsigned int want = 0; want <= 3; want++) {
		struct coati_attr attr = { .type = 0, .flags = COATI_ATTR_PRECISE(want) }, got;

		fake_kernel_init(&k);
		CHECK_U64(negotiated(&attr, &got), ==, 0);
		CHECK_U64(got.flags >> 15 & 3, ==, want);
		CHECK_U64(got.flags & ~(UINT64_C(3) << 15), ==, 0);
	}
}

TEST(negotiation_lowers_precision_to_what_the_pmu_can)
{
	for (int code = 0; code < 2; code++) {
		for (unsigned int can = 0; can < 3; can++) {
			struct coati_attr attr = { .type = 0, .flags = COATI_ATTR_PRECISE(3) }, got;

			fake_kernel_init(&k);
			k.max_precise = can;
			k.precise_error = code ? -EINVAL : -EOPNOTSUPP;
			CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_PRECISE);
			CHECK_U64(got.flags >> 15 & 3, ==, can);
		}
	}
}

TEST(negotiation_lowers_rate_and_stack_depth_to_the_limits)
{
	struct coati_attr attr = rich_attr(), got;

	attr.flags |= COATI_ATTR_FREQ;
	attr.sample_period = 200000;
	attr.sample_max_stack = 500;
	fake_kernel_init(&k);
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_FREQ | COATI_DROP_MAX_STACK);
	CHECK_U64(got.sample_period, ==, 100000);
	CHECK_U64(got.sample_max_stack, ==, 127);
}

TEST(user_space_alone_is_tried_only_with_leave_and_said)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE };
	struct coati_event *ev = NULL;

	fake_kernel_init(&k);
	k.user_only = true;
	CHECK_ERR(open_with(&attr, COATI_EVENT_NEGOTIATE, &ev, NULL), -EACCES);
	CHECK_OK(open_with(&attr, COATI_EVENT_USER_OK, &ev, NULL));
	CHECK_U64(coati_event_dropped(ev), ==, COATI_DROP_KERNEL);
	CHECK(coati_event_attr(ev)->flags & COATI_ATTR_EXCLUDE_HV);
	coati_event_close(&ev);
	attr.flags = COATI_ATTR_EXCLUDE_USER;
	CHECK_ERR(open_with(&attr, COATI_EVENT_USER_OK, &ev, NULL), -EACCES);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(a_refusal_that_user_space_alone_does_not_heal_stays_a_refusal)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE };
	struct coati_event *ev = NULL;

	fake_kernel_init(&k);
	k.user_only = true;
	k.known_flags &= ~COATI_ATTR_EXCLUDE_KERNEL;
	CHECK_ERR(open_with(&attr, COATI_EVENT_USER_OK, &ev, NULL), -EACCES);
}

TEST(a_refusal_does_not_hide_that_the_machine_has_no_such_event)
{
	struct coati_attr attr = { .type = COATI_TYPE_HARDWARE };
	struct coati_event *ev = NULL;

	fake_kernel_init(&k);
	k.user_only = true;
	k.no_pmu = true;
	CHECK_ERR(open_with(&attr, COATI_EVENT_USER_OK, &ev, NULL), -ENOENT);
}

TEST(an_old_kernel_gets_close_on_exec_by_hand)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE }, got;

	fake_kernel_init(&k);
	k.known_open_flags &= ~(uint32_t)COATI_OPEN_CLOEXEC;
	CHECK_U64(negotiated(&attr, &got), ==, COATI_DROP_CLOEXEC);
}

/* B12: whichever step of opening fails, nothing stays open. */
TEST(opening_leaks_nothing_whichever_step_fails)
{
	struct coati_attr attr = rich_attr();

	for (int step = 0; step < 8; step++) {
		struct coati_event *ev = NULL;
		struct coati_error err = { 0 };
		int r;

		fake_kernel_init(&k);
		k.fail_call = step;
		k.fail_code = -EIO;
		r = open_with(&attr, COATI_EVENT_NEGOTIATE, &ev, &err);
		if (step < 3)
			CHECK_ERR(r, -EIO);
		else
			CHECK_OK(r);
		coati_event_close(&ev);
		CHECK_INT(k.nr_open, ==, 0);
	}
}

TEST(opening_survives_each_failing_allocation)
{
	struct coati_attr attr = rich_attr();
	int r = -ENOMEM;

	fake_kernel_init(&k);
	for (uint64_t n = 0; r < 0; n++) {
		struct coati_event *ev = NULL;

		CHECK_U64(n, <, 10);
		coati_alloc_fail_after(n);
		r = open_with(&attr, 0, &ev, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0)
			CHECK_ERR(r, -ENOMEM);
		coati_event_close(&ev);
		CHECK_INT(k.nr_open, ==, 0);
	}
}

TEST(dropped_features_are_listed_in_words_and_cut_to_the_buffer)
{
	char buf[200];

	CHECK_STR(coati_dropped_format(0, buf, sizeof(buf)), "");
	CHECK_STR(coati_dropped_format(COATI_DROP_TEXT_POKE | COATI_DROP_KERNEL, buf, sizeof(buf)),
		  "text_poke records, the kernel part");
	CHECK_STR(coati_dropped_format(COATI_DROP_TEXT_POKE | COATI_DROP_KERNEL, buf, 10),
		  "text_poke");
	for (uint32_t bit = 0; bit <= 20; bit++)
		CHECK(coati_dropped_format(UINT32_C(1) << bit, buf, sizeof(buf))[0]);
}
