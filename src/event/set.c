/* SPDX-License-Identifier: MIT */
/*
 * A list of events on many targets, opened, started and read as one. In: a list and where to count.
 * Out: slots, one per open event; the reason for each event that is open nowhere.
 *
 * Threads that start while the events of a process are opened: with inheritance a thread found late
 * may have been counted already through the one that started it, and cannot be distinguished from
 * one that was missed. So all is closed and opened again until the list of threads stays the same;
 * after some rounds inheritance is trusted.
 */
#include "event/set.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/sized.h"
#include "event/event.h"
#include "event/list.h"
#include "event/uapi-compat.h"

#define SET_FLAGS                                                                                 \
	(COATI_SET_INHERIT | COATI_SET_ENABLE_ON_EXEC | COATI_SET_USER_OK | COATI_SET_NEGOTIATE | \
	 COATI_SET_PER_CPU)
#define COUNT_READ  (COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID | COATI_READ_LOST)
#define MAX_ROUNDS  10
#define GROUP_TRIES 3

static void set_closep(struct coati_set **set)
{
	coati_set_close(set);
}

static int no_memory(struct coati_error *err)
{
	return coati_fail(err, -ENOMEM, "open events: %m; free some memory");
}

/* Counting alone: nothing is sampled, so rates and precision have no meaning. */
static struct coati_attr counting_attr(const struct coati_event_desc *desc)
{
	struct coati_attr attr = desc->attr;

	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.wakeup = 0;
	attr.flags &= ~(COATI_ATTR_FREQ | COATI_ATTR_WATERMARK | COATI_ATTR_PRECISE_MASK);
	attr.read_format = COUNT_READ;
	return attr;
}

static bool inherits(const struct coati_set *set, const struct coati_event_desc *desc)
{
	if (set->targets.all_cpus || desc->flags & COATI_DESC_NO_INHERIT)
		return false;
	return desc->flags & COATI_DESC_INHERIT || set->opts.flags & COATI_SET_INHERIT;
}

static int note_no_threads(const struct coati_event_desc *desc, struct set_event *e)
{
	e->skip = true;
	e->error = coati_alloc(sizeof(*e->error));
	if (!e->error)
		return -ENOMEM;
	coati_fail(e->error, -EOPNOTSUPP,
		   "%s counts for whole CPUs (%s), not for one program; count system-wide with -a",
		   desc->name, desc->cpus);
	return 0;
}

static int prepare_cpus(struct coati_set *set, const struct coati_event_desc *desc,
			struct set_event *e, struct coati_error *err)
{
	int r;

	if (!desc->cpus || !desc->cpus[0])
		return 0;
	if (!set->targets.all_cpus && !(desc->flags & COATI_DESC_CORE))
		return note_no_threads(desc, e) < 0 ? no_memory(err) : 0;
	e->cpus = coati_alloc_array(SET_CPU_WORDS, sizeof(*e->cpus));
	if (!e->cpus)
		return no_memory(err);
	r = coati_parse_cpulist(desc->cpus, e->cpus, SET_CPUS_MAX);
	if (r < 0)
		return coati_fail(err, -EINVAL, "%s: '%s' is not a list of CPUs; write it as 0-3,8",
				  desc->name, desc->cpus);
	return 0;
}

static int prepare_event(struct coati_set *set, uint32_t i, struct coati_error *err)
{
	const struct coati_event_desc *desc = coati_event_list_get(set->list, i);
	struct set_event *e = &set->events[i];

	if (desc->kind == COATI_EVENT_TOOL) {
		e->skip = true;
		return 0;
	}
	e->attr = set->opts.attrs ? set->opts.attrs[i] : counting_attr(desc);
	e->attr.flags &= ~COATI_ATTR_INHERIT;
	if (inherits(set, desc))
		e->attr.flags |= COATI_ATTR_INHERIT;
	if (set->opts.flags & COATI_SET_NEGOTIATE)
		e->flags |= COATI_EVENT_NEGOTIATE;
	if (set->opts.flags & COATI_SET_USER_OK && !(desc->flags & COATI_DESC_MODIFIED))
		e->flags |= COATI_EVENT_USER_OK;
	return prepare_cpus(set, desc, e, err);
}

/* Neighbors of the same group make one unit. */
static void find_units(struct coati_set *set)
{
	struct set_unit *u = NULL;
	int32_t group = -1;

	for (uint32_t i = 0; i < set->nr_events; i++) {
		const struct coati_event_desc *desc = coati_event_list_get(set->list, i);

		if (u && desc->group >= 0 && desc->group == group) {
			u->nr++;
		} else {
			u = &set->units[set->nr_units++];
			*u = (struct set_unit){ .first = i, .nr = 1 };
		}
		group = desc->group;
		u->weak |= (desc->flags & COATI_DESC_WEAK) != 0;
		if (u->nr > set->nr_counts)
			set->nr_counts = u->nr;
	}
}

static int prepare(struct coati_set *set, struct coati_error *err)
{
	set->nr_events = coati_event_list_count(set->list);
	set->events = coati_alloc_array(set->nr_events, sizeof(*set->events));
	set->units = coati_alloc_array(set->nr_events, sizeof(*set->units));
	if (!set->events || !set->units)
		return no_memory(err);
	for (uint32_t i = 0; i < set->nr_events; i++) {
		int r = prepare_event(set, i, err);

		if (r < 0)
			return r;
	}
	find_units(set);
	set->counts = coati_alloc_array(set->nr_counts, sizeof(*set->counts));
	return set->counts ? 0 : no_memory(err);
}

/* Threads that came while the others were opened; see the head of this file. */
static int follow_threads(struct coati_set *set, struct coati_error *err)
{
	bool inherit = set->opts.flags & COATI_SET_INHERIT;

	for (int round = 0; round < MAX_ROUNDS; round++) {
		size_t known = set->targets.v.len;
		int r = coati_set_targets_add_threads(&set->targets, &set->opts, err);

		if (r <= 0)
			return r;
		if (inherit && round == MAX_ROUNDS - 1)
			return 0;
		if (inherit) {
			coati_set_close_slots(set);
			coati_set_targets_clear(&set->targets);
			r = coati_set_targets_find(&set->targets, &set->opts, err);
			known = 0;
		}
		if (r >= 0)
			r = coati_set_open_targets(set, known, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int all_gone(const struct coati_set *set, struct coati_error *err)
{
	const struct set_targets *t = &set->targets;

	for (size_t i = 0; i < t->v.len; i++)
		if (!t->v.v[i].gone)
			return 0;
	if (!t->v.len)
		return coati_fail(err, -ENODEV,
				  "open events: there is no CPU to count on; check -C");
	return coati_fail(err, -ESRCH, "%s %d has ended; look up what runs with ps or pgrep",
			  set->opts.nr_pids ? "process" : "thread",
			  set->opts.nr_pids ? set->opts.pids[0] : t->v.v[0].at.pid);
}

/* Every event that is open nowhere has a reason; one that is open somewhere has none. */
static int settle_errors(struct coati_set *set, struct coati_error *err)
{
	for (uint32_t i = 0; i < set->nr_events; i++) {
		const struct coati_event_desc *desc = coati_event_list_get(set->list, i);
		struct set_event *e = &set->events[i];

		if (e->nr_open) {
			coati_free(e->error);
			e->error = NULL;
		}
		if (e->nr_open || e->error || desc->kind == COATI_EVENT_TOOL)
			continue;
		e->error = coati_alloc(sizeof(*e->error));
		if (!e->error)
			return no_memory(err);
		coati_fail(e->error, -ENODEV,
			   "%s exists on CPUs %s only, and none of them is watched; add them to -C",
			   desc->name, desc->cpus);
	}
	return 0;
}

static int check_request(const struct set_request *req, struct coati_set_opts *opts,
			 struct coati_error *err)
{
	int r = SIZED_COPY(opts, req->opts);

	if (r < 0)
		return coati_fail(err, r, "open events: struct coati_set_opts: %s",
				  r == -E2BIG ? "uses options that this library does not know; "
						"a newer libcoati is needed"
					      : "the size field is not set");
	if (opts->flags & ~SET_FLAGS)
		return coati_fail(err, -EINVAL,
				  "open events: unknown flags 0x%llx; COATI_SET_* are accepted",
				  (unsigned long long)(opts->flags & ~SET_FLAGS));
	if (!req->list || !coati_event_list_count(req->list))
		return coati_fail(err, -EINVAL, "open events: the list is empty; add events first");
	return 0;
}

int coati_set_request(const struct set_request *req, struct coati_set **ret,
		      struct coati_error *err)
{
	CLEANUP(set_closep) struct coati_set *set = NULL;
	struct coati_set_opts opts;
	int r = check_request(req, &opts, err);

	if (r < 0)
		return r;
	if (!ret)
		return coati_fail(err, -EINVAL, "open events: no place for the result was given");
	set = coati_alloc(sizeof(*set));
	if (!set)
		return no_memory(err);
	set->calls = req->calls;
	set->list = req->list;
	set->opts = opts;
	set->slots.max = SET_SLOTS_MAX;
	coati_set_targets_init(&set->targets);
	r = coati_set_targets_find(&set->targets, &set->opts, err);
	if (r == 0)
		r = prepare(set, err);
	if (r == 0)
		r = coati_set_open_targets(set, 0, err);
	/* a child that is held before its exec starts no threads */
	if (r == 0 && opts.nr_pids && !(opts.flags & COATI_SET_ENABLE_ON_EXEC))
		r = follow_threads(set, err);
	if (r == 0)
		r = all_gone(set, err);
	if (r == 0)
		r = settle_errors(set, err);
	if (r < 0)
		return r;
	/* the caller's arrays and texts need not outlive this call */
	set->opts.pids = set->opts.tids = NULL;
	set->opts.cpus = set->opts.cgroup = NULL;
	set->opts.attrs = NULL;
	*ret = TAKE_PTR(set);
	return 0;
}

int coati_set_open(const struct coati_event_list *list, const struct coati_set_opts *opts,
		   struct coati_set **ret, struct coati_error *err)
{
	struct set_request req = { &coati_event_calls, list, opts };

	return coati_set_request(&req, ret, err);
}

/* To every leader and lone event. */
static int order_all(struct coati_set *set, int (*order)(struct coati_event *), const char *what,
		     struct coati_error *err)
{
	if (!set)
		return coati_fail(err, -EINVAL, "%s events: no set was given", what);
	for (size_t i = 0; i < set->slots.len; i++) {
		struct set_slot *slot = &set->slots.v[i];
		int r;

		if (slot->leader != i)
			continue;
		r = order(slot->handle);
		if (r < 0)
			return coati_fail(err, r, "%s %s: %m; is its descriptor still open?", what,
					  coati_event_label(slot->handle));
	}
	return 0;
}

int coati_set_enable(struct coati_set *set, struct coati_error *err)
{
	return order_all(set, coati_event_start_group, "start", err);
}

int coati_set_disable(struct coati_set *set, struct coati_error *err)
{
	return order_all(set, coati_event_stop_group, "stop", err);
}

uint32_t coati_set_count(const struct coati_set *set)
{
	return set ? (uint32_t)set->slots.len : 0;
}

int coati_set_entry(const struct coati_set *set, uint32_t i, struct coati_set_entry *ret)
{
	const struct set_slot *slot;

	if (!set || !ret || i >= set->slots.len)
		return -EINVAL;
	slot = &set->slots.v[i];
	*ret = (struct coati_set_entry){ slot->event, slot->tid, slot->cpu, slot->handle };
	return 0;
}

/* One read serves all members, so that their values belong together. */
static int read_unit(struct coati_set *set, uint32_t leader)
{
	struct coati_event *handle = set->slots.v[leader].handle;
	uint32_t nr = 0;
	int r = -ECHILD;

	/* ECHILD: the group of an inherited child was just being taken apart */
	for (int i = 0; i < GROUP_TRIES && r == -ECHILD; i++)
		r = coati_event_read_group(handle, set->counts, set->nr_counts, &nr);
	if (r < 0)
		return r;
	if (nr > set->nr_counts)
		nr = set->nr_counts;
	for (uint32_t i = leader; i < set->slots.len && set->slots.v[i].leader == leader; i++) {
		struct set_slot *slot = &set->slots.v[i];

		slot->fresh = false;
		for (uint32_t c = 0; c < nr && !slot->fresh; c++) {
			if (set->counts[c].id != slot->handle->id)
				continue;
			slot->count = set->counts[c];
			slot->fresh = true;
		}
	}
	return 0;
}

int coati_set_read(struct coati_set *set, uint32_t i, struct coati_count *ret)
{
	struct set_slot *slot;
	int r;

	if (!set || !ret || i >= set->slots.len)
		return -EINVAL;
	slot = &set->slots.v[i];
	if (!(set->slots.v[slot->leader].handle->attr.read_format & COATI_READ_GROUP))
		return coati_event_read(slot->handle, ret);
	if (!slot->fresh || slot->leader == i) {
		r = read_unit(set, slot->leader);
		if (r < 0)
			return r;
	}
	if (!slot->fresh)
		return -ENODATA;
	slot->fresh = false;
	*ret = slot->count;
	return 0;
}

const struct coati_error *coati_set_event_error(const struct coati_set *set, uint32_t event)
{
	return set && event < set->nr_events ? set->events[event].error : NULL;
}

uint32_t coati_set_event_dropped(const struct coati_set *set, uint32_t event)
{
	return set && event < set->nr_events ? set->events[event].dropped : 0;
}

void coati_set_close(struct coati_set **setp)
{
	struct coati_set *set = setp ? *setp : NULL;

	if (!set)
		return;
	*setp = NULL;
	coati_set_close_slots(set);
	ARRAY_FINI(&set->slots);
	coati_set_targets_fini(&set->targets);
	for (uint32_t i = 0; set->events && i < set->nr_events; i++) {
		coati_free(set->events[i].error);
		coati_free(set->events[i].cpus);
	}
	coati_free(set->events);
	coati_free(set->units);
	coati_free(set->counts);
	coati_free(set);
}
