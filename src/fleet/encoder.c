/* SPDX-License-Identifier: MIT */
/* see encoder.h */
#include "fleet/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "fleet/rowbinary.h"

#define STACKS_MAX   200000
#define CONTEXTS_MAX 200000
#define LABELS_MAX   256
#define DAY_S	     86400
#define SLEW_NS	     (100 * NSEC_PER_MSEC)

/* One window on its way. */
struct encoding {
	struct encoder *e;
	const struct agent_window *w;
	struct parcel *p;
	uint32_t time_s;
	int64_t skew_s;
	uint64_t *contexts; /* by row */
	uint32_t folded;    /* rows whose context became "other" */
};

void coati_encoder_init(struct encoder *e, uint32_t max_contexts)
{
	*e = (struct encoder){ .max_contexts = max_contexts ? max_contexts : ENCODER_CONTEXTS };
	coati_map_init(&e->stacks, STACKS_MAX);
	coati_map_init(&e->contexts, CONTEXTS_MAX);
}

void coati_encoder_fini(struct encoder *e)
{
	coati_map_fini(&e->stacks);
	coati_map_fini(&e->contexts);
}

void coati_encoder_forget(struct encoder *e)
{
	coati_encoder_fini(e);
	coati_map_init(&e->stacks, STACKS_MAX);
	coati_map_init(&e->contexts, CONTEXTS_MAX);
}

/* ---- contexts ---- */

/* Labels of the host and of the row; of two with one key that of the row counts. */
static uint32_t join_labels(const struct agent_window *w, const struct agent_labels *set,
			    struct coati_label ret[LABELS_MAX])
{
	uint32_t nr = 0, a = 0, b = 0, nr_set = set ? set->nr : 0;

	while (nr < LABELS_MAX && (a < w->nr_host_labels || b < nr_set)) {
		int order = a == w->nr_host_labels ? 1
			    : b == nr_set	   ? -1
						   : strcmp(w->host_labels[a].key, set->v[b].key);

		ret[nr++] = order < 0 ? w->host_labels[a] : set->v[b];
		a += order <= 0;
		b += order >= 0;
	}
	return nr;
}

struct context {
	const char *service, *process, *thread;
	int32_t pid;
	struct coati_label labels[LABELS_MAX];
	uint32_t nr_labels;
};

/* What the window says about the row; without one, what "other" of the service is. */
static void describe(const struct encoding *g, const struct agent_row *r, bool is_other,
		     struct context *ret)
{
	const struct agent_window *w = g->w;

	ret->service = w->services[r->service].name;
	ret->process = is_other ? ENCODER_OTHER : w->processes[r->process].name;
	ret->thread = is_other ? ENCODER_OTHER : r->thread;
	ret->pid = is_other ? 0 : w->processes[r->process].pid;
	ret->nr_labels = join_labels(w, is_other ? NULL : &w->labels[r->labels], ret->labels);
}

/* 64 bits of the contents. Of ten million contexts two have the same one with a probability of
 * 3e-6. */
static uint64_t identify(const struct encoding *g, const struct context *x)
{
	char pid[24], epoch[24];
	struct coati_label all[LABELS_MAX + 6];
	struct agent_id id;

	snprintf(pid, sizeof(pid), "%d", x->pid);
	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)g->e->epoch);
	all[0] = (struct coati_label){ g->w->agent, epoch };
	all[1] = (struct coati_label){ g->w->host, x->service };
	all[2] = (struct coati_label){ pid, x->process };
	all[3] = (struct coati_label){ "thread", x->thread };
	memcpy(all + 4, x->labels, x->nr_labels * sizeof(*x->labels));
	id = coati_agent_labels_id(all, x->nr_labels + 4);
	return id.high ^ id.low;
}

static uint64_t context_of(const struct encoding *g, const struct agent_row *r, bool is_other)
{
	struct context x;

	describe(g, r, is_other, &x);
	return identify(g, &x);
}

static void put_context(struct encoding *g, const struct agent_row *r, uint64_t id)
{
	struct strbuf *s = &g->p->tables[SCHEMA_CONTEXTS];
	struct context x;

	describe(g, r, false, &x);
	if (identify(g, &x) != id)
		describe(g, r, true, &x);
	row_u64(s, id);
	row_u32(s, g->time_s);
	row_text(s, x.service);
	row_text(s, g->w->host);
	row_text(s, g->w->agent);
	row_u32(s, (uint32_t)x.pid);
	row_text(s, x.process);
	row_text(s, x.thread);
	row_size(s, x.nr_labels);
	for (uint32_t i = 0; i < x.nr_labels; i++)
		row_text(s, x.labels[i].key);
	row_size(s, x.nr_labels);
	for (uint32_t i = 0; i < x.nr_labels; i++)
		row_text(s, x.labels[i].value);
}

/* ---- the cap ---- */

struct heavy {
	uint64_t context, weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->context < y->context ? 1 : x->context > y->context ? -1 : 0;
}

/* The contexts that stay, of all in @sums. */
static int choose(const struct encoder *e, const struct map *sums, struct map *ret)
{
	CLEANUP(freep) struct heavy *all = coati_alloc_array(sums->len, sizeof(*all));
	size_t nr = 0, pos = 0;
	int r = 0;

	if (!all)
		return -ENOMEM;
	while (nr < sums->len && coati_map_next(sums, &pos, &all[nr].context, &all[nr].weight))
		nr++;
	qsort(all, nr, sizeof(*all), by_weight);
	for (size_t i = 0; r >= 0 && i < nr && i < e->max_contexts; i++)
		r = coati_map_put(ret, all[i].context, 1);
	return r < 0 ? r : 0;
}

static int fold_rare(struct encoding *g, const struct map *sums)
{
	struct map stay;
	uint64_t value;
	int r;

	coati_map_init(&stay, g->e->max_contexts);
	r = choose(g->e, sums, &stay);
	for (uint32_t i = 0; r == 0 && i < g->w->nr_rows; i++) {
		if (coati_map_get(&stay, g->contexts[i], &value))
			continue;
		g->contexts[i] = context_of(g, &g->w->rows[i], true);
		g->folded++;
	}
	coati_map_fini(&stay);
	return r;
}

/* Every row gets its context. */
static int find_contexts(struct encoding *g)
{
	struct map sums;
	uint64_t sum;
	int r = 0;

	g->contexts = coati_alloc_array(g->w->nr_rows + 1, sizeof(*g->contexts));
	if (!g->contexts)
		return -ENOMEM;
	coati_map_init(&sums, (size_t)g->w->nr_rows + 1);
	for (uint32_t i = 0; r >= 0 && i < g->w->nr_rows; i++) {
		const struct agent_row *row = &g->w->rows[i];

		g->contexts[i] = context_of(g, row, false);
		if (!coati_map_get(&sums, g->contexts[i], &sum))
			sum = 0;
		r = coati_map_put(&sums, g->contexts[i], sum + row->weight);
	}
	if (r >= 0 && sums.len > g->e->max_contexts)
		r = fold_rare(g, &sums);
	coati_map_fini(&sums);
	return r < 0 ? r : 0;
}

/* ---- stacks ---- */

static void put_hex(struct strbuf *s, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * AGENT_BUILD_ID_MAX];

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	row_bytes(s, text, 2 * size);
}

static void put_frame_texts(const struct encoding *g, const struct agent_stack *k)
{
	const struct agent_frame *f = g->w->frames;
	struct strbuf *s = &g->p->tables[SCHEMA_STACKS];

	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_text(s, f[k->frames[i]].function);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_text(s, f[k->frames[i]].image);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_text(s, f[k->frames[i]].path);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		put_hex(s, f[k->frames[i]].build_id, f[k->frames[i]].build_id_size);
}

static void put_frame_numbers(const struct encoding *g, const struct agent_stack *k)
{
	const struct agent_frame *f = g->w->frames;
	struct strbuf *s = &g->p->tables[SCHEMA_STACKS];

	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_u64(s, f[k->frames[i]].address);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_text(s, f[k->frames[i]].file);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_u32(s, f[k->frames[i]].line);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_u8(s, f[k->frames[i]].kind);
	row_size(s, k->nr);
	for (uint32_t i = 0; i < k->nr; i++)
		row_u8(s, (uint8_t)f[k->frames[i]].flags);
}

/* Once for each service that has it, whose stacks lie together in the table. */
static int put_stack(struct encoding *g, const struct agent_stack *k, const char *service)
{
	struct strbuf *s = &g->p->tables[SCHEMA_STACKS];
	uint64_t key = coati_hash_bytes(service, strlen(service), k->id.low), high;
	int r;

	if (coati_map_get(&g->e->stacks, key, &high) && high == k->id.high)
		return 0;
	r = coati_map_put(&g->e->stacks, key, k->id.high);
	if (r == -E2BIG) { /* start again: what is in use is sent once more */
		coati_map_fini(&g->e->stacks);
		coati_map_init(&g->e->stacks, STACKS_MAX);
	} else if (r < 0) {
		return r;
	}
	row_text(s, service);
	row_u64(s, k->id.low);
	row_u64(s, k->id.high);
	row_u32(s, g->time_s);
	row_u32(s, k->flags);
	put_frame_texts(g, k);
	put_frame_numbers(g, k);
	return s->failed;
}

/* ---- rows ---- */

static int note_context(struct encoding *g, uint32_t i)
{
	uint64_t value;
	int r;

	if (coati_map_get(&g->e->contexts, g->contexts[i], &value))
		return 0;
	r = coati_map_put(&g->e->contexts, g->contexts[i], 1);
	if (r == -E2BIG) {
		coati_map_fini(&g->e->contexts);
		coati_map_init(&g->e->contexts, CONTEXTS_MAX);
	} else if (r < 0) {
		return r;
	}
	put_context(g, &g->w->rows[i], g->contexts[i]);
	return g->p->tables[SCHEMA_CONTEXTS].failed;
}

static int put_row(struct encoding *g, uint32_t i)
{
	const struct agent_row *row = &g->w->rows[i];
	const struct agent_stack *k = &g->w->stacks[row->stack];
	const char *service = g->w->services[row->service].name;
	struct strbuf *s = &g->p->tables[SCHEMA_ROWS];
	int r = put_stack(g, k, service);

	if (r == 0)
		r = note_context(g, i);
	row_text(s, service);
	row_text(s, g->w->events[row->event].name);
	row_u64(s, k->id.low);
	row_u32(s, g->time_s);
	row_u64(s, g->contexts[i]);
	row_u64(s, row->samples);
	row_u64(s, row->weight);
	return r < 0 ? r : s->failed;
}

static int put_rows(struct encoding *g)
{
	const struct agent_row *first = g->w->rows;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < g->w->nr_rows; i++)
		r = put_row(g, i);
	g->p->rows = g->w->nr_rows;
	if (r < 0 || !g->w->nr_rows)
		return r;
	g->p->stack = g->w->stacks[first->stack].id.low;
	g->p->context = g->contexts[0];
	g->p->service = coati_strdup(g->w->services[first->service].name);
	g->p->type = coati_strdup(g->w->events[first->event].name);
	return g->p->service && g->p->type ? 0 : -ENOMEM;
}

/* ---- tasks and the window ---- */

static int put_tasks(struct encoding *g)
{
	struct strbuf *s = &g->p->tables[SCHEMA_TASKS];
	const struct agent_window *w = g->w;

	for (uint32_t i = 0; i < w->nr_tasks; i++) {
		const struct agent_tasks *t = &w->tasks[i];

		row_text(s, w->services[t->service].name);
		row_text(s, t->type);
		row_u32(s, g->time_s);
		row_text(s, w->agent);
		row_text(s, w->host);
		row_u64(s, w->sequence);
		row_u64(s, t->count);
		row_u64(s, t->sum_ns);
		row_u64(s, t->max_ns);
		row_size(s, t->nr_buckets);
		for (uint32_t k = 0; k < t->nr_buckets; k++)
			row_u32(s, t->buckets[k].bucket);
		row_size(s, t->nr_buckets);
		for (uint32_t k = 0; k < t->nr_buckets; k++)
			row_u32(s, t->buckets[k].count);
	}
	if (!w->nr_tasks)
		return 0;
	g->p->task_service = coati_strdup(w->services[w->tasks[0].service].name);
	g->p->task = coati_strdup(w->tasks[0].type);
	return g->p->task_service && g->p->task ? s->failed : -ENOMEM;
}

static void put_services(const struct encoding *g, struct strbuf *s)
{
	const struct agent_window *w = g->w;
	const struct agent_service *v = w->services;

	row_size(s, w->nr_services);
	for (uint32_t i = 0; i < w->nr_services; i++)
		row_text(s, v[i].name);
	row_size(s, w->nr_services);
	for (uint32_t i = 0; i < w->nr_services; i++)
		row_u8(s, (uint8_t)v[i].kind);
	row_size(s, w->nr_services);
	for (uint32_t i = 0; i < w->nr_services; i++)
		row_u64(s, v[i].has & AGENT_HAS_CPU ? v[i].cpu_ns : 0);
	row_size(s, w->nr_services);
	for (uint32_t i = 0; i < w->nr_services; i++)
		row_u64(s, v[i].has & AGENT_HAS_DELAY ? v[i].delay_ns : 0);
}

static void put_events(const struct encoding *g, struct strbuf *s)
{
	const struct agent_window *w = g->w;
	const struct agent_event *v = w->events;

	row_size(s, w->nr_events);
	for (uint32_t i = 0; i < w->nr_events; i++)
		row_text(s, v[i].name);
	row_size(s, w->nr_events);
	for (uint32_t i = 0; i < w->nr_events; i++)
		row_text(s, v[i].unit);
	row_size(s, w->nr_events);
	for (uint32_t i = 0; i < w->nr_events; i++)
		row_u8(s, v[i].is_off_cpu != 0);
	row_size(s, w->nr_events);
	for (uint32_t i = 0; i < w->nr_events; i++)
		row_u64(s, v[i].weight);
	row_size(s, w->nr_events);
	for (uint32_t i = 0; i < w->nr_events; i++)
		row_u64(s, v[i].samples);
}

static void put_quality(const struct agent_quality *q, struct strbuf *s)
{
	const uint64_t numbers[] = {
		q->samples,	  q->intervals,	       q->lost,
		q->throttled,	  q->truncated,	       q->refused,
		q->dropped,	  q->dropped_weight,   q->own_cpu_ns,
		q->own_kernel_ns, q->own_memory_bytes,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		row_u64(s, numbers[i]);
	row_double(s, q->rate_hz);
	row_u32(s, q->max_frames);
	row_u32(s, q->nr_cpus);
	row_u8(s, q->clock_stepped != 0);
	row_u8(s, q->is_cut != 0);
}

static int put_window(struct encoding *g)
{
	struct strbuf *s = &g->p->tables[SCHEMA_WINDOWS];
	const struct agent_window *w = g->w;
	struct parcel *p = g->p;

	p->agent = coati_strdup(w->agent);
	p->host = coati_strdup(w->host);
	p->first_sequence = p->sequence = w->sequence;
	p->time_s = g->time_s;
	p->duration_ms = (w->end_ns - w->start_ns) / NSEC_PER_MSEC;
	p->samples = w->quality.samples;
	p->intervals = w->quality.intervals;
	row_text(s, w->agent);
	row_u64(s, w->sequence);
	row_text(s, w->host);
	row_u32(s, g->time_s);
	row_u32(s, (uint32_t)p->duration_ms);
	row_u32(s, 1); /* windows */
	row_u8(s, 1);  /* stored */
	row_u32(s, (uint32_t)(int32_t)g->skew_s);
	row_u32(s, w->nr_rows);
	row_u32(s, g->folded);
	put_quality(&w->quality, s);
	put_services(g, s);
	put_events(g, s);
	return p->agent && p->host ? s->failed : -ENOMEM;
}

/* ---- when ---- */

/* Seconds of the server's clock. ClickHouse keeps 32 bits of them. Windows are meant to begin at
 * whole seconds; a clock that was slewed meanwhile puts their start a little before. */
static uint32_t time_of(const struct agent_window *w, int64_t skew_s)
{
	int64_t t = (int64_t)((w->wall_start_ns + SLEW_NS) / NSEC_PER_SEC) + skew_s;

	return t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

/* Stacks and contexts have partitions by month: 31 days are never longer than a partition's rows
 * may refer to it, because old partitions of stacks are kept a month longer. */
static void look_at_time(struct encoder *e, uint32_t time_s)
{
	uint64_t month = time_s / (28 * DAY_S);

	if (month != e->month) {
		coati_encoder_forget(e);
		e->month = month;
	}
	if (time_s <= e->last_time_s)
		e->epoch++;
	e->last_time_s = time_s;
}

int coati_encoder_window(struct encoder *e, const struct agent_window *w, int64_t skew_s,
			 struct parcel *ret)
{
	struct encoding g = {
		.e = e, .w = w, .p = ret, .time_s = time_of(w, skew_s), .skew_s = skew_s
	};
	int r;

	coati_parcel_init(ret);
	look_at_time(e, g.time_s);
	r = find_contexts(&g);
	if (r == 0)
		r = put_rows(&g);
	if (r == 0)
		r = put_tasks(&g);
	if (r == 0)
		r = put_window(&g);
	coati_free(g.contexts);
	if (r < 0) {
		coati_encoder_forget(e);
		coati_parcel_fini(ret);
	}
	return r;
}

void coati_encoder_kept(struct strbuf *s, const struct agent_kept *k, const char *host,
			const char *agent)
{
	row_text(s, host);
	row_text(s, agent);
	row_u32(s, (uint32_t)(k->wall_ns / NSEC_PER_SEC));
	row_text(s, k->reason);
	row_text(s, k->path);
	row_u64(s, k->bytes);
}
