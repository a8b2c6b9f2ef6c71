/* SPDX-License-Identifier: MIT */
/*
 * A capture: opening its events and rings. How they run is run.c, what flows drain.c, how a
 * recording begins and ends part.c.
 */
#include "capture/capture.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "capture/attach.h"
#include "capture/attr.h"
#include "capture/options.h"
#include "capture/session.h"
#include "capture/twins.h"
#include "event/list.h"
#include "event/set.h"
#include "image/hold.h"
#include "recording/writer.h"
#include "ring/budget.h"

#define FEW_TABLES_BYTES (UINT64_C(8) << 20)

static void capture_closep(struct coati_capture **cap)
{
	coati_capture_close(cap);
}

static int no_memory(struct coati_error *err)
{
	return coati_fail(err, -ENOMEM, "capture: out of memory");
}

/* Is the user part of its stacks ours to write? */
static bool is_unwound(enum coati_stacks stacks)
{
	return stacks == COATI_STACKS_TABLE || stacks == COATI_STACKS_BPF;
}

static int prepare_attr(struct coati_capture *cap, uint32_t i)
{
	struct capture_set_state *st = &cap->sets[SET_EVENTS];
	const struct coati_event_desc *d = coati_event_list_get(st->list, i);

	coati_capture_attr(st->list, i, &cap->opts, coati_capture_copy_bytes(cap), &st->attrs[i]);
	if (!is_unwound(coati_capture_stacks(d, &cap->opts)))
		return 0;
	if (!st->unwinds)
		st->unwinds =
			coati_alloc_array(coati_event_list_count(st->list), sizeof(*st->unwinds));
	if (!st->unwinds)
		return -ENOMEM;
	st->unwinds[i] = true;
	return 0;
}

static int prepare_attrs(struct coati_capture *cap)
{
	for (int n = 0; n < NR_SETS; n++) {
		struct capture_set_state *st = &cap->sets[n];
		uint32_t nr = st->list ? coati_event_list_count(st->list) : 0;

		if (!nr || st->attrs)
			continue;
		st->attrs = coati_alloc_array(nr, sizeof(*st->attrs));
		if (!st->attrs)
			return -ENOMEM;
		for (uint32_t i = 0; i < nr; i++) {
			if (n == SET_EVENTS && prepare_attr(cap, i) < 0)
				return -ENOMEM;
			if (n == SET_WHEN)
				coati_capture_when_attr(&cap->opts, i, &st->attrs[i]);
		}
	}
	return 0;
}

/* Is the rest worth having without it? */
static bool is_optional(int which)
{
	return which == SET_OFF || which == SET_OFF_FAST || which == SET_WAKE || which == SET_IRQ;
}

/* Are its events those of CPUs, though threads are watched? */
static bool is_of_cpus(const struct coati_capture *cap, int which)
{
	if (which == SET_WAKE)
		return cap->off.wakes_wide;
	if (which == SET_IRQ && cap->off.irqs_wide)
		return true;
	return cap->scope == SCOPE_CPUS || (cap->scope == SCOPE_SIDE && which == SET_SIDE);
}

static struct coati_set_opts set_opts(const struct coati_capture *cap, int which)
{
	const struct coati_capture_opts *o = &cap->opts;
	struct coati_set_opts s = {
		.size = sizeof(s),
		.flags = COATI_SET_NEGOTIATE,
		.pids = o->pids,
		.nr_pids = o->nr_pids,
		.tids = o->tids,
		.nr_tids = o->nr_tids,
		.cpus = which > SET_WHEN && !cap->tasks ? coati_capture_switch_cpus(o) : o->cpus,
		.cgroup = o->cgroup,
		.attrs = cap->sets[which].attrs,
	};

	if (cap->tasks)
		s.flags |= COATI_SET_PER_CPU;
	if (!(o->flags & COATI_CAPTURE_NO_INHERIT))
		s.flags |= COATI_SET_INHERIT;
	if (is_of_cpus(cap, which)) {
		s.pids = s.tids = NULL;
		s.nr_pids = s.nr_tids = 0;
		s.flags = COATI_SET_NEGOTIATE;
		return s;
	}
	/* where a thread leaves a CPU is in the kernel: without that there would be nothing */
	if (o->flags & COATI_CAPTURE_USER_OK && !is_optional(which))
		s.flags |= COATI_SET_USER_OK;
	if (o->flags & COATI_CAPTURE_ON_EXEC && !(o->flags & COATI_CAPTURE_DELAY) &&
	    which != SET_SIDE && which != SET_OFF_FAST)
		s.flags |= COATI_SET_ENABLE_ON_EXEC;
	return s;
}

/* Those of CPUs were refused: true when those of threads are to be tried. */
static bool narrow(struct coati_capture *cap, int which)
{
	bool *wide = which == SET_WAKE ? &cap->off.wakes_wide : &cap->off.irqs_wide;

	if (which == SET_SIDE && cap->scope == SCOPE_SIDE) {
		cap->scope = SCOPE_THREADS;
		return true;
	}
	if ((which != SET_WAKE && which != SET_IRQ) || !*wide)
		return false;
	*wide = false;
	return true;
}

static int open_set(struct coati_capture *cap, int which, struct coati_error *err)
{
	struct capture_set_state *st = &cap->sets[which];
	struct coati_set_opts o = set_opts(cap, which);
	int r;

	if (!st->list || !coati_event_list_count(st->list))
		return 0;
	r = coati_set_open(st->list, &o, &st->set, err);
	if (r < 0 && r != -ENOMEM && narrow(cap, which)) {
		o = set_opts(cap, which);
		r = coati_set_open(st->list, &o, &st->set, err);
	}
	if (r < 0 && is_optional(which) && r != -ENOMEM) {
		*(which == SET_WAKE  ? &cap->off.no_wakes
		  : which == SET_IRQ ? &cap->off.no_irqs
				     : &cap->off.no_stacks) = *err;
		return 0;
	}
	return r;
}

static void close_sets(struct coati_capture *cap)
{
	/* a mapping keeps its event alive, so the rings go first */
	coati_rings_fini(&cap->rings);
	coati_notice_close(&cap->notice);
	if (cap->walks)
		coati_walks_close(cap->walks);
	for (int i = 0; i < NR_SETS; i++)
		coati_set_close(&cap->sets[i].set);
}

static int connect_set(struct coati_capture *cap, int which, bool lives, struct coati_error *err)
{
	const struct coati_set *set = cap->sets[which].set;

	return set ? coati_rings_connect(&cap->rings, set, lives,
					 which == SET_EVENTS ? cap->twins.lanes : NULL, err)
		   : 0;
}

/* The side-band events come first: their rings are everybody's, and nothing that starts while the
 * others are opened is missed. */
static int open_all(struct coati_capture *cap, uint64_t ring_bytes, struct coati_error *err)
{
	static const int order[] = { SET_SIDE,	   SET_EVENTS, SET_WHEN, SET_OFF,
				     SET_OFF_FAST, SET_WAKE,   SET_IRQ };
	int lives, r = coati_rings_init(&cap->rings, ring_bytes, err);

	coati_capture_side_attr(&cap->opts, ring_bytes, &cap->sets[SET_SIDE].attrs[0]);
	for (size_t i = 0; r == 0 && i < NR_SETS; i++)
		r = open_set(cap, order[i], err);
	if (r == 0 && cap->walks)
		r = coati_walks_open(cap->walks, cap->sets[SET_SIDE].list,
				     &cap->sets[SET_SIDE].attrs[0],
				     coati_capture_switch_cpus(&cap->opts), err);
	/* An error about an event that the user asked for is clearer than one about an internal
	 * event. */
	if (r < 0 && !cap->sets[SET_SIDE].set)
		(void)open_set(cap, SET_EVENTS, err);
	/* the ring of an event that watches a thread ends with it, that of one which watches a CPU
	 * never does */
	lives = cap->scope == SCOPE_SIDE ? SET_EVENTS : SET_SIDE;
	if (r == 0)
		r = connect_set(cap, lives, true, err);
	for (size_t i = 0; r == 0 && i < NR_SETS; i++)
		if (order[i] != lives)
			r = connect_set(cap, order[i], false, err);
	if (r == 0 && cap->walks)
		r = coati_walks_connect(cap->walks, &cap->rings, err);
	return r;
}

/* What other processes of the user have mapped counts against the same budget, and cannot be
 * seen. */
static int open_with_less(struct coati_capture *cap, struct coati_error *err)
{
	uint64_t bytes = coati_capture_ring_bytes(cap);
	int r;

	while ((r = open_all(cap, bytes, err)) < 0) {
		bool mapping = (r == -EPERM || r == -ENOMEM) && cap->sets[SET_SIDE].set &&
			       cap->sets[SET_EVENTS].set;

		close_sets(cap);
		bytes /= 2;
		if (!mapping || bytes < (uint64_t)sysconf(_SC_PAGESIZE))
			break;
	}
	return r;
}

static int none_open(const struct coati_capture *cap, struct coati_error *err)
{
	const struct capture_set_state *st = &cap->sets[SET_EVENTS];

	for (uint32_t i = 0; i < coati_event_list_count(st->list); i++) {
		const struct coati_error *why = coati_set_event_error(st->set, i);

		if (why && err)
			*err = *why;
		if (why)
			return why->code;
	}
	return coati_fail(err, -ENOENT, "capture: none of the events can be sampled");
}

/* An event whose stack could not be copied, because the kernel refused it, samples without. */
static int settle_unwinding(struct coati_capture *cap, struct capture_set_state *st, uint32_t event,
			    uint64_t id)
{
	if (!st->unwinds || !st->unwinds[event])
		return 0;
	if (!coati_stacks_wants(&st->attrs[event])) {
		st->unwinds[event] = false;
		return 0;
	}
	return coati_stacks_add(coati_drain_stacks_get(cap->drain), id, &st->attrs[event],
				st == &cap->sets[SET_OFF] ? STACKS_OF_SWITCHES : STACKS_OF_SAMPLES);
}

/* With events of the CPUs: the walker does not see its samples, or they are those of a tracepoint
 * that everybody hits. */
static bool is_sifted(const struct coati_capture *cap, int which, uint32_t event)
{
	const bool *unwinds = cap->sets[which].unwinds;

	if (cap->scope != SCOPE_CPUS)
		return false;
	return which == SET_IRQ || (which == SET_EVENTS && !(unwinds && unwinds[event]));
}

/* The attributes as the kernel took them, ids and room for the account. */
static int settle(struct coati_capture *cap)
{
	if (coati_coverage_init(&cap->coverage,
				coati_event_list_count(cap->sets[SET_EVENTS].list)) < 0)
		return -ENOMEM;
	for (int n = 0; n < NR_SETS; n++) {
		struct capture_set_state *st = &cap->sets[n];
		uint32_t nr = coati_set_count(st->set);

		st->lost = coati_alloc_array(nr + 1u, sizeof(*st->lost));
		if (!st->lost)
			return -ENOMEM;
		for (uint32_t i = 0; i < nr; i++) {
			struct coati_set_entry e;
			uint64_t id = 0;

			if (coati_set_entry(st->set, i, &e) < 0)
				continue;
			st->attrs[e.event] = *coati_event_attr(e.handle);
			coati_event_id(e.handle, &id);
			if (n == SET_SIDE)
				cap->side_id = id;
			if (settle_unwinding(cap, st, e.event, id) < 0)
				return -ENOMEM;
			if (is_sifted(cap, n, e.event) && coati_map_put(&cap->sift_ids, id, 1) < 0)
				return -ENOMEM;
			if (is_optional(n) && coati_map_put(&cap->off_ids, id, (uint64_t)n) < 0)
				return -ENOMEM;
			if (n == SET_WAKE && cap->off.wakes_wide &&
			    coati_map_put(&cap->wake_ids, id, 1) < 0)
				return -ENOMEM;
			/* how much a filter lets through is not counted */
			if (n == SET_EVENTS && cap->scope != SCOPE_CPUS &&
			    coati_coverage_add(&cap->coverage, e.event, id, &st->attrs[e.event]) <
				    0)
				return -ENOMEM;
			if (n == SET_WHEN && coati_map_put(&cap->when_ids, id, 1) < 0)
				return -ENOMEM;
			if (coati_map_put(&cap->own_ids, id, 1) < 0)
				return -ENOMEM;
			coati_twins_note(cap, n, e.event, id);
			if ((n == SET_EVENTS || n == SET_OFF) &&
			    !(st->attrs[e.event].flags & COATI_ATTR_EXCLUDE_KERNEL))
				cap->has_kernel = true;
			if (st->attrs[e.event].read_format & COATI_READ_LOST)
				cap->lost_exact = true;
		}
	}
	return 0;
}

static int start_tally(struct coati_capture *cap)
{
	int r = coati_capture_tally_init(&cap->tally, &cap->sets[SET_SIDE].attrs[0],
					 cap->opts.flags & COATI_CAPTURE_PARTS);

	if (cap->when_ids.len)
		cap->tally.when = &cap->when_ids;
	if (cap->off_ids.len)
		cap->tally.off = &cap->off_ids;
	if (cap->wake_ids.len)
		cap->tally.wakes = &cap->wake_ids;
	if (coati_capture_may_have_twins(cap))
		cap->tally.own = &cap->own_ids;
	if (cap->coverage.ids.len)
		cap->tally.coverage = &cap->coverage;
	cap->tally.images.files = cap->images;
	cap->tally.images.holds = cap->opts.flags & COATI_CAPTURE_HOLD || cap->drain;
	for (uint64_t i = 0; i < cap->opts.nr_pids; i++)
		tasks_started(&cap->tally.tasks, (uint32_t)cap->opts.pids[i],
			      (uint32_t)cap->opts.pids[i]);
	return r;
}

/* A ring that was asked to be small has no room for copies. */
static void settle_auto(struct coati_capture *cap)
{
	if (cap->opts.stacks == COATI_STACKS_AUTO &&
	    coati_capture_ring_bytes(cap) / CAPTURE_COPIES_FEW < CAPTURE_DEFAULT_STACK)
		cap->opts.stacks = COATI_STACKS_FP;
}

static int open_images(struct coati_capture *cap, struct coati_error *err)
{
	struct coati_images_opts o = { .size = sizeof(o), .procfs = cap->opts.procfs };
	int r = coati_images_new(&o, &cap->images, err);

	if (r == 0 && (cap->sets[SET_EVENTS].unwinds || cap->sets[SET_OFF].unwinds))
		r = coati_drain_stacks_new(cap->images, cap->opts.procfs, &cap->drain, err);
	if (r == 0 && cap->drain && cap->opts.flags & COATI_CAPTURE_FEW_TABLES)
		coati_stacks_keep_tables(coati_drain_stacks_get(cap->drain), FEW_TABLES_BYTES);
	return r;
}

/* Without it files are opened later. */
static void open_notice(struct coati_capture *cap)
{
	const struct capture_set_state *side = &cap->sets[SET_SIDE];
	struct coati_set_opts o = set_opts(cap, SET_SIDE);

	/* rings of CPUs do not end with the process that is recorded */
	if (cap->tally.images.holds && cap->scope != SCOPE_SIDE &&
	    coati_set_count(side->set) <= NOTICE_EVENTS_MAX)
		(void)coati_notice_open(&cap->notice, side->list, &side->attrs[0], &o,
					cap->rings.reader);
}

/* No exec starts an event that watches CPUs; before it there is no thread to wake. */
static int start_wakes(struct coati_capture *cap, struct coati_error *err)
{
	const struct coati_capture_opts *o = &cap->opts;
	struct coati_set *set = cap->sets[SET_WAKE].set, *irqs = cap->sets[SET_IRQ].set;
	int r = 0;

	cap->off.wakes_all = set && !o->cgroup && !coati_capture_switch_cpus(o) &&
			     (cap->tasks ? cap->off.wakes_wide && !o->cpus : true);
	if (set && cap->off.wakes_wide && cap->started)
		r = coati_set_enable(set, err);
	if (r == 0 && irqs && cap->off.irqs_wide && cap->started)
		r = coati_set_enable(irqs, err);
	return r;
}

static int open_side_list(struct coati_capture *cap, struct coati_error *err)
{
	struct capture_set_state *side = &cap->sets[SET_SIDE];
	int r = coati_event_list_new(NULL, &side->own_list, err);

	if (r == 0)
		r = coati_event_list_add(side->own_list, "dummy", err);
	side->list = side->own_list;
	return r;
}

/* Events and rings, and the walker on them. */
static int open_samples(struct coati_capture *cap, struct coati_error *err)
{
	int r;

	settle_auto(cap);
	r = coati_off_cpu_prepare(cap, coati_capture_ring_bytes(cap), err);
	if (r < 0)
		return r;
	if (prepare_attrs(cap) < 0)
		return no_memory(err);
	r = coati_capture_check_twins(cap, err);
	if (r == 0)
		r = coati_twins_plan(cap, err);
	if (r < 0)
		return r;
	r = open_with_less(cap, err);
	if (r < 0)
		return r;
	if (!coati_set_count(cap->sets[SET_EVENTS].set))
		return none_open(cap, err);
	return 0;
}

/* As if nothing had been opened. */
static void reset_sets(struct coati_capture *cap)
{
	close_sets(cap);
	for (int i = 0; i < SET_SIDE; i++) {
		struct capture_set_state *st = &cap->sets[i];

		if (st->own_list) {
			coati_event_list_free(st->own_list);
			st->own_list = NULL;
			st->list = NULL;
		}
		coati_free(st->attrs);
		coati_free(st->unwinds);
		st->attrs = NULL;
		st->unwinds = NULL;
	}
	coati_free(cap->twins.lanes);
	cap->twins = (struct twins){ .last_times.max = RINGS_MAX };
	cap->off = (struct off_cpu){ 0 };
}

/* With the walker, or without it where it is not available. */
static int open_walked(struct coati_capture *cap, struct coati_error *err)
{
	int r;

	coati_attach_settle(cap);
	r = open_samples(cap, cap->walks ? &cap->no_bpf : err);
	if (!cap->walks)
		return r;
	if (r == 0)
		r = coati_attach_walker(cap, &cap->no_bpf);
	if (r == 0) {
		cap->no_bpf = (struct coati_error){ 0 }; /* of rings that were too large */
		return 0;
	}
	reset_sets(cap);
	coati_walks_free(&cap->walks);
	coati_attach_without(cap);
	return open_samples(cap, err);
}

static int open_events(struct coati_capture *cap, struct coati_error *err)
{
	int r = open_side_list(cap, err);

	if (r == 0)
		r = open_walked(cap, err);
	if (r == 0)
		r = open_images(cap, err);
	if (r < 0)
		return r;
	if (settle(cap) < 0 || start_tally(cap) < 0)
		return no_memory(err);
	open_notice(cap);
	r = coati_attach_start(cap, err);
	if (r == 0)
		r = start_wakes(cap, err);
	if (r < 0)
		return r;
	r = coati_set_enable(cap->sets[SET_SIDE].set, err);
	return r < 0 ? r : coati_attach_describe(cap, err);
}

int coati_capture_open(const struct coati_event_list *list, const struct coati_capture_opts *opts,
		       struct coati_capture **ret, struct coati_error *err)
{
	CLEANUP(capture_closep) struct coati_capture *cap = NULL;
	struct coati_error why = { 0 }; /* tries that failed leave a sentence */
	struct coati_capture_opts o;
	int r = coati_capture_check_options(list, opts, &o, err);

	if (r < 0)
		return r;
	if (!ret)
		return coati_fail(err, -EINVAL, "capture: no place for the result was given");
	cap = coati_alloc(sizeof(*cap));
	if (!cap)
		return no_memory(err);
	cap->deadline_ns = -1;
	cap->tasks = o.nr_pids || o.nr_tids;
	cap->started = o.flags & COATI_CAPTURE_ON_EXEC && !(o.flags & COATI_CAPTURE_DELAY);
	coati_map_init(&cap->when_ids, 1u << 20);
	coati_map_init(&cap->off_ids, 1u << 24);
	coati_map_init(&cap->sift_ids, 1u << 24);
	coati_map_init(&cap->own_ids, 1u << 24);
	cap->twins.last_times.max = RINGS_MAX;
	coati_map_init(&cap->wake_ids, 1u << 24);
	cap->sets[SET_EVENTS].list = list;
	cap->sets[SET_WHEN].list = o.when;
	if (coati_capture_keep_options(&cap->opts, &o) < 0)
		return no_memory(err);
	r = open_events(cap, &why);
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	*ret = TAKE_PTR(cap);
	return 0;
}

void coati_capture_close(struct coati_capture **capp)
{
	struct coati_capture *cap = capp ? *capp : NULL;

	if (!cap)
		return;
	*capp = NULL;
	coati_writer_close(&cap->writer, NULL);
	close_sets(cap);
	coati_filter_close(&cap->filter);
	coati_walks_free(&cap->walks);
	coati_map_fini(&cap->sift_ids);
	coati_drain_stacks_free(&cap->drain);
	coati_images_free(&cap->images);
	coati_capture_tally_fini(&cap->tally);
	coati_map_fini(&cap->when_ids);
	coati_map_fini(&cap->off_ids);
	coati_map_fini(&cap->own_ids);
	coati_free(cap->twins.lanes);
	coati_free(cap->twins.copy);
	ARRAY_FINI(&cap->twins.last_times);
	coati_map_fini(&cap->wake_ids);
	coati_coverage_fini(&cap->coverage);
	for (int i = 0; i < NR_SETS; i++) {
		coati_event_list_free(cap->sets[i].own_list);
		coati_free(cap->sets[i].attrs);
		coati_free(cap->sets[i].unwinds);
		coati_free(cap->sets[i].lost);
	}
	coati_capture_free_options(&cap->opts);
	coati_free(cap);
}
