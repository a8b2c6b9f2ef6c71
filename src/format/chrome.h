/* SPDX-License-Identifier: MIT */
/* What the parts of Chrome's format share. */
#pragma once

#include <stdint.h>

#include "base/json-read.h"
#include "base/json.h"
#include "format/stacktree.h"
#include "format/timeline.h"

#define CHROME_DECIMALS 3 /* nanoseconds as microseconds */
/* Tracks of samples beside a thread have numbers from here on, above those of threads. */
#define CHROME_OWN_TRACK (1 << 30)

struct chrome {
	struct format_input *in;
	struct format_output *out;
	struct json json;
	struct timeline timeline;
	struct stacktree tree; /* of functions */
	uint32_t *frames;      /* a frame of each function */
};

/* An object that is an event, up to what not all have. */
static inline void chrome_begin_event(struct json *j, const char *phase, const char *name,
				      int32_t pid, int32_t tid)
{
	coati_json_object(j);
	coati_json_kstr(j, "ph", phase);
	coati_json_kstr(j, "name", name);
	coati_json_ki64(j, "pid", pid);
	coati_json_ki64(j, "tid", tid);
}

/* The samples as slices of their threads, as items of the array that is open. -ENOMEM. */
int coati_chrome_slices(struct chrome *x);
/* Live events, as items of the array that is open. */
void coati_chrome_live(struct json *j, const struct timeline *t, struct format_output *out);

/* The reader of struct format. */
int coati_chrome_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);

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
