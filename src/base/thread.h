/* SPDX-License-Identifier: MIT */
/*
 * Threads of our own beside those of a program. All signals are blocked in them from the start:
 * signals are for the program's threads. Conditions are waited for on CLOCK_MONOTONIC.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* As pthread_create(); @attr may be NULL. A negative errno. */
static inline int thread_start(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
			       void *arg)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	/* inherited by the new thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(ret, attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

/* A condition whose timed waits end at a time of CLOCK_MONOTONIC. */
static inline void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
