/* SPDX-License-Identifier: MIT */
/*
 * Time off the CPUs. In: the switch records of a recording, the samples taken when threads leave a
 * CPU, wakeups. Out: an entry of the event off-cpu for each time that a thread was away, weighted
 * with nanoseconds. What lies at the edges of the recording counts up to them. Where records were
 * lost it is not known who ran meanwhile: those times are counted and left out.
 *
 * What the kernel said of an interval stands as a frame inside the innermost: [preempted],
 * [runnable].
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>

#include "base/array.h"
#include "base/map.h"

struct reading;
struct coati_recording_item;

/* Why a thread is away, as its innermost frame says; from 1, in coati_profile_location.vaddr. */
enum off_frame {
	OFF_FRAME_NONE = 0,
	OFF_FRAME_PREEMPTED, /* it would run on, but another one does */
	OFF_FRAME_RUNNABLE,  /* it was woken or started, and waits for a CPU */
	OFF_FRAME_BLOCKED,   /* it waits, no stack was taken */
	OFF_FRAME_BEFORE,    /* it was away when the recording began */
	OFF_FRAME_COUNT,
};

struct off_thread {
	int32_t pid, tid;
	uint8_t state; /* enum off_state */
	bool preempted, has_stack, told;
	int32_t cpu;
	uint32_t stack, labels, losses; /* losses: reading's, when it left */
	uint64_t since, woken;		/* woken 0: not that we know */
	bool early; /* it was woken since it got its CPU, which it had not left yet */
};

/* Something was lost between these. */
struct off_loss {
	uint64_t from, to;
};

struct off_reading {
	bool on, passes;
	bool at_exec, executed; /* nothing counts before the first exec; it was */
	bool has_event, cpu_wide;
	bool whole;		   /* all threads of some processes are watched */
	bool all_wakes;		   /* every wakeup of them is recorded */
	bool goes_on;		   /* the interval that is added is not over */
	uint32_t nr_events;	   /* of the file, that were looked at */
	uint64_t samples;	   /* of switches and wakeups */
	uint32_t event;		   /* of the profile */
	uint32_t losses;	   /* LOST records so far, where they are not known beforehand */
	uint64_t begin, end, last; /* last: time of the last record */
	struct map index;
	ARRAY(struct off_thread) threads;
	ARRAY(struct off_loss) windows;
	struct coati_tracepoint *waking;
	int waking_pid; /* field of it */
};

#define OFF_CPUS_MAX 8192

/* A walk in the order of the file: on each CPU the time of its last record. */
struct off_walk {
	uint64_t last[OFF_CPUS_MAX];
	bool seen[OFF_CPUS_MAX];
	uint64_t lost, lost_samples;
};

/* The next record of the file; a loss becomes a window since the last record of its CPU.
 * -ENOMEM. */
int coati_off_loss_look(struct off_reading *o, struct off_walk *w, const struct coati_record *rec);
/* At the end: what was lost last of all had no record behind it to tell of it. -ENOMEM. */
int coati_off_loss_tail(struct off_reading *o, const struct off_walk *w);
/* What the file says about switches; before the first record. -ENOMEM. */
int coati_off_begin(struct reading *r, const char *path);
/* What the recorder says about its sampling: of a file from the beginning on, of a stream at the
 * end. */
void coati_off_take_account(struct reading *r);
/* Events come with the stream. */
void coati_off_look(struct reading *r);
/* A record that is no sample, every one. -ENOMEM. */
int coati_off_record(struct reading *r, const struct coati_recording_item *item);
/* A thread leaves its CPU with this stack. */
int coati_off_stack(struct reading *r, const struct coati_record *rec, uint32_t stack,
		    uint32_t labels);
int coati_off_waking(struct reading *r, const struct coati_recording_item *item,
		     const struct coati_record *rec);
/* Count the time up to the last record of threads that wait and have not been woken: for those who
 * look while a recording is being made. The rest of it is counted when it ends. -ENOMEM. */
int coati_off_so_far(struct reading *r);
/* Who is still away. */
int coati_off_end(struct reading *r);
void coati_off_fini(struct off_reading *o);
