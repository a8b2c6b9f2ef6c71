/* SPDX-License-Identifier: MIT */
/* What the parts of the Firefox format share: tables and threads in firefox.c, files in
 * firefox-libs.c, the profile's own description and the markers in firefox-meta.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "format/live-events.h"
#include "format/stacktree.h"
#include "format/timeline.h"
#include "reading/parts.h"

#define FIREFOX_VERSION	  60 /* of the processed profile: from here on tables are shared */
#define FIREFOX_DECIMALS  6  /* nanoseconds as milliseconds */
#define FIREFOX_TABLE_MAX ((size_t)1 << 28)

/* Categories, as they are listed in the description. */
enum firefox_category {
	FIREFOX_OTHER = 0,
	FIREFOX_USER,
	FIREFOX_KERNEL,
};

struct firefox_list {
	uint32_t *v;
	size_t len, cap, max;
};

/* Live events by thread. */
struct firefox_live {
	const struct live *live; /* NULL: there are none */
	struct map index;	 /* file, pid and tid to the thread */
	uint32_t *place; /* by thread: of it in the profile, plus 1; 0: it is not there yet */
	bool failed;	 /* no memory for an item's arguments */
	uint32_t thread; /* whose items are being written, LIVE_NONE: no one's */
};

struct firefox {
	struct format_input *in;
	struct format_output *out;
	struct json json;
	struct timeline timeline;
	struct stacktree tree;				      /* of frames of the view */
	struct firefox_list frames;			      /* those that occur, by place */
	struct firefox_list functions;			      /* a frame of each */
	struct firefox_list images;			      /* numbers of images */
	uint32_t *frame_place, *function_place, *image_place; /* plus 1; 0: does not occur */
	ARRAY(const char *) sources;
	struct map source_index;
	uint32_t thread;   /* whose samples are being written */
	size_t nr_samples; /* of it */
	uint32_t threads_put;
	uint64_t interval_ns;	 /* between two samples, see below */
	uint64_t lead_ns;	 /* the profile begins that much before the first sample */
	uint64_t last_loss_ns;	 /* in the profile's time; 0: there is none */
	uint64_t last_marker_ns; /* of the thread that is being written; 0: there is none */
	struct firefox_live live;
	bool is_time; /* weights are nanoseconds */
};

/* How far samples are apart where the machine is busy: what one stands for, or a millisecond. */
uint64_t coati_firefox_interval_ns(const struct firefox *x);
/* One interval, or what is left of it where a time of a hostile file would overflow: differences of
 * times stay exact. */
uint64_t coati_firefox_lead_ns(const struct firefox *x);

/* A time since the first sample, in the time of the profile. */
static inline uint64_t firefox_time_ns(const struct firefox *x, uint64_t since_ns)
{
	return since_ns + x->lead_ns;
}

/* Of image number @i of the profile; and the list of all. */
const char *coati_firefox_image_name(const struct firefox *x, uint32_t i);
void coati_firefox_libs(struct firefox *x);
uint64_t coati_firefox_last_loss_ns(const struct firefox *x);
void coati_firefox_meta(struct firefox *x);
/* Behind all other strings. */
void coati_firefox_marker_names(struct firefox *x);
/* The table of a thread; @all: the one that has them. */
void coati_firefox_markers(struct firefox *x, bool all);
/* Live events: -ENOMEM. */
int coati_firefox_live_init(struct firefox *x);
void coati_firefox_live_fini(struct firefox *x);
/* The thread that is written next: are live events its own? */
void coati_firefox_live_thread(struct firefox *x, const struct coati_profile_thread *t);
/* The next one that has live events and no samples; false: there is none. */
bool coati_firefox_live_next(struct firefox *x, struct coati_profile_thread *ret);
size_t coati_firefox_live_count(const struct firefox *x);
uint64_t coati_firefox_live_last_ns(const struct firefox *x);
/* Their part of the schema, of the strings (behind @x's loss names), of the columns, and the
 * counters. */
void coati_firefox_live_schema(struct json *j);
void coati_firefox_live_strings(struct firefox *x);
void coati_firefox_live_column(struct firefox *x, const char *key);
void coati_firefox_live_counters(struct firefox *x);
/* The schema of one kind of marker: fields as key, label, format. */
void coati_firefox_schema(struct json *j, const char *name, const char *label,
			  const char *const (*fields)[3], size_t nr);
#define FIREFOX_LOSS_NAMES 3
