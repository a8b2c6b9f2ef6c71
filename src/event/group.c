/* SPDX-License-Identifier: MIT */
/*
 * Groups: built first, then opened in one go, then driven as one. In: attributes and labels. Out:
 * events that count over exactly the same time. The leader is opened stopped and the followers are
 * held back by it, because a follower of another PMU that joins a running group stays at zero. To
 * start and to stop is an order to the leader alone (see coati_event_start_group()); to reset
 * carries the group flag, because without it the kernel resets the leader alone.
 */
#include "event/group.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "event/count.h"
#include "event/event.h"
#include "event/uapi-compat.h"

/* The kernel ends far below: a group's read must fit into 16 KiB. */
#define MEMBERS_MAX 1024

#define GROUP_READ  (COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID | COATI_READ_LOST)
#define START_FLAGS (COATI_ATTR_DISABLED | COATI_ATTR_ENABLE_ON_EXEC)

struct member {
	struct coati_attr attr;
	char *label; /* NULL: the usual name */
	struct coati_event *event;
};

struct coati_group {
	const struct event_calls *calls;
	ARRAY(struct member) members;
	struct coati_error failed;  /* the first failure of an addition; code 0: none */
	struct coati_count *before; /* of a measurement */
};

int coati_group_new(struct coati_group **ret)
{
	struct coati_group *g;

	if (!ret)
		return -EINVAL;
	g = coati_alloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->calls = &coati_event_calls;
	g->members.max = MEMBERS_MAX;
	*ret = g;
	return 0;
}

void coati_group_set_calls(struct coati_group *g, const struct event_calls *calls)
{
	g->calls = calls;
}

static bool is_open(const struct coati_group *g)
{
	return g->members.len && g->members.v[0].event;
}

/* Only the first failure is kept: what comes after may be its consequence. */
static int stick(struct coati_group *g, int code, const char *why)
{
	if (!g->failed.code)
		coati_fail(&g->failed, code, "add event %zu to the group: %s", g->members.len + 1,
			   why);
	return code;
}

int coati_group_add(struct coati_group *g, const struct coati_attr *attr, const char *label)
{
	struct member *m;

	if (!g || is_open(g))
		return -EINVAL;
	if (!attr)
		return stick(g, -EINVAL, "it has no attributes; fill in a struct coati_attr");
	if (g->members.len >= MEMBERS_MAX)
		return stick(g, -E2BIG, "no group has that many members; use several");
	m = ARRAY_ADD(&g->members);
	if (!m)
		return stick(g, -ENOMEM, "out of memory; free some");
	m->attr = *attr;
	m->label = label ? coati_strdup(label) : NULL;
	if (label && !m->label) {
		g->members.len--;
		return stick(g, -ENOMEM, "out of memory; free some");
	}
	return 0;
}

/* Followers first: a leader that goes first would let them count on alone. */
static void close_members(struct coati_group *g)
{
	for (size_t i = g->members.len; i-- > 0;)
		coati_event_close(&g->members.v[i].event);
	coati_free(g->before);
	g->before = NULL;
}

static int open_member(struct coati_group *g, size_t i, const struct coati_target *target,
		       uint32_t flags, struct coati_error *err)
{
	struct member *m = &g->members.v[i];
	struct coati_event_opts opts = { .size = sizeof(opts), .label = m->label, .flags = flags };
	struct coati_attr attr = m->attr;
	struct event_request req = { g->calls, &attr, target, &opts, true };

	attr.read_format = GROUP_READ;
	if (i == 0) {
		attr.read_format |= COATI_READ_GROUP;
		attr.flags |= COATI_ATTR_DISABLED;
	} else {
		opts.group = g->members.v[0].event;
		attr.flags &= ~START_FLAGS;
	}
	return coati_event_request(&req, &m->event, err);
}

int coati_group_open(struct coati_group *g, const struct coati_target *target, uint32_t flags,
		     struct coati_error *err)
{
	if (!g)
		return coati_fail(err, -EINVAL, "open group: no group was given");
	if (g->failed.code)
		return coati_fail(err, g->failed.code, "%s", g->failed.text);
	if (!g->members.len)
		return coati_fail(err, -EINVAL, "open group: it is empty; add events first");
	if (is_open(g))
		return coati_fail(err, -EINVAL, "open group: it is open already; close it first");
	g->before = coati_alloc_array(g->members.len, sizeof(*g->before));
	if (!g->before)
		return coati_fail(err, -ENOMEM, "open group: %m; free some memory");
	for (size_t i = 0; i < g->members.len; i++) {
		int r = open_member(g, i, target, flags, err);

		if (r < 0) {
			close_members(g);
			if (g->members.len > 1)
				coati_error_prefix(err, "event %zu of the group: ", i + 1);
			return r;
		}
	}
	return 0;
}

uint32_t coati_group_count(const struct coati_group *g)
{
	return g ? (uint32_t)g->members.len : 0;
}

struct coati_event *coati_group_event(const struct coati_group *g, uint32_t i)
{
	return g && i < g->members.len ? g->members.v[i].event : NULL;
}

int coati_group_drop(struct coati_group *g, uint32_t i)
{
	struct member *m;

	if (!g || i == 0 || i >= g->members.len)
		return -EINVAL;
	m = &g->members.v[i];
	if (m->event)
		event_touch(m->event);
	coati_event_close(&m->event);
	coati_free(m->label);
	memmove(m, m + 1, (g->members.len - i - 1) * sizeof(*m));
	g->members.len--;
	return 0;
}

/* NULL: -EINVAL; built but not open: -EBADF. */
static int leader_of(const struct coati_group *g, struct coati_event **ret)
{
	if (!g)
		return -EINVAL;
	if (!is_open(g))
		return -EBADF;
	*ret = g->members.v[0].event;
	return event_state(*ret);
}

int coati_group_enable(struct coati_group *g)
{
	struct coati_event *leader;
	int r = leader_of(g, &leader);

	return r < 0 ? r : coati_event_start_group(leader);
}

int coati_group_disable(struct coati_group *g)
{
	struct coati_event *leader;
	int r = leader_of(g, &leader);

	return r < 0 ? r : coati_event_stop_group(leader);
}

int coati_group_reset(struct coati_group *g)
{
	struct coati_event *leader;
	int r = leader_of(g, &leader);

	if (r < 0)
		return r;
	event_touch(leader);
	r = event_ioctl(leader, PERF_IOC_RESET, PERF_IOC_GROUP);
	return r < 0 ? r : 0;
}

int coati_group_read(struct coati_group *g, struct coati_count *ret, uint32_t max, uint32_t *ret_nr)
{
	struct coati_event *leader;
	int r = leader_of(g, &leader);

	return r < 0 ? r : coati_event_read_group(leader, ret, max, ret_nr);
}

/* The measured window: nothing but the two orders around the call. */
static int window(const struct coati_event *leader, void (*fn)(void *ctx), void *ctx)
{
	int started = event_ioctl(leader, PERF_IOC_ENABLE, 0), stopped;

	fn(ctx);
	stopped = event_ioctl(leader, PERF_IOC_DISABLE, 0);
	if (started < 0)
		return started;
	return stopped < 0 ? stopped : 0;
}

/* Members that were stopped alone are measured as the others are. */
static int start_stopped_members(struct coati_group *g)
{
	for (size_t i = 1; i < g->members.len; i++) {
		struct coati_event *ev = g->members.v[i].event;
		int r = ev->stopped ? coati_event_enable(ev) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Stopped, and what the members show noted. After a measurement it is already. */
static int prepare_measure(struct coati_group *g, struct coati_event *leader)
{
	uint32_t nr;
	int r = 0;

	if (leader->running)
		r = coati_group_disable(g);
	else if (leader->untouched)
		return 0;
	if (r == 0)
		r = start_stopped_members(g);
	return r < 0 ? r : coati_group_read(g, g->before, (uint32_t)g->members.len, &nr);
}

/* The result, and the new state of things for the next measurement; entries of the group are in the
 * same order. */
static void keep_measure(struct coati_group *g, struct coati_count *ret, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && i < g->members.len; i++) {
		struct coati_count after = ret[i];

		ret[i] = coati_count_between(&g->before[i], &after);
		g->before[i] = after;
	}
}

int coati_group_measure(struct coati_group *g, void (*fn)(void *ctx), void *ctx,
			struct coati_count *ret, uint32_t max)
{
	struct coati_event *leader;
	uint32_t nr;
	int r = leader_of(g, &leader);

	if (r < 0)
		return r;
	if (!fn || (!ret && max))
		return -EINVAL;
	r = prepare_measure(g, leader);
	if (r < 0)
		return r;
	leader->untouched = false;
	r = window(leader, fn, ctx);
	if (r == 0)
		r = coati_group_read(g, ret, max, &nr);
	if (r < 0)
		return r;
	keep_measure(g, ret, nr < max ? nr : max);
	/* entries for which there was no room were not noted */
	leader->untouched = nr <= max && nr == g->members.len;
	return (int)nr; /* groups are small: see coati_group_add() */
}

void coati_group_close(struct coati_group **gp)
{
	struct coati_group *g = gp ? *gp : NULL;

	if (!g)
		return;
	*gp = NULL;
	close_members(g);
	for (size_t i = 0; i < g->members.len; i++)
		coati_free(g->members.v[i].label);
	ARRAY_FINI(&g->members);
	coati_free(g);
}
