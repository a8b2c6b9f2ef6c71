/* SPDX-License-Identifier: MIT */
/*
 * Two views to rows with intervals: the rows are matched (diff-rows.c), their weights laid out in
 * blocks of time (diff-blocks.c), and the blocks resampled (resample.c).
 */
#include "profile/diff-parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/doubles.h"
#include "base/error.h"
#include "base/sized.h"
#include "profile/diff.h"
#include "profile/resample.h"
#include "profile/walk.h"
#include "reading/parts.h"

#define SAMPLES_LEAST	  20 /* of both sides: fewer say nothing */
#define SHARE_LEAST	  0.001
#define SPREAD_OF_SHARES  0.01
#define SPREAD_OF_WEIGHTS 0.05
#define PHASES_FROM	  0.35 /* correlation that joining did not bring down */
#define ROWS_MAX	  ((size_t)1 << 26)

/* ---- which rows, which lines ---- */

static double share_of(const struct coati_diff *d, int side, uint64_t weight)
{
	uint64_t total = d->views[side]->info.total;

	return total ? (double)weight / (double)total : 0;
}

static bool is_large(const struct coati_diff *d, const struct diff_row *row)
{
	for (int side = 0; side < 2; side++)
		if (row->sums[side].total_count &&
		    (share_of(d, side, row->sums[side].total) >= d->opts.min_share ||
		     share_of(d, side, row->sums[side].self) >= d->opts.min_share))
			return true;
	return false;
}

/*
 * Is it measured? Rows that are large on one side were looked for after the sides had been seen:
 * what is there by chance is large more easily. So all count that could be, had the same samples
 * been divided otherwise; those that are large on neither side are not shown.
 */
static bool may_be_large(const struct coati_diff *d, const struct diff_row *row)
{
	double self = 0, total = 0;

	for (int side = 0; side < 2; side++) {
		self += share_of(d, side, row->sums[side].self);
		total += share_of(d, side, row->sums[side].total);
	}
	return self >= d->opts.min_share || total >= d->opts.min_share;
}

/* Is it to be among the rows? */
static bool is_wanted(const struct coati_diff *d, const struct diff_row *row)
{
	return d->opts.name ? coati_view_same_name(d->opts.name, row->name) : is_large(d, row);
}

static bool is_there(const struct diff_row *row)
{
	return row->sums[0].total_count || row->sums[1].total_count || row->sums[0].self_count ||
	       row->sums[1].self_count;
}

static void mark_line(struct resample_line *l, uint64_t samples, bool wanted)
{
	l->is_known = samples >= SAMPLES_LEAST;
	l->is_tested = l->is_known && wanted;
}

/* Rows get their lines: self, and total where it is another thing. How alike blocks are is seen
 * from all that may be large, also when others are asked for. */
static int choose_lines(struct coati_diff *d, struct resample *r)
{
	uint32_t per_row = diff_has_frames(d) ? 2 : 1;

	for (size_t i = 0; i < d->found.len; i++) {
		struct diff_row *row = &d->found.v[i];

		if (row->same_as != VIEW_NONE || !is_there(row))
			continue;
		row->is_wanted = is_wanted(d, row);
		d->info.nr_below += !row->is_wanted && !is_large(d, row);
		if (!row->is_wanted && !may_be_large(d, row))
			continue;
		row->line = r->nr_lines;
		r->nr_lines += per_row;
	}
	r->lines = coati_alloc_array((size_t)r->nr_lines + 1, sizeof(*r->lines));
	for (size_t i = 0; r->lines && i < d->found.len; i++) {
		const struct diff_row *row = &d->found.v[i];
		const struct diff_sum *s = row->sums;
		bool is_asked = row->is_wanted || !d->opts.name;

		if (row->line == VIEW_NONE)
			continue;
		mark_line(&r->lines[row->line], s[0].self_count + s[1].self_count, is_asked);
		if (per_row == 2)
			mark_line(&r->lines[row->line + 1], s[0].total_count + s[1].total_count,
				  is_asked);
	}
	return r->lines ? 0 : -ENOMEM;
}

/* ---- results ---- */

/* A change that the ranks of the runs show, and their mean does not. */
static void put_ranks(struct coati_diff_value *v, const struct resample_line *l)
{
	v->low = l->low;
	v->high = l->high;
	v->verdict = l->z > 0 ? COATI_DIFF_MORE : COATI_DIFF_LESS;
	if (!(v->before > 0))
		return;
	v->ratio_low = v->low > -v->before ? 1 + v->low / v->before : 0;
	v->ratio_high = 1 + v->high / v->before;
}

static uint32_t flags_of(const struct resample *r, const struct resample_line *l)
{
	bool runs = r->sides[0].by_run && r->sides[1].by_run;

	return (r->measure == COATI_DIFF_SHARE ? COATI_DIFF_IS_SHARE : 0) |
	       (l->one_side ? COATI_DIFF_ONE_SIDE : 0) | (runs ? 0 : COATI_DIFF_IN_BLOCKS);
}

static struct coati_diff_value value_of(const struct resample *r, const struct resample_line *l,
					uint64_t before, uint64_t after)
{
	struct coati_diff_value v = { .before = l->x[0],
				      .after = l->x[1],
				      .change = l->x[1] - l->x[0],
				      .low = (double)-INFINITY,
				      .high = (double)INFINITY,
				      .ratio = 1,
				      .ratio_high = (double)INFINITY,
				      .p = l->p,
				      .variance_before = l->variance[0],
				      .variance_after = l->variance[1],
				      .before_samples = before,
				      .after_samples = after };

	if (v.before > 0)
		v.ratio = v.after / v.before;
	else if (v.after > 0)
		v.ratio = (double)INFINITY;
	if (!r->is_able || !l->is_tested)
		return v;
	v.freedom = l->freedom;
	v.flags = flags_of(r, l);
	coati_diff_put_bounds(&v, coati_resample_student(l->critical, l->freedom));
	if (l->by_rank)
		put_ranks(&v, l);
	return v;
}

static bool has_changed(enum coati_diff_verdict verdict)
{
	return verdict == COATI_DIFF_MORE || verdict == COATI_DIFF_LESS;
}

static enum coati_diff_verdict verdict_of(const struct coati_diff_row *row)
{
	if (has_changed(row->self.verdict) ||
	    (row->self.verdict == COATI_DIFF_UNDECIDED && !has_changed(row->total.verdict)))
		return row->self.verdict;
	return row->total.verdict;
}

static int add_rows(struct coati_diff *d, const struct resample *r)
{
	for (size_t i = 0; i < d->found.len; i++) {
		const struct diff_row *from = &d->found.v[i];
		const struct diff_sum *s = from->sums;
		struct coati_diff_row *row;

		if (from->line == VIEW_NONE || !from->is_wanted)
			continue;
		row = ARRAY_ADD(&d->rows);
		if (!row)
			return -ENOMEM;
		row->name = from->name;
		row->image = from->image[1] ? from->image[1] : from->image[0];
		row->self = value_of(r, &r->lines[from->line], s[0].self_count, s[1].self_count);
		row->total = row->self;
		if (diff_has_frames(d))
			row->total = value_of(r, &r->lines[from->line + 1], s[0].total_count,
					      s[1].total_count);
		row->verdict = verdict_of(row);
	}
	return 0;
}

/*
 * What changed itself, what changed by what it calls, what cannot be judged, what did not, what has
 * too few samples.
 */
static int rank_of(const struct coati_diff_row *row)
{
	return has_changed(row->self.verdict)	      ? 0
	       : has_changed(row->verdict)	      ? 1
	       : row->verdict == COATI_DIFF_UNDECIDED ? 2
	       : row->verdict == COATI_DIFF_SAME      ? 3
						      : 4;
}

static double size_of(const struct coati_diff_row *row, int rank)
{
	double self = fabs(row->self.change), total = fabs(row->total.change);

	if (rank < 2)
		return rank ? total : self;
	return self > total ? self : total;
}

static int by_rank(const void *a, const void *b)
{
	const struct coati_diff_row *x = a, *y = b;
	int rank = rank_of(x), r;
	double more;

	if (rank != rank_of(y))
		return rank - rank_of(y);
	more = size_of(x, rank) - size_of(y, rank);
	if (more == 0)
		more = x->total.after + x->total.before - y->total.after - y->total.before;
	if (more != 0)
		return more > 0 ? -1 : 1;
	r = strcmp(x->name, y->name);
	return r == 0 && x->image && y->image ? strcmp(x->image, y->image) : r;
}

static void put_side(struct coati_diff_side *to, const struct coati_view *v,
		     const struct resample_side *s)
{
	double span = 0;

	for (uint32_t i = 0; i < s->nr; i++)
		span += s->span[i];
	*to = (struct coati_diff_side){ .samples = v->info.samples,
					.weight = v->info.total,
					.span_ns = double_to_u64(span),
					.unit_ns = s->nr ? double_to_u64(span / s->nr) : 0,
					.runs = s->nr_runs,
					.units = s->nr_units,
					.flags = s->by_run ? COATI_DIFF_BY_RUN : 0 };
	if (!s->by_run && s->correlation > PHASES_FROM)
		to->flags |= COATI_DIFF_PHASES;
}

/* How large a part of a side it is, by samples. */
static double part_of(const struct coati_diff_info *info, const struct coati_diff_value *v)
{
	uint64_t nr[] = { info->before.samples, info->after.samples };
	double before = nr[0] ? (double)v->before_samples / (double)nr[0] : 0;
	double after = nr[1] ? (double)v->after_samples / (double)nr[1] : 0;

	return before > after ? before : after;
}

/* How much of the time is in functions that cannot be judged, or below one that cannot. */
static double undecided_part(const struct coati_diff *d)
{
	double self = 0, most = 0;

	for (size_t i = 0; i < d->rows.len; i++) {
		const struct coati_diff_row *row = &d->rows.v[i];

		if (row->self.verdict == COATI_DIFF_UNDECIDED)
			self += part_of(&d->info, &row->self);
		if (row->total.verdict == COATI_DIFF_UNDECIDED &&
		    part_of(&d->info, &row->total) > most)
			most = part_of(&d->info, &row->total);
	}
	return self > most ? (self < 1 ? self : 1) : most;
}

static void put_info(struct coati_diff *d, const struct resample *r)
{
	struct coati_diff_info *info = &d->info;
	double largest = -1;

	put_side(&info->before, d->views[0], &r->sides[0]);
	put_side(&info->after, d->views[1], &r->sides[1]);
	info->confidence = r->confidence;
	info->z = r->critical;
	info->rounds = r->rounds;
	info->unit = strcmp(d->views[0]->info.unit, d->views[1]->info.unit) == 0
			     ? d->views[1]->info.unit
			     : NULL;
	for (size_t i = 0; i < d->rows.len; i++) {
		const struct coati_diff_row *row = &d->rows.v[i];

		info->nr_tested += row->verdict != COATI_DIFF_UNKNOWN;
		info->nr_unknown += row->verdict == COATI_DIFF_UNKNOWN;
		info->nr_more += row->verdict == COATI_DIFF_MORE;
		info->nr_less += row->verdict == COATI_DIFF_LESS;
		info->nr_undecided += row->verdict == COATI_DIFF_UNDECIDED;
		if (row->self.verdict != COATI_DIFF_UNKNOWN && row->self.after > largest) {
			largest = row->self.after;
			info->margin = (row->self.high - row->self.low) / 2;
		}
	}
	info->undecided = undecided_part(d);
}

/* ---- all together ---- */

static double spread_for(const struct coati_diff_opts *o, enum coati_diff_measure measure)
{
	if (o->run_spread != 0)
		return o->run_spread > 0 ? o->run_spread : 0;
	return measure == COATI_DIFF_SHARE ? SPREAD_OF_SHARES : SPREAD_OF_WEIGHTS;
}

static struct resample begin(const struct coati_diff *d, enum coati_diff_measure measure)
{
	return (struct resample){ .measure = measure,
				  .confidence = d->opts.confidence,
				  .spread = spread_for(&d->opts, measure),
				  .seed = d->opts.seed };
}

static void end(struct resample *r)
{
	coati_diff_free_blocks(&r->sides[0]);
	coati_diff_free_blocks(&r->sides[1]);
	coati_free(r->lines);
}

/* The blocks of both sides, whose weight is that of all rows, go to @whole, too. */
static int compare_rows(struct coati_diff *d, struct resample *whole)
{
	struct resample r = begin(d, d->opts.measure);
	int ret = choose_lines(d, &r);

	for (int side = 0; side < 2 && ret == 0; side++) {
		ret = coati_diff_lay_out(d, side, &r);
		if (ret == 0)
			ret = coati_diff_copy_blocks(&r.sides[side], &whole->sides[side]);
	}
	if (ret == 0)
		ret = coati_resample(&r);
	if (ret == 0)
		ret = add_rows(d, &r);
	if (ret == 0)
		put_info(d, &r);
	end(&r);
	return ret;
}

/* All weight as one line, of which @r has the blocks; as a share it would be 1 on both sides. */
static int compare_whole(struct coati_diff *d, struct resample *r)
{
	uint64_t before = d->views[0]->info.samples, after = d->views[1]->info.samples;
	int ret;

	r->nr_lines = 1;
	r->lines = coati_alloc_array(1, sizeof(*r->lines));
	if (!r->lines)
		return -ENOMEM;
	mark_line(&r->lines[0], before + after, true);
	ret = coati_resample(r);
	if (ret == 0)
		d->info.whole = value_of(r, &r->lines[0], before, after);
	return ret;
}

static int compare(struct coati_diff *d)
{
	enum coati_diff_measure measure =
		d->opts.measure == COATI_DIFF_SHARE ? COATI_DIFF_RUN : d->opts.measure;
	struct resample whole = begin(d, measure);
	int r = coati_diff_match(d);

	if (r == 0)
		r = compare_rows(d, &whole);
	if (r == 0)
		r = compare_whole(d, &whole);
	end(&whole);
	return r;
}

static int take_opts(struct coati_diff *d, const struct coati_diff_opts *opts,
		     struct coati_error *err)
{
	struct coati_diff_opts *o = &d->opts;
	int r = SIZED_COPY(o, opts);

	if (r < 0)
		return coati_fail(err, r, "options of a newer library, or a wrong size field");
	if (o->confidence == 0)
		o->confidence = 0.95;
	if (o->min_share == 0)
		o->min_share = SHARE_LEAST;
	if (!(o->confidence >= 0.5 && o->confidence <= 0.9999))
		return coati_fail(err, -EINVAL, "a confidence is from 0.5 to 0.9999");
	if (o->by >= COATI_BY_COUNT || o->by == COATI_BY_TIME)
		return coati_fail(err, -EINVAL, "two profiles cannot be compared by time");
	if (o->by == COATI_BY_LABEL && !o->label)
		return coati_fail(err, -EINVAL, "a table by label needs the label's key");
	if (o->measure > COATI_DIFF_RUN)
		return coati_fail(err, -EINVAL, "there is no such measure");
	for (int side = 0; side < 2; side++)
		if (!d->views[side]->profile->bin_ns ||
		    !profile_has_series(d->views[side]->profile))
			return coati_fail(err, -EINVAL,
					  "profiles to be compared need bins of time (bin_ns) in "
					  "a series (COATI_PROFILE_SERIES)");
	return 0;
}

int coati_diff_new(struct coati_view *before, struct coati_view *after,
		   const struct coati_diff_opts *opts, struct coati_diff **ret,
		   struct coati_error *err)
{
	struct coati_diff *d = before && after && ret ? coati_alloc(sizeof(*d)) : NULL;
	int r;

	if (!d)
		return coati_fail(err, before && after && ret ? -ENOMEM : -EINVAL, "%m");
	d->views[0] = before;
	d->views[1] = after;
	d->found.max = d->rows.max = ROWS_MAX;
	coati_arena_init(&d->arena, SIZE_MAX / 4);
	coati_map_init_strings(&d->by_name, ROWS_MAX);
	r = take_opts(d, opts, err);
	if (r == 0) {
		r = compare(d);
		if (r < 0)
			coati_fail(err, r, "%m");
	}
	if (r < 0) {
		coati_diff_free(&d);
		return r;
	}
	if (d->rows.len)
		qsort(d->rows.v, d->rows.len, sizeof(*d->rows.v), by_rank);
	*ret = d;
	return 0;
}

void coati_diff_free(struct coati_diff **dp)
{
	struct coati_diff *d = dp ? *dp : NULL;

	if (!d)
		return;
	coati_map_fini(&d->by_name);
	coati_arena_fini(&d->arena);
	ARRAY_FINI(&d->found);
	ARRAY_FINI(&d->rows);
	coati_diff_free_side(&d->sides[0]);
	coati_diff_free_side(&d->sides[1]);
	coati_free(d);
	*dp = NULL;
}

void coati_diff_info(const struct coati_diff *d, struct coati_diff_info *ret)
{
	*ret = d->info;
}

const struct coati_diff_row *coati_diff_rows(const struct coati_diff *d, size_t *ret_nr)
{
	*ret_nr = d->rows.len;
	return d->rows.v;
}
