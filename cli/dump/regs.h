/* SPDX-License-Identifier: MIT */
/* The names of a machine's registers, by their numbers in the masks of perf_event_attr. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of machine @arch as uname(2) names it; "" is this machine. @buf takes "rN" where no name is
 * known. */
const char *coati_dump_reg_name(const char *arch, uint32_t reg, char *buf, size_t size);
