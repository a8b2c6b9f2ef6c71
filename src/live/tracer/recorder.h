/* SPDX-License-Identifier: MIT */
/* Recorders, inside: those who keep generations (flight) or write them out (stream), and the one
 * thread that serves them all. Ordinary code. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "live/tracer/sink.h"
#include "live/tracer/tracer.h"

/* A generation, as bytes. */
struct recorder_copy {
	struct recorder_copy *next;
	uint64_t room; /* what it took in the memory */
	struct strbuf bytes;
};

struct coati_recorder {
	struct coati_recorder *next;
	uint32_t pid; /* of who started it: of no use in a child */
	uint32_t flags;
	uint32_t index; /* of its filter and its account */
	int fd;		/* -1: flight */
	enum coati_recorder_policy policy;
	uint64_t bytes, window_ns, generation_ns;
	uint64_t from;	    /* first generation that is its own; streams: that is not written yet */
	uint64_t until;	    /* the last one; UINT64_MAX while it runs */
	_Atomic int error;  /* first one of a stream or of a snapshot that a condition triggered */
	int snapshot_error; /* last one of those, */
	uint64_t snapshots, snapshots_failed; /* and how many there were */
	/* One that leaves out new events must not keep the old ones where others need room: beside
	 * others it copies each generation to memory of its own, as long as that is no more than
	 * @bytes. Once it does, it always does. */
	bool stashes;
	struct recorder_copy *first, **last; /* copies, oldest first */
	uint64_t stashed; /* bytes of these, and of the one that is being written */
	/* of a stream */
	bool copying; /* its writer copies a generation */
	pthread_t writer;
	_Atomic uint32_t work; /* futex: the writer has something to do */
	struct tracer_sink sink;
	uint64_t loaded; /* libraries, as last reported in the stream */
	bool begun;	 /* it has its head */
};

static inline uint32_t coati_recorder_bit(const struct coati_recorder *rec)
{
	return UINT32_C(1) << rec->index;
}

/* ---- collector.c ---- */

/* Under coati_recorders_lock(): all that run. */
extern struct coati_recorder *coati_recorders;
void coati_recorders_lock(void);
void coati_recorders_unlock(void);
/* Wait for a call of coati_recorders_signal(); the lock is free meanwhile. */
void coati_recorders_wait(void);
void coati_recorders_signal(void);
/* A thread with all signals blocked; 0 or a negative errno. */
int coati_collector_thread(pthread_t *ret, void *(*run)(void *), void *arg);
/* The thread; 0 or a negative errno. */
int coati_collector_start(void);
void coati_collector_stop(void);
/* Under the lock of the recorders: a new generation, with @stop none, and what recorders do with
 * the old one. */
void coati_collector_turn(bool stop);
/* Under the lock of the recorders: drop the generations that no recorder keeps. */
void coati_collector_give_back(void);
/* In the child after fork(). */
void coati_collector_child(void);

/* ---- recorder.c ---- */

/* Under the lock of the recorders: all that it holds, as a recording. */
int coati_recorder_take(struct coati_recorder *rec, struct strbuf *ret);

/* ---- recorder-stream.c ---- */

/* The thread that writes; 0 or a negative errno. It has nothing to do until rec->from is set. */
int coati_recorder_stream_start(struct coati_recorder *rec, int fd, uint64_t patience_ns);
/* There may be another generation. */
void coati_recorder_wake(struct coati_recorder *rec);
/* Without any lock, rec->until is set: returns when all is written, or the reader took nothing for
 * too long. */
void coati_recorder_stream_end(struct coati_recorder *rec);
/* Under the lock of the recorders: from now on it keeps copies of its own. */
void coati_recorder_stash_begin(struct coati_recorder *rec);
/* Under the lock of the recorders: copy what is complete, or count it as lost. */
void coati_recorder_stash(struct coati_recorder *rec);
/* Under the lock of the recorders: a stream leaves out the oldest generations of those that wait in
 * the memory for it, when they are more than its limit. */
void coati_recorder_limit(struct coati_recorder *rec);
void coati_recorder_stash_free(struct coati_recorder *rec);
