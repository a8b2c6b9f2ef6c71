/* SPDX-License-Identifier: MIT */
/*
 * The mlock budget. The kernel adds up, per user, the pages of all rings and lets them go to
 * perf_event_mlock_kb for each online CPU; what is above counts against RLIMIT_MEMLOCK of the
 * process, unless it has CAP_IPC_LOCK or paranoid is -1. What other processes of the user hold
 * cannot be seen from here.
 */
#include "ring/budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <coati/ring.h>

#include "base/file.h"
#include "base/parse.h"

#define CAP_IPC_LOCK_BIT 14
#define DEFAULT_MLOCK_KB 516

/* The value of "Name:\t..." in /proc/PID/status, up to a blank or the end of the line. */
static bool status_value(const char *status, const char *name, char *buf, size_t size)
{
	const char *at = strstr(status, name);
	size_t len;

	if (!at)
		return false;
	at += strlen(name);
	at += strspn(at, " \t");
	len = strcspn(at, " \t\n");
	if (!len || len >= size)
		return false;
	memcpy(buf, at, len);
	buf[len] = 0;
	return true;
}

static void read_status(const char *procfs, struct coati_ring_limits *ret)
{
	struct strbuf s = STRBUF_INIT(64 * 1024);
	char path[256], text[32];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/self/status", procfs);
	if (coati_file_read(AT_FDCWD, path, &s) >= 0) {
		if (status_value(s.text, "\nVmPin:", text, sizeof(text)) &&
		    coati_parse_u64(text, 0, UINT64_MAX / 1024, &value) >= 0)
			ret->pinned_bytes = value * 1024;
		if (status_value(s.text, "\nCapEff:", text, sizeof(text)) &&
		    coati_parse_hex(text, &value) >= 0 && value >> CAP_IPC_LOCK_BIT & 1)
			ret->exempt = true;
	}
	coati_strbuf_fini(&s);
}

void coati_ring_limits_read(const char *procfs, struct coati_ring_limits *ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit limit;
	int64_t paranoid;
	char path[256];

	*ret = (struct coati_ring_limits){
		.mlock_kb = DEFAULT_MLOCK_KB,
		.cpus = cpus > 0 ? (uint64_t)cpus : 1,
		.memlock_bytes = UINT64_MAX,
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
	};
	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_mlock_kb", procfs);
	(void)coati_file_read_u64(AT_FDCWD, path, &ret->mlock_kb);
	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_paranoid", procfs);
	if (coati_file_read_i64(AT_FDCWD, path, &paranoid) >= 0 && paranoid < 0)
		ret->exempt = true;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		ret->memlock_bytes = limit.rlim_cur;
	read_status(procfs, ret);
}

uint64_t coati_ring_limits_share(const struct coati_ring_limits *limits, uint32_t nr_rings)
{
	uint64_t page = limits->page_bytes, pages, extra, share, size = 1;

	if (limits->exempt || limits->memlock_bytes == UINT64_MAX)
		return UINT64_MAX;
	if (__builtin_mul_overflow(limits->mlock_kb, 1024 * limits->cpus, &pages))
		return UINT64_MAX;
	pages /= page;
	extra = limits->memlock_bytes > limits->pinned_bytes
			? limits->memlock_bytes - limits->pinned_bytes
			: 0;
	if (__builtin_add_overflow(pages, extra / page, &pages))
		return UINT64_MAX;
	share = pages / (nr_rings ? nr_rings : 1);
	if (share < 2) /* the control page and one of data */
		return 0;
	while (size <= (share - 1) / 2)
		size *= 2;
	return size > UINT64_MAX / page ? UINT64_MAX : size * page;
}

uint64_t coati_ring_budget(uint32_t nr_rings)
{
	struct coati_ring_limits limits;

	coati_ring_limits_read("/proc", &limits);
	return coati_ring_limits_share(&limits, nr_rings);
}
