/* SPDX-License-Identifier: MIT */
/*
 * libcoati-live: what a program embeds. Needs libc alone. Loading it starts no thread, opens no
 * descriptor, installs no handler and allocates nothing.
 *
 * Here: the clock of the live side, and labels; <coati/tracer.h> comes with it.
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

/* Everything at rest in coati is CLOCK_MONOTONIC nanoseconds; inside a program the cycle counter is
 * read instead, and converted with a calibration whose error is known. */

/* How the live clock runs. Frozen. */
struct coati_live_clock {
	uint32_t source;      /* 0 clock_gettime, 1 cycle counter */
	uint32_t mult, shift; /* ns = (cycles - cycles_base) * mult >> shift, + ns_base */
	uint32_t reserved;
	uint64_t cycles_base, ns_base;
	uint64_t error_ns; /* bound of the conversion at the end of the calibration */
	uint64_t hz;	   /* of the cycle counter, 0 when it is not used */
};

/* Calibrate for about @budget_ns (0: 2 ms) and describe the clock. Where the cycle counter is not
 * invariant, or the pairs contradict each other, source is 0.  Thread: any.  Signal: safe.  Memory:
 * never allocates. */
COATI_API COATI_SIGSAFE int coati_live_clock_init(struct coati_live_clock *ret, uint64_t budget_ns);
/* Now, in CLOCK_MONOTONIC nanoseconds by @clock.  Hot.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE uint64_t coati_live_clock_now(const struct coati_live_clock *clock);

/* ---- labels ----
 *
 * What a thread works on, said by the program: key and value, shown beside every sample that is
 * taken of the thread meanwhile.
 *
 *	void serve(struct request *r)
 *	{
 *		COATI_LABEL("tenant", r->tenant);	until the end of the block
 *		COATI_LABEL("route", r->route);
 *		...
 *	}
 *
 * A label belongs to the thread that sets it. Scopes nest: the end of one restores the labels as
 * they were at its begin, also what was set or removed in it without a scope of its own. The last
 * value of a key counts; an empty value hides the key.
 *
 * The set of a thread is published for profilers outside as OpenTelemetry's thread context (OTEP
 * 4947) and the names of the keys as process context (OTEP 4719); docs/formats/thread-context.md
 * describes the bytes. Programs that link libcoati-live.a need the linker's
 * --export-dynamic-symbol=otel_thread_ctx_v1 for that, which pkg-config adds. At every instant the
 * set that a reader finds, be it a signal handler on the thread or a profiler that stopped it, is
 * one that the thread had: never half of a change.
 *
 * coati record has the changes of labels where the program has the tracer. The linker takes it out
 * of libcoati-live.a when the program uses <coati/tracer.h>, or with -Wl,-u,coati_recorder_start,
 * which pkg-config adds.
 *
 * Limits: 256 keys in a process, of 64 bytes each; values of 255 bytes; COATI_LABELS_BYTES for the
 * labels of a thread, with two bytes more for each; COATI_LABEL_DEPTH scopes in each other. What is
 * over them is left out and counted (coati_labels_stats()); a value too long is cut between two
 * characters. The program is never stopped for it: scopes stay balanced, whatever was left out.
 *
 * Memory: about 2 KB for each thread that has set a label, until it exits; nothing before. A child
 * after fork() keeps the labels of the thread that called fork(), and publishes a process context
 * of its own.
 *
 * Labels may be changed by ordinary code alone, and read by signal handlers too. A change out of a
 * signal handler is left out and counted when it meets another one, and may deadlock in the
 * allocator when it is the first of its thread. */

#define COATI_LABELS_BYTES	612
#define COATI_LABEL_KEY_BYTES	64
#define COATI_LABEL_VALUE_BYTES 255
#define COATI_LABEL_KEYS	256
#define COATI_LABEL_DEPTH	64

/* A key: static, so that its name is looked up once. Fields are the library's. Frozen. */
struct coati_label_key {
	const char *name;
	uint32_t id; /* 0 before the first use */
	uint32_t reserved;
};

/* clang-format off */
#define COATI_LABEL_KEY(name) { name, 0, 0 }
/* clang-format on */

/* What coati_label_end() needs. Fields are the library's. Frozen. */
struct coati_label_scope {
	void *thread; /* NULL: nothing to end */
	uint32_t serial, depth;
};

/* Begin a scope with a label in it. @value is copied; NULL is an empty one. Always gives a scope
 * that may be ended, whatever was left out. Hot: no lock, no atomic read-modify-write and no
 * allocation, but at the first use of a key or in a thread. Thread: any, its own labels.  Signal:
 * not safe. */
COATI_API struct coati_label_scope coati_label_begin(struct coati_label_key *key,
						     const char *value);
/* The same for @size bytes that need no zero at their end. */
COATI_API struct coati_label_scope coati_label_begin_bytes(struct coati_label_key *key,
							   const void *value, size_t size);
/* The same for a scope in a variable of the calling function: when longjmp() leaves that function,
 * the scope ends. The variable stays where it is and as it is. COATI_LABEL() is this.
 * Hot.  Signal: not safe. */
COATI_API void coati_label_begin_here(struct coati_label_scope *variable,
				      struct coati_label_key *key, const void *value, size_t size);
/* End it: on the thread that began it, scopes begun later first. When those were left out
 * (longjmp), they end too. One that was ended before, or belongs to another thread, is left alone
 * and counted.  Hot.  Signal: not safe. */
COATI_API void coati_label_end(const struct coati_label_scope *scope);

/* Set a label without a scope of its own: until the scope ends that the thread is in, or until it
 * exits. Replaces an earlier value of that scope. -E2BIG when it does not fit (an earlier value
 * stays), -ENOSPC when the key was refused, -ENOMEM, -EBUSY out of a signal handler; each is
 * counted. */
COATI_API int coati_label_set(struct coati_label_key *key, const char *value);
/* Take a label away, for as long as coati_label_set() would set one. Errors as there. */
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

/* A label until the end of the block, however that is left: break, return, exception, longjmp().
 * One for each line at most. @name is a literal.
 *
 * longjmp() runs nothing, so such a label goes when it is looked at: samples and snapshots leave it
 * out as soon as the function that follows is not deeper, or has used the memory of the variable,
 * and the next change of a label ends it for all, for foreign profilers too. A block in the very
 * function that called setjmp() is still on the stack: its label lasts until the block is entered
 * again, the function has returned, or a scope around it ends. On the stack of a coroutine it is
 * not noticed: there labels last until a scope around them ends. */
#define COATI_LABEL(name, value)                                                   \
	static struct coati_label_key COATI_LABEL_NAME_(coati_key_, __LINE__) =    \
		COATI_LABEL_KEY(name);                                             \
	__attribute__((cleanup(coati_label_end), unused)) struct coati_label_scope \
	COATI_LABEL_NAME_(coati_scope_, __LINE__) =                                \
		coati_label_enter_(&COATI_LABEL_NAME_(coati_scope_, __LINE__),     \
				   &COATI_LABEL_NAME_(coati_key_, __LINE__), value)

/* A set of labels: a value that may be copied, kept and given to other threads. Frozen. */
struct coati_labels {
	uint32_t size; /* bytes used below */
	uint8_t bytes[COATI_LABELS_BYTES];
};

/* One label of a set. The text of @value is not terminated. Frozen. */
struct coati_label_item {
	const char *key;
	const char *value;
	uint32_t size;	/* of @value */
	uint32_t index; /* of the key, from 0 in the order of first use */
};

/* The labels of this thread now, each key once; an empty set where there are none.
 * Thread: any, its own labels.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE void coati_labels_snapshot(struct coati_labels *ret);
/* Walk through a set; *@pos is 0 to begin with. Returns 1 with a label, 0 at the end, -EBADMSG when
 * @labels is not a set of this process. Thread: any.  Signal: safe.  Lives: as long as @labels. */
COATI_API COATI_SIGSAFE int coati_labels_next(const struct coati_labels *labels, uint32_t *pos,
					      struct coati_label_item *ret);
/* Begin a scope with all labels of @labels over those that the thread has: work that was handed
 * over from another thread.
 *
 *	coati_labels_snapshot(&task->labels);				who hands over
 *	scope = coati_labels_adopt(&task->labels);			who takes over
 *	task->run(task);
 *	coati_label_end(&scope); */
COATI_API struct coati_label_scope coati_labels_adopt(const struct coati_labels *labels);

/* pthread_create() for a thread that starts with the labels of this one. For a whole program:
 * -Dpthread_create=coati_pthread_create. When there is no memory for the labels the thread starts
 * without them, and that is counted. */
COATI_API int coati_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
				   void *(*start)(void *), void *arg);

/* What was left out since the start of the process, and how the process context is published. */
struct coati_label_stats {
	uint64_t size; /* sizeof(struct coati_label_stats) */
	uint32_t keys; /* in use */
	/* 0: no key was used yet; 1: published; else negative: why not. -EEXIST: another library of
	 * this process publishes one. */
	int32_t published;
	/* uses of a key over COATI_LABEL_KEYS, or with no name or one too long */
	uint64_t refused_keys;
	uint64_t over_size;  /* labels that did not fit, or were too deep */
	uint64_t cut_values; /* values that were cut */
	uint64_t no_memory;  /* labels that no memory was there for */
	/* scopes ended twice, after the scope around them or by another thread; changes out of a
	 * signal handler */
	uint64_t misused;
};

/* 0; -EINVAL: ret->size is not set.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE int coati_labels_stats(struct coati_label_stats *ret);

/* For profilers outside, which find it by this name: the thread's record, or NULL. Not for
 * programs. */
extern __attribute__((tls_model("initial-exec"))) COATI_API __thread const void *otel_thread_ctx_v1;

#ifdef __cplusplus
}
#endif
#endif
