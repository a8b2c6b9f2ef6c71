/* SPDX-License-Identifier: MIT */
/* How events are sampled: which rate, which fields, which stacks. */
#include "lib/test.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "event/list.h"
#include "lib/events.h"

static struct coati_attr attr_of(const char *event, struct coati_capture_opts opts)
{
	struct coati_event_list *list = events_parse(event);
	struct coati_attr attr;

	coati_capture_attr(list, coati_event_list_count(list) - 1, &opts, 16384, &attr);
	coati_event_list_free(list);
	return attr;
}

#define PLAIN ((struct coati_capture_opts){ 0 })

TEST(capture_attr_samples_clocks_a_thousand_times_a_second_with_stacks)
{
	struct coati_attr a = attr_of("cpu-clock", PLAIN);

	CHECK(a.flags & COATI_ATTR_FREQ);
	CHECK_U64(a.sample_period, ==, 1000);
	CHECK_U64(a.sample_type, ==,
		  CAPTURE_IDENTITY | COATI_SAMPLE_PERIOD | COATI_SAMPLE_CALLCHAIN |
			  COATI_SAMPLE_REGS_USER | COATI_SAMPLE_STACK_USER);
	CHECK_U64(a.sample_stack_user, ==, 16384);
	CHECK(a.flags & COATI_ATTR_USE_CLOCKID);
	CHECK_INT(a.clockid, ==, 1);
	CHECK(a.flags & COATI_ATTR_SAMPLE_ID_ALL);
	CHECK_U64(a.read_format, ==, COATI_READ_ID | COATI_READ_LOST);
}

TEST(capture_attr_takes_the_rate_of_the_capture_and_that_of_the_event_before_it)
{
	struct coati_capture_opts fast = { .freq_hz = 99 }, every = { .period = 5000 };

	CHECK_U64(attr_of("cpu-clock", fast).sample_period, ==, 99);
	CHECK_U64(attr_of("cpu-clock/freq=7/", fast).sample_period, ==, 7);
	CHECK_U64(attr_of("cpu-clock/period=12345/", fast).sample_period, ==, 12345);
	CHECK(!(attr_of("cpu-clock/period=12345/", fast).flags & COATI_ATTR_FREQ));
	CHECK_U64(attr_of("cpu-clock", every).sample_period, ==, 5000);
	CHECK(!(attr_of("cpu-clock", every).flags & COATI_ATTR_FREQ));
	CHECK(!(attr_of("cpu-clock", every).sample_type & COATI_SAMPLE_PERIOD));
}

TEST(capture_attr_takes_rare_events_every_time_whatever_the_rate)
{
	struct coati_capture_opts fast = { .freq_hz = 99 };
	static const char *const rare[] = { "context-switches", "cpu-migrations", "major-faults",
					    "mem:0x1000:w" };

	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
		struct coati_attr a = attr_of(rare[i], fast);

		CHECK_U64(a.sample_period, ==, 1);
		CHECK(!(a.flags & COATI_ATTR_FREQ));
	}
	CHECK(attr_of("page-faults", fast).flags & COATI_ATTR_FREQ);
}

TEST(capture_attr_has_addresses_for_faults_and_breakpoints)
{
	struct coati_capture_opts data = { .flags = COATI_CAPTURE_DATA };

	CHECK(attr_of("page-faults", PLAIN).sample_type & COATI_SAMPLE_ADDR);
	CHECK(attr_of("mem:0x1000:w", PLAIN).sample_type & COATI_SAMPLE_ADDR);
	CHECK(!(attr_of("cpu-clock", PLAIN).sample_type & COATI_SAMPLE_ADDR));
	CHECK(attr_of("cpu-clock", data).sample_type & COATI_SAMPLE_ADDR);
}

TEST(capture_attr_copies_no_stacks_for_what_may_happen_a_million_times_a_second)
{
	struct coati_capture_opts every = { .period = 1 }, seldom = { .period = 1000000 };

	CHECK(attr_of("cpu-clock", seldom).sample_type & COATI_SAMPLE_STACK_USER);
	CHECK(!(attr_of("page-faults", every).sample_type & COATI_SAMPLE_STACK_USER));
	CHECK(attr_of("page-faults", every).sample_type & COATI_SAMPLE_CALLCHAIN);
	CHECK(!(attr_of("context-switches", PLAIN).sample_type & COATI_SAMPLE_STACK_USER));
}

TEST(capture_attr_of_auto_stacks_has_the_frame_pointers_of_the_kernel_too)
{
	struct coati_capture_opts o = { .stacks = COATI_STACKS_AUTO };

	CHECK(attr_of("cpu-clock", o).sample_type & COATI_SAMPLE_STACK_USER);
	CHECK(!(attr_of("cpu-clock", o).flags & COATI_ATTR_EXCLUDE_CALLCHAIN_USER));
	CHECK(attr_of("cpu-clock/call-graph=dwarf/", o).flags & COATI_ATTR_EXCLUDE_CALLCHAIN_USER);
	o.stacks = COATI_STACKS_TABLE;
	CHECK(attr_of("cpu-clock", o).flags & COATI_ATTR_EXCLUDE_CALLCHAIN_USER);
}

TEST(capture_attr_of_dwarf_stacks_copies_registers_and_stack)
{
	struct coati_capture_opts o = { .stacks = COATI_STACKS_DWARF };
	struct coati_attr a = attr_of("cpu-clock", o);

	CHECK(a.sample_type & COATI_SAMPLE_REGS_USER);
	CHECK(a.sample_type & COATI_SAMPLE_STACK_USER);
	CHECK(a.sample_type & COATI_SAMPLE_CALLCHAIN);
	CHECK(a.flags & COATI_ATTR_EXCLUDE_CALLCHAIN_USER);
	CHECK_INT(a.sample_stack_user, ==, 8192);
	CHECK_U64(a.sample_regs_user, !=, 0);
	o.stack_bytes = 1001;
	CHECK_INT(attr_of("cpu-clock", o).sample_stack_user, ==, 1008);
	o.stack_bytes = UINT32_MAX;
	CHECK_INT(attr_of("cpu-clock", o).sample_stack_user, ==, 65528);
	CHECK_INT(attr_of("cpu-clock/stack-size=64/", o).sample_stack_user, ==, 64);
}

TEST(capture_attr_follows_the_stacks_that_an_event_asks_for)
{
	struct coati_capture_opts none = { .stacks = COATI_STACKS_NONE };

	CHECK(!(attr_of("cpu-clock", none).sample_type & COATI_SAMPLE_CALLCHAIN));
	CHECK(attr_of("cpu-clock/call-graph=fp/", none).sample_type & COATI_SAMPLE_CALLCHAIN);
	CHECK(!(attr_of("cpu-clock/call-graph=no/", PLAIN).sample_type & COATI_SAMPLE_CALLCHAIN));
	CHECK(attr_of("cpu-clock/call-graph=dwarf/", PLAIN).sample_type & COATI_SAMPLE_STACK_USER);
	CHECK_INT(attr_of("cpu-clock/max-stack=5/", PLAIN).sample_max_stack, ==, 5);
}

TEST(capture_attr_of_a_sampled_group_lets_only_the_leader_sample)
{
	struct coati_attr member = attr_of("{cpu-clock,page-faults}:S", PLAIN);
	struct coati_attr leader = attr_of("{cpu-clock}:S", PLAIN);

	CHECK(leader.sample_type & COATI_SAMPLE_READ);
	CHECK_U64(leader.sample_period, ==, 1000);
	CHECK(member.sample_type & COATI_SAMPLE_READ);
	CHECK_U64(member.sample_period, ==, 0);
	CHECK(!(member.flags & COATI_ATTR_FREQ));
}

TEST(capture_attr_overwrites_when_asked_except_where_an_event_says_no)
{
	struct coati_capture_opts o = { .flags = COATI_CAPTURE_OVERWRITE };

	CHECK(attr_of("cpu-clock", o).flags & COATI_ATTR_WRITE_BACKWARD);
	CHECK(!(attr_of("cpu-clock/no-overwrite/", o).flags & COATI_ATTR_WRITE_BACKWARD));
	CHECK(attr_of("cpu-clock/overwrite/", PLAIN).flags & COATI_ATTR_WRITE_BACKWARD);
	CHECK(!(attr_of("cpu-clock", PLAIN).flags & COATI_ATTR_WRITE_BACKWARD));
}

TEST(capture_attr_of_the_side_band_wakes_at_a_quarter_of_the_ring_or_earlier)
{
	struct coati_capture_opts o = { 0 };
	struct coati_attr a;

	coati_capture_side_attr(&o, 1 << 20, &a);
	CHECK(a.flags & COATI_ATTR_WATERMARK);
	CHECK_U64(a.wakeup, ==, 1 << 18);
	CHECK(a.flags & COATI_ATTR_MMAP2 && a.flags & COATI_ATTR_COMM_EXEC &&
	      a.flags & COATI_ATTR_TASK && a.flags & COATI_ATTR_BUILD_ID);
	CHECK(!(a.flags & COATI_ATTR_CONTEXT_SWITCH));
	o.wakeup_bytes = 4096;
	o.flags = COATI_CAPTURE_SWITCHES;
	coati_capture_side_attr(&o, 1 << 20, &a);
	CHECK_U64(a.wakeup, ==, 4096);
	CHECK(a.flags & COATI_ATTR_CONTEXT_SWITCH);
}

/* ---- rings and the deadline ---- */

TEST(capture_rings_are_powers_of_two_of_pages_and_as_small_as_they_may_be)
{
	struct coati_capture *cap = coati_alloc(sizeof(*cap));
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	CHECK(cap);
	cap->opts.cpus = "0";
	cap->opts.ring_bytes = 1;
	CHECK_U64(coati_capture_ring_bytes(cap), ==, page);
	cap->opts.ring_bytes = page;
	CHECK_U64(coati_capture_ring_bytes(cap), ==, page);
	cap->opts.ring_bytes = page + 1;
	CHECK_U64(coati_capture_ring_bytes(cap), ==, 2 * page);
	cap->opts.ring_bytes = 4 * page;
	CHECK_U64(coati_capture_ring_bytes(cap), ==, 4 * page);
	coati_free(cap);
}

TEST(capture_deadline_may_be_none)
{
	struct coati_capture *cap = coati_alloc(sizeof(*cap));

	CHECK(cap);
	CHECK_OK(coati_capture_set_deadline(cap, 5));
	CHECK_INT(cap->deadline_ns, ==, 5);
	CHECK_OK(coati_capture_set_deadline(cap, -1));
	CHECK_INT(cap->deadline_ns, ==, -1);
	CHECK_ERR(coati_capture_set_deadline(cap, -2), -EINVAL);
	CHECK_ERR(coati_capture_set_deadline(NULL, 5), -EINVAL);
	CHECK_INT(cap->deadline_ns, ==, -1);
	coati_free(cap);
}
