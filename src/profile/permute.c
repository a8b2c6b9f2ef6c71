/* SPDX-License-Identifier: MIT */
/*
 * Two sides of runs (see resample.h): which lines differ by more than the runs of a side differ
 * among themselves?
 *
 * Were there no difference, it would not matter which runs are called before and which after. So
 * the runs are divided into two sides in every other way (or in many random ones), and the line
 * that strays furthest is looked for each time: how far it strays in all but one minus the
 * confidence of the divisions is the critical value. This holds for any distribution of the runs,
 * and for lines that rise and fall together. Runs may be short and long, and a line may have
 * another share of the short ones: so each division has its own estimates, what its runs have
 * together divided by how long they are together, and its own variances.
 *
 * A line strays by the larger of two measures, both as normal deviates: Welch's t, and the rank sum
 * of Mann and Whitney, which one run that is far out does not spoil. Ranks count where they point
 * the same way as the estimates, which are what is shown. Four runs a side can be divided in 35
 * ways only: where there are so few, a line has changed by Bonferroni's bound for as many lines,
 * too. That bound rests on t, and t of runs that are short and long does not hold: the shares of
 * the single runs, each counting one, must pass it as well. Lines that changed are set aside, and
 * the others are judged again (S. Holm, P. Westfall and S. Young), because a change of one function
 * moves the shares of all.
 */
#include "profile/resample.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/doubles.h"

#define WORK_MAX   2e9 /* additions of all steps together */
#define STEPS_MAX  8   /* of setting lines aside */
#define TIE	   1e-9
#define BASE_LEAST 1e-9 /* of the average: less is a run with nothing in it */
#define FEW	   4	/* divisions that may go further */
#define EXACT_RUNS 50	/* of both sides: up to here the counts of the rank sum fit a double */

/* One line of all runs, those of before first. */
struct line {
	double x;      /* of all runs together */
	double *pull;  /* what a run has beyond x of its base: small, so that sums lose nothing */
	double *value; /* what it has alone, less x */
	double *rank;  /* of value, from 1, ties share theirs */
	double pulls, squares, products; /* sums of pull, and of pull * pull and pull * base */
	double least[2];		 /* of the variance of a side's estimate */
	int changed;
	bool is_aside;
};

/* What the sides of a division divide by: runs, sums of base and of base * base. */
struct bases {
	double runs[2], sum[2], squares[2];
};

struct permute {
	struct resample *r;
	uint32_t n[2], nr; /* runs of each side, and together */
	struct line *lines;
	double *base;	  /* of each run, what its values are divided by; 1 on average */
	double *by_rank;  /* the deviate of each possible rank sum; NULL: too many */
	uint32_t *chosen; /* the runs that are after in this division */
	uint32_t *order;  /* to draw them from */
	double *most;	  /* of each division */
	double part[2];	  /* of all bases, how much each side has */
	uint32_t rounds;
	bool is_exhaustive; /* every division once */
};

/* ---- the rank sum ---- */

/* How many divisions have each rank sum: the coefficients of the Gaussian binomial. */
static void count_sums(const struct permute *p, double *counts)
{
	uint32_t most = p->n[0] * p->n[1];

	counts[0] = 1;
	for (uint32_t i = 1; i <= p->n[0]; i++) {
		for (uint32_t u = most; u >= p->n[1] + i; u--)
			counts[u] -= counts[u - p->n[1] - i];
		for (uint32_t u = i; u <= most; u++)
			counts[u] += counts[u - i];
	}
}

static int make_ranks(struct permute *p)
{
	uint32_t most = p->n[0] * p->n[1];
	CLEANUP(freep) double *counts = NULL;
	double all = 0, sum = 0;

	if (p->nr > EXACT_RUNS)
		return 0;
	counts = coati_alloc_array((size_t)most + 1, sizeof(*counts));
	p->by_rank = coati_alloc_array((size_t)most + 1, sizeof(*p->by_rank));
	if (!counts || !p->by_rank)
		return -ENOMEM;
	count_sums(p, counts);
	for (uint32_t u = 0; u <= most; u++)
		all += counts[u];
	for (uint32_t u = 0; u <= most / 2; u++) {
		double part;

		sum += counts[u];
		part = 2 * sum / all;
		p->by_rank[u] = p->by_rank[most - u] = part < 1 ? coati_resample_quantile(part) : 0;
	}
	return 0;
}

/* The deviate of @u of all pairs in which after is more; ties make it a half. Signed. */
static double rank_deviate(const struct permute *p, double u)
{
	double pairs = (double)p->n[0] * p->n[1], away, z;

	/* an index: nothing that was computed may lead out of the table */
	u = fmin(fmax(u, 0), pairs);
	away = fabs(u - pairs / 2);
	if (p->by_rank)
		z = p->by_rank[(uint32_t)(u < pairs / 2 ? ceil(u) : floor(u))];
	else
		z = away > 0.5 ? (away - 0.5) / sqrt(pairs * (p->nr + 1) / 12) : 0;
	return u < pairs / 2 ? -z : z;
}

/* ---- one division ---- */

struct deviates {
	double t, rank; /* signed */
};

static struct bases divide_bases(const struct permute *p)
{
	struct bases b = { .runs = { p->n[0], p->n[1] } };

	for (uint32_t i = 0; i < p->nr; i++) {
		b.sum[0] += p->base[i];
		b.squares[0] += p->base[i] * p->base[i];
	}
	for (uint32_t i = 0; i < p->n[1]; i++) {
		double base = p->base[p->chosen[i]];

		b.sum[1] += base;
		b.squares[1] += base * base;
	}
	b.sum[0] -= b.sum[1];
	b.squares[0] -= b.squares[1];
	return b;
}

/* What the runs of a side add up to. */
struct sums {
	double pulls, squares, products;
};

struct estimate {
	double x; /* less that of all runs */
	double variance;
};

/* Of a side, as resample.c has it. */
static struct estimate estimate(const struct line *l, const struct bases *b, const struct sums *s,
				int side)
{
	double sum = b->sum[side], n = b->runs[side], squares;
	struct estimate e = { -l->x, l->least[side] };

	if (!(sum > BASE_LEAST))
		return e;
	e.x = s->pulls / sum;
	squares = s->squares - 2 * e.x * s->products + e.x * e.x * b->squares[side];
	e.variance = fmax(squares / (sum * sum) * n / (n - 1), l->least[side]);
	return e;
}

/* Hot. */
static struct deviates divide(const struct permute *p, const struct bases *b, const struct line *l)
{
	double x[2], variance[2], freedom[2] = { p->n[0] - 1.0, p->n[1] - 1.0 }, ranks = 0, total;
	struct deviates d = { 0 };
	struct sums s[2] = { 0 };

	for (uint32_t i = 0; i < p->n[1]; i++) {
		uint32_t run = p->chosen[i];
		double pull = l->pull[run];

		s[1].pulls += pull;
		s[1].squares += pull * pull;
		s[1].products += pull * p->base[run];
		ranks += l->rank[run];
	}
	s[0] = (struct sums){ l->pulls - s[1].pulls, l->squares - s[1].squares,
			      l->products - s[1].products };
	for (int i = 0; i < 2; i++) {
		struct estimate e = estimate(l, b, &s[i], i);

		x[i] = e.x;
		variance[i] = e.variance;
	}
	total = variance[0] + variance[1];
	if (total > 0)
		d.t = coati_resample_normal((x[1] - x[0]) / sqrt(total),
					    coati_resample_welch(variance, freedom));
	d.rank = rank_deviate(p, ranks - (double)p->n[1] * (p->n[1] + 1) / 2);
	return d;
}

/* Ranks that say the contrary of the estimates, because of a run that is far out, say nothing. */
static double larger(struct deviates d)
{
	return d.rank * d.t > 0 && fabs(d.rank) > fabs(d.t) ? d.rank : d.t;
}

/* ---- all divisions ---- */

/* The division as it was recorded, which is the first of all. */
static void choose_first(struct permute *p)
{
	for (uint32_t i = 0; i < p->n[1]; i++)
		p->chosen[i] = p->n[0] + i;
}

/* The next of all, from the last runs to the first ones. */
static void choose_next(struct permute *p)
{
	uint32_t i = 0;

	while (i < p->n[1] && p->chosen[i] == i)
		i++;
	if (i == p->n[1])
		return;
	p->chosen[i]--;
	while (i-- > 0)
		p->chosen[i] = p->chosen[i + 1] - 1;
}

static void choose_random(struct permute *p, uint64_t *state)
{
	for (uint32_t i = 0; i < p->n[1]; i++) {
		uint32_t at = i + (uint32_t)(coati_resample_random(state) % (p->nr - i));
		uint32_t taken = p->order[at];

		p->order[at] = p->order[i];
		p->order[i] = p->chosen[i] = taken;
	}
}

static double furthest(const struct permute *p)
{
	struct bases b = divide_bases(p);
	double most = 0;

	for (uint32_t i = 0; i < p->r->nr_lines; i++) {
		double z;

		if (!p->r->lines[i].is_tested || p->lines[i].is_aside)
			continue;
		z = fabs(larger(divide(p, &b, &p->lines[i])));
		if (z > most)
			most = z;
	}
	return most;
}

static void divide_all(struct permute *p)
{
	uint64_t state = p->r->seed;

	choose_first(p);
	for (uint32_t i = 0; i < p->rounds; i++) {
		if (i && p->is_exhaustive)
			choose_next(p);
		else if (i)
			choose_random(p, &state);
		p->most[i] = furthest(p);
	}
	qsort(p->most, p->rounds, sizeof(*p->most), double_compare);
}

/* As many as there are, or as the confidence needs. */
static void choose_rounds(struct permute *p)
{
	double work = (double)p->r->nr_lines * p->n[1] + 1, all = 1;
	double most = WORK_MAX / STEPS_MAX / work;

	if (most > RESAMPLE_ROUNDS_MAX)
		most = RESAMPLE_ROUNDS_MAX;
	for (uint32_t i = 1; i <= p->n[1] && all <= RESAMPLE_ROUNDS_MAX; i++)
		all = all * (p->n[0] + i) / i;
	p->is_exhaustive = all <= most;
	if (p->is_exhaustive) {
		p->rounds = (uint32_t)(all + 0.5);
		return;
	}
	p->rounds = (uint32_t)ceil(100 / (1 - p->r->confidence));
	if (p->rounds > most)
		p->rounds = (uint32_t)most;
	if (p->rounds < RESAMPLE_ROUNDS_LEAST)
		p->rounds = RESAMPLE_ROUNDS_LEAST;
}

/* ---- lines ---- */

/*
 * Ties share the mean of their ranks. Equal runs of different sides were computed from different
 * means: their last bits differ, all in the same direction, and would pass for a difference of the
 * sides.
 */
static int rank_line(const struct permute *p, struct line *l, double tie)
{
	CLEANUP(freep) double *sorted = coati_alloc_array((size_t)p->nr + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr; i++)
		sorted[i] = l->value[i];
	qsort(sorted, p->nr, sizeof(*sorted), double_compare);
	for (uint32_t i = 0; i < p->nr; i++)
		l->rank[i] = (1.0 + (double)double_below(sorted, p->nr, l->value[i] - tie) +
			      (double)double_below(sorted, p->nr, l->value[i] + tie)) /
			     2;
	return 0;
}

/* What the runs have of a line, of which the sides have estimates and deviations from them. */
static int make_line(struct permute *p, uint32_t number)
{
	const struct resample_line *from = &p->r->lines[number];
	struct line *l = &p->lines[number];
	uint32_t at = 0;

	l->pull = coati_alloc_array((size_t)p->nr + 1, sizeof(*l->pull));
	l->value = coati_alloc_array((size_t)p->nr + 1, sizeof(*l->value));
	l->rank = coati_alloc_array((size_t)p->nr + 1, sizeof(*l->rank));
	if (!l->pull || !l->value || !l->rank)
		return -ENOMEM;
	for (int side = 0; side < 2; side++)
		l->x += from->x[side] * p->part[side];
	for (int side = 0; side < 2; side++) {
		const double *v = p->r->sides[side].values + (size_t)number * p->n[side];

		l->least[side] = from->least[side];
		for (uint32_t i = 0; i < p->n[side]; i++, at++) {
			double base = p->base[at];

			l->pull[at] = v[i] * p->part[side] * p->nr + (from->x[side] - l->x) * base;
			l->value[at] = base > BASE_LEAST ? l->pull[at] / base : 0;
			l->pulls += l->pull[at];
			l->squares += l->pull[at] * l->pull[at];
			l->products += l->pull[at] * base;
		}
	}
	return rank_line(p, l, TIE * (fabs(from->x[0]) + fabs(from->x[1])) + DBL_MIN);
}

/*
 * The differences of all pairs, less those that the ranks would refuse: Hodges and Lehmann's
 * interval.
 */
static int put_interval(const struct permute *p, const struct line *l, struct resample_line *to)
{
	uint32_t pairs = p->n[0] * p->n[1], cut = 0, low, high;
	double tie = TIE * (fabs(to->x[0]) + fabs(to->x[1]));
	CLEANUP(freep) double *all = coati_alloc_array((size_t)pairs + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < pairs; i++)
		all[i] = l->value[p->n[0] + i % p->n[1]] - l->value[i / p->n[1]];
	qsort(all, pairs, sizeof(*all), double_compare);
	while (cut + 1 < pairs / 2 && -rank_deviate(p, cut + 1) > to->critical)
		cut++;
	low = cut;
	high = pairs - 1 - cut;
	/*
	 * pairs that tie count half on either side: the ranks refused zero, and so must the
	 * interval
	 */
	while (to->z > 0 && low < high && all[low] <= tie)
		low++;
	while (to->z < 0 && high > low && all[high] >= -tie)
		high--;
	to->by_rank = true;
	to->low = all[low];
	to->high = all[high];
	return 0;
}

/* ---- judging ---- */

/*
 * Four runs a side: one division and its mirror image are 2 of 70, and with the next it is more
 * than 5 %.
 */
static bool has_few(const struct permute *p, uint32_t allowed)
{
	return p->is_exhaustive && allowed < FEW;
}

static double nr_left(const struct permute *p)
{
	double nr = 0;

	for (uint32_t i = 0; i < p->r->nr_lines; i++)
		nr += p->r->lines[i].is_tested && !p->lines[i].is_aside;
	return nr > 0 ? nr : 1;
}

static double bonferroni(const struct permute *p)
{
	return coati_resample_quantile((1 - p->r->confidence) / nr_left(p));
}

/* The critical value of the divisions, and that of t where these are few: the smaller one. */
struct limits {
	double divisions, t;
	uint32_t allowed; /* divisions that may go further */
};

static struct limits limits_of(const struct permute *p)
{
	double alone = coati_resample_quantile(1 - p->r->confidence);
	uint32_t allowed = (uint32_t)floor((1 - p->r->confidence) * p->rounds + TIE);
	struct limits l = { .allowed = allowed };

	l.divisions = fmax(p->most[p->rounds - 1 - allowed] + TIE, alone);
	l.t = has_few(p, allowed) ? bonferroni(p) : l.divisions;
	return l;
}

/* Welch's t of the first division, each run counting one, as a normal deviate. */
static double usual_deviate(const struct permute *p, const struct line *l)
{
	double mean[2] = { 0 }, variance[2] = { 0 }, freedom[2] = { p->n[0] - 1.0, p->n[1] - 1.0 };

	for (uint32_t i = 0; i < p->nr; i++)
		mean[i >= p->n[0]] += l->value[i] / p->n[i >= p->n[0]];
	for (uint32_t i = 0; i < p->nr; i++) {
		int side = i >= p->n[0];
		double away = l->value[i] - mean[side];

		variance[side] += away * away / p->n[side] / freedom[side];
	}
	for (int i = 0; i < 2; i++)
		variance[i] = fmax(variance[i], l->least[i]);
	if (!(variance[0] + variance[1] > 0))
		return 0;
	return coati_resample_normal((mean[1] - mean[0]) / sqrt(variance[0] + variance[1]),
				     coati_resample_welch(variance, freedom));
}

/* What of a line Bonferroni's bound is for. */
static double bounded(const struct permute *p, const struct line *l, double t)
{
	double usual = usual_deviate(p, l);

	return usual * t > 0 ? fmin(fabs(usual), fabs(t)) : 0;
}

/* What is critical for a line that is as far as @d: less than that when it has changed. */
static double critical_of(const struct permute *p, const struct limits *limits,
			  const struct line *l, struct deviates d)
{
	if (!(limits->t < limits->divisions) || !(fabs(larger(d)) > limits->t) ||
	    bounded(p, l, d.t) > limits->t)
		return fmin(limits->t, limits->divisions);
	return limits->divisions;
}

/* What share of the divisions goes as far, or Bonferroni's correction where these are few. */
static double chance_of(const struct permute *p, const struct limits *limits, const struct line *l,
			struct deviates d)
{
	double z = fabs(larger(d)), alone, chance;
	uint32_t further = 0;

	while (further < p->rounds && p->most[p->rounds - 1 - further] > z - TIE)
		further++;
	chance = (further ? further : 1) / (double)p->rounds;
	if (!has_few(p, limits->allowed))
		return chance;
	alone = nr_left(p) * erfc(bounded(p, l, d.t) / sqrt(2));
	return alone < chance ? alone : chance;
}

/* Judge one line. Whether it changed; -ENOMEM. */
static int judge_line(const struct permute *p, const struct limits *limits, struct deviates d,
		      uint32_t number)
{
	struct resample_line *to = &p->r->lines[number];
	const struct line *l = &p->lines[number];

	to->z = larger(d);
	to->critical = critical_of(p, limits, l, d);
	if (!(fabs(to->z) > to->critical))
		return 0;
	if (!(fabs(d.t) > to->critical) && put_interval(p, l, to) < 0)
		return -ENOMEM;
	return 1;
}

/* Judge those that are left. The number that changed, or -ENOMEM. */
static int judge(struct permute *p, bool first)
{
	struct limits limits = limits_of(p);
	int changed = 0;
	struct bases b;

	if (first)
		p->r->critical = fmin(limits.t, limits.divisions);
	choose_first(p);
	b = divide_bases(p);
	for (uint32_t i = 0; i < p->r->nr_lines; i++) {
		struct resample_line *to = &p->r->lines[i];
		struct deviates d;
		double chance;

		if (!to->is_tested || p->lines[i].is_aside)
			continue;
		d = divide(p, &b, &p->lines[i]);
		chance = chance_of(p, &limits, &p->lines[i], d);
		to->p = first || chance > to->p ? chance : to->p;
		p->lines[i].changed = judge_line(p, &limits, d, i);
		if (p->lines[i].changed < 0)
			return -ENOMEM;
		changed += p->lines[i].changed;
	}
	for (uint32_t i = 0; i < p->r->nr_lines; i++)
		p->lines[i].is_aside |= p->lines[i].changed > 0;
	return changed;
}

static void make_bases(struct permute *p)
{
	double sum[2] = { 0 };
	uint32_t at = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < p->n[side]; i++) {
			p->base[at] = coati_resample_base(&p->r->sides[side], p->r->measure, i);
			sum[side] += p->base[at++];
		}
	for (uint32_t i = 0; i < p->nr && sum[0] + sum[1] > 0; i++)
		p->base[i] *= p->nr / (sum[0] + sum[1]);
	for (int side = 0; side < 2 && sum[0] + sum[1] > 0; side++)
		p->part[side] = sum[side] / (sum[0] + sum[1]);
}

static int permute(struct permute *p)
{
	int ret = make_ranks(p);

	make_bases(p);
	for (uint32_t i = 0; ret == 0 && i < p->r->nr_lines; i++)
		if (p->r->lines[i].is_tested)
			ret = make_line(p, i);
	for (uint32_t i = 0; i < p->nr; i++)
		p->order[i] = i;
	for (int step = 0; ret == 0 && step < STEPS_MAX; step++) {
		divide_all(p);
		ret = judge(p, step == 0);
		if (ret <= 0)
			return ret;
		ret = 0;
	}
	return ret;
}

int coati_permute(struct resample *r)
{
	struct permute p = { .r = r, .n = { r->sides[0].nr, r->sides[1].nr } };
	int ret = -ENOMEM;

	p.nr = p.n[0] + p.n[1];
	choose_rounds(&p);
	r->rounds = p.rounds;
	p.lines = coati_alloc_array((size_t)r->nr_lines + 1, sizeof(*p.lines));
	p.chosen = coati_alloc_array((size_t)p.nr + 1, sizeof(*p.chosen));
	p.order = coati_alloc_array((size_t)p.nr + 1, sizeof(*p.order));
	p.base = coati_alloc_array((size_t)p.nr + 1, sizeof(*p.base));
	p.most = coati_alloc_array((size_t)p.rounds + 1, sizeof(*p.most));
	if (p.lines && p.chosen && p.order && p.base && p.most)
		ret = permute(&p);
	for (uint32_t i = 0; p.lines && i < r->nr_lines; i++) {
		coati_free(p.lines[i].pull);
		coati_free(p.lines[i].value);
		coati_free(p.lines[i].rank);
	}
	coati_free(p.lines);
	coati_free(p.chosen);
	coati_free(p.order);
	coati_free(p.base);
	coati_free(p.most);
	coati_free(p.by_rank);
	return ret;
}
