/* SPDX-License-Identifier: MIT */
/* see describer.h */
#include "capture/describer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "capture/spans.h"
#include "capture/walks.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define GONE_MAX   (1u << 20)
#define RING_PAGES 2

int coati_describer_init(struct describer *d, struct walker *walker, const char *procfs,
			 struct coati_error *err)
{
	struct coati_images_opts o = { .size = sizeof(o), .procfs = procfs };
	int r;

	d->gone.max = GONE_MAX;
	d->has_lock = pthread_mutex_init(&d->lock, NULL) == 0;
	d->joined = coati_alloc(SPANS_RECORD_MAX);
	if (!d->has_lock || !d->joined)
		return coati_fail(err, -ENOMEM, "out of memory for the stack walker");
	r = coati_images_new(&o, &d->images, err);
	if (r == 0)
		r = coati_unwinder_new(d->images, NULL, &d->unwinder, err);
	if (r == 0)
		coati_describe_init(&d->describe, walker, d->unwinder, procfs);
	return r;
}

int coati_describer_listen(struct describer *d, const struct coati_set *needs,
			   struct coati_error *err)
{
	int r = coati_rings_init(&d->rings, RING_PAGES * (uint64_t)sysconf(_SC_PAGESIZE), err);

	d->has_rings = true;
	return r < 0 ? r : coati_rings_connect(&d->rings, needs, false, NULL, err);
}

/* ---- the thread ---- */

static void take_gone(struct describer *d)
{
	for (;;) {
		struct process_end end = { .pid = 0 };

		pthread_mutex_lock(&d->lock);
		if (d->gone.len)
			end = d->gone.v[--d->gone.len];
		pthread_mutex_unlock(&d->lock);
		if (!end.pid)
			return;
		coati_describe_forget(&d->describe, end.pid);
		/* by this thread, which brings them: what it was reading is there by now */
		if (d->describe.labels)
			coati_thread_labels_gone(d->describe.labels, end.pid, end.time);
	}
}

static void take_ring(struct describer *d, struct coati_ring *ring)
{
	struct coati_span s[2];
	const uint8_t *p;
	size_t at = 0;

	if (coati_ring_peek(ring, &s[0], &s[1]) < 0)
		return;
	while ((p = record_at(s, at, d->joined))) {
		struct walker_need need;
		int32_t pid;

		at += record_size(p);
		if (coati_walks_need(p, &pid, &need))
			(void)coati_describe(&d->describe, pid, &need);
	}
	coati_ring_consume(ring, s[0].size + s[1].size);
}

static void *answer(void *arg)
{
	struct describer *d = arg;

	while (!__atomic_load_n(&d->stops, __ATOMIC_ACQUIRE)) {
		(void)coati_reader_wait(d->rings.reader);
		take_gone(d);
		for (uint32_t i = 0; i < rings_count(&d->rings); i++)
			take_ring(d, coati_reader_ring(d->rings.reader, i));
	}
	return NULL;
}

int coati_describer_start(struct describer *d, struct coati_error *err)
{
	int r = thread_start(&d->thread, NULL, answer, d);

	if (r < 0)
		return coati_fail(err, r,
				  "the thread that describes processes cannot be started: %m");
	d->runs = true;
	return 0;
}

void coati_describer_forget(struct describer *d, int32_t pid, uint64_t time)
{
	struct process_end *slot;

	pthread_mutex_lock(&d->lock);
	slot = ARRAY_ADD(&d->gone);
	if (slot) /* else it is kept until the end */
		*slot = (struct process_end){ time, pid };
	pthread_mutex_unlock(&d->lock);
}

void coati_describer_fini(struct describer *d)
{
	if (d->runs) {
		/* pairs with the load in answer() */
		__atomic_store_n(&d->stops, true, __ATOMIC_RELEASE);
		coati_reader_wake(d->rings.reader);
		pthread_join(d->thread, NULL);
	}
	if (d->has_rings)
		coati_rings_fini(&d->rings);
	if (d->has_lock)
		pthread_mutex_destroy(&d->lock);
	if (d->describe.walker)
		coati_describe_fini(&d->describe);
	coati_unwinder_free(&d->unwinder);
	coati_images_free(&d->images);
	ARRAY_FINI(&d->gone);
	coati_free(d->joined);
	*d = (struct describer){ 0 };
}
