/* SPDX-License-Identifier: MIT */
/*
 * The facts behind `coati doctor`. In: /proc, /sys, a few system calls that are undone at once.
 * Out: struct coati_host, in which everything that could not be read has its value for unknown.
 * Takes some milliseconds, most of them for the measurement of the cycle counter.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "arch/cycles.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "event/calls.h"
#include "event/facts.h"
#include "event/host.h"
#include "event/tracefs.h"
#include "event/uapi-compat.h"

#define PMUS	   "/sys/bus/event_source/devices"
#define MEASURE_NS (5 * NSEC_PER_MSEC)

#ifndef SYS_bpf
#error "this architecture has no bpf number in its libc"
#endif

static void read_kernel(struct coati_host *h)
{
	struct utsname u;

	if (uname(&u) == 0)
		snprintf(h->kernel, sizeof(h->kernel), "%.80s %.40s", u.release, u.machine);
}

static void read_limits(struct coati_host *h)
{
	struct rlimit l;

	h->kptr_restrict = coati_facts_sysctl("kptr_restrict");
	h->mlock_kb = coati_facts_sysctl("perf_event_mlock_kb");
	h->cpu_time_max_percent = coati_facts_sysctl("perf_cpu_time_max_percent");
	h->unprivileged_bpf = coati_facts_sysctl("unprivileged_bpf_disabled");
	h->yama_ptrace = coati_facts_sysctl("yama/ptrace_scope");
	h->memlock_bytes = COATI_HOST_UNKNOWN;
	if (getrlimit(RLIMIT_MEMLOCK, &l) == 0)
		h->memlock_bytes = l.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)l.rlim_cur;
}

static void read_cpus(struct coati_host *h)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN), possible = sysconf(_SC_NPROCESSORS_CONF);

	h->nr_cpus_online = coati_facts_nr_cpus("online");
	h->nr_cpus_possible = coati_facts_nr_cpus("possible");
	if (!h->nr_cpus_online)
		h->nr_cpus_online = online;
	if (!h->nr_cpus_possible)
		h->nr_cpus_possible = possible;
}

static void read_tracefs(struct coati_host *h)
{
	char path[sizeof(h->tracefs) + 16];

	if (coati_tracefs_find(NULL, h->tracefs, sizeof(h->tracefs), NULL) < 0 && !h->tracefs[0])
		return;
	snprintf(path, sizeof(path), "%s/events", h->tracefs);
	h->tracefs_readable = access(path, R_OK | X_OK) == 0;
}

/* Names in the order of sysfs; the last one that does not fit becomes "...". */
static void read_pmus(struct coati_host *h)
{
	CLEANUP(dir_closep) DIR *dir = opendir(PMUS);
	size_t len = 0;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t more = strlen(e->d_name) + (len > 0);

		if (e->d_name[0] == '.')
			continue;
		h->kprobes |= !strcmp(e->d_name, "kprobe");
		h->uprobes |= !strcmp(e->d_name, "uprobe");
		if (len + more + sizeof(" ...") <= sizeof(h->pmus))
			len += (size_t)snprintf(h->pmus + len, sizeof(h->pmus) - len, "%s%s",
						len ? " " : "", e->d_name);
		else if (len + sizeof(" ...") <= sizeof(h->pmus) && !strstr(h->pmus, "..."))
			snprintf(h->pmus + len, sizeof(h->pmus) - len, " ...");
	}
}

/* A map of one byte, the smallest thing that the BPF call makes. */
static void read_bpf(struct coati_host *h)
{
	struct {
		uint32_t map_type, key_size, value_size, max_entries;
		uint32_t rest[12];
	} attr = { .map_type = 2 /* array */, .key_size = 4, .value_size = 8, .max_entries = 1 };
	int fd = (int)syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, &attr, sizeof(attr));

	h->bpf = fd >= 0 ? 1 : errno == ENOSYS ? -1 : 0;
	if (fd >= 0)
		close(fd);
	h->btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

/* Whether the first symbol has an address other than zero. */
static void read_kallsyms(struct coati_host *h)
{
	CLEANUP(fd_closep) int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strspn(line, "0") < 16 && strspn(line, "0123456789abcdef") == 16) {
			h->kallsyms = 1;
			return;
		}
	}
}

static void read_clock(struct coati_host *h)
{
	uint64_t start_ns, end_ns, start, end;

	if (coati_file_read_line(AT_FDCWD,
				 "/sys/devices/system/clocksource/clocksource0/current_clocksource",
				 h->clocksource, sizeof(h->clocksource)) < 0)
		h->clocksource[0] = '\0';
	h->cycles_invariant = arch_cycles_invariant();
	start_ns = now_ns();
	start = arch_cycles();
	do {
		end_ns = now_ns();
		end = arch_cycles();
	} while (end_ns - start_ns < MEASURE_NS);
	h->cycles_hz = (int64_t)((__uint128_t)(end - start) * NSEC_PER_SEC / (end_ns - start_ns));
}

static int try_open(struct open_args args)
{
	const struct event_calls *calls = &coati_event_calls;
	int fd;

	args.attr.size = sizeof(args.attr);
	args.flags |= COATI_OPEN_CLOEXEC;
	args.group_fd = -1;
	fd = calls->open(calls->ctx, &args);
	if (fd < 0)
		return fd;
	calls->close(calls->ctx, fd, args.attr.type);
	return 0;
}

/* The id of a tracepoint that every kernel has. */
static int64_t try_tracepoint(const struct coati_host *h)
{
	struct open_args args = { .attr = { .type = COATI_TYPE_TRACEPOINT,
					    .sample_period = 1,
					    .sample_type = COATI_SAMPLE_RAW },
				  .cpu = -1 };
	int r;

	if (!h->tracefs[0])
		return -ENOENT;
	r = coati_tracefs_id(h->tracefs, "sched", "sched_switch", &args.attr.config, NULL);
	return r < 0 ? r : try_open(args);
}

static void try_events(struct coati_host *h)
{
	struct open_args args = { .attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_DUMMY },
				  .cpu = -1 };

	h->software_self_kernel = try_open(args);
	args.attr.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV;
	h->software_self = try_open(args);
	args.pid = -1;
	args.cpu = 0;
	h->software_cpu = try_open(args);
	args.pid = 0;
	args.cpu = -1;
	args.attr.type = COATI_TYPE_HARDWARE;
	args.attr.config = COATI_HW_CPU_CYCLES;
	h->has_pmu = try_open(args) == 0;
	h->tracepoint_raw = try_tracepoint(h);
}

/* A longer attribute than any kernel has is refused, and the kernel writes down its own length. */
static int64_t kernel_attr_size(void)
{
	union {
		struct coati_attr attr;
		uint8_t bytes[1024];
	} longer = { .attr = { .type = COATI_TYPE_SOFTWARE,
			       .config = COATI_SW_DUMMY,
			       .size = sizeof(longer),
			       .flags = COATI_ATTR_EXCLUDE_KERNEL } };
	int fd;

	longer.bytes[sizeof(longer.bytes) - 1] = 1;
	fd = perf_event_open(&longer.attr, 0, -1, -1, COATI_OPEN_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return COATI_HOST_UNKNOWN;
	}
	return errno == E2BIG ? (int64_t)longer.attr.size : COATI_HOST_UNKNOWN;
}

void coati_host_read(struct coati_host *ret)
{
	struct coati_host h = { .kernel = "" };
	struct facts f;

	if (!ret)
		return;
	coati_facts_read(&f);
	h.paranoid = f.paranoid;
	h.max_sample_rate = f.max_sample_rate;
	h.max_stack = f.max_stack;
	h.caps_effective = f.caps;
	h.seccomp = f.seccomp;
	h.container = f.container[0] != '\0';
	snprintf(h.container_hint, sizeof(h.container_hint), "%s", f.container);
	h.uid = f.uid;
	h.user_namespace = f.user_namespace;
	h.lsm_lockdown = f.lockdown;
	read_kernel(&h);
	read_limits(&h);
	read_cpus(&h);
	read_tracefs(&h);
	read_pmus(&h);
	read_bpf(&h);
	read_kallsyms(&h);
	read_clock(&h);
	try_events(&h);
	h.attr_size = kernel_attr_size();
	*ret = h;
}
