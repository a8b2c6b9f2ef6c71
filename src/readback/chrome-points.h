/* SPDX-License-Identifier: MIT */
/* Live events of a Chrome trace, counted: slices nest, pairs have two ends. */
#pragma once

#include <stdint.h>

#include "readback/tally.h"

/* An event as far as it is counted. */
struct chrome_point {
	char phase, scope; /* 0: not said */
	int64_t pid, tid;
	uint64_t time, duration;
	uint64_t category, id; /* hashes */
};

struct chrome_points;
/* NULL: no memory. */
struct chrome_points *coati_chrome_points_new(void);
void coati_chrome_points_free(struct chrome_points *p);
/* -ENOMEM; -EBADMSG: slices cross, or an end has no begin. */
int coati_chrome_point(struct chrome_points *p, const struct chrome_point *e);
/* The sums; -EBADMSG: a begin has no end. */
int coati_chrome_points_end(struct chrome_points *p, struct tally *t);
