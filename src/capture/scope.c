/* SPDX-License-Identifier: MIT */
/* see scope.h */
#include "capture/scope.h"

#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/switching.h"
#include "capture/thread.h"
#include "event/list.h"

#define SIDE_THREADS 512
/* an exec enables events of the process alone; rings that are overwritten end with it */
#define BY_THREADS (COATI_CAPTURE_ON_EXEC | COATI_CAPTURE_OVERWRITE)

static uint64_t count_threads(const struct coati_capture_opts *o)
{
	uint64_t nr = o->nr_tids;

	for (uint64_t i = 0; i < o->nr_pids; i++)
		nr += coati_thread_count(o->procfs, o->pids[i]);
	return nr;
}

/* Has each event a sample that the walker may refuse, or seldom one, which can be dropped here?
 * Tracepoints and probes run their program at every hit, and its answer is for all of their
 * events. */
static bool are_filtered(const struct coati_capture *cap)
{
	const struct coati_event_list *list = cap->sets[SET_EVENTS].list;

	for (uint32_t i = 0; i < coati_event_list_count(list); i++) {
		const struct coati_event_desc *d = coati_event_list_get(list, i);

		enum coati_stacks stacks = coati_capture_stacks(d, &cap->opts);
		bool is_seldom = stacks == COATI_STACKS_NONE && d->group < 0 &&
				 d->attr.type == COATI_TYPE_SOFTWARE;

		if (d->kind == COATI_EVENT_TRACEPOINT || d->kind == COATI_EVENT_KPROBE ||
		    d->kind == COATI_EVENT_UPROBE || d->kind == COATI_EVENT_USDT ||
		    (stacks != COATI_STACKS_BPF && !is_seldom))
			return false;
	}
	return true;
}

static bool is_better_filtered(const struct coati_capture *cap, uint64_t nr)
{
	if (nr > SCOPE_FILTER_THREADS)
		return true;
	return cap->opts.flags & COATI_CAPTURE_OFF_CPU && !cap->opts.cpus &&
	       coati_switching_often(cap);
}

enum coati_scope coati_scope_choose(const struct coati_capture *cap, bool can_filter)
{
	const struct coati_capture_opts *o = &cap->opts;
	uint64_t nr;

	if (!cap->tasks || o->flags & BY_THREADS)
		return SCOPE_THREADS;
	nr = count_threads(o);
	if (can_filter && nr < WALKER_TARGETS_MAX / 2 && !o->when && are_filtered(cap) &&
	    coati_off_cpu_numbers_agree(o->procfs) && is_better_filtered(cap, nr))
		return SCOPE_CPUS;
	/* context switches of others would be taken for those of targets */
	if (nr >= SIDE_THREADS && !o->cpus && !(o->flags & COATI_CAPTURE_SWITCHES))
		return SCOPE_SIDE;
	return SCOPE_THREADS;
}
