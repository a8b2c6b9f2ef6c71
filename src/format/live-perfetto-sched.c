/* SPDX-License-Identifier: MIT */
/*
 * Who ran where, as Perfetto knows it from ftrace: a bundle for each CPU with sched_switch and
 * sched_waking. On each CPU the next thread of a switch is the previous one of that which follows;
 * between threads that were recorded it is idle (0), as far as the recording knows. Times are the
 * recording's: the clock that ftrace stands for is shown as that one.
 */
#include <errno.h>

#include "format/live-events.h"
#include "format/perfetto-write.h"
#include "format/text.h"

#define BUNDLE_EVENTS 1000
#define STATE_RUNNING 0
#define STATE_SLEEPS  1

struct bundle {
	struct perfetto *x;
	const struct live *live;
	size_t packet, part;
	uint32_t nr, cpu;
	int32_t current; /* thread on the CPU, 0: idle */
	bool is_open, is_known;
};

static const char *name_of(const struct bundle *b, int32_t tid)
{
	uint64_t at;

	if (!tid)
		return "swapper";
	return coati_map_get(&b->live->tids, (uint32_t)tid, &at) ? b->live->threads.v[at].name
								 : "?";
}

static void close_bundle(struct bundle *b)
{
	if (!b->is_open)
		return;
	coati_proto_end(&b->x->p, b->part);
	perfetto_end_packet(b->x, b->packet);
	b->is_open = false;
	b->nr = 0;
}

static size_t begin_event(struct bundle *b, const struct live_sched *s)
{
	struct proto *p = &b->x->p;
	size_t event;

	if (b->nr >= BUNDLE_EVENTS)
		close_bundle(b);
	if (!b->is_open) {
		b->packet = perfetto_begin_packet(b->x, s->time, FLAG_NEEDED);
		b->part = coati_proto_begin(p, PACKET_FTRACE);
		coati_proto_uint(p, BUNDLE_CPU, s->cpu);
		b->is_open = true;
	}
	b->nr++;
	event = coati_proto_begin(p, BUNDLE_EVENT);
	coati_proto_uint(p, FTRACE_TIMESTAMP, s->time);
	coati_proto_uint(p, FTRACE_PID,
			 (uint32_t)(s->kind == LIVE_SCHED_WAKE ? s->tid : b->current));
	return event;
}

static void put_switch(struct bundle *b, const struct live_sched *s, int32_t next, int64_t state)
{
	struct proto *p = &b->x->p;
	size_t event = begin_event(b, s), part = coati_proto_begin(p, FTRACE_SCHED_SWITCH);

	coati_proto_text(p, SWITCH_PREV_COMM, name_of(b, b->current));
	coati_proto_int(p, SWITCH_PREV_PID, b->current);
	coati_proto_int(p, SWITCH_PREV_PRIO, 120);
	coati_proto_int(p, SWITCH_PREV_STATE, state);
	coati_proto_text(p, SWITCH_NEXT_COMM, name_of(b, next));
	coati_proto_int(p, SWITCH_NEXT_PID, next);
	coati_proto_int(p, SWITCH_NEXT_PRIO, 120);
	coati_proto_end(p, part);
	coati_proto_end(p, event);
	b->current = next;
}

static void put_waking(struct bundle *b, const struct live_sched *s)
{
	struct proto *p = &b->x->p;
	size_t event = begin_event(b, s), part = coati_proto_begin(p, FTRACE_SCHED_WAKING);

	coati_proto_text(p, WAKING_COMM, name_of(b, s->other));
	coati_proto_int(p, WAKING_PID, s->other);
	coati_proto_int(p, WAKING_PRIO, 120);
	coati_proto_int(p, WAKING_SUCCESS, 1);
	coati_proto_uint(p, WAKING_CPU, s->cpu);
	coati_proto_end(p, part);
	coati_proto_end(p, event);
}

static void put_point(struct bundle *b, const struct live_sched *s)
{
	if (s->kind == LIVE_SCHED_WAKE) {
		put_waking(b, s);
		return;
	}
	if (s->kind == LIVE_SCHED_IN) {
		/* records of who left it were lost */
		if (b->current != s->tid)
			put_switch(b, s, s->tid, b->current ? STATE_SLEEPS : STATE_RUNNING);
	} else {
		/* it ran already when the recording began, or records were lost */
		if (!b->is_known)
			b->current = s->tid;
		else if (b->current != s->tid)
			put_switch(b, s, s->tid, b->current ? STATE_SLEEPS : STATE_RUNNING);
		put_switch(b, s, 0, s->kind == LIVE_SCHED_PREEMPTED ? STATE_RUNNING : STATE_SLEEPS);
	}
	b->is_known = true;
}

void coati_perfetto_sched(struct perfetto *x)
{
	const struct live *l = x->in->live;

	for (size_t i = 0; i < l->cpus.len; i++) {
		const struct live_cpu *c = &l->cpus.v[i];
		struct bundle b = { .x = x, .live = l, .cpu = c->cpu };
		struct live_sched_pos pos = { 0 };
		struct live_sched s;

		while (coati_live_sched_next(l, c, &pos, &s))
			put_point(&b, &s);
		close_bundle(&b);
	}
}
