/* SPDX-License-Identifier: MIT */
/* What the agent reads of /proc and /sys, against what a plain reader finds there. Numbers that
 * grow are between what was there before and what is there afterwards. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/machine.h"

/* The first line: all CPUs; time of guests is in that of users already. */
static struct machine_cpu plain_cpu(void)
{
	unsigned long long v[8];
	struct machine_cpu c = { 0 };
	FILE *f = fopen("/proc/stat", "re");

	CHECK(f);
	CHECK_INT(fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			 &v[3], &v[4], &v[5], &v[6], &v[7]),
		  ==, 8);
	fclose(f);
	for (int i = 0; i < 8; i++)
		c.total += v[i];
	c.busy = c.total - v[3] - v[4];
	return c;
}

TEST(agent_machine_cpu_time_is_that_of_the_kernel)
{
	struct machine_cpu before = plain_cpu(), got, after;

	CHECK_OK(coati_machine_cpu(&got));
	after = plain_cpu();
	CHECK_U64(got.busy, >=, before.busy);
	CHECK_U64(got.busy, <=, after.busy);
	CHECK_U64(got.total, >=, before.total);
	CHECK_U64(got.total, <=, after.total);
}

/* Of "cpuN" and nine numbers the eighth; 0 where the kernel does not count. */
static uint64_t plain_delay(void)
{
	unsigned long long sum = 0, v;
	char line[4096];
	FILE *f = fopen("/proc/schedstat", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %*u %llu", &v) == 1)
			sum += v;
	if (f)
		fclose(f);
	return sum;
}

TEST(agent_machine_run_delay_is_the_sum_of_all_cpus)
{
	uint64_t before = plain_delay(), got = 1;
	int r = coati_machine_all_delay(&got);

	if (access("/proc/schedstat", R_OK) < 0) {
		CHECK_ERR(r, -ENOENT);
		return;
	}
	CHECK_OK(r);
	CHECK_U64(got, >=, before);
	CHECK_U64(got, <=, plain_delay());
}

/* Per cent of the last ten seconds; negative where the kernel does not say. */
static double plain_pressure(void)
{
	FILE *f = fopen("/proc/pressure/cpu", "re");
	double avg10 = -1;

	if (f && fscanf(f, "some avg10=%lf", &avg10) != 1)
		avg10 = -1;
	if (f)
		fclose(f);
	return avg10;
}

TEST(agent_machine_pressure_is_that_of_the_kernel)
{
	double before, got, after;

	if (plain_pressure() < 0)
		test_skip("the kernel has no /proc/pressure");
	do { /* it changes every two seconds */
		before = plain_pressure();
		got = -1;
		CHECK_OK(coati_machine_pressure("cpu", &got));
		after = plain_pressure();
	} while (before < after || after < before);
	CHECK(got >= before && got <= before);
	CHECK_ERR(coati_machine_pressure("nothing", &got), -ENOENT);
}

TEST(agent_machine_knows_a_process_by_its_number)
{
	char cgroup[AGENT_CGROUP_MAX], program[AGENT_PROGRAM_MAX], comm[64];
	uint64_t start = coati_machine_process_start(getpid()), delay;
	FILE *f = fopen("/proc/self/comm", "re");
	struct timespec now;

	CHECK(f && fgets(comm, sizeof(comm), f));
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	coati_machine_program_of(getpid(), program);
	CHECK_STR(program, comm);
	clock_gettime(CLOCK_BOOTTIME, &now);
	CHECK_U64(start, >, 0);
	CHECK_U64(start / 1000000000, <=, now.tv_sec);
	CHECK_U64(start, ==, coati_machine_process_start(getpid()));
	CHECK_OK(coati_machine_cgroup_of(getpid(), cgroup));
	CHECK(cgroup[0] == '/');
	CHECK_OK(coati_machine_run_delay(getpid(), &delay));
	/* there is no such process */
	CHECK_U64(coati_machine_process_start(5000010), ==, 0);
	coati_machine_program_of(5000010, program);
	CHECK_STR(program, "");
	CHECK_ERR(coati_machine_cgroup_of(5000010, cgroup), -ENOENT);
	CHECK_ERR(coati_machine_run_delay(5000010, &delay), -ENOENT);
}

/* "usage_usec 4711" of version 2, where it is mounted. */
static uint64_t plain_usage_us(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long us = 0;

	if (!f || fscanf(f, "usage_usec %llu", &us) != 1)
		us = 0;
	if (f)
		fclose(f);
	return us;
}

TEST(agent_machine_cgroup_time_is_that_of_the_kernel)
{
	uint64_t before = plain_usage_us("/sys/fs/cgroup/cpu.stat"), got = 0;
	const char *path = before ? "/sys/fs/cgroup/cpu.stat" : "/sys/fs/cgroup/unified/cpu.stat";

	CHECK_ERR(coati_machine_cgroup_cpu("/no/such/group", &got), -ENOENT);
	CHECK_ERR(coati_machine_cgroup_cpu("relative", &got), -ENOENT);
	CHECK_ERR(coati_machine_cgroup_cpu("/../etc", &got), -ENOENT);
	CHECK_U64(got, ==, 0);
	before = plain_usage_us(path);
	if (!before)
		test_skip("no cgroups of version 2 are mounted");
	CHECK_OK(coati_machine_cgroup_cpu("/", &got));
	CHECK_U64(got, >=, before * 1000);
	CHECK_U64(got, <=, plain_usage_us(path) * 1000);
}
