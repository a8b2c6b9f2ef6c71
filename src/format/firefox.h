/* SPDX-License-Identifier: MIT */
/* What the parts of the Firefox format share: tables, threads and files in firefox.c, the profile's own description and the markers in firefox-meta.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "format/stacktree.h"
#include "format/timeline.h"

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
	uint64_t interval_ns;  /* the profile begins that much before the first sample */
	uint64_t last_loss_ns; /* in the profile's time; 0: there is none */
	bool is_time;	       /* weights are nanoseconds */
};

/* How far samples are apart where the machine is busy: what one stands for, or a millisecond. */
uint64_t coati_firefox_interval_ns(const struct firefox *x);
uint64_t coati_firefox_last_loss_ns(const struct firefox *x);
void coati_firefox_meta(struct firefox *x);
/* Behind all other strings. */
void coati_firefox_marker_names(struct firefox *x);
/* The table of a thread; @all: the one that has them. */
void coati_firefox_markers(struct firefox *x, bool all);
/* The reader of struct format. */
int coati_firefox_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
