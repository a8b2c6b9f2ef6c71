/* SPDX-License-Identifier: MIT */
/*
 * A profile for callers that need every sample or record on its way in, share images with a
 * capture, or add labels and samples from live events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/process.h>
#include <coati/profile.h>
#include <coati/recording.h>

#include "reading/parts.h"

/* context switches are not paired: samples of the event off-cpu count as those of any other */
#define COATI_PROFILE_NO_OFF_CPU (UINT32_C(1) << 2)
/* samples of the event off-cpu-waking count as those of any other */
#define COATI_PROFILE_WAKES (UINT32_C(1) << 3)

/* Locations alone: no stacks, threads, labels or weights. For those who only want to know which
 * addresses occur (coati_profile_resolve()). */
#define COATI_PROFILE_PLACES (UINT32_C(1) << 5)

/* Bins of time are in a list of their own (reading/series.h): entries have none, their bin is 0,
 * and views have no condition about time. For those who compare profiles. */
#define COATI_PROFILE_SERIES (UINT32_C(1) << 6)

/* One sample on its way into the profile: for those who need each time (timelines). Time off a CPU
 * (coati_profile_event.is_off_cpu) comes when it ends: time is when it began, weight how long it
 * was. */
struct coati_profile_sample {
	uint64_t time, weight;
	uint32_t stack, thread, event, labels; /* numbers as in coati_profile_entry */
	int32_t cpu;			       /* -1: not said */
	/* which of the SAMPLE records of its file, as coati_recording_next() gives them, from 0 on;
	 * UINT32_MAX: none, it comes from live events */
	uint32_t number;
	/* 1: time off a CPU up to now, of an interval that is not over; the rest comes later.
	 * Only while a recording is followed: coati_profile_read() gives whole intervals. */
	uint32_t goes_on;
	uint32_t reserved;
};

typedef void (*coati_sample_fn)(void *ctx, const struct coati_profile_sample *sample);

enum coati_loss_kind {
	COATI_LOSS_RECORDS = 0, /* a ring was full: records of any kind before this time */
	/* the lost counts of the events, which come late: samples, those among RECORDS too */
	COATI_LOSS_SAMPLES,
	COATI_LOSS_THROTTLE, /* the kernel slowed the sampling down from here on */
};

/* What the recording says that it lacks, where it says so. */
struct coati_profile_loss {
	uint64_t time;	/* 0: not said */
	uint64_t count; /* THROTTLE: 1 */
	enum coati_loss_kind kind;
	int32_t cpu; /* -1: not said */
};

typedef void (*coati_loss_fn)(void *ctx, const struct coati_profile_loss *loss);

/* Every record, before it is taken: for those who need more of it than a profile does. It lives
 * until the call returns. Negative ends the reading. */
typedef int (*coati_item_fn)(void *ctx, const struct coati_recording *r,
			     const struct coati_recording_item *item);

/* Samples that follow each other and are weight on a stack and nothing else, before the first of
 * them is taken: for an on_item that can look at many at once. */
typedef int (*coati_items_fn)(void *ctx, const struct coati_recording *r,
			      const struct coati_recording_item *items, uint32_t nr);

/* A sample that a program took of itself, from live events: of the event COATI_LIVE_CPU. All of it
 * lives until the next call. */
struct coati_context_sample {
	uint64_t time;	 /* CLOCK_MONOTONIC ns */
	uint64_t weight; /* ns that it stands for */
	int32_t pid, tid;
	/* what the program calls the thread and itself, "": nothing */
	const char *comm, *process_comm;
	/* addresses, innermost first; those of callers are where they go on */
	const uint64_t *frames;
	uint32_t nr_frames, nr_labels;
	const struct coati_label *labels; /* as those of find() */
	uint64_t labels_key;		  /* a number for them, the same for the same; 0: none */
};

/* Live events that are missing. */
struct coati_context_account {
	uint64_t lost;		   /* events that there was no room for */
	uint64_t missing, damaged; /* batches of them */
};

/* Labels of samples that are recorded elsewhere, and samples that programs took of themselves:
 * coati_contexts_new() makes one of live events. */
struct coati_context_source {
	/* A recording will be read: path as for coati_recording_open. Negative: it will not. */
	int (*read)(void *ctx, const char *path, struct coati_error *err);
	/* The labels of a thread at a time; of two with the same key the later one counts. A number
	 * for them, the same for the same; 0: none. They live until the next read().  Hot. NULL: it
	 * has no labels for samples of others. */
	uint64_t (*find)(void *ctx, int32_t pid, int32_t tid, uint64_t time,
			 struct coati_label_list *ret);
	/* Does find() know of any labels in the recording that was read()? NULL: it may. */
	bool (*has_labels)(const void *ctx);
	void *ctx;
	/* A batch of live events as it comes; NULL: all of them were there. -ENOMEM; -E2BIG: it is
	 * left out. NULL: samples that programs took of themselves are not wanted. */
	int (*feed)(void *ctx, const void *batch, size_t size, uint64_t where);
	/* 1 and a sample, 0: no more until the next feed(); -ENOMEM, -E2BIG. */
	int (*next)(void *ctx, struct coati_context_sample *ret);
	void (*account)(void *ctx, struct coati_context_account *ret);
};

/* Zero everything, set what is wanted. */
struct coati_profile_hooks {
	/* Called with each sample, with what the recording says that it lacks, and with each
	 * record. */
	coati_sample_fn on_sample;
	coati_loss_fn on_loss;
	coati_item_fn on_item;
	/* Called in place of on_item with samples that can be taken together, which is several
	 * times faster. NULL: each of them comes to on_item. */
	coati_items_fn on_items;
	void *ctx; /* of these four */
	/* Used in place of images of its own, so that coati_profile_opts.images does not count.
	 * They must outlive the profile. */
	struct coati_images *shared_images;
	/* Must outlive the profile, unless free_contexts is given. The filter's task and region
	 * need it. */
	const struct coati_context_source *contexts;
	void (*free_contexts)(void *ctx); /* called with contexts->ctx by coati_profile_free() */
};

/* What is not there of the live events of its recordings. */
void coati_profile_live_account(const struct coati_profile *p, struct coati_context_account *ret);

/* coati_profile_new() with hooks, which may be NULL. When it fails, contexts stay the caller's. */
int coati_profile_make(const struct coati_profile_opts *opts,
		       const struct coati_profile_hooks *hooks, struct coati_profile **ret,
		       struct coati_error *err);
