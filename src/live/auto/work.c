/* SPDX-License-Identifier: MIT */
/*
 * The thread: it sleeps until something is wanted, starts and stops sampling and writes profiles.
 * Everything that takes locks or memory happens here, so that the thread that asks may be anywhere,
 * in a signal handler too, and waits for a limited time at worst.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "live/auto/auto.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif
#define UNSHARE	     2UL /* CLOSE_RANGE_UNSHARE */
#define SIGSET_BYTES 8UL /* the kernel's */
#define TRIES_START  20
#define TRY_AGAIN_US 20000
/* Most children of a fork() become another program at once: those that do not are sampled from here
 * on. */
#define LAZY_NS 10000000L

/* Of the thread, and of others while there is none. */
static struct {
	struct auto_config config;
	struct auto_file file;
	struct coati_error err; /* of the last profile */
	time_t start;
	const char *program;
	uint32_t count; /* of profiles before this one */
	bool lazy;
	bool apart; /* descriptors of our own */
} job;		    /* zeros: a program that is not profiled has no copy of it in its file */

static uint32_t phase(void)
{
	return atomic_load_explicit(&coati_auto_words.phase, memory_order_relaxed);
}

/* ---- one profile ---- */

static int open_place(void)
{
	struct auto_facts facts = {
		.pid = getpid(), .start = job.start, .program = job.program, .count = job.count + 1
	};
	struct strbuf path = STRBUF_INIT(AUTO_PATH_MAX - 1);
	int r = coati_auto_name_expand(job.config.pattern, &facts, secure_getenv, &path, &job.err);

	if (r == 0)
		r = coati_auto_file_open(&job.file, path.text, &job.err);
	coati_strbuf_fini(&path);
	return r;
}

/* While another thread is about to become another program, none can be started: this one will not
 * be there to hear of it then. */
static int start_subject(void)
{
	int r = coati_auto_subject_start(&job.config, job.apart, &job.err);

	for (int i = 0; r == -EAGAIN && i < TRIES_START; i++) {
		usleep(TRY_AGAIN_US);
		job.err = (struct coati_error){ 0 };
		r = coati_auto_subject_start(&job.config, job.apart, &job.err);
	}
	return r;
}

static void start_profile(void)
{
	int r;

	if (phase() == AUTO_SAMPLING)
		return;
	job.err = (struct coati_error){ 0 };
	r = open_place();
	if (r == 0 && (r = start_subject()) < 0) {
		coati_error_prefix(&job.err, AUTO_VARIABLE ": ");
		coati_auto_file_close(&job.file);
	}
	if (r < 0)
		coati_auto_say("%s", job.err.text);
	else
		atomic_store_explicit(&coati_auto_words.phase, AUTO_SAMPLING, memory_order_relaxed);
}

/* Stopped, and in the file that has no right name yet. */
static int write_profile(bool *ret_any)
{
	struct coati_error why = { 0 };
	int r = coati_auto_file_begin(&job.file, &job.err);
	int stopped = coati_auto_subject_stop(&job.config, job.file.fd, ret_any, &why);

	if (r < 0)
		return r;
	if (stopped == -ESRCH)
		return coati_fail(
			&job.err, stopped,
			AUTO_VARIABLE
			": %s: the program has stopped the sampler itself; nothing is left to "
			"write",
			job.file.path);
	if (stopped < 0)
		return coati_fail(&job.err, stopped, AUTO_VARIABLE ": %s: %s", job.file.path,
				  why.text);
	return 0;
}

/* @pause: another program takes this process over, and our name when we have nothing to write. */
static void end_profile(bool pause)
{
	bool wanted, any = false;
	int r, ended;

	if (phase() != AUTO_SAMPLING)
		return;
	r = write_profile(&any);
	wanted = r == 0 && (any || (!pause && !job.config.keep));
	if (job.file.fd >= 0) {
		ended = coati_auto_file_end(&job.file, wanted, job.config.keep,
					    r < 0 ? NULL : &job.err);
		r = r < 0 ? r : ended;
	}
	coati_auto_file_close(&job.file);
	if (r < 0)
		coati_auto_say("%s", job.err.text);
	if (r == 0 && wanted) {
		job.count++;
		atomic_fetch_add_explicit(&coati_auto_words.written, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&coati_auto_words.phase, AUTO_IDLE, memory_order_relaxed);
}

/* ---- the thread ---- */

/* Two signals at a time have done nothing. */
static void heed_signals(void)
{
	uint32_t n = atomic_exchange_explicit(&coati_auto_words.signals, 0, memory_order_relaxed);

	if (n % 2 == 0)
		return;
	if (phase() == AUTO_SAMPLING)
		end_profile(false);
	else
		start_profile();
}

/* Until more than @seen was asked, or for the time of @limit. */
static void sleep_on(uint32_t seen, const struct timespec *limit)
{
	syscall(SYS_futex, &coati_auto_words.asked, FUTEX_WAIT_PRIVATE, seen, limit, NULL, 0);
}

static bool do_wanted(uint32_t wants)
{
	heed_signals();
	if (wants & (AUTO_PAUSE | AUTO_END))
		end_profile(wants & AUTO_PAUSE);
	if (wants & AUTO_START && !(wants & AUTO_END))
		start_profile();
	return wants & AUTO_END;
}

static void *work(void *arg)
{
	static const struct timespec lazy = { .tv_nsec = LAZY_NS };
	struct auto_words *w = &coati_auto_words;
	uint32_t seen = 0;
	bool ended = false;

	(void)arg;
	pthread_setname_np(pthread_self(), AUTO_THREAD);
	job.apart = syscall(SYS_close_range, 0UL, ~0UL >> 32, UNSHARE) == 0;
	coati_auto_say_from_apart(job.apart);
	if (job.lazy) {
		sleep_on(0, &lazy);
		atomic_fetch_or_explicit(&w->wants, AUTO_START, memory_order_relaxed);
	}
	while (!ended) {
		/* pairs with: release in coati_auto_ask() */
		seen = atomic_load_explicit(&w->asked, memory_order_acquire);
		ended = do_wanted(atomic_exchange_explicit(&w->wants, 0, memory_order_acquire));
		/* both pair with: acquire in coati_auto_wait() */
		atomic_store_explicit(&w->ended, ended, memory_order_release);
		atomic_store_explicit(&w->done, seen, memory_order_release);
		syscall(SYS_futex, &w->done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		if (!ended)
			sleep_on(seen, NULL);
	}
	return NULL;
}

int coati_auto_thread_start(pthread_t *ret, void *(*fn)(void *))
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	/* is inherited; not by the call that libcoati-preload stands in front of */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, SIGSET_BYTES);
	r = pthread_create(ret, NULL, fn, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGSET_BYTES);
	return r;
}

int coati_auto_work_start(const struct auto_config *c, bool lazy, struct coati_error *err)
{
	pthread_t thread;
	int r;

	job.config = *c;
	job.lazy = lazy;
	atomic_store_explicit(&coati_auto_words.pid, getpid(), memory_order_relaxed);
	coati_auto_guard_main();
	r = coati_auto_thread_start(&thread, work);
	if (r) { /* there is no thread to wait for, here and in children */
		atomic_store_explicit(&coati_auto_words.ended, true, memory_order_relaxed);
		atomic_store_explicit(&coati_auto_words.pid, 0, memory_order_relaxed);
		return coati_fail(err, -r, AUTO_VARIABLE ": a thread: %m; no profile is taken");
	}
	pthread_detach(thread);
	return 0;
}

void coati_auto_work_remember(time_t start, const char *program)
{
	job.start = start;
	job.program = program;
}

int coati_auto_work_error(struct coati_error *ret)
{
	if (ret && job.err.code)
		*ret = job.err;
	return job.err.code;
}

void coati_auto_work_forget(void)
{
	struct auto_words *w = &coati_auto_words;

	coati_auto_subject_forget();
	atomic_store_explicit(&w->asked, 0, memory_order_relaxed);
	atomic_store_explicit(&w->done, 0, memory_order_relaxed);
	atomic_store_explicit(&w->wants, 0, memory_order_relaxed);
	atomic_store_explicit(&w->signals, 0, memory_order_relaxed);
	atomic_store_explicit(&w->phase, AUTO_IDLE, memory_order_relaxed);
	atomic_store_explicit(&w->written, 0, memory_order_relaxed);
	job.file.dir_fd = job.file.fd = -1; /* they were in the table of the parent's thread */
	job.count = 0;
}
