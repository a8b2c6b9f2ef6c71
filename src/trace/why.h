/* SPDX-License-Identifier: MIT */
/* Slow and typical instances of a type, as numbers: a column for each thing that time can be spent on, a line for each instance. */
#pragma once

#include "trace/timeline.h"

/* One task, or region of a thread. */
struct instance {
	uint64_t begin, end;
	uint64_t own;	 /* without waiting for a CPU */
	uint32_t number; /* of the task, or NONE */
	uint32_t thread; /* of the region, or NONE */
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

struct comparison {
	const struct coati_timeline *t;
	uint32_t type;
	ARRAY(struct instance) list;
	ARRAY(struct column) columns;
	struct map of_task; /* instance of a task */
	struct map regions; /* column of a region's name */
	struct rank *order; /* all of them, the shortest first */
	double *seen;	    /* samples of each instance outside of page faults */
};

static inline bool why_is_machine(uint32_t part)
{
	return part == COATI_WAIT_RUNNABLE || part == COATI_WAIT_PREEMPTED ||
	       part == COATI_PART_IRQ;
}

/* The mean over the slow ones, or the typical ones. */
double coati_why_mean(const struct comparison *c, const double *v, bool slow);
/* Set the interval, the tail and the verdict of a row whose means are known. -ENOMEM. */
int coati_why_judge(const struct comparison *c, const struct column *col, struct coati_why *w,
		    struct coati_why_row *row);
/* The mean that the last @share of @sorted would have if the distribution went on as it does in its body. Negative: the body cannot say. */
double coati_why_tail(const double *sorted, size_t nr, double share);
/* Is there a valley before @upto, behind which there are more of @sorted again? */
bool coati_why_valley(const double *sorted, size_t nr, double upto);

/* The waker that ended most of the waiting of the slow ones for @row's part, or the stack with which they were seen most. -ENOMEM. */
int coati_why_blame(const struct comparison *c, struct coati_why_row *row);
