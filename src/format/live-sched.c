/* SPDX-License-Identifier: MIT */
/* see live-events.h; here: who ran where, out of a recording's context switches and wakeups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/live-events.h"

#define CPUS_MAX 65536

/* ---- which records ---- */

static int add_point(struct live *l, const struct coati_record *rec, enum live_sched_kind kind,
		     int32_t other)
{
	struct live_sched *s;
	uint32_t thread;
	int r;

	if (!(rec->id.present & COATI_SAMPLE_TIME) || !(rec->id.present & COATI_SAMPLE_CPU) ||
	    !(rec->id.present & COATI_SAMPLE_TID) || rec->id.cpu >= CPUS_MAX)
		return 0;
	/* the waker may be a thread that is filtered out, or an idle CPU */
	if (kind != LIVE_SCHED_WAKE) {
		if ((int32_t)rec->id.tid <= 0)
			return 0;
		r = coati_live_thread(l, rec->id.pid, rec->id.tid, rec->id.time, &thread);
		if (r < 0 || !l->threads.v[thread].passes)
			return r;
		l->threads.v[thread].is_scheduled = true;
	}
	s = ARRAY_ADD(&l->sched);
	if (!s) {
		l->is_full = l->sched.len >= l->sched.max;
		return -ENOMEM;
	}
	*s = (struct live_sched){ .time = rec->id.time,
				  .cpu = rec->id.cpu,
				  .tid = (int32_t)rec->id.tid,
				  .other = other,
				  .order = (uint32_t)(l->sched.len - 1),
				  .kind = (uint8_t)kind };
	return 0;
}

int coati_live_switch(struct live *l, const struct coati_recording *r,
		      const struct coati_recording_item *item)
{
	const struct coati_sample_format *fmt =
		coati_format_table_get(coati_recording_formats(r), item->event);
	struct coati_record rec;

	if (!fmt || coati_record_decode(&item->raw, fmt, &rec) < 0)
		return 0;
	if (!(rec.misc & COATI_MISC_SWITCH_OUT))
		return add_point(l, &rec, LIVE_SCHED_IN, 0);
	return add_point(l, &rec,
			 rec.misc & COATI_MISC_SWITCH_OUT_PREEMPT ? LIVE_SCHED_PREEMPTED
								  : LIVE_SCHED_OUT,
			 0);
}

/* Which field of the tracepoint has the number of the thread that is woken. Looked up once for a
 * file. */
static int find_field(struct live *l, const struct coati_recording *r, uint64_t config)
{
	uint64_t size = 0;
	const char *text = coati_recording_tracepoint(r, config, &size);
	int n = text ? coati_tracepoint_parse(text, size, &l->waking, NULL) : -ENOENT;

	if (n == -ENOMEM)
		return n;
	l->waking_field = n == 0 ? coati_tracepoint_find(l->waking, "pid") : -ENOENT;
	return 0;
}

int coati_live_waking(struct live *l, const struct coati_recording *r,
		      const struct coati_recording_item *item)
{
	const struct coati_recording_event *event = coati_recording_event(r, item->event);
	const struct coati_sample_format *fmt =
		coati_format_table_get(coati_recording_formats(r), item->event);
	struct coati_payload payload = { .swap = item->raw.swap };
	struct coati_field_value value;
	struct coati_record rec;

	if (!l->waking && l->waking_field != -ENOENT && find_field(l, r, event->attr.config) < 0)
		return -ENOMEM;
	if (!l->waking || l->waking_field < 0 || !fmt ||
	    coati_record_decode(&item->raw, fmt, &rec) < 0 ||
	    !(rec.u.sample.present & COATI_SAMPLE_RAW))
		return 0;
	payload.bytes = rec.u.sample.raw;
	payload.size = rec.u.sample.raw_size;
	if (coati_tracepoint_read(l->waking, (uint32_t)l->waking_field, &payload, &value) < 0 ||
	    value.number > INT32_MAX)
		return 0;
	return add_point(l, &rec, LIVE_SCHED_WAKE, (int32_t)value.number);
}

bool coati_live_is_waking(const struct coati_recording *r, uint32_t event)
{
	const struct coati_recording_event *e = coati_recording_event(r, event);

	return e && e->attr.type == COATI_TYPE_TRACEPOINT &&
	       (!strcmp(e->name, COATI_OFF_CPU_WAKING) || !strcmp(e->name, "sched:sched_waking"));
}

/* ---- in order ---- */

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct live_sched *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void coati_live_sort_sched(struct live *l, uint64_t from, uint64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->sched.len; i++) {
		struct live_sched *s = &l->sched.v[i];
		uint64_t thread;
		bool is_shown = s->kind != LIVE_SCHED_WAKE ||
				coati_map_get(&l->tids, (uint32_t)s->other, &thread);

		if (!is_shown || s->time < from || s->time > to)
			continue;
		l->sched.v[kept++] = *s;
		if (!l->first_sched || s->time < l->first_sched)
			l->first_sched = s->time;
	}
	l->sched.len = kept;
	if (kept)
		qsort(l->sched.v, kept, sizeof(*l->sched.v), by_cpu_and_time);
}
