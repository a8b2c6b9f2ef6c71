/* SPDX-License-Identifier: MIT */
/* Rules for code without unwind data whose bytes are known: PLT stubs, the return from a signal
 * handler, the entry point. */
#pragma once

#include "unwind/table/build.h"

/* From this address on, this rule. */
struct stub_mark {
	uint64_t start;
	struct table_packed rule;
};

#define STUB_MARKS_MAX 32

/* What is known of the gap [start, end) inside one piece of code: marks in ascending order, the
 * first one at @start. Returns their number. */
uint32_t coati_stubs_find(const struct table_input *in, uint64_t start, uint64_t end,
			  struct stub_mark marks[STUB_MARKS_MAX]);
