/* SPDX-License-Identifier: MIT */
/*
 * The profile "threadcreate": a custom profile whose values are the threads that
 * coati_pthread_create() started and that have not ended.
 */
#include <errno.h>

#include "base/alloc.h"
#include "live/profiles/custom.h"
#include "live/thread-create.h"

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct coati_custom *profile; /* written once, before the hook is set */

struct started {
	void *(*fn)(void *);
	void *arg;
};

static void ends(void *ctx)
{
	coati_custom_remove(profile, ctx);
	coati_free(ctx);
}

/* However it ends: return, pthread_exit() or cancellation. */
static void *run(void *ctx)
{
	const struct started *s = ctx;
	void *ret;

	pthread_cleanup_push(ends, ctx);
	ret = s->fn(s->arg);
	pthread_cleanup_pop(1);
	return ret;
}

static int create(const struct thread_start *start, const void *frame)
{
	const struct store_caller caller = { frame, 0 };
	struct started *s = coati_alloc(sizeof(*s));
	int r;

	if (!s) /* not in the profile, but it runs */
		return pthread_create(start->ret, start->attr, start->fn, start->arg);
	*s = (struct started){ start->fn, start->arg };
	coati_custom_put(profile, s, &caller);
	r = pthread_create(start->ret, start->attr, run, s);
	if (r)
		ends(s);
	return r;
}

int coati_threadcreate_start(struct coati_custom **ret, struct coati_error *err)
{
	int r = 0;

	pthread_mutex_lock(&starting);
	if (!profile)
		r = coati_custom_open("threadcreate", NULL, &profile, err);
	if (r == 0) {
		/* pairs with: acquire in coati_pthread_create() */
		atomic_store_explicit(&coati_thread_create_hook, create, memory_order_release);
		if (ret)
			*ret = profile;
	}
	pthread_mutex_unlock(&starting);
	return r;
}
