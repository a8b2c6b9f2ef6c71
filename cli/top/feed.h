/* SPDX-License-Identifier: MIT */
/*
 * From recordings to the model: a recording that is being made comes in as it grows, or a whole one
 * at once; its samples, with the names of their stacks, go into the model. Labels and task types of
 * live events come some seconds behind the samples that they are about: those are labeled when it
 * is known.
 */
#pragma once

#include <coati/profile.h>
#include <coati/trace.h>

#include "base/array.h"
#include "cli/top/model.h"
#include "reading/follow.h"
#include "reading/hooks.h"

struct top_feed {
	struct top_model *model;
	struct coati_profile *profile; /* of the recording at hand */
	struct coati_follow *follow;
	struct coati_contexts *live;
	struct coati_contexts *contexts; /* of a whole recording */
	bool no_inline;
	const struct coati_filter *filter; /* of whole recordings, or NULL */
	bool has_live;			   /* live events were seen */
	bool is_whole;			   /* labels are known at once */
	uint64_t first_ns;		   /* of all samples */
	uint64_t from_ns;		   /* tasks that ended before this are of no interest */
	const char *unit;		   /* of the weights; NULL: nothing yet */
	ARRAY(struct coati_profile_sample) pending;
	ARRAY(uint32_t) stacks[2]; /* of the profile to those of the model: on, off the CPUs */
	ARRAY(uint32_t) threads;
	struct map labels; /* by thread and label set of the profile */
	int failed;	   /* -ENOMEM in a callback */
};

int coati_top_feed_init(struct top_feed *f, struct top_model *m, bool no_inline,
			struct coati_error *err);
void coati_top_feed_fini(struct top_feed *f);

/* Follow the recording in @fd, which is taken over, from now on. The one before is ended first. */
int coati_top_feed_begin(struct top_feed *f, int fd, struct coati_images *images,
			 const struct coati_follow_opts *opts, struct coati_error *err);
/* What is new. -ENOMEM, -EBADMSG. */
int coati_top_feed_take(struct top_feed *f);
/* The recording has ended: the rest of it. */
int coati_top_feed_end(struct top_feed *f);
/* And so have all live events. */
int coati_top_feed_finish(struct top_feed *f);
/* A whole recording. @fn may be NULL. */
int coati_top_feed_file(struct top_feed *f, const char *path, coati_progress_fn fn, void *ctx,
			struct coati_error *err);
/* Sums that @fill puts into the profile @p, from a database: they become one second. */
typedef int (*top_fill_fn)(void *ctx, struct coati_profile *p, struct coati_error *err);
int coati_top_feed_sums(struct top_feed *f, top_fill_fn fill, void *ctx, struct coati_error *err);

/* Numbers of the model have changed. */
void coati_top_feed_forget(struct top_feed *f);
/* How far the labels of samples are behind @now_ns; 0: there are no live events. */
uint64_t coati_top_feed_lag(const struct top_feed *f, uint64_t now_ns);
