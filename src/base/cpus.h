/* SPDX-License-Identifier: MIT */
/* How many threads of this process can run at once. */
#pragma once

#include <stdint.h>

/* CPUs that it may run on, no more than the quota of its cgroup pays for; at least 1. */
uint32_t coati_cpus(void);
