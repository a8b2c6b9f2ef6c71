/* SPDX-License-Identifier: MIT */
/*
 * What a summary keeps of the instances of one type, and of what is around them, so that
 * coati_timeline_why() and coati_timeline_slowest() answer as if everything had been kept: some
 * bytes for each instance and region, and three words for each task. Numbers are written one behind
 * the other, as differences from those before, and can only be read in that order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "trace/timeline-parts.h"

struct kept_instance {
	uint64_t begin, end;
	uint64_t id, parent; /* of a task */
	int32_t pid;
	uint32_t number; /* of a task, in the order in which they began; of a region: 0 */
	uint32_t thread; /* of a region, or NONE */
	uint32_t flags;	 /* COATI_TIMELINE_OPEN_* */
	uint32_t nr_gaps;
	struct coati_ledger ledger;
};

/* Time in which no thread worked on a task: it waited for this thread. */
struct kept_gap {
	uint64_t from, to;
	uint32_t thread;
};

struct kept_region {
	uint64_t begin, end;
	uint64_t order; /* in which they were reported */
	uint32_t thread, type;
};

struct kept_task {
	uint64_t id, end;
	uint32_t type;
};

struct kept_log {
	struct strbuf bytes;
	uint64_t nr;
	struct kept_instance last;
};

struct kept {
	const char *name;	 /* of the type, a text of the timeline */
	bool for_why;		 /* or else instances are kept alone */
	struct kept_log logs[2]; /* instances: tasks, regions of this name */
	struct strbuf gaps;	 /* of the tasks, in the same order */
	struct strbuf regions;	 /* all of them, as they end */
	struct kept_region last;
	uint64_t last_gap;
	ARRAY(struct kept_task) tasks; /* all of them, by number */
};

/* NULL: no memory. */
struct kept *coati_kept_new(const char *name, bool for_why);
/* *k becomes NULL; NULL in it is fine. */
void coati_kept_free(struct kept **k);
/* Failures of these are seen by coati_kept_failed() alone. */
void coati_kept_add_instance(struct kept *k, const struct kept_instance *in);
void coati_kept_add_gap(struct kept *k, const struct kept_gap *gap);
void coati_kept_add_region(struct kept *k, const struct kept_region *g);
/* 0, -ENOMEM, -E2BIG. */
int coati_kept_failed(const struct kept *k);

/* Where reading goes on; start with zeros. */
struct kept_pos {
	size_t at, gap_at;
	struct kept_instance last;
	struct kept_region last_region;
	uint64_t last_gap;
};
/* The next instance; its gaps, nr_gaps times, before the one behind it, or of no instance. False at
 * the end. */
bool coati_kept_next(const struct kept *k, bool is_region, struct kept_pos *pos,
		     struct kept_instance *ret);
void coati_kept_gap_next(const struct kept *k, struct kept_pos *pos, struct kept_gap *ret);
bool coati_kept_region_next(const struct kept *k, struct kept_pos *pos, struct kept_region *ret);
