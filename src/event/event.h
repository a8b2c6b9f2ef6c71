/* SPDX-License-Identifier: MIT */
/*
 * One open event, as the files of this station share it.
 *
 * Invariants: fd >= 0 from a successful open to the close. A follower is in the list of its leader,
 * in the order of opening, from open to close; a leader that is closed first lets its followers go
 * (leader = NULL), as the kernel does. `running` is a bound, not a fact: false means that nobody
 * has asked the kernel to let the event count. Whoever changes what an event shows calls
 * event_touch(), so that the next measurement does not build on what the last one saw.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include <coati/event.h>

#include "event/calls.h"

struct coati_event {
	const struct event_calls *calls;
	int fd;
	bool running;
	/* Was enabled by a call, and not for a number of overflows: may be stopped and started. */
	bool started;
	bool stopped; /* follower: is not started by starting its leader */
	bool filtered;
	/* leader: since the last measurement, what the group noted is what it shows */
	bool untouched;
	bool fast; /* the mapped page may be read by the thread `owner` */
	uint32_t dropped;
	uint64_t id;
	struct coati_attr attr;
	struct coati_target target;
	char *label;
	struct coati_event *leader;
	struct coati_event *first, *last,
		*next; /* followers of a leader; next follower of the same */
	uint32_t nr_followers;
	uint64_t *words; /* room for a group read that does not fit on the stack */
	size_t nr_words;
	struct coati_control_page *page;
	size_t page_bytes;
	pthread_t owner;
};

/* coati_event_open() with the kernel as a parameter. */
struct event_request {
	const struct event_calls *calls;
	const struct coati_attr *attr;
	const struct coati_target *target;
	const struct coati_event_opts *opts;
	bool lost_optional; /* COATI_READ_LOST is our wish, not the caller's */
};
int coati_event_request(const struct event_request *req, struct coati_event **ret,
			struct coati_error *err);

static inline void event_touch(struct coati_event *ev)
{
	ev->untouched = false;
	if (ev->leader)
		ev->leader->untouched = false;
}

/* The check at the head of every public function. */
static inline int event_state(const struct coati_event *ev)
{
	if (!ev)
		return -EINVAL;
	return ev->fd < 0 ? -EBADF : 0;
}

/*
 * Start and stop a leader and with it its followers. The orders go to the leader alone, without
 * PERF_IOC_FLAG_GROUP: that flag also stops each follower, and Linux 6.12 and later do not start
 * one again when its PMU is another one than that of the leader. The kernel then schedules the PMU
 * of the follower only, on which the running leader is not found, and the follower counts nothing
 * until the next context switch. Each kind of software PMU is one of its own there: cpu-clock,
 * task-clock, the other software events, tracepoints, kprobes, uprobes, breakpoints. A follower
 * that is off when the leader starts stays off, so followers that were stopped go first.
 */
int coati_event_start_group(struct coati_event *leader);
int coati_event_stop_group(struct coati_event *leader);
/* A follower joined a leader that runs, or was started alone: let the kernel schedule the group
 * anew. Nothing happens when the leader does not run. */
int coati_event_reschedule(struct coati_event *follower);

static inline int event_ioctl(const struct coati_event *ev, unsigned long request,
			      unsigned long arg)
{
	return ev->calls->ioctl(ev->calls->ctx, ev->fd, request, arg);
}
