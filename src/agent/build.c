/* SPDX-License-Identifier: MIT */
/* see build.h; services and processes are in build-who.c, tasks in build-tasks.c */
#include "agent/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/build-parts.h"
#include "base/alloc.h"
#include "reading/parts.h"
#include "profile/view.h"
#include "profile/walk.h"
#include "reading/contexts.h"

#define ROWS_MAX   ((size_t)1 << 20)
#define FRAMES_MAX 2048
#define LABELS_MAX 64
#define ARENA_MAX  ((size_t)64 << 20)
#define SERVICES   1000

void coati_agent_build_init(struct agent_build *b)
{
	*b = (struct agent_build){ .max_services = SERVICES };
	coati_arena_init(&b->arena, ARENA_MAX);
	b->rows.max = b->frames.max = b->stacks.max = b->labels.max = ROWS_MAX;
	b->services.max = b->processes.max = b->events.max = b->tasks.max = ROWS_MAX;
	coati_index_init(&b->row_index);
	coati_index_init(&b->stack_index);
	coati_index_init(&b->label_index);
	coati_map_init_strings(&b->service_names, ROWS_MAX);
	coati_map_init_strings(&b->thread_names, ROWS_MAX);
	coati_map_init(&b->process_ids, ROWS_MAX);
	coati_map_init(&b->cgroups, ROWS_MAX);
}

static void forget(struct agent_build *b)
{
	for (uint32_t i = 0; i < BUILD_FEEDS; i++) {
		coati_view_free(&b->views[i][0]);
		coati_view_free(&b->views[i][1]);
	}
	ARRAY_FINI(&b->rows);
	ARRAY_FINI(&b->frames);
	ARRAY_FINI(&b->stacks);
	ARRAY_FINI(&b->labels);
	ARRAY_FINI(&b->services);
	ARRAY_FINI(&b->processes);
	ARRAY_FINI(&b->events);
	ARRAY_FINI(&b->tasks);
	coati_index_fini(&b->row_index);
	coati_index_fini(&b->stack_index);
	coati_index_fini(&b->label_index);
	coati_map_fini(&b->service_names);
	coati_map_fini(&b->thread_names);
	coati_map_fini(&b->process_ids);
	coati_map_fini(&b->cgroups);
	coati_arena_fini(&b->arena);
}

void coati_agent_build_fini(struct agent_build *b)
{
	forget(b);
}

void coati_agent_build_clear(struct agent_build *b)
{
	const struct agent_build kept = { .rules = b->rules,
					  .inlines = b->inlines,
					  .lines = b->lines,
					  .max_services = b->max_services };

	forget(b);
	coati_agent_build_init(b);
	b->rules = kept.rules;
	b->inlines = kept.inlines;
	b->lines = kept.lines;
	b->max_services = kept.max_services;
}

/* ---- frames and stacks ---- */

static uint8_t frame_kind(const struct coati_view_frame *f, const struct coati_image_info *info)
{
	if (f->location_flags & (COATI_LOCATION_OFF_CPU | COATI_LOCATION_TRUNCATED))
		return AGENT_FRAME_MARK;
	if (f->location_flags & COATI_LOCATION_GUEST)
		return AGENT_FRAME_GUEST;
	if (f->image_id == COATI_IMAGE_NONE)
		return f->location_flags & COATI_LOCATION_KERNEL ? AGENT_FRAME_KERNEL
								 : AGENT_FRAME_UNKNOWN;
	switch (info->kind) {
	case COATI_IMAGE_FILE:
		return AGENT_FRAME_USER;
	case COATI_IMAGE_KERNEL:
	case COATI_IMAGE_MODULE:
		return AGENT_FRAME_KERNEL;
	case COATI_IMAGE_VDSO:
		return AGENT_FRAME_VDSO;
	case COATI_IMAGE_BPF:
		return AGENT_FRAME_BPF;
	default:
		return AGENT_FRAME_JIT;
	}
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static void fill_frame(struct agent_frame *to, struct coati_view *v, uint32_t number)
{
	const struct coati_view_frame *f = coati_view_frame(v, number);
	struct coati_image_info info = { .size = sizeof(info) };

	if (f->image_id != COATI_IMAGE_NONE)
		coati_image_info(coati_profile_images(v->profile), f->image_id, &info);
	*to = (struct agent_frame){
		.function = f->function,
		.image = text_of(f->image),
		.path = text_of(coati_view_image_path(v, number)),
		.file = text_of(f->file),
		.line = f->line,
		.flags = (f->flags & COATI_NAME_INLINE ? AGENT_FRAME_INLINE : 0) |
			 (f->flags & COATI_NAME_SYNTHETIC ? AGENT_FRAME_SYNTHETIC : 0),
		.kind = frame_kind(f, &info),
		.address = f->address,
	};
	if (info.build_id && info.build_id_size <= AGENT_BUILD_ID_MAX) {
		to->build_id_size = (uint8_t)info.build_id_size;
		memcpy(to->build_id, info.build_id, info.build_id_size);
	}
}

static int find_frame(struct agent_build *b, struct build_names *n, uint32_t number, uint32_t *ret)
{
	struct agent_frame *f;

	if (n->frames[number] == BUILD_NONE) {
		f = ARRAY_ADD(&b->frames);
		if (!f)
			return -ENOMEM;
		fill_frame(f, n->view, number);
		n->frames[number] = (uint32_t)b->frames.len - 1;
	}
	*ret = n->frames[number];
	return 0;
}

/* Stacks of two recordings may be one. */
static int intern_stack(struct agent_build *b, struct agent_stack *s, uint32_t *ret)
{
	struct probe probe;
	struct agent_stack *slot;
	uint32_t *frames;

	s->id = coati_agent_stack_id(s, b->frames.v);
	probe = index_probe(&b->stack_index, s->id.low);
	while (index_next(&b->stack_index, &probe, ret))
		if (b->stacks.v[*ret].id.low == s->id.low &&
		    b->stacks.v[*ret].id.high == s->id.high)
			return 0;
	frames = coati_arena_alloc(&b->arena, (s->nr + 1u) * sizeof(*frames));
	slot = frames ? ARRAY_ADD(&b->stacks) : NULL;
	if (!slot)
		return -ENOMEM;
	if (s->nr)
		memcpy(frames, s->frames, s->nr * sizeof(*frames));
	*slot = *s;
	slot->frames = frames;
	*ret = (uint32_t)b->stacks.len - 1;
	return coati_index_add(&b->stack_index, s->id.low, *ret);
}

static int add_stack(struct agent_build *b, struct build_names *n,
		     const struct coati_profile_sample *sample, uint32_t *ret)
{
	struct coati_view_entry e = { 0 };
	uint32_t frames[FRAMES_MAX];
	struct agent_stack s = { .frames = frames };
	int r = 0;

	if (!coati_view_sample(n->view, sample, &e))
		e.nr_frames = 0;
	for (uint32_t i = 0; i < e.nr_frames && s.nr < FRAMES_MAX && r == 0; i++) {
		if (coati_view_frame(n->view, e.frames[i])->location_flags &
		    COATI_LOCATION_TRUNCATED)
			s.flags |= AGENT_STACK_TRUNCATED;
		r = find_frame(b, n, e.frames[i], &frames[s.nr++]);
	}
	return r < 0 ? r : intern_stack(b, &s, ret);
}

/* ---- names of one recording ---- */

static int open_names(struct agent_build *b, struct build_source *src, bool off)
{
	struct build_names *n = &src->names[off];
	struct coati_view_opts o = { .size = sizeof(o),
				     .flags = (off ? COATI_VIEW_NO_ON_CPU : COATI_VIEW_NO_OFF_CPU) |
					      (b->inlines ? 0 : COATI_VIEW_NO_INLINES) |
					      (b->lines ? COATI_VIEW_LINES : 0) };
	size_t stacks = coati_profile_stack_count(src->feed->profile);
	int r = coati_view_new(src->feed->profile, &o, &b->views[src->number][off], NULL);

	if (r < 0)
		return r;
	n->view = b->views[src->number][off];
	n->frames = coati_build_none(coati_view_frame_count(n->view));
	n->stacks = coati_build_none(stacks);
	return n->frames && n->stacks ? 0 : -ENOMEM;
}

static int find_stack(struct agent_build *b, struct build_source *src,
		      const struct coati_profile_sample *s, uint32_t *ret)
{
	bool off = coati_profile_event(src->feed->profile, s->event)->is_off_cpu;
	struct build_names *n = &src->names[off];
	int r = n->view ? 0 : open_names(b, src, off);

	if (r == 0 && n->stacks[s->stack] == BUILD_NONE)
		r = add_stack(b, n, s, &n->stacks[s->stack]);
	if (r == 0)
		*ret = n->stacks[s->stack];
	return r;
}

/* ---- labels ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct coati_label *)a)->key, ((const struct coati_label *)b)->key);
}

/* Of two with the same key the later one counts. */
static void put_label(struct coati_label *v, uint32_t *nr, const struct coati_label *label)
{
	for (uint32_t i = 0; i < *nr; i++)
		if (!strcmp(v[i].key, label->key)) {
			v[i] = *label;
			return;
		}
	if (*nr < LABELS_MAX)
		v[(*nr)++] = *label;
}

int coati_build_labels(struct agent_build *b, struct coati_label *v, uint32_t nr, uint32_t *ret)
{
	struct agent_labels *slot;
	struct coati_label *own;
	struct probe probe;
	struct agent_id id;

	if (nr)
		qsort(v, nr, sizeof(*v), by_key);
	id = coati_agent_labels_id(v, nr);
	probe = index_probe(&b->label_index, id.low);
	while (index_next(&b->label_index, &probe, ret))
		if (b->labels.v[*ret].id.low == id.low && b->labels.v[*ret].id.high == id.high)
			return 0;
	own = coati_arena_alloc(&b->arena, (nr + 1u) * sizeof(*own));
	slot = own ? ARRAY_ADD(&b->labels) : NULL;
	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		own[i].key = coati_arena_strdup(&b->arena, v[i].key);
		own[i].value = coati_arena_strdup(&b->arena, v[i].value);
		if (!own[i].key || !own[i].value)
			return -ENOMEM;
	}
	*slot = (struct agent_labels){ id, own, nr };
	*ret = (uint32_t)b->labels.len - 1;
	return coati_index_add(&b->label_index, id.low, *ret);
}

/* Those of the thread at that time; the service stands for the cgroup. */
static int find_labels(struct agent_build *b, struct build_source *src,
		       const struct coati_profile_sample *s, uint32_t *ret)
{
	const struct coati_profile_thread *t = coati_profile_thread(src->feed->profile, s->thread);
	const struct coati_contexts *contexts = src->feed->live->contexts;
	const struct coati_context_source *from = coati_contexts_source(contexts);
	struct coati_label_list found = { 0 };
	const struct coati_label *own;
	struct coati_label v[LABELS_MAX];
	uint32_t nr_own = 0, nr = 0;

	own = coati_profile_labels(src->feed->profile, s->labels, &nr_own);
	for (uint32_t i = 0; own && i < nr_own; i++)
		if (strcmp(own[i].key, "cgroup") != 0)
			put_label(v, &nr, &own[i]);
	if (src->feed->live->has_events && from->find(from->ctx, t->pid, t->tid, s->time, &found))
		for (uint32_t i = 0; i < found.nr; i++)
			put_label(v, &nr, &found.v[i]);
	*ret = 0;
	return nr ? coati_build_labels(b, v, nr, ret) : 0;
}

/* ---- rows ---- */

static bool is_same(const struct agent_row *a, const struct agent_row *b)
{
	return a->stack == b->stack && a->service == b->service && a->process == b->process &&
	       a->labels == b->labels && a->event == b->event && a->thread == b->thread;
}

static uint64_t hash_row(const struct agent_row *r, uint64_t seed)
{
	uint64_t h = coati_hash_u64((uint64_t)r->stack << 32 | r->service, seed);

	h = coati_hash_u64((uint64_t)r->process << 32 | r->labels, h);
	return coati_hash_u64((uintptr_t)r->thread ^ ((uint64_t)r->event << 48), h);
}

static int add_row(struct agent_build *b, const struct agent_row *row)
{
	uint64_t hash = hash_row(row, b->row_index.seed);
	struct probe probe = index_probe(&b->row_index, hash);
	struct agent_row *slot;
	uint32_t id;

	while (index_next(&b->row_index, &probe, &id))
		if (is_same(&b->rows.v[id], row)) {
			b->rows.v[id].weight += row->weight;
			b->rows.v[id].samples += row->samples;
			return 0;
		}
	slot = ARRAY_ADD(&b->rows);
	if (!slot)
		return -ENOMEM;
	*slot = *row;
	return coati_index_add(&b->row_index, hash, (uint32_t)b->rows.len - 1);
}

static int find_event(struct agent_build *b, const struct coati_profile_event *e, uint32_t *ret)
{
	struct agent_event *slot;

	for (*ret = 0; *ret < b->events.len; (*ret)++)
		if (!strcmp(b->events.v[*ret].name, e->name))
			return 0;
	slot = ARRAY_ADD(&b->events);
	if (!slot)
		return -ENOMEM;
	*slot = (struct agent_event){ .name = coati_arena_strdup(&b->arena, e->name),
				      .unit = coati_arena_strdup(&b->arena, e->unit),
				      .is_off_cpu = e->is_off_cpu };
	return slot->name && slot->unit ? 0 : -ENOMEM;
}

static void count(struct agent_build *b, const struct agent_row *row)
{
	struct agent_event *e = &b->events.v[row->event];
	struct agent_quality *q = &b->window.quality;

	e->weight += row->weight;
	e->samples += row->samples;
	if (e->is_off_cpu) {
		q->intervals += row->samples;
		return;
	}
	q->samples += row->samples;
	if (b->stacks.v[row->stack].flags & AGENT_STACK_TRUNCATED)
		q->truncated += row->samples;
}

static int add_sample(struct agent_build *b, struct build_source *src,
		      const struct coati_profile_sample *s)
{
	const struct coati_profile_event *e = coati_profile_event(src->feed->profile, s->event);
	struct agent_row row = { .weight = s->weight, .samples = !s->goes_on };
	int r = coati_build_who(b, src, s, &row);

	if (r < 0)
		return r;
	if (row.service == BUILD_NONE) {
		b->window.quality.dropped++;
		b->window.quality.dropped_weight += e->is_off_cpu ? 0 : s->weight;
		return 0;
	}
	r = find_event(b, e, &row.event);
	if (r == 0)
		r = find_stack(b, src, s, &row.stack);
	if (r == 0)
		r = find_labels(b, src, s, &row.labels);
	if (r == 0)
		r = add_row(b, &row);
	if (r == 0)
		count(b, &row);
	return r;
}

/* Those before the end; the others stay. */
static int take_feed(struct agent_build *b, struct build_source *src, uint64_t end_ns)
{
	struct agent_feed *f = src->feed;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < f->pending.len; i++) {
		const struct coati_profile_sample *s = &f->pending.v[i];
		bool stays = s->time >= end_ns;

		if (stays)
			f->pending.v[kept++] = *s;
		else if (r < 0 || (r = add_sample(b, src, s)) < 0)
			b->window.quality.refused++;
	}
	f->pending.len = kept;
	b->window.quality.lost += f->lost;
	b->window.quality.throttled += f->throttled;
	b->window.quality.refused += f->refused;
	f->lost = f->throttled = f->refused = 0;
	return r;
}

static void publish(struct agent_build *b)
{
	struct agent_window *w = &b->window;

	w->rows = b->rows.v;
	w->frames = b->frames.v;
	w->stacks = b->stacks.v;
	w->labels = b->labels.v;
	w->services = b->services.v;
	w->processes = b->processes.v;
	w->events = b->events.v;
	w->tasks = b->tasks.v;
	w->nr_rows = (uint32_t)b->rows.len;
	w->nr_frames = (uint32_t)b->frames.len;
	w->nr_stacks = (uint32_t)b->stacks.len;
	w->nr_labels = (uint32_t)b->labels.len;
	w->nr_services = (uint32_t)b->services.len;
	w->nr_processes = (uint32_t)b->processes.len;
	w->nr_events = (uint32_t)b->events.len;
	w->nr_tasks = (uint32_t)b->tasks.len;
}

int coati_agent_build(struct agent_build *b, struct agent_feed *const *feeds, uint32_t nr,
		      struct agent_live *live, uint64_t end_ns)
{
	struct build_source src[BUILD_FEEDS] = { 0 };
	uint32_t none;
	int r;

	coati_agent_build_clear(b);
	r = coati_build_labels(b, NULL, 0, &none);
	for (uint32_t i = 0; i < nr && i < BUILD_FEEDS; i++) {
		int n;

		src[i].feed = feeds[i];
		src[i].number = i;
		coati_map_init(&src[i].services, ROWS_MAX);
		n = take_feed(b, &src[i], end_ns);
		r = r < 0 ? r : n;
		coati_build_source_fini(&src[i]);
	}
	if (r == 0)
		r = coati_build_tasks(b, live, end_ns);
	publish(b);
	return r;
}
