/* SPDX-License-Identifier: MIT */
/*
 * The stack walker in the kernel, as an object: load it, hang it on events, and give it what it
 * walks by. In: unwind tables, mappings of address spaces, descriptors of perf events. Out: records
 * in the ring buffers of those events (struct walker_head of shared.h).
 *
 * libbpf is loaded when the walker is opened, and nothing else here needs it. Everything that was
 * loaded goes away with the last descriptor, also when this process is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "bpf/shared.h"
#include "unwind/table/table.h"

#define WALKER_BUDGET_BYTES (UINT64_C(64) << 20)
#define WALKER_COPY_BYTES   57344u
#define WALKER_NEED_NS	    10000000u
#define WALKER_BURST_BYTES  (2u << 20)

struct walker;

/* The events that it can be attached to. */
enum walker_at { WALKER_AT_SAMPLES, WALKER_AT_TRACEPOINTS, WALKER_AT_PROBES, WALKER_AT_COUNT };

struct walker_opts {
	struct walker_config config; /* zeros: the defaults */
	uint32_t at;		     /* bits of enum walker_at: others are not loaded */
	uint64_t budget_bytes;	     /* of tables and mappings in the kernel; 0: the default */
};

/* Load it. -EPERM: not allowed; -EOPNOTSUPP: this kernel, this machine or this build cannot. The
 * sentence says what is missing and what to do. */
int coati_walker_open(const struct walker_opts *opts, struct walker **ret, struct coati_error *err);
void coati_walker_close(struct walker **w);

/* Let it run at each sample of a perf event. Of a tracepoint or a probe one event is enough: it
 * runs at each hit, in any process. Negative errno. */
int coati_walker_attach(struct walker *w, int event_fd, enum walker_at at);
/* Tracepoints and probes: from now on, or no more. Samples come when their event is enabled. */
void coati_walker_run(struct walker *w, bool runs);
/* With has_targets or filters_samples: whose hits or samples are walked. A thread by its number, or
 * a process with all of its threads; what they start from now on is a target, too, unless
 * no_children. Negative errno. */
enum walker_target { WALKER_THREAD, WALKER_PROCESS };
bool coati_walker_has_targets(const struct walker *w);
int coati_walker_add_target(struct walker *w, enum walker_target kind, int32_t number);
/* It had ended before it was added, as far as anybody can tell: counts as ended. */
void coati_walker_end_target(struct walker *w, enum walker_target kind, int32_t number);
/* How many of those that were added have ended. Any thread. */
uint32_t coati_walker_ended(const struct walker *w);
/* Where it writes on @cpu: @fd is a bpf-output event of that CPU. */
enum walker_output { WALKER_STACKS, WALKER_NEEDS_OUT };
int coati_walker_connect(struct walker *w, enum walker_output output, int32_t cpu, int fd);

/* A published table: the number and the serial that a mapping names it by. */
struct walker_table {
	uint32_t file, serial;
};

/* Publish a table; others that the walker does not use are given up for it. -ENOSPC: it is larger
 * than the budget. */
int coati_walker_add_table(struct walker *w, const struct table *t, struct walker_table *ret);
bool coati_walker_has_table(const struct walker *w, const struct walker_table *t);

/* What a process has mapped. */
struct walker_mappings {
	const struct walker_map *v; /* sorted by start */
	uint32_t nr;
	uint64_t exec_pages;
	uint64_t changes;		  /* coati_walker_changes() from before they were read */
	struct walker_label_place labels; /* of its threads */
};

/* How often mappings of @space are known to have changed. */
uint64_t coati_walker_changes(const struct walker *w, uint64_t space);
/* Describe an address space; what was said of it before is replaced. -E2BIG, -ENOSPC. */
int coati_walker_set_space(struct walker *w, uint64_t space, const struct walker_mappings *maps);
void coati_walker_forget_space(struct walker *w, uint64_t space);

/* What it did so far, of all CPUs. Any thread. */
struct walker_stats {
	uint64_t ends[WALKER_ENDS];
	uint64_t walks, frames, misses, copies, refused, needs, checks, dropped;
	uint64_t run_ns, runs; /* of the program, where kernel.bpf_stats_enabled is 1 */
};
void coati_walker_get_stats(const struct walker *w, struct walker_stats *ret);

/* What it walks by. The thread that publishes. */
struct walker_memory {
	uint64_t tables, table_bytes, evicted, spaces, reclaims;
};
void coati_walker_get_memory(const struct walker *w, struct walker_memory *ret);
