/* SPDX-License-Identifier: MIT */
/*
 * What the slow instances of a type spend their extra time on. Each has a breakdown of its time;
 * slow ones are compared with those around the median, part by part. What makes a difference a
 * cause is in why-judge.c, and what answer that gives in why-answer.c.
 *
 * On a busy machine the slowest are those that had to wait for a CPU, which says nothing about the
 * program: then the slow ones are those that are slow without it.
 */
#include "trace/why.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "reading/wait.h"
#include "trace/kept.h"
#include "trace/timeline.h"

#define REGIONS_MAX   64
#define SAMPLES_LEAST 20      /* to know how many there are in a ns of running */
#define FAULT_MOST_NS 50000.0 /* no page fault costs more */
#define INSTANCES_MAX ((size_t)1 << 26)

/* ---- instances ---- */

static int add_instance(struct comparison *c, struct instance i)
{
	struct instance *new = ARRAY_ADD(&c->list);

	if (!new)
		return -ENOMEM;
	*new = i;
	return 0;
}

static int gather_tasks(struct comparison *c)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->t->tasks.len; i++) {
		const struct task *k = &c->t->tasks.v[i];

		if (k->type == c->type && why_is_whole(k->flags))
			r = add_instance(c, (struct instance){ .begin = k->begin,
							       .end = k->end,
							       .number = i,
							       .thread = COATI_TIMELINE_NONE });
	}
	return r;
}

static int gather_regions(struct comparison *c, uint32_t thread)
{
	const struct thread *th = &c->t->threads.v[thread];
	const char *name = c->t->types.v[c->type].name;
	int r = 0;

	for (size_t i = 0; r == 0 && i < th->regions.len; i++)
		if (th->regions.v[i].name == name && why_is_whole(th->regions.v[i].flags))
			r = add_instance(c, (struct instance){ .begin = th->regions.v[i].begin,
							       .end = th->regions.v[i].end,
							       .number = COATI_TIMELINE_NONE,
							       .thread = thread });
	return r;
}

static int gather(struct comparison *c)
{
	int r = 0;

	if (c->t->kept)
		return coati_why_gather_kept(c);
	if (!c->t->types.v[c->type].is_region)
		return gather_tasks(c);
	for (uint32_t i = 0; r == 0 && i < c->t->threads.len; i++)
		r = gather_regions(c, i);
	return r;
}

/* ---- columns ---- */

struct column *coati_why_add_column(struct comparison *c, enum coati_why_kind kind, uint32_t part,
				    const char *name)
{
	struct column *col = ARRAY_ADD(&c->columns);

	if (!col)
		return NULL;
	*col = (struct column){ kind, part, name, coati_alloc_array(c->list.len, sizeof(double)) };
	return col->v ? col : NULL;
}

/* What one page fault costs: how running time grows with their number, over all. */
static double fault_cost(const struct comparison *c)
{
	const double *run = c->columns.v[COATI_WAIT_RUNNING].v,
		     *faults = c->columns.v[COATI_PART_COUNT].v;
	double n = (double)c->list.len, mx = 0, my = 0, xy = 0, xx = 0, cost;

	for (size_t i = 0; i < c->list.len; i++) {
		mx += faults[i] / n;
		my += run[i] / n;
	}
	for (size_t i = 0; i < c->list.len; i++) {
		xy += (faults[i] - mx) * (run[i] - my);
		xx += (faults[i] - mx) * (faults[i] - mx);
	}
	cost = xx > 0 ? xy / xx : 0;
	return cost < 0 ? 0 : cost > FAULT_MOST_NS ? FAULT_MOST_NS : cost;
}

static void split_running(struct comparison *c)
{
	double *run = c->columns.v[COATI_WAIT_RUNNING].v,
	       *faults = c->columns.v[COATI_PART_COUNT].v;
	double cost = fault_cost(c);

	for (size_t i = 0; cost > 0 && i < c->list.len; i++) {
		faults[i] = fmin(run[i], cost * faults[i]);
		run[i] -= faults[i];
	}
	/* without a cost they take no time */
	for (size_t i = 0; cost <= 0 && i < c->list.len; i++)
		if (faults[i] > 0)
			faults[i] = 0;
}

/* Memory of columns that are zero everywhere is not touched. */
void coati_why_set(struct comparison *c, uint32_t instance, const struct coati_ledger *l)
{
	struct instance *in = &c->list.v[instance];

	in->own = l->duration;
	for (uint32_t part = 0; part < COATI_PART_COUNT; part++) {
		if (l->parts[part])
			c->columns.v[part].v[instance] = (double)l->parts[part];
		in->own -= why_is_machine(part) ? l->parts[part] : 0;
	}
	if (l->faults)
		c->columns.v[COATI_PART_COUNT].v[instance] = (double)l->faults;
	if (l->samples != l->fault_samples)
		c->seen[instance] = (double)(l->samples - l->fault_samples);
}

static int fill_all(struct comparison *c)
{
	for (uint32_t i = 0; i < c->list.len; i++) {
		const struct instance *in = &c->list.v[i];
		struct coati_ledger l = { 0 };
		int r = 0;

		if (in->number != COATI_TIMELINE_NONE)
			r = coati_ledger_task(c->t, in->number, &l);
		else
			coati_ledger_range(&c->t->threads.v[in->thread], in->begin, in->end, &l);
		if (r < 0)
			return r;
		coati_why_set(c, i, &l);
	}
	return 0;
}

static int fill_parts(struct comparison *c)
{
	int r = 0;

	c->seen = coati_alloc_array(c->list.len + 1, sizeof(*c->seen));
	if (!c->seen)
		return -ENOMEM;
	for (uint32_t part = 0; part < COATI_PART_COUNT; part++)
		if (!coati_why_add_column(c, COATI_WHY_PART, part, coati_part_name(part)))
			return -ENOMEM;
	if (!coati_why_add_column(c, COATI_WHY_FAULTS, COATI_WAIT_RUNNING, "page faults"))
		return -ENOMEM;
	if (c->t->kept)
		coati_why_fill_kept(c);
	else
		r = fill_all(c);
	if (r == 0)
		split_running(c);
	return r;
}

/* A region inside a task counts where no other of its name is around it. */
static int fill_regions(struct comparison *c, const struct thread *th)
{
	for (size_t i = 0; i < th->regions.len; i++) {
		const struct region *g = &th->regions.v[i];
		uint64_t col;
		uint32_t in;

		if (g->task == COATI_TIMELINE_NONE || !why_find(c, g->task, &in))
			continue;
		if (!coati_map_get_str(&c->regions, g->name, &col)) {
			if (c->regions.len >= REGIONS_MAX)
				continue;
			col = c->columns.len;
			if (!coati_why_add_column(c, COATI_WHY_REGION, 0, g->name) ||
			    coati_map_put_str(&c->regions, g->name, col) < 0)
				return -ENOMEM;
		}
		c->columns.v[col].v[in] += (double)(g->end - g->begin);
	}
	return 0;
}

static int fill(struct comparison *c)
{
	int r = fill_parts(c);

	if (r == 0 && c->t->kept)
		return coati_why_regions_kept(c);
	for (size_t i = 0; r == 0 && i < c->t->threads.len; i++)
		r = fill_regions(c, &c->t->threads.v[i]);
	return r;
}

/* ---- slow and typical ---- */

static int by_length(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->instance < y->instance ? -1 : x->instance > y->instance;
}

/*
 * Sets which are slow and which are typical, and returns the threshold. The slow ones are chosen by
 * rank, not by comparing with the threshold: durations that are equal there (own times of requests
 * that do the same differ by a few ns) would leave fewer of them than the percentile says.
 */
static uint64_t divide(struct comparison *c, double percent, bool without_cpu)
{
	size_t nr = c->list.len, first = (size_t)((double)nr * percent / 100);

	for (size_t i = 0; i < nr; i++)
		c->order[i] = (struct rank){ why_length(&c->list.v[i], without_cpu), (uint32_t)i };
	qsort(c->order, nr, sizeof(*c->order), by_length);
	for (size_t i = 0; i < nr; i++) {
		struct instance *in = &c->list.v[c->order[i].instance];

		in->is_slow = i >= first;
		in->is_typical = i < first && i >= nr / 4 && i < nr - nr / 4;
	}
	for (size_t i = 0, n = 0; i < nr; i++)
		if (c->list.v[i].is_slow)
			c->slow[n++] = (uint32_t)i;
	return c->order[first ? first - 1 : 0].ns;
}

static void count(const struct comparison *c, struct coati_why *w)
{
	w->nr_slow = w->nr_typical = 0;
	w->slow = w->typical = 0;
	for (size_t i = 0; i < c->list.len; i++) {
		const struct instance *in = &c->list.v[i];

		w->nr_slow += in->is_slow;
		w->nr_typical += in->is_typical;
		w->slow += in->is_slow ? (double)why_length(in, w->without_cpu) : 0;
		w->typical += in->is_typical ? (double)why_length(in, w->without_cpu) : 0;
	}
	w->slow /= w->nr_slow ? w->nr_slow : 1;
	w->typical /= w->nr_typical ? w->nr_typical : 1;
}

double coati_why_mean(const struct comparison *c, const double *v, bool slow)
{
	double sum = 0, nr = 0;

	for (size_t i = 0; i < c->list.len; i++)
		if (slow ? c->list.v[i].is_slow : c->list.v[i].is_typical) {
			sum += v[i];
			nr++;
		}
	return nr > 0 ? sum / nr : 0;
}

static double machine_share(const struct comparison *c, const struct coati_why *w)
{
	double extra = 0;

	for (uint32_t part = 0; part < COATI_PART_COUNT; part++)
		if (why_is_machine(part))
			extra += coati_why_mean(c, c->columns.v[part].v, true) -
				 coati_why_mean(c, c->columns.v[part].v, false);
	return w->slow > w->typical ? fmin(1, fmax(0, extra / (w->slow - w->typical))) : 0;
}

/* ---- the sampler's rate ---- */

/* Samples in a ns of running of the typical ones, or of all that are not slow; 0: too few. */
static double rate_of(const struct comparison *c, bool typical)
{
	const double *run = c->columns.v[COATI_WAIT_RUNNING].v;
	double ns = 0, nr = 0;

	for (size_t i = 0; i < c->list.len; i++)
		if (typical ? c->list.v[i].is_typical : !c->list.v[i].is_slow) {
			ns += run[i];
			nr += c->seen[i];
		}
	return nr >= SAMPLES_LEAST && ns > 0 ? nr / ns : 0;
}

/* Of everything that the threads did outside of the slow ones. */
static double rate_outside(const struct comparison *c)
{
	const double *run = c->columns.v[COATI_WAIT_RUNNING].v;
	struct coati_ledger l = { 0 };
	double ns, nr;

	for (size_t i = 0; i < c->t->threads.len; i++)
		coati_ledger_range(&c->t->threads.v[i], c->t->threads.v[i].begin,
				   c->t->threads.v[i].end, &l);
	ns = (double)l.parts[COATI_WAIT_RUNNING];
	nr = (double)(l.samples - l.fault_samples);
	for (size_t i = 0; i < c->list.len; i++)
		if (c->list.v[i].is_slow) {
			ns -= run[i];
			nr -= c->seen[i];
		}
	return nr >= SAMPLES_LEAST && ns > 0 ? nr / ns : 0;
}

/* Those that the host bothers least come first: where it takes time, samples are missing. */
static void set_rate(struct comparison *c)
{
	c->seen_typical = coati_why_mean(c, c->seen, false);
	c->rate = rate_of(c, true);
	if (c->rate <= 0)
		c->rate = rate_of(c, false);
	if (c->rate <= 0)
		c->rate = rate_outside(c);
}

/* ---- rows ---- */

static int by_rank(const void *a, const void *b)
{
	const struct coati_why_row *x = a, *y = b;
	bool rx = x->kind == COATI_WHY_REGION, ry = y->kind == COATI_WHY_REGION;
	bool cx = x->verdict == COATI_WHY_CAUSE, cy = y->verdict == COATI_WHY_CAUSE;

	if (rx != ry)
		return rx ? 1 : -1;
	if (cx != cy)
		return cx ? -1 : 1;
	return x->extra > y->extra ? -1 : x->extra < y->extra;
}

static int make_row(const struct comparison *c, const struct column *col, struct coati_why *w,
		    struct coati_why_row *row)
{
	int r;

	*row = (struct coati_why_row){ .kind = col->kind,
				       .part = col->part,
				       .name = col->name,
				       .waker = COATI_TIMELINE_NONE,
				       .stack = COATI_TIMELINE_NONE,
				       .hog = COATI_TIMELINE_NONE,
				       .hog_thread = COATI_TIMELINE_NONE,
				       .slow = coati_why_mean(c, col->v, true),
				       .typical = coati_why_mean(c, col->v, false) };
	row->extra = row->slow - row->typical;
	r = coati_why_judge(c, col, w, row);
	if (row->verdict != COATI_WHY_CAUSE || row->kind == COATI_WHY_REGION)
		return r;
	w->nr_causes++;
	return r < 0 ? r : coati_why_blame(c, row);
}

static int make_rows(const struct comparison *c, struct coati_why *w)
{
	struct coati_why_row *rows = coati_alloc_array(c->columns.len, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	w->rows = rows;
	for (size_t i = 0; r == 0 && i < c->columns.len; i++)
		r = make_row(c, &c->columns.v[i], w, &rows[w->nr_rows++]);
	if (r == 0)
		qsort(rows, w->nr_rows, sizeof(*rows), by_rank);
	return r;
}

/* ---- the whole ---- */

static int compare(struct comparison *c, double percent, struct coati_why *w,
		   struct coati_error *err)
{
	int r = gather(c);

	if (r == 0)
		r = fill(c);
	w->nr = (uint32_t)c->list.len;
	c->order = coati_alloc_array(c->list.len + 1, sizeof(*c->order));
	c->slow = coati_alloc_array(c->list.len + 1, sizeof(*c->slow));
	if (r < 0 || !c->order || !c->slow)
		return coati_fail(err, -ENOMEM, "out of memory");
	if (c->list.len) {
		w->threshold = divide(c, percent, false);
		count(c, w);
		w->machine = machine_share(c, w);
	}
	if (w->machine > 0.5) {
		w->without_cpu = 1;
		w->threshold = divide(c, percent, true);
		count(c, w);
	}
	set_rate(c);
	if (w->nr_slow && w->nr_typical)
		r = make_rows(c, w);
	if (r == 0)
		r = coati_why_answer(c, w);
	return r < 0 ? coati_fail(err, r, "out of memory") : 0;
}

static void fini(struct comparison *c)
{
	for (size_t i = 0; i < c->columns.len; i++)
		coati_free(c->columns.v[i].v);
	ARRAY_FINI(&c->columns);
	ARRAY_FINI(&c->list);
	coati_free(c->rows);
	coati_map_fini(&c->regions);
	coati_free(c->order);
	coati_free(c->slow);
	coati_free(c->seen);
}

int coati_timeline_why(const struct coati_timeline *t, uint32_t type, double percent,
		       struct coati_why **ret, struct coati_error *err)
{
	struct comparison c = { .t = t, .type = type, .list.max = INSTANCES_MAX };
	struct coati_why *w;
	int r;

	if (!t || type >= t->types.len || !ret || !(percent >= 50 && percent < 100))
		return coati_fail(err, -EINVAL, "no such type, or not 50 to 100 percent");
	if (t->kept && (!t->kept->for_why || t->kept->name != t->types.v[type].name))
		return coati_fail(err, -EINVAL, "instances of another type were kept");
	w = coati_alloc(sizeof(*w));
	if (!w)
		return coati_fail(err, -ENOMEM, "out of memory");
	c.columns.max = COATI_PART_COUNT + 1 + REGIONS_MAX;
	coati_map_init_strings(&c.regions, REGIONS_MAX);
	w->name = t->types.v[type].name;
	w->seen = w->stolen = -1;
	r = compare(&c, percent, w, err);
	fini(&c);
	if (r < 0)
		coati_why_free(&w);
	else
		*ret = w;
	return r;
}

void coati_why_free(struct coati_why **why)
{
	if (*why)
		coati_free((void *)(uintptr_t)(*why)->rows);
	coati_free(*why);
	*why = NULL;
}
