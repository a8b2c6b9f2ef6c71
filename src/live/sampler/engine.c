/* SPDX-License-Identifier: MIT */
/*
 * What makes the signals. perf: an event on each thread that there is, inherited by those that it starts. A thread that starts while we go through them may have
 * one twice, by inheritance and by us; the handler hears one of them. Timer: one over the CPU time of the process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <coati/abi.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parse.h"
#include "live/sampler/sampler.h"

#define IOC_ENABLE  0x2400
#define IOC_DISABLE 0x2401
#define FD_CLOEXEC_ 8 /* PERF_FLAG_FD_CLOEXEC */
#define THREADS_MAX 65536u
#define ROUNDS_MAX  8
#define ATTR_BYTES  128u /* up to sig_data */

/* Before 5.19 a SIGTRAP that a thread has blocked killed the process: nothing that could be tried out. */
static bool survives_blocked(void)
{
	struct utsname u;
	unsigned int major = 0, minor = 0;
	const char *at = u.release;

	if (uname(&u) < 0)
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		major = major * 10 + (unsigned int)(*at - '0');
	for (at += *at == '.'; *at >= '0' && *at <= '9'; at++)
		minor = minor * 10 + (unsigned int)(*at - '0');
	return major > 5 || (major == 5 && minor >= 19);
}

/* Up to two in a hundred more or less, and never nearly the same. */
uint64_t coati_sampler_dither(uint64_t period_ns, uint64_t *seed)
{
	uint64_t r = *seed += UINT64_C(0x9e3779b97f4a7c15), off;

	r = (r ^ r >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	r = (r ^ r >> 27) * UINT64_C(0x94d049bb133111eb);
	r ^= r >> 31;
	off = period_ns / 200 + (r >> 1) % (period_ns * 3 / 200 + 1);
	return r & 1 ? period_ns + off : period_ns - off;
}

static int open_event(int32_t tid, uint64_t period_ns, uint32_t number, bool no_kernel)
{
	struct coati_attr attr = {
		.type = COATI_TYPE_SOFTWARE,
		.size = ATTR_BYTES,
		.config = COATI_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.flags = COATI_ATTR_DISABLED | COATI_ATTR_INHERIT | COATI_ATTR_INHERIT_THREAD |
			 COATI_ATTR_REMOVE_ON_EXEC | COATI_ATTR_SIGTRAP |
			 (no_kernel ? COATI_ATTR_EXCLUDE_KERNEL : 0),
		.sig_data = SAMPLER_MARK << SAMPLER_MARK_SHIFT |
			    (uint64_t)number << SAMPLER_PERIOD_BITS | period_ns,
	};
	long fd = syscall(SYS_perf_event_open, &attr, (long)tid, -1L, -1L,
			  (unsigned long)FD_CLOEXEC_);

	return fd < 0 ? -errno : (int)fd;
}

static bool has_thread(const struct sampler_events *e, int32_t tid)
{
	for (uint32_t i = 0; i < e->len; i++)
		if (e->tids[i] == tid)
			return true;
	return false;
}

static int make_room(struct sampler_events *e)
{
	uint32_t cap = e->cap ? 2 * e->cap : 64;
	void *fds, *tids;

	if (e->len < e->cap)
		return 0;
	if (cap > THREADS_MAX)
		return -E2BIG;
	fds = coati_realloc_array(e->fds, cap, sizeof(*e->fds));
	if (fds)
		e->fds = fds;
	tids = coati_realloc_array(e->tids, cap, sizeof(*e->tids));
	if (tids)
		e->tids = tids;
	if (!fds || !tids)
		return -ENOMEM;
	e->cap = cap;
	return 0;
}

/* 1 added, 0 gone meanwhile, negative. */
static int add_thread(struct sampler_events *e, int32_t tid, uint64_t period_ns)
{
	int r = make_room(e), fd;

	if (r < 0)
		return r;
	period_ns = coati_sampler_dither(period_ns, &e->seed);
	fd = open_event(tid, period_ns, e->len, e->no_kernel);
	if ((fd == -EACCES || fd == -EPERM) && !e->len && !e->no_kernel) {
		e->no_kernel = true;
		fd = open_event(tid, period_ns, e->len, true);
	}
	if (fd == -ESRCH)
		return 0;
	if (fd < 0)
		return fd;
	e->tids[e->len] = tid;
	e->fds[e->len++] = fd;
	return 1;
}

/* The threads that are not known yet: how many, or negative. */
static int add_new(struct sampler_events *e, uint64_t period_ns, int32_t skip)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int added = 0, r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (entry = readdir(dir))) {
		uint32_t tid;

		if (coati_parse_u32(entry->d_name, 1, INT32_MAX, &tid) < 0 ||
		    (int32_t)tid == skip || has_thread(e, (int32_t)tid))
			continue;
		r = add_thread(e, (int32_t)tid, period_ns);
		added += r > 0;
	}
	closedir(dir);
	return r < 0 ? r : added;
}

int coati_sampler_open_perf(struct sampler_events *e, uint64_t period_ns, int32_t skip,
			    struct coati_error *err)
{
	int r = 1;

	if (!survives_blocked())
		return coati_fail(
			err, -EOPNOTSUPP,
			"sampler: perf events with signals need Linux 5.19; use the timer engine");
	for (int i = 0; i < ROUNDS_MAX && r > 0; i++)
		r = add_new(e, period_ns, skip);
	if (r == -EMFILE || r == -ENFILE)
		return coati_fail(
			err, r,
			"sampler: one descriptor for each of more than %u threads: %m; raise "
			"`ulimit -n` or use the timer engine",
			e->len);
	if (r < 0)
		return coati_fail(
			err, r,
			"sampler: a perf event on a thread of this process: %m; "
			"kernel.perf_event_paranoid above 2, or a filter of system calls (container), forbids it");
	return 0;
}

int coati_sampler_open_timer(struct sampler_events *e, struct coati_error *err)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGPROF,
			       .sigev_value.sival_ptr = &coati_sampler_shared };

	if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &ev, &e->timer) < 0)
		return coati_fail(err, -errno, "sampler: a timer of the CPU time: %m");
	e->has_timer = true;
	return 0;
}

int coati_sampler_enable(struct sampler_events *e, uint64_t period_ns, struct coati_error *err)
{
	struct timespec period = { (time_t)(period_ns / 1000000000u),
				   (long)(period_ns % 1000000000u) };
	struct itimerspec when = { period, period };

	for (uint32_t i = 0; i < e->len; i++)
		if (ioctl(e->fds[i], IOC_ENABLE, 0) < 0)
			return coati_fail(err, -errno, "sampler: starting a perf event: %m");
	if (e->has_timer && timer_settime(e->timer, 0, &when, NULL) < 0)
		return coati_fail(err, -errno, "sampler: starting a timer: %m");
	return 0;
}

void coati_sampler_close(struct sampler_events *e)
{
	for (uint32_t i = 0; i < e->len; i++) {
		ioctl(e->fds[i], IOC_DISABLE, 0);
		close(e->fds[i]);
	}
	if (e->has_timer)
		timer_delete(e->timer);
	coati_free(e->fds);
	coati_free(e->tids);
	*e = (struct sampler_events){ 0 };
}
