/* SPDX-License-Identifier: MIT */
/*
 * The labels of threads, as the walker in the kernel reads them with each sample. In: the records
 * of labels, in the order in which the ring buffers are read, and the names of the keys that
 * processes publish. Out: live events "labels" in the recording, as programs with the tracer write
 * them (docs/formats/live.md): one when the labels of a thread are others than at its sample
 * before, with the time of the sample, so that readers find for each sample the labels that it was
 * taken with.
 *
 * Samples of one thread lie in the rings of several CPUs. So what comes in waits until nothing
 * older can come: until the end of the round after that in which it came.
 *
 * The names come from another thread (the describer), which is asked by the walker. Labels whose
 * names are not there yet wait for them for a second, and are dropped then.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "capture/session.h"
#include "process/context.h"
#include "record/batch.h"

/* Sequences of bytes, each of them once. */
struct label_bytes {
	uint32_t size;
	const uint8_t *bytes;
};

struct label_pool {
	struct arena arena;
	ARRAY(struct label_bytes) v; /* 0 is none */
	struct map index;	     /* of a hash */
};

/* At one sample. */
struct label_seen {
	uint64_t time;
	uint32_t pid, tid;
	uint32_t raw; /* in the pool of what was read; 0: no labels */
};

/* A process that has ended. */
struct label_gone {
	uint64_t time;
	uint32_t pid;
};

struct label_names {
	pthread_mutex_t lock;
	bool has_lock, are_others;
	struct map processes; /* to their keys */
	size_t bytes;	      /* of all of these */
	ARRAY(struct label_gone) gone;
};

/* What became of them, in all recordings. */
struct labels_counts {
	uint64_t samples; /* with labels */
	uint64_t changes; /* written */
	uint64_t sets;	  /* different ones, of the last recording */
	/* samples whose labels were dropped: their keys had no names, there were too many sets or
	 * threads, they could not be read or made no sense */
	uint64_t unnamed, over, unread;
};

/* Writes a batch. 0, or negative: that ends it. */
typedef int (*labels_write_fn)(void *ctx, const struct coati_batch *batch);

struct thread_labels {
	struct label_pool raws, sets;
	ARRAY(uint32_t) resolved; /* of a raw: the set and 1; 0: not known */
	ARRAY(struct label_seen) seen;
	/* of a thread to the set that was written last, and the number of its next batch << 32 */
	struct map threads;
	struct map generations;	 /* of a process: batches are complete up to there */
	uint64_t newest, before; /* times: of what was seen, and up to the round before */
	uint64_t until;		 /* of what the round has written: the base of its end marks */
	struct labels_counts counts;
	struct label_names names;
	uint8_t *batch; /* that is being filled */
	labels_write_fn write;
	void *ctx;
};

/* -ENOMEM. */
int coati_thread_labels_new(struct thread_labels **ret);
void coati_thread_labels_free(struct thread_labels **l);

/* The keys of a process, which *keys is emptied into. @family: of its address space, so that they
 * are not those of another program. Any thread. */
void coati_thread_labels_name(struct thread_labels *l, int32_t pid, uint64_t family,
			      struct context_keys *keys);
/* @parent forked @pid at that time, which has the keys that it had until then. */
void coati_thread_labels_forked(struct thread_labels *l, uint32_t pid, uint32_t parent,
				uint64_t time);
/* The process has ended at that time; samples of it may come later. Any thread, but after its
 * keys. */
void coati_thread_labels_gone(struct thread_labels *l, int32_t pid, uint64_t time);

/* Whose a sample is. */
struct label_of {
	uint32_t pid, tid;
	uint64_t time, family;
};
/* A sample whose thread has labels: @entries, @size bytes behind the head of its record. NULL: it
 * has none. */
void coati_thread_labels_seen(struct thread_labels *l, const struct label_of *of,
			      const uint8_t *entries, uint32_t size);
void coati_thread_labels_unread(struct thread_labels *l);
/* A sample of which the walker's report is missing: its labels are not known, and need not be
 * those of the one before. */
void coati_thread_labels_missing(struct thread_labels *l, uint32_t pid, uint32_t tid,
				 uint64_t time);

/* The thread has ended: who has its number next has none of its labels. */
void coati_thread_labels_ended(struct thread_labels *l, uint32_t pid, uint32_t tid, uint64_t time);

/* Before the end: ask for the names that are missing, of each process. They may come by
 * coati_thread_labels_name(), at once. */
typedef void (*labels_ask_fn)(void *ctx, int32_t pid, uint64_t family);
void coati_thread_labels_ask(struct thread_labels *l, labels_ask_fn ask, void *ctx);
/* The end of a round of reading: write what is known. @all: nothing more comes. The error of
 * @write, or -ENOMEM. */
int coati_thread_labels_settle(struct thread_labels *l, bool all, labels_write_fn write, void *ctx);
/* A new recording, which knows nothing yet. */
void coati_thread_labels_restart(struct thread_labels *l);
