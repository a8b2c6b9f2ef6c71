/* SPDX-License-Identifier: MIT */
/*
 * What is known about a recording's switches before its first record: whether it has any, when it
 * begins and ends, and between which times something was lost. A loss is reported only when the
 * ring has room again, perhaps after others have gone on, so a file with losses is walked over once
 * before it is read.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "reading/hooks.h"
#include "reading/reading.h"
#include "recording/recording.h"

#define WINDOWS_MAX ((size_t)1 << 20)
#define THREADS_MAX ((size_t)1 << 22)

static void recording_closep(struct coati_recording **r)
{
	coati_recording_close(r);
}

static int add_window(struct off_reading *o, uint64_t from, uint64_t to)
{
	struct off_loss *last = o->windows.len ? &o->windows.v[o->windows.len - 1] : NULL;
	struct off_loss *w;

	/* there may be many in a row */
	if (last && from <= last->to && to >= last->from) {
		last->from = from < last->from ? from : last->from;
		last->to = to > last->to ? to : last->to;
		return 0;
	}
	w = ARRAY_ADD(&o->windows);
	if (!w && o->windows.len >= o->windows.max) {
		last->from = 0; /* too many to keep apart: nothing is known */
		last->to = UINT64_MAX;
		return 0;
	}
	if (!w)
		return -ENOMEM;
	*w = (struct off_loss){ from, to };
	return 0;
}

int coati_off_loss_look(struct off_reading *o, struct off_walk *w, const struct coati_record *rec)
{
	const uint64_t need = COATI_SAMPLE_CPU | COATI_SAMPLE_TIME;
	int n = 0;

	if (rec->type == COATI_RECORD_LOST_SAMPLES) {
		add_weight(&w->lost_samples, rec->u.lost_samples);
		return 0;
	}
	if (rec->type == COATI_RECORD_LOST)
		add_weight(&w->lost, rec->u.lost.lost);
	if ((rec->id.present & need) != need || rec->id.cpu >= OFF_CPUS_MAX || !rec->id.time)
		return 0;
	if (rec->type == COATI_RECORD_LOST)
		n = add_window(o, w->last[rec->id.cpu], rec->id.time);
	if (rec->id.time > w->last[rec->id.cpu])
		w->last[rec->id.cpu] = rec->id.time;
	w->seen[rec->id.cpu] = true;
	return n;
}

int coati_off_loss_tail(struct off_reading *o, const struct off_walk *w)
{
	uint64_t from = UINT64_MAX;

	if (w->lost_samples <= w->lost)
		return 0;
	for (size_t i = 0; i < OFF_CPUS_MAX; i++)
		if (w->seen[i] && w->last[i] < from)
			from = w->last[i];
	return from == UINT64_MAX ? 0 : add_window(o, from, UINT64_MAX);
}

static int find_losses(struct reading *r, const char *path)
{
	struct coati_recording_opts opts = { .size = sizeof(opts),
					     .flags = COATI_RECORDING_FILE_ORDER };
	CLEANUP(recording_closep) struct coati_recording *other = NULL;
	CLEANUP(freep) struct off_walk *w = coati_alloc(sizeof(*w));
	struct coati_recording_item item;
	struct coati_record rec;
	int n = 0;

	if (!w)
		return -ENOMEM;
	if (coati_recording_open(path, &opts, &other, NULL) < 0)
		return 0;
	while (n == 0 && coati_recording_next(other, &item) > 0) {
		const struct coati_sample_format *fmt =
			coati_format_table_get(coati_recording_formats(other), item.event);

		if (item.raw.type < COATI_RECORD_HEADER_ATTR && fmt &&
		    coati_record_decode(&item.raw, fmt, &rec) == 0)
			n = coati_off_loss_look(&r->off, w, &rec);
	}
	/* LOST records count both */
	add_weight(&w->lost_samples, coati_reading_recorder_value(r->recording, "walks_dropped"));
	return n < 0 ? n : coati_off_loss_tail(&r->off, w);
}

void coati_off_look(struct reading *r)
{
	struct off_reading *o = &r->off;
	uint32_t nr = coati_recording_event_count(r->recording);

	if (r->profile->flags & COATI_PROFILE_NO_OFF_CPU)
		return;
	for (; o->nr_events < nr; o->nr_events++) {
		const struct coati_attr *a =
			&coati_recording_event(r->recording, o->nr_events)->attr;

		o->on |= (a->flags & COATI_ATTR_CONTEXT_SWITCH) != 0;
		/* a later file of several begins when the one before it ended */
		o->at_exec |= a->flags & COATI_ATTR_ENABLE_ON_EXEC && !o->executed && !o->begin;
	}
}

void coati_off_take_account(struct reading *r)
{
	struct off_reading *o = &r->off;
	uint64_t size;

	if (!coati_recording_feature(r->recording, COATI_FEATURE_RECORDER, &size))
		return;
	o->begin = coati_reading_recorder_value(r->recording, "begin_ns");
	o->end = coati_reading_recorder_value(r->recording, "end_ns");
	o->whole = coati_reading_recorder_value(r->recording, "whole_processes");
	o->all_wakes = coati_reading_recorder_value(r->recording, "wakes_all");
}

int coati_off_begin(struct reading *r, const char *path)
{
	struct off_reading *o = &r->off;

	o->threads.max = THREADS_MAX;
	o->windows.max = WINDOWS_MAX;
	coati_map_init(&o->index, THREADS_MAX);
	o->passes = coati_conditions_event(&r->profile->conditions, COATI_OFF_CPU_EVENT);
	coati_off_take_account(r);
	coati_off_look(r);
	if (!o->on)
		return 0;
	if (coati_reading_recorder_value(r->recording, "lost") && strcmp(path, "-") != 0)
		return find_losses(r, path);
	return 0;
}
