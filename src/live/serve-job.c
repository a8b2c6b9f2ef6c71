/* SPDX-License-Identifier: MIT */
/* Threads that make answers: started, left, waited for. */
#include "live/serve-job.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define STACK_BYTES (256 * 1024)

int coati_serve_thread(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int r;

	r = pthread_attr_init(&attr);
	if (r)
		return -r;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	r = thread_start(ret, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return r;
}

static bool wait_for(struct page_job *page, uint64_t ns)
{
	struct serve_job *job = (struct serve_job *)page;
	uint64_t until = now_ns() + ns;
	struct timespec at = { (time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC) };
	bool is_left;

	pthread_mutex_lock(&job->lock);
	while (!job->is_left && now_ns() < until)
		pthread_cond_clockwait(&job->cond, &job->lock, CLOCK_MONOTONIC, &at);
	is_left = job->is_left;
	pthread_mutex_unlock(&job->lock);
	return !is_left;
}

static void *run(void *arg)
{
	struct serve_job *job = arg;
	uint64_t one = 1;

	pthread_setname_np(pthread_self(), "coati-page");
	job->make(&job->page);
	coati_serve_take(&job->page, &job->answer);
	/* pairs with: acquire in the server's look_at_jobs() */
	atomic_store_explicit(&job->done, true, memory_order_release);
	while (write(job->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int coati_job_start(struct serve_job *job, const struct serve_answer *answer, int wake)
{
	int r;

	*job = (struct serve_job){ .taken = true,
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .cond = PTHREAD_COND_INITIALIZER,
				   .make = answer->later->make,
				   .answer = *answer,
				   .wake = wake };
	job->page = (struct page_job){ .page = answer->later,
				       .seconds = answer->seconds,
				       .debug = answer->debug,
				       .stacks = answer->stacks,
				       .text = answer->text,
				       .wait = wait_for,
				       .body = &job->answer.body };
	r = coati_serve_thread(&job->thread, run, job);
	job->taken = r == 0;
	return r;
}

void coati_job_leave(struct serve_job *job)
{
	pthread_mutex_lock(&job->lock);
	job->is_left = true;
	pthread_cond_signal(&job->cond);
	pthread_mutex_unlock(&job->lock);
}

void coati_job_finish(struct serve_job *job, struct serve_answer *ret)
{
	pthread_join(job->thread, NULL);
	pthread_cond_destroy(&job->cond);
	pthread_mutex_destroy(&job->lock);
	coati_free(job->answer.text);
	job->answer.text = NULL;
	*ret = job->answer;
	job->taken = false;
}
