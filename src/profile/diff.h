/* SPDX-License-Identifier: MIT */
/*
 * What changed between two profiles, and what only seems so. Two views come in, of profiles with
 * bins of time; rows with a before, an after and an interval for the change go out.
 *
 *	struct coati_profile_opts o = { .size = sizeof(o), .flags = COATI_PROFILE_SERIES, .bin_ns =
 *	COATI_DIFF_BIN_NS, .max_bins = COATI_DIFF_MAX_BINS };
 *	...	profiles, recordings read into them (several of a side are runs of the same thing),
 *		views
 *	coati_diff_new(before, after, NULL, &d, &err);
 *	rows = coati_diff_rows(d, &nr);
 *	for (i = 0; i < nr; i++)
 *		if (rows[i].self.verdict == COATI_DIFF_MORE) use(rows[i].name, rows[i].self.change);
 *	coati_diff_free(&d);
 *
 * The verdicts hold for all rows together: the chance that any row is called changed that is not is
 * one minus the confidence. They stand on how the profile varies over time within the recordings,
 * and from run to run where a side has several. One object, one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/profile.h>

/* Bins for profiles that are to be compared: fine for what is short, coarser as a recording gets
 * longer. */
#define COATI_DIFF_BIN_NS   UINT64_C(1000000)
#define COATI_DIFF_MAX_BINS 1024u

enum coati_diff_measure {
	COATI_DIFF_SHARE = 0, /* part of the whole weight of its side, 0 to 1 */
	COATI_DIFF_SECOND,    /* weight per second of recording */
	COATI_DIFF_RUN,	      /* weight per recording */
};

struct coati_diff_opts {
	uint64_t size;
	enum coati_by by; /* not TIME. Threads and processes are compared by name */
	enum coati_diff_measure measure;
	const char *label; /* BY_LABEL: the key */
	const char *name;  /* only rows of this name, as in a filter, however small. NULL: all */
	double confidence; /* 0: 0.95; from 0.5 to 0.9999 */
	/* rows that have less on both sides are left out; 0: 0.001, negative: none is */
	double min_share;
	/* how much runs of the same thing differ, relative, where a side has fewer than 4 of them.
	 * 0: 0.01 of shares, 0.05 of weights; negative: not at all */
	double run_spread;
	uint64_t seed; /* of the resampling; the same seed gives the same answer */
};

enum coati_diff_verdict {
	COATI_DIFF_UNKNOWN = 0, /* too few samples to say anything */
	COATI_DIFF_SAME,	/* not distinguishable: the interval has no change in it */
	COATI_DIFF_MORE,
	COATI_DIFF_LESS,
	/* cannot be judged: it has samples enough, but varies so much within a recording that
	 * not even twice as much would show; four recordings of each side tell more */
	COATI_DIFF_UNDECIDED,
};

/* coati_diff_value.flags */
#define COATI_DIFF_IS_SHARE (UINT32_C(1) << 0) /* between 0 and 1 */
/* A change: not, or hardly, seen on a side where hundreds of samples were to be expected. */
#define COATI_DIFF_ONE_SIDE  (UINT32_C(1) << 1)
#define COATI_DIFF_IN_BLOCKS (UINT32_C(1) << 2) /* a side is known by blocks of time, not by runs */

/* One quantity on both sides, in the unit of the measure. */
struct coati_diff_value {
	double before, after;
	/* after - before, and its interval, which holds nothing that is impossible: shares are 0
	 * to 1, weights not negative */
	double change, low, high;
	double ratio, ratio_low, ratio_high; /* after / before; infinite when there is no before */
	/* that the largest of all changes comes out like this by chance; 1 when it was not
	 * tested */
	double p;
	double variance_before, variance_after, freedom; /* what coati_diff_bounds() needs */
	uint64_t before_samples, after_samples;
	enum coati_diff_verdict verdict;
	uint32_t flags;
};

struct coati_diff_row {
	const char *name;  /* as in struct coati_row; threads and processes without numbers */
	const char *image; /* NULL where there is none; of the after side when they differ */
	struct coati_diff_value self, total;
	enum coati_diff_verdict verdict; /* of self when that changed, else of total */
	uint32_t reserved;
};

/* coati_diff_side.flags */
#define COATI_DIFF_BY_RUN (UINT32_C(1) << 0) /* the units are recordings, not blocks of time */
/* neighboring blocks are alike however long they are made */
#define COATI_DIFF_PHASES (UINT32_C(1) << 1)

struct coati_diff_side {
	uint64_t samples, weight;
	uint64_t span_ns; /* of all recordings together */
	uint64_t unit_ns; /* how long a unit of the resampling is */
	uint32_t runs, units;
	uint32_t flags;
	uint32_t reserved;
};

struct coati_diff_info {
	struct coati_diff_side before, after;
	struct coati_diff_value whole; /* weight per second or run (also when rows are shares) */
	/* of weights: as in struct coati_view_info; NULL: the sides have different ones */
	const char *unit;
	double confidence;
	/* the half interval of the row with the largest share: smaller changes of such a row are
	 * not seen */
	double margin;
	double undecided;	   /* how much of a side is in rows that cannot be judged, 0 to 1 */
	double z;		   /* critical normal deviate for all rows together */
	uint32_t rounds;	   /* of resampling */
	uint32_t nr_tested;	   /* rows */
	uint32_t nr_more, nr_less; /* rows, by their verdict */
	uint32_t nr_unknown;
	uint32_t nr_below;     /* rows left out by min_share */
	uint32_t nr_undecided; /* of those that were tested */
	uint32_t reserved;
};

struct coati_diff;

/* Compare. Both views and their profiles must outlive the answer. -EINVAL: options that are
 * malformed, or profiles without bins. */
int coati_diff_new(struct coati_view *before, struct coati_view *after,
		   const struct coati_diff_opts *opts, struct coati_diff **ret,
		   struct coati_error *err);
void coati_diff_free(struct coati_diff **d);
void coati_diff_info(const struct coati_diff *d, struct coati_diff_info *ret);
/*
 * What changed first, by how much self, then total, has changed; then what cannot be judged, what
 * did not change, and what has too few samples, each by the larger change of both.
 */
const struct coati_diff_row *coati_diff_rows(const struct coati_diff *d, size_t *ret_nr);
/* The same quantity, with the intervals and the verdict that it has as one of @nr questions that
 * were asked before the answer was seen: they are narrower than those for all rows together.
 * -ENODATA: too few samples. */
int coati_diff_bounds(const struct coati_diff_value *v, double confidence, uint32_t nr,
		      struct coati_diff_value *ret);
