/* SPDX-License-Identifier: MIT */
/*
 * The few instructions to which a signal handler returns, which ask the kernel to go on where the
 * signal came. libc has them without a symbol, as a rule, and callers are looked up one byte before
 * their address: in front of these, where another function may end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/copy.h"

/* Is @vaddr one of these instructions, or right before the first? By their bytes in @file. */
bool coati_trampoline_find(struct copy *file, uint64_t vaddr, uint64_t *ret_start,
			   uint64_t *ret_size);
