/* SPDX-License-Identifier: MIT */
/* see need.h */
#include "need.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/bpf-asm.h"
#include "lib/sanitizer.h"

#define TRACEFS	      "/sys/kernel/tracing"
#define PARANOID      "/proc/sys/kernel/perf_event_paranoid"
#define POPULATE_READ 22 /* MADV_POPULATE_READ, since Linux 5.14 */

/* Code and constants that are not in memory, or not any more, would be a page fault more at the
 * first use, where exactly so many are expected. */
static void map_program(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char prot[5];

	while (f && fscanf(f, "%lx-%lx %4s%*[^\n]", &start, &end, prot) == 3)
		if (prot[0] == 'r' && prot[1] != 'w') /* older kernels do not know how */
			madvise((void *)start, end - start, POPULATE_READ);
	if (f)
		fclose(f);
}

void need_perf(void)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = COATI_SW_DUMMY,
				   .flags = COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err) < 0)
		test_skip_need("perf", "%s", err.text);
	coati_event_close(&ev);
	map_program();
}

void need_root(void)
{
	need_perf();
	if (geteuid() != 0)
		test_skip_need("root", "needs root");
}

const char *need_tracefs(void)
{
	need_perf();
	if (access(TRACEFS "/events", R_OK) == 0)
		return TRACEFS;
	if (geteuid() != 0)
		test_skip_need("tracefs", "tracefs is not mounted, and mounting it needs root");
	/* in a chroot whose root is no mount point /sys alone is made private */
	if (unshare(CLONE_NEWNS) < 0 ||
	    (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 &&
	     mount(NULL, "/sys", NULL, MS_REC | MS_PRIVATE, NULL) < 0) ||
	    mount("nodev", TRACEFS, "tracefs", 0, NULL) < 0)
		test_skip_need("tracefs", "tracefs cannot be mounted: %s", strerror(errno));
	return TRACEFS;
}

struct coati_attr need_tracepoint(const char *system, const char *name)
{
	struct coati_attr attr = { .type = COATI_TYPE_TRACEPOINT, .flags = COATI_ATTR_DISABLED };
	char path[256], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", need_tracefs(), system, name);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		test_skip_need("tracefs", "this kernel has no tracepoint %s:%s", system, name);
	fclose(f);
	for (const char *p = text; *p >= '0' && *p <= '9'; p++)
		attr.config = attr.config * 10 + (uint64_t)(*p - '0');
	return attr;
}

void need_two_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		test_skip("needs two CPUs");
}

void become_nobody(void)
{
	CHECK_OK(setgroups(0, NULL));
	CHECK_OK(setresgid(65534, 65534, 65534));
	CHECK_OK(setresuid(65534, 65534, 65534));
	/* still to be looked at in /proc by ourselves */
	prctl(PR_SET_DUMPABLE, 1);
}

static char old_paranoid[16];
/* locked while the level is not what it was: suites may run side by side */
static int paranoid_fd = -1;

static void write_paranoid(const char *text)
{
	if (pwrite(paranoid_fd, text, strlen(text), 0) < 0)
		test_skip_need("root", "perf_event_paranoid cannot be set: %s", strerror(errno));
}

void need_paranoid(int level)
{
	char text[16];

	paranoid_fd = open(PARANOID, O_RDWR | O_CLOEXEC);
	if (paranoid_fd < 0 || flock(paranoid_fd, LOCK_EX) < 0 ||
	    pread(paranoid_fd, old_paranoid, sizeof(old_paranoid) - 1, 0) <= 0)
		test_skip_need("root", "perf_event_paranoid cannot be set: %s", strerror(errno));
	snprintf(text, sizeof(text), "%d", level);
	write_paranoid(text);
}

void restore_paranoid(void)
{
	write_paranoid(old_paranoid);
	close(paranoid_fd);
	paranoid_fd = -1;
}

struct coati_attr software(uint64_t config)
{
	return (struct coati_attr){ .type = COATI_TYPE_SOFTWARE,
				    .config = config,
				    .flags = COATI_ATTR_DISABLED |
					     (geteuid() ? COATI_ATTR_EXCLUDE_KERNEL : 0) };
}

struct coati_event *opened(const struct coati_attr *attr, const struct coati_event_opts *opts)
{
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	if (coati_event_open(attr, &COATI_SELF, opts, &ev, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return ev;
}

/* Behind the back of the sanitizers, whose own bookkeeping would fault too. */
__attribute__((no_sanitize("thread", "address"))) void touch_pages(void *nr_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), nr = *(uintptr_t *)nr_pages;
	volatile char *p =
		(volatile char *)syscall(SYS_mmap, NULL, nr * page, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	syscall(SYS_madvise, p, nr * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr; i++)
		p[i * page] = 1;
	syscall(SYS_munmap, p, nr * page);
}

#ifdef UNDER_TSAN
static __attribute__((no_sanitize("thread"))) long own_faults(void)
{
	struct rusage u;

	syscall(SYS_getrusage, RUSAGE_THREAD, &u);
	return u.ru_minflt;
}

/* TSan writes the entry and exit of each function that calls others. */
static __attribute__((noinline)) void leave_a_trace(void)
{
	do_nothing(NULL);
}

/*
 * TSan keeps a trace of what a thread did, 8 bytes for each event, in memory that it touches page
 * by page: one of 69 measurements had the fault of a new page in it. Just after one there is room
 * for 500 events.
 */
static void begin_a_page_of_the_trace(void)
{
	for (int i = 0; i < 100000; i++) {
		long before = own_faults();

		leave_a_trace();
		if (own_faults() > before)
			return;
	}
}
#else
static void begin_a_page_of_the_trace(void)
{
}
#endif

void rehearse(void (*work)(void *), void *arg)
{
	work(arg);
	begin_a_page_of_the_trace();
}

void call_getppid(void *unused)
{
	syscall(SYS_getppid);
}

void do_nothing(void *unused)
{
}

int need_bpf_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags)
{
	int fd = bpf_asm_map(type, key, value, entries, flags);

	if (fd < 0)
		test_skip_need("bpf", "a BPF map: %s", strerror(-fd));
	return fd;
}
