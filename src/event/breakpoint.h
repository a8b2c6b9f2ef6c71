/* SPDX-License-Identifier: MIT */
/* Breakpoints: what the hardware can watch, checked before the kernel answers with a bare EINVAL. */
#pragma once

#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>

/* Fill type, bp_type, config1 and config2 of @attr. @access is any of "r", "w", "x" letters ("" means rw), @length 0
 * means the default (4 for data, the size of a long for x). Checks power of two, alignment, x alone, and what this CPU cannot do (x86 has
 * no read-only kind: "r" becomes rw, and *ret_note, may be NULL, says so). */
int coati_breakpoint_attr(uint64_t addr, uint64_t length, const char *access,
			  struct coati_attr *attr, const char **ret_note, struct coati_error *err);
