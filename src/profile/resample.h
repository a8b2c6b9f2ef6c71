/* SPDX-License-Identifier: MIT */
/*
 * Two sides of measurements over time: what of their difference is more than chance? A side is a
 * row of blocks of time (or of whole runs, where there are enough of them); a line is one quantity,
 * with a value in each block. What comes out is an estimate for each line on each side, its
 * variance, and one critical value that holds for all lines together.
 *
 * Samples that lie near each other in time are alike (phases, caches, batches of work). So the unit
 * of chance is not the sample but the block, and blocks are made longer until neighbors are no
 * longer alike. How far the largest of all lines strays by chance is seen by giving the deviations
 * of the blocks random signs, again and again: lines that rise and fall together stay together in
 * it. Where both sides have runs enough, the runs are divided again instead (permute.c).
 * docs/decisions.md tells why it is done so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/diff.h"

#define RESAMPLE_RUNS	      4	 /* from so many runs a side on, a run is the unit */
#define RESAMPLE_BLOCKS	      64 /* of a run, to begin with */
#define RESAMPLE_LEAST	      8	 /* blocks are not joined to fewer of a side */
#define RESAMPLE_UNITS	      4	 /* a side with fewer tells nothing */
#define RESAMPLE_ROUNDS_MAX   20000
#define RESAMPLE_ROUNDS_LEAST 1000

struct resample_side {
	uint32_t nr;	       /* blocks, in the order of runs, then of time */
	uint32_t nr_runs;      /* each has at least one block */
	uint32_t *run;	       /* of each block */
	double *weight, *span; /* of each block: of all samples; ns */
	double *values;	       /* by line, then by block */
	double samples;
	/* out */
	bool by_run;	    /* the units are runs */
	uint32_t nr_units;  /* blocks with anything in them, after joining */
	double correlation; /* of neighbors, -1 to 1, after joining */
};

struct resample_line {
	/* in */
	bool is_known;	/* it has samples enough to tell how alike blocks are */
	bool is_tested; /* and is one of those that are asked for */
	/* out */
	double x[2], variance[2], freedom;
	double units;	 /* the degrees of freedom, were all blocks independent */
	double least[2]; /* what a variance cannot be below */
	double z; /* how far from no difference, as a normal deviate; 0 when it is not tested */
	double p; /* that the largest of all lines strays so far by chance */
	double critical; /* further than this is a change: for all lines that were left with it */
	bool one_side;	 /* only on one side, where the other would have hundreds of samples */
	bool by_rank;	 /* changed by the ranks of its runs alone, with this interval: */
	double low, high;
};

struct resample {
	enum coati_diff_measure measure;
	double confidence;
	double spread; /* of runs, relative, where there are too few to see it */
	uint64_t seed;
	uint32_t nr_lines;
	struct resample_side sides[2];
	struct resample_line *lines;
	/* out */
	double critical; /* as a normal deviate, of all lines */
	uint32_t rounds;
	bool is_able; /* both sides have units enough */
};

/* 0 or -ENOMEM. The values of the sides become deviations. */
int coati_resample(struct resample *r);
/* The half of it for sides of runs (permute.c): z, critical value and p of each line. */
int coati_permute(struct resample *r);
/* What the values of a run (or of a block that is a run) are divided by. */
double coati_resample_base(const struct resample_side *s, enum coati_diff_measure measure,
			   uint32_t block);
/* How many normal standard deviations a t of that many degrees of freedom is worth, and back. */
double coati_resample_normal(double t, double freedom);
double coati_resample_student(double z, double freedom);
/* The normal deviate outside of which (on both sides) lies @part. */
double coati_resample_quantile(double part);
/* Welch's degrees of freedom of a difference. */
double coati_resample_welch(const double *variance, const double *freedom);
/* splitmix64: every seed is as good as any. */
uint64_t coati_resample_random(uint64_t *state);
