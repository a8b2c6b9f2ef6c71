/* SPDX-License-Identifier: MIT */
/*
 * What makes a flight recorder write a snapshot by itself: a task that took too long, a signal.
 * Noticed where it happens (watch.c, safe), written by a thread for each file (trigger.c, ordinary
 * code).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/tracer/tracer.h"

#define WATCHES	      8u
#define WATCH_BUCKETS 256u /* four for each power of two */
#define WATCH_KNOWN   (1u << 15)
#define WATCH_TYPE    128u

struct tracer_watch {
	/* NULL: free; under the lock of the recorders, as all that is not atomic */
	struct coati_recorder *recorder;
	_Atomic uint64_t limit; /* in units of the clock; 0: not known yet */
	_Atomic uint32_t fired;
	_Atomic int32_t signal; /* 0: a task */
	_Atomic uint32_t durations[WATCH_BUCKETS];
	char type[WATCH_TYPE];
	double times_p99;     /* 0: limit is fixed */
	struct sigaction old; /* what the signal did before */
	char *file;
	uint32_t at_most, written;
	bool busy;   /* a thread writes a file of it */
	bool ending; /* its recorder waits for that thread */
	uint64_t pause_ns;
	_Atomic uint64_t next_ns; /* the thread is not woken for it before; UINT64_MAX: never
				   * again */
};

struct tracer_watches {
	_Atomic uint32_t tasks; /* how many watch tasks */
	struct tracer_watch v[WATCHES];
	/* for each site the watches that want it, a bit each, with WATCH_KNOWN */
	_Atomic uint16_t of_site[LIVE_SITES_MAX + 1];
};
extern struct tracer_watches coati_tracer_watches;

/* A task of this site begins. */
void coati_tracer_watch_site(uint32_t id, const char *name);
/* One ended that took so many units of the clock. */
void coati_tracer_watch_task(uint32_t site, uint64_t units);
void coati_tracer_watch_signal(int sig);

/* What the recorders call of trigger.c, under their lock. By a table, so that a program that sets
 * no condition is not given that code by the linker. */
struct tracer_triggers {
	/* Begin to write what is due. */
	void (*look)(void);
	/* The recorder ends. Waits for files that are being written. */
	void (*drop)(const struct coati_recorder *rec);
	/* In the child after fork(). */
	void (*child)(void);
};
extern const struct tracer_triggers *coati_tracer_triggers; /* NULL: there was no condition yet */
