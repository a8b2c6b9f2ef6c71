/* SPDX-License-Identifier: MIT */
/*
 * From attributes to an open event, and back. In: what to count, on what, in which group. Out: one
 * struct coati_event that owns the descriptor, the mapping and the label. Whatever step fails,
 * nothing stays open and the error says what to do.
 */
#include "event/event.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "event/explain.h"
#include "event/negotiate.h"
#include "event/uapi-compat.h"

#define OPTS_FLAGS (COATI_EVENT_NEGOTIATE | COATI_EVENT_USER_OK | COATI_EVENT_FAST)

static void event_closep(struct coati_event **ev)
{
	coati_event_close(ev);
}

static int check_request(const struct event_request *req, struct coati_event_opts *opts,
			 struct coati_error *err)
{
	int r = SIZED_COPY(opts, req->opts);

	if (r < 0)
		return coati_fail(err, r, "open event: struct coati_event_opts: %s",
				  r == -E2BIG ? "uses options that this library does not know; "
						"a newer libcoati is needed"
					      : "the size field is not set");
	if (!req->attr || !req->target)
		return coati_fail(err, -EINVAL, "open event: attributes and target must be given");
	if (opts->flags & ~OPTS_FLAGS)
		return coati_fail(err, -EINVAL,
				  "open event: unknown flags 0x%x; COATI_EVENT_* are accepted",
				  opts->flags & ~OPTS_FLAGS);
	if (opts->group && opts->group->fd < 0)
		return coati_fail(err, -EBADF,
				  "open event: the group leader is closed; open the leader first");
	if (opts->group && opts->group->leader)
		return coati_fail(
			err, -EINVAL,
			"open event: %s is a follower, it cannot lead; pass the leader of "
			"its group",
			opts->group->label);
	return 0;
}

static struct open_args open_args(const struct event_request *req,
				  const struct coati_event_opts *opts)
{
	const struct coati_target *t = req->target;
	struct open_args a = {
		.attr = *req->attr,
		.pid = t->pid,
		.cpu = t->cpu,
		.group_fd = opts->group ? opts->group->fd : -1,
		.flags = opts->open_flags | COATI_OPEN_CLOEXEC,
	};

	if (t->cgroup_fd >= 0) {
		a.pid = t->cgroup_fd;
		a.flags |= COATI_OPEN_CGROUP;
	}
	return a;
}

static const char *label_of(const struct event_request *req, const struct coati_event_opts *opts)
{
	const char *name = opts->label ? opts->label : coati_attr_name(req->attr);

	return name ? name : "";
}

static void join_group(struct coati_event *ev, struct coati_event *leader)
{
	ev->leader = leader;
	ev->stopped = !ev->running;
	if (leader->last)
		leader->last->next = ev;
	else
		leader->first = ev;
	leader->last = ev;
	leader->nr_followers++;
}

static void leave_group(struct coati_event *ev)
{
	struct coati_event *leader = ev->leader, *before = NULL;

	if (!leader)
		return;
	for (struct coati_event *f = leader->first; f != ev; f = f->next)
		before = f;
	if (before)
		before->next = ev->next;
	else
		leader->first = ev->next;
	if (leader->last == ev)
		leader->last = before;
	leader->nr_followers--;
	ev->leader = ev->next = NULL;
}

static void release_followers(struct coati_event *leader)
{
	while (leader->first) {
		struct coati_event *f = leader->first;

		leader->first = f->next;
		f->leader = f->next = NULL;
	}
	leader->last = NULL;
	leader->nr_followers = 0;
}

static int explain_failure(const struct event_request *req, const struct coati_event_opts *opts,
			   int code, struct coati_error *err)
{
	struct explain_case c = {
		.code = code,
		.attr = req->attr,
		.target = *req->target,
		.label = label_of(req, opts),
		.open_flags = opts->open_flags,
		.leader = opts->group ? &opts->group->attr : NULL,
		.leader_target = opts->group ? opts->group->target : *req->target,
	};

	return coati_explain_open(&c, req->calls, err);
}

/* What follows the call itself: flags of the descriptor and the id. */
static int finish_open(struct coati_event *ev, struct coati_error *err)
{
	const struct event_calls *calls = ev->calls;
	int r = calls->set_flags(calls->ctx, ev->fd, ev->dropped & COATI_DROP_CLOEXEC);

	if (r < 0)
		return coati_fail(err, r,
				  "open %s: make the descriptor non-blocking: %m; try again",
				  ev->label);
	r = event_ioctl(ev, PERF_IOC_ID, (unsigned long)(uintptr_t)&ev->id);
	if (r < 0)
		return coati_fail(
			err, r,
			"open %s: ask for the event's id: %m; does a filter (seccomp) block ioctl? "
			"see coati doctor",
			ev->label);
	return 0;
}

int coati_event_request(const struct event_request *req, struct coati_event **ret,
			struct coati_error *err)
{
	CLEANUP(event_closep) struct coati_event *ev = NULL;
	struct negotiation n = { .calls = req->calls, .lost_optional = req->lost_optional };
	struct coati_event_opts opts;
	int r;

	if (!ret)
		return coati_fail(err, -EINVAL, "open event: no place for the result was given");
	r = check_request(req, &opts, err);
	if (r < 0)
		return r;
	ev = coati_alloc(sizeof(*ev));
	if (!ev)
		return coati_fail(err, -ENOMEM, "open event: %m; free some memory");
	ev->fd = -1;
	ev->calls = req->calls;
	ev->label = coati_strdup(label_of(req, &opts));
	if (!ev->label)
		return coati_fail(err, -ENOMEM, "open event: %m; free some memory");
	n.args = open_args(req, &opts);
	n.flags = opts.flags;
	ev->fd = coati_negotiate(&n);
	if (ev->fd < 0)
		return explain_failure(req, &opts, ev->fd, err);
	ev->dropped = n.dropped;
	ev->attr = n.args.attr;
	ev->target = *req->target;
	ev->running = ev->started = !(ev->attr.flags & COATI_ATTR_DISABLED);
	r = finish_open(ev, err);
	if (r < 0)
		return r;
	if (opts.group && !(opts.open_flags & COATI_OPEN_NO_GROUP)) {
		join_group(ev, opts.group);
		r = coati_event_reschedule(ev);
		if (r < 0)
			return coati_fail(err, r,
					  "open %s: start its group again: %m; is the descriptor "
					  "of the leader still open?",
					  ev->label);
	}
	r = opts.flags & COATI_EVENT_FAST ? coati_event_map_counter(ev, err) : 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ev);
	return 0;
}

int coati_event_open(const struct coati_attr *attr, const struct coati_target *target,
		     const struct coati_event_opts *opts, struct coati_event **ret,
		     struct coati_error *err)
{
	struct event_request req = { &coati_event_calls, attr, target, opts, false };

	return coati_event_request(&req, ret, err);
}

void coati_event_close(struct coati_event **evp)
{
	struct coati_event *ev = evp ? *evp : NULL;

	if (!ev)
		return;
	*evp = NULL;
	leave_group(ev);
	release_followers(ev);
	/* the mapping first: it would keep the event alive and counting after the descriptor is
	 * gone */
	if (ev->page)
		munmap(ev->page, ev->page_bytes);
	if (ev->fd >= 0)
		ev->calls->close(ev->calls->ctx, ev->fd, ev->attr.type);
	coati_free(ev->words);
	coati_free(ev->label);
	coati_free(ev);
}

int coati_event_fd(const struct coati_event *ev)
{
	int r = event_state(ev);

	return r < 0 ? r : ev->fd;
}

int coati_event_id(const struct coati_event *ev, uint64_t *ret)
{
	int r = event_state(ev);

	if (r < 0)
		return r;
	if (!ret)
		return -EINVAL;
	*ret = ev->id;
	return 0;
}

const char *coati_event_label(const struct coati_event *ev)
{
	return ev ? ev->label : "";
}

const struct coati_attr *coati_event_attr(const struct coati_event *ev)
{
	return ev ? &ev->attr : NULL;
}

uint32_t coati_event_dropped(const struct coati_event *ev)
{
	return ev ? ev->dropped : 0;
}
