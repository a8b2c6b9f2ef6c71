/* SPDX-License-Identifier: MIT */
/* The sentence behind each refusal: cause, setting as found, and what to type. */
#include "lib/test.h"

#include <stdio.h>

#include "event/explain.h"

#define USER_ONLY (COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV)

static struct facts ordinary(int64_t paranoid)
{
	return (struct facts){
		.paranoid = paranoid,
		.max_sample_rate = 100000,
		.max_stack = 127,
		.uid = 1000,
		.program = "/usr/bin/coati",
		.nofile_soft = 1024,
		.nofile_hard = 4096,
		.target_uid = -1,
		.nr_cpus = 2,
		.plain = paranoid > 2 ? -EACCES : 0,
		.ungrouped = FACT_NOT_TRIED,
		.inherited_read = FACT_NOT_TRIED,
	};
}

static struct explain_case refusal(int code, const struct coati_attr *attr)
{
	return (struct explain_case){
		.code = code, .attr = attr, .label = "event-name", .target = { 0, -1, -1 }
	};
}

static const char *explained(const struct explain_case *c, const struct facts *f)
{
	static struct coati_error err;

	CHECK_INT(coati_explain(c, f, &err), ==, c->code);
	CHECK_INT(err.code, ==, c->code);
	CHECK_HAS(err.text, ": ");
	CHECK_INT(strlen(err.text), <, sizeof(err.text) - 1);
	CHECK(!strstr(err.text, "(null)"));
	return err.text;
}

TEST(explain_names_the_least_level_that_allows_each_request)
{
	const struct {
		struct coati_attr attr;
		struct coati_target target;
		int wanted;
	} requests[] = {
		{ { .type = 1, .flags = USER_ONLY }, { 0, -1, -1 }, 2 },
		{ { .type = 1 }, { 0, -1, -1 }, 1 },
		{ { .type = 1, .flags = USER_ONLY, .sample_type = COATI_SAMPLE_PHYS_ADDR },
		  { 0, -1, -1 },
		  1 },
		{ { .type = 1, .flags = COATI_ATTR_EXCLUDE_USER }, { 0, -1, -1 }, 1 },
		{ { .type = 1, .flags = USER_ONLY }, { -1, 0, -1 }, 0 },
		{ { .type = 1 }, { 3, 0, 3 }, 0 },
		{ { .type = 2, .flags = USER_ONLY, .sample_type = COATI_SAMPLE_RAW },
		  { 0, -1, -1 },
		  -1 },
	};

	for (int64_t paranoid = 0; paranoid <= 4; paranoid++) {
		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
			struct explain_case c = refusal(-EACCES, &requests[i].attr);
			struct facts f = ordinary(paranoid);
			char command[64], found[32];

			if (paranoid <= requests[i].wanted)
				continue;
			c.target = requests[i].target;
			snprintf(command, sizeof(command),
				 "sysctl -w kernel.perf_event_paranoid=%d", requests[i].wanted);
			snprintf(found, sizeof(found), "is %d", (int)paranoid);
			CHECK_HAS(explained(&c, &f), command);
			CHECK_HAS(explained(&c, &f), found);
			CHECK_HAS(explained(&c, &f), "setcap cap_perfmon=ep /usr/bin/coati");
		}
	}
}

TEST(explain_offers_user_space_alone_where_only_the_kernel_part_is_refused)
{
	struct coati_attr attr = { .type = 0 };
	struct explain_case c = refusal(-EACCES, &attr);
	struct facts f = ordinary(2);

	CHECK_HAS(explained(&c, &f), ":u");
	attr.flags = COATI_ATTR_EXCLUDE_USER;
	CHECK(!strstr(explained(&c, &f), ":u"));
}

TEST(explain_knows_that_no_level_opens_other_peoples_processes)
{
	struct coati_attr attr = { .type = 1, .flags = USER_ONLY };
	struct explain_case c = refusal(-EACCES, &attr);

	for (int64_t paranoid = -1; paranoid <= 2; paranoid++) {
		struct facts f = ordinary(paranoid);

		c.target = (struct coati_target){ 77, -1, -1 };
		f.target_uid = 0;
		CHECK_HAS(explained(&c, &f), "process 77 belongs to user 0");
		CHECK_HAS(explained(&c, &f), "setcap");
		CHECK(!strstr(explained(&c, &f), "sysctl"));
		f.target_uid = f.uid; /* a program that changed its user */
		CHECK_HAS(explained(&c, &f), "may not be observed");
	}
}

TEST(explain_knows_what_needs_a_capability_at_every_level)
{
	struct coati_attr probe = { .type = 8 },
			  spaces = { .type = 1, .flags = COATI_ATTR_NAMESPACES };
	struct coati_attr kernel_bp = { .type = COATI_TYPE_BREAKPOINT,
					.config1 = UINT64_C(0xffffffff81000000) };

	for (int64_t paranoid = -1; paranoid <= 2; paranoid++) {
		struct facts f = ordinary(paranoid);
		struct explain_case c = refusal(-EACCES, &probe);

		snprintf(f.pmu, sizeof(f.pmu), "uprobe");
		CHECK_HAS(explained(&c, &f), "probes are for privileged users");
		f.pmu[0] = '\0';
		c.attr = &spaces;
		CHECK_HAS(explained(&c, &f), "namespace records");
		c.attr = &kernel_bp;
		CHECK_HAS(explained(&c, &f), "kernel addresses");
	}
}

TEST(explain_tells_a_filter_from_a_level)
{
	struct coati_attr attr = { .type = 1, .flags = USER_ONLY };
	struct explain_case c = refusal(-EPERM, &attr);
	struct facts f = ordinary(2);

	f.plain = -EPERM;
	f.seccomp = 2;
	CHECK_HAS(explained(&c, &f), "seccomp");
	snprintf(f.container, sizeof(f.container), "docker");
	CHECK_HAS(explained(&c, &f), "--cap-add PERFMON");
	f.container[0] = '\0';
	f.seccomp = 0;
	CHECK_HAS(explained(&c, &f), "SELinux");
	c.code = -ENOSYS;
	CHECK_HAS(explained(&c, &f), "CONFIG_PERF_EVENTS");
	f.seccomp = 2;
	CHECK_HAS(explained(&c, &f), "filter");
}

TEST(explain_does_not_send_root_of_a_user_namespace_to_setcap)
{
	struct coati_attr attr = { .type = 1 };
	struct explain_case c = refusal(-EACCES, &attr);
	struct facts f = ordinary(2);

	f.uid = 0;
	f.caps = ~UINT64_C(0);
	f.user_namespace = true;
	CHECK_HAS(explained(&c, &f), "on the host: sudo sysctl -w kernel.perf_event_paranoid=1");
	CHECK(!strstr(explained(&c, &f), "setcap"));
	f.paranoid = -1;
	CHECK_HAS(explained(&c, &f), "root of the host");
}

TEST(explain_has_a_word_for_a_privileged_user_who_is_refused)
{
	struct coati_attr attr = { .type = 1 };
	struct explain_case c = refusal(-EPERM, &attr);
	struct facts f = ordinary(2);

	f.caps = UINT64_C(1) << FACT_CAP_PERFMON;
	CHECK_HAS(explained(&c, &f), "security module");
	f.lockdown = 2;
	CHECK_HAS(explained(&c, &f), "locked down");
}

static const struct {
	int code;
	struct coati_attr attr;
	struct coati_target target;
	const char *part;
} reasons[] = {
	{ -ENOENT, { .type = COATI_TYPE_HARDWARE }, { 0, -1, -1 }, "no PMU for hardware events" },
	{ -ENOENT, { .type = COATI_TYPE_HW_CACHE }, { 0, -1, -1 }, "task-clock" },
	{ -ENOENT,
	  { .type = COATI_TYPE_SOFTWARE, .config = 99 },
	  { 0, -1, -1 },
	  "software event 99" },
	{ -ENOENT, { .type = COATI_TYPE_TRACEPOINT, .config = 7 }, { 0, -1, -1 }, "id 7" },
	{ -ENOENT, { .type = 4711 }, { 0, -1, -1 }, "type 4711" },
	{ -ENODEV, { .type = 1 }, { -1, 1, -1 }, "cpu1/online" },
	{ -ESRCH, { .type = 1 }, { 4242, -1, -1 }, "no thread 4242" },
	{ -EMFILE, { .type = 1 }, { 0, -1, -1 }, "ulimit -n 4096" },
	{ -ENFILE, { .type = 1 }, { 0, -1, -1 }, "fs.file-max" },
	{ -ENOMEM, { .type = 1 }, { 0, -1, -1 }, "memory" },
	{ -EBUSY, { .type = 0 }, { 0, -1, -1 }, "exclusive" },
	{ -ENOSPC, { .type = COATI_TYPE_BREAKPOINT }, { 0, -1, -1 }, "breakpoint registers" },
	{ -ENOSPC, { .type = 0 }, { 0, -1, -1 }, "no counter left" },
	{ -EOVERFLOW,
	  { .type = 1, .sample_max_stack = 500 },
	  { 0, -1, -1 },
	  "perf_event_max_stack=500" },
	{ -E2BIG, { .type = 1, .config4 = 1 }, { 0, -1, -1 }, "COATI_EVENT_NEGOTIATE" },
	{ -EOPNOTSUPP, { .flags = COATI_ATTR_PRECISE(3) }, { 0, -1, -1 }, "fewer p" },
	{ -EOPNOTSUPP, { .sample_type = COATI_SAMPLE_BRANCH_STACK }, { 0, -1, -1 }, "branch" },
	{ -EOPNOTSUPP, { .sample_period = 1 }, { 0, -1, -1 }, "only count" },
	{ -EOPNOTSUPP, { .aux_action = 1 }, { 0, -1, -1 }, "AUX" },
	{ -EOPNOTSUPP, { .type = 1 }, { 0, -1, -1 }, "coati list" },
	{ -EINVAL, { .type = 1 }, { -1, -1, -1 }, "name a thread" },
	{ -EINVAL, { .type = 1 }, { 0, -1, 5 }, "give the CPU too" },
	{ -EINVAL, { .type = 1 }, { -1, 99, -1 }, "no CPU 99; this machine has CPUs 0 to 1" },
	{ -EINVAL, { .flags = UINT64_C(1) << 63 }, { 0, -1, -1 }, "reserved" },
	{ -EINVAL,
	  { .flags = COATI_ATTR_ENABLE_ON_EXEC | COATI_ATTR_REMOVE_ON_EXEC },
	  { 0, -1, -1 },
	  "exec" },
	{ -EINVAL, { .flags = COATI_ATTR_SIGTRAP }, { 0, -1, -1 }, "REMOVE_ON_EXEC" },
	{ -EINVAL,
	  { .flags = COATI_ATTR_INHERIT_THREAD },
	  { 0, -1, -1 },
	  "COATI_ATTR_INHERIT too" },
	{ -EINVAL,
	  { .flags = COATI_ATTR_INHERIT, .sample_type = COATI_SAMPLE_READ },
	  { 0, -1, -1 },
	  "COATI_SAMPLE_TID" },
	{ -EINVAL,
	  { .flags = COATI_ATTR_FREQ, .sample_period = 200000 },
	  { 0, -1, -1 },
	  "perf_event_max_sample_rate=200000" },
	{ -EINVAL, { .sample_period = UINT64_MAX }, { 0, -1, -1 }, "bit 63" },
	{ -EINVAL,
	  { .sample_type = COATI_SAMPLE_STACK_USER, .sample_stack_user = 9 },
	  { 0, -1, -1 },
	  "multiple of 8" },
	{ -EINVAL,
	  { .flags = COATI_ATTR_USE_CLOCKID, .clockid = 2 },
	  { 0, -1, -1 },
	  "CLOCK_MONOTONIC" },
	{ -EINVAL, { .type = 5, .config1 = 8, .config2 = 3 }, { 0, -1, -1 }, "1, 2, 4 or 8" },
	{ -EINVAL,
	  { .type = 5, .config1 = 9, .config2 = 4 },
	  { 0, -1, -1 },
	  "multiple of the length" },
	{ -EINVAL, { .type = 5, .config1 = 8, .config2 = 4, .bp_type = 1 }, { 0, -1, -1 }, "rw" },
	{ -EINVAL,
	  { .type = 5, .config1 = 8, .config2 = 4, .bp_type = 4 },
	  { 0, -1, -1 },
	  "pointer" },
	{ -EINVAL, { .type = 0, .flags = COATI_ATTR_PRECISE(2) }, { 0, -1, -1 }, "less precise" },
	{ -EINVAL, { .type = 0 }, { 0, -1, -1 }, "one by one" },
	{ -EFAULT, { .type = 8 }, { 0, -1, -1 }, "config1" },
	{ -EBADF, { .type = 1 }, { 0, 0, 9 }, "/sys/fs/cgroup" },
	{ -EIO, { .type = 1 }, { 0, -1, -1 }, "coati doctor" },
};

TEST(explain_has_a_cause_and_a_next_step_for_every_errno)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct explain_case c = refusal(reasons[i].code, &reasons[i].attr);
		struct facts f = ordinary(2);

		c.target = reasons[i].target;
		CHECK_HAS(explained(&c, &f), reasons[i].part);
		CHECK_HAS(explained(&c, &f), "event-name");
		CHECK(strchr(explained(&c, &f), ';')); /* cause; next step */
	}
}

TEST(explain_says_what_is_wrong_with_a_group)
{
	struct coati_attr leader = { .type = 0 }, attr = { .type = 0 };
	struct explain_case c = refusal(-EINVAL, &attr);
	struct facts f = ordinary(2);

	c.leader = &leader;
	c.leader_target = (struct coati_target){ 0, 1, -1 };
	CHECK_HAS(explained(&c, &f), "same thread and CPU");
	c.leader_target = c.target;
	attr.flags = COATI_ATTR_PINNED;
	CHECK_HAS(explained(&c, &f), "leader");
	attr.flags = COATI_ATTR_USE_CLOCKID;
	CHECK_HAS(explained(&c, &f), "clock");
	attr.flags = 0;
	f.ungrouped = 0;
	CHECK_HAS(explained(&c, &f), ":W");
	c.code = -EBADF;
	CHECK_HAS(explained(&c, &f), "leader");
}

TEST(explain_says_what_a_dynamic_pmu_cannot)
{
	struct coati_attr attr = { .type = 10, .sample_period = 100 };
	struct explain_case c = refusal(-EINVAL, &attr);
	struct facts f = ordinary(-1);

	snprintf(f.pmu, sizeof(f.pmu), "msr");
	CHECK_HAS(explained(&c, &f), "PMU msr may only count");
	attr.sample_period = 0;
	CHECK_HAS(explained(&c, &f), "-a");
	c.target = (struct coati_target){ -1, 0, -1 };
	attr.flags = USER_ONLY;
	CHECK_HAS(explained(&c, &f), "modifiers");
	attr.flags = 0;
	CHECK_HAS(explained(&c, &f), "coati list msr");
	c.code = -ENOENT;
	CHECK_HAS(explained(&c, &f), "coati list msr");
}

TEST(explain_names_an_event_without_a_label)
{
	struct coati_attr attr = { .type = COATI_TYPE_TRACEPOINT, .config = 321 };
	struct explain_case c = refusal(-ENOENT, &attr);
	struct facts f = ordinary(2);

	c.label = "";
	CHECK_HAS(explained(&c, &f), "tracepoint 321");
	attr = (struct coati_attr){ .type = 5, .config1 = 0x1234 };
	CHECK_HAS(explained(&c, &f), "breakpoint 0x1234");
	attr = (struct coati_attr){ .type = 9, .config = 2 };
	CHECK_HAS(explained(&c, &f), "event 0x2 of type 9");
}

/* Of every kind of target there is a next step. */
static void check_targets(int code, int64_t paranoid, const struct coati_attr *attr)
{
	const struct coati_target targets[] = {
		{ 0, -1, -1 }, { 5, -1, -1 }, { -1, 0, -1 }, { 0, 0, 4 }
	};

	for (size_t t = 0; t < 4; t++) {
		struct explain_case c = refusal(-code, attr);
		struct facts f = ordinary(paranoid);

		c.target = targets[t];
		CHECK(strchr(explained(&c, &f), ';'));
	}
}

/* Over all errnos, levels and a few shapes of request: never a bare number, never without a next
 * step. */
TEST(explain_never_gives_a_bare_errno)
{
	const struct coati_attr attrs[] = { { .type = 0 },
					    { .type = 1, .flags = USER_ONLY },
					    { .type = 2, .sample_type = COATI_SAMPLE_RAW },
					    { .type = 5, .config2 = 4 },
					    { .type = 8 } };

	for (int code = 1; code < 134; code++)
		for (int64_t paranoid = -1; paranoid <= 4; paranoid++)
			for (size_t a = 0; a < 5; a++)
				check_targets(code, paranoid, &attrs[a]);
}
