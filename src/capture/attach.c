/* SPDX-License-Identifier: MIT */
/* see attach.h */
#include "capture/attach.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/capture.h"
#include "capture/closure.h"
#include "capture/session.h"
#include "capture/thread.h"
#include "event/list.h"
#include "event/set.h"

#define EAGER_NEED_NS	 1000000u
#define FEW_TABLES_BYTES (UINT64_C(24) << 20)

static enum walker_at place_of(const struct coati_event_desc *d)
{
	switch (d->kind) {
	case COATI_EVENT_TRACEPOINT:
		return WALKER_AT_TRACEPOINTS;
	case COATI_EVENT_KPROBE:
	case COATI_EVENT_UPROBE:
	case COATI_EVENT_USDT:
		return WALKER_AT_PROBES;
	default:
		return WALKER_AT_SAMPLES;
	}
}

/* Where it will be attached. */
static uint32_t places(const struct coati_capture *cap)
{
	const struct coati_event_list *list = cap->sets[SET_EVENTS].list;
	uint32_t at = cap->opts.flags & COATI_CAPTURE_OFF_CPU ? 1u << WALKER_AT_SAMPLES : 0;

	for (uint32_t i = 0; i < coati_event_list_count(list); i++)
		at |= 1u << place_of(coati_event_list_get(list, i));
	return at;
}

/* Can the walker know by their numbers whom tracepoints hit? */
static bool has_targets(const struct coati_capture *cap)
{
	return cap->tasks && cap->opts.nr_pids + cap->opts.nr_tids < WALKER_TARGETS_MAX / 2 &&
	       coati_off_cpu_numbers_agree(cap->opts.procfs);
}

/* How samples are walked: @why says why not. */
static int open_walker(struct coati_capture *cap, struct coati_error *why)
{
	const struct coati_capture_opts *o = &cap->opts;
	struct walker_opts w = { .config = { .max_frames = o->max_stack,
					     .stack_bytes = o->stack_bytes,
					     .verify_every = o->verify,
					     .has_targets = has_targets(cap),
					     .filters_samples = cap->scope == SCOPE_CPUS,
					     .no_children = !!(o->flags & COATI_CAPTURE_NO_INHERIT),
					     /* few processes, which are there to be looked at */
					     .is_eager = cap->tasks,
					     .need_ns = cap->tasks ? EAGER_NEED_NS : 0 },
				 .at = places(cap) };
	int r;

	if (o->flags & COATI_CAPTURE_FEW_TABLES)
		w.budget_bytes = FEW_TABLES_BYTES;
	if (o->flags & COATI_CAPTURE_OVERWRITE)
		return coati_fail(why, -EOPNOTSUPP,
				  "rings that are overwritten are read backwards, and the walker "
				  "reports a stack before its sample");
	r = cap->scope == SCOPE_CPUS ? coati_filter_live(cap) : 0;
	if (r < 0)
		return coati_fail(why, r, "the targets cannot be watched: %m");
	return coati_walks_new(&w, &cap->walks, why);
}

/* Before the events are opened: by the walker, or as without it and a reason. */
void coati_attach_settle(struct coati_capture *cap)
{
	enum coati_stacks asked = cap->opts.stacks;

	cap->is_auto = asked == COATI_STACKS_AUTO;
	if (asked != COATI_STACKS_BPF && !cap->is_auto) {
		cap->scope = coati_scope_choose(cap, false);
		return;
	}
	cap->opts.stacks = COATI_STACKS_BPF;
	cap->scope = coati_scope_choose(cap, true);
	if (open_walker(cap, &cap->no_bpf) < 0)
		coati_attach_without(cap);
}

void coati_attach_without(struct coati_capture *cap)
{
	cap->scope = coati_scope_choose(cap, false);
	cap->opts.stacks = cap->is_auto ? COATI_STACKS_AUTO : COATI_STACKS_TABLE;
}

/* Does it write into other ring buffers than the walker (twins.h)? */
static bool is_apart(const struct coati_capture *cap, const struct capture_set_state *st,
		     uint32_t event)
{
	return st == &cap->sets[SET_EVENTS] && cap->twins.lanes && cap->twins.lanes[event];
}

/* It runs at the samples of each event that is to be unwound. */
static int attach_set(struct coati_capture *cap, const struct capture_set_state *st,
		      struct coati_error *err)
{
	uint32_t nr = coati_set_count(st->set), attached = UINT32_MAX;

	for (uint32_t i = 0; i < nr; i++) {
		struct coati_set_entry e;
		enum walker_at at;
		int r;

		if (coati_set_entry(st->set, i, &e) < 0 || !st->unwinds || !st->unwinds[e.event])
			continue;
		if (is_apart(cap, st, e.event))
			return coati_fail(err, -EOPNOTSUPP,
					  "this kernel confuses software events that are counted "
					  "side by side, so that each has ring buffers of its own");
		at = place_of(coati_event_list_get(st->list, e.event));
		if (at != WALKER_AT_SAMPLES && attached == e.event)
			continue;
		r = coati_walker_attach(cap->walks->walker, coati_event_fd(e.handle), at);
		/* the same tracepoint may be there twice */
		if (r < 0 && !(at != WALKER_AT_SAMPLES && r == -EEXIST))
			return coati_fail(err, r, "the walker cannot be attached to %s: %m",
					  coati_event_list_get(st->list, e.event)->name);
		attached = e.event;
	}
	return 0;
}

int coati_attach_walker(struct coati_capture *cap, struct coati_error *err)
{
	int r = attach_set(cap, &cap->sets[SET_EVENTS], err);

	return r < 0 || !cap->sets[SET_OFF].set ? r : attach_set(cap, &cap->sets[SET_OFF], err);
}

/* Their samples are not those of an event that counts the same (twins.h). */
static int own_ids(struct coati_capture *cap, const struct map *ids)
{
	uint64_t id, unused;
	size_t pos = 0;

	while (coati_map_next(ids, &pos, &id, &unused))
		if (coati_map_put(&cap->own_ids, id, 1) < 0)
			return -ENOMEM;
	return 0;
}

int coati_attach_start(struct coati_capture *cap, struct coati_error *err)
{
	const uint64_t labels = COATI_CAPTURE_LABELS | COATI_CAPTURE_LIVE;
	struct walks *ws = cap->walks;
	int r;

	if (!ws || !cap->drain)
		return 0;
	coati_stacks_set_walks(coati_drain_stacks_get(cap->drain), ws);
	ws->known_id = cap->side_id;
	if (own_ids(cap, &ws->ids) < 0)
		return coati_fail(err, -ENOMEM, "capture: out of memory");
	r = coati_walks_listen(ws, cap->opts.procfs, err);
	if (r == 0 && (cap->opts.flags & labels) == labels &&
	    coati_walks_read_labels(ws, cap->opts.flags & COATI_CAPTURE_LABELS_UNTRACED) < 0)
		r = coati_fail(err, -ENOMEM, "capture: out of memory");
	return r;
}

static void describe_file(void *ctx, const char *path)
{
	coati_describe_file(ctx, path);
}

/* Many are of one process. */
static void describe_threads(const struct coati_capture *cap, struct describe *d)
{
	const struct coati_capture_opts *o = &cap->opts;
	int32_t last = 0;

	for (uint64_t i = 0; i < o->nr_tids; i++) {
		int32_t pid = coati_thread_process(o->procfs, o->tids[i] ? o->tids[i] : gettid());

		if (pid && pid != last)
			(void)coati_describe_running(d, pid);
		last = pid;
	}
}

/* What runs already, or will run; then whatever is asked for. */
int coati_attach_describe(struct coati_capture *cap, struct coati_error *err)
{
	const struct coati_capture_opts *o = &cap->opts;
	struct describe *d;
	int r;

	if (!cap->walks || !cap->drain)
		return 0;
	d = &cap->walks->describer.describe;
	if (!cap->tasks)
		coati_describe_all(d);
	if (o->program)
		coati_closure_each(o->program, describe_file, d);
	for (uint64_t i = 0; i < o->nr_pids && !(o->flags & COATI_CAPTURE_ON_EXEC); i++)
		(void)coati_describe_running(d, o->pids[i]);
	describe_threads(cap, d);
	r = cap->tasks ? coati_filter_start(cap) : 0;
	if (r < 0)
		return coati_fail(err, r,
				  "cannot set the processes that the stack walker records: %m");
	/* at the exec, which is not reported in time */
	if (cap->started)
		coati_walker_run(cap->walks->walker, true);
	return coati_describer_start(&cap->walks->describer, err);
}
