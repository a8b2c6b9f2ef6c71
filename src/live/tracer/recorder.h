/* SPDX-License-Identifier: MIT */
/* Recorders, inside: those who keep generations (flight) or write them out (stream), and the one thread that serves them all. Ordinary code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "live/tracer/tracer.h"

struct coati_recorder {
	struct coati_recorder *next;
	uint32_t pid; /* of who started it: of no use in a child */
	uint32_t flags, filter;
	int fd; /* -1: flight */
	enum coati_recorder_policy policy;
	uint64_t bytes, window_ns, generation_ns;
	uint64_t from;	    /* first generation that is its own; streams: that is not written yet */
	uint64_t loaded;    /* libraries, as last told in the stream */
	bool begun;	    /* a stream has its head */
	int error;	    /* first one of a stream or of a snapshot that nobody called for */
	int snapshot_error; /* last one of those, */
	uint64_t snapshots, snapshots_failed; /* and how many there were */
};

/* ---- collector.c ---- */

/* Under coati_recorders_lock(): all that run. */
extern struct coati_recorder *coati_recorders;
void coati_recorders_lock(void);
void coati_recorders_unlock(void);
/* The thread; 0 or a negative errno. */
int coati_collector_start(void);
void coati_collector_stop(void);
/* Under the lock of the recorders: a new generation, with @stop none, and what recorders do with the old one. */
void coati_collector_turn(bool stop);
/* In the child after fork(). */
void coati_collector_child(void);

/* ---- recorder.c ---- */

struct strbuf;
/* Under the lock of the recorders: all that it holds, as a recording. */
int coati_recorder_take(struct coati_recorder *rec, struct strbuf *ret);

/* ---- recorder-stream.c ---- */

/* Under the lock of the recorders: write what is complete. */
void coati_recorder_stream(struct coati_recorder *rec);
