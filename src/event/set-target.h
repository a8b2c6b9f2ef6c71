/* SPDX-License-Identifier: MIT */
/*
 * Where the events of a set are opened. In: processes, threads, CPU lists, a cgroup. Out: pairs of
 * thread and CPU. The threads of a process are read until two readings agree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/event.h>

#include "base/array.h"
#include "base/map.h"

#define SET_CPUS_MAX	8192
#define SET_CPU_WORDS	(SET_CPUS_MAX / 64)
#define SET_TARGETS_MAX (1u << 18)

struct set_target {
	struct coati_target at;
	bool gone; /* the thread ended before it could be opened */
};

struct set_targets {
	ARRAY(struct set_target) v;
	struct map tids;
	int cgroup_fd;	 /* -1: none */
	bool all_cpus;	 /* system-wide */
	bool any_listed; /* CPUs were listed: bits of `cpus` count */
	uint64_t cpus[SET_CPU_WORDS];
};

void coati_set_targets_init(struct set_targets *t);
void coati_set_targets_fini(struct set_targets *t);
/* All that @opts names. */
int coati_set_targets_find(struct set_targets *t, const struct coati_set_opts *opts,
			   struct coati_error *err);
/* Threads of the processes that are not there yet; their number, or a negative errno. */
int coati_set_targets_add_threads(struct set_targets *t, const struct coati_set_opts *opts,
				  struct coati_error *err);
/* Forget all threads and CPUs found, keep the rest. */
void coati_set_targets_clear(struct set_targets *t);

static inline bool cpu_in(const uint64_t *cpus, int32_t cpu)
{
	return cpu >= 0 && cpu < SET_CPUS_MAX && cpus[cpu / 64] >> (cpu % 64) & 1;
}
