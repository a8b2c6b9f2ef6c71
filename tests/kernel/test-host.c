/* SPDX-License-Identifier: MIT */
/* The facts about this machine agree with what it says elsewhere. */

#include <stdio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/host.h"
#include "need.h"

TEST(host_facts_agree_with_the_machine)
{
	struct coati_host h;
	struct utsname u;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	char text[16] = "", want[16];

	need_perf();
	coati_host_read(&h);
	CHECK_OK(uname(&u));
	CHECK_HAS(h.kernel, u.release);
	CHECK_INT(h.uid, ==, geteuid());
	CHECK_INT(h.nr_cpus_online, ==, sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_INT(h.nr_cpus_possible, >=, h.nr_cpus_online);
	CHECK(f && fgets(text, sizeof(text), f));
	fclose(f);
	snprintf(want, sizeof(want), "%lld\n", (long long)h.paranoid);
	CHECK_STR(text, want);
	CHECK_INT(h.attr_size, >=, 120);
	CHECK_INT(h.attr_size, <, 1024);
	CHECK_INT(h.software_self, ==, 0);
	CHECK_INT(h.cycles_hz, >, 1000000);
	coati_host_read(NULL);
}

TEST(host_pmus_are_those_of_sysfs)
{
	struct coati_host h;

	coati_host_read(&h);
	CHECK_INT(h.uprobes, ==, access("/sys/bus/event_source/devices/uprobe", F_OK) == 0);
	CHECK_INT(h.kprobes, ==, access("/sys/bus/event_source/devices/kprobe", F_OK) == 0);
	CHECK_HAS(h.pmus, "software");
}

TEST(host_finds_a_mounted_tracefs)
{
	struct coati_host h;

	need_tracefs();
	coati_host_read(&h);
	CHECK_STR(h.tracefs, "/sys/kernel/tracing");
	CHECK_INT(h.tracefs_readable, ==, 1);
	CHECK_INT(h.tracepoint_raw, ==, 0);
}

TEST(host_of_an_ordinary_user_has_fewer_rights)
{
	struct coati_host h;

	need_root();
	coati_host_read(&h);
	CHECK_INT(h.software_cpu, ==, 0);
	CHECK_U64(h.caps_effective >> 38 & 1, ==, 1);
	become_nobody();
	coati_host_read(&h);
	CHECK_U64(h.caps_effective, ==, 0);
	CHECK_INT(h.uid, ==, 65534);
	if (h.paranoid > 0)
		CHECK_INT(h.software_cpu, ==, -EACCES);
	if (h.paranoid > 1)
		CHECK_INT(h.software_self_kernel, ==, -EACCES);
}

TEST(host_reading_leaves_no_descriptor_open)
{
	struct coati_host h;
	int before = dup(0), after;

	CHECK_OK(close(before));
	for (int i = 0; i < 3; i++)
		coati_host_read(&h);
	after = dup(0);
	CHECK_INT(after, ==, before);
}
