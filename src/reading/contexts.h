/* SPDX-License-Identifier: MIT */
/* What samples belong to: see contexts.c, and context-samples.c for those that programs took of
 * themselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>
#include <coati/trace.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "live-read/reader.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/steps.h"

/* Labels for the samples of a profile, from the live events of the same recording: those that the
 * thread had at that time, besides them "task", the type of the task that it worked on, and
 * "region", the names of the regions that were open with " > " between, the outermost first.
 * Ranges, which are written when they are over, are none of these. A label of the program's own
 * with one of these names wins. Recordings are walked once more for it, which a stream cannot be:
 * -EOPNOTSUPP. */
struct coati_contexts;

struct coati_context_source;

int coati_contexts_new(struct coati_contexts **ret, struct coati_error *err);

/* Behind the profile that uses it. *c becomes NULL. */
void coati_contexts_free(struct coati_contexts **c);

/* For coati_profile_hooks.contexts. */
const struct coati_context_source *coati_contexts_source(const struct coati_contexts *c);

/* The same without labels for the kernel's samples, which only a second walk can tell: those
 * alone that programs took of themselves, with theirs. Streams have them, too. */
const struct coati_context_source *coati_contexts_samples(const struct coati_contexts *c);

/* Samples that programs took of themselves, without labels: for readers that want addresses alone,
 * at a fraction of the cost. */
const struct coati_context_source *coati_contexts_bare(const struct coati_contexts *c);

#define DEPTH_MAX 256 /* nested regions that are kept apart */

/* Labels as a sample gets them. */
struct state {
	const struct coati_label *labels;
	uint32_t nr;
};

struct context_thread {
	struct steps steps;
	uint64_t task;	  /* that it works on, 0: none */
	const char *type; /* of it, "" for none */
	const char *regions[DEPTH_MAX];
	uint32_t nr_regions;
	const struct coati_label *labels;
	uint32_t nr_labels;
	const char *labels_key; /* the same for the same set */
	const char *name;	/* that the program gave it, or NULL */
};

struct coati_contexts {
	struct coati_context_source source;
	struct coati_live_reader *trace; /* while a recording is walked */
	ARRAY(struct context_thread *) threads;
	ARRAY(struct state) states; /* 0 is empty */
	struct map thread_index, task_index, state_index, strings;
	struct arena arena;
	struct strbuf text;
	uint64_t last_time;	  /* of events that were fed while a program runs */
	bool is_now;		  /* of each thread only the last step is kept */
	struct map process_names; /* of is_now: what processes call themselves, or are called */
	/* what samples are read with, which programs took of themselves, besides those of others;
	 * NULL: nothing so far */
	struct coati_contexts *now;
	struct coati_context_source samples; /* these alone */
	struct coati_context_source bare;    /* and without labels */
	/* of @now: events that the trace gave, and how many of them were looked at */
	const struct coati_trace_event *const *events;
	int nr_events, at;
};

/* For a recording: after forget(). -ENOMEM. */
int coati_contexts_begin(struct coati_contexts *c);
void coati_contexts_forget(struct coati_contexts *c);
/* What the event changes. -ENOMEM, -E2BIG. */
int coati_contexts_event(struct coati_contexts *c, const struct coati_trace_event *e);
/* The thread is from this time on in the state that its fields say. -ENOMEM, -E2BIG. */
int coati_contexts_step(struct coati_contexts *c, struct context_thread *t, uint64_t time);
/* The thread of an event, which is new or not; NULL: no memory. */
struct context_thread *coati_contexts_thread(struct coati_contexts *c,
					     const struct coati_trace_event *e);
/* A copy that lives until the next recording, the same for the same text; NULL: no memory. Ends at
 * a zero byte. */
const char *coati_contexts_text(struct coati_contexts *c, const struct coati_trace_text *t);

/* The callbacks of a source, with the contexts as ctx. */
int coati_contexts_feed(void *ctx, const void *batch, size_t size, uint64_t where);
int coati_contexts_next(void *ctx, struct coati_context_sample *ret);
int coati_contexts_next_bare(void *ctx, struct coati_context_sample *ret);
void coati_contexts_account(void *ctx, struct coati_context_account *ret);
void coati_contexts_free_now(struct coati_contexts *c);
