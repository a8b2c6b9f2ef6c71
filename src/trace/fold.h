/* SPDX-License-Identifier: MIT */
/*
 * Tasks and regions added up by type while live events are read, without keeping them: memory is
 * bounded by what is open, a duration and a bit for each task or region that has ended. The
 * kernel's part about threads is complete by then.
 *
 * Some recordings need all of it at once: regions that cross each other, events that come out of
 * order, steps that began in the past. Then the fold gives up, and the timeline keeps everything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/trace.h>

#include "base/strbuf.h"
#include "live-read/idset.h"
#include "trace/durations.h"
#include "trace/kept.h"
#include "trace/timeline-parts.h"

#define FOLD_CLOSED  32 /* regions that a later one may be around of */
#define FOLD_SITES   256
#define FOLD_THREADS 256
#define FOLD_GIVE_UP 1

struct fold_region {
	uint64_t begin;
	uint64_t order; /* in which they were reported */
	uint32_t type, flags;
};

struct fold_closed {
	uint64_t begin, end;
};

struct fold_thread {
	ARRAY(struct fold_region) open;
	/* a ring of regions that are over and inside no other of it, in order of time */
	struct fold_closed closed[FOLD_CLOSED];
	uint32_t first_closed, nr_closed;
	uint64_t forgotten; /* end of the last one that fell out of the ring */
	struct ledger_near near;
	uint32_t work;	     /* task that it works on, or NONE */
	uint64_t since;	     /* when it took that up */
	uint32_t prev, next; /* others that work on the same task, or NONE */
};

/* A task that is open, or below one that is. */
struct fold_task {
	uint64_t id, begin, parent_id;
	int32_t pid;
	uint32_t number; /* in the order in which they began */
	uint32_t type, flags;
	uint32_t parent, first_child, next; /* tasks, or NONE; next of a free one: the next free */
	uint32_t worker;		    /* first thread that works on it, or NONE */
	bool ended;
	ARRAY(struct span) spans;
};

/* A task below one that ends, and the number of levels between them. */
struct fold_below {
	uint32_t task, depth;
};

struct fold_site {
	const struct coati_trace_site *site;
	const char *text; /* that the site had then */
	uint32_t type;
};

/* A thread that was found before. */
struct fold_near {
	int32_t pid, tid;
	uint32_t at;
	size_t nr_threads; /* that there were then; 0: none was found */
};

struct fold {
	struct coati_timeline *t;
	struct fold_site sites[2][FOLD_SITES]; /* of tasks, of regions */
	struct fold_near near[FOLD_THREADS];
	ARRAY(struct fold_thread) threads; /* as those of the timeline */
	ARRAY(struct fold_task) tasks;
	ARRAY(struct durations) durations; /* as the types of the timeline */
	struct map open;		   /* tasks by process and number */
	struct idset ended;
	uint32_t free;	   /* first task that is free, or NONE */
	uint64_t time;	   /* of the last event */
	uint64_t last_end; /* when the last task ended */
	uint64_t nr_regions;
	uint32_t nr_tasks;
	struct strbuf text;	  /* while there is one */
	ARRAY(struct span) spans; /* of a task that ends */
	ARRAY(struct fold_below) below;
};

int coati_fold_init(struct fold *f, struct coati_timeline *t);
void coati_fold_fini(struct fold *f);
/* 0; FOLD_GIVE_UP; -ENOMEM, -E2BIG: the event is left out.  Hot. */
int coati_fold_event(struct fold *f, const struct coati_trace_event *e);
/* What is open at the end, and the percentiles. 0, FOLD_GIVE_UP, -ENOMEM. */
int coati_fold_end(struct fold *f);

/* fold-tasks.c */
int coati_fold_begin_task(struct fold *f, const struct coati_trace_event *e, uint64_t time);
int coati_fold_end_task(struct fold *f, const struct coati_trace_event *e);
int coati_fold_enter_task(struct fold *f, uint32_t thread, const struct coati_trace_event *e,
			  uint64_t time);
int coati_fold_open_tasks(struct fold *f);

/* The type of the site of an event. -ENOMEM, -E2BIG. */
int coati_fold_type(struct fold *f, const struct coati_trace_event *e, bool is_region,
		    uint32_t *ret);
/* One of a type has ended. 1: the caller adds its breakdown; 0: it began before the recording;
 * -ENOMEM. */
int coati_fold_count(struct fold *f, uint32_t type, uint32_t flags, uint64_t ns);

/* Whether everything is kept that is needed to say why instances are slow. */
static inline bool fold_keeps_for_why(const struct fold *f)
{
	return f->t->kept && f->t->kept->for_why;
}

/* Whether instances of this type are kept, as instances_of says. */
static inline bool fold_keeps(const struct fold *f, uint32_t type)
{
	return f->t->kept && f->t->types.v[type].name == f->t->kept->name;
}
