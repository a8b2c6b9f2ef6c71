/* SPDX-License-Identifier: MIT */
/* Live events of a recording on their way into a timeline: batches are fed to the trace, which
 * knows their order and names, and what it gives becomes events. */
#include <errno.h>
#include <string.h>

#include <coati/trace.h>

#include "base/strbuf.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "record/batch.h"
#include "trace/fold.h"
#include "trace/backlog.h"
#include "trace/timeline-read.h"
#include "trace/timeline.h"

#define TEXT_MAX 65536

/* A text with an end, in the load's own buffer. */
static const char *text_of(struct load *l, const struct coati_trace_text *t)
{
	coati_strbuf_clear(&l->text);
	coati_strbuf_add(&l->text, t->text, t->size);
	return l->text.text;
}

static const char *name_of(struct load *l, const struct coati_trace_event *e)
{
	return e->site ? text_of(l, &e->site->name) : NULL;
}

/* Repeated: it began this long before. */
static void set_again(const struct coati_trace_event *e, struct coati_timeline_event *to)
{
	if (!(e->flags & COATI_TRACE_REOPENED))
		return;
	to->flags = COATI_TIMELINE_AGAIN;
	if (e->duration != COATI_TRACE_NO_DURATION && e->duration < to->time)
		to->time -= e->duration;
}

static void set_labels(struct load *l, const struct coati_trace_event *e)
{
	struct coati_trace_text key, value;
	struct coati_trace_pos pos = { 0 };

	coati_strbuf_clear(&l->text);
	while (coati_trace_label_next(e, &pos, &key, &value) > 0) {
		coati_strbuf_adds(&l->text, l->text.len ? "," : "");
		coati_strbuf_add(&l->text, key.text, key.size);
		coati_strbuf_addc(&l->text, '=');
		coati_strbuf_add(&l->text, value.text, value.size);
	}
}

static void set_log(struct load *l, const struct coati_trace_event *e)
{
	coati_strbuf_clear(&l->text);
	if (e->site && e->site->category.size) {
		coati_strbuf_add(&l->text, e->site->category.text, e->site->category.size);
		coati_strbuf_adds(&l->text, ": ");
	}
	coati_strbuf_add(&l->text, e->text.text, e->text.size);
}

/* Events that only have a line: counters, flows, resources, instants. */
static void set_line(struct load *l, const struct coati_trace_event *e)
{
	char line[1024];
	const char *at;
	size_t n = coati_live_reader_format(l->trace, e, line, sizeof(line));

	coati_strbuf_clear(&l->text);
	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	/* behind time and thread */
	at = memchr(line, ' ', n);
	at = at ? memchr(at + 1, ' ', n - (size_t)(at + 1 - line)) : NULL;
	at = at ? at + 1 : line;
	coati_strbuf_add(&l->text, at, n - (size_t)(at - line));
}

/* What becomes of it; false: nothing. */
static bool convert(struct load *l, const struct coati_trace_event *e,
		    struct coati_timeline_event *to)
{
	switch (e->kind) {
	case COATI_TRACE_REGION_BEGIN:
	case COATI_TRACE_TASK_BEGIN:
		to->kind = e->kind == COATI_TRACE_TASK_BEGIN ? COATI_TIMELINE_TASK_BEGIN
							     : COATI_TIMELINE_REGION_BEGIN;
		to->text = name_of(l, e);
		set_again(e, to);
		return !(e->flags & COATI_TRACE_KNOWN);
	case COATI_TRACE_REGION_END:
		to->kind = COATI_TIMELINE_REGION_END;
		return !(e->flags & COATI_TRACE_NO_BEGIN);
	case COATI_TRACE_RANGE:
		to->kind = COATI_TIMELINE_RANGE;
		to->text = name_of(l, e);
		to->number = e->duration == COATI_TRACE_NO_DURATION ? 0 : e->duration;
		return true;
	case COATI_TRACE_TASK_END:
		to->kind = COATI_TIMELINE_TASK_END;
		return true; /* one without a begin is a task that began before the recording */
	case COATI_TRACE_TASK_ENTER:
		to->kind = COATI_TIMELINE_TASK_ENTER;
		set_again(e, to);
		return !(e->flags & COATI_TRACE_KNOWN);
	case COATI_TRACE_THREAD_NAME:
		to->kind = COATI_TIMELINE_NAME;
		to->text = text_of(l, &e->text);
		return true;
	case COATI_TRACE_LABELS:
		to->kind = COATI_TIMELINE_LABELS;
		set_labels(l, e);
		to->text = l->text.text;
		return true;
	case COATI_TRACE_LOST:
		to->kind = COATI_TIMELINE_LIVE_LOST;
		to->number = (uint64_t)e->number;
		return true;
	case COATI_TRACE_LOG:
		to->kind = COATI_TIMELINE_LOG;
		set_log(l, e);
		to->text = l->text.text;
		return true;
	case COATI_TRACE_COUNTER ... COATI_TRACE_RESOURCE_END:
		to->kind = COATI_TIMELINE_LOG;
		set_line(l, e);
		to->text = l->text.text;
		return true;
	default:
		return false;
	}
}

static int take(struct load *l, const struct coati_trace_event *e)
{
	struct coati_timeline_event to = { .time = e->time,
					   .pid = (int32_t)e->pid,
					   .tid = (int32_t)e->tid,
					   .cpu = -1,
					   .stack = COATI_TIMELINE_NONE,
					   .id = e->id,
					   .parent = e->parent };

	/* no event of its own: known from before */
	if (!e->tid && e->kind == COATI_TRACE_TASK_BEGIN)
		to.tid = to.pid;
	if (!to.tid)
		return 0;
	if (!convert(l, e, &to)) {
		l->timeline->info.unpaired += (e->flags & COATI_TRACE_NO_BEGIN) != 0;
		return 0;
	}
	return coati_timeline_add(l->timeline, &to);
}

/* Regions that are too deep for the validator end it: nothing is claimed of what follows. */
static int check(struct load *l, const struct coati_trace_event *e)
{
	struct coati_trace_finding found, *slot;
	int r = l->check ? coati_trace_check_event(l->check, e, &found) : 0;

	if (r == -E2BIG) {
		coati_trace_check_free(&l->check);
		coati_timeline_add_note(l->timeline,
					"live events are not checked from %llu ns on: more than "
					"65,536 regions in each other",
					(unsigned long long)e->time);
		return 0;
	}
	if (r <= 0)
		return r;
	l->timeline->info.findings++;
	slot = ARRAY_ADD(&l->timeline->findings);
	if (slot)
		*slot = found;
	return 0;
}

/* What does not fit is counted. */
static int fold(struct load *l, const struct coati_trace_event *e)
{
	int r = coati_fold_event(l->fold, e);

	if (r != -E2BIG)
		return r;
	l->timeline->info.refused++;
	return 0;
}

static int take_all(struct load *l)
{
	const struct coati_trace_event *const *events;
	int n, r = 0;

	while (r == 0 && (n = coati_live_reader_take(l->trace, &events)) != 0) {
		r = n < 0 ? n : 0;
		for (int i = 0; i < n && r == 0; i++) {
			r = check(l, events[i]);
			if (r == 0)
				r = l->fold ? fold(l, events[i]) : take(l, events[i]);
		}
	}
	return r;
}

static int begin(struct load *l)
{
	struct coati_trace_opts o = { .size = sizeof(o), .from_ns = l->begin, .to_ns = l->end };
	int r;

	l->text = (struct strbuf)STRBUF_INIT(TEXT_MAX);
	r = coati_live_reader_new(&o, &l->trace, NULL);
	return r < 0 ? r : coati_trace_check_new(&l->check, NULL);
}

int coati_load_feed(struct load *l, const struct backlog_batch *b)
{
	int r = l->trace ? 0 : begin(l);

	if (r == 0)
		r = coati_live_reader_feed(l->trace, b->bytes, b->size, b->where, NULL);
	if (r == -E2BIG) {
		l->timeline->info.refused++;
		r = 0;
	}
	return r < 0 ? r : take_all(l);
}

int coati_load_live(struct load *l, const struct coati_recording_item *item,
		    const struct coati_record *rec)
{
	struct coati_batch batch;
	int r = coati_batch_decode(rec, item->raw.swap, &batch);
	struct backlog_batch b;

	/* those of a summary wait: see late-samples.h */
	if (r < 0 || batch.kind != COATI_BATCH_TRACE ||
	    l->timeline->opts.flags & COATI_TIMELINE_SUMMARY)
		return 0;
	b = (struct backlog_batch){ batch.payload, batch.payload_size, item->offset };
	return coati_load_feed(l, &b);
}

/* In words: what the trace found out about its batches. */
static void take_quality(struct load *l)
{
	struct coati_timeline_info *info = &l->timeline->info;
	const struct coati_error *damage = coati_live_reader_damage(l->trace);
	struct coati_trace_quality q = { .size = sizeof(q) };

	coati_live_reader_get_quality(l->trace, &q);
	info->live_lost = q.lost;
	info->live_damaged = q.damaged;
	info->clock_error = q.clock_error_ns;
	info->clock_unknown = q.clock_unknown;
	info->late += q.late;
	if (q.missing)
		coati_timeline_add_note(l->timeline,
					"%llu batches of live events are missing: they were "
					"overwritten before they were read",
					(unsigned long long)q.missing);
	if (q.clock_unknown)
		coati_timeline_add_note(l->timeline,
					"the clocks of %llu batches of live events contradict "
					"themselves: their times are guesses",
					(unsigned long long)q.clock_unknown);
	if (damage->code)
		coati_timeline_add_note(l->timeline, "live events: %s", damage->text);
}

int coati_load_live_end(struct load *l)
{
	int r;

	if (!l->trace)
		return 0;
	r = coati_live_reader_finish(l->trace);
	if (r == 0)
		r = take_all(l);
	take_quality(l);
	return r;
}

void coati_load_live_fini(struct load *l)
{
	if (l->trace)
		coati_strbuf_fini(&l->text);
	coati_backlog_fini(&l->backlog);
	coati_trace_check_free(&l->check);
	coati_live_reader_free(&l->trace);
}
