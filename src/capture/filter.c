/* SPDX-License-Identifier: MIT */
/* see filter.h */
#include "capture/filter.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/capture.h"
#include "event/list.h"

#define PROCESSES_MAX 1024
/* what these record is of all threads of a CPU, and would have to be filtered by the reader */
#define UNFILTERED (COATI_CAPTURE_ON_EXEC | COATI_CAPTURE_OFF_CPU | COATI_CAPTURE_SWITCHES)

/* Its threads, as far as they matter. */
static uint32_t count_threads(const struct coati_capture *cap, int32_t pid, uint32_t most)
{
	char path[512];
	CLEANUP(dir_closep) DIR *dir = NULL;
	uint32_t nr = 0;

	snprintf(path, sizeof(path), "%s/%d/task", cap->opts.procfs ? cap->opts.procfs : "/proc",
		 pid);
	dir = opendir(path);
	for (struct dirent *e; dir && nr <= most && (e = readdir(dir));)
		nr += e->d_name[0] != '.';
	return nr;
}

/* Tracepoints and probes run their program at every hit, and its answer is for all of them. */
static bool are_sampled(const struct coati_event_list *list)
{
	for (uint32_t i = 0; i < coati_event_list_count(list); i++) {
		const struct coati_event_desc *d = coati_event_list_get(list, i);

		if (d->kind == COATI_EVENT_TRACEPOINT || d->kind == COATI_EVENT_KPROBE ||
		    d->kind == COATI_EVENT_UPROBE || d->kind == COATI_EVENT_USDT)
			return false;
	}
	return true;
}

bool coati_filter_is_wanted(const struct coati_capture *cap)
{
	const struct coati_capture_opts *o = &cap->opts;
	uint32_t nr = 0;

	if (!o->nr_pids || o->nr_pids > PROCESSES_MAX || o->nr_tids || o->when ||
	    o->flags & UNFILTERED || !are_sampled(cap->sets[SET_EVENTS].list) ||
	    !coati_off_cpu_numbers_agree(o->procfs))
		return false;
	for (uint64_t i = 0; i < o->nr_pids && nr <= FILTER_THREADS; i++)
		nr += count_threads(cap, o->pids[i], FILTER_THREADS);
	return nr > FILTER_THREADS;
}

int coati_filter_open(struct coati_capture *cap)
{
	struct filter *f = &cap->filter;

	f->processes.max = PROCESSES_MAX;
	for (uint64_t i = 0; i < cap->opts.nr_pids; i++) {
		int32_t pid = cap->opts.pids[i];
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);
		struct filter_process *p = fd < 0 ? NULL : ARRAY_ADD(&f->processes);
		int r = fd < 0 ? -errno : p ? 0 : -ENOMEM;

		if (r < 0) {
			if (fd >= 0)
				close(fd);
			return r;
		}
		*p = (struct filter_process){ fd, pid };
		r = coati_walker_add_target(cap->walks->walker, pid);
		if (r < 0)
			return r;
	}
	f->is_on = true;
	return 0;
}

void coati_filter_close(struct filter *f)
{
	for (size_t i = 0; i < f->processes.len; i++)
		if (f->processes.v[i].fd >= 0)
			close(f->processes.v[i].fd);
	ARRAY_FINI(&f->processes);
	*f = (struct filter){ 0 };
}

bool coati_filter_is_over(struct coati_capture *cap)
{
	struct filter *f = &cap->filter;
	bool any = false;

	if (!f->is_on)
		return false;
	for (size_t i = 0; i < f->processes.len; i++) {
		struct filter_process *p = &f->processes.v[i];
		struct pollfd poll_fd = { .fd = p->fd, .events = POLLIN };

		if (p->fd < 0)
			continue;
		if (poll(&poll_fd, 1, 0) <= 0) {
			any = true;
			continue;
		}
		/* its number may be another's soon */
		coati_walker_remove_target(cap->walks->walker, p->pid);
		close(p->fd);
		p->fd = -1;
	}
	return !any;
}
