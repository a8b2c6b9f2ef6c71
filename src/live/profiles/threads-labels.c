/* SPDX-License-Identifier: MIT */
/*
 * The labels of other threads. Programs without the page that shows them have no list: labels know
 * this file by weak names only.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/labels.h"
#include "live/profiles/threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct label_thread *first; /* this and the next under the lock */
static uint32_t forking;	   /* the thread that forks */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	forking = (uint32_t)syscall(SYS_gettid);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* One thread is left, with another number. Its state is in the list: what it uses now may be that
 * of a fiber, which has an end of its own. */
static void in_child(void)
{
	while (first && first->tid != forking)
		first = first->next;
	if (first) {
		first->next = NULL;
		first->tid = (uint32_t)syscall(SYS_gettid);
	}
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

void coati_label_thread_begins(struct label_thread *t)
{
	pthread_once(&once, watch_forks);
	t->tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	t->next = first;
	first = t;
	pthread_mutex_unlock(&lock);
}

void coati_label_thread_ends(struct label_thread *t)
{
	struct label_thread **at = &first;

	pthread_mutex_lock(&lock);
	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	pthread_mutex_unlock(&lock);
}

/* Copies made by the kernel: the thread may be writing, or have ended the fiber, and then this is
 * thrown away. */
static bool copy_record(struct label_thread *t, struct label_record *ret)
{
	struct label_thread *runs = atomic_load_explicit(&t->runs, memory_order_relaxed);
	struct label_record *now = NULL;

	return coati_threads_copy(runs ? &runs->now : &t->now, &now, sizeof(now)) && now &&
	       coati_threads_copy(now, ret, sizeof(*ret));
}

void coati_thread_labels(uint32_t tid, struct coati_labels *ret)
{
	struct label_record record;
	struct label_thread *t;
	uint32_t size;

	ret->size = 0;
	pthread_mutex_lock(&lock);
	for (t = first; t && t->tid != tid;)
		t = t->next;
	if (t && copy_record(t, &record)) {
		size = atomic_load_explicit(&record.size, memory_order_relaxed);
		if (size <= COATI_LABELS_BYTES)
			ret->size = coati_labels_compact(record.entries, size, ret->bytes);
	}
	pthread_mutex_unlock(&lock);
}
