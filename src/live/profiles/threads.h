/* SPDX-License-Identifier: MIT */
/*
 * What every thread is doing, with its stack. A thread that sleeps is left to sleep: its stack is
 * read from outside (threads-asleep.c). The others are asked by a signal, one batch after the
 * other; the handler writes what it finds into the slot that the signal names, and who asks waits
 * for it for a bounded time. Threads that block the signal, or do not answer, are listed with the
 * reason.
 *
 * A slot goes round: free, asked, being written, written. Who asks may take back what was not
 * begun; a slot that is being written is left alone until it is not. So a signal that arrives late
 * finds a slot that has another ticket, and goes.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/live.h>

#include "base/arena.h"
#include "live/sampler/stack.h"

#define THREADS_SLOTS 64u
#define THREADS_DEPTH 128u
#define THREADS_MAX   32768u

enum slot_phase { SLOT_FREE, SLOT_ASKED, SLOT_WRITING, SLOT_WRITTEN };

struct thread_slot {
	_Atomic uint64_t state; /* ticket << 2 | phase */
	uint32_t nr_frames;
	bool cut;
	uint64_t frames[THREADS_DEPTH];
	struct coati_labels labels;
	struct sampler_scratch scratch; /* alternate stacks are small */
};

/* Of the signals that are ours: what their value has above the ticket. */
#define THREADS_COOKIE	      UINT64_C(0x434f)
#define THREADS_TICKET(value) ((value) & ((UINT64_C(1) << 48) - 1))

/* Mapped at the first use, never given back: a signal may be on its way. */
extern _Atomic(struct thread_slot *) coati_thread_slots;
extern _Atomic bool coati_threads_by_tables;
/* threads-handler.c.  Signal: safe. */
void coati_threads_handler(int sig, siginfo_t *info, void *context);

struct thread_seen {
	struct thread_seen *next;
	uint32_t tid;
	char name[64], wchan[64];
	char state; /* as in /proc */
	uint64_t cpu_ms;
	const char *why; /* it has no stack; NULL: it has one */
	uint32_t nr_frames;
	const char *cut;	/* it has more frames than these: why; NULL: it has not */
	const uint64_t *frames; /* leaf first; NULL: none */
	struct coati_labels labels;
};

struct threads_seen {
	struct arena arena;
	struct thread_seen *first;
	uint32_t nr;
};

/* threads-asleep.c. If the thread sleeps: its stack, without a signal, which would end its system
 * call. Otherwise nothing is filled in. @task is /proc/self/task. */
void coati_threads_asleep(int task, struct threads_seen *seen, struct thread_seen *t);
/* Memory that may not be there any more. */
bool coati_threads_copy(const void *from, void *to, size_t size);
/* threads-labels.c. The labels of a thread, which may change them meanwhile. */
void coati_thread_labels(uint32_t tid, struct coati_labels *ret);

/* One at a time: -EBUSY. -ENOMEM, -ENOSPC (no signal is free), -ENODATA (no tables, when they must
 * be), or why /proc cannot be read; after an error there is nothing to free. */
int coati_threads_look(enum coati_sampler_stacks stacks, struct threads_seen *ret);
void coati_threads_free(struct threads_seen *t);
