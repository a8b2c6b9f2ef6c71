/* SPDX-License-Identifier: MIT */
/* What was asked of coati record: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

/* Tags in record_args.events: what is to be sampled, and filters that belong to the event before
 * them. */
enum { RECORD_EVENT = 1, RECORD_FILTER };

/* The words of -g, in the order of enum coati_stacks. */
extern const char *const coati_record_stacks[];

struct record_args {
	struct option_texts events;
	uint64_t freq, period;
	int stacks;
	const char *call_graph; /* perf's --call-graph, or NULL */
	uint64_t stack_bytes;
	uint32_t max_stack, verify;
	struct option_ids pids, tids;
	bool all, no_inherit;
	const char *cpus, *cgroup;
	bool trace, syscalls, no_irq; /* trace: off_cpu, too */
	bool off_cpu, switches, namespaces, cgroups, data;
	uint64_t duration_ns, delay_ns;
	bool overwrite, snapshot;
	const char *when;
	const char *out;
	bool no_pack;
	bool zstd;
	uint32_t zstd_level;
	uint64_t max_bytes;
	const char *switch_on;
	uint32_t max_files;
	uint64_t ring_bytes;
	uint32_t realtime;	     /* priority; 0: none */
	struct option_texts fail_if; /* conditions on the data quality */
	bool quiet, verbose;
	char **command; /* NULL at the end; NULL: no command */
	/* the whole command line, for the recording to tell of */
	int argc;
	const char *const *argv;
};

/* Is the command itself recorded, or does it only give the time? */
static inline bool record_takes_command(const struct record_args *a)
{
	return a->command && !a->all && !a->cpus && !a->cgroup && !a->pids.len && !a->tids.len;
}
