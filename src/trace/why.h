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
	uint64_t *order;    /* of durations; room for all */
};

/* The waker that ended most of the waiting of the slow ones for @row's part, or the stack with which they were seen most. -ENOMEM. */
int coati_why_blame(const struct comparison *c, struct coati_why_row *row);
