/* SPDX-License-Identifier: MIT */
/*
 * libcoati-live: the library that programs link to trace and profile themselves. It needs only
 * libc. Loading it starts no thread, opens no descriptor, installs no signal handler and allocates
 * nothing.
 *
 * This header has the clock and labels; it includes <coati/tracer.h>.
 */
#ifndef COATI_LIVE_H
#define COATI_LIVE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/tracer.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded libcoati-live.  Thread: any.  Signal: safe.  Memory: never
 * allocates. */
COATI_API COATI_SIGSAFE const char *coati_live_version(void);

/* ---- the clock ---- */

/* All stored times are CLOCK_MONOTONIC nanoseconds. Inside a program the cycle counter is read
 * instead, and converted with a calibration whose error is known. */

/* How the live clock runs. Frozen. */
struct coati_live_clock {
	uint32_t source;      /* 0 clock_gettime, 1 cycle counter */
	uint32_t mult, shift; /* ns = (cycles - cycles_base) * mult >> shift, + ns_base */
	uint32_t reserved;
	uint64_t cycles_base, ns_base;
	uint64_t error_ns; /* error bound of the conversion at the end of the calibration */
	uint64_t hz;	   /* of the cycle counter, 0 when it is not used */
};

/* Calibrate for about @budget_ns (0: 2 ms) and describe the clock. Source is 0 where the cycle
 * counter is not invariant, or readings of both clocks contradict each other.  Thread: any.
 * Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE int coati_live_clock_init(struct coati_live_clock *ret, uint64_t budget_ns);
/* The current time of @clock, in CLOCK_MONOTONIC nanoseconds.  Hot.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE uint64_t coati_live_clock_now(const struct coati_live_clock *clock);

/* ---- labels ----
 *
 * A label is a key and a value that say what a thread works on. Every sample of the thread carries
 * its current labels.
 *
 *	void serve(struct request *r)
 *	{
 *		COATI_LABEL("tenant", r->tenant);	until the end of the block
 *		COATI_LABEL("route", r->route);
 *		...
 *	}
 *
 * A label belongs to the thread that sets it. Scopes nest: the end of a scope restores the labels
 * that the thread had at its begin, including those that coati_label_set() and coati_label_unset()
 * changed inside it. The last value of a key counts; an empty value hides the key.
 *
 * The labels of a thread are published for external profilers as OpenTelemetry thread context (OTEP
 * 4947) and the names of the keys as process context (OTEP 4719); docs/formats/thread-context.md
 * describes the bytes. Programs that link libcoati-live.a need the linker option
 * --export-dynamic-symbol=otel_thread_ctx_v1 for that, which pkg-config adds. A reader (a signal
 * handler on the thread, or a profiler that stopped it) always finds a consistent set, never a
 * partial change.
 *
 * coati record receives label changes only from programs that contain the tracer. The linker takes
 * it from libcoati-live.a when the program uses <coati/tracer.h>, or with
 * -Wl,-u,coati_recorder_start, which pkg-config adds.
 *
 * Limits: 256 keys in a process, of 64 bytes each; values of 255 bytes; COATI_LABELS_BYTES for the
 * labels of a thread, including two bytes of overhead for each; COATI_LABEL_DEPTH nested scopes.
 * Labels over a limit are dropped and counted (coati_labels_stats()); a value that is too long is
 * cut at a character boundary. Exceeding a limit is never fatal: scopes stay balanced.
 *
 * Memory: about 2 KB for each thread that has set a label, until it exits; nothing before. The
 * child of a fork() keeps the labels of the thread that called fork(), and publishes its own
 * process context.
 *
 * Signal handlers may read labels, but must not change them: a change from a signal handler is
 * dropped and counted when it interrupts another change, and may deadlock in the allocator when it
 * is the first of its thread. */

#define COATI_LABELS_BYTES	612
#define COATI_LABEL_KEY_BYTES	64
#define COATI_LABEL_VALUE_BYTES 255
#define COATI_LABEL_KEYS	256
#define COATI_LABEL_DEPTH	64

/* A key: declare it static, so that its name is looked up only once. Its fields are private to the
 * library. Frozen. */
struct coati_label_key {
	const char *name;
	uint32_t id; /* 0 before the first use */
	uint32_t reserved;
};

/* clang-format off */
#define COATI_LABEL_KEY(name) { name, 0, 0 }
/* clang-format on */

/* The argument of coati_label_end(). Its fields are private to the library. Frozen. */
struct coati_label_scope {
	void *thread; /* NULL: nothing to end */
	uint32_t serial, depth;
};

/* Begin a scope with a label. @value is copied; NULL is an empty value. The result can always be
 * passed to coati_label_end(), even when the label was dropped. Hot: no lock, no atomic
 * read-modify-write and no allocation, except at the first use of a key or in a thread.  Thread:
 * any, its own labels.  Signal: not safe. */
COATI_API struct coati_label_scope coati_label_begin(struct coati_label_key *key,
						     const char *value);
/* The same for @size bytes, which need not be zero-terminated. */
COATI_API struct coati_label_scope coati_label_begin_bytes(struct coati_label_key *key,
							   const void *value, size_t size);
/* The same for a scope in a variable of the calling function: when longjmp() leaves that function,
 * the scope ends. The variable must not be moved or modified. COATI_LABEL() uses this function.
 * Hot.  Signal: not safe. */
COATI_API void coati_label_begin_here(struct coati_label_scope *variable,
				      struct coati_label_key *key, const void *value, size_t size);
/* End a scope, on the thread that began it and in reverse order. Inner scopes that were not ended
 * (longjmp) end with it. A scope that has ended already, or that belongs to another thread, is
 * ignored and counted.  Hot.  Signal: not safe. */
COATI_API void coati_label_end(const struct coati_label_scope *scope);

/* Set a label until the current scope of the thread ends, or until the thread exits. Replaces an
 * earlier value in that scope. -E2BIG: it does not fit (an earlier value stays); -ENOSPC: too many
 * keys; -ENOMEM; -EBUSY: called from a signal handler. Each error is counted. */
COATI_API int coati_label_set(struct coati_label_key *key, const char *value);
/* Remove a label, for as long as coati_label_set() would set one. Same errors. */
COATI_API int coati_label_unset(struct coati_label_key *key);

#define COATI_LABEL_JOIN_(a, b) a##b
#define COATI_LABEL_NAME_(a, b) COATI_LABEL_JOIN_(a, b)
static inline struct coati_label_scope coati_label_enter_(struct coati_label_scope *variable,
							  struct coati_label_key *key,
							  const char *value)
{
	coati_label_begin_here(variable, key, value, value ? __builtin_strlen(value) : 0);
	return *variable;
}

/* Set a label until the end of the block, however it is left: break, return, exception, longjmp().
 * At most one per source line. @name is a string literal.
 *
 * longjmp() runs no cleanup code, so the end of such a label is detected later. Samples and
 * snapshots omit it as soon as the running function is not deeper on the stack, or has reused the
 * memory of the variable; the next label change ends it for all readers, including external
 * profilers. A block in the function that called setjmp() itself is still on the stack: its label
 * lasts until the block is entered again, the function returns, or an enclosing scope ends. On the
 * stack of a coroutine longjmp() is not detected: labels last until an enclosing scope ends. */
#define COATI_LABEL(name, value)                                                   \
	static struct coati_label_key COATI_LABEL_NAME_(coati_key_, __LINE__) =    \
		COATI_LABEL_KEY(name);                                             \
	__attribute__((cleanup(coati_label_end), unused)) struct coati_label_scope \
	COATI_LABEL_NAME_(coati_scope_, __LINE__) =                                \
		coati_label_enter_(&COATI_LABEL_NAME_(coati_scope_, __LINE__),     \
				   &COATI_LABEL_NAME_(coati_key_, __LINE__), value)

/* A set of labels: a value that may be copied, stored and passed to other threads. Frozen. */
struct coati_labels {
	uint32_t size; /* bytes used below */
	uint8_t bytes[COATI_LABELS_BYTES];
};

/* One label of a set. @value is not zero-terminated. Frozen. */
struct coati_label_item {
	const char *key;
	const char *value;
	uint32_t size;	/* of @value */
	uint32_t index; /* of the key, from 0 in the order of first use */
};

/* The current labels of this thread, each key once; an empty set if there are none. Thread: any,
 * its own labels.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE void coati_labels_snapshot(struct coati_labels *ret);
/* Iterate over a set; start with *@pos = 0. Returns 1 and a label, 0 at the end, -EBADMSG when
 * @labels is not a set of this process. Thread: any.  Signal: safe.  Lives: as long as @labels. */
COATI_API COATI_SIGSAFE int coati_labels_next(const struct coati_labels *labels, uint32_t *pos,
					      struct coati_label_item *ret);
/* Begin a scope that adds all labels of @labels to those of the thread, for work that was handed
 * over from another thread.
 *
 *	coati_labels_snapshot(&task->labels);				in the old thread
 *	scope = coati_labels_adopt(&task->labels);			in the new thread
 *	task->run(task);
 *	coati_label_end(&scope); */
COATI_API struct coati_label_scope coati_labels_adopt(const struct coati_labels *labels);

/* Like pthread_create(), for a thread that starts with the labels of this one. For a whole program,
 * compile with -Dpthread_create=coati_pthread_create. When there is no memory for the labels, the
 * thread starts without them, and that is counted. */
COATI_API int coati_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
				   void *(*start)(void *), void *arg);

/* What was dropped since the start of the process, and whether the process context is published. */
struct coati_label_stats {
	uint64_t size; /* sizeof(struct coati_label_stats) */
	uint32_t keys; /* in use */
	/* 0: no key was used yet; 1: published; negative: the error. -EEXIST: another library of
	 * this process publishes one. */
	int32_t published;
	/* uses of a key over COATI_LABEL_KEYS, or with no name or one too long */
	uint64_t refused_keys;
	uint64_t over_size;  /* labels that did not fit, or were too deep */
	uint64_t cut_values; /* values that were cut */
	uint64_t no_memory;  /* labels dropped for lack of memory */
	/* scopes ended twice, after the enclosing scope or by another thread; changes from a signal
	 * handler */
	uint64_t misused;
};

/* 0; -EINVAL: ret->size is not set.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE int coati_labels_stats(struct coati_label_stats *ret);

/* For external profilers, which find it by this name: the record of the thread, or NULL. Programs
 * should not use it. */
extern __attribute__((tls_model("initial-exec"))) COATI_API __thread const void *otel_thread_ctx_v1;

#ifdef __cplusplus
}
#endif
#endif
