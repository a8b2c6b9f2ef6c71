/* SPDX-License-Identifier: MIT */
/* see live-events.h; here: who ran where, out of a recording's context switches and wakeups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "format/live-events.h"

#define SCHED_BYTES (1 + 3 * LEB128_MAX)
#define BYTES_MAX   (SIZE_MAX / 4)

/* ---- packed ---- */

static struct live_cpu *find_cpu(struct live *l, uint32_t cpu)
{
	struct live_cpu *c;
	uint64_t at;

	if (coati_map_get(&l->cpu_index, cpu, &at))
		return &l->cpus.v[at];
	c = ARRAY_ADD(&l->cpus);
	if (!c || coati_map_put(&l->cpu_index, cpu, l->cpus.len - 1) < 0)
		return NULL;
	*c = (struct live_cpu){ .cpu = cpu, .bytes = STRBUF_INIT(BYTES_MAX) };
	return c;
}

/* A difference, so that small ones of both signs are small numbers. */
static void put_step(struct writer *w, uint64_t from, uint64_t to)
{
	uint64_t d = to - from;

	writer_uleb(w, d << 1 ^ (d >> 63 ? UINT64_MAX : 0));
}

static uint64_t get_step(struct cursor *c, uint64_t from)
{
	uint64_t v = cursor_uleb(c);

	return from + (v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static void pack(struct live_cpu *c, const struct live_sched *s)
{
	uint8_t bytes[SCHED_BYTES];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_u8(&w, s->kind);
	put_step(&w, c->last.time, s->time);
	put_step(&w, (uint32_t)c->last.tid, (uint32_t)s->tid);
	if (s->kind == LIVE_SCHED_WAKE)
		put_step(&w, (uint32_t)c->last.other, (uint32_t)s->other);
	coati_strbuf_add(&c->bytes, bytes, w.len);
	c->is_unsorted |= s->time < c->last.time;
	c->last.time = s->time;
	c->last.tid = s->tid;
	if (s->kind == LIVE_SCHED_WAKE)
		c->last.other = s->other;
}

static bool unpack(const struct live_cpu *c, struct live_sched_pos *pos, struct live_sched *ret)
{
	struct cursor at = cursor_over(c->bytes.text + pos->at, c->bytes.len - pos->at);

	if (pos->at >= c->bytes.len)
		return false;
	*ret = (struct live_sched){ .cpu = c->cpu, .kind = cursor_u8(&at) };
	ret->time = pos->last.time = get_step(&at, pos->last.time);
	ret->tid = pos->last.tid = (int32_t)get_step(&at, (uint32_t)pos->last.tid);
	if (ret->kind == LIVE_SCHED_WAKE)
		ret->other = pos->last.other = (int32_t)get_step(&at, (uint32_t)pos->last.other);
	pos->at = c->bytes.len - cursor_left(&at);
	return true;
}

/* ---- which records ---- */

static int add_point(struct live *l, const struct coati_record *rec, enum live_sched_kind kind,
		     int32_t other)
{
	struct live_cpu *c;
	uint32_t thread;
	int r;

	if (!(rec->id.present & COATI_SAMPLE_TIME) || !(rec->id.present & COATI_SAMPLE_CPU) ||
	    !(rec->id.present & COATI_SAMPLE_TID) || rec->id.cpu >= LIVE_CPUS_MAX)
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
	l->is_full = l->nr_sched >= l->max_sched;
	c = l->is_full ? NULL : find_cpu(l, rec->id.cpu);
	if (!c)
		return -ENOMEM;
	l->nr_sched++;
	pack(c, &(struct live_sched){ .time = rec->id.time,
				      .cpu = rec->id.cpu,
				      .tid = (int32_t)rec->id.tid,
				      .other = other,
				      .kind = (uint8_t)kind });
	return c->bytes.failed;
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

/* One of them, and its place among those that came. */
struct placed {
	struct live_sched s;
	uint64_t order;
};

static int by_time(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->s.time != y->s.time)
		return x->s.time < y->s.time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_number(const void *a, const void *b)
{
	const struct live_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Seldom: some of its records came late. */
static int sort_cpu(struct live_cpu *c)
{
	struct live_cpu sorted = { .cpu = c->cpu, .bytes = STRBUF_INIT(BYTES_MAX) };
	ARRAY(struct placed) all = { .max = LIVE_SCHED_MAX };
	struct live_sched_pos pos = { 0 };
	struct live_sched s;
	int r = 0;

	while (r == 0 && unpack(c, &pos, &s)) {
		struct placed *slot = ARRAY_ADD(&all);

		if (slot)
			*slot = (struct placed){ s, all.len };
		else
			r = -ENOMEM;
	}
	if (r == 0 && all.len)
		qsort(all.v, all.len, sizeof(*all.v), by_time);
	for (size_t i = 0; r == 0 && i < all.len; i++) {
		pack(&sorted, &all.v[i].s);
		r = sorted.bytes.failed;
	}
	ARRAY_FINI(&all);
	coati_strbuf_fini(r == 0 ? &c->bytes : &sorted.bytes);
	if (r == 0)
		*c = sorted;
	return r;
}

bool coati_live_sched_next(const struct live *l, const struct live_cpu *c,
			   struct live_sched_pos *pos, struct live_sched *ret)
{
	uint64_t thread;

	while (unpack(c, pos, ret))
		if (ret->time >= l->from && ret->time <= l->to &&
		    (ret->kind != LIVE_SCHED_WAKE ||
		     coati_map_get(&l->tids, (uint32_t)ret->other, &thread)))
			return true;
	return false;
}

int coati_live_sort_sched(struct live *l)
{
	int r = 0;

	if (l->cpus.len)
		qsort(l->cpus.v, l->cpus.len, sizeof(*l->cpus.v), by_number);
	l->nr_sched = 0;
	for (size_t i = 0; r == 0 && i < l->cpus.len; i++) {
		struct live_cpu *c = &l->cpus.v[i];
		struct live_sched_pos pos = { 0 };
		struct live_sched s;

		r = c->is_unsorted ? sort_cpu(c) : 0;
		for (; r == 0 && coati_live_sched_next(l, c, &pos, &s); l->nr_sched++)
			if (!l->first_sched || s.time < l->first_sched)
				l->first_sched = s.time;
	}
	return r;
}
