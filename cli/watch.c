/* SPDX-License-Identifier: MIT */
/* ppoll over pidfds; the signals are let in only while it sleeps, so none is missed in between. */
#include "cli/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "cli/stop.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
/* Linux 6.9: also for threads that are not the first of their process */
#define PIDFD_THREAD_ O_EXCL

#define LOOK_NS	 (100 * NSEC_PER_MSEC) /* between looks at tasks without a pidfd */
#define POLL_MAX 1024		       /* pidfds that are polled; the ends of more are looked for */

static int watch_add(struct watch *w, int32_t id, unsigned int flags)
{
	int fd = (int)syscall(SYS_pidfd_open, id, flags);
	struct watch_task *t;

	if (fd < 0 && errno == ESRCH)
		return 0;
	t = ARRAY_ADD(w);
	if (!t) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	*t = (struct watch_task){ .id = id, .fd = fd < 0 ? -1 : fd };
	return 0;
}

int coati_watch_process(struct watch *w, int32_t pid)
{
	return watch_add(w, pid, 0);
}

int coati_watch_thread(struct watch *w, int32_t tid)
{
	return watch_add(w, tid, PIDFD_THREAD_);
}

static bool task_alive(const struct watch_task *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	char path[32];

	if (t->fd >= 0)
		return poll(&p, 1, 0) <= 0;
	snprintf(path, sizeof(path), "/proc/%d", t->id);
	return !access(path, F_OK);
}

/* Forget the tasks that have ended. */
static void watch_prune(struct watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->len; i++) {
		if (task_alive(&w->v[i]))
			w->v[kept++] = w->v[i];
		else if (w->v[i].fd >= 0)
			close(w->v[i].fd);
	}
	w->len = kept;
}

/* Sleep until one of the tasks may have ended, a signal arrives or @until passes. */
static void watch_sleep(const struct watch *w, uint64_t until, const sigset_t *mask)
{
	struct pollfd polls[POLL_MAX];
	uint64_t now = now_ns(), left;
	struct timespec ts;
	nfds_t nr = 0;
	bool look = w->len > POLL_MAX;

	for (size_t i = 0; i < w->len && nr < POLL_MAX; i++) {
		if (w->v[i].fd >= 0)
			polls[nr++] = (struct pollfd){ .fd = w->v[i].fd, .events = POLLIN };
		else
			look = true;
	}
	if (look && (until < now || until - now > LOOK_NS))
		until = now + LOOK_NS;
	left = until > now ? until - now : 0;
	ts = (struct timespec){ .tv_sec = (time_t)(left / NSEC_PER_SEC),
				.tv_nsec = (long)(left % NSEC_PER_SEC) };
	(void)ppoll(polls, nr, until == WATCH_FOREVER ? NULL : &ts, mask);
}

enum watch_event coati_watch_wait(struct watch *w, uint64_t deadline_ns, int known_stops)
{
	bool had_tasks = w->len > 0;
	enum watch_event ret;
	sigset_t stops, before;

	coati_stop_mask(&stops);
	sigprocmask(SIG_BLOCK, &stops, &before);
	while (true) {
		watch_prune(w);
		if (coati_stop_count() > known_stops) {
			ret = WATCH_STOP;
			break;
		}
		if (had_tasks && !w->len) {
			ret = WATCH_ENDED;
			break;
		}
		if (now_ns() >= deadline_ns) {
			ret = WATCH_TIME;
			break;
		}
		watch_sleep(w, deadline_ns, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

void coati_watch_fini(struct watch *w)
{
	for (size_t i = 0; i < w->len; i++) {
		if (w->v[i].fd >= 0)
			close(w->v[i].fd);
	}
	ARRAY_FINI(w);
}
