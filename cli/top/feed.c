/* SPDX-License-Identifier: MIT */
/* see feed.h */
#include "cli/top/feed.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "live-read/batch.h"
#include "profile/view.h"
#include "profile/walk.h"
#include "reading/contexts-live.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/labels.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "record/batch.h"

#define PENDING_MAX ((size_t)1 << 22)
#define LATE_NS	    (15 * NSEC_PER_SEC) /* older samples get no labels any more */
#define LABEL_BYTES ((size_t)4 << 20)
#define FRAMES_MAX  2048
#define LABELS_MAX  64
#define LABEL_SETS  ((size_t)1 << 22)

int coati_top_feed_init(struct top_feed *f, struct top_model *m, bool no_inline,
			struct coati_error *err)
{
	int r;

	*f = (struct top_feed){ .model = m, .no_inline = no_inline };
	f->pending.max = PENDING_MAX;
	f->stacks[0].max = f->stacks[1].max = f->threads.max = PENDING_MAX;
	coati_map_init(&f->labels, LABEL_SETS);
	r = coati_contexts_new(&f->live, err);
	if (r == 0 && coati_contexts_live_begin(f->live) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	return r;
}

void coati_top_feed_forget(struct top_feed *f)
{
	f->stacks[0].len = f->stacks[1].len = f->threads.len = 0;
	coati_map_fini(&f->labels);
	coati_map_init(&f->labels, LABEL_SETS);
}

static void close_recording(struct top_feed *f)
{
	coati_follow_close(&f->follow);
	coati_profile_free(&f->profile);
	coati_contexts_free(&f->contexts);
	f->pending.len = 0;
	coati_top_feed_forget(f);
}

void coati_top_feed_fini(struct top_feed *f)
{
	close_recording(f);
	coati_contexts_free(&f->live);
	ARRAY_FINI(&f->pending);
	ARRAY_FINI(&f->stacks[0]);
	ARRAY_FINI(&f->stacks[1]);
	ARRAY_FINI(&f->threads);
	coati_map_fini(&f->labels);
}

/* ---- what the profile says ---- */

static void on_sample(void *ctx, const struct coati_profile_sample *sample)
{
	struct top_feed *f = ctx;
	struct coati_profile_sample *slot = ARRAY_ADD(&f->pending);

	if (slot)
		*slot = *sample;
	else
		f->model->refused++;
}

static void on_loss(void *ctx, const struct coati_profile_loss *loss)
{
	struct top_feed *f = ctx;
	uint64_t time = loss->time ? loss->time : f->model->latest_ns;

	/* LOSS_SAMPLES repeats what the rings said */
	if (loss->kind == COATI_LOSS_RECORDS)
		coati_top_model_loss(f->model, time, loss->count, 0);
	else if (loss->kind == COATI_LOSS_THROTTLE)
		coati_top_model_loss(f->model, time, 0, 1);
}

static void on_event(void *ctx, const struct coati_trace_event *e)
{
	struct top_feed *f = ctx;
	char type[256];
	size_t len;

	if (e->kind != COATI_TRACE_TASK_END || e->duration == COATI_TRACE_NO_DURATION || !e->site ||
	    e->time < f->from_ns)
		return;
	len = e->site->name.size < sizeof(type) ? e->site->name.size : sizeof(type) - 1;
	memcpy(type, e->site->name.text, len);
	type[len] = '\0';
	if (coati_top_model_task(f->model, e->time, type, e->duration) == -ENOMEM)
		f->failed = -ENOMEM;
}

/* Live events are behind the samples that they are about: they are read beside the profile. */
static int on_item(void *ctx, const struct coati_recording *r,
		   const struct coati_recording_item *item)
{
	struct top_feed *f = ctx;
	struct coati_batch batch;
	int n;

	if (!coati_live_batch(r, item, &batch))
		return 0;
	f->has_live = true;
	n = coati_contexts_live_feed(f->live, batch.payload, batch.payload_size, on_event, f);
	return n == -ENOMEM ? n : 0;
}

/* ---- names ---- */

static uint32_t frame_flags(const struct coati_view_frame *f)
{
	return (f->location_flags & COATI_LOCATION_KERNEL ? TOP_FRAME_KERNEL : 0) |
	       (f->location_flags & COATI_LOCATION_TRUNCATED ? TOP_FRAME_NO_ROW : 0);
}

/* The stack of a sample in the words of the model. */
static int add_stack(struct top_feed *f, struct coati_view *v,
		     const struct coati_profile_sample *sample, bool is_off, uint32_t *ret)
{
	struct coati_view_entry e = { 0 };
	struct top_stack s = { 0 };
	uint32_t frames[FRAMES_MAX];
	int r = 0;

	if (!coati_view_sample(v, sample, &e))
		e.nr_frames = 0;
	for (uint32_t i = 0; i < e.nr_frames && s.nr < FRAMES_MAX && r == 0; i++) {
		const struct coati_view_frame *frame = coati_view_frame(v, e.frames[i]);
		const struct top_frame own = { frame->function, frame->image,
					       coati_view_image_path(v, e.frames[i]),
					       frame_flags(frame) };

		s.is_cut |= (own.flags & TOP_FRAME_NO_ROW) != 0;
		r = coati_top_model_function(f->model, &own, &frames[s.nr++]);
	}
	s.frames = frames;
	if (is_off)
		s.wait = (uint8_t)coati_profile_stack_wait(f->profile, sample->stack);
	return r < 0 ? r : coati_top_model_stack(f->model, &s, ret);
}

static bool is_off(const struct top_feed *f, const struct coati_profile_sample *s)
{
	const struct coati_profile_event *e = coati_profile_event(f->profile, s->event);

	return e && e->is_off_cpu;
}

/* An array of numbers that are not known yet, at least @nr long. */
static int widen(struct top_feed *f, uint32_t which, uint32_t nr)
{
	while (f->stacks[which].len <= nr) {
		uint32_t *slot = ARRAY_ADD(&f->stacks[which]);

		if (!slot)
			return -ENOMEM;
		*slot = TOP_NONE;
	}
	return 0;
}

static int make_view(struct top_feed *f, bool off, struct coati_view **ret)
{
	struct coati_view_opts o = { .size = sizeof(o),
				     .flags = (off ? COATI_VIEW_NO_ON_CPU : COATI_VIEW_NO_OFF_CPU) |
					      (f->no_inline ? COATI_VIEW_NO_INLINES : 0) };
	struct coati_view_info info = { .size = sizeof(info) };
	int r = coati_view_new(f->profile, &o, ret, NULL);

	if (r == 0) {
		coati_view_info(*ret, &info);
		/* it lives in the profile, which does not live long */
		if (!off)
			f->unit = !strcmp(info.unit, "ns") ? "ns" : "events";
	}
	return r;
}

/* Stacks that were not seen before get their names: all of them with one view. */
static int name_stacks(struct top_feed *f, bool off)
{
	struct coati_view *v = NULL;
	int r = 0;

	for (size_t i = 0; i < f->pending.len && r == 0; i++) {
		const struct coati_profile_sample *s = &f->pending.v[i];
		uint32_t *known;

		if (is_off(f, s) != off)
			continue;
		r = widen(f, off, s->stack);
		known = r == 0 ? &f->stacks[off].v[s->stack] : NULL;
		if (!known || *known != TOP_NONE)
			continue;
		r = v ? 0 : make_view(f, off, &v);
		if (r == 0)
			r = add_stack(f, v, s, off, known);
		if (r == -E2BIG)
			r = 0; /* it stays without a name, and its samples are refused */
	}
	coati_view_free(&v);
	return r;
}

static int find_thread(struct top_feed *f, uint32_t thread, uint32_t *ret)
{
	const struct coati_profile_thread *t = coati_profile_thread(f->profile, thread);
	const struct top_thread own = { t->pid, t->tid, t->comm, t->process_comm };

	return coati_top_model_thread(f->model, &own, ret);
}

/* A number of the model, remembered by that of the profile. */
static int remember_thread(struct top_feed *f, uint32_t number, uint32_t *ret)
{
	uint32_t *slot;
	int r;

	while (f->threads.len <= number) {
		slot = ARRAY_ADD(&f->threads);
		if (!slot)
			return -ENOMEM;
		*slot = TOP_NONE;
	}
	slot = &f->threads.v[number];
	r = *slot == TOP_NONE ? find_thread(f, number, slot) : 0;
	if (r < 0)
		*slot = TOP_NONE;
	*ret = *slot;
	return r;
}

/* The labels of a sample, and its service by the name that an agent gives it. */
static int find_labels(struct top_feed *f, const struct coati_profile_sample *s, uint32_t *ret)
{
	struct coati_profile *p = f->profile;
	const struct own_label_of of = { coati_profile_thread(p, s->thread),
					 &p->label_sets.v[s->labels], &p->rules };
	struct coati_label v[LABELS_MAX];
	struct service service;
	uint32_t nr = 0;

	while (nr < of.labels->nr && nr < LABELS_MAX - 1) {
		v[nr] = of.labels->labels[nr];
		nr++;
	}
	/* what came out of a database has it already */
	if (!coati_top_label(&(struct top_labels){ v, nr }, TOP_SERVICE_KEY)) {
		coati_profile_service(&of, &service);
		v[nr++] = (struct coati_label){ TOP_SERVICE_KEY, service.name };
	}
	return coati_top_model_labels(f->model, v, nr, ret);
}

static int remember_labels(struct top_feed *f, const struct coati_profile_sample *s, uint32_t *ret)
{
	uint64_t key = (uint64_t)s->thread << 32 | s->labels, known;
	int r;

	if (coati_map_get(&f->labels, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	r = find_labels(f, s, ret);
	return r < 0 ? r : coati_map_put(&f->labels, key, *ret) < 0 ? -ENOMEM : 0;
}

/* ---- samples ---- */

/* @count: samples that it stands for, 0: it is one. */
static int add_sample(struct top_feed *f, const struct coati_profile_sample *s, uint64_t count)
{
	struct top_sample own = { .time_ns = s->time,
				  .weight = s->weight,
				  .is_off = is_off(f, s),
				  .goes_on = s->goes_on,
				  .count = count };
	struct top_sample *late;
	int r = remember_thread(f, s->thread, &own.thread);

	if (r == 0)
		r = remember_labels(f, s, &own.labels);
	own.stack = f->stacks[own.is_off].v[s->stack];
	if (r == -ENOMEM)
		return r;
	if (r < 0 || own.stack == TOP_NONE) {
		f->model->refused += count ? count : 1;
		return 0;
	}
	r = coati_top_model_add(f->model, &own);
	if (!f->first_ns)
		f->first_ns = s->time;
	/* live events may be about samples from before the first of them came */
	if (r == 0 && !f->is_whole && (f->has_live || s->time < f->first_ns + LATE_NS)) {
		late = ARRAY_ADD(&f->model->late);
		if (late)
			*late = own;
	}
	return r == -ENOMEM ? r : 0;
}

static int add_pending(struct top_feed *f)
{
	int r = name_stacks(f, false);

	if (r == 0)
		r = name_stacks(f, true);
	for (size_t i = 0; i < f->pending.len && r == 0; i++)
		r = add_sample(f, &f->pending.v[i], 0);
	f->pending.len = 0;
	return r;
}

/* ---- labels that come late ---- */

static int label_one(struct top_feed *f, struct top_sample *s)
{
	const struct coati_context_source *source = coati_contexts_source(f->live);
	const struct top_thread *t = &f->model->threads.v[s->thread];
	const struct top_labels *had = &f->model->labels.v[s->labels];
	struct coati_label labels[LABELS_MAX];
	struct coati_label_list found = { 0 };
	uint32_t nr = 0, set;
	int r;

	if (!source->find(f->live, t->pid, t->tid, s->time_ns, &found) || !found.nr)
		return 0;
	while (nr < had->nr && nr < LABELS_MAX) {
		labels[nr] = had->v[nr];
		nr++;
	}
	for (uint32_t i = 0; i < found.nr && nr < LABELS_MAX; i++)
		labels[nr++] = found.v[i];
	r = coati_top_model_labels(f->model, labels, nr, &set);
	return r < 0 ? r : coati_top_model_relabel(f->model, s, set);
}

static int label_late(struct top_feed *f)
{
	uint64_t known = coati_contexts_live_horizon(f->live), now = f->model->latest_ns;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < f->model->late.len; i++) {
		struct top_sample *s = &f->model->late.v[i];

		if (s->time_ns > known && s->time_ns + LATE_NS > now)
			f->model->late.v[kept++] = *s;
		else if (r != -ENOMEM)
			r = label_one(f, s);
	}
	f->model->late.len = kept;
	if (r != -ENOMEM)
		r = coati_contexts_live_trim(f->live, now > LATE_NS ? now - LATE_NS : 0,
					     LABEL_BYTES);
	return r == -ENOMEM ? r : 0;
}

uint64_t coati_top_feed_lag(const struct top_feed *f, uint64_t now_ns)
{
	uint64_t known = coati_contexts_live_horizon(f->live);

	if (!f->has_live || !known || known >= now_ns)
		return 0;
	return now_ns - known < LATE_NS ? now_ns - known : LATE_NS;
}

/* ---- recordings ---- */

static int new_profile(struct top_feed *f, struct coati_images *images, struct coati_error *err)
{
	struct coati_profile_opts o = { .size = sizeof(o), .filter = f->filter };
	struct coati_profile_hooks hooks = { .on_sample = on_sample,
					     .on_loss = on_loss,
					     .on_item = on_item,
					     .ctx = f,
					     .shared_images = images };
	int r = 0;

	if (f->is_whole) {
		r = coati_contexts_new(&f->contexts, err);
		hooks.contexts = r == 0 ? coati_contexts_source(f->contexts) : NULL;
	}
	return r < 0 ? r : coati_profile_make(&o, &hooks, &f->profile, err);
}

int coati_top_feed_begin(struct top_feed *f, int fd, struct coati_images *images,
			 const struct coati_follow_opts *opts, struct coati_error *err)
{
	int r;

	close_recording(f);
	r = new_profile(f, images, err);
	return r < 0 ? r : coati_follow_open(f->profile, fd, opts, &f->follow, err);
}

int coati_top_feed_take(struct top_feed *f)
{
	int r = f->follow ? coati_follow_take(f->follow) : 0;
	int added = add_pending(f);

	r = r < 0 ? r : added;
	if (r == 0 && f->model->late.len)
		r = label_late(f);
	return r < 0 ? r : f->failed;
}

int coati_top_feed_end(struct top_feed *f)
{
	int r = f->follow ? coati_follow_end(f->follow) : 0;
	int added = add_pending(f);

	if (r == 0 && added == 0 && f->has_live)
		r = label_late(f);
	return r < 0 ? r : added;
}

int coati_top_feed_finish(struct top_feed *f)
{
	int r = coati_top_feed_end(f);

	if (r < 0 || !f->has_live)
		return r;
	r = coati_contexts_live_feed(f->live, NULL, 0, on_event, f);
	return r < 0 ? r : label_late(f);
}

int coati_top_feed_file(struct top_feed *f, const char *path, coati_progress_fn fn, void *ctx,
			struct coati_error *err)
{
	int r;

	close_recording(f);
	f->is_whole = true;
	r = new_profile(f, NULL, err);
	if (r == 0)
		r = coati_profile_read(f->profile, path, fn, ctx, err);
	if (r == 0 && f->has_live)
		(void)coati_contexts_live_feed(f->live, NULL, 0, on_event, f);
	if (r == 0 && (add_pending(f) < 0 || f->failed < 0))
		r = coati_fail(err, -ENOMEM, "out of memory");
	return r;
}

/* ---- sums ---- */

/* An entry of the profile is a sample that counts several times. */
static int add_entries(struct top_feed *f)
{
	const struct coati_profile *p = f->profile;
	int r;

	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		struct coati_profile_sample *s = ARRAY_ADD(&f->pending);

		if (!s)
			return -ENOMEM;
		*s = (struct coati_profile_sample){ .time = NSEC_PER_SEC,
						    .weight = e->weight,
						    .stack = e->stack,
						    .thread = e->thread,
						    .event = e->event,
						    .labels = e->labels };
	}
	r = name_stacks(f, false);
	if (r == 0)
		r = name_stacks(f, true);
	for (size_t i = 0; i < f->pending.len && r == 0; i++)
		if (p->entries.v[i].count)
			r = add_sample(f, &f->pending.v[i], p->entries.v[i].count);
	f->pending.len = 0;
	return r;
}

int coati_top_feed_sums(struct top_feed *f, top_fill_fn fill, void *ctx, struct coati_error *err)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	int r;

	close_recording(f);
	f->is_whole = true;
	r = new_profile(f, NULL, err);
	if (r == 0)
		r = fill(ctx, f->profile, err);
	if (r == 0 && add_entries(f) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	if (r == 0) {
		coati_profile_quality(f->profile, &q);
		coati_top_model_loss(f->model, NSEC_PER_SEC, q.lost, q.throttled);
	}
	return r;
}
