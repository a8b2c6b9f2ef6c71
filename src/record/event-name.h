/* SPDX-License-Identifier: MIT */
/*
 * From the numbers of an event that every kernel knows (hardware, software, cache) to its usual
 * name, for those who ask for events and for those who find them in recordings without names. One
 * table gives number, name, other spelling and description.
 */
#pragma once

#include <stdint.h>

#include <coati/abi.h>

/* X(number, usual name, other spelling or "", description) */
#define HARDWARE_NAMES(X)                                                                          \
	X(COATI_HW_CPU_CYCLES, "cycles", "cpu-cycles", "cycles of the core, at its current speed") \
	X(COATI_HW_INSTRUCTIONS, "instructions", "", "retired instructions")                       \
	X(COATI_HW_CACHE_REFERENCES, "cache-references", "", "accesses to the last level cache")   \
	X(COATI_HW_CACHE_MISSES, "cache-misses", "", "accesses that missed the last level cache")  \
	X(COATI_HW_BRANCH_INSTRUCTIONS, "branches", "branch-instructions",                         \
	  "retired branch instructions")                                                           \
	X(COATI_HW_BRANCH_MISSES, "branch-misses", "", "mispredicted branches")                    \
	X(COATI_HW_BUS_CYCLES, "bus-cycles", "", "cycles of the bus or reference clock")           \
	X(COATI_HW_STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend",     \
	  "cycles in which no instruction could be issued")                                        \
	X(COATI_HW_STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend",        \
	  "cycles in which no instruction could retire")                                           \
	X(COATI_HW_REF_CPU_CYCLES, "ref-cycles", "",                                               \
	  "cycles at a constant rate, whatever the speed")

#define SOFTWARE_NAMES(X)                                                                          \
	X(COATI_SW_CPU_CLOCK, "cpu-clock", "", "time on the CPU, by a timer of the CPU")           \
	X(COATI_SW_TASK_CLOCK, "task-clock", "", "time on the CPU, by the clock of the task")      \
	X(COATI_SW_PAGE_FAULTS, "page-faults", "faults", "page faults, minor and major")           \
	X(COATI_SW_CONTEXT_SWITCHES, "context-switches", "cs", "switches to another task")         \
	X(COATI_SW_CPU_MIGRATIONS, "cpu-migrations", "migrations", "moves to another CPU")         \
	X(COATI_SW_PAGE_FAULTS_MIN, "minor-faults", "", "page faults that needed no reading")      \
	X(COATI_SW_PAGE_FAULTS_MAJ, "major-faults", "", "page faults that waited for storage")     \
	X(COATI_SW_ALIGNMENT_FAULTS, "alignment-faults", "",                                       \
	  "unaligned accesses that the kernel fixed")                                              \
	X(COATI_SW_EMULATION_FAULTS, "emulation-faults", "",                                       \
	  "instructions that the kernel emulated")                                                 \
	X(COATI_SW_DUMMY, "dummy", "", "counts nothing; carries records about tasks and mappings") \
	X(COATI_SW_BPF_OUTPUT, "bpf-output", "", "what BPF programs send")                         \
	X(COATI_SW_CGROUP_SWITCHES, "cgroup-switches", "", "switches to a task of another cgroup")

#define CACHE_EVENTS_MAX (7 * 3 * 2) /* caches, operations, results */

/* The usual name of a cache event, NULL when there is no such one (stores of an instruction
 * cache). */
const char *coati_cache_name(unsigned int cache, unsigned int op, unsigned int result);
/* "cycles", "page-faults", "LLC-load-misses"; NULL: none of those that every kernel knows. */
const char *coati_event_usual_name(uint32_t type, uint64_t config);
