/* SPDX-License-Identifier: MIT */
/*
 * Slow and typical instances of a type, as numbers: a column for each thing that time can be spent
 * on, with a value for each instance.
 */
#pragma once

#include "base/search.h"
#include "trace/timeline-parts.h"

#include "reading/wait.h"
#include "trace/timeline.h"

#define WHY_SLOW_LEAST	  5
#define WHY_TYPICAL_LEAST 20
#define WHY_MATTERS	  0.5 /* of what a typical one takes */

/* One task, or region of a thread. */
struct instance {
	uint64_t begin, end;
	uint64_t own;	 /* without waiting for a CPU */
	uint32_t number; /* of the task, or NONE */
	uint32_t thread; /* of the region, or NONE */
	uint32_t row;	 /* of what a summary kept */
	bool is_slow, is_typical;
};

struct rank {
	uint64_t ns;
	uint32_t instance;
};

struct column {
	enum coati_why_kind kind;
	uint32_t part;
	const char *name;
	double *v; /* of each instance */
};

/* Some of the slow ones: numbers of instances. */
struct group {
	const uint32_t *who;
	size_t nr;
};

struct comparison {
	const struct coati_timeline *t;
	uint32_t type;
	ARRAY(struct instance) list;
	ARRAY(struct column) columns;
	struct map regions;  /* column of a region's name */
	uint32_t *rows;	     /* instance of each row of what a summary kept, or NONE */
	struct rank *order;  /* all of them, the shortest first */
	uint32_t *slow;	     /* instances, as many as are slow */
	double *seen;	     /* samples of each instance outside of page faults */
	double seen_typical; /* their mean over the typical ones */
	double rate;	     /* samples in a ns of running; 0: not known */
};

static inline bool why_is_machine(uint32_t part)
{
	return part == COATI_WAIT_RUNNABLE || part == COATI_WAIT_PREEMPTED ||
	       part == COATI_PART_IRQ;
}

static inline bool why_is_whole(uint32_t flags)
{
	return !(flags & (COATI_TIMELINE_OPEN_BEGIN | COATI_TIMELINE_OPEN_END));
}

/* The instance of a task: they are in the order of their numbers. */
static inline bool why_find(const struct comparison *c, uint32_t task, uint32_t *ret)
{
	*ret = (uint32_t)SEARCH(i, 0, c->list.len, c->list.v[i].number < task);
	return *ret < c->list.len && c->list.v[*ret].number == task;
}

static inline uint64_t why_length(const struct instance *i, bool without_cpu)
{
	return without_cpu ? i->own : i->end - i->begin;
}

/* In how many of @nr slow ones a part must stand out to be a cause. */
static inline size_t why_needed(size_t nr)
{
	return nr <= 10 ? 2 : (nr + 4) / 5;
}

/* A new column of zeros. NULL: no memory, or too many. */
struct column *coati_why_add_column(struct comparison *c, enum coati_why_kind kind, uint32_t part,
				    const char *name);
/* The breakdown of an instance into the columns. */
void coati_why_set(struct comparison *c, uint32_t instance, const struct coati_ledger *l);

/* why-kept.c: of what a summary kept: the instances, their breakdowns, regions inside of them.
 * -ENOMEM. */
int coati_why_gather_kept(struct comparison *c);
void coati_why_fill_kept(struct comparison *c);
int coati_why_regions_kept(struct comparison *c);
/* And the region of a task on a thread that why-hog.c asks for, or NULL. */
int coati_why_region_kept(const struct coati_timeline *t, uint32_t thread, uint32_t task,
			  const char **ret);

/* The mean over the slow ones, or the typical ones. */
double coati_why_mean(const struct comparison *c, const double *v, bool slow);
/* Set the interval, the tail and the verdict of a row whose means are known. -ENOMEM. */
int coati_why_judge(const struct comparison *c, const struct column *col, struct coati_why *w,
		    struct coati_why_row *row);
/*
 * The mean that the last @share of @sorted would have if the distribution went on as it does in its
 * body. What is below @floor is as good as nothing. Negative: the body cannot say.
 */
double coati_why_tail(const double *sorted, size_t nr, double share, double floor);
#define WHY_FLOOR 0.02 /* of what a typical one takes */
/* Whether there is a valley before @upto, behind which there are more of @sorted again. */
bool coati_why_valley(const double *sorted, size_t nr, double upto, double floor);
/*
 * Whether a valley divides the body of @sorted, so that the typical ones are of two kinds: the
 * share of all that lies behind it, WHY_MIXED to 1 - WHY_MIXED; 0: there is none.
 */
double coati_why_mixture(const double *sorted, size_t nr);
#define WHY_MIXED 0.25

/*
 * How much of what each of a group has more than @typical of @v the host may have taken, by when it
 * took how much: in @ret, in the order of the group. -ENOMEM.
 */
int coati_why_charge(const struct comparison *c, const double *v, double typical, struct group g,
		     double *ret);

/*
 * The waker that ended most of the waiting of the slow ones for @row's part, the stack with which
 * they were seen most, or the task that the thread worked on for which they waited. -ENOMEM.
 */
int coati_why_blame(const struct comparison *c, struct coati_why_row *row);

/* Of the time that no thread worked on the slow ones: see why-hog.c. -ENOMEM. */
int coati_why_hog(const struct comparison *c, struct coati_why_row *row);

/* The answer to the whole question, of rows that are judged and sorted. -ENOMEM. */
int coati_why_answer(const struct comparison *c, struct coati_why *w);
