/* SPDX-License-Identifier: MIT */
/* What the parts of Chrome's format share. */
#pragma once

#include <stdint.h>

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
/* Live events, as items of the array that is open. -ENOMEM. */
int coati_chrome_live(struct json *j, const struct timeline *t, struct format_output *out);
