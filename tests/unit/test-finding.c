/* SPDX-License-Identifier: MIT */
/* The doctor's judgment of machines that need not exist. */
#include "cli/doctor/finding.h"

#include <errno.h>
#include <stdio.h>

#include "event/host.h"
#include "lib/test.h"

/* A machine on which everything is allowed. */
static struct coati_host good_host(void)
{
	struct coati_host h = {
		.kernel = "6.18.0 x86_64",
		.paranoid = 2,
		.max_sample_rate = 100000,
		.max_stack = 127,
		.mlock_kb = 516,
		.memlock_bytes = 8 << 20,
		.cpu_time_max_percent = 25,
		.nr_cpus_online = 2,
		.nr_cpus_possible = 2,
		.caps_effective = UINT64_MAX,
		.tracefs = "/sys/kernel/tracing",
		.tracefs_readable = 1,
		.has_pmu = 1,
		.pmus = "cpu software",
		.kprobes = 1,
		.uprobes = 1,
		.bpf = 1,
		.btf = 1,
		.kallsyms = 1,
		.clocksource = "tsc",
		.cycles_invariant = 1,
		.cycles_hz = 2100000000,
		.attr_size = 136,
	};

	return h;
}

static struct finding find(const struct coati_host *h, const char *topic)
{
	struct finding f;

	for (uint32_t i = 0; coati_finding_get(h, i, &f); i++) {
		if (!strcmp(f.topic, topic))
			return f;
	}
	test_fail_at(__FILE__, __LINE__, "no finding about %s", topic);
}

TEST(doctor_finds_nothing_to_mend_where_all_is_allowed)
{
	struct coati_host h = good_host();
	struct finding f;

	for (uint32_t i = 0; coati_finding_get(&h, i, &f); i++) {
		if (!strcmp(f.topic, "symbols") || !strcmp(f.topic, "unwinding") ||
		    !strcmp(f.topic, "build") || !strcmp(f.topic, "sandbox") ||
		    !strcmp(f.topic, "kernel stacks"))
			continue; /* these look at the real machine and build */
		if (f.state != FINDING_OK)
			test_fail_at(__FILE__, __LINE__, "%s: %s", f.topic, f.found);
		CHECK_STR(f.remedy, "");
	}
}

TEST(doctor_gives_consequence_and_remedy_for_all_that_is_wanting)
{
	struct coati_host h = { .paranoid = 4,
				.software_self = -EACCES,
				.software_self_kernel = -EACCES,
				.software_cpu = -EACCES,
				.tracepoint_raw = -EACCES,
				.lsm_lockdown = 2,
				.max_sample_rate = 100,
				.uid = 1000,
				.bpf = -1 };
	struct finding f;
	uint32_t nr = 0;

	for (uint32_t i = 0; coati_finding_get(&h, i, &f); i++) {
		CHECK(f.state != FINDING_UNKNOWN);
		CHECK(f.found[0]);
		if (f.state == FINDING_OK)
			continue;
		nr++;
		if (!f.means[0] || !f.remedy[0])
			test_fail_at(__FILE__, __LINE__, "%s: \"%s\" \"%s\"", f.topic, f.means,
				     f.remedy);
	}
	CHECK_INT(nr, >=, 14);
}

TEST(doctor_names_the_sysctl_that_refuses)
{
	struct coati_host h = good_host();
	struct finding f;

	h.caps_effective = 0;
	h.uid = 1000;
	h.paranoid = 4;
	h.software_self = -EACCES;
	f = find(&h, "perf events");
	CHECK_INT(f.state, ==, FINDING_MISSING);
	CHECK_HAS(f.found, "EACCES");
	CHECK_HAS(f.means, "kernel.perf_event_paranoid is 4");
	CHECK_STR(f.remedy, "sudo sysctl kernel.perf_event_paranoid=1");
}

TEST(doctor_suspects_the_container_when_paranoid_is_low)
{
	struct coati_host h = good_host();
	struct finding f;

	h.paranoid = 1;
	h.seccomp = 2;
	h.container = 1;
	h.software_self = -EPERM;
	f = find(&h, "perf events");
	CHECK_HAS(f.means, "seccomp");
	CHECK_HAS(f.remedy, "--cap-add PERFMON");
}

TEST(doctor_says_when_the_kernel_has_no_perf_events)
{
	struct coati_host h = good_host();

	h.paranoid = COATI_HOST_UNKNOWN;
	h.software_self = -ENOSYS;
	CHECK_HAS(find(&h, "perf events").remedy, "CONFIG_PERF_EVENTS=y");
	CHECK_INT(find(&h, "paranoid").state, ==, FINDING_MISSING);
}

TEST(doctor_does_not_count_capabilities_of_a_user_namespace)
{
	struct coati_host h = good_host();

	h.user_namespace = 1;
	CHECK_INT(find(&h, "capabilities").state, ==, FINDING_LIMITED);
	CHECK_HAS(find(&h, "capabilities").means, "user namespace");
	CHECK_INT(find(&h, "paranoid").state, ==, FINDING_LIMITED);
}

TEST(doctor_tells_the_three_states_of_tracefs_apart)
{
	struct coati_host h = good_host();

	h.tracepoint_raw = -EPERM;
	CHECK_HAS(find(&h, "tracepoints").means, "fields cannot be recorded");
	h.tracefs_readable = 0;
	CHECK_HAS(find(&h, "tracepoints").remedy, "remount");
	h.tracefs[0] = 0;
	CHECK_HAS(find(&h, "tracepoints").remedy, "mount -t tracefs");
}

TEST(doctor_remedies_for_ordinary_users_follow_the_paranoid_level)
{
	struct coati_host h = good_host();

	h.caps_effective = 0;
	h.paranoid = 2;
	CHECK_HAS(find(&h, "paranoid").means, "user space of own processes");
	h.paranoid = 1;
	CHECK_HAS(find(&h, "paranoid").means, "with their kernel part");
	h.paranoid = 3;
	CHECK_HAS(find(&h, "paranoid").means, "no events");
	h.paranoid = -1;
	CHECK_INT(find(&h, "paranoid").state, ==, FINDING_OK);
}

/* The kernel, and a reason of ours. */
static struct finding of_sandbox(int landlock, int seccomp, const char *why, bool is_checked)
{
	struct sandbox_support s = { .landlock = landlock,
				     .seccomp = seccomp,
				     .is_checked = is_checked,
				     .is_confined = is_checked && !why,
				     .why = why,
				     .remedy = why ? "do without" : NULL };
	struct finding f = { .topic = "sandbox" };

	coati_finding_sandbox(&s, &f);
	return f;
}

TEST(doctor_tells_what_confines_readers_and_what_is_missing)
{
	struct finding f = of_sandbox(7, 0, NULL, true);

	CHECK_INT(f.state, ==, FINDING_OK);
	CHECK_STR(f.found, "Landlock version 7, seccomp filters");
	CHECK(!f.means[0] && !f.remedy[0]);
	f = of_sandbox(-EOPNOTSUPP, 0, NULL, true);
	CHECK_INT(f.state, ==, FINDING_LIMITED);
	CHECK_STR(f.found, "no Landlock, seccomp filters");
	CHECK_HAS(f.remedy, "landlock in lsm=");
	f = of_sandbox(1, -EINVAL, NULL, true);
	CHECK_INT(f.state, ==, FINDING_LIMITED);
	CHECK_STR(f.found, "Landlock version 1, no seccomp filters");
	CHECK_HAS(f.remedy, "CONFIG_SECCOMP_FILTER=y");
	f = of_sandbox(-ENOSYS, -EINVAL, NULL, false);
	CHECK_INT(f.state, ==, FINDING_MISSING);
	CHECK_HAS(f.means, "not confined");
	f = of_sandbox(7, 0, "a reason", true);
	CHECK_INT(f.state, ==, FINDING_LIMITED);
	CHECK_HAS(f.found, "; a reason");
	CHECK_HAS(f.means, "which are not confined");
	CHECK_STR(f.remedy, "do without");
	f = of_sandbox(7, 0, "a reason", false);
	CHECK_INT(f.state, ==, FINDING_MISSING);
	CHECK_STR(f.remedy, "do without");
}
