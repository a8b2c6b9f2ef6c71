/* SPDX-License-Identifier: MIT */
/* What was asked of coati diff: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "cli/input.h"
#include "cli/report/args.h"
#include "profile/diff.h"

/* Exit codes of this verb: 0 is fine. */
#define DIFF_HOLDS   1 /* a condition of --fail-if */
#define DIFF_TROUBLE 2 /* usage, input that cannot be read, output that cannot be written */
#define DIFF_UNKNOWN 3 /* it cannot be judged */

#define DIFF_BEFORE 0
#define DIFF_AFTER  1

struct diff_args {
	struct option_texts files; /* tagged with their side */
	const char *by;
	int measure; /* enum coati_diff_measure */
	const char *confidence, *run_spread;
	uint64_t seed;
	struct option_texts fail_if;
	int fail_when; /* enum fail_when */
	const char *html;
	bool json, csv;
	const char *output;
	uint32_t limit;
	const char *min;
	struct source_args of;
	bool counts;
	int color;
	bool quiet, no_sandbox, strict;
};

struct diff_side {
	struct report report; /* profile, view, quality */
	struct report_args args;
	struct option_texts files;
	struct coati_filter filter; /* with the side's own range of time */
	char time_room[STORE_TIME_ROOM];
	char title[4200];
};

/* What every form of the answer starts from. */
struct diff {
	const struct diff_args *args;
	struct diff_side sides[2];
	enum coati_by by;
	const char *label;
	double confidence, run_spread, min_share;
	struct coati_diff *diff;
	struct coati_diff_info info;
	const struct coati_diff_row *rows;
	size_t nr;
	struct output out;
	struct strbuf verdict;	/* one line */
	struct strbuf warnings; /* lines: why the sides are not comparable, what to know */
	struct gates *gates;
};
