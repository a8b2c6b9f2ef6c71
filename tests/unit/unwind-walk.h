/* SPDX-License-Identifier: MIT */
/* What a stranger's table and unwind data are put through: every look-up, walks over any stack,
 * every row for all registers. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/full.h"
#include "unwind/table/build.h"
#include "unwind/table/gather.h"
#include "unwind/table/walk.h"

/* False when the bytes are no table. Otherwise walks from many addresses over @stack, with
 * registers taken from it; aborts when one does not end, or its stack pointer shrinks without a
 * signal. */
bool unwind_walk(const void *bytes, size_t size, const uint8_t *stack, size_t stack_size);
/* All rows of the unwind data by the slow reading, and their CFA. */
void unwind_rows(const struct table_input *in);
