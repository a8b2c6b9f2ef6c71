/* SPDX-License-Identifier: MIT */
/*
 * Items of a timeline on their way into order. They come when they end, which is nearly in the
 * order of their begin. A fixed number at a time is sorted and packed as a run, and in the end the
 * runs are merged. Few runs are open at once: one whose first item begins later waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "format/live-pack.h"

struct live_run {
	struct live_pack pack;
	uint64_t first; /* when its first item begins */
};

struct live_runs {
	ARRAY(struct live_item) items; /* since the last run */
	struct arena args;	       /* of these */
	uint32_t *places;	       /* room to sort them */
	ARRAY(struct live_run) runs;
};

/* By begin, those that are around others first, and then as they came. */
int coati_live_compare(const void *a, const void *b);

void coati_runs_init(struct live_runs *r);
void coati_runs_fini(struct live_runs *r);
/* The item as it is now, its arguments too. -ENOMEM. Hot. */
int coati_runs_add(struct live_runs *r, const struct live_item *i);
/* That was the last. -ENOMEM. */
int coati_runs_end(struct live_runs *r);

struct merge_head;

/* All items in order; the runs are empty afterwards. */
struct live_merge {
	struct live_runs *runs;
	struct live_site *const *sites;
	ARRAY(struct merge_head *) heads; /* of runs that are open: a heap, the first on top */
	size_t next;			  /* run that is not open yet */
	bool is_taken;			  /* the item on top was given out */
	bool failed;
};

/* -ENOMEM. */
int coati_merge_init(struct live_merge *m, struct live_runs *r, struct live_site *const *sites);
void coati_merge_fini(struct live_merge *m);
/* NULL: there is no more, or m->failed. Lives until the next call. Hot. */
const struct live_item *coati_merge_next(struct live_merge *m);
