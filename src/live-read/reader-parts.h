/* SPDX-License-Identifier: MIT */
/*
 * The inside of struct coati_live_reader. Batches are copied and wait in their generation
 * (feed.c) until it is complete; then they are queued in the stream of their thread, and the
 * streams (streams.c) are merged by time (merge.c, heap.h). Each event is made ready (event.c; the
 * common ones some ahead: ahead.c) against what its process has open (state.c).
 *
 *	trace -> processes -> generations -> batches (struct held), strings, stacks -> streams: one
 *	                   for each thread and slot, and two for what is reported about others
 */
#pragma once

#include <coati/trace.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/map.h"
#include "live-read/clock.h"
#include "live-read/reader.h"
#include "live-read/tables.h"
#include "record/live-decode.h"

struct generation;

/* A batch that waits for its turn. */
struct held {
	struct held *next; /* of its generation */
	struct generation *generation;
	struct live_view view;
	uint64_t where, order, begin_ns;
	bool queued;  /* in a stream, or was */
	bool refused; /* there were too many of those */
	uint8_t bytes[];
};

struct generation {
	uint64_t number;
	struct process *process;
	struct generation *next_done; /* of those of which everything was given out */
	bool is_done;		      /* it is one of them */
	struct held *first, **last;
	bool ended, complete;
	bool scanned;	 /* all strings and stacks in it are known */
	uint32_t queued; /* batches in streams that are not through */
	struct live_table table;
};

/* The begin in units of the writer's clock is what tells a region from all others of its thread:
 * every telling of it has the same. */
struct open_region {
	const struct coati_trace_site *site;
	uint64_t began_ns, began_units;
};

/* Slots of streams for reports about others; threads have 0 and 1. */
#define SLOT_STATUS 0xfffe
#define SLOT_LOSS   0xfffd

struct stream {
	struct process *process;
	uint32_t tid;
	uint16_t slot;
	/* what waits */
	ARRAY(struct held *) queue;
	size_t at;		       /* in the queue: the batch that is read */
	struct generation *generation; /* of that batch */
	struct live_walk walk;
	struct live_clock clock;
	struct live_event event;	/* the next one, if none is ready */
	uint64_t time;			/* of that, or of the last that is ready, in ns */
	struct coati_trace_event blank; /* what all events of the batch have in common */
	bool plain; /* a region needs nothing else than the blank: see coati_trace_settle_plain() */
	/* what is ready to be given out: see ahead.c */
	struct coati_trace_event *ready; /* AHEAD of them, and one behind the last; or NULL */
	struct coati_trace_event *next, *end;
	uint64_t *
		/* behind the ready ones: of those that end a region, when it began, in units */
		began;
	const uint8_t *first_at; /* where the first of them begins, */
	uint64_t first_time;	 /* and what its time counts from */
	uint64_t stale;		 /* bits of them: not blank */
	bool in_heap;
	bool unsorted; /* something was put behind what waits */
	uint64_t gap;  /* batches that are missing before the next event, not reported yet */
	/* what is known */
	bool seen;
	uint32_t news; /* flags of its next event */
	uint32_t seq;  /* that should come next */
	uint64_t last_generation;
	uint64_t task;
	ARRAY(struct open_region) regions;
	uint64_t deeper; /* open beyond the ceiling: counted only */
	uint32_t told;	 /* regions repeated by the batch that is read */
	bool telling;
};

/* So many events of a stream are made ready at once. */
#define AHEAD 64u
/* When there are more streams than this, one that begins has nothing made ready: it takes 12 KB. */
#define MANY 256u
/* So few streams are not kept in a heap. */
#define FEW 8u

/* A stream in the heap, with the time of its next event. */
struct waiting {
	uint64_t time;
	struct stream *stream;
};

struct open_task {
	uint64_t id, parent, began_ns;
	const struct coati_trace_site *site;
	uint32_t tid;
};

struct open_resource {
	uint64_t type, id;
	uint64_t began_ns, since_ns;
	uint32_t state;
};

struct process {
	uint32_t pid;
	bool after; /* another one had its number before, and nothing of this one was shown yet */
	bool over;  /* nothing more comes: it has ended, or another one has its number now */
	uint64_t start; /* as it reported, 0 not yet */
	struct live_names names;
	struct clock_base clock;
	struct coati_live_process info;
	ARRAY(struct generation *) generations; /* by number */
	uint64_t newest;			/* complete generation */
	uint64_t mark_ns;			/* when that one was ended */
	uint64_t settled_ns;	     /* the same of the one before: nothing comes that is earlier */
	uint64_t left_out;	     /* generation of the last event that was: see clip.c */
	uint64_t pending;	     /* batches in streams of generations before that */
	struct map streams;	     /* tid and slot -> pointer */
	size_t sweep_at;	     /* streams before those that have ended are looked for */
	struct map tasks, resources; /* -> pointer */
	struct open_task *spare;     /* memory of the last one that ended, or NULL */
};

struct coati_live_reader {
	uint64_t max_bytes;
	ARRAY(struct process *) processes;
	struct map by_pid;
	uint64_t nr_idle; /* processes of which nothing waits: something may come */
	uint64_t idle_ns; /* of these: nothing comes that is earlier */
	bool idle_known;
	struct generation *done; /* see coati_trace_release() */
	struct limits limits;
	uint64_t nr_streams, max_streams, max_processes;
	ARRAY(struct waiting) heap; /* see merge.c */
	size_t top;		    /* the earliest in it */
	bool finished, forcing;
	bool certain; /* nothing has changed since no process could send anything earlier */
	uint64_t order, last_ns;
	/* of the event that was given out last, or one of an open batch */
	struct generation *current;
	struct coati_trace_event shown; /* the last one that was not ready ahead */
	/* what comes next for certain, in order: see merge.c */
	struct coati_trace_event *list[FEW * AHEAD];
	uint32_t listed, given;
	/* the one on top, when nothing of it is ready any more and the next was not looked for */
	struct stream *due;
	uint64_t stack[LIVE_STACK_MAX];
	ARRAY(struct coati_live_opened) open; /* for the last who asked */
	/* what was open at from_ns and the first event behind it: see clip.c. from_ns 0: no
	 * more */
	uint64_t from_ns;
	uint64_t to_ns; /* UINT64_MAX: all */
	ARRAY(struct coati_trace_event) kept;
	size_t kept_at;
	const struct coati_trace_event *kept_now;
	struct coati_trace_quality quality;
	struct coati_error damage;
};

/* feed.c */
/* Count what is malformed, and keep the first sentence. */
void coati_trace_damaged(struct coati_live_reader *t, const struct held *h, uint32_t offset,
			 const char *why);
/* More than the limit: counted as damage, and the first is reported. */
void coati_trace_over(struct coati_live_reader *t, enum limit which, uint64_t limit);
/* Everything of the generation was given out: it is freed by the next release(). */
void coati_trace_done(struct coati_live_reader *t, struct generation *g);
/* Free those generations, but the current one. */
void coati_trace_release(struct coati_live_reader *t);
/* So many more batches wait, of generations before the newest; and one less. */
void coati_trace_pending(struct coati_live_reader *t, struct process *p, uint64_t more);
void coati_trace_taken(struct coati_live_reader *t, struct process *p);
/* Learn all strings and stacks of a generation: those that stand behind their first use, too. */
int coati_trace_scan(struct coati_live_reader *t, struct process *p, struct generation *g);

/* streams.c */
void coati_trace_stream_free(struct stream *s);
/* The stream of a thread. -ENOMEM, -E2BIG: too many. */
int coati_trace_stream(struct coati_live_reader *t, struct process *p, uint64_t key,
		       struct stream **ret);
/* When there are many, or the process is over: free those of threads that are gone, for which
 * nothing waits, nothing is open and nothing came for some generations. */
void coati_trace_sweep(struct coati_live_reader *t, struct process *p);

/* heap.c */
/* Room for a few, behind which there is nothing. -ENOMEM. */
int coati_trace_heap_init(struct coati_live_reader *t);

/* merge.c */
/* Put the batches of a generation into their streams. */
int coati_trace_queue(struct coati_live_reader *t, struct process *p, struct generation *g);
/* One batch that came after its generation was queued. */
int coati_trace_queue_late(struct coati_live_reader *t, struct process *p, struct held *h);
/* Whatever is listed and was not given out is ready again. */
void coati_trace_unlist(struct coati_live_reader *t);

/* What comes next, whenever it was. */
int coati_trace_next_of_all(struct coati_live_reader *t, const struct coati_trace_event **ret);

/* clip.c */
/* The next event while some must be left out, or were: as coati_live_reader_next(). */
int coati_trace_next_clipped(struct coati_live_reader *t, const struct coati_trace_event **ret);

/* event.c */
/* Prepare what all events of a batch have in common. */
void coati_trace_blank(struct stream *s, const struct held *h);
/* Whether regions of @s may be shown without a look at what all this is for: see ahead.c. */
void coati_trace_settle_plain(struct stream *s);
/* The next event of @s as it is shown: 1, 0 when there is nothing to show, negative. */
int coati_trace_show(struct coati_live_reader *t, struct stream *s, struct coati_trace_event *ret);
/* What the kinds have of their own. */
int coati_trace_show_kind(struct coati_live_reader *t, struct stream *s,
			  const struct live_event *raw, struct coati_trace_event *e);
/* The stack that came behind it. */
void coati_trace_show_stack(struct coati_live_reader *t, struct stream *s,
			    const struct live_event *e, struct coati_trace_event *ret);
/* ahead.c */
/* Make the next events of @s ready that need nothing but @s: false when there is none. Nothing
 * may be ready, or wait in s->event.  Hot. */
bool coati_trace_ahead(struct coati_live_reader *t, struct stream *s);
void coati_trace_ahead_free(struct stream *s);
/* The other way: what is ready and was not given out waits in s->event again, and behind it. */
void coati_trace_take_back(struct stream *s);
/* The same of all threads. */
void coati_trace_take_all_back(struct coati_live_reader *t);
/* state.c: each changes what is open, and completes @e */
void coati_trace_forget(struct stream *s);
int coati_trace_region_begin(struct stream *s, struct coati_trace_event *e);
void coati_trace_region_end(struct stream *s, struct coati_trace_event *e);
/* @began: in units of the clock. */
int coati_trace_region_again(struct stream *s, uint64_t depth, uint64_t began,
			     struct coati_trace_event *e);
void coati_trace_regions_told(struct stream *s);
int coati_trace_task_begin(struct process *p, struct coati_trace_event *e);
void coati_trace_task_end(struct process *p, struct coati_trace_event *e);
int coati_trace_resource(struct process *p, struct coati_trace_event *e);
void coati_trace_state_free(struct process *p);
