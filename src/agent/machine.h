/* SPDX-License-Identifier: MIT */
/* What the machine says about itself in /proc and /sys: cgroups, CPU time, pressure, run delay. */
#pragma once

#include <stdint.h>

#define AGENT_CGROUP_MAX 1024

/* The cgroup of a process that runs: of the unified hierarchy, or that of CPU time (version 1).
 * -ENOENT, -EACCES, -EBADMSG. */
int coati_machine_cgroup_of(int32_t pid, char ret[AGENT_CGROUP_MAX]);
/* The name of its program; "" when it is gone. */
#define AGENT_PROGRAM_MAX 64
void coati_machine_program_of(int32_t pid, char ret[AGENT_PROGRAM_MAX]);
/* When it started after boot, ns; 0: not known. */
uint64_t coati_machine_process_start(int32_t pid);
/* CPU time that a cgroup used so far, ns. -ENOENT where no controller counts it. */
int coati_machine_cgroup_cpu(const char *cgroup, uint64_t *ret_ns);
/* Time that threads of a process waited for a CPU so far, ns: of those that live. */
int coati_machine_run_delay(int32_t pid, uint64_t *ret_ns);

/* CPU time of the machine so far. */
struct machine_cpu {
	uint64_t busy, total; /* ticks of all CPUs */
};
int coati_machine_cpu(struct machine_cpu *ret);
/* Pressure of "cpu", "io" or "memory": per cent of the last ten seconds in which some task waited.
 * -ENOENT where the kernel does not say. */
int coati_machine_pressure(const char *what, double *ret);
/* CPUs that are online, as a number that changes when they do. */
uint64_t coati_machine_cpus_online(uint32_t *ret_nr);
/* Resident memory of this process. */
uint64_t coati_machine_own_memory(void);
/* Time that threads waited for CPUs so far, all of them, ns. -ENOENT without schedstats. */
int coati_machine_all_delay(uint64_t *ret_ns);
