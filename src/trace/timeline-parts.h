/* SPDX-License-Identifier: MIT */
/* What a timeline consists of: see trace/timeline.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/trace.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/limits.h"
#include "base/map.h"
#include "live-read/check.h"
#include "reading/wait.h"
#include "trace/late-samples.h"
#include "trace/timeline.h"

#define TIMELINE_CPUS_MAX 8192

/* From here on, until the next one begins. */
struct stretch {
	uint64_t begin;
	uint32_t stack; /* with which it left; of RUNNABLE: the wake */
	uint8_t wait;	/* enum coati_wait */
	bool asks;	/* its stack knows better than @wait */
	int16_t cpu;
};

/* From here on a thread works on a task, or has labels. */
struct mark {
	uint64_t time;
	union {
		uint32_t task; /* or NONE */
		const char *text;
	};
};

struct region {
	uint64_t begin, end;
	const char *name;
	uint32_t depth, task, flags;
};

struct log_line {
	uint64_t time;
	const char *text;
};

struct seen {
	uint64_t time;
	uint32_t stack;
	bool in_fault;
};

/* Interrupts, while the thread was on a CPU: those that nest are one. */
struct irq {
	uint64_t begin, end;
};

struct open_irq {
	uint64_t begin, number;
};

struct wake {
	uint64_t time, blocked_ns;
	uint32_t waker, woken, stack, flags;
};

/* A wakeup of a thread that has not left its CPU yet. */
struct early_wake {
	uint64_t time; /* 0: none since it got the CPU */
	uint32_t waker, stack, flags;
};

struct span {
	uint64_t begin, end;
	uint32_t thread, task;
};

struct thread {
	int32_t pid, tid;
	int32_t parent; /* process that started it, 0: not known */
	const char *comm;
	uint64_t begin, end; /* end 0: it goes on */
	uint32_t older;	     /* thread that had this number before, or NONE */
	bool told;	     /* that it was there, or started */
	struct early_wake early;
	bool outside; /* it woke a thread, but is not recorded itself: it has no length */
	uint8_t call; /* enum coati_wait that its system call stands for; RUNNING: it is in none */
	ARRAY(struct stretch) stretches;
	ARRAY(struct mark) works;
	ARRAY(struct mark) labels;
	ARRAY(struct region) regions;
	ARRAY(uint32_t) open; /* regions */
	ARRAY(struct log_line) logs;
	ARRAY(uint64_t) faults;
	ARRAY(struct seen) samples;
	ARRAY(struct irq) irqs; /* in order of time, apart from each other */
	ARRAY(struct open_irq) open_irqs;
};

struct task {
	uint64_t id, parent_id;
	uint64_t begin, end;
	int32_t pid;
	uint32_t type, flags;
	uint32_t first_span, nr_spans;
	uint32_t begin_thread, end_thread; /* where it did, or NONE */
	uint32_t first_child, next_child;  /* tasks, or NONE */
	bool ended;
};

struct task_type {
	const char *name;
	bool is_region;
	uint32_t nr, nr_open, nr_before;
	uint64_t p50, p90, p99, max, sum;
	struct coati_ledger ledger;
};

struct loss_window {
	uint64_t from, to;
};

/* The host took at most @ns from all CPUs meanwhile. */
struct theft {
	uint64_t begin, end, ns;
};

struct coati_timeline {
	struct coati_timeline_opts opts;
	struct coati_timeline_info info;
	uint64_t nr_events; /* that were kept */
	bool is_fixed;	    /* max_events is the caller's */
	uint64_t over[LIMITS];
	struct arena arena;
	struct map texts; /* interned */
	struct map tids;  /* the newest thread of a number */
	struct map task_ids;
	struct map task_types, region_types;
	ARRAY(struct thread) threads;
	ARRAY(struct wake) wakes;
	ARRAY(struct task) tasks;
	ARRAY(struct span) spans; /* after the end: by task, then time */
	ARRAY(struct task_type) types;
	ARRAY(struct loss_window) windows;
	ARRAY(struct theft) thefts;
	ARRAY(const char *) notes;
	ARRAY(struct coati_trace_finding) findings; /* the first of info.findings */
	uint64_t *cpu_last;			    /* of each CPU: the last kernel event */
	uint32_t *cpu_runs; /* of each CPU: the thread that was said to run there last, and 1 */
	uint8_t cpus[TIMELINE_CPUS_MAX / 8];
	bool ended;
	bool unsorted; /* wakes */
	struct coati_profile *profile;
	struct coati_contexts *contexts; /* of the profile */
	struct late_samples late;	 /* of a summary */
	struct kept *kept;		 /* of a summary with instances_of, or NULL */
};

/* A copy that lives as long as the timeline, the same for the same text; NULL: no memory. */
const char *coati_timeline_text(struct coati_timeline *t, const char *text);
void coati_timeline_add_note(struct coati_timeline *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* At most so many threads and, unless the caller chose, events. */
void coati_timeline_allow(struct coati_timeline *t, uint64_t threads, uint64_t events);
/* What a NULL of the next two means: -ENOMEM, -E2BIG. */
int coati_timeline_no_thread(struct coati_timeline *t);
/* The thread of that number at that time; made when there is none. NULL: no memory, or too many. */
struct thread *coati_timeline_need_thread(struct coati_timeline *t, int32_t pid, int32_t tid,
					  uint64_t time);
/* The same of a live event, which its program may have made up: a thread that is known to be of
 * another process is not taken, but another one that only has its number. */
struct thread *coati_timeline_need_live_thread(struct coati_timeline *t, int32_t pid, int32_t tid,
					       uint64_t time);
uint32_t coati_timeline_find_live_thread(const struct coati_timeline *t, int32_t pid, int32_t tid,
					 uint64_t time);
/* Likewise of one that only wakes others; its number, NONE: no memory, or too many. */
uint32_t coati_timeline_need_waker(struct coati_timeline *t, int32_t pid, int32_t tid,
				   uint64_t time);
/* Kernel events, live events: as coati_timeline_add(). */
int coati_timeline_add_kernel(struct coati_timeline *t, const struct coati_timeline_event *e);
int coati_timeline_add_live(struct coati_timeline *t, const struct coati_timeline_event *e);
/* The number of a type, which is new or not; @name is a text of the timeline. -ENOMEM, -E2BIG. */
int coati_timeline_need_type(struct coati_timeline *t, const char *name, bool is_region,
			     uint32_t *ret);
void coati_timeline_forget_types(struct coati_timeline *t);
#define TIMELINE_UNNAMED "?"
/* The parts of the end. -ENOMEM. Waits come first, while only threads that have ended have an end.
 *  */
int coati_timeline_end_waits(struct coati_timeline *t);
int coati_timeline_end_threads(struct coati_timeline *t);
int coati_timeline_end_kernel(struct coati_timeline *t, uint64_t time); /* these two */
int coati_timeline_end_live(struct coati_timeline *t);
int coati_timeline_end_types(struct coati_timeline *t);
/* The index of the last element that begins at or before @time; SIZE_MAX: all begin later. */
size_t coati_timeline_stretch_at(const struct thread *th, uint64_t time);
size_t coati_timeline_mark_at(const struct mark *marks, size_t nr, uint64_t time);
/* The stack with which the thread that wake @i ended the wait of had left its CPU, or NONE. */
uint32_t coati_timeline_waiter_stack(const struct coati_timeline *t, uint32_t i);
/* The task that a thread works on, or NONE. */
uint32_t coati_timeline_work_at(const struct thread *th, uint64_t time);
/* Spans of the task and of all below it: sorted by time, on the heap. */
int coati_timeline_spans(const struct coati_timeline *t, uint32_t task, struct span **ret,
			 size_t *ret_nr);
#define LEDGER_DEPTH 64 /* levels of tasks that count for the one above them */
int coati_span_by_begin(const void *a, const void *b);
void coati_ledger_range(const struct thread *th, uint64_t from, uint64_t to,
			struct coati_ledger *ledger);
/* Where the last look into the arrays of a thread ended. */
struct ledger_near {
	size_t stretch, fault, sample;
};
/* The same as coati_ledger_range(), faster where the time is near that of the call before. */
void coati_ledger_near(const struct thread *th, uint64_t from, uint64_t to,
		       struct ledger_near *near, struct coati_ledger *ledger);
/* Adds what threads did while they worked on a task whose duration @ret has: @spans are sorted by
 * their beginning. In the rest of the duration no thread worked on it. -ENOMEM. */
int coati_ledger_spans(const struct coati_timeline *t, const struct span *spans, size_t nr,
		       struct coati_ledger *ret);
int coati_ledger_task(const struct coati_timeline *t, uint32_t task, struct coati_ledger *ret);
void coati_ledger_sum(struct coati_ledger *sum, const struct coati_ledger *more);

static inline uint64_t timeline_task_key(int32_t pid, uint64_t id)
{
	return coati_hash_u64(id, (uint32_t)pid);
}

static inline uint64_t stretch_end(const struct thread *th, size_t i)
{
	return i + 1 < th->stretches.len ? th->stretches.v[i + 1].begin : th->end;
}

static inline bool is_away(uint8_t wait)
{
	return wait != COATI_WAIT_RUNNING && wait != COATI_WAIT_RUNNABLE &&
	       wait != COATI_WAIT_PREEMPTED;
}
