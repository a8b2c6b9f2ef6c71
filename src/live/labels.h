/* SPDX-License-Identifier: MIT */
/*
 * How labels lie in memory; <coati/live.h> says what they are, docs/formats/thread-context.md what
 * others read of them.
 *
 * A thread has two records of the layout of OTEP 4947, one of which is published. A record is a
 * head and entries of key index, length and value, one behind the other. Invariants:
 *
 *  - entries below `size` of the published record are never written: a change either writes behind
 *    them and then moves `size` up with one store, or moves it down, or builds the other record and
 *    then moves the pointer with one store. A reader that stops the thread between two instructions
 *    finds the set before the change or the one after it;
 *  - `size` is always the end of an entry;
 *  - entries of one scope have different keys;
 *  - a scope is open when its slot has its serial: what was ended before, or with the scope around
 *    it, does not;
 *  - a scope whose variable is below the stack pointer, or was overwritten, is over: longjmp() left
 *    it. It stays in its slot until the next change, and readers leave it out. Scopes on other
 *    stacks than the thread's own (coroutines) and those without a variable never count as left.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/live.h>

/* The head of an entry: key index, length. */
#define LABEL_ENTRY 2

struct label_record {
	uint8_t trace_id[16], span_id[8]; /* zero: none */
	uint8_t valid;			  /* always 1: the pointer is what changes */
	uint8_t trace_flags;
	_Atomic uint16_t size;
	uint8_t entries[COATI_LABELS_BYTES];
};

_Static_assert(sizeof(struct label_record) == 640, "the size that foreign readers expect");
_Static_assert(offsetof(struct label_record, size) == 26, "OTEP 4947");
_Static_assert(offsetof(struct label_record, entries) == 28, "OTEP 4947");

struct label_slot {
	uint32_t serial;
	uint32_t start; /* size of the record before it */
	/* Where the variable of the scope is, in bytes below the top of the stack; 0: not known. */
	uint32_t below;
};

struct label_thread {
	_Atomic(struct label_record *) now;
	uint32_t serials;     /* given so far */
	uint32_t depth;	      /* slots in use */
	_Atomic uint8_t busy; /* a change is under way: only a signal handler can see it */
	uint32_t tid;	      /* these two are of profiles/threads-labels.c */
	struct label_thread *next;
	_Atomic(struct label_thread *) runs; /* the labels of the fiber that runs; NULL: these */
	uint64_t stack_top, stack_size;	     /* of the thread; 0: not known */
	struct label_slot slots[COATI_LABEL_DEPTH];
	struct label_record records[2];
};

#define LABEL_TLS __thread __attribute__((tls_model("initial-exec")))
/* NULL before the first change, and once the thread exits. */
extern LABEL_TLS struct label_thread *_Atomic coati_label_self;
/* otel_thread_ctx_v1 by a name that stays inside: the linker makes a dynamic relocation for one
 * that is exported, even in a program, and glibc cannot do that one in static programs. */
extern LABEL_TLS const void *_Atomic coati_label_context;

/* What is counted, in the order of struct coati_label_stats. */
enum label_loss { LOSS_KEYS, LOSS_SIZE, LOSS_CUT, LOSS_MEMORY, LOSS_MISUSE, LOSS_KINDS };
extern _Atomic uint64_t coati_label_losses[LOSS_KINDS];

static inline void label_lose(enum label_loss kind)
{
	atomic_fetch_add_explicit(&coati_label_losses[kind], 1, memory_order_relaxed);
}

/* label-symbol.c. The address of otel_thread_ctx_v1 by that name. */
const void **coati_label_symbol(void);

/* label-keys.c. The names of the keys, by index; filled from the front, never changed. */
extern _Atomic(const char *) coati_label_names[COATI_LABEL_KEYS];
/* Index + 1, or LABEL_REFUSED, or 0 when there is no memory: the next use tries again. */
#define LABEL_REFUSED UINT32_MAX
uint32_t coati_label_intern(struct coati_label_key *key);

/* label-thread.c. The state of this thread, made now; NULL when that is not possible (counted). */
struct label_thread *coati_label_thread_start(void);

/* profiles/threads-labels.c: a thread has labels, and will have none any more. Not there in
 * programs that do not show threads. */
__attribute__((weak, visibility("hidden"))) void coati_label_thread_begins(struct label_thread *t);
__attribute__((weak, visibility("hidden"))) void coati_label_thread_ends(struct label_thread *t);

/* labels-read.c. Each key once, with its last value, the empty ones left out; returns the size. */
uint32_t coati_labels_compact(const uint8_t *entries, uint32_t size, uint8_t *ret);

/* How many scopes are open when the stack pointer is @sp: a scope that longjmp() left takes those
 * inside it along. @below: of a variable that begins a scope now, which ends an old one; 0: none.
 *  */
uint32_t coati_label_depth(const struct label_thread *t, uint64_t sp, uint32_t below);
/* As coati_labels_snapshot(), for a signal handler that interrupted code with this stack pointer.
 *  */
void coati_labels_read(uint64_t sp, struct coati_labels *ret);

/* process-context.c. Publish the names of the keys, or publish them again. */
void coati_process_context_publish(void);
extern _Atomic int32_t coati_process_context_state; /* as struct coati_label_stats.published */
