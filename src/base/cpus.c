/* SPDX-License-Identifier: MIT */
/* see cpus.h */
#include "base/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/strbuf.h"

#define CPUS_MAX     8192
#define PATH_BYTES   512
#define LINE_BYTES   512
#define CGROUP_BYTES 65536
#define CGROUPS	     "/sys/fs/cgroup"

static uint32_t allowed_cpus(void)
{
	unsigned long bits[CPUS_MAX / (8 * sizeof(unsigned long))] = { 0 };
	int nr;

	if (sched_getaffinity(0, sizeof(bits), (cpu_set_t *)bits) < 0)
		return 1;
	nr = CPU_COUNT_S(sizeof(bits), (cpu_set_t *)bits);
	return nr < 1 ? 1 : (uint32_t)nr;
}

/* CPUs that the quota in @dir pays for, rounded up; UINT32_MAX: there is none. */
static uint32_t quota_of(const char *dir)
{
	char path[PATH_BYTES + 16], line[LINE_BYTES], *blank;
	uint64_t quota, period, cpus;

	snprintf(path, sizeof(path), "%s/cpu.max", dir);
	if (coati_file_read_line(AT_FDCWD, path, line, sizeof(line)) < 0)
		return UINT32_MAX;
	blank = strchr(line, ' ');
	if (!blank)
		return UINT32_MAX;
	*blank = 0;
	if (coati_parse_u64(line, 1, UINT64_MAX, &quota) < 0 ||
	    coati_parse_u64(blank + 1, 1, UINT64_MAX, &period) < 0)
		return UINT32_MAX;
	cpus = quota / period + (quota % period != 0);
	return cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

/* Our cgroup of version 2, as a directory. */
static bool find_cgroup(char *ret, size_t size)
{
	struct strbuf s = STRBUF_INIT(CGROUP_BYTES);
	const char *line = NULL;
	int n = -1;

	coati_strbuf_adds(&s, "\n");
	if (coati_file_read(AT_FDCWD, "/proc/self/cgroup", &s) == 0)
		line = strstr(s.text, "\n0::/");
	if (line) {
		line += strlen("\n0::");
		n = snprintf(ret, size, CGROUPS "%.*s", (int)strcspn(line, "\n"), line);
	}
	coati_strbuf_fini(&s);
	return n >= 0 && (size_t)n < size;
}

/* The smallest quota of our cgroup and of those that it lies in. */
static uint32_t smallest_quota(void)
{
	uint32_t least = UINT32_MAX, quota;
	char path[PATH_BYTES];

	if (!find_cgroup(path, sizeof(path)))
		return least;
	for (;;) {
		quota = quota_of(path);
		least = quota < least ? quota : least;
		if (strlen(path) <= strlen(CGROUPS))
			return least;
		*strrchr(path, '/') = 0;
	}
}

uint32_t coati_cpus(void)
{
	uint32_t cpus = allowed_cpus(), quota = cpus > 1 ? smallest_quota() : 1;

	return quota < cpus ? quota : cpus;
}
