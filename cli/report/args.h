/* SPDX-License-Identifier: MIT */
/* What was asked of coati report: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/options.h"
#include "cli/input.h"
#include "cli/output.h"

/* Which part of the time: AUTO is on CPUs, or off them when that is all there is, or what was asked
 * for is of that alone. */
enum report_mode { MODE_AUTO, MODE_ON, MODE_OFF, MODE_BOTH };
extern const char *const coati_report_modes[];

struct report_args {
	struct option_texts inputs;
	/* which view */
	const char *by;
	bool tree, flame;
	const char *callers, *callees, *source;
	const char *html;
	bool sources; /* put the source files into the page */
	/* of coati view, which answers requests as long as it runs: sources and assembly will be
	 * asked for; its socket, and its pipe to who starts the browser */
	bool serves;
	int serve_fd, pipe_fd;
	bool json, csv;
	const char *output;
	/* how much of it */
	uint32_t limit;
	const char *min; /* percent, of rows and branches */
	/* what of the recording, and where names come from */
	struct source_args of;
	int mode; /* enum report_mode */
	bool counts;
	bool children;		     /* rows by total */
	struct option_texts fail_if; /* conditions on the data quality */
	int color;
	bool quiet, verbose, no_sandbox, strict;
};

/* What every view starts from. */
struct report {
	const struct report_args *args;
	struct coati_contexts *contexts; /* what samples belong to */
	struct coati_profile *profile;
	struct coati_view *view;
	struct coati_view_info info;
	struct coati_profile_quality quality;
	struct output out;
	enum coati_by by;
	enum report_mode mode; /* never AUTO */
	const char *label;
	double min_percent;
	uint64_t bin_ns;   /* by time: the length of a row */
	const char *input; /* for people: the file, or how many */
};
