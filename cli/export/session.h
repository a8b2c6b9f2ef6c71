/* SPDX-License-Identifier: MIT */
/* An export from its arguments to its last remark. */
#pragma once

#include <stdbool.h>

#include "base/options.h"
#include "cli/input.h"

struct export_args {
	const char *format, *output, *comment;
	struct option_texts inputs;
	struct source_args of;
	int mode;		     /* auto, on, off, both */
	struct option_texts fail_if; /* conditions on the data quality */
	bool check, counts, plain, quiet, no_sandbox, strict;
};

/* The exit code. */
int coati_export_session(const struct export_args *args);
