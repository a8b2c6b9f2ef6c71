/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses over time (mappings of a process, code made at run time): they come in with
 * the time from which they hold, in any order; what lies at an address at a time goes out. The
 * latest range that covers an address and is not later than the question wins; of two with the same
 * time the one that was added last. A range ends only by another one over it (RANGE_HOLE: by
 * nothing).
 *
 * Kept as a log by time and painted copies of it ("checkpoints") at some places. A question takes
 * the last checkpoint before its time and the few ranges that came between: so the memory grows
 * with the number of ranges, and not with its square. What is added late goes to a small heap of
 * its own that is sorted in when it has grown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define RANGE_HOLE UINT32_MAX

/* A range, or the part of one that is seen: start and offset move together. */
struct range {
	uint64_t start, end; /* start < end */
	uint64_t offset;     /* of start in what it is a range of */
	uint64_t time;	     /* from when */
	uint32_t id;	     /* what it is; RANGE_HOLE: nothing any more */
	uint32_t bits;	     /* the owner's */
};

struct range_list {
	struct range *v;
	size_t len, cap, max;
};

struct range_checkpoint {
	size_t pos;	 /* covers log[0, pos) */
	struct range *v; /* by address, disjoint */
	size_t nr;
};

/* What is seen at the newest time (ranges-now.c). */
struct ranges_now {
	struct range_block **v; /* by address */
	size_t nr;
	bool is_made; /* else it is not kept */
};

struct ranges {
	struct ranges_now now;
	struct range_list log;	/* by time */
	struct range_list late; /* added after a later one: in the order they came */
	ARRAY(struct range_checkpoint) checkpoints;
};

void coati_ranges_init(struct ranges *s);
void coati_ranges_fini(struct ranges *s);
/* 1 when it was added late, 0 when nothing added so far is later; -ENOMEM, after which nothing has
 * changed. */
int coati_ranges_add(struct ranges *s, const struct range *r);
/* What is at @addr at @time, cut to the part around @addr in which the answer is the same and that
 * *@ret (start, end) allows: 1 (perhaps a hole), or 0 when nothing is known and *ret's start and
 * end are narrowed to where that is so. Without memory for a checkpoint it only takes longer. */
int coati_ranges_find(struct ranges *s, uint64_t addr, uint64_t time, struct range *ret);
/* How many ranges hold at @time, and the interval [from, to) in which these are the same. */
uint32_t coati_ranges_position(const struct ranges *s, uint64_t time, uint64_t *ret_from,
			       uint64_t *ret_to);
/* All that is seen at @time, holes too, by address; the caller frees *ret with coati_free().
 * -ENOMEM. */
int coati_ranges_view(struct ranges *s, uint64_t time, struct range **ret, size_t *ret_nr);
/* Move all that is later than @time to @to, which is empty. -ENOMEM, after which nothing has
 * changed. */
int coati_ranges_split(struct ranges *s, uint64_t time, struct ranges *to);
/* Keep of what is not later than @time only what is seen then. How many ranges went, or -ENOMEM. */
int64_t coati_ranges_forget(struct ranges *s, uint64_t time);
/* Put @v (by address, disjoint) below all that is there, with time 0. -ENOMEM. */
int coati_ranges_put_below(struct ranges *s, const struct range *v, size_t nr);

/* ranges-now.c, for ranges.c. Whether there was memory; else it has to be dropped. */
bool coati_ranges_now_make(struct ranges_now *n, const struct range *v, size_t nr);
bool coati_ranges_now_add(struct ranges_now *n, const struct range *m);
/* As coati_ranges_find() at the newest time. */
int coati_ranges_now_find(const struct ranges_now *n, uint64_t addr, struct range *ret);
void coati_ranges_now_drop(struct ranges_now *n);

/* The pieces of @over, and of @under where @over has nothing. @ret has room for 2 * over + under.
 * Returns their number. */
size_t coati_ranges_overlay(struct range *ret, const struct range_list *over,
			    const struct range_list *under);
