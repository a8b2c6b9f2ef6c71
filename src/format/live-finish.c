/* SPDX-License-Identifier: MIT */
/* see live-events.h; here: batches out of a recording, and what is made of all items in the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "format/live-events.h"
#include "live-read/batch.h"
#include "live-read/reader.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define ALLOW_RECORDS 1024 /* limits are looked at after so many */

/* ---- a recording ---- */

int coati_live_begin_file(struct live *l, struct coati_profile *p, uint32_t file,
			  struct coati_error *err)
{
	coati_live_reader_free(&l->trace);
	l->profile = p;
	l->file = file;
	l->live_event = LIVE_NONE;
	l->other_event = 0;
	coati_tracepoint_free(l->waking);
	l->waking = NULL;
	l->waking_field = 0;
	return coati_live_reader_new(NULL, &l->trace, err);
}

/* What the recorder saw begins later than what a program has in its memory. */
static int begin_live(struct live *l, const struct coati_recording *r, uint32_t event)
{
	struct coati_trace_opts o = { .size = sizeof(o),
				      .from_ns = coati_reading_recorder_value(r, "begin_ns"),
				      .to_ns = coati_reading_recorder_value(r, "end_ns") };

	l->live_event = event;
	coati_live_reader_free(&l->trace);
	return coati_live_reader_new(&o, &l->trace, NULL);
}

/* Too many of them is no want of memory. */
static int over(const struct live *l, int r)
{
	return r == -ENOMEM && l->is_full ? -E2BIG : r;
}

static int drain(struct live *l)
{
	const struct coati_trace_event *const *events;
	int r = 0, n;

	while (r == 0 && (n = coati_live_reader_take(l->trace, &events)) != 0) {
		r = n < 0 ? n : 0;
		for (int i = 0; i < n && r == 0; i++)
			r = coati_live_event(l, events[i]);
	}
	return over(l, r);
}

static bool is_named(const struct coati_recording *r, uint32_t event, const char *name)
{
	const struct coati_recording_event *e = coati_recording_event(r, event);

	return e && !strcmp(e->name, name);
}

static int take_batch(struct live *l, const struct coati_recording *r,
		      const struct coati_recording_item *item)
{
	struct coati_batch batch;
	int n;

	/* the profile counts damaged ones */
	if (!coati_live_batch(r, item, &batch))
		return 0;
	n = coati_live_reader_feed(l->trace, batch.payload, batch.payload_size, item->offset, NULL);
	return n < 0 ? n : drain(l);
}

/* What the export holds grows with what was read. */
static void allow(struct live *l, const struct coati_recording *r)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	uint64_t most;

	coati_recording_get_stats(r, &st);
	most = coati_limit(&l->limits, LIMIT_EVENTS, l->input_bytes + st.read_bytes);
	l->file_bytes = st.read_bytes;
	l->max_items = most < LIVE_ITEMS_MAX ? most : LIVE_ITEMS_MAX;
	l->max_sched = most < LIVE_SCHED_MAX ? most : LIVE_SCHED_MAX;
}

static void see_time(struct live *l, uint64_t time)
{
	if (!l->first_sample || time < l->first_sample)
		l->first_sample = time;
	if (time > l->last_sample)
		l->last_sample = time;
}

int coati_live_take(struct live *l, const struct coati_recording *r,
		    const struct coati_recording_item *item)
{
	if (l->nr_records++ % ALLOW_RECORDS == 0)
		allow(l, r);
	if (l->wants_sched && (item->raw.type == COATI_RECORD_SWITCH ||
			       item->raw.type == COATI_RECORD_SWITCH_CPU_WIDE)) {
		return over(l, coati_live_switch(l, r, item));
	}
	if (item->raw.type != COATI_RECORD_SAMPLE || item->flags & COATI_RECORDING_ITEM_NO_EVENT)
		return 0;
	if (item->event == l->live_event)
		return take_batch(l, r, item);
	if (l->live_event == LIVE_NONE && item->event + 1 != l->other_event &&
	    is_named(r, item->event, COATI_LIVE_EVENT)) {
		int n = begin_live(l, r, item->event);

		return n < 0 ? n : take_batch(l, r, item);
	}
	l->other_event = item->event + 1; /* asked for its name once, not with every sample */
	if (l->wants_sched && coati_live_is_waking(r, item->event)) {
		return over(l, coati_live_waking(l, r, item));
	}
	see_time(l, item->time);
	return 0;
}

int coati_live_take_samples(struct live *l, const struct coati_recording *r,
			    const struct coati_recording_item *items, uint32_t nr)
{
	uint64_t round = (l->nr_records + ALLOW_RECORDS - 1) / ALLOW_RECORDS;
	int n = 0;

	if (l->wants_sched) {
		for (uint32_t i = 0; i < nr && n == 0; i++)
			n = coati_live_take(l, r, &items[i]);
		return n;
	}
	l->nr_records += nr;
	if ((l->nr_records + ALLOW_RECORDS - 1) / ALLOW_RECORDS != round)
		allow(l, r);
	for (uint32_t i = 0; i < nr; i++)
		see_time(l, items[i].time);
	return 0;
}

/* What is still open lasts until the end: of this file nothing more will come. */
static void leave_open(struct live *l)
{
	coati_map_fini(&l->thread_index);
	coati_map_fini(&l->task_index);
	coati_map_fini(&l->site_index);
	coati_map_fini(&l->resource_index);
	coati_map_init(&l->thread_index, LIVE_ITEMS_MAX);
	coati_map_init(&l->task_index, LIVE_ITEMS_MAX);
	coati_map_init(&l->site_index, LIVE_ITEMS_MAX);
	coati_map_init(&l->resource_index, LIVE_ITEMS_MAX);
	coati_map_fini(&l->process_names);
	coati_map_init(&l->process_names, LIVE_ITEMS_MAX);
}

/* Names that processes give themselves, and names from the library for processes without
 * records. */
static int keep_told_names(struct live *l)
{
	struct coati_live_process p;
	struct map told;
	int r = 0;

	coati_map_init(&told, l->threads.max);
	for (uint32_t n = 0; r >= 0 && coati_live_reader_process(l->trace, n, &p) == 0; n++) {
		const char *name = coati_live_text(l, &p.comm);

		r = name ? coati_map_put(&told, p.pid, (uint64_t)(uintptr_t)name) : -ENOMEM;
		if (!l->wall_ns && p.realtime_ns && p.pair_ns) {
			l->wall_ns = p.realtime_ns;
			l->clock_ns = p.pair_ns;
		}
	}
	for (size_t i = 0; i < l->threads.len; i++) {
		struct live_thread *t = &l->threads.v[i];
		uint64_t name;

		if (t->file != l->file)
			continue;
		if (coati_map_get(&l->process_names, (uint32_t)t->pid, &name))
			t->process_name = (const char *)(uintptr_t)name;
		if (coati_map_get(&told, (uint32_t)t->pid, &name) && *(const char *)(uintptr_t)name)
			t->told_name = (const char *)(uintptr_t)name;
	}
	coati_map_fini(&told);
	return r < 0 ? r : 0;
}

static void add_quality(struct live *l)
{
	struct coati_trace_quality q = { .size = sizeof(q) };

	coati_live_reader_get_quality(l->trace, &q);
	l->quality.events += q.events;
	l->quality.damaged += q.damaged;
	l->quality.missing += q.missing;
	l->quality.lost += q.lost;
	l->quality.late += q.late;
	l->quality.unresolved += q.unresolved;
	l->quality.clock_unknown += q.clock_unknown;
	if (q.clock_error_ns > l->quality.clock_error_ns)
		l->quality.clock_error_ns = q.clock_error_ns;
}

int coati_live_end_file(struct live *l, struct coati_error *err)
{
	int r = coati_live_reader_finish(l->trace);

	if (r == 0)
		r = drain(l);
	if (r == 0)
		r = keep_told_names(l);
	add_quality(l);
	leave_open(l);
	l->input_bytes += l->file_bytes;
	coati_live_reader_free(&l->trace);
	if (r == -E2BIG)
		return coati_fail(err, r,
				  "more than %llu live events or context switches are too many for "
				  "one timeline; --thread and --process take fewer, "
				  "%s=NUMBER in the environment raises the limit",
				  (unsigned long long)l->max_items,
				  coati_limit_variable(LIMIT_EVENTS));
	return r < 0 ? coati_fail(err, r, "live events: %m") : 0;
}

/* ---- which of them ---- */

/* What has no end lasts until the end of all. */
static int close_open(struct live *l)
{
	uint64_t last = l->last_sample;
	int r = 0;

	for (size_t i = 0; i < l->open.len; i++) {
		const struct live_item *it = &l->open.v[i];
		uint64_t time = it->end == UINT64_MAX ? it->begin : it->end;

		if (it->kind == ITEM_KINDS)
			continue;
		l->last_time = time > l->last_time ? time : l->last_time;
		l->first_begin = it->begin < l->first_begin ? it->begin : l->first_begin;
	}
	l->last_time = last > l->last_time ? last : l->last_time;
	last = l->last_time;
	for (size_t i = 0; r == 0 && i < l->open.len; i++) {
		struct live_item *it = &l->open.v[i];

		if (it->kind == ITEM_KINDS)
			continue;
		if (it->end == UINT64_MAX) {
			it->end = last;
			it->flags |= ITEM_OPEN_END;
		}
		r = coati_live_close(l, it);
	}
	return r;
}

static void choose_time(struct live *l)
{
	uint64_t first_sample = l->first_sample ? l->first_sample : l->first_told;
	uint64_t last_sample = l->last_sample ? l->last_sample : l->last_told;

	coati_conditions_time(&l->conditions, first_sample ? first_sample : l->first_begin,
			      last_sample ? last_sample : l->last_time, &l->from, &l->to);
}

/* What began before or ended later is cut, and says so. */
static bool cut(struct live_item *i, uint64_t from, uint64_t to)
{
	if (i->end < from || i->begin > to)
		return false;
	if (i->begin < from) {
		i->begin = from;
		i->flags |= ITEM_OPEN_BEGIN;
	}
	if (i->end > to) {
		i->end = to;
		i->flags |= ITEM_OPEN_END;
	}
	return true;
}

/* ---- in order ---- */

/* Items that begin at the same time, once they are cut: in another order than before. */
struct group {
	struct live_merge from;
	struct live_item next; /* of the one behind it */
	bool has_next, failed;
	ARRAY(struct live_item) items;
	struct arena args; /* of these */
};

static bool pull(struct live *l, struct group *g)
{
	const struct live_item *i;

	while ((i = coati_merge_next(&g->from))) {
		g->next = *i;
		if (cut(&g->next, l->from, l->to))
			break;
	}
	g->has_next = i;
	g->failed |= g->from.failed;
	return i;
}

static bool take_next(struct group *g)
{
	struct live_item *slot = ARRAY_ADD(&g->items);
	struct live_arg *args;

	if (!slot)
		return false;
	*slot = g->next;
	if (!slot->nr_args)
		return true;
	args = coati_arena_alloc(&g->args, slot->nr_args * sizeof(*args));
	if (!args)
		return false;
	memcpy(args, slot->args, slot->nr_args * sizeof(*args));
	slot->args = args;
	return true;
}

/* False: there is none, or g->failed. */
static bool next_group(struct live *l, struct group *g)
{
	uint64_t begin = g->next.begin;

	g->items.len = 0;
	if (g->args.used_bytes) {
		coati_arena_fini(&g->args);
		coati_arena_init(&g->args, SIZE_MAX);
	}
	if (!g->has_next)
		return false;
	do
		g->failed |= !take_next(g);
	while (!g->failed && pull(l, g) && g->next.begin == begin);
	if (g->items.len > 1)
		qsort(g->items.v, g->items.len, sizeof(*g->items.v), coati_live_compare);
	return !g->failed;
}

/* The ends of the slices around, for each lane of a thread. */
struct lanes {
	struct {
		ARRAY(uint64_t) ends;
	} v[LIVE_LANES];
};

static int choose_lane(struct lanes *s, struct live_item *i)
{
	for (uint8_t n = 0; n < LIVE_LANES; n++) {
		uint64_t *slot;

		while (s->v[n].ends.len && s->v[n].ends.v[s->v[n].ends.len - 1] <= i->begin)
			s->v[n].ends.len--;
		if (s->v[n].ends.len && s->v[n].ends.v[s->v[n].ends.len - 1] < i->end) {
			if (n + 1 < LIVE_LANES)
				continue;
			i->end = s->v[n].ends.v[s->v[n].ends.len - 1];
			i->flags |= ITEM_OPEN_END; /* of data that is malformed */
		}
		s->v[n].ends.max = SIZE_MAX;
		slot = ARRAY_ADD(&s->v[n].ends);
		if (!slot)
			return -ENOMEM;
		*slot = i->end;
		i->lane = (unsigned int)n & 15;
		return 0;
	}
	return 0;
}

/* ---- names and sums ---- */

static void name_threads(struct live *l)
{
	for (size_t i = 0; i < l->threads.len; i++) {
		struct live_thread *t = &l->threads.v[i];
		struct coati_processes *ps = coati_profile_processes(l->profile, t->file);
		struct coati_thread_info info = { .comm = "", .process_comm = "" };

		if (ps)
			coati_processes_thread(ps, t->pid, t->tid, t->first, &info);
		if (!t->process_name)
			t->process_name = info.process_comm ? info.process_comm : info.comm;
		if (t->told_name && *t->process_name == ':')
			t->process_name = t->told_name;
		if (!t->name)
			t->name = t->told_name && *info.comm == ':' ? t->told_name : info.comm;
	}
}

static void count(struct live *l, const struct live_item *i)
{
	struct live_thread *t = &l->threads.v[i->thread];
	struct live_counts *c = &l->counts;

	if (i->end > l->last)
		l->last = i->end;
	t->tells = true;
	if (i->end > t->last)
		t->last = i->end;
	if (i->lane >= t->nr_lanes)
		t->nr_lanes = i->lane + 1;
	if (live_is_slice(i)) {
		c->slices++;
		c->slice_ns += i->end - i->begin;
	} else if (i->kind == ITEM_COUNTER) {
		c->counters++;
		l->counters.v[i->place].nr++;
	} else {
		c->points++;
	}
}

/* ---- all of it ---- */

static int put_item(struct live *l, struct lanes *lanes, struct live_item *i)
{
	struct live_pack *to = &l->items;
	int r = i->kind == ITEM_REGION ? choose_lane(&lanes[i->thread], i) : 0;

	if (r < 0)
		return r;
	count(l, i);
	if (l->by_thread && i->kind == ITEM_COUNTER)
		to = &l->counters.v[i->place].items;
	else if (l->by_thread)
		to = &l->threads.v[i->thread].items;
	return coati_pack_add(to, i);
}

static int put_items(struct live *l, struct lanes *lanes)
{
	struct group g = { .items.max = LIVE_ITEMS_MAX };
	int r = coati_merge_init(&g.from, &l->runs, l->sites.v);

	coati_arena_init(&g.args, SIZE_MAX);
	l->counts = (struct live_counts){ 0 };
	l->nr_items = 0;
	if (r == 0 && pull(l, &g))
		l->first = g.next.begin;
	while (r == 0 && next_group(l, &g)) {
		for (size_t i = 0; r == 0 && i < g.items.len; i++)
			r = put_item(l, lanes, &g.items.v[i]);
		l->nr_items += g.items.len;
	}
	r = g.failed ? -ENOMEM : r;
	coati_merge_fini(&g.from);
	ARRAY_FINI(&g.items);
	coati_arena_fini(&g.args);
	return r;
}

static int put_all(struct live *l)
{
	struct lanes *lanes = coati_alloc_array(l->threads.len + 1, sizeof(*lanes));
	int r = lanes ? put_items(l, lanes) : -ENOMEM;

	for (size_t i = 0; lanes && i < l->threads.len; i++)
		for (int n = 0; n < LIVE_LANES; n++)
			ARRAY_FINI(&lanes[i].v[n].ends);
	coati_free(lanes);
	return r;
}

int coati_live_finish(struct live *l, struct coati_error *err)
{
	int r;

	if (l->is_finished)
		return 0;
	l->is_finished = true;
	r = close_open(l);
	if (r == 0)
		r = coati_runs_end(&l->runs);
	choose_time(l);
	if (r == 0)
		r = put_all(l);
	if (r == 0)
		r = coati_live_sort_sched(l);
	if (r < 0)
		return coati_fail(err, r, "live events: %m");
	name_threads(l);
	return 0;
}
