/* SPDX-License-Identifier: MIT */
/*
 * The sampler, inside. One per process, in memory that is never given back: a signal that was on
 * its way at the end may arrive at any time.
 *
 * The handler takes any free one of a few profile buffers (a flag each, never waited for), so that
 * nothing has to be known of threads that come and go, and each buffer has one writer at a time. A
 * record: header words as below, stack words the addresses, leaf first, and behind them the labels
 * of the thread.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <coati/live.h>
#include <coati/profbuf.h>
#include <coati/sampler.h>

#include "base/arena.h"
#include "base/elf.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "live/sampler/engine.h"
#include "live/sampler/stack.h"

#define SAMPLER_SLOTS	  16u
#define SAMPLER_DEPTH_MAX 512u
/* Thread; SAMPLER_CUT and above it the nanoseconds that the sample stands for; number of frames;
 * SAMPLER_REST, above it how many samples of its own event the thread had before, and above
 * SAMPLER_LIFE_SHIFT which life of a thread it is. */
#define SAMPLER_HEADER	   4u
#define SAMPLER_REST	   UINT64_C(1) /* a sample of the timer over the process */
#define SAMPLER_LIFE_SHIFT 32
#define SAMPLER_LABELS	   ((sizeof(struct coati_labels) + 7) / 8) /* words, at most */
#define SAMPLER_CUT	   UINT64_C(1)
/* What the signal of a perf event carries: a mark of the sampler, the number of the event, its
 * period. */
#define SAMPLER_PERIOD_BITS 30 /* a second in nanoseconds */
#define SAMPLER_NUMBER_BITS 16
#define SAMPLER_MARK_SHIFT  (SAMPLER_PERIOD_BITS + SAMPLER_NUMBER_BITS)
#define SAMPLER_MARK	    UINT64_C(0x30a71)

struct sampler_slot {
	_Atomic uint32_t taken;
	uint32_t reserved[15]; /* a line of its own */
	uint64_t samples;      /* taken in it since the start: each is read, or counted as lost */
	/* CPU time that they stand for, without those of the timer over the process */
	_Atomic uint64_t seen_ns;
	struct coati_profbuf *buf;
	struct coati_profbuf_writer writer;
	struct coati_profbuf_reader reader;
	/* of who has taken it: alternate stacks are small */
	uint64_t words[SAMPLER_DEPTH_MAX + SAMPLER_LABELS];
	struct coati_labels labels;	/* likewise */
	struct sampler_scratch scratch; /* likewise */
};

/* What the handler sees. */
struct sampler_shared {
	_Atomic uint32_t on;
	_Atomic uint32_t run; /* number of this run */
	uint32_t wake;	      /* of who folds: counted up where there is something, a futex */
	_Atomic uint64_t no_slot;
	_Atomic uint32_t lives; /* threads that had a sample: each has a number */
	uint32_t own_tid;	/* of who folds: not sampled */
	char rest;		/* its address marks the signals of the timer over the process */
	uint64_t period_ns;	/* of timers */
	uint32_t max_depth;
	bool by_tables;
	bool can_probe;			     /* memory can be asked for before it is read */
	struct sigaction old_trap, old_prof; /* what the program had */
	struct sampler_slot slots[SAMPLER_SLOTS];
};
extern struct sampler_shared coati_sampler_shared;
/* The C library's: libcoati-preload stands in front of the name. */
extern int (*coati_sampler_sigaction)(int sig, const struct sigaction *act, struct sigaction *old);

/* The handler itself, for SIGTRAP and SIGPROF.  Signal: safe. */
void coati_sampler_handler(int sig, siginfo_t *info, void *context);
/* In the child of a fork(): nothing of the parent's sampler is here any more. Called by itself;
 * earlier calls are fine. */
void coati_sampler_forget(void);

/* slots.c: make the slots ready for a run; close them, so that they can be read to their end. */
int coati_sampler_slots_make(struct coati_error *err);
void coati_sampler_slots_close(void);
/* Until no handler uses anything that it read before this call. */
void coati_sampler_slots_wait(void);

/* Of all profiles that have ended. */
struct sampler_totals {
	_Atomic uint64_t profiles, samples, lost, cut;
	/* of timers: periods that passed while a sample was on its way, and are in its weight */
	_Atomic uint64_t overruns;
};
extern struct sampler_totals coati_sampler_totals;

/* ---- folding ---- */

struct sampler_stack {
	struct sampler_stack *next; /* in the order of their coming */
	uint64_t tid, count, weight_ns;
	uint64_t rest_ns; /* in weight_ns once the profile has ended */
	uint32_t nr_frames, len;
	uint64_t words[]; /* frames, then labels */
};

struct sampler_pending;

/* What the timer over the process saw, and what stands of it: rest.c. */
struct sampler_rest {
	bool is_on;
	struct map counts; /* by life: samples of its own event */
	struct sampler_pending *first;
	uint32_t pending;
	uint64_t replaced;
};

struct sampler_fold {
	struct map by_hash;
	struct arena arena;
	struct sampler_stack *first, **last;
	uint64_t stacks, samples, weight_ns, lost, cut;
	struct sampler_rest rest;
	uint64_t rest_ns;
};

void coati_sampler_fold_init(struct sampler_fold *f);
void coati_sampler_fold_fini(struct sampler_fold *f);
void coati_sampler_fold_add(struct sampler_fold *f, const struct coati_profbuf_record *record);

/* A sample of the timer that is there to stay. */
void coati_sampler_fold_rest(struct sampler_fold *f, const struct coati_profbuf_record *record);

/* ---- the rest ---- */

void coati_sampler_rest_init(struct sampler_rest *rest);
void coati_sampler_rest_fini(struct sampler_rest *rest);
/* A sample of a thread's own event; one of the timer: false when there is no room for it. */
void coati_sampler_rest_own(struct sampler_rest *rest, const struct coati_profbuf_record *r);
bool coati_sampler_rest_add(struct sampler_rest *rest, const struct coati_profbuf_record *r);
/* Drop what has been seen otherwise, keep what threads left that have ended; at the end, all. */
void coati_sampler_rest_settle(struct sampler_fold *f, bool at_end);
/* At the end: what was kept becomes part of the profile, and not more than @max_ns in all. */
void coati_sampler_rest_limit(struct sampler_fold *f, uint64_t max_ns);
/* Whether so much of the CPU time since the start is in no sample that the timer is needed. */
bool coati_sampler_rest_is_much(uint64_t used_ns, uint64_t period_ns, uint32_t threads);

/* After a handler was set: the kernel calls ours directly, not through the runtime of TSan. */
int coati_sampler_pass_tsan(int sig);

/* ---- names ---- */

struct sampler_name {
	uint64_t start, end; /* in the file's own terms */
	const char *name;
};

struct sampler_names {
	struct elf elf;
	struct sampler_name *list;
	uint32_t len, cap;
};

int coati_sampler_names_open(struct sampler_names *n, const char *path);
/* A zeroed or closed one is fine. */
void coati_sampler_names_close(struct sampler_names *n);
/* The function at an offset in the file, and how far into it; NULL when none is known. */
const struct sampler_name *coati_sampler_names_find(const struct sampler_names *n, uint64_t offset,
						    uint64_t *ret_into);

/* ---- the profile ---- */

struct sampler_profile {
	const struct sampler_fold *fold;
	const struct coati_sampler_stats *stats;
	const char *why;	       /* not the best engine; "": it was, or was not asked for */
	uint64_t time_ns, duration_ns; /* wall clock, length */
	uint32_t rate_hz;
	struct sampler_objects_stats objects;
	enum coati_sampler_clock clock;
	bool by_tables, one_thread;
	bool is_rest, is_swapped;
	uint32_t refused;
	bool names, no_kernel, replaced;
};

/* gzip bytes behind @ret. */
int coati_sampler_write_pprof(const struct sampler_profile *p, struct strbuf *ret);
