/* SPDX-License-Identifier: MIT */
/*
 * From an open event to numbers. In: what read(2) gives in any of the 32 read formats. Out: struct
 * coati_count, labels found by id. End of file, short data and more members than expected are
 * separate errors, never read as zeros.
 */
#include "event/event.h"

#include <errno.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/error.h"
#include "event/count.h"
#include "event/uapi-compat.h"

/* Members that fit on the stack of a group read. */
#define STACK_MEMBERS 32
#define READ_TRIES    1000
/* More members than the kernel lets into one group (its read must stay below 16 KiB). */
#define MAX_MEMBERS	     4096
#define GROUP_WORDS(members) (3 + 3 * (size_t)(members))

uint64_t coati_count_scaled(const struct coati_count *count)
{
	__uint128_t scaled;

	if (!count)
		return 0;
	if (count->running_ns >= count->enabled_ns)
		return count->value;
	if (!count->running_ns)
		return 0;
	scaled = ((__uint128_t)count->value * count->enabled_ns + count->running_ns / 2) /
		 count->running_ns;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

static void decode_times(struct cursor *c, uint64_t format, struct coati_count *ret)
{
	if (format & COATI_READ_ENABLED)
		ret->enabled_ns = cursor_u64(c);
	if (format & COATI_READ_RUNNING)
		ret->running_ns = cursor_u64(c);
}

static void decode_identity(struct cursor *c, uint64_t format, struct coati_count *ret)
{
	if (format & COATI_READ_ID)
		ret->id = cursor_u64(c);
	if (format & COATI_READ_LOST)
		ret->lost = cursor_u64(c);
}

int coati_count_decode(const void *bytes, size_t size, uint64_t format, struct coati_count *ret)
{
	struct cursor c = cursor_over(bytes, size);
	struct coati_count count = { 0 };

	count.value = cursor_u64(&c);
	decode_times(&c, format, &count);
	decode_identity(&c, format, &count);
	if (c.bad)
		return -EBADMSG;
	*ret = count;
	return 0;
}

int coati_count_decode_group(const void *bytes, size_t size, const struct count_group *into,
			     uint32_t *ret_nr)
{
	struct cursor c = cursor_over(bytes, size);
	struct coati_count shared = { 0 };
	uint64_t nr = cursor_u64(&c);

	decode_times(&c, into->format, &shared);
	if (c.bad || nr > cursor_left(&c) / sizeof(uint64_t))
		return -EBADMSG;
	for (uint64_t i = 0; i < nr; i++) {
		struct coati_count count = shared;

		count.value = cursor_u64(&c);
		decode_identity(&c, into->format, &count);
		if (c.bad)
			return -EBADMSG;
		if (i < into->max)
			into->counts[i] = count;
	}
	*ret_nr = (uint32_t)nr;
	return 0;
}

/* Both sides are in the order of opening, but either may have members that the other lacks: a
 * follower that was closed, or one that was put into the group behind our back. */
static void match_labels(const struct coati_event *leader, struct coati_count *counts, uint32_t nr)
{
	bool by_id = leader->attr.read_format & COATI_READ_ID;
	bool complete = nr == leader->nr_followers + 1;
	const struct coati_event *at = leader;

	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_event *e = at;

		counts[i].label = "";
		if (by_id)
			while (e && e->id != counts[i].id)
				e = e == leader ? leader->first : e->next;
		else if (!complete)
			continue;
		if (!e)
			continue;
		counts[i].label = e->label;
		at = e == leader ? leader->first : e->next;
	}
}

/* A group that is inherited cannot be read (ECHILD) while a thread is made or ends: it has some of
 * the events then, and not the others. */
static ssize_t read_words(struct coati_event *ev, void *words, size_t nr_words)
{
	ssize_t n;

	for (int tries = 0;; tries++) {
		n = ev->calls->read(ev->calls->ctx, ev->fd, words, nr_words * sizeof(uint64_t));
		if (n != -ECHILD || tries == READ_TRIES)
			break;
		sched_yield();
	}

	/* end of file: a pinned event that lost its place on the PMU */
	return n == 0 ? -EIO : n;
}

int coati_event_read(struct coati_event *ev, struct coati_count *ret)
{
	uint64_t words[5];
	ssize_t n;
	int r = event_state(ev);

	if (r < 0)
		return r;
	if (!ret || ev->attr.read_format & COATI_READ_GROUP)
		return -EINVAL;
	n = read_words(ev, words, sizeof(words) / sizeof(words[0]));
	if (n < 0)
		return (int)n;
	r = coati_count_decode(words, (size_t)n, ev->attr.read_format, ret);
	if (r < 0)
		return r;
	ret->label = ev->label;
	return 0;
}

/* Room for @members in the event's own buffer. */
static int grow_words(struct coati_event *ev, size_t members)
{
	uint64_t *words;

	if (members > MAX_MEMBERS)
		return -E2BIG;
	if (ev->nr_words >= GROUP_WORDS(members))
		return 0;
	words = coati_realloc_array(ev->words, GROUP_WORDS(members), sizeof(*words));
	if (!words)
		return -ENOMEM;
	ev->words = words;
	ev->nr_words = GROUP_WORDS(members);
	return 0;
}

/* ENOSPC: there are more members than we opened. */
static ssize_t read_grown(struct coati_event *leader, size_t members)
{
	ssize_t n = -ENOSPC;

	for (; n == -ENOSPC; members *= 2) {
		int r = grow_words(leader, members);

		if (r < 0)
			return r;
		n = read_words(leader, leader->words, leader->nr_words);
	}
	return n;
}

int coati_event_read_group(struct coati_event *leader, struct coati_count *ret, uint32_t max,
			   uint32_t *ret_nr)
{
	uint64_t stack[GROUP_WORDS(STACK_MEMBERS)];
	const void *words = stack;
	struct count_group into;
	uint32_t nr;
	ssize_t n = -ENOSPC;
	int r = event_state(leader);

	if (r < 0)
		return r;
	if ((!ret && max) || !ret_nr || !(leader->attr.read_format & COATI_READ_GROUP))
		return -EINVAL;
	if (leader->nr_followers < STACK_MEMBERS)
		n = read_words(leader, stack, sizeof(stack) / sizeof(stack[0]));
	if (n == -ENOSPC) {
		n = read_grown(leader, (size_t)leader->nr_followers + 1 + STACK_MEMBERS);
		words = leader->words;
	}
	if (n < 0)
		return (int)n;
	into = (struct count_group){ leader->attr.read_format, ret, max };
	r = coati_count_decode_group(words, (size_t)n, &into, &nr);
	if (r < 0)
		return r;
	match_labels(leader, ret, nr < max ? nr : max);
	*ret_nr = nr;
	return 0;
}

struct coati_count coati_count_between(const struct coati_count *before,
				       const struct coati_count *after)
{
	struct coati_count c = *after;

	c.value -= before->value;
	c.enabled_ns -= before->enabled_ns;
	c.running_ns -= before->running_ns;
	c.lost -= before->lost;
	return c;
}

static int measure_failed(const struct coati_event *ev, struct coati_error *err, int code)
{
	if (code == -EIO)
		return coati_fail(err, code,
				  "measure %s: the event is pinned and the PMU had no room for it; "
				  "open it without pinned, or with fewer other events",
				  ev->label);
	return coati_fail(err, code, "measure %s: %m; is its descriptor still open?", ev->label);
}

/* Two reads of a running event cost less than starting and stopping it, and nothing is lost by
 * letting it run on. Both go to the same memory, touched beforehand, and are decoded afterwards:
 * our own page faults are not measured. */
static int measure_running(struct coati_event *ev, void (*fn)(void *ctx), void *ctx,
			   struct coati_count *ret)
{
	uint64_t words[2][5] = { 0 };
	struct coati_count before, after;
	ssize_t first, second;
	int r = ev->running ? 0 : coati_event_enable(ev);

	if (r < 0)
		return r;
	first = ev->calls->read(ev->calls->ctx, ev->fd, words[0], sizeof(words[0]));
	fn(ctx);
	second = ev->calls->read(ev->calls->ctx, ev->fd, words[1], sizeof(words[1]));
	if (first <= 0 || second <= 0) /* the end of file of a pinned event in error */
		return first < 0 ? (int)first : second < 0 ? (int)second : -EIO;
	r = coati_count_decode(words[0], (size_t)first, ev->attr.read_format, &before);
	if (r == 0)
		r = coati_count_decode(words[1], (size_t)second, ev->attr.read_format, &after);
	if (r < 0)
		return r;
	*ret = coati_count_between(&before, &after);
	ret->label = ev->label;
	return 0;
}

/* A tracepoint or probe may be hit by our own call of read: such an event is stopped before it is
 * read. */
static int measure_stopped(struct coati_event *ev, void (*fn)(void *ctx), void *ctx,
			   struct coati_count *ret)
{
	struct coati_count before, after;
	int r = ev->running ? coati_event_disable(ev) : 0, stopped;

	if (r == 0)
		r = coati_event_read(ev, &before);
	if (r < 0)
		return r;
	r = event_ioctl(ev, PERF_IOC_ENABLE, 0);
	fn(ctx);
	stopped = event_ioctl(ev, PERF_IOC_DISABLE, 0);
	if (r < 0 || stopped < 0)
		return r < 0 ? r : stopped;
	r = coati_event_read(ev, &after);
	if (r == 0)
		*ret = coati_count_between(&before, &after);
	return r;
}

static bool is_hit_by_calls(const struct coati_attr *attr)
{
	return attr->type == COATI_TYPE_TRACEPOINT || attr->type >= COATI_TYPE_BREAKPOINT;
}

int coati_event_measure(struct coati_event *ev, void (*fn)(void *ctx), void *ctx,
			struct coati_count *ret, struct coati_error *err)
{
	int r = event_state(ev);

	if (r < 0 || !fn || !ret)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "measure: an open event, a function and a place for the result "
				  "must be given");
	if (ev->attr.read_format & COATI_READ_GROUP)
		return coati_fail(err, -EINVAL,
				  "measure %s: it reads a whole group; use coati_group_measure",
				  ev->label);
	r = is_hit_by_calls(&ev->attr) ? measure_stopped(ev, fn, ctx, ret)
				       : measure_running(ev, fn, ctx, ret);
	return r < 0 ? measure_failed(ev, err, r) : 0;
}
