/* SPDX-License-Identifier: MIT */
/*
 * A perf event on each thread that there is, inherited by those that it starts. A thread that starts while we go through them may have one twice, by inheritance and by
 * us; the handler hears one of them.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <coati/abi.h>

#include "base/error.h"
#include "live/sampler/engine.h"
#include "live/sampler/sampler.h"

#define FD_CLOEXEC_ 8 /* PERF_FLAG_FD_CLOEXEC */
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

static int open_event(const struct sampler_events *e, int32_t tid, uint64_t period_ns)
{
	uint64_t inherit = e->only ? 0 : COATI_ATTR_INHERIT | COATI_ATTR_INHERIT_THREAD;
	struct coati_attr attr = {
		.type = COATI_TYPE_SOFTWARE,
		.size = ATTR_BYTES,
		.config = COATI_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.flags = COATI_ATTR_DISABLED | inherit | COATI_ATTR_REMOVE_ON_EXEC |
			 COATI_ATTR_SIGTRAP | (e->no_kernel ? COATI_ATTR_EXCLUDE_KERNEL : 0),
		.sig_data = SAMPLER_MARK << SAMPLER_MARK_SHIFT |
			    (uint64_t)e->len << SAMPLER_PERIOD_BITS | period_ns,
	};
	long fd = syscall(SYS_perf_event_open, &attr, (long)tid, -1L, -1L,
			  (unsigned long)FD_CLOEXEC_);

	return fd < 0 ? -errno : (int)fd;
}

static int add_event(struct sampler_events *e, struct sampler_thread *t)
{
	uint64_t period_ns = coati_sampler_dither(e->asked_ns, &e->seed);

	t->fd = open_event(e, t->tid, period_ns);
	if ((t->fd == -EACCES || t->fd == -EPERM) && !e->len && !e->no_kernel) {
		e->no_kernel = true;
		t->fd = open_event(e, t->tid, period_ns);
	}
	if (t->fd == -ESRCH)
		return 0;
	return t->fd < 0 ? t->fd : 1;
}

int coati_sampler_open_perf(struct sampler_events *e, struct coati_error *err)
{
	int r = 1;

	if (!survives_blocked())
		return coati_fail(err, -EOPNOTSUPP,
				  "sampler: perf events with signals need Linux 5.19; use timers");
	for (int i = 0; i < ROUNDS_MAX && r > 0; i++)
		r = coati_sampler_add_threads(e, add_event);
	if (r == -EMFILE || r == -ENFILE)
		return coati_fail(
			err, r,
			"sampler: one descriptor for each of more than %u threads: %m; raise "
			"`ulimit -n` or use timers",
			e->len);
	if (r < 0)
		return coati_fail(
			err, r,
			"sampler: a perf event on a thread of this process: %m; "
			"kernel.perf_event_paranoid above 2, or a filter of system calls (container), forbids it");
	return 0;
}
