/* SPDX-License-Identifier: MIT */
/* Which CPUs there are, by their real numbers. @sysfs is "/sys" or a directory that is laid out as
 * it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CPUS_MAX 8192u /* NR_CPUS of the largest kernels */

struct coati_cpus {
	uint64_t bits[CPUS_MAX / 64];
};

static inline bool cpus_has(const struct coati_cpus *cpus, uint32_t cpu)
{
	return cpu < CPUS_MAX && cpus->bits[cpu / 64] >> cpu % 64 & 1;
}

int coati_cpus_online(const char *sysfs, struct coati_cpus *ret);
/* One more than the highest number that a CPU can ever have. */
int coati_cpus_possible(const char *sysfs, uint32_t *ret);
