/* SPDX-License-Identifier: MIT */
/*
 * PMUs as sysfs describes them: bus/event_source/devices/NAME with type, format/, events/, cpumask
 * or cpus. Files are read when they are asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "event/names-dir.h"
#include "event/pmu-format.h"

#define PMU_NAME_MAX   128
#define PMU_EVENT_TEXT 1024
#define PMU_CPUS_TEXT  1024

struct pmu {
	int fd; /* of its directory */
	uint32_t type;
	bool is_core; /* counts what the CPUs in it run; threads can be watched */
	char name[PMU_NAME_MAX];
};

struct pmu_event {
	char terms[PMU_EVENT_TEXT]; /* what the file says */
	char unit[32];		    /* "" when none */
	double scale;		    /* 1.0 when none */
	bool snapshot, per_pkg;
};

/* -ENOENT when there is none of that name. */
int coati_pmu_open(const char *sysfs, const char *name, struct pmu *ret);
void coati_pmu_close(struct pmu *p);
/* format/@name: -ENOENT, -EBADMSG. */
int coati_pmu_field(const struct pmu *p, const char *name, struct pmu_field *ret);
/* events/@name with what stands beside it: -ENOENT, -EBADMSG. */
int coati_pmu_event(const struct pmu *p, const char *name, struct pmu_event *ret);
bool coati_pmu_has_event(const struct pmu *p, const char *name);
/* The CPU list of cpumask or cpus, "" when the PMU has neither. */
int coati_pmu_cpus(const struct pmu *p, char *buf, size_t size);

/* Names of all PMUs; none when there is no such directory. */
int coati_pmu_names(const char *sysfs, struct arena *arena, struct dir_names *ret);
/* Names of the PMUs that @pattern stands for: the one of that name, or those that a glob matches,
 * or the numbered instances of it (uncore_imc: uncore_imc_0, uncore_imc_1), "uncore_" may be left
 * out. Instances of one kind lie together, in the order of their numbers. */
int coati_pmu_match(const char *sysfs, const char *pattern, struct arena *arena,
		    struct dir_names *ret);
/* PMUs of the cores on a machine with more than one kind of them (cpu_core, cpu_atom), else
 * none. */
int coati_pmu_hybrid(const char *sysfs, struct arena *arena, struct dir_names *ret);
/* Length of @name without the number at its end: 10 for uncore_imc_3. */
size_t coati_pmu_stem(const char *name);
/* Names in events/ without the .scale, .unit, .snapshot, .per-pkg beside them, and in format/. */
int coati_pmu_event_names(const struct pmu *p, struct arena *arena, struct dir_names *ret);
int coati_pmu_field_names(const struct pmu *p, struct arena *arena, struct dir_names *ret);
