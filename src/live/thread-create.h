/* SPDX-License-Identifier: MIT */
/* Who else wants to know that coati_pthread_create() starts a thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

struct thread_start {
	pthread_t *ret;
	const pthread_attr_t *attr;
	void *(*fn)(void *);
	void *arg;
};

/* Instead of pthread_create(). @frame is of coati_pthread_create(), which has not returned. */
typedef int (*thread_create_fn)(const struct thread_start *start, const void *frame);
extern _Atomic(thread_create_fn) coati_thread_create_hook; /* NULL: none */
