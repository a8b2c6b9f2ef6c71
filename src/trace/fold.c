/* SPDX-License-Identifier: MIT */
/* Live events into sums by type: see fold.h. Here: events, threads, types and regions; tasks are in
 * fold-tasks.c. */
#include "trace/fold.h"

#include <errno.h>

#include "base/alloc.h"
#include "trace/timeline.h"

#define TABLE_MAX ((size_t)1 << 26)
#define TEXT_MAX  65536

int coati_fold_init(struct fold *f, struct coati_timeline *t)
{
	f->t = t;
	f->threads.max = t->threads.max;
	f->tasks.max = f->spans.max = f->below.max = TABLE_MAX;
	f->durations.max = t->types.max;
	f->free = COATI_TIMELINE_NONE;
	f->text = (struct strbuf)STRBUF_INIT(TEXT_MAX);
	coati_map_init(&f->open, TABLE_MAX);
	coati_idset_init(&f->ended, TABLE_MAX);
	return 0;
}

void coati_fold_fini(struct fold *f)
{
	for (size_t i = 0; i < f->threads.len; i++)
		ARRAY_FINI(&f->threads.v[i].open);
	for (size_t i = 0; i < f->tasks.len; i++)
		ARRAY_FINI(&f->tasks.v[i].spans);
	for (size_t i = 0; i < f->durations.len; i++)
		coati_durations_fini(&f->durations.v[i]);
	ARRAY_FINI(&f->threads);
	ARRAY_FINI(&f->tasks);
	ARRAY_FINI(&f->durations);
	ARRAY_FINI(&f->spans);
	ARRAY_FINI(&f->below);
	coati_map_fini(&f->open);
	coati_idset_fini(&f->ended);
	coati_strbuf_fini(&f->text);
}

/* ---- threads ---- */

/* The thread is new, or did nothing but wake others until now: it lasts until the end. */
static void settle_thread(const struct coati_timeline *t, struct thread *th)
{
	th->end = t->info.end > th->begin ? t->info.end : th->begin;
}

static int grow_threads(struct fold *f)
{
	while (f->threads.len < f->t->threads.len) {
		struct fold_thread *new = ARRAY_ADD(&f->threads);

		if (!new)
			return -ENOMEM;
		new->open.max = TABLE_MAX;
		new->work = new->prev = new->next = COATI_TIMELINE_NONE;
	}
	return 0;
}

static int find_thread(struct fold *f, int32_t pid, int32_t tid, uint64_t time, uint32_t *ret)
{
	struct coati_timeline *t = f->t;
	struct fold_near *near = &f->near[(uint32_t)tid % FOLD_THREADS];
	uint32_t known;
	struct thread *th;
	bool alters;

	if (near->tid == tid && near->pid == pid && near->nr_threads == t->threads.len &&
	    t->threads.v[near->at].begin <= time) {
		*ret = near->at;
		return 0;
	}
	known = coati_timeline_find_live_thread(t, pid, tid, time);
	alters = known == COATI_TIMELINE_NONE || t->threads.v[known].outside;
	th = coati_timeline_need_live_thread(t, pid, tid, time);
	if (!th)
		return coati_timeline_no_thread(t);
	if (alters)
		settle_thread(t, th);
	*ret = (uint32_t)(th - t->threads.v);
	if (coati_timeline_find_live_thread(t, pid, tid, UINT64_MAX) == *ret)
		*near = (struct fold_near){ pid, tid, *ret, t->threads.len };
	return grow_threads(f);
}

/* ---- types ---- */

static const char *name_of(struct fold *f, const struct coati_trace_event *e)
{
	coati_strbuf_clear(&f->text);
	if (e->site)
		coati_strbuf_add(&f->text, e->site->name.text, e->site->name.size);
	return coati_timeline_text(f->t,
				   e->site && *f->text.text ? f->text.text : TIMELINE_UNNAMED);
}

int coati_fold_type(struct fold *f, const struct coati_trace_event *e, bool is_region,
		    uint32_t *ret)
{
	struct fold_site *s = &f->sites[is_region][(uintptr_t)e->site / 64 % FOLD_SITES];
	const char *name;
	int r;

	if (s->site && s->site == e->site && s->text == e->site->name.text) {
		*ret = s->type;
		return 0;
	}
	name = name_of(f, e);
	r = name ? coati_timeline_need_type(f->t, name, is_region, ret) : -ENOMEM;
	if (r < 0)
		return r;
	while (f->durations.len < f->t->types.len)
		if (!ARRAY_ADD(&f->durations))
			return -ENOMEM;
	if (e->site)
		*s = (struct fold_site){ e->site, e->site->name.text, *ret };
	return 0;
}

int coati_fold_count(struct fold *f, uint32_t type, uint32_t flags, uint64_t ns)
{
	struct task_type *k = &f->t->types.v[type];

	if (flags & (COATI_TIMELINE_OPEN_BEGIN | COATI_TIMELINE_OPEN_END)) {
		k->nr_open++;
		k->nr_before += (flags & COATI_TIMELINE_OPEN_BEGIN) != 0;
		return 0;
	}
	k->nr++;
	k->sum += ns;
	return coati_durations_add(&f->durations.v[type], ns) < 0 ? -ENOMEM : 1;
}

/* ---- regions ---- */

/* Whether the region is around or behind those that ended before it, and crosses none. It takes the
 * place of those that it is around. What was forgotten ended before the region began, or is inside
 * it: see may_begin(). */
static bool nests(struct fold_thread *th, uint64_t begin, uint64_t end)
{
	struct fold_closed *last = NULL;

	while (th->nr_closed) {
		last = &th->closed[(th->first_closed + th->nr_closed - 1) % FOLD_CLOSED];
		if (last->end > end)
			return false;
		if (last->begin < begin)
			break;
		th->nr_closed--;
		last = NULL;
	}
	if (last && last->end > begin)
		return last->end == end; /* inside it */
	if (th->nr_closed == FOLD_CLOSED) {
		th->forgotten = th->closed[th->first_closed].end;
		th->first_closed = (th->first_closed + 1) % FOLD_CLOSED;
		th->nr_closed--;
	}
	th->closed[(th->first_closed + th->nr_closed++) % FOLD_CLOSED] =
		(struct fold_closed){ begin, end };
	return true;
}

/* Its breakdown is counted in the sum of its type, or not. */
static void keep_instance(struct fold *f, uint32_t thread, struct fold_region g, uint64_t end,
			  bool is_counted)
{
	struct kept_instance in = {
		.begin = g.begin, .end = end, .thread = thread, .flags = g.flags
	};

	coati_ledger_near(&f->t->threads.v[thread], g.begin, end, &f->threads.v[thread].near,
			  &in.ledger);
	if (is_counted)
		coati_ledger_sum(&f->t->types.v[g.type].ledger, &in.ledger);
	coati_kept_add_instance(f->t->kept, &in);
}

static int close_region(struct fold *f, uint32_t thread, struct fold_region g, uint64_t end)
{
	struct fold_thread *th = &f->threads.v[thread];
	int r;

	if (!nests(th, g.begin, end))
		return FOLD_GIVE_UP;
	r = coati_fold_count(f, g.type, g.flags, end - g.begin);
	if (fold_keeps_for_why(f) && r >= 0)
		coati_kept_add_region(
			f->t->kept, &(struct kept_region){ g.begin, end, g.order, thread, g.type });
	if (r >= 0 && fold_keeps(f, g.type))
		keep_instance(f, thread, g, end, r > 0);
	else if (r > 0)
		coati_ledger_near(&f->t->threads.v[thread], g.begin, end, &th->near,
				  &f->t->types.v[g.type].ledger);
	return r < 0 ? r : 0;
}

/* Not before the one that it is in. */
static bool begins_inside(const struct fold_thread *th, uint64_t begin)
{
	return !th->open.len || begin >= th->open.v[th->open.len - 1].begin;
}

/* What begins now is behind everything; what began in the past may not be. */
static bool may_begin(const struct fold_thread *th, uint64_t begin)
{
	uint32_t last = (th->first_closed + th->nr_closed - 1) % FOLD_CLOSED;

	return begins_inside(th, begin) && (!th->nr_closed || begin >= th->closed[last].end);
}

static int begin_region(struct fold *f, uint32_t thread, const struct coati_trace_event *e,
			uint64_t time)
{
	struct fold_thread *th = &f->threads.v[thread];
	struct fold_region *g;
	uint32_t type;
	int r = coati_fold_type(f, e, true, &type);

	if (r < 0)
		return r;
	if (!may_begin(th, time))
		return FOLD_GIVE_UP;
	g = ARRAY_ADD(&th->open);
	if (!g)
		return th->open.len >= th->open.max ? -E2BIG : -ENOMEM;
	*g = (struct fold_region){ .begin = time, .order = f->nr_regions++, .type = type };
	if (e->flags & COATI_TRACE_REOPENED)
		g->flags = COATI_TIMELINE_OPEN_BEGIN;
	return 0;
}

static int end_region(struct fold *f, uint32_t thread, uint64_t time)
{
	struct fold_thread *th = &f->threads.v[thread];
	struct fold_region g;

	if (!th->open.len) {
		f->t->info.unpaired++;
		return 0;
	}
	g = th->open.v[--th->open.len];
	return close_region(f, thread, g, time > g.begin ? time : g.begin);
}

static int add_range(struct fold *f, uint32_t thread, const struct coati_trace_event *e)
{
	uint64_t ns = e->duration == COATI_TRACE_NO_DURATION ? 0 : e->duration;
	struct fold_region g = { .begin = ns < e->time ? e->time - ns : 0 };
	int r = coati_fold_type(f, e, true, &g.type);

	if (r < 0)
		return r;
	if (!begins_inside(&f->threads.v[thread], g.begin) ||
	    g.begin < f->threads.v[thread].forgotten)
		return FOLD_GIVE_UP;
	g.order = f->nr_regions++;
	return close_region(f, thread, g, e->time);
}

/* ---- events ---- */

/* When it happened: what is repeated began before. */
static uint64_t time_of(const struct coati_trace_event *e)
{
	bool again = e->flags & COATI_TRACE_REOPENED && e->duration != COATI_TRACE_NO_DURATION &&
		     e->duration < e->time;

	return again ? e->time - e->duration : e->time;
}

/* What changes nothing, as timeline-load.c has it. */
static bool is_dropped(const struct coati_trace_event *e)
{
	switch (e->kind) {
	case COATI_TRACE_REGION_BEGIN:
	case COATI_TRACE_TASK_BEGIN:
	case COATI_TRACE_TASK_ENTER:
		return e->flags & COATI_TRACE_KNOWN;
	case COATI_TRACE_REGION_END:
		return e->flags & COATI_TRACE_NO_BEGIN;
	case COATI_TRACE_RANGE:
	case COATI_TRACE_TASK_END:
	case COATI_TRACE_LOG ... COATI_TRACE_THREAD_NAME:
	case COATI_TRACE_LABELS:
	case COATI_TRACE_LOST:
		return false;
	default:
		return true;
	}
}

static int take_name(struct fold *f, uint32_t thread, const struct coati_trace_event *e)
{
	const char *name;

	coati_strbuf_clear(&f->text);
	coati_strbuf_add(&f->text, e->text.text, e->text.size);
	name = coati_timeline_text(f->t, f->text.text);
	if (!name)
		return -ENOMEM;
	f->t->threads.v[thread].comm = name;
	return 0;
}

static int take(struct fold *f, uint32_t thread, const struct coati_trace_event *e, uint64_t time)
{
	switch (e->kind) {
	case COATI_TRACE_REGION_BEGIN:
		return begin_region(f, thread, e, time);
	case COATI_TRACE_REGION_END:
		return end_region(f, thread, e->time);
	case COATI_TRACE_RANGE:
		return add_range(f, thread, e);
	case COATI_TRACE_TASK_BEGIN:
		return coati_fold_begin_task(f, e, time);
	case COATI_TRACE_TASK_END:
		return coati_fold_end_task(f, e);
	case COATI_TRACE_TASK_ENTER:
		return coati_fold_enter_task(f, thread, e, time);
	default:
		return 0; /* logs, labels and the like are counted alone */
	}
}

int coati_fold_event(struct fold *f, const struct coati_trace_event *e)
{
	struct coati_timeline_info *info = &f->t->info;
	int32_t tid = (int32_t)(!e->tid && e->kind == COATI_TRACE_TASK_BEGIN ? e->pid : e->tid);
	uint32_t thread = 0;
	uint64_t time;
	int r;

	if (!tid)
		return 0;
	if (is_dropped(e)) {
		info->unpaired += (e->flags & COATI_TRACE_NO_BEGIN) != 0;
		return 0;
	}
	if (e->flags & COATI_TRACE_LATE || e->time < f->time)
		return FOLD_GIVE_UP;
	f->time = e->time;
	time = time_of(e);
	r = find_thread(f, (int32_t)e->pid, tid, time, &thread);
	if (e->kind == COATI_TRACE_THREAD_NAME)
		return r < 0 ? r : take_name(f, thread, e);
	info->has |= COATI_TIMELINE_HAS_LIVE;
	if (r < 0)
		return r;
	if (e->kind == COATI_TRACE_LOST) {
		info->live_lost += (uint64_t)e->number;
		return 0;
	}
	info->live_events++;
	return take(f, thread, e, time);
}

/* ---- the end ---- */

static int end_regions(struct fold *f, uint32_t thread)
{
	struct fold_thread *th = &f->threads.v[thread];
	uint64_t end = f->t->threads.v[thread].end;
	int r = 0;

	while (r == 0 && th->open.len) {
		struct fold_region g = th->open.v[--th->open.len];

		g.flags |= COATI_TIMELINE_OPEN_END;
		r = close_region(f, thread, g, end > g.begin ? end : g.begin);
	}
	return r;
}

static int set_percentiles(struct task_type *k, struct durations *d)
{
	static const unsigned int percents[DURATIONS_RANKS] = { 50, 90, 99, 100 };
	uint64_t ns[DURATIONS_RANKS];
	int r = coati_durations_percentiles(d, percents, ns);

	if (r < 0)
		return r;
	k->p50 = ns[0];
	k->p90 = ns[1];
	k->p99 = ns[2];
	k->max = ns[3];
	return 0;
}

int coati_fold_end(struct fold *f)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < f->threads.len; i++)
		r = end_regions(f, i);
	if (r == 0)
		r = coati_fold_open_tasks(f);
	if (r == 0 && f->t->kept)
		r = coati_kept_failed(f->t->kept);
	for (size_t i = 0; r == 0 && i < f->durations.len; i++)
		r = set_percentiles(&f->t->types.v[i], &f->durations.v[i]);
	return r;
}
