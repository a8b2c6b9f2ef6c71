/* SPDX-License-Identifier: MIT */
/*
 * Profiling that the environment asks for (COATI_PROFILE), inside. The constructor reads what is
 * asked for; a thread of the library does everything else: it has a table of descriptors of its
 * own, so that the program's are as they would be without us and what it closes is never ours. A
 * request (the end of the program, a signal, an exec) is written into words of memory, and its
 * sender may wait, for a limited time.
 *
 *	config    the variables                      name     a pattern becomes a file name
 *	note      runtimes find each other           file     a profile gets its name when it is
 *	          whole
 *	handler   the signal of COATI_SIGNAL         say      one line on stderr, if it still is
 *	          ours
 *	work      the thread                         guard    main() that leaves its threads
 *	auto      constructor, end, fork             cpu      starts and stops the CPU profile
 *	                                             (preload/heap.c: the heap profile)
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <coati/error.h>
#include <coati/sampler.h>

#include "base/strbuf.h"

#ifdef COATI_AUTO_HEAP /* libcoati-preload-heap */
#define AUTO_VARIABLE "COATI_HEAP"
#else
#define AUTO_VARIABLE "COATI_PROFILE"
#endif
#define AUTO_THREAD	 "coati-auto" /* name of our threads */
#define AUTO_PATTERN_MAX 4000u	      /* bytes */
#define AUTO_PATH_MAX	 4096u
#define AUTO_BASE_MAX	 255u

/* ---- config ---- */

struct auto_config {
	char *pattern; /* absolute */
	/* files that are there stay, and a profile without samples is not written: processes that a
	 * profiled one started */
	bool keep;
	bool children;	/* they are to be profiled, too */
	int32_t signal; /* that starts and ends; 0: from the start to the end of the program */
	uint32_t rate_hz, max_depth;
	uint32_t flags; /* of the sampler */
	enum coati_sampler_engine engine;
	enum coati_sampler_stacks stacks;
	enum coati_sampler_clock clock;
	uint64_t rate_bytes; /* of a heap profile; 0: as usual */
};

/* How a variable is read: secure_getenv(), or a test's own. */
typedef char *(*auto_getenv_fn)(const char *name);

/* All of it, with @pattern for the file. A sentence that names the variable, its value and what it
 * may be in @err. */
int coati_auto_config_read(struct auto_config *ret, const char *pattern, auto_getenv_fn get,
			   struct coati_error *err);
void coati_auto_config_fini(struct auto_config *c);
/* "USR2", "SIGUSR2", "RTMIN+1", "12". -EINVAL: no such signal; -EACCES: one that is needed for
 * something else. */
int coati_auto_signal_parse(const char *text, int32_t *ret);

/* ---- name ---- */

struct auto_facts {
	int32_t pid;
	time_t start;	     /* of the program */
	const char *program; /* its name */
	uint32_t count;	     /* of the profile in this process, from 1 */
};

/* Whether %@letter is in it. */
bool coati_auto_name_has(const char *pattern, char letter);
/* The name that a pattern stands for. */
int coati_auto_name_expand(const char *pattern, const struct auto_facts *facts, auto_getenv_fn get,
			   struct strbuf *ret, struct coati_error *err);
/* The variable for processes that this one starts: absolute, never replacing, with %p. */
void coati_auto_name_for_children(const char *pattern, struct strbuf *ret);

/* ---- file ---- */

struct auto_file {
	int dir_fd, fd;		  /* the second: of the file that has no right name yet */
	char path[AUTO_PATH_MAX]; /* for people */
	const char *base;	  /* in it */
	char temporary[40];
};

/* The directory is there, may be written, and nothing is in the way. */
int coati_auto_file_open(struct auto_file *f, const char *path, struct coati_error *err);
/* f->fd is open for writing. */
int coati_auto_file_begin(struct auto_file *f, struct coati_error *err);
/* What was written gets its name; @keep: or the first free one with a number, which is in f->path
 * then. Without @wanted it goes away. */
int coati_auto_file_end(struct auto_file *f, bool wanted, bool keep, struct coati_error *err);
void coati_auto_file_close(struct auto_file *f);

/* ---- say ---- */

/* What stderr is now is where words go. */
void coati_auto_say_init(void);
/* "coati: ...\n"; nothing when stderr is something else by now. */
void coati_auto_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From a thread with a table of its own, too. */
void coati_auto_say_from_apart(bool apart);

/* ---- note ---- */

/* Whether another runtime in this process does, or will do, what we are about to do. */
bool coati_auto_is_elsewhere(void);
/* Read by other runtimes through a note of the file that we are in. */
extern _Atomic uint32_t coati_auto_active;
/* We are libcoati-preload. */
extern const bool coati_auto_preloaded;

/* ---- what is profiled: cpu.c, or preload/heap.c ---- */

/* @apart: descriptors that are opened are not the program's. -EAGAIN: no thread can be started now.
 *  */
int coati_auto_subject_start(const struct auto_config *c, bool apart, struct coati_error *err);
/* Stop, and write to @fd; *ret_any: it has samples. -ESRCH: the program has stopped it itself. */
int coati_auto_subject_stop(const struct auto_config *c, int fd, bool *ret_any,
			    struct coati_error *err);
/* In the child of a fork(). */
void coati_auto_subject_forget(void);

/* ---- the thread, and what others tell it ---- */

enum { AUTO_START = 1, AUTO_PAUSE = 2, AUTO_END = 4 };
enum auto_phase { AUTO_IDLE = 0, AUTO_SAMPLING };

struct auto_words {
	_Atomic uint32_t asked; /* counted up by everyone who wants something; a futex */
	_Atomic uint32_t done;	/* what "asked" was when all of it was done; a futex */
	_Atomic uint32_t wants; /* AUTO_... */
	_Atomic uint32_t signals;
	_Atomic uint32_t phase;	  /* enum auto_phase */
	_Atomic uint32_t written; /* files */
	_Atomic uint32_t ended;	  /* the thread is done for good */
	_Atomic int32_t pid;	  /* of the process that all this is of */
	_Atomic int32_t signal;	  /* of the sampler: 0, SIGTRAP or SIGPROF */
};
extern struct auto_words coati_auto_words;

/* The signal of COATI_SIGNAL.  Signal: safe. */
void coati_auto_handler(int sig);
/* Want something (AUTO_...; 0: only look).  Signal: safe. */
uint32_t coati_auto_ask(uint32_t wants);
/* Until it is done, or so many seconds have passed: whether it is.  Signal: safe. */
bool coati_auto_wait(uint32_t ticket, uint32_t seconds);
/* How long: where a program may be in a signal handler, it may hold the lock of malloc() that the
 * thread needs. */
#define AUTO_PATIENT   60u
#define AUTO_IMPATIENT 5u

/* A thread that no signal is for. 0 or an errno. */
int coati_auto_thread_start(pthread_t *ret, void *(*fn)(void *));
/* The calling thread, if it is the main one, may leave by pthread_exit(). */
void coati_auto_guard_main(void);
/* @lazy: it starts to sample after a while only. */
int coati_auto_work_start(const struct auto_config *c, bool lazy, struct coati_error *err);
/* In the child of a fork(), where there is no thread: as if nothing had been. */
void coati_auto_work_forget(void);
/* The last thing that went wrong with a profile, 0 when the last one was well. */
int coati_auto_work_error(struct coati_error *ret);
/* The program that is in this process now. */
void coati_auto_work_remember(time_t start, const char *program);

/* Around an exec, of libcoati-preload. Signal: safe. 1: what was sampled is in its file. 0: nothing
 * was to be done, or nothing was sampled; *ret_own: then the value of COATI_PROFILE that makes the
 * next program take our place, or NULL. */
int coati_auto_before_exec(const char **ret_own, const char **ret_children);
/* It failed: go on. */
void coati_auto_after_exec(void);
/* Before _exit().  Signal: safe. */
void coati_auto_before_exit(void);
