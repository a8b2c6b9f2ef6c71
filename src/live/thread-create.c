/* SPDX-License-Identifier: MIT */
/* A thread that starts with the labels of the one that starts it. */
#include <coati/live.h>

#include "base/alloc.h"
#include "live/labels.h"
#include "live/thread-create.h"

_Atomic(thread_create_fn) coati_thread_create_hook;

struct start {
	void *(*fn)(void *);
	void *arg;
	struct coati_labels labels;
};

static void *run(void *ctx)
{
	struct start start = *(struct start *)ctx;

	coati_free(ctx);
	coati_labels_adopt(&start.labels); /* the scope is the thread */
	return start.fn(start.arg);
}

static int create(const struct thread_start *start, const void *frame)
{
	/* pairs with: release in coati_threadcreate_start() */
	thread_create_fn hook =
		atomic_load_explicit(&coati_thread_create_hook, memory_order_acquire);

	return hook ? hook(start, frame)
		    : pthread_create(start->ret, start->attr, start->fn, start->arg);
}

int coati_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	struct thread_start how = { ret, attr, fn, arg };
	struct coati_labels labels;
	struct start *start = NULL;
	int r;

	coati_labels_snapshot(&labels);
	if (labels.size) {
		start = coati_alloc(sizeof(*start));
		if (!start)
			label_lose(LOSS_MEMORY);
	}
	if (start) {
		*start = (struct start){ fn, arg, labels };
		how.fn = run;
		how.arg = start;
	}
	r = create(&how, __builtin_frame_address(0));
	if (r)
		coati_free(start);
	return r;
}
