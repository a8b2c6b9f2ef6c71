/* SPDX-License-Identifier: MIT */
/* Building groups and opening them on a kernel that fails where it is told to. */
#include "lib/test.h"

#include <coati/event.h>

#include "base/alloc.h"
#include "event/event.h"
#include "event/group.h"
#include "lib/fake-kernel.h"

static struct fake_kernel k;

static struct coati_group *group_of(uint32_t nr)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_DUMMY };
	struct coati_group *g = NULL;

	CHECK_OK(coati_group_new(&g));
	coati_group_set_calls(g, &k.calls);
	for (uint32_t i = 0; i < nr; i++)
		CHECK_OK(coati_group_add(g, &attr, NULL));
	return g;
}

TEST(group_opens_the_leader_stopped_and_the_followers_behind_it)
{
	struct coati_group *g;
	int leader;

	fake_kernel_init(&k);
	g = group_of(3);
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	leader = coati_event_fd(coati_group_event(g, 0));
	CHECK(coati_event_attr(coati_group_event(g, 0))->flags & COATI_ATTR_DISABLED);
	CHECK(coati_event_attr(coati_group_event(g, 0))->read_format & COATI_READ_GROUP);
	for (uint32_t i = 1; i < 3; i++) {
		struct coati_event *ev = coati_group_event(g, i);

		CHECK(!(coati_event_attr(ev)->flags & COATI_ATTR_DISABLED));
		CHECK_INT(fake_kernel_event(&k, coati_event_fd(ev))->group_fd, ==, leader);
	}
	CHECK(!coati_group_event(g, 3));
	coati_group_close(&g);
	CHECK_INT(k.nr_open, ==, 0);
	CHECK_INT(k.order[2], ==, leader); /* last of all */
}

/* B12: a group, also of one member, leaks nothing whichever step fails. */
TEST(group_leaks_nothing_whichever_step_of_opening_fails)
{
	for (uint32_t nr = 1; nr <= 3; nr++) {
		for (int step = 0; step <= (int)nr * 3; step++) {
			struct coati_error err = { 0 };
			struct coati_group *g;
			int r;

			fake_kernel_init(&k);
			k.fail_call = step;
			k.fail_code = -EIO;
			g = group_of(nr);
			r = coati_group_open(g, &COATI_SELF, 0, &err);
			CHECK_INT(r, ==, step < (int)nr * 3 ? -EIO : 0);
			CHECK_INT(k.nr_open, ==, r < 0 ? 0 : nr);
			if (r < 0 && nr > 1)
				CHECK_HAS(err.text, step < 3   ? "event 1 of"
						    : step < 6 ? "event 2 of"
							       : "event 3 of");
			k.fail_call = -1;
			if (r < 0) /* and can be opened afterwards */
				CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
			coati_group_close(&g);
			CHECK_INT(k.nr_open, ==, 0);
		}
	}
}

/* B16: the failure of an addition is what coati_group_open() reports, not that the group is
 * empty. */
TEST(group_reports_the_first_failed_addition_before_anything_else)
{
	struct coati_group *g;
	struct coati_error err = { 0 };

	fake_kernel_init(&k);
	g = group_of(0);
	CHECK_ERR(coati_group_open(g, &COATI_SELF, 0, &err), -EINVAL);
	CHECK_HAS(err.text, "empty");
	coati_alloc_fail_after(0);
	CHECK_ERR(coati_group_add(g, &(struct coati_attr){ 0 }, "x"), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_ERR(coati_group_add(g, NULL, NULL), -EINVAL);
	CHECK_ERR(coati_group_open(g, &COATI_SELF, 0, &err), -ENOMEM);
	CHECK_HAS(err.text, "event 1");
	coati_group_close(&g);
}

TEST(group_survives_each_failing_allocation)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE };
	bool done = false;

	for (uint64_t n = 0; !done; n++) {
		struct coati_group *g = NULL;
		int r;

		CHECK_U64(n, <, 40);
		fake_kernel_init(&k);
		coati_alloc_fail_after(n);
		r = coati_group_new(&g);
		if (r == 0) {
			coati_group_set_calls(g, &k.calls);
			coati_group_add(g, &attr, "one");
			coati_group_add(g, &attr, "two");
			r = coati_group_open(g, &COATI_SELF, 0, NULL);
		}
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0)
			CHECK_ERR(r, -ENOMEM);
		done = r == 0;
		coati_group_close(&g);
		CHECK_INT(k.nr_open, ==, 0);
	}
}

TEST(group_follower_is_dropped_before_its_leader_and_the_leader_never)
{
	struct coati_group *g;

	fake_kernel_init(&k);
	g = group_of(3);
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	CHECK_ERR(coati_group_drop(g, 0), -EINVAL);
	CHECK_ERR(coati_group_drop(g, 3), -EINVAL);
	CHECK_OK(coati_group_drop(g, 1));
	CHECK_INT(k.nr_open, ==, 2);
	CHECK_INT(coati_group_count(g), ==, 2);
	coati_group_close(&g);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(group_leader_that_is_closed_first_lets_its_followers_go)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE };
	struct coati_event_opts opts = { .size = sizeof(opts) };
	struct event_request req = { &k.calls, &attr, &COATI_SELF, &opts, false };
	struct coati_event *leader = NULL, *follower = NULL;

	fake_kernel_init(&k);
	CHECK_OK(coati_event_request(&req, &leader, NULL));
	opts.group = leader;
	CHECK_OK(coati_event_request(&req, &follower, NULL));
	coati_event_close(&leader);
	CHECK_OK(coati_event_enable(follower));
	coati_event_close(&follower);
	CHECK_INT(k.nr_open, ==, 0);
}

TEST(group_states_are_checked)
{
	struct coati_group *g;
	struct coati_count c;
	uint32_t nr;

	fake_kernel_init(&k);
	CHECK_ERR(coati_group_new(NULL), -EINVAL);
	CHECK_ERR(coati_group_add(NULL, NULL, NULL), -EINVAL);
	CHECK_ERR(coati_group_open(NULL, &COATI_SELF, 0, NULL), -EINVAL);
	CHECK_ERR(coati_group_enable(NULL), -EINVAL);
	CHECK_ERR(coati_group_read(NULL, &c, 1, &nr), -EINVAL);
	CHECK_INT(coati_group_count(NULL), ==, 0);
	g = group_of(1);
	CHECK_ERR(coati_group_enable(g), -EBADF);
	CHECK_ERR(coati_group_read(g, &c, 1, &nr), -EBADF);
	CHECK(!coati_group_event(g, 0));
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	CHECK_ERR(coati_group_open(g, &COATI_SELF, 0, NULL), -EINVAL);
	CHECK_ERR(coati_group_add(g, &(struct coati_attr){ 0 }, NULL), -EINVAL);
	coati_group_close(&g);
	coati_group_close(&g);
	coati_group_close(NULL);
}

TEST(group_does_without_lost_counts_on_a_kernel_that_has_none)
{
	struct coati_group *g;

	fake_kernel_init(&k);
	k.known_read_format &= ~COATI_READ_LOST;
	g = group_of(2);
	CHECK_OK(coati_group_open(g, &COATI_SELF, 0, NULL));
	CHECK_U64(coati_event_dropped(coati_group_event(g, 1)), ==, COATI_DROP_LOST);
	coati_group_close(&g);
}
