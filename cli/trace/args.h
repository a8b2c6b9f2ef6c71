/* SPDX-License-Identifier: MIT */
/* What was asked of coati trace: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

struct trace_args {
	struct option_texts inputs;
	const char *task, *tasks, *thread;
	uint32_t slowest;
	bool blame, events, check;
	const char *from, *to;
	uint32_t limit;
	bool json;
	const char *output;
	struct option_texts fail_if; /* conditions on the data quality */
	int color;
	bool quiet, no_sandbox, strict;
};
