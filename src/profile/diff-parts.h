/* SPDX-License-Identifier: MIT */
/* A comparison while it is made: which rows there are on either side, and who is whose match. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "profile/diff.h"
#include "profile/resample.h"
#include "profile/view.h"

#define DIFF_SELF  (1u << 0)
#define DIFF_TOTAL (1u << 1)

/* What a row has on one side. */
struct diff_sum {
	uint64_t self, total, self_count, total_count;
};

struct diff_row {
	const char *name;
	const char *image[2]; /* NULL: not there, or rows of this kind have none */
	struct diff_sum sums[2];
	uint32_t line; /* its number among the lines of the resampling, VIEW_NONE: it has none */
	bool is_wanted;
	uint32_t same_as; /* another row that it turned out to be, VIEW_NONE: none */
};

/* A row that a stack counts for. */
struct diff_visit {
	uint32_t row, how; /* how: DIFF_* */
};

/* The rows of one side. Those of frames are known by stack, others by entry. */
struct diff_side {
	const struct keys *keys;
	uint32_t *row_of_key;
	uint32_t *first_visit, *nr_visits; /* by stack of the profile: which of visits are its */
	ARRAY(struct diff_visit) visits;
	uint32_t *row_of_entry; /* NULL: rows are frames */
};

struct coati_diff {
	struct coati_diff_opts opts;
	struct coati_view *views[2];
	struct arena arena;
	struct map by_name; /* to the number of the row, by name and image */
	ARRAY(struct diff_row) found;
	struct diff_side sides[2];
	ARRAY(struct coati_diff_row) rows;
	struct coati_diff_info info;
};

/* Is a row of this kind a frame? */
static inline bool diff_has_frames(const struct coati_diff *d)
{
	return d->opts.by <= COATI_BY_IMAGE;
}

/* Find the rows of both sides, match them and add them up. -ENOMEM and the like. */
int coati_diff_match(struct coati_diff *d);
void coati_diff_free_side(struct diff_side *s);
/* The weights of a side, as r->sides[side]: those of all samples in each block of time, and those
 * of each line, for the lines that rows have. -ENOMEM. */
int coati_diff_lay_out(struct coati_diff *d, int side, struct resample *r);
/* The same blocks with one line, which is the weight of all samples. -ENOMEM. */
int coati_diff_copy_blocks(const struct resample_side *from, struct resample_side *to);
void coati_diff_free_blocks(struct resample_side *s);
/*
 * The interval of @v and its verdict at @t standard deviations, from its estimates, variances and
 * flags.
 */
void coati_diff_put_bounds(struct coati_diff_value *v, double t);
