/* SPDX-License-Identifier: MIT */
/* Batches come in, are copied, and wait in their generation until it is complete. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "live-read/reader-parts.h"
#include "live-read/reader.h"

#define GENERATIONS_MAX (1u << 20)
#define TASKS_MAX	(1u << 20)
#define THREADS_PART	2
#define PROCESSES_PART	4
#define DEFAULT_BYTES	(UINT64_C(256) << 20)

/* ---- damage ---- */

static void note_damage(struct coati_live_reader *t, uint64_t where, const char *what,
			const char *why)
{
	if (!t->quality.damaged++)
		coati_fail(&t->damage, -EBADMSG, "the batch at %" PRIu64 " is malformed%s: %s",
			   where, what, why);
}

void coati_trace_damaged(struct coati_live_reader *t, const struct held *h, uint32_t offset,
			 const char *why)
{
	char what[48];

	snprintf(what, sizeof(what), " from byte %u of its events on", offset);
	note_damage(t, h->where, what, why);
}

void coati_trace_over(struct coati_live_reader *t, enum limit which, uint64_t limit)
{
	if (!t->quality.damaged++)
		coati_limit_fail(&t->damage, which, limit);
}

/* ---- generations ---- */

static void free_generation(struct coati_live_reader *t, struct generation *g)
{
	struct held *next;

	for (struct held *h = g->first; h; h = next) {
		next = h->next;
		t->quality.held_bytes -= LIVE_HEAD + h->view.head.used;
		coati_free(h);
	}
	coati_live_table_fini(&g->table);
	coati_free(g);
}

/* Where generation @number is, or belongs. */
static size_t place_of(const struct process *p, uint64_t number)
{
	size_t i = p->generations.len;

	while (i && p->generations.v[i - 1]->number >= number)
		i--;
	return i;
}

static struct generation *get_generation(struct process *p, uint64_t number)
{
	size_t i = place_of(p, number);
	struct generation *g;

	if (i < p->generations.len && p->generations.v[i]->number == number)
		return p->generations.v[i];
	g = coati_alloc(sizeof(*g));
	if (!g || !ARRAY_ADD(&p->generations)) {
		coati_free(g);
		return NULL;
	}
	memmove(&p->generations.v[i + 1], &p->generations.v[i],
		(p->generations.len - 1 - i) * sizeof(g));
	p->generations.v[i] = g;
	g->number = number;
	g->process = p;
	g->last = &g->first;
	coati_live_table_init(&g->table);
	return g;
}

/* The numbers go up: what is done first is mostly the first. */
static void take_out(struct process *p, const struct generation *g)
{
	size_t low = 0, high = p->generations.len;

	while (low + 1 < high) {
		size_t mid = low + (high - low) / 2;

		if (p->generations.v[mid]->number <= g->number)
			low = mid;
		else
			high = mid;
	}
	p->generations.len--;
	memmove(&p->generations.v[low], &p->generations.v[low + 1],
		(p->generations.len - low) * sizeof(g));
}

void coati_trace_done(struct coati_live_reader *t, struct generation *g)
{
	if (g->is_done)
		return;
	g->is_done = true;
	g->next_done = t->done;
	t->done = g;
}

void coati_trace_release(struct coati_live_reader *t)
{
	struct generation *next, *kept = NULL;

	for (struct generation *g = t->done; g; g = next) {
		next = g->next_done;
		if (g == t->current) {
			g->next_done = kept;
			kept = g;
		} else if (g->queued) {
			g->is_done = false; /* something came late */
		} else {
			struct process *p = g->process;

			take_out(p, g);
			free_generation(t, g);
			if (p->over && !p->generations.len)
				coati_trace_sweep(t, p);
		}
	}
	t->done = kept;
}

/* ---- which processes have something to wait for ---- */

void coati_trace_pending(struct coati_live_reader *t, struct process *p, uint64_t more)
{
	t->idle_known = false;
	t->nr_idle -= more && !p->pending && !p->over;
	p->pending += more;
}

void coati_trace_taken(struct coati_live_reader *t, struct process *p)
{
	t->idle_known = false;
	p->pending--;
	t->nr_idle += !p->pending && !p->over;
}

/* A generation is complete: those before it are not the newest any more. */
static void set_newest(struct coati_live_reader *t, struct process *p, uint64_t number)
{
	uint64_t before = p->newest;

	if (number <= before)
		return;
	p->newest = number;
	for (size_t i = p->generations.len; i-- > 0 && p->generations.v[i]->number >= before;)
		if (p->generations.v[i]->number < number)
			coati_trace_pending(t, p, p->generations.v[i]->queued);
}

/* ---- what a batch that has no events tells ---- */

static void learn_clock(struct process *p, const struct live_batch *head,
			const struct live_event *e)
{
	p->info.clock_source = e->v[0];
	p->clock.rate = (struct clock_rate){ e->v[1], e->v[2] > 64 ? 64 : (uint32_t)e->v[2] };
	p->info.clock_error_ns = e->v[3];
	p->info.realtime_ns = e->v[4];
	p->info.period_ns = e->v[5];
	p->info.pair_ns = head->pair_ns;
}

static int learn_process(struct process *p, const struct live_event *e)
{
	int n;

	p->info.uid = (uint32_t)e->v[1];
	p->info.start_ticks = e->v[2];
	if (e->rest_size == sizeof(p->info.boot_id))
		memcpy(p->info.boot_id, e->rest, sizeof(p->info.boot_id));
	if (p->info.comm.size)
		return 0; /* repeated in every generation */
	n = coati_live_names_text(&p->names, &e->text[0], &p->info.comm);
	return n < 0 ? n : coati_live_names_text(&p->names, &e->text[1], &p->info.executable);
}

static int learn_schema(struct coati_live_reader *t, struct process *p, struct held *h)
{
	struct live_walk w = coati_live_walk(&h->view, NULL, NULL, NULL);
	struct live_schema_entry entry;
	int n;

	while ((n = coati_live_schema_next(&w, &entry)) > 0)
		if (coati_live_schema_add(&p->names.schema, &entry) < 0)
			coati_trace_damaged(t, h, (uint32_t)(w.at - w.start),
					    "an invalid entry of the schema");
	if (n < 0)
		coati_trace_damaged(t, h, w.offset, w.why);
	return 0;
}

static int learn_event(struct process *p, struct held *h, const struct live_event *e)
{
	switch (e->kind) {
	case LIVE_STRING:
	case LIVE_STACK:
		return coati_live_table_add(&h->generation->table, e);
	case LIVE_SITE:
	case LIVE_TYPE:
		return coati_live_names_add(&p->names, e);
	case LIVE_PROCESS:
		return learn_process(p, e);
	case LIVE_CLOCK:
		learn_clock(p, &h->view.head, e);
		return 0;
	default:
		return 0;
	}
}

static int learn(struct coati_live_reader *t, struct process *p, struct held *h)
{
	struct live_walk w =
		coati_live_walk(&h->view, &p->names.schema, coati_live_names_fields, &p->names);
	struct live_event e;
	int n, r;

	if (h->view.head.kind == LIVE_BATCH_SCHEMA)
		return learn_schema(t, p, h);
	while ((n = coati_live_next(&w, &e)) > 0) {
		r = learn_event(p, h, &e);
		if (r == -EBADMSG)
			coati_trace_damaged(t, h, e.offset, "an invalid definition");
		else if (r == -E2BIG)
			coati_trace_damaged(t, h, e.offset, "more definitions than are kept");
		else if (r < 0)
			return r;
	}
	if (n < 0)
		coati_trace_damaged(t, h, w.offset, w.why);
	if (p->names.renamed)
		coati_trace_take_all_back(t);
	p->names.renamed = false;
	return 0;
}

int coati_trace_scan(struct coati_live_reader *t, struct process *p, struct generation *g)
{
	struct live_event e;
	int r = 0;

	g->scanned = true;
	for (struct held *h = g->first; h && r >= 0; h = h->next) {
		struct live_walk w = coati_live_walk(&h->view, &p->names.schema,
						     coati_live_names_fields, &p->names);

		if (h->view.head.kind != LIVE_BATCH_EVENTS)
			continue;
		while (r >= 0 && coati_live_next(&w, &e) > 0)
			r = coati_live_table_add(&g->table, &e);
	}
	return r == -E2BIG ? 0 : r; /* reported when its turn comes */
}

/* The writers of a generation are through before it is ended, and that before the next but one
 * begins: with this generation complete, all that comes is later than the end of the one before. */
static void settle(struct coati_live_reader *t, struct process *p, const struct generation *g)
{
	p->settled_ns = p->mark_ns;
	t->idle_known = false;
	for (const struct held *h = g->first; h; h = h->next)
		if (h->view.head.kind == LIVE_BATCH_END) {
			struct live_clock c = coati_live_clock(&h->view.head, &p->clock);

			p->mark_ns = live_clock_ns(&c, h->view.head.base);
		}
}

/* Names first, whatever the order of arrival: what events look like may depend on them. */
static int complete(struct coati_live_reader *t, struct process *p, struct generation *g)
{
	static const uint16_t order[] = { LIVE_BATCH_SCHEMA, LIVE_BATCH_PROCESS, LIVE_BATCH_SITES,
					  LIVE_BATCH_TABLE };
	int n = 0;

	g->complete = true;
	t->quality.generations++;
	t->quality.incomplete += !g->ended;
	set_newest(t, p, g->number);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (struct held *h = g->first; h && n >= 0; h = h->next)
			if (h->view.head.kind == order[i])
				n = learn(t, p, h);
	for (struct held *h = g->first; h && n >= 0; h = h->next)
		n = coati_clock_learn(&p->clock, &h->view.head);
	if (g->number == p->newest)
		settle(t, p, g);
	if (n >= 0)
		n = coati_trace_queue(t, p, g);
	if (n >= 0 && !g->queued)
		coati_trace_done(t, g);
	return n;
}

/* Those up to generation @last. What is not complete is later than all that is. */
static int complete_up_to(struct coati_live_reader *t, struct process *p, uint64_t last)
{
	size_t i = p->generations.len;
	int n = 0;

	while (i && !p->generations.v[i - 1]->complete)
		i--;
	for (; i < p->generations.len && n >= 0; i++) {
		struct generation *g = p->generations.v[i];

		if (!g->complete && g->number <= last)
			n = complete(t, p, g);
	}
	return n;
}

/* ---- processes ---- */

/* Nothing more comes from it: no other process has to wait for it any more. */
static int end_process(struct coati_live_reader *t, struct process *p)
{
	int n = complete_up_to(t, p, UINT64_MAX);

	if (n < 0)
		return n;
	t->nr_idle -= !p->pending;
	t->idle_known = false;
	p->over = true;
	if (!p->generations.len)
		coati_trace_sweep(t, p);
	return 0;
}

static void free_process(struct coati_live_reader *t, struct process *p)
{
	uint64_t key, value;

	for (size_t i = 0; i < p->generations.len; i++)
		free_generation(t, p->generations.v[i]);
	ARRAY_FINI(&p->generations);
	for (size_t pos = 0; coati_map_next(&p->streams, &pos, &key, &value);)
		coati_trace_stream_free((struct stream *)(uintptr_t)value);
	coati_map_fini(&p->streams);
	coati_trace_state_free(p);
	ARRAY_FINI(&p->clock.pairs);
	coati_live_names_fini(&p->names);
	coati_free(p);
}

static struct process *new_process(struct coati_live_reader *t, uint32_t pid)
{
	struct process *p = coati_alloc(sizeof(*p)), **slot;

	if (!p)
		return NULL;
	p->pid = p->info.pid = pid;
	p->info.comm.text = p->info.executable.text = p->info.name.text = "";
	p->generations.max = GENERATIONS_MAX;
	coati_map_init(&p->streams, SIZE_MAX / 64);
	coati_map_init(&p->tasks, TASKS_MAX);
	coati_map_init(&p->resources, TASKS_MAX);
	coati_live_names_init(&p->names, pid);
	slot = ARRAY_ADD(&t->processes);
	if (!slot || coati_map_put(&t->by_pid, pid, (uint64_t)(uintptr_t)p) < 0) {
		t->processes.len -= !!slot;
		free_process(t, p);
		return NULL;
	}
	*slot = p;
	t->nr_idle++;
	t->idle_known = false;
	coati_trace_unlist(t);
	t->certain = false;
	return p;
}

/* When its process started, if the batch tells; else 0. */
static uint64_t start_of(const struct live_view *b)
{
	struct live_walk w = coati_live_walk(b, NULL, NULL, NULL);
	struct live_event e;

	while (b->head.kind == LIVE_BATCH_PROCESS && coati_live_next(&w, &e) > 0)
		if (e.kind == LIVE_PROCESS)
			return e.v[2];
	return 0;
}

static int get_process(struct coati_live_reader *t, const struct live_view *b, struct process **ret)
{
	uint64_t start = start_of(b), v;
	struct process *p = NULL;
	bool after = false;
	int n;

	if (coati_map_get(&t->by_pid, b->head.pid, &v))
		p = (struct process *)(uintptr_t)v;
	if (p && !p->over && start && p->start && p->start != start) {
		n = end_process(t, p);
		if (n < 0)
			return n;
	}
	if (p && p->over) { /* another one has its number now, or another program the process */
		p = NULL;
		after = true;
	}
	if (!p) {
		if (t->processes.len >= t->max_processes)
			return -E2BIG;
		p = new_process(t, b->head.pid);
		if (!p)
			return -ENOMEM;
		p->after = after;
	}
	p->start = start ? start : p->start;
	*ret = p;
	return 0;
}

/* ---- feeding ---- */

static struct held *hold(struct coati_live_reader *t, struct generation *g,
			 const struct live_view *b, uint64_t where)
{
	struct held *h = coati_realloc_array(NULL, 1, sizeof(*h) + b->head.used);

	if (!h)
		return NULL;
	*h = (struct held){ .generation = g, .view = *b, .where = where, .order = t->order++ };
	memcpy(h->bytes, b->payload, b->head.used);
	h->view.payload = h->bytes;
	*g->last = h;
	g->last = &h->next;
	t->quality.held_bytes += LIVE_HEAD + b->head.used;
	return h;
}

/* What comes after its generation was given out for complete. */
static int add_late(struct coati_live_reader *t, struct process *p, struct held *h)
{
	if (h->view.head.kind == LIVE_BATCH_EVENTS || h->view.head.kind == LIVE_BATCH_STATUS ||
	    h->view.head.kind == LIVE_BATCH_LOSS)
		return coati_trace_queue_late(t, p, h);
	return learn(t, p, h);
}

/* The mark is no end mark of a generation: one that was cut off stays incomplete. */
static int take_last(struct coati_live_reader *t, uint32_t pid)
{
	struct process *p;
	uint64_t v;

	if (!coati_map_get(&t->by_pid, pid, &v))
		return 0;
	p = (struct process *)(uintptr_t)v;
	return p->over ? 0 : end_process(t, p);
}

static int add(struct coati_live_reader *t, const struct live_view *b, uint64_t where)
{
	struct generation *g;
	struct process *p;
	struct held *h;
	int n = get_process(t, b, &p);

	if (n == -E2BIG) {
		coati_trace_over(t, LIMIT_PROCESSES, t->max_processes);
		return 0;
	}
	if (n < 0)
		return n;
	if (p->generations.len == p->generations.max) {
		note_damage(t, where, "", "more than a million generations wait");
		return 0;
	}
	g = get_generation(p, b->head.generation);
	h = g ? hold(t, g, b, where) : NULL;
	if (!h)
		return -ENOMEM;
	t->quality.open_batches += !(b->head.flags & LIVE_BATCH_CLOSED);
	if (g->complete)
		return add_late(t, p, h);
	if (b->head.kind == LIVE_BATCH_END)
		g->ended = true;
	if (g->number <= p->newest)
		return complete(t, p, g); /* all of it comes late, its end perhaps first */
	if (g->number > 1) {
		n = complete_up_to(t, p, g->number - 2);
		if (n < 0)
			return n;
	}
	return g->ended ? complete_up_to(t, p, g->number) : 0;
}

/* Over the ceiling: what there is goes out, complete or not. */
static int force(struct coati_live_reader *t)
{
	int n = 0;

	t->forcing = true;
	for (size_t i = 0; i < t->processes.len && n >= 0; i++) {
		struct process *p = t->processes.v[i];

		for (size_t j = 0; j < p->generations.len && n >= 0; j++)
			if (!p->generations.v[j]->complete) {
				t->quality.forced++;
				n = complete(t, p, p->generations.v[j]);
			}
	}
	return n;
}

/* Programs that tell events are fewer than all that run, and take more: threads that ended are
 * forgotten. A file with holes has places far behind what was read of it. */
static void allow(struct coati_live_reader *t, uint64_t where)
{
	uint64_t input = where < t->quality.bytes ? where : t->quality.bytes;

	t->max_streams = coati_limit(&t->limits, LIMIT_THREADS, input / 8);
	t->max_processes = coati_limit(&t->limits, LIMIT_PROCESSES, input / 2);
	if (!t->limits.set[LIMIT_THREADS])
		t->max_streams /= THREADS_PART;
	if (!t->limits.set[LIMIT_PROCESSES])
		t->max_processes /= PROCESSES_PART;
}

int coati_live_reader_feed(struct coati_live_reader *t, const void *bytes, size_t size,
			   uint64_t where, struct coati_error *err)
{
	struct live_view b;
	const char *why;
	int n;

	if (t->finished)
		return coati_fail(err, -EINVAL, "the trace is finished: nothing can be added");
	if (t->quality.held_bytes > 2 * t->max_bytes)
		return coati_fail(
			err, -E2BIG,
			"%" PRIu64
			" bytes of live events wait: take events out before more is put in",
			t->quality.held_bytes);
	t->quality.batches++;
	t->quality.bytes += size;
	allow(t, where);
	why = coati_live_open(bytes, size, &b);
	if (why) {
		note_damage(t, where, "", why);
		return 0;
	}
	if (b.head.kind == LIVE_BATCH_END && b.head.flags & LIVE_BATCH_LAST)
		n = take_last(t, b.head.pid);
	else
		n = add(t, &b, where);
	if (n >= 0 && t->quality.held_bytes > t->max_bytes)
		n = force(t);
	if (n < 0)
		return coati_fail(err, n, "live events of process %u: %m", b.head.pid);
	return 0;
}

int coati_live_reader_finish(struct coati_live_reader *t)
{
	int n = 0;

	for (size_t i = 0; i < t->processes.len && n >= 0; i++)
		n = complete_up_to(t, t->processes.v[i], UINT64_MAX);
	t->finished = true;
	return n;
}

int coati_live_reader_new(const struct coati_trace_opts *opts, struct coati_live_reader **ret,
			  struct coati_error *err)
{
	struct coati_trace_opts o;
	struct coati_live_reader *t;
	int n = SIZED_COPY(&o, opts);

	if (n < 0 || o.flags)
		return coati_fail(err, n < 0 ? n : -EINVAL, "options of a trace: %m");
	t = coati_alloc(sizeof(*t));
	if (!t)
		return coati_fail(err, -ENOMEM, "a trace: %m");
	t->max_bytes = o.max_bytes ? o.max_bytes : DEFAULT_BYTES;
	t->processes.max = t->heap.max = SIZE_MAX / 64;
	t->open.max = t->kept.max = UINT32_MAX;
	t->from_ns = o.from_ns;
	t->to_ns = o.to_ns ? o.to_ns : UINT64_MAX;
	coati_map_init(&t->by_pid, SIZE_MAX / 64);
	n = coati_limits_read(&t->limits, err);
	if (n == 0 && coati_trace_heap_init(t) < 0)
		n = coati_fail(err, -ENOMEM, "a trace: %m");
	if (n < 0) {
		coati_live_reader_free(&t);
		return n;
	}
	*ret = t;
	return 0;
}

void coati_live_reader_free(struct coati_live_reader **pt)
{
	struct coati_live_reader *t = *pt;

	if (!t)
		return;
	for (size_t i = 0; i < t->processes.len; i++)
		free_process(t, t->processes.v[i]);
	ARRAY_FINI(&t->processes);
	ARRAY_FINI(&t->heap);
	ARRAY_FINI(&t->open);
	ARRAY_FINI(&t->kept);
	coati_map_fini(&t->by_pid);
	coati_free(t);
	*pt = NULL;
}
