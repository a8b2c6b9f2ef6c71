/* SPDX-License-Identifier: MIT */
/*
 * Waiting for processes and threads to end, for a point in time, or for being asked to stop,
 * whichever comes first. Ends are seen at once where the kernel has pidfds for the task, else
 * within a tenth of a second.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

enum watch_event {
	WATCH_TIME = 0, /* the deadline has passed */
	WATCH_ENDED,	/* all tasks have ended */
	WATCH_STOP,	/* coati_stop_count() is more than what the caller knew */
};

struct watch_task {
	int32_t id;
	int fd; /* pidfd, or -1: its directory in /proc is looked at */
};

struct watch {
	struct watch_task *v; /* those that live */
	size_t len, cap, max;
};

#define WATCH_INIT              \
	{                       \
		.max = 1 << 20, \
	}
#define WATCH_FOREVER UINT64_MAX

/* Watch one more: a process, or one thread. One that is gone already is left out. -ENOMEM. */
int coati_watch_process(struct watch *w, int32_t pid);
int coati_watch_thread(struct watch *w, int32_t tid);
/* Wait. @deadline_ns is CLOCK_MONOTONIC, @known_stops is the count that the caller has dealt with.
 * Without any task only time and stop are waited for. */
enum watch_event coati_watch_wait(struct watch *w, uint64_t deadline_ns, int known_stops);
void coati_watch_fini(struct watch *w);
