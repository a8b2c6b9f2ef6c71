/* SPDX-License-Identifier: MIT */
/*
 * A perf event on each thread that there is, inherited by those that it starts. A thread that
 * starts while we go through them may have one twice, by inheritance and by us; the handler hears
 * one of them.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/abi.h>

#include "base/error.h"
#include "live/sampler/engine.h"
#include "live/sampler/sampler.h"

#define FD_CLOEXEC_ 8 /* PERF_FLAG_FD_CLOEXEC */
#define ROUNDS_MAX  8
#define ATTR_BYTES  128u /* up to sig_data */

/*
 * When one thread follows another on a CPU and the second has inherited the events of the first,
 * the kernel saves work: it swaps their events instead of saving each. How much of a period has
 * passed goes with the event, and ends with the thread that happens to hold it: of a thread that
 * starts many short ones next to nothing is sampled. Events that are inherited and read with each
 * sample are never swapped. These samples are not read, so it costs nothing more. Kernels before
 * 6.13 refuse the two together.
 */
#define NEVER_SWAPPED (COATI_SAMPLE_READ | COATI_SAMPLE_TID)

static int open_event(const struct sampler_events *e, int32_t tid, uint64_t period_ns)
{
	uint64_t inherit = e->only ? 0 : COATI_ATTR_INHERIT | COATI_ATTR_INHERIT_THREAD;
	struct coati_attr attr = {
		.type = COATI_TYPE_SOFTWARE,
		.size = ATTR_BYTES,
		.config = COATI_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.sample_type = e->only || e->is_swapped ? 0 : NEVER_SWAPPED,
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
	if (t->fd == -EINVAL && !e->len && !e->only && !e->is_swapped) {
		e->is_swapped = true;
		t->fd = open_event(e, t->tid, period_ns);
	}
	if (t->fd == -ESRCH)
		return 0;
	return t->fd < 0 ? t->fd : 1;
}

int coati_sampler_open_perf(struct sampler_events *e, struct coati_error *err)
{
	int r = 1;

	/* Before, a SIGTRAP that a thread has blocked killed the process. */
	if (!coati_sampler_kernel_is(5, 19))
		return coati_fail(err, -EOPNOTSUPP,
				  "sampler: perf events with signals need Linux 5.19; use timers");
	for (int i = 0; i < ROUNDS_MAX && r > 0; i++)
		r = coati_sampler_add_threads(e, add_event);
	if (r == -EMFILE || r == -ENFILE)
		return coati_fail(
			err, r,
			"sampler: cannot open a descriptor for each of more than %u threads: %m; "
			"raise `ulimit -n` or use timers",
			e->len);
	if (r < 0)
		return coati_fail(err, r,
				  "sampler: cannot open a perf event on a thread of this process: "
				  "%m; kernel.perf_event_paranoid above 2, or a filter of system "
				  "calls (container), forbids it");
	return 0;
}
