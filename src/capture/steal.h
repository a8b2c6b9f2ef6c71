/* SPDX-License-Identifier: MIT */
/* Time that the host of a virtual machine took from its CPUs. */
#pragma once

#include <stdint.h>

/* Of all CPUs together since the start of the machine, as /proc/stat tells it in steps of a clock tick. @procfs NULL: /proc. -ENODATA: the kernel does not tell. */
int coati_steal_read(const char *procfs, uint64_t *ret_ns);
/* One such step. */
uint64_t coati_steal_step_ns(void);
