/* SPDX-License-Identifier: MIT */
/* What was asked of coati stat: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

/* Tags in stat_args.events: what is to be counted, and filters that belong to the event before
 * them. */
enum { STAT_EVENT = 1, STAT_FILTER };

struct stat_args {
	struct option_texts events;
	struct option_ids pids, tids;
	bool all, per_thread, per_cpu, no_inherit, scale;
	const char *cpus, *cgroup;
	uint64_t interval_ns, duration_ns, delay_ns;
	uint32_t repeat;
	bool json, csv, quiet, verbose;
	const char *out;
	int color;
	char **command; /* NULL at the end; NULL: no command */
};

/* Does the command itself get counted, or only give the time? */
static inline bool stat_counts_command(const struct stat_args *a)
{
	return a->command && !a->all && !a->cpus && !a->cgroup && !a->pids.len && !a->tids.len;
}
