/* SPDX-License-Identifier: MIT */
/*
 * Opening the units of a set on its targets. What one machine, thread or CPU does not have is left
 * out and noted with its reason; what is refused ends the opening. A weak group that does not fit
 * is opened again event by event.
 */
#include "event/set.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/error.h"
#include "event/event.h"

#define DESCRIPTORS_MAX (1u << 20)

#define START_FLAGS (COATI_ATTR_DISABLED | COATI_ATTR_ENABLE_ON_EXEC)

/* The unit must be opened once more, from its first target on. */
#define AGAIN 1

/* One unit on one target, while it is opened. */
struct opening {
	struct coati_set *set;
	struct set_unit *unit;
	struct set_target *target;
	size_t first_slot; /* of this unit on this target */
};

static bool is_group(const struct coati_set *set, const struct set_unit *u)
{
	uint32_t nr = 0;

	for (uint32_t i = u->first; i < u->first + u->nr; i++)
		nr += !set->events[i].skip;
	return nr > 1 && !u->broken;
}

static struct coati_event *leader_of(const struct opening *o)
{
	return o->set->slots.len > o->first_slot ? o->set->slots.v[o->first_slot].handle : NULL;
}

/* Only the first of a unit is stopped and started, the others go with it. */
static struct coati_attr shaped(const struct opening *o, uint32_t event, bool follows)
{
	struct coati_attr attr = o->set->events[event].attr;

	attr.flags &= ~START_FLAGS;
	attr.read_format &= ~COATI_READ_GROUP;
	if (follows)
		return attr;
	attr.flags |= COATI_ATTR_DISABLED;
	if (o->set->opts.flags & COATI_SET_ENABLE_ON_EXEC)
		attr.flags |= COATI_ATTR_ENABLE_ON_EXEC;
	if (is_group(o->set, o->unit))
		attr.read_format |= COATI_READ_GROUP;
	return attr;
}

/* Towards the hard limit, in steps: programs that use select() suffer from high descriptors. Who
 * may (CAP_SYS_RESOURCE) goes beyond it; the kernel refuses what is over fs.nr_open. */
static bool raise_descriptor_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return false;
	if (l.rlim_cur >= l.rlim_max) {
		if (l.rlim_max > DESCRIPTORS_MAX / 2)
			return false;
		l.rlim_cur = l.rlim_max *= 2;
		return setrlimit(RLIMIT_NOFILE, &l) == 0;
	}
	l.rlim_cur = l.rlim_cur > l.rlim_max / 2 ? l.rlim_max : l.rlim_cur * 2 + 64;
	return setrlimit(RLIMIT_NOFILE, &l) == 0;
}

/* A thread that ends after its leader event was opened makes the kernel say EINVAL to the
 * followers. */
static bool has_ended(const struct opening *o, struct event_request req)
{
	struct coati_event_opts alone = *req.opts;
	struct coati_event *probe = NULL;
	int r;

	if (o->target->at.pid <= 0 || !alone.group)
		return false;
	alone.group = NULL;
	req.opts = &alone;
	r = coati_event_request(&req, &probe, NULL);
	coati_event_close(&probe);
	return r == -ESRCH;
}

static int open_one(const struct opening *o, uint32_t event, struct coati_event **ret,
		    struct coati_error *err)
{
	const struct coati_event_desc *desc = coati_event_list_get(o->set->list, event);
	struct coati_event *leader = is_group(o->set, o->unit) ? leader_of(o) : NULL;
	struct coati_event_opts opts = { .size = sizeof(opts),
					 .group = leader,
					 .label = desc->name,
					 .flags = o->set->events[event].flags };
	struct coati_attr attr = shaped(o, event, leader != NULL);
	struct event_request req = { o->set->calls, &attr, &o->target->at, &opts, true };
	int r;

	do
		r = coati_event_request(&req, ret, err);
	while (r == -EMFILE && raise_descriptor_limit());
	if (r == -EINVAL && has_ended(o, req))
		return coati_fail(err, -ESRCH, "thread %d has ended", o->target->at.pid);
	if (r == 0 && desc->filter && desc->filter[0]) {
		r = coati_event_set_filter(*ret, desc->filter, err);
		if (r < 0)
			coati_event_close(ret);
	}
	return r;
}

/* What the first target taught about this kernel need not be learnt again on the others. */
static int keep(const struct opening *o, uint32_t event, struct coati_event *handle)
{
	struct set_event *e = &o->set->events[event];
	struct set_slot *slot = ARRAY_ADD(&o->set->slots);

	if (!slot)
		return -ENOMEM;
	*slot = (struct set_slot){
		.event = event,
		.leader = (uint32_t)(is_group(o->set, o->unit) ? o->first_slot
							       : o->set->slots.len - 1),
		.tid = o->target->at.cgroup_fd >= 0 ? -1 : o->target->at.pid,
		.cpu = o->target->at.cpu,
		.handle = handle,
	};
	e->attr = *coati_event_attr(handle);
	e->dropped |= coati_event_dropped(handle);
	e->nr_open++;
	return 0;
}

static void close_slots_from(struct coati_set *set, size_t from)
{
	while (set->slots.len > from) {
		struct set_slot *slot = &set->slots.v[--set->slots.len];

		set->events[slot->event].nr_open--;
		coati_event_close(&slot->handle);
	}
}

void coati_set_close_slots(struct coati_set *set)
{
	close_slots_from(set, 0);
}

static int note(struct set_event *e, const struct coati_error *why, struct coati_error *err)
{
	if (!e->error)
		e->error = coati_alloc(sizeof(*e->error));
	if (!e->error)
		return coati_fail(err, -ENOMEM, "open events: %m; free some memory");
	*e->error = *why;
	return 0;
}

static bool may_break_up(const struct opening *o, int code)
{
	return o->unit->weak && is_group(o->set, o->unit) && leader_of(o) &&
	       (code == -EINVAL || code == -ENOSPC);
}

/* 0: leave it out here and go on; AGAIN; or the error that ends the opening. */
static int after_failure(const struct opening *o, uint32_t event, const struct coati_error *why,
			 struct coati_error *err)
{
	struct set_event *e = &o->set->events[event];
	int code = why->code;

	if (code == -ESRCH && o->target->at.pid > 0) {
		o->target->gone = true;
		close_slots_from(o->set, o->first_slot);
		return 0;
	}
	if (may_break_up(o, code)) {
		o->unit->broken = true;
		return AGAIN;
	}
	if (code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV) {
		/* a CPU may lack what others have (offline, other kind of core) */
		if (!e->nr_open && (o->target->at.cpu < 0 || (code != -ENODEV && !e->cpus)))
			e->skip = true;
		return note(e, why, err);
	}
	if (err)
		*err = *why;
	return code;
}

/* Whether the CPU list of the event (if any) has a place for it on this target. */
static bool belongs(const struct opening *o, uint32_t event)
{
	const struct set_event *e = &o->set->events[event];

	return !e->skip &&
	       (!e->cpus || o->target->at.cpu < 0 || cpu_in(e->cpus, o->target->at.cpu));
}

static int open_unit_on(struct opening *o, struct coati_error *err)
{
	struct set_unit *u = o->unit;

	o->first_slot = o->set->slots.len;
	for (uint32_t i = u->first; i < u->first + u->nr && !o->target->gone; i++) {
		struct coati_event *handle = NULL;
		struct coati_error why = { 0 };
		int r;

		if (!belongs(o, i))
			continue;
		r = open_one(o, i, &handle, &why);
		if (r < 0) {
			r = after_failure(o, i, &why, err);
			if (r != 0)
				return r;
			continue;
		}
		r = keep(o, i, handle);
		if (r < 0) {
			coati_event_close(&handle);
			return coati_fail(err, r, "open events: %m; free some memory");
		}
	}
	return 0;
}

#define GROUP_TRIES 4

/* A group on a thread may be refused though nothing is wrong with it: at a context switch the
 * kernel lets threads with inherited events of the same kind exchange their contexts, and the
 * leader is then in that of another thread. */
static int open_unit_patiently(struct opening *o, struct coati_error *err)
{
	for (int tries = 1;; tries++) {
		int r = open_unit_on(o, err);

		if (r != -EINVAL || tries == GROUP_TRIES || o->target->at.pid <= 0 ||
		    !is_group(o->set, o->unit))
			return r;
		close_slots_from(o->set, o->first_slot);
		if (err)
			*err = (struct coati_error){ 0 };
	}
}

static void mark_broken(struct coati_set *set, const struct set_unit *u)
{
	for (uint32_t i = u->first; i < u->first + u->nr; i++)
		set->events[i].dropped |= COATI_DROP_GROUP;
}

static int open_unit(struct coati_set *set, struct set_unit *u, size_t from,
		     struct coati_error *err)
{
	size_t first_slot = set->slots.len;

	for (size_t i = from; i < set->targets.v.len; i++) {
		struct opening o = { set, u, &set->targets.v.v[i], 0 };
		int r = o.target->gone ? 0 : open_unit_patiently(&o, err);

		if (r < 0)
			return r;
		if (r == AGAIN) {
			close_slots_from(set, first_slot);
			mark_broken(set, u);
			i = from - 1;
		}
	}
	return 0;
}

int coati_set_open_targets(struct coati_set *set, size_t from, struct coati_error *err)
{
	for (uint32_t i = 0; i < set->nr_units; i++) {
		int r = open_unit(set, &set->units[i], from, err);

		if (r < 0)
			return r;
	}
	return 0;
}
