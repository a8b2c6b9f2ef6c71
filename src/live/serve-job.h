/* SPDX-License-Identifier: MIT */
/* Answers that take a while: each is made by a thread of its own, which ends with it, so that
 * others are answered meanwhile. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "live/page.h"
#include "live/serve-pages.h"

#define SERVE_JOBS 8 /* of a server at a time */

/* Taken and given back by the thread of the server alone. */
struct serve_job {
	struct page_job page;
	bool taken;
	_Atomic bool done;
	bool is_left; /* no client waits for it; under the lock */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	void (*make)(struct page_job *job);
	struct serve_answer answer;
	int wake; /* written when it is done */
};

/* A thread with all signals blocked: those of the program are for its own threads. */
int coati_serve_thread(pthread_t *ret, void *(*fn)(void *), void *arg);
/* Begin to make what @answer asks for. */
int coati_job_start(struct serve_job *job, const struct serve_answer *answer, int wake);
/* No client waits for it any more. */
void coati_job_leave(struct serve_job *job);
/* Wait for its end; the answer is the caller's now, and the slot is free. */
void coati_job_finish(struct serve_job *job, struct serve_answer *ret);
