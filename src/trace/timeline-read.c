/* SPDX-License-Identifier: MIT */
/*
 * A recording on its way into a timeline. The stage reading/ reads it: order, processes, stacks and
 * their names. Here each record is looked at before, and what it tells about threads becomes
 * events; the number of its stack comes from the reading right after. Recordings of
 * `perf sched record` tell the same by tracepoints alone.
 */
#include "trace/timeline-read.h"

#include <errno.h>
#include <string.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parse.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "reading/wait.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "trace/timeline.h"

#define ALLOW_ITEMS 1024
#define STACKS_MAX  ((size_t)1 << 22)

/* ---- one event behind ---- */

/* The stack of a sample comes after it. */
static int flush(struct load *l)
{
	int r = 0;

	if (l->pending.kind == LOAD_OFF_KIND)
		r = coati_map_put(&l->stacks, (uint32_t)l->pending.tid, l->pending.stack);
	else if (l->pending.kind)
		r = coati_timeline_add(l->timeline, &l->pending);
	l->pending.kind = 0;
	return r < 0 && r != -E2BIG ? r : 0;
}

static struct coati_timeline_event event_of(const struct coati_record *rec,
					    enum coati_timeline_kind kind)
{
	return (struct coati_timeline_event){
		.kind = kind,
		.time = rec->id.present & COATI_SAMPLE_TIME ? rec->id.time : 0,
		.pid = (int32_t)rec->id.pid,
		.tid = (int32_t)rec->id.tid,
		.cpu = rec->id.present & COATI_SAMPLE_CPU && rec->id.cpu < TIMELINE_CPUS_MAX
			       ? (int32_t)rec->id.cpu
			       : -1,
		.stack = COATI_TIMELINE_NONE,
	};
}

static uint32_t take_stack(struct load *l, int32_t tid)
{
	uint64_t stack = COATI_TIMELINE_NONE;

	if (coati_map_get(&l->stacks, (uint32_t)tid, &stack))
		coati_map_del(&l->stacks, (uint32_t)tid);
	return (uint32_t)stack;
}

/* The events are stopped one after the other, and that of switches is not: threads that switch all
 * the time do so behind the end that the recorder says. */
static bool is_after_end(const struct load *l, uint64_t time)
{
	return l->end && time > l->end;
}

/* ---- samples ---- */

/* The filter for threads that are about to start lets through those of other processes, too. */
static bool is_recorded(const struct load *l, const struct coati_record *rec)
{
	uint32_t at = coati_timeline_find_thread(l->timeline, (int32_t)rec->id.tid, rec->id.time);

	return at != COATI_TIMELINE_NONE && !l->timeline->threads.v[at].outside;
}

static int count_irq(struct load *l, const struct load_event *v, int32_t tid)
{
	uint64_t deep = 0;

	if (!v->irq || !coati_load_is_hard(v))
		return 0;
	(void)coati_map_get(&l->irqs, (uint32_t)tid, &deep);
	if (v->kind == LOAD_IRQ_ENTRY)
		deep++;
	else if (deep)
		deep--;
	return deep ? coati_map_put(&l->irqs, (uint32_t)tid, deep)
		    : (coati_map_del(&l->irqs, (uint32_t)tid), 0);
}

/* The tracepoint tells of two threads at once. */
static int take_switch_point(struct load *l, const struct load_event *v,
			     const struct coati_record *rec, const struct coati_payload *payload)
{
	struct coati_timeline_event e = event_of(rec, COATI_TIMELINE_OUT);
	int64_t prev, state, next;
	int r = 0;

	if (l->has_switches || !coati_load_field(v, 0, payload, &prev) ||
	    !coati_load_field(v, 1, payload, &state) || !coati_load_field(v, 2, payload, &next))
		return 0;
	if (next > 0) {
		e.kind = COATI_TIMELINE_IN;
		e.pid = -1;
		e.tid = (int32_t)next;
		e.other = prev > 0 ? (int32_t)prev : -1;
		r = coati_timeline_add(l->timeline, &e);
	}
	if (prev <= 0 || r < 0)
		return r;
	l->pending = event_of(rec, COATI_TIMELINE_OUT);
	l->pending.tid = (int32_t)prev;
	/* R, or R+: it would run on */
	if (!(state & 0xff))
		l->pending.flags = COATI_TIMELINE_PREEMPTED;
	return 0;
}

static int take_sample(struct load *l, const struct coati_recording *r,
		       const struct coati_recording_item *item, const struct coati_record *rec)
{
	const struct coati_sample *s = &rec->u.sample;
	struct coati_payload payload = { .bytes = s->present & COATI_SAMPLE_RAW ? s->raw : NULL,
					 .size = s->present & COATI_SAMPLE_RAW ? s->raw_size : 0,
					 .swap = item->raw.swap };
	const struct load_event *v = coati_load_event(l, r, item->event);
	int64_t number;
	uint64_t deep;

	if (!v)
		return 0;
	if (v->kind == LOAD_LIVE)
		return coati_load_live(l, item, rec);
	if (l->at_exec || !(rec->id.present & COATI_SAMPLE_TIME) || is_after_end(l, rec->id.time))
		return 0;
	switch (v->kind) {
	case LOAD_OFF:
		l->pending = event_of(rec, LOAD_OFF_KIND);
		break;
	case LOAD_SAMPLE:
		l->pending = event_of(rec, COATI_TIMELINE_SAMPLE);
		break;
	case LOAD_FAULT:
		l->pending = event_of(rec, COATI_TIMELINE_FAULT);
		break;
	case LOAD_SYSRET:
		l->pending = event_of(rec, COATI_TIMELINE_SYSRET);
		break;
	case LOAD_SYSCALL:
		if (coati_load_field(v, 0, &payload, &number)) {
			l->pending = event_of(rec, COATI_TIMELINE_SYSCALL);
			l->pending.number = (uint64_t)number;
		}
		break;
	case LOAD_WAKE:
		if (coati_load_field(v, 0, &payload, &number)) {
			l->pending = event_of(rec, COATI_TIMELINE_WAKE);
			l->pending.other = (int32_t)number;
			if (coati_map_get(&l->irqs, (uint32_t)l->pending.tid, &deep))
				l->pending.flags = COATI_TIMELINE_IRQ;
		}
		break;
	case LOAD_IRQ_ENTRY:
	case LOAD_IRQ_EXIT:
		if (is_recorded(l, rec) && coati_load_field(v, 0, &payload, &number)) {
			l->pending =
				event_of(rec, v->kind == LOAD_IRQ_ENTRY ? COATI_TIMELINE_IRQ_ENTRY
									: COATI_TIMELINE_IRQ_EXIT);
			l->pending.number = v->irq << 32 | (uint32_t)number;
			if (count_irq(l, v, l->pending.tid) == -ENOMEM)
				return -ENOMEM;
		}
		break;
	case LOAD_SWITCH:
		return take_switch_point(l, v, rec, &payload);
	default:
		break;
	}
	return 0;
}

/* ---- other records ---- */

static int take_switch(struct load *l, const struct coati_record *rec)
{
	struct coati_timeline_event e = event_of(rec, COATI_TIMELINE_IN);

	if (e.tid <= 0 || l->at_exec || is_after_end(l, e.time))
		return 0;
	/* none outlasts its thread on a CPU: an end was lost */
	coati_map_del(&l->irqs, (uint32_t)e.tid);
	if (rec->misc & COATI_MISC_SWITCH_OUT) {
		e.kind = COATI_TIMELINE_OUT;
		e.stack = take_stack(l, e.tid);
		if (rec->misc & COATI_MISC_SWITCH_OUT_PREEMPT)
			e.flags = COATI_TIMELINE_PREEMPTED;
	} else {
		e.stack = take_stack(l, e.tid); /* where it slept before the recording began */
	}
	return coati_timeline_add(l->timeline, &e);
}

static int take_task(struct load *l, const struct coati_record *rec)
{
	struct coati_timeline_event e = event_of(rec, COATI_TIMELINE_EXIT);

	e.pid = (int32_t)rec->u.task.pid;
	e.tid = (int32_t)rec->u.task.tid;
	e.other = (int32_t)rec->u.task.ppid;
	if (rec->type == COATI_RECORD_FORK)
		e.kind = e.time ? COATI_TIMELINE_START : COATI_TIMELINE_EXISTS;
	return e.tid > 0 ? coati_timeline_add(l->timeline, &e) : 0;
}

/* A program that is recorded from its exec on runs from then on. */
static int take_comm(struct load *l, const struct coati_record *rec)
{
	struct coati_timeline_event e = event_of(rec, COATI_TIMELINE_BEGIN);
	int r;

	if (!l->at_exec || !(rec->misc & COATI_MISC_COMM_EXEC) || !e.time)
		return 0;
	l->at_exec = false;
	e.pid = (int32_t)rec->u.comm.pid;
	e.tid = (int32_t)rec->u.comm.tid;
	r = coati_timeline_add(l->timeline, &e);
	e.kind = COATI_TIMELINE_IN;
	return r < 0 ? r : coati_timeline_add(l->timeline, &e);
}

static int take_loss(struct load *l, const struct coati_record *rec)
{
	struct coati_timeline_event e = event_of(rec, COATI_TIMELINE_LOST);

	e.number = rec->u.lost.lost;
	l->lost += e.number;
	return e.time ? coati_timeline_add(l->timeline, &e) : 0;
}

static int take_record(struct load *l, const struct coati_record *rec)
{
	switch (rec->type) {
	case COATI_RECORD_SWITCH:
	case COATI_RECORD_SWITCH_CPU_WIDE:
		return take_switch(l, rec);
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
		return take_task(l, rec);
	case COATI_RECORD_COMM:
		return take_comm(l, rec);
	case COATI_RECORD_LOST:
		return take_loss(l, rec);
	case COATI_RECORD_LOST_SAMPLES:
		l->lost_samples += rec->u.lost_samples;
		return 0;
	default:
		return 0;
	}
}

static bool tells(uint32_t type)
{
	switch (type) {
	case COATI_RECORD_SAMPLE:
	case COATI_RECORD_SWITCH:
	case COATI_RECORD_SWITCH_CPU_WIDE:
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
	case COATI_RECORD_COMM:
	case COATI_RECORD_LOST:
	case COATI_RECORD_LOST_SAMPLES:
		return true;
	default:
		return false;
	}
}

/* What the events say about the file, as far as they have come. */
static void look(struct load *l, const struct coati_recording *r)
{
	uint32_t nr = coati_recording_event_count(r);

	for (; l->nr_seen < nr; l->nr_seen++) {
		const struct coati_attr *a = &coati_recording_event(r, l->nr_seen)->attr;

		l->has_switches |= (a->flags & COATI_ATTR_CONTEXT_SWITCH) != 0;
		l->has_samples |=
			coati_load_kind(coati_recording_event(r, l->nr_seen)) == LOAD_SAMPLE;
		l->at_exec |= a->flags & COATI_ATTR_ENABLE_ON_EXEC && !l->begin &&
			      !l->timeline->info.begin;
	}
}

static int begin_at(struct load *l, uint64_t time)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_BEGIN,
					  .time = l->begin ? l->begin : time };

	l->begun = true;
	return coati_timeline_add(l->timeline, &e);
}

/* Limits grow with what was read. */
static void allow(struct load *l, const struct coati_recording *r)
{
	const struct coati_profile *p = l->timeline->profile;
	struct coati_recording_stats st = { .size = sizeof(st) };

	coati_recording_get_stats(r, &st);
	coati_timeline_allow(l->timeline, coati_limit(&p->limits, LIMIT_THREADS, st.read_bytes),
			     coati_limit(&p->limits, LIMIT_EVENTS, st.read_bytes));
}

/* And report those that were reached. */
static void tell_limits(struct coati_timeline *t)
{
	static const enum limit kinds[] = { LIMIT_THREADS, LIMIT_EVENTS };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (t->over[kinds[i]])
			coati_timeline_add_note(
				t, LIMIT_NOTE,
				(unsigned long long)coati_profile_limit(t->profile, kinds[i]),
				coati_limit_name(kinds[i]), (unsigned long long)t->over[kinds[i]],
				coati_limit_variable(kinds[i]));
}

static int on_item(void *ctx, const struct coati_recording *r,
		   const struct coati_recording_item *item)
{
	struct load *l = ctx;
	const struct coati_sample_format *fmt =
		coati_format_table_get(coati_recording_formats(r), item->event);
	struct coati_record rec;
	int n = flush(l);

	if (l->nr_items++ % ALLOW_ITEMS == 0)
		allow(l, r);
	if (n < 0 || !tells(item->raw.type))
		return n;
	/* a stream has it at its end */
	if (!l->looked && coati_recording_feature(r, COATI_FEATURE_RECORDER, &(uint64_t){ 0 })) {
		l->looked = true;
		l->begin = coati_reading_recorder_value(r, "begin_ns");
		l->end = coati_reading_recorder_value(r, "end_ns");
		l->whole = coati_reading_recorder_value(r, "whole_processes");
		l->counts_lost = coati_reading_counts_lost(r);
		l->lost_reports = coati_reading_recorder_value(r, "walks_dropped");
		n = coati_load_recorder(l, r);
	}
	look(l, r);
	if (!fmt || item->flags & COATI_RECORDING_ITEM_NO_EVENT ||
	    coati_record_decode(&item->raw, fmt, &rec) < 0)
		return 0;
	if (!l->begun && !l->at_exec && item->time && item->raw.type != COATI_RECORD_COMM)
		n = begin_at(l, item->time);
	if (n < 0)
		return n;
	l->begun |= l->at_exec;
	return item->raw.type == COATI_RECORD_SAMPLE ? take_sample(l, r, item, &rec)
						     : take_record(l, &rec);
}

/* One that the program took of itself says nothing new where the kernel takes some. */
static void on_live_sample(struct load *l, const struct coati_profile_sample *sample)
{
	const struct coati_profile_thread *th =
		coati_profile_thread(l->timeline->profile, sample->thread);
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_SAMPLE,
					  .time = sample->time,
					  .pid = th->pid,
					  .tid = th->tid,
					  .cpu = -1,
					  .stack = sample->stack };

	if (!l->has_samples && coati_timeline_add(l->timeline, &e) == -ENOMEM)
		l->no_memory = true;
}

static void on_sample(void *ctx, const struct coati_profile_sample *sample)
{
	struct load *l = ctx;

	if (coati_profile_event(l->timeline->profile, sample->event)->is_live)
		on_live_sample(l, sample);
	else
		l->pending.stack = sample->stack;
}

/* ---- the whole ---- */

static int lose_the_tail(struct load *l)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_LOST,
					  .time = l->timeline->info.end,
					  .cpu = -1 };
	uint64_t from = UINT64_MAX;

	/* LOST records count the walker's reports, too */
	if (l->lost_samples + l->lost_reports <= l->lost)
		return 0;
	/* what was lost last of all had no record behind it to tell of it */
	for (int32_t i = 0; i < TIMELINE_CPUS_MAX; i++)
		if (l->timeline->cpu_last[i] && l->timeline->cpu_last[i] < from) {
			from = l->timeline->cpu_last[i];
			e.cpu = i;
		}
	e.number = l->lost_samples + l->lost_reports - l->lost;
	l->lost += e.number;
	return coati_timeline_add(l->timeline, &e);
}

/* All threads of a process are watched: one that never got a CPU, nor left one, has waited all the
 * time. */
static int settle_idle(struct load *l)
{
	struct coati_timeline *t = l->timeline;

	for (size_t i = 0; l->whole && l->has_switches && i < t->threads.len; i++) {
		struct thread *th = &t->threads.v[i];
		struct stretch *s;

		if (!th->told || th->stretches.len || th->samples.len || th->end)
			continue;
		s = ARRAY_ADD(&th->stretches);
		if (!s)
			return -ENOMEM;
		*s = (struct stretch){ .begin = th->begin,
				       .wait = COATI_WAIT_OTHER,
				       .cpu = -1,
				       .stack = take_stack(l, th->tid) };
		s->asks = s->stack != COATI_TIMELINE_NONE;
	}
	return 0;
}

/* What programs sampled of themselves is left out where the kernel did. */
static void note_twice(struct coati_profile *p)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];

		nr += coati_profile_is_twice(p, e->event, e->thread) ? e->count : 0;
	}
	if (nr)
		coati_profile_note_twice(p, nr);
}

static int finish(struct load *l, struct coati_error *err)
{
	struct coati_timeline *t = l->timeline;
	const struct coati_profile_file *file = coati_profile_file(t->profile, 0);
	struct coati_profile_quality q = { .size = sizeof(q) };
	bool folds = t->opts.flags & COATI_TIMELINE_SUMMARY;
	const char *note;
	int r = l->no_memory ? -ENOMEM : flush(l);

	/* nothing happened at any time: the recorder knows when it began */
	if (r == 0 && !l->begun && l->begin)
		r = begin_at(l, l->begin);
	if (r == 0)
		r = lose_the_tail(l);
	if (l->counts_lost && t->info.lost == l->lost)
		t->info.lost = l->lost_samples;
	if (r == 0 && !folds)
		r = coati_load_live_end(l);
	if (r == 0)
		r = settle_idle(l);
	if (r < 0)
		return coati_fail(err, r, "timeline: %m");
	r = coati_profile_resolve(t->profile, COATI_RESOLVE_INLINES, err);
	if (r < 0)
		return r;
	note_twice(t->profile);
	/* also when no thread left or got a CPU: that is known, then */
	if (l->has_switches)
		t->info.has |= COATI_TIMELINE_HAS_SWITCHES;
	if (l->whole && t->info.wakes && !(t->info.has & COATI_TIMELINE_ALL_WAKES))
		t->info.has |= COATI_TIMELINE_OWN_WAKES;
	coati_load_name_stacks(t);
	r = folds ? coati_load_fold(l, err) : 0;
	if (r < 0)
		return r;
	coati_profile_quality(t->profile, &q);
	t->info.recorder_cpu_ns = q.recorder_cpu_ns;
	t->info.wall_ns = file ? file->wall_ns : 0;
	t->info.clock_ns = file ? file->clock_ns : 0;
	for (uint32_t i = 0; (note = coati_profile_note(t->profile, i)); i++)
		coati_timeline_add_note(t, "%s", note);
	tell_limits(t);
	coati_load_name_threads(t);
	return folds ? 0 : coati_timeline_end(t, l->end, err);
}

int coati_timeline_read(struct coati_timeline *t, const char *path, coati_progress_fn fn, void *ctx,
			struct coati_error *err)
{
	struct load l = { .timeline = t,
			  .events.max = 65536,
			  .backlog.chunks.max = SIZE_MAX / sizeof(struct backlog_chunk) };
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = COATI_PROFILE_NO_OFF_CPU | COATI_PROFILE_WAKES,
		.images = t ? t->opts.images : NULL,
	};
	struct coati_profile_hooks hooks = { .shared_images = t ? t->opts.shared_images : NULL,
					     .on_sample = on_sample,
					     .on_item = on_item,
					     .ctx = &l };
	int r;

	if (!t || !path || t->profile || t->ended)
		return coati_fail(err, -EINVAL, "a timeline needs exactly one recording");
	coati_map_init(&l.stacks, STACKS_MAX);
	coati_map_init(&l.irqs, STACKS_MAX);
	r = coati_contexts_new(&t->contexts, err);
	if (r == 0) {
		coati_late_samples_init(&t->late, coati_contexts_bare(t->contexts), &l.backlog);
		hooks.contexts = t->opts.flags & COATI_TIMELINE_SUMMARY
					 ? &t->late.source
					 : coati_contexts_samples(t->contexts);
		r = coati_profile_make(&o, &hooks, &t->profile, err);
	}
	if (r == 0)
		r = coati_profile_read(t->profile, path, fn, ctx, err);
	if (r == 0 || r == -EINTR) {
		int ended = finish(&l, err);

		r = ended < 0 ? ended : r;
	}
	for (size_t i = 0; i < l.events.len; i++)
		coati_tracepoint_free(l.events.v[i].tracepoint);
	ARRAY_FINI(&l.events);
	coati_map_fini(&l.stacks);
	coati_map_fini(&l.irqs);
	coati_load_live_fini(&l);
	return r;
}
