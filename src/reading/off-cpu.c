/* SPDX-License-Identifier: MIT */
/* see off-cpu.h */
#include "reading/off-cpu.h"

#include <errno.h>
#include <string.h>

#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/reading.h"

#define THREADS_MAX ((size_t)1 << 22)
#define PIECES_MAX  4096 /* bins of one interval; what is longer counts for the last */

enum off_state {
	OFF_UNSEEN = 0, /* it was there before; no switch of it was seen */
	OFF_NEW,	/* it was started, and did not run yet */
	OFF_ON,
	OFF_AWAY,
	OFF_ENDED,
};

static int find(struct off_reading *o, int32_t pid, int32_t tid, struct off_thread **ret)
{
	uint64_t at;

	if (coati_map_get(&o->index, (uint32_t)tid, &at)) {
		*ret = &o->threads.v[at];
		return 0;
	}
	if (o->threads.len >= THREADS_MAX)
		return -E2BIG;
	*ret = ARRAY_ADD(&o->threads);
	if (!*ret)
		return -ENOMEM;
	**ret = (struct off_thread){ .pid = pid, .tid = tid };
	return coati_map_put(&o->index, (uint32_t)tid, o->threads.len - 1);
}

/* ---- an interval ---- */

static int find_event(struct reading *r)
{
	struct coati_recording_event e = {
		.name = COATI_OFF_CPU_EVENT,
		.attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_CONTEXT_SWITCHES },
	};
	int n = 0;

	if (!r->off.has_event)
		n = coati_profile_find_event(r->profile, &e, &r->off.event);
	r->off.has_event = n == 0;
	return n;
}

/* The stack with an added frame inside the innermost; @base UINT32_MAX: that frame alone. */
static int find_stack(struct reading *r, uint32_t base, enum off_frame frame, uint32_t *ret)
{
	struct location l = { .pub = { .image = COATI_IMAGE_NONE,
				       .flags = COATI_LOCATION_OFF_CPU,
				       .vaddr = frame,
				       .file = r->file } };
	struct coati_profile_stack s = { .locations = r->locations, .nr = 1 };
	int n;

	*ret = base;
	if (frame == OFF_FRAME_NONE)
		return 0;
	n = coati_profile_find_location(r->profile, &l, &r->locations[0]);
	if (n < 0)
		return n;
	if (base != UINT32_MAX) {
		const struct coati_profile_stack *b = &r->profile->stacks.v[base];
		uint32_t nr = b->nr < r->profile->max_frames ? b->nr : r->profile->max_frames - 1;

		memcpy(&r->locations[1], b->locations, nr * sizeof(*r->locations));
		s.nr += nr;
		s.flags = b->flags;
	}
	return coati_profile_find_stack(r->profile, &s, ret);
}

static void account(struct reading *r, const struct coati_profile_entry *e, uint64_t from,
		    uint64_t ns, int32_t cpu)
{
	struct coati_profile *p = r->profile;
	struct coati_profile_event *event = &p->events.v[e->event];

	event->samples += !r->off.goes_on;
	add_weight(&event->weight, ns);
	p->quality.off_intervals += !r->off.goes_on;
	add_weight(&p->quality.off_ns, ns);
	if (from < p->quality.first_time)
		p->quality.first_time = from;
	if (from + ns > p->quality.last_time)
		p->quality.last_time = from + ns;
	if (p->on_sample) {
		struct coati_profile_sample s = { .time = from,
						  .weight = ns,
						  .stack = e->stack,
						  .thread = e->thread,
						  .event = e->event,
						  .labels = e->labels,
						  .cpu = cpu,
						  .goes_on = r->off.goes_on };

		p->on_sample(p->ctx, &s);
	}
}

/* Into each bin what lies in it. */
static int add_entries(struct reading *r, struct coati_profile_entry *e, uint64_t from, uint64_t to)
{
	uint64_t bin_ns = r->profile->bin_ns;
	uint32_t unused;

	for (uint32_t i = 0; from < to || !i; i++) {
		uint64_t next = to;
		int n;

		e->bin = reading_bin(r, from);
		if (bin_ns && i + 1 < PIECES_MAX && from >= r->start)
			next = from + bin_ns - (from - r->start) % bin_ns;
		if (next > to || next < from)
			next = to;
		e->count = !i && !r->off.goes_on;
		e->weight = next - from;
		n = coati_profile_find_entry(r->profile, e, &unused);
		if (n < 0)
			return n;
		from = next;
	}
	return 0;
}

/* Part of an interval in which one thing is true. */
struct stretch {
	uint64_t from, to;
	enum off_frame frame;
};

static int add_stretch(struct reading *r, const struct off_thread *t, struct stretch s)
{
	struct coati_profile *p = r->profile;
	struct coati_identity id = { .pid = (uint32_t)t->pid, .tid = (uint32_t)t->tid };
	struct coati_profile_entry e = { .labels = t->labels, .cpu = -1 };
	const struct label_set *set = &p->label_sets.v[t->labels];
	uint64_t from = s.from > r->from ? s.from : r->from, to = s.to < r->to ? s.to : r->to;
	struct task *task;
	int n;

	if (s.to <= s.from)
		return 0;
	n = reading_task(r, &id, s.to, &task);
	if (n < 0)
		return n;
	if (to <= from || !r->off.passes || !task->passes ||
	    !coati_conditions_cpu(&p->conditions, t->cpu) ||
	    !coati_conditions_labels(&p->conditions, set->labels, set->nr,
				     &p->threads.v[task->thread]))
		return 0;
	n = find_event(r);
	if (n == 0)
		n = find_stack(r, t->has_stack ? t->stack : UINT32_MAX, s.frame, &e.stack);
	if (n < 0)
		return n;
	e.thread = task->thread;
	e.event = r->off.event;
	if (p->flags & COATI_PROFILE_PER_CPU)
		e.cpu = t->cpu;
	n = add_entries(r, &e, from, to);
	if (n == 0) {
		account(r, &e, from, to - from, t->cpu);
		p->quality.off_no_stack += !t->has_stack && t->state == OFF_AWAY;
	}
	return n;
}

static bool touches_loss(const struct off_reading *o, const struct off_thread *t, uint64_t to)
{
	if (t->losses != o->losses)
		return true;
	for (size_t i = 0; i < o->windows.len; i++)
		if (o->windows.v[i].from < to && o->windows.v[i].to > t->since)
			return true;
	return false;
}

static int unpaired(struct reading *r)
{
	r->profile->quality.off_unpaired++;
	return 0;
}

/* The thread was away until @to. */
static int close_interval(struct reading *r, const struct off_thread *t, uint64_t to)
{
	struct off_reading *o = &r->off;
	uint64_t from = t->since > o->begin ? t->since : o->begin;
	enum off_frame frame = t->has_stack ? OFF_FRAME_NONE : OFF_FRAME_BLOCKED;
	uint64_t woken = t->woken && t->woken >= from && t->woken < to ? t->woken : to;
	int n;

	if (o->end && to > o->end)
		to = o->end;
	if (to <= from)
		return 0;
	if (woken > to)
		woken = to;
	if (touches_loss(o, t, to))
		return unpaired(r);
	/* the recorder says where it slept when it began to look */
	if (t->state == OFF_UNSEEN)
		frame = t->has_stack ? OFF_FRAME_NONE : OFF_FRAME_BEFORE;
	else if (t->state == OFF_NEW)
		frame = OFF_FRAME_RUNNABLE;
	else if (t->preempted)
		frame = OFF_FRAME_PREEMPTED;
	n = add_stretch(r, t, (struct stretch){ from, woken, frame });
	if (n == 0)
		n = add_stretch(r, t, (struct stretch){ woken, to, OFF_FRAME_RUNNABLE });
	return n;
}

/* ---- records ---- */

static int switched_in(struct reading *r, struct off_thread *t, uint64_t time)
{
	int n = 0;

	/* woken before it had left its CPU, and not since: nothing else brings it back */
	if (t->state == OFF_AWAY && t->early && !t->woken && r->off.all_wakes)
		t->woken = t->since;
	if (t->state == OFF_ON || time < t->since)
		n = unpaired(r); /* that it left was not recorded */
	else
		n = close_interval(r, t, time);
	t->state = OFF_ON;
	t->has_stack = false;
	t->labels = 0;
	t->woken = 0;
	t->early = false;
	t->since = time;
	return n;
}

static int switched_out(struct reading *r, struct off_thread *t, const struct coati_record *rec)
{
	int n = t->state == OFF_AWAY ? unpaired(r) : 0; /* that it came was not recorded */

	t->state = OFF_AWAY;
	t->since = rec->id.time;
	t->woken = 0;
	t->preempted = rec->misc & COATI_MISC_SWITCH_OUT_PREEMPT;
	t->cpu = rec->id.present & COATI_SAMPLE_CPU ? (int32_t)rec->id.cpu : -1;
	t->losses = r->off.losses;
	return n;
}

static int take_switch(struct reading *r, const struct coati_record *rec)
{
	const uint64_t need = COATI_SAMPLE_TID | COATI_SAMPLE_TIME;
	struct off_thread *t;
	int n;

	/* which thread, and when? Or none: an idle CPU */
	if ((rec->id.present & need) != need || (int32_t)rec->id.tid <= 0)
		return 0;
	r->off.cpu_wide |= rec->type == COATI_RECORD_SWITCH_CPU_WIDE;
	if (r->off.at_exec)
		return 0;
	n = find(&r->off, (int32_t)rec->id.pid, (int32_t)rec->id.tid, &t);
	if (n < 0 || t->state == OFF_ENDED)
		return n;
	return rec->misc & COATI_MISC_SWITCH_OUT ? switched_out(r, t, rec)
						 : switched_in(r, t, rec->id.time);
}

static int take_fork(struct reading *r, const struct coati_record *rec, uint64_t time)
{
	struct off_thread *t;
	int n = find(&r->off, (int32_t)rec->u.task.pid, (int32_t)rec->u.task.tid, &t);

	if (n < 0)
		return n;
	*t = (struct off_thread){ .pid = (int32_t)rec->u.task.pid,
				  .tid = (int32_t)rec->u.task.tid,
				  .state = time ? OFF_NEW : OFF_UNSEEN,
				  .told = !time,
				  .cpu = -1,
				  .losses = r->off.losses,
				  .since = time };
	return 0;
}

static int take_exit(struct reading *r, const struct coati_record *rec)
{
	struct off_thread *t;
	int n = find(&r->off, (int32_t)rec->u.task.pid, (int32_t)rec->u.task.tid, &t);

	if (n < 0)
		return n;
	if (t->state == OFF_AWAY)
		unpaired(r); /* who ends was there */
	t->state = OFF_ENDED;
	return 0;
}

/* A program that is recorded from its exec on runs from then on. */
static int take_exec(struct reading *r, const struct coati_record *rec, uint64_t time)
{
	struct off_thread *t;
	int n = find(&r->off, (int32_t)rec->u.comm.pid, (int32_t)rec->u.comm.tid, &t);

	if (n < 0)
		return n;
	t->state = OFF_ON;
	t->since = time;
	r->off.at_exec = false;
	r->off.executed = true;
	r->off.begin = time;
	return 0;
}

static int take_decoded(struct reading *r, const struct coati_record *rec, uint64_t time)
{
	switch (rec->type) {
	case COATI_RECORD_SWITCH:
	case COATI_RECORD_SWITCH_CPU_WIDE:
		return take_switch(r, rec);
	case COATI_RECORD_FORK:
		return take_fork(r, rec, time);
	case COATI_RECORD_EXIT:
		return take_exit(r, rec);
	case COATI_RECORD_COMM:
		return r->off.at_exec && rec->misc & COATI_MISC_COMM_EXEC ? take_exec(r, rec, time)
									  : 0;
	default:
		/* who was away when something was lost may have run meanwhile */
		r->off.losses += !r->off.windows.len;
		return 0;
	}
}

static bool is_ours(uint32_t type)
{
	return type == COATI_RECORD_SWITCH || type == COATI_RECORD_SWITCH_CPU_WIDE ||
	       type == COATI_RECORD_FORK || type == COATI_RECORD_EXIT ||
	       type == COATI_RECORD_COMM || type == COATI_RECORD_LOST;
}

int coati_off_record(struct reading *r, const struct coati_recording_item *item)
{
	const struct coati_format_table *formats = coati_recording_formats(r->recording);
	const struct coati_sample_format *fmt = coati_format_table_get(formats, item->event);
	struct coati_record rec;
	int n;

	if (!is_ours(item->raw.type))
		return 0;
	coati_off_look(r);
	if (!r->off.on)
		return 0;
	if (!fmt || coati_record_decode(&item->raw, fmt, &rec) < 0) {
		r->profile->quality.damaged += item->raw.type == COATI_RECORD_SWITCH ||
					       item->raw.type == COATI_RECORD_SWITCH_CPU_WIDE;
		return 0;
	}
	if (item->time > r->off.last)
		r->off.last = item->time;
	if (item->time && !r->off.at_exec)
		coati_reading_start(r, r->off.begin ? r->off.begin : item->time);
	if (item->time && !r->off.begin && !r->off.at_exec)
		r->off.begin = item->time;
	n = take_decoded(r, &rec, item->time);
	if (n == -E2BIG) {
		r->profile->quality.refused++;
		n = 0;
	}
	return n;
}

/* ---- samples ---- */

int coati_off_stack(struct reading *r, const struct coati_record *rec, uint32_t stack,
		    uint32_t labels)
{
	struct off_thread *t;
	int n;

	if ((int32_t)rec->id.tid <= 0)
		return 0;
	n = find(&r->off, (int32_t)rec->id.pid, (int32_t)rec->id.tid, &t);
	/* it leaves only after this; a sample of one that is away is of a switch that was lost */
	if (n < 0 || t->state == OFF_ENDED || t->state == OFF_AWAY)
		return n;
	t->stack = stack;
	t->labels = labels;
	t->has_stack = true;
	return 0;
}

static int open_waking(struct reading *r, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e = coati_recording_event(r->recording, item->event);
	uint64_t size = 0;
	const char *text =
		e ? coati_recording_tracepoint(r->recording, e->attr.config, &size) : NULL;
	int n;

	r->off.waking_pid = -ENOENT;
	n = text ? coati_tracepoint_parse(text, size, &r->off.waking, NULL) : -ENOENT;
	if (n == 0)
		r->off.waking_pid = coati_tracepoint_find(r->off.waking, "pid");
	return n == -ENOMEM ? n : 0;
}

int coati_off_waking(struct reading *r, const struct coati_recording_item *item,
		     const struct coati_record *rec)
{
	const struct coati_sample *s = &rec->u.sample;
	struct coati_payload payload = { .bytes = s->raw,
					 .size = s->raw_size,
					 .swap = item->raw.swap };
	struct coati_field_value v;
	struct off_thread *t;
	uint64_t at;
	int n = 0;

	if (!r->off.on || !(s->present & COATI_SAMPLE_RAW))
		return 0;
	if (!r->off.waking && !r->off.waking_pid)
		n = open_waking(r, item);
	if (n < 0 || r->off.waking_pid < 0 || !r->off.waking)
		return n;
	if (coati_tracepoint_read(r->off.waking, (uint32_t)r->off.waking_pid, &payload, &v) < 0 ||
	    !coati_map_get(&r->off.index, (uint32_t)v.number, &at))
		return 0;
	t = &r->off.threads.v[at];
	if ((t->state == OFF_AWAY || t->state == OFF_UNSEEN) && !t->woken)
		t->woken = rec->id.time;
	t->early |= t->state == OFF_ON;
	return 0;
}

/* ---- the end ---- */

int coati_off_end(struct reading *r)
{
	struct off_reading *o = &r->off;
	int n = 0;

	if (!o->on || o->at_exec)
		return 0;
	if (coati_recording_info(r->recording)->is_pipe)
		coati_off_take_account(r);
	if (!o->end)
		o->end = o->last;
	coati_reading_start(r, o->begin); /* no thread ran at all */
	for (size_t i = 0; i < o->threads.len && n == 0; i++) {
		const struct off_thread *t = &o->threads.v[i];

		if (t->state == OFF_AWAY ||
		    (t->state == OFF_UNSEEN && t->told && o->whole && !o->cpu_wide))
			n = close_interval(r, t, o->end);
		if (n == -E2BIG) {
			r->profile->quality.refused++;
			n = 0;
		}
	}
	return n;
}

/* Does it wait, and will whatever comes next say that it waited until then? */
static bool waits_on(const struct off_reading *o, const struct off_thread *t)
{
	if (t->woken || t->preempted || t->losses != o->losses)
		return false;
	return t->state == OFF_AWAY ||
	       (t->state == OFF_UNSEEN && t->told && o->whole && !o->cpu_wide && o->begin);
}

int coati_off_so_far(struct reading *r)
{
	struct off_reading *o = &r->off;
	int n = 0;

	if (!o->on || o->at_exec)
		return 0;
	o->goes_on = true;
	for (size_t i = 0; i < o->threads.len && n == 0; i++) {
		struct off_thread *t = &o->threads.v[i];

		if (!waits_on(o, t) || t->since >= o->last)
			continue;
		n = close_interval(r, t, o->last);
		t->since = o->last;
	}
	o->goes_on = false;
	return n;
}

void coati_off_fini(struct off_reading *o)
{
	coati_map_fini(&o->index);
	ARRAY_FINI(&o->threads);
	ARRAY_FINI(&o->windows);
	coati_tracepoint_free(o->waking);
}
