/* SPDX-License-Identifier: MIT */
/* The dynamic PMUs "uprobe" and "kprobe": their number and where their bits are, as sysfs says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

/* A run of bits in attr.config; width 0: this kernel has no such field. */
struct probe_bits {
	uint32_t low, width;
};

struct probe_pmu {
	uint32_t type;
	struct probe_bits retprobe;
	struct probe_bits ref_ctr; /* offset of a USDT semaphore in its file */
};

/* Read the PMU @name below the sysfs mount @sysfs. -EOPNOTSUPP when the kernel has none, -EBADMSG when sysfs says
 * something else than a number and bits of config. */
int coati_probe_pmu_read(const char *sysfs, const char *name, struct probe_pmu *ret,
			 struct coati_error *err);
/* Put @value into its bits of *config; -ERANGE when it does not fit (or there are none, and it is not 0). */
int coati_probe_bits_put(const struct probe_bits *bits, uint64_t value, uint64_t *config);
