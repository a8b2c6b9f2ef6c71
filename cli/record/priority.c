/* SPDX-License-Identifier: MIT */
/* see record/priority.h */
#include "cli/record/priority.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "base/error.h"

#define NICE_RAISED (-10)

static int nice_before;
static bool is_raised, is_realtime;

/* Draining takes a few percent of a CPU, so that it cannot starve others; and the kernel leaves
 * 5 % of the time to those that are not real-time. */
static int raise_realtime(uint32_t priority, struct coati_error *err)
{
	const struct sched_param p = { .sched_priority = (int)priority };

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) < 0)
		return coati_fail(err, -errno,
				  "--realtime %u: %m; run as root, or raise the limit with "
				  "ulimit -r %u",
				  priority, priority);
	is_realtime = true;
	return 0;
}

int coati_record_priority_raise(uint32_t realtime, struct coati_error *err)
{
	if (realtime)
		return raise_realtime(realtime, err);
	errno = 0;
	nice_before = getpriority(PRIO_PROCESS, 0);
	/* who has chosen a priority for us keeps it */
	if (errno || nice_before)
		return 0;
	is_raised = setpriority(PRIO_PROCESS, 0, NICE_RAISED) == 0;
	return 0;
}

void coati_record_priority_restore(void)
{
	const struct sched_param p = { .sched_priority = 0 };

	if (is_realtime)
		(void)sched_setscheduler(0, SCHED_OTHER, &p);
	if (is_raised)
		(void)setpriority(PRIO_PROCESS, 0, nice_before);
	is_realtime = is_raised = false;
}
