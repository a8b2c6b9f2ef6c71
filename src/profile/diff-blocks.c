/* SPDX-License-Identifier: MIT */
/*
 * The weights of a side, laid out in blocks of time. The series of the profile is read once, in the
 * order of time: what a stack has in a block is added up first, and goes to the rows of its frames
 * when the block ends.
 */
#include "profile/diff-parts.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/resample.h"
#include "reading/parts.h"

#define SAMPLES_PER_BLOCK 8 /* a recording with few samples has few blocks */
#define NO_BLOCK	  UINT32_MAX

/* A recording of one side. */
struct run {
	uint64_t samples;
	uint32_t from,
		bins; /* the bins from the first to the last that the view has something in */
	uint32_t first_block, blocks;
};

/* Where the weight of an entry goes. */
struct target {
	uint32_t run;	/* VIEW_NONE: the entry is not in the view */
	uint32_t group; /* its stack, or its row where rows are no frames */
};

struct layout {
	struct coati_diff *d;
	int side;
	struct run *runs;
	struct target *targets; /* by entry */
	struct resample_side *to;
	uint64_t *pending; /* by group: its weight in the block at hand */
	uint32_t *touched; /* groups that have some */
	uint32_t nr_touched;
	uint32_t block;	       /* the one at hand */
	uint64_t block_weight; /* of all groups */
};

/* ---- runs ---- */

static uint32_t blocks_of(const struct run *r)
{
	uint64_t most = r->samples / SAMPLES_PER_BLOCK;

	if (most < RESAMPLE_LEAST)
		most = RESAMPLE_LEAST;
	if (most > RESAMPLE_BLOCKS)
		most = RESAMPLE_BLOCKS;
	return r->bins < most ? r->bins : (uint32_t)most;
}

/* An entry of the view makes its run as long as its last bin; so far from the first of all. */
static void plan_entry(struct layout *l, size_t i)
{
	const struct coati_view *v = l->d->views[l->side];
	const struct coati_profile *p = v->profile;
	const struct coati_profile_entry *e = &p->entries.v[i];
	const struct diff_side *s = &l->d->sides[l->side];
	struct target *t = &l->targets[i];
	uint32_t last = i < p->tails.len ? p->tails.v[i].bin : 0;
	struct run *r;

	t->run = VIEW_NONE;
	if (!v->entry_is_in[i])
		return;
	t->run = p->threads.v[e->thread].file;
	t->group = s->row_of_entry ? s->row_of_entry[i] : e->stack;
	r = &l->runs[t->run];
	if (last >= r->bins)
		r->bins = last < UINT32_MAX ? last + 1 : UINT32_MAX;
	add_weight(&r->samples, e->count);
}

/* Who is looked for may have begun long after the recording, or after the time that was asked of a
 * database: that time before is no part of the run. */
static void plan_begins(struct layout *l)
{
	const struct coati_profile *p = l->d->views[l->side]->profile;

	for (size_t i = 0; i < p->files.len; i++)
		l->runs[i].from = l->runs[i].bins;
	for (size_t i = 0; i < p->series.len; i++) {
		const struct series_item *item = &p->series.v[i];
		const struct target *t = &l->targets[item->entry];

		if (t->run != VIEW_NONE && item->bin < l->runs[t->run].from)
			l->runs[t->run].from = item->bin;
	}
}

/* How long each run is, and in how many blocks it is cut. The number of all blocks. */
static uint32_t plan_runs(struct layout *l)
{
	const struct coati_profile *p = l->d->views[l->side]->profile;
	uint32_t nr = 0;

	for (size_t i = 0; i < p->entries.len; i++)
		plan_entry(l, i);
	plan_begins(l);
	for (size_t i = 0; i < p->files.len; i++) {
		struct run *r = &l->runs[i];

		r->bins -= r->from;
		if (!r->bins)
			r->bins = 1; /* nothing in it is a measurement too */
		r->blocks = blocks_of(r);
		r->first_block = nr;
		nr += r->blocks;
	}
	return nr;
}

/* ---- weights ---- */

static void add_value(const struct layout *l, uint32_t row, uint32_t how, double weight)
{
	const struct diff_row *to = &l->d->found.v[row];
	double *v;

	if (to->line == VIEW_NONE)
		return;
	v = l->to->values + (size_t)to->line * l->to->nr + l->block;
	if (how & DIFF_SELF)
		v[0] += weight;
	if (how & DIFF_TOTAL && diff_has_frames(l->d))
		v[l->to->nr] += weight;
}

/* The block at hand ends: what its groups have goes to their rows. */
static void flush(struct layout *l)
{
	const struct diff_side *s = &l->d->sides[l->side];

	for (uint32_t i = 0; i < l->nr_touched; i++) {
		uint32_t group = l->touched[i];
		double weight = (double)l->pending[group];

		l->pending[group] = 0;
		if (s->row_of_entry)
			add_value(l, group, DIFF_SELF | DIFF_TOTAL, weight);
		for (uint32_t k = 0; !s->row_of_entry && k < s->nr_visits[group]; k++) {
			const struct diff_visit *visit = &s->visits.v[s->first_visit[group] + k];

			add_value(l, visit->row, visit->how, weight);
		}
	}
	l->nr_touched = 0;
	if (l->block != NO_BLOCK)
		l->to->weight[l->block] += (double)l->block_weight;
	l->block_weight = 0;
}

/* The run and bin of the last item, which most have in common with the one before. */
struct spell {
	uint32_t run, bin;
};

static void enter_block(struct layout *l, struct spell *at, uint32_t run, uint32_t bin)
{
	const struct run *r = &l->runs[run];
	uint32_t block =
		r->first_block + (uint32_t)((uint64_t)(bin - r->from) * r->blocks / r->bins);

	*at = (struct spell){ run, bin };
	if (block == l->block)
		return;
	flush(l);
	l->block = block;
}

/* Every item of the series. Sums stop at the largest number, as everywhere.  Hot. */
static void put_items(struct layout *l)
{
	const struct coati_view *v = l->d->views[l->side];
	const struct coati_profile *p = v->profile;
	struct spell at = { VIEW_NONE, 0 };

	l->block = NO_BLOCK;
	for (size_t i = 0; i < p->series.len; i++) {
		const struct series_item *item = &p->series.v[i];
		const struct target *t = &l->targets[item->entry];
		uint64_t weight = v->counts ? item->count : item->weight;
		uint64_t *pending;

		if (t->run == VIEW_NONE || !weight)
			continue;
		if (t->run != at.run || item->bin != at.bin)
			enter_block(l, &at, t->run, item->bin);
		pending = &l->pending[t->group];
		if (!*pending)
			l->touched[l->nr_touched++] = t->group;
		add_weight(pending, weight);
		add_weight(&l->block_weight, weight);
	}
	flush(l);
}

static void put_spans(struct layout *l)
{
	const struct coati_profile *p = l->d->views[l->side]->profile;

	for (uint32_t i = 0; i < p->files.len; i++) {
		const struct run *r = &l->runs[i];

		for (uint32_t b = 0; b < r->blocks; b++) {
			l->to->run[r->first_block + b] = i;
			l->to->span[r->first_block + b] = (double)p->bin_ns * r->bins / r->blocks;
		}
	}
}

/* ---- a side ---- */

static int alloc_side(struct resample_side *s, uint32_t nr, uint32_t lines)
{
	s->nr = nr;
	s->run = coati_alloc_array((size_t)nr + 1, sizeof(*s->run));
	s->weight = coati_alloc_array((size_t)nr + 1, sizeof(double));
	s->span = coati_alloc_array((size_t)nr + 1, sizeof(double));
	s->values = coati_alloc_array(((size_t)nr + 1) * ((size_t)lines + 1), sizeof(double));
	return s->run && s->weight && s->span && s->values ? 0 : -ENOMEM;
}

void coati_diff_free_blocks(struct resample_side *s)
{
	coati_free(s->run);
	coati_free(s->weight);
	coati_free(s->span);
	coati_free(s->values);
}

static int alloc_layout(struct layout *l)
{
	const struct coati_profile *p = l->d->views[l->side]->profile;
	size_t groups = diff_has_frames(l->d) ? p->stacks.len : l->d->found.len;

	l->runs = coati_alloc_array(p->files.len + 1, sizeof(*l->runs));
	l->targets = coati_alloc_array(p->entries.len + 1, sizeof(*l->targets));
	l->pending = coati_alloc_array(groups + 1, sizeof(*l->pending));
	l->touched = coati_alloc_array(groups + 1, sizeof(*l->touched));
	return l->runs && l->targets && l->pending && l->touched ? 0 : -ENOMEM;
}

static void free_layout(struct layout *l)
{
	coati_free(l->runs);
	coati_free(l->targets);
	coati_free(l->pending);
	coati_free(l->touched);
}

int coati_diff_lay_out(struct coati_diff *d, int side, struct resample *r)
{
	const struct coati_view *v = d->views[side];
	struct layout l = { .d = d, .side = side, .to = &r->sides[side] };
	int ret = alloc_layout(&l);

	l.to->nr_runs = (uint32_t)v->profile->files.len;
	l.to->samples = (double)v->info.samples;
	if (ret == 0)
		ret = alloc_side(l.to, plan_runs(&l), r->nr_lines);
	if (ret == 0) {
		put_spans(&l);
		put_items(&l);
	}
	free_layout(&l);
	return ret;
}

int coati_diff_copy_blocks(const struct resample_side *from, struct resample_side *to)
{
	int r = alloc_side(to, from->nr, 1);

	to->nr_runs = from->nr_runs;
	to->samples = from->samples;
	for (uint32_t i = 0; r == 0 && i < from->nr; i++) {
		to->run[i] = from->run[i];
		to->span[i] = from->span[i];
		to->weight[i] = to->values[i] = from->weight[i];
	}
	return r;
}
