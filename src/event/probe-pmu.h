/* SPDX-License-Identifier: MIT */
/* The dynamic PMUs "uprobe" and "kprobe": their number and where their bits are, as sysfs says. */
#pragma once

#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>

#include "event/pmu-format.h"

/* A field with an empty mask is one that this kernel does not have. */
struct probe_pmu {
	uint32_t type;
	struct pmu_field retprobe;
	struct pmu_field ref_ctr; /* offset of a USDT semaphore in its file */
};

/* Read the PMU @name below the sysfs mount @sysfs. -EOPNOTSUPP when the kernel has none, -EBADMSG
 * when sysfs says something else than a number and bits of config. */
int coati_probe_pmu_read(const char *sysfs, const char *name, struct probe_pmu *ret,
			 struct coati_error *err);
/* Put @value into its field; -ERANGE when it does not fit (or there is none, and it is not 0). */
int coati_probe_pmu_set(const struct pmu_field *f, uint64_t value, struct coati_attr *attr);
