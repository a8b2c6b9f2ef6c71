/* SPDX-License-Identifier: MIT */
/* Tables over some seconds of the model: who used how much, by function, thread, label and so
 * on. */
#pragma once

#include "cli/top/model.h"

enum top_by {
	TOP_BY_FUNCTION = 0,
	TOP_BY_IMAGE,
	TOP_BY_THREAD,
	TOP_BY_PROCESS,
	TOP_BY_SERVICE, /* cgroup */
	TOP_BY_LABEL,
	TOP_BY_TASK,
	TOP_BY_WAIT,
	TOP_BY_COUNT,
};
/* "function" ...; NULL: no such. */
const char *coati_top_by_name(enum top_by by);

enum top_mode { TOP_ON_CPU = 0, TOP_OFF_CPU, TOP_BOTH, TOP_MODE_COUNT };
enum top_sort { TOP_SORT_SELF = 0, TOP_SORT_TOTAL, TOP_SORT_NAME, TOP_SORT_COUNT };

/* What one row stands for, in a form that outlives the row: strings are copied. */
struct top_pick {
	bool is_on;
	enum top_by by;
	char name[TOP_TEXT_MAX + 1], path[TOP_TEXT_MAX + 1], label[TOP_TEXT_MAX + 1];
	int32_t pid, tid;
};

struct top_query {
	uint64_t from, to; /* seconds; both are in it */
	enum top_mode mode;
	enum top_by by;
	const char *label;	     /* BY_LABEL: the key */
	const char *filter;	     /* part of the name, in any case; NULL or "": all */
	const struct top_pick *pick; /* entries of this row alone; NULL: all */
	enum top_sort sort;
	bool reverse;
};

struct top_row {
	const char *name; /* lives until the model is trimmed */
	const char *image, *path;
	int32_t pid, tid; /* -1: none */
	uint32_t key;	  /* of functions, images, threads: their number */
	uint32_t flags;	  /* TOP_FRAME_* of functions */
	uint64_t self, total, self_count, total_count;
	uint64_t before; /* coati_top_rows_compare(): total in the seconds before */
};

struct top_rows {
	ARRAY(struct top_row) rows; /* those that the filter lets through */
	uint64_t weight, count;	    /* of all, without the filter */
	uint64_t before;	    /* of the seconds before */
	size_t nr_all;		    /* rows without the filter */
};

/* Rows by self and total are the same where a row is no frame. -ENOMEM. */
int coati_top_rows(const struct top_model *m, const struct top_query *q, struct top_rows *ret);
/* The same, with what the seconds of @before had; sorted by how much the share has changed. */
int coati_top_rows_compare(const struct top_model *m, const struct top_query *q,
			   const struct top_query *before, struct top_rows *ret);
void coati_top_rows_fini(struct top_rows *rows);

/* The second before @before whose weight rises most over the ten seconds before it; 0: none. */
uint64_t coati_top_spike(const struct top_model *m, enum top_mode mode, uint64_t before);

void coati_top_pick_row(struct top_pick *pick, const struct top_query *q,
			const struct top_row *row);
/* Whether an entry is part of what was picked. */
bool coati_top_picks(const struct top_model *m, const struct top_pick *pick,
		     const struct top_entry *e);

/* The weight on each stack of the model in those seconds (an array of m->stacks.len). */
struct top_weight {
	uint64_t weight, count;
};
int coati_top_stack_weights(const struct top_model *m, const struct top_query *q,
			    struct top_weight **ret);

/* Latencies of the task types that ended in those seconds. */
struct top_task {
	const char *type;
	uint64_t count, p50, p90, p99, max; /* ns; upper bounds of buckets of 3 % */
};
typedef ARRAY(struct top_task) top_tasks;
int coati_top_tasks(const struct top_model *m, uint64_t from, uint64_t to, top_tasks *ret);
