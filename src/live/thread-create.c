/* SPDX-License-Identifier: MIT */
/* A thread that starts with the labels of the one that starts it. */
#include <coati/live.h>

#include "base/alloc.h"
#include "live/labels.h"

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

int coati_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	struct coati_labels labels;
	struct start *start;
	int r;

	coati_labels_snapshot(&labels);
	if (!labels.size)
		return pthread_create(ret, attr, fn, arg);
	start = coati_alloc(sizeof(*start));
	if (!start) {
		label_lose(LOSS_MEMORY);
		return pthread_create(ret, attr, fn, arg);
	}
	*start = (struct start){ fn, arg, labels };
	r = pthread_create(ret, attr, run, start);
	if (r)
		coati_free(start);
	return r;
}
