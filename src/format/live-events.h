/* SPDX-License-Identifier: MIT */
/*
 * The live events of an export: what programs reported with <coati/live.h>, made ready for formats
 * with a timeline. Begins and ends become slices, states of a resource follow each other, texts are
 * UTF-8 without zeros and terminated. Batches come in while the recording is read. An item is kept
 * as it is while it lasts, and packed when it has ended; at the end all of them are merged in
 * order, cut to the time that was asked for, counted, and packed again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>
#include <coati/trace.h>
#include <coati/recording.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "format/live-counts.h"
#include "format/live-pack.h"
#include "format/live-runs.h"
#include "live-read/reader.h"
#include "reading/condition.h"

#define LIVE_ITEMS_MAX ((size_t)1 << 31)
#define LIVE_SCHED_MAX ((size_t)1 << 31)
#define LIVE_CPUS_MAX  65536

/* What is shown of an event. The first three last; the others are points in time. */
enum live_item_kind {
	ITEM_REGION = 0, /* of a thread; ranges too */
	ITEM_TASK,	 /* id, parent */
	ITEM_STATE,	 /* of a resource: resource, name */
	ITEM_LOG,	 /* name: the text */
	ITEM_INSTANT,	 /* args: its fields */
	/* the thread works on task id from now on; 0: on none. name: of the task's type */
	ITEM_ENTER,
	ITEM_LABELS,  /* args: the whole set from now on */
	ITEM_LOSS,    /* number: how much. name: what of */
	ITEM_COUNTER, /* counter; number, or real */
	ITEM_FLOW,    /* id; number: 0 begin, 1 step, 2 end */
	ITEM_KINDS,
};
#define ITEM_LAST_SLICE ITEM_STATE

/* live_item.flags */
#define ITEM_OPEN_BEGIN	   (UINT32_C(1) << 0) /* it began before what is shown */
#define ITEM_OPEN_END	   (UINT32_C(1) << 1) /* it had not ended, or its end was not recorded */
#define ITEM_CLOCK_UNKNOWN (UINT32_C(1) << 2)
#define ITEM_CUT	   (UINT32_C(1) << 3) /* the text was longer */
#define ITEM_ILLEGAL	   (UINT32_C(1) << 4) /* a transition that the type does not allow */
#define ITEM_IS_REAL	   (UINT32_C(1) << 5) /* of counters: it is the real that counts */
#define ITEM_HANDLER	   (UINT32_C(1) << 6) /* reported by a signal handler */
/* inside: a thread that passes the filter has to do with it */
#define ITEM_WANTED (UINT32_C(1) << 7)

#define LIVE_NONE  UINT32_MAX
#define LIVE_LANES 8 /* slices of one thread that do not nest are spread over so many */

/* Who runs where. */
enum live_sched_kind {
	LIVE_SCHED_IN = 0,
	LIVE_SCHED_OUT,	      /* it waits for something */
	LIVE_SCHED_PREEMPTED, /* it would run on */
	LIVE_SCHED_WAKE,      /* it makes another thread ready to run */
};

struct live_sched {
	uint64_t time;
	uint32_t cpu;
	int32_t tid;
	int32_t other; /* WAKE: who is woken */
	uint8_t kind;
};

/* Those of one CPU, packed as they come; in the end by time. */
struct live_cpu {
	uint32_t cpu;
	struct strbuf bytes;
	struct live_sched last;
	bool is_unsorted; /* a time was before the last one */
};

/* Where reading goes on; start with zeros. */
struct live_sched_pos {
	size_t at;
	struct live_sched last;
};

/* A place in the program. */
struct live_site {
	const char *name, *category, *file, *function, *unit;
	uint32_t line;
	uint32_t number; /* from 0 */
};

struct live_arg {
	const char *name;
	const char *text; /* letter s */
	int64_t number;	  /* i; u and x: unsigned */
	double real;	  /* d */
	uint32_t letter;
	uint32_t reserved;
};

/* A cache line, while it is in use. */
struct live_item {
	uint64_t begin, end; /* ns; the same for a point in time */
	union {
		uint64_t id;		     /* TASK, ENTER, FLOW */
		const struct live_arg *args; /* those that have nr_args */
	};
	union {
		uint64_t parent; /* TASK */
		int64_t number;
		double real; /* ITEM_IS_REAL */
	};
	const char *name;	      /* never NULL */
	const struct live_site *site; /* or NULL */
	uint32_t thread;
	uint32_t place; /* of its resource, or its counter; LIVE_NONE */
	uint32_t order; /* as it came */
	uint16_t nr_args;
	uint8_t flags;
	uint8_t kind : 4, lane : 4;
};
_Static_assert(sizeof(struct live_item) == 64, "a cache line");
_Static_assert(ITEM_KINDS <= 16 && LIVE_LANES <= 16, "they have four bits");
#define LIVE_ARGS_MAX 65535

struct live_thread {
	int32_t pid, tid;
	uint32_t file;
	bool passes;
	const char *name, *process_name; /* never NULL once all is there */
	const char *told_name;		 /* of its process, as the library has it; or NULL */
	uint64_t first;			 /* time */
	uint64_t last;			 /* end of its last item, once all is there */
	uint8_t nr_lanes;
	bool tells;		 /* it has items, once all is there */
	bool is_scheduled;	 /* it is switched to or from */
	ARRAY(uint32_t) open[2]; /* regions that have not ended, by slot: open items */
	struct live_pack items;	 /* by_thread, once all is there: its items but for counters */
};

struct live_resource {
	int32_t pid;
	uint32_t thread; /* that reported it first */
	uint64_t id;
	const char *type, *name;
	uint32_t item;	/* the state that it is in: an open item, LIVE_NONE */
	uint64_t since; /* when the last state ended: none begins before */
};

/* Values of one name in one process. */
struct live_counter {
	int32_t pid;
	uint32_t thread;
	const char *name, *unit;
	uint64_t nr;
	struct live_pack items; /* by_thread, once all is there */
};

struct live {
	struct coati_live_reader *trace; /* of the file that is read */
	struct coati_profile *profile;
	struct conditions conditions;
	bool has_conditions;
	uint32_t file;
	uint32_t live_event;		    /* of the file, LIVE_NONE: not seen yet */
	uint32_t other_event;		    /* plus 1: one that is not it; 0: none so far */
	uint64_t first_sample, last_sample; /* times, of samples that are no batches */
	uint64_t first_told, last_told;	    /* of those that batches report */
	/* the same instant since 1970 and on CLOCK_MONOTONIC; 0: not said */
	uint64_t wall_ns, clock_ns;
	/* those that have no end yet, and free places: their kind is ITEM_KINDS, their order is the
	 * next free one */
	ARRAY(struct live_item) open;
	uint32_t free;		/* first free place, LIVE_NONE */
	struct live_runs runs;	/* those that have ended and are shown */
	struct live_pack items; /* once all is there, but not by_thread */
	bool by_thread;		/* items are wanted thread by thread: set behind init() */
	uint64_t nr_items, max_items;
	/* of all items so far, shown or not: the first begin, the last begin or end */
	uint64_t first_begin, last_time;
	ARRAY(struct live_thread) threads;
	ARRAY(struct live_resource) resources;
	ARRAY(struct live_counter) counters;
	ARRAY(struct live_site *) sites;
	ARRAY(struct live_cpu) cpus; /* in the end in the order of their numbers */
	struct map cpu_index;
	uint64_t nr_sched, max_sched; /* in the end those that are shown */
	struct map tids; /* number of a thread that is switched to or from to its place */
	struct coati_tracepoint *waking; /* of the file that is read */
	int waking_field;		 /* -ENOENT: there is none */
	bool wants_sched;
	struct map thread_index, resource_index, counter_index, task_index, site_index, strings;
	struct map process_names; /* by pid, as they call themselves */
	struct arena arena;
	struct strbuf text;
	struct live_counts counts;		  /* what is in the file */
	struct coati_trace_quality quality;	  /* of all files */
	uint64_t no_begin, not_finite, nr_stacks; /* left out */
	uint64_t from, to;			  /* what was asked for */
	uint64_t first_sched;			  /* time; 0: there is none */
	/* times of the first and the last, once all is there; 0: there are none */
	uint64_t first, last;
	bool is_full, is_finished;
	struct limits limits;
	uint64_t nr_records, input_bytes,
		file_bytes; /* of files before this one, and of this one */
};

int coati_live_init(struct live *l, const struct coati_filter *filter, struct coati_error *err);
void coati_live_fini(struct live *l);
/* A recording begins, and ends. */
int coati_live_begin_file(struct live *l, struct coati_profile *p, uint32_t file,
			  struct coati_error *err);
int coati_live_end_file(struct live *l, struct coati_error *err);
/* Every record of it, before the profile takes it. -ENOMEM; -E2BIG: too many for one timeline,
 * which end_file() says in words. Hot. */
int coati_live_take(struct live *l, const struct coati_recording *r,
		    const struct coati_recording_item *item);
/* The same for samples that are weight on a stack and nothing else. */
int coati_live_take_samples(struct live *l, const struct coati_recording *r,
			    const struct coati_recording_item *items, uint32_t nr);
/* All is there: sorted by their begin (outer slices before inner ones), cut to the time that was
 * asked for, in lanes, with names, counted. Once. */
int coati_live_finish(struct live *l, struct coati_error *err);

/* ---- inside ---- */

/* The place of a thread, which is new or not. */
int coati_live_thread(struct live *l, uint32_t pid, uint32_t tid, uint64_t time, uint32_t *ret);
/* Records about who runs. */
int coati_live_switch(struct live *l, const struct coati_recording *r,
		      const struct coati_recording_item *item);
bool coati_live_is_waking(const struct coati_recording *r, uint32_t event);
int coati_live_waking(struct live *l, const struct coati_recording *r,
		      const struct coati_recording_item *item);
/* By CPU and time; how many are shown, and since when. -ENOMEM. */
int coati_live_sort_sched(struct live *l);
/* The next one of a CPU that is shown; false: there is none. Hot. */
bool coati_live_sched_next(const struct live *l, const struct live_cpu *c,
			   struct live_sched_pos *pos, struct live_sched *ret);

/* One event. -ENOMEM, -E2BIG.  Hot. */
int coati_live_event(struct live *l, const struct coati_trace_event *e);
int coati_live_with_args(struct live *l, const struct coati_trace_event *e, uint32_t thread);
int coati_live_counter(struct live *l, const struct coati_trace_event *e, uint32_t thread);
int coati_live_state(struct live *l, const struct coati_trace_event *e, uint32_t thread);
/* A new item with what all have; lives until the next one. NULL: no memory, or l->is_full. */
struct live_item *coati_live_add(struct live *l, const struct coati_trace_event *e,
				 enum live_item_kind kind, uint32_t thread);
/* Nothing changes it any more: it is packed, or left out. -ENOMEM. */
int coati_live_close(struct live *l, struct live_item *i);
/* A copy of a text that stays, the same for the same text; NULL: no memory. */
const char *coati_live_text(struct live *l, const struct coati_trace_text *t);

/* A key of a map for something of a process. */
static inline uint64_t live_key(uint32_t pid, uint64_t a, uint64_t b)
{
	const uint64_t key[3] = { pid, a, b };

	return coati_hash_bytes(key, sizeof(key), 0);
}

/* When something that is repeated began. */
static inline uint64_t live_began(const struct coati_trace_event *e)
{
	bool back = e->flags & COATI_TRACE_REOPENED || e->kind == COATI_TRACE_RANGE;

	if (!back || e->duration == COATI_TRACE_NO_DURATION || e->duration > e->time)
		return e->time;
	return e->time - e->duration;
}

static inline uint32_t live_place(const struct live *l, const struct live_item *i)
{
	return (uint32_t)(i - l->open.v);
}

static inline bool live_is_slice(const struct live_item *i)
{
	return i->kind <= ITEM_LAST_SLICE;
}
