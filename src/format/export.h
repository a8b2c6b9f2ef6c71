/* SPDX-License-Identifier: MIT */
/* What the parts of an export know of each other. */
#pragma once

#include "format/format.h"
#include "format/live-counts.h"

/* By how the name of a file ends; UNKNOWN: that says nothing. */
enum coati_format coati_format_guess(const char *path);

/* NULL: no such format, or it was not built. */
const char *coati_format_name(enum coati_format format);

/* ".pb.gz", ".folded" ...: how names of such files end. */
const char *coati_format_suffix(enum coati_format format);

/* 1: it is nothing for a terminal. */
int coati_format_is_binary(enum coati_format format);

struct coati_export_summary {
	uint64_t samples, weight; /* that are in the file */
	const char *unit;	  /* of the weight: as in coati_view_info */
	uint64_t bytes;		  /* of the file */
	const char *account;	  /* what it is worth, a line: lost, throttled, stacks, symbols */
};

/* After the writing. Strings live as long as @x. */
void coati_export_summary(const struct coati_export *x, struct coati_export_summary *ret);

/* What it stands on. */
struct coati_profile *coati_export_profile(const struct coati_export *x);

/* Its format, the view that was written (NULL before), and its options. */
const struct format *coati_export_format(const struct coati_export *x, struct coati_view **ret_view,
					 const struct coati_export_opts **ret_opts);
/* What there is of live events; NULL: the format has none of them. */
const struct live_counts *coati_export_live_counts(const struct coati_export *x);
