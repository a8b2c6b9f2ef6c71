/* SPDX-License-Identifier: MIT */
/* What was asked of coati view: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "cli/input.h"

struct view_args {
	struct option_texts inputs;
	struct source_args of;
	int mode; /* enum report_mode */
	uint32_t port;
	bool no_open, firefox, perfetto;
	bool quiet, no_sandbox, strict;
};

/* Read, serve until stopped. The exit code. */
int coati_view_session(const struct view_args *args);
