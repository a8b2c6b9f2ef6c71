/* SPDX-License-Identifier: MIT */
/*
 * The thread that answers the walker. A process that is not described, or has mapped something new,
 * costs a copy of its stack at each sample, so the answer must not wait for whatever else the
 * recorder does. In: requests of the walker, out of ring buffers of their own. Out: described
 * address spaces. Tables that are not there yet are made here, in the background.
 *
 * It has images and an unwinder of its own; nothing is shared but the walker's maps, which only
 * this thread writes once it runs.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/event.h>

#include "base/array.h"
#include "capture/describe.h"
#include "capture/rings.h"

/* When a process ended. */
struct process_end {
	uint64_t time;
	int32_t pid;
};

struct describer {
	struct describe describe;
	struct coati_images *images;
	struct coati_unwinder *unwinder;
	struct rings rings;
	bool has_rings, has_lock, runs;
	bool stops; /* atomic */
	pthread_t thread;
	pthread_mutex_t lock;
	ARRAY(struct process_end) gone; /* under the lock */
	uint8_t *joined;
};

int coati_describer_init(struct describer *d, struct walker *walker, const char *procfs,
			 struct coati_error *err);
/* Hear the requests that come through the events of @needs. */
int coati_describer_listen(struct describer *d, const struct coati_set *needs,
			   struct coati_error *err);
/* Before this d->describe is the caller's, after it the thread's. */
int coati_describer_start(struct describer *d, struct coati_error *err);
/* The process has ended. Any thread. */
void coati_describer_forget(struct describer *d, int32_t pid, uint64_t time);
void coati_describer_fini(struct describer *d);
