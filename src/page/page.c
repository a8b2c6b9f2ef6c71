/* SPDX-License-Identifier: MIT */
/* see page.h. Here: recordings on their way in, and the order of the parts. */
#include "page/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <coati/recording.h>
#include <coati/trace.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "recording/recording.h"
#include "trace/timeline.h"

#define SAMPLES_MAX ((size_t)1 << 26)
#define LOSSES_MAX  ((size_t)1 << 16)
#define THREADS_MAX ((size_t)1 << 22)

void coati_page_add_note(struct page *p, const char *fmt, ...)
{
	char text[COATI_ERROR_TEXT], **slot;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < p->notes.len; i++)
		if (!strcmp(p->notes.v[i], text))
			return;
	slot = ARRAY_ADD(&p->notes);
	if (slot)
		*slot = coati_strdup(text);
	if (slot && !*slot)
		p->notes.len--;
}

const char *coati_page_note(const struct page *p, uint32_t i)
{
	return i < p->notes.len ? p->notes.v[i] : NULL;
}

struct coati_profile *coati_page_profile(const struct page *p)
{
	return p->profile;
}

/* ---- reading ---- */

/* NULL: there are too many. */
static inline struct page_sample *slot_of(struct page *p)
{
	if (taken_count(&p->taken) < SAMPLES_MAX)
		return taken_slot(&p->taken);
	p->has_too_many = true;
	return NULL;
}

static inline void keep(struct page *p, const struct page_sample *s)
{
	if (s->event != p->last_event) {
		p->last_event = s->event;
		p->is_long = !p->is_filled && coati_profile_event(p->profile, s->event)->is_off_cpu;
	}
	taken_put(&p->taken, p->is_long ? s->weight : 0);
}

/* Those of one more recording have come. */
static int end_samples(struct page *p, const char *path, struct coati_error *err)
{
	int r = coati_taken_end(&p->taken);

	if (p->has_too_many || r == -E2BIG)
		return coati_fail(err, -E2BIG,
				  "%s: more than %zu samples are too many for one page; --time "
				  "and --thread take fewer",
				  path, SAMPLES_MAX);
	return r < 0 ? coati_fail(err, r, "%s: %m", path) : 0;
}

static void keep_sample(void *ctx, const struct coati_profile_sample *s)
{
	struct page_sample *slot = slot_of(ctx);

	if (!slot)
		return;
	slot->time = s->time;
	slot->weight = s->weight;
	slot->count = 1;
	slot->node = s->stack;
	slot->thread = s->thread;
	slot->event = s->event;
	slot->labels = s->labels;
	slot->cpu = s->cpu;
	keep(ctx, slot);
}

static void keep_loss(void *ctx, const struct coati_profile_loss *loss)
{
	struct page *p = ctx;
	struct coati_profile_loss *slot = ARRAY_ADD(&p->losses);

	/* the quality has their sum anyway */
	if (slot)
		*slot = *loss;
}

/* A timeline is worth a second read where the recording has what it is made of. */
static void look_at_events(struct page *p, const struct coati_recording *r)
{
	uint32_t nr = coati_recording_event_count(r);

	for (; p->nr_events_seen < nr; p->nr_events_seen++) {
		const struct coati_recording_event *e = coati_recording_event(r, p->nr_events_seen);

		p->wants_timeline |= e->attr.flags & COATI_ATTR_CONTEXT_SWITCH ||
				     !strcmp(e->name, "sched:sched_switch");
	}
}

static int keep_live(void *ctx, const struct coati_recording *r,
		     const struct coati_recording_item *item)
{
	struct page *p = ctx;

	look_at_events(p, r);
	return coati_live_take(&p->live, r, item);
}

static int keep_items(void *ctx, const struct coati_recording *r,
		      const struct coati_recording_item *items, uint32_t nr)
{
	struct page *p = ctx;

	look_at_events(p, r);
	return coati_live_take_samples(&p->live, r, items, nr);
}

static int make_profile(struct page *p, struct coati_error *err)
{
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = p->filter.cpu && *p->filter.cpu ? COATI_PROFILE_PER_CPU : 0,
		.images = &p->images,
		.filter = &p->filter,
	};
	struct coati_profile_hooks hooks = {
		.on_sample = keep_sample,
		.on_loss = keep_loss,
		.on_item = keep_live,
		.on_items = keep_items,
		.ctx = p,
	};
	int r = coati_live_init(&p->live, &p->filter, err);

	p->has_live = r == 0;
	if (r == 0)
		r = coati_contexts_new(&p->contexts, err);
	if (r < 0)
		return r;
	hooks.contexts = coati_contexts_source(p->contexts);
	return coati_profile_make(&o, &hooks, &p->profile, err);
}

int coati_page_new(const struct page_opts *opts, struct page **ret, struct coati_error *err)
{
	struct page *p = coati_alloc(sizeof(*p));
	int r;

	if (!p)
		return coati_fail(err, -ENOMEM, "out of memory");
	p->opts = *opts;
	coati_taken_init(&p->taken);
	p->last_event = PAGE_NONE;
	p->losses.max = LOSSES_MAX;
	p->threads.max = THREADS_MAX;
	p->notes.max = PAGE_NOTES_MAX;
	coati_map_init(&p->thread_index, THREADS_MAX);
	r = SIZED_COPY(&p->filter, opts->filter);
	if (r == 0)
		r = SIZED_COPY(&p->images, opts->images);
	if (r == 0)
		r = coati_page_names_init(&p->names);
	if (r < 0)
		coati_fail(err, r, "page: %m");
	else
		r = make_profile(p, err);
	if (r < 0)
		coati_page_free(&p);
	else
		*ret = p;
	return r;
}

void coati_page_free(struct page **pp)
{
	struct page *p = pp ? *pp : NULL;

	if (!p)
		return;
	if (p->has_live)
		coati_live_fini(&p->live);
	for (int i = 0; i < PAGE_MODES; i++) {
		coati_page_stacks_fini(&p->stacks[i]);
		coati_view_free(&p->views[i]);
	}
	coati_view_free(&p->timeline_view);
	coati_timeline_free(&p->timeline);
	coati_profile_free(&p->profile);
	coati_contexts_free(&p->contexts);
	coati_page_names_fini(&p->names);
	coati_columns_fini(&p->columns);
	coati_map_fini(&p->thread_index);
	for (size_t i = 0; i < p->notes.len; i++)
		coati_free(p->notes.v[i]);
	ARRAY_FINI(&p->notes);
	coati_taken_fini(&p->taken);
	ARRAY_FINI(&p->losses);
	ARRAY_FINI(&p->threads);
	coati_page_stacks_fini(&p->timeline_stacks);
	coati_free(p->path);
	coati_free(p);
	*pp = NULL;
}

int coati_page_read(struct page *p, const char *path, coati_progress_fn fn, void *ctx,
		    struct coati_error *err)
{
	int r = coati_live_begin_file(&p->live, p->profile, p->nr_files, err), ended;

	if (r < 0)
		return r;
	if (!p->path)
		p->path = coati_strdup(path);
	p->nr_events_seen = 0;
	r = coati_profile_read(p->profile, path, fn, ctx, err);
	p->nr_files++;
	if (r < 0 && r != -EINTR)
		return r;
	ended = coati_live_end_file(&p->live, err);
	if (ended == 0)
		ended = end_samples(p, path, err);
	return ended < 0 ? ended : r;
}

int coati_page_fill(struct page *p, const char *title, struct coati_error *err)
{
	const struct coati_profile *all = p->profile;

	if (p->nr_files)
		return coati_fail(err, -EINVAL,
				  "%s: a page shows recordings or databases, not both", title);
	p->is_filled = true;
	if (!p->path)
		p->path = coati_strdup(title);
	for (size_t i = 0; i < all->entries.len; i++) {
		const struct coati_profile_entry *e = &all->entries.v[i];
		struct page_sample *slot = slot_of(p);

		if (!slot)
			break;
		*slot = (struct page_sample){ .weight = e->weight,
					      .count = e->count,
					      .node = e->stack,
					      .thread = e->thread,
					      .event = e->event,
					      .labels = e->labels,
					      .cpu = -1 };
		keep(p, slot);
	}
	return end_samples(p, title, err);
}

/* The second reading; without it the page has no timeline, and a note says why. */
static int read_timeline(struct page *p, struct coati_error *err)
{
	struct coati_timeline_opts o = { .size = sizeof(o),
					 .images = &p->images,
					 .shared_images = coati_profile_images(p->profile) };
	int r;

	if (!p->wants_timeline && !p->live.nr_items)
		return 0;
	if (p->nr_files != 1 || !p->path || !strcmp(p->path, "-")) {
		coati_page_add_note(p, "no scheduler states on the timeline: they need one "
				       "recording that is a file");
		return 0;
	}
	r = coati_timeline_new(&o, &p->timeline, err);
	if (r == 0)
		r = coati_timeline_read(p->timeline, p->path, NULL, NULL, err);
	if (r == 0)
		coati_timeline_info(p->timeline, &p->info);
	return r;
}

/* ---- what there is ---- */

static bool has_times(const struct coati_profile *profile)
{
	bool on = false, off = false;

	for (uint32_t i = 0; i < coati_profile_event_count(profile); i++) {
		const struct coati_profile_event *e = coati_profile_event(profile, i);

		off |= e->is_off_cpu != 0;
		on |= !e->is_off_cpu && !strcmp(e->unit, "ns");
	}
	return on && off;
}

static bool has_kernel_samples(const struct coati_profile *profile)
{
	for (uint32_t i = 0; i < coati_profile_event_count(profile); i++) {
		const struct coati_profile_event *e = coati_profile_event(profile, i);

		if (!e->is_off_cpu && !e->is_live && e->samples && !strcmp(e->unit, "ns"))
			return true;
	}
	return false;
}

/* As views decide: page faults beside times are for the timeline, and what a program saw of itself
 * is the same time once more. */
bool coati_page_counts_event(const struct page *p, uint32_t event)
{
	const struct coati_profile_event *e = coati_profile_event(p->profile, event);

	if (p->filter.event && *p->filter.event)
		return true;
	if (e->is_live && has_kernel_samples(p->profile))
		return false;
	return strcmp(e->name, "page-faults") != 0 || !has_times(p->profile);
}

static int make_views(struct page *p, struct coati_error *err)
{
	struct coati_filter filter = p->filter;
	int r = 0;

	filter.time = NULL;
	for (int i = 0; i < PAGE_MODES && r == 0; i++) {
		struct coati_view_opts o = { .size = sizeof(o), .filter = &filter };

		o.flags = COATI_VIEW_LINES |
			  (i == PAGE_ON ? COATI_VIEW_NO_OFF_CPU : COATI_VIEW_NO_ON_CPU) |
			  (p->opts.no_inlines ? COATI_VIEW_NO_INLINES : 0);
		r = coati_view_new(p->profile, &o, &p->views[i], err);
	}
	return r;
}

/* From the first thing that is known to the last. */
static void find_bounds(struct page *p)
{
	uint64_t first = UINT64_MAX, last = 0;

	if (taken_count(&p->taken)) {
		first = p->taken.begin;
		last = p->taken.end;
	}
	if (p->timeline && p->info.begin && p->info.begin < first)
		first = p->info.begin;
	if (p->timeline && p->info.end > last)
		last = p->info.end;
	if (p->live.nr_items && p->live.first && p->live.first < first)
		first = p->live.first;
	if (p->live.nr_items && p->live.last > last)
		last = p->live.last;
	p->begin = first == UINT64_MAX ? 0 : first;
	p->end = last > p->begin ? last : p->begin;
}

static void take_notes(struct page *p)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_profile_note(p->profile, i)); i++)
		coati_page_add_note(p, "%s", note);
	for (uint32_t i = 0; p->timeline && (note = coati_timeline_note(p->timeline, i)); i++)
		coati_page_add_note(p, "%s", note);
}

int coati_page_data(struct page *p, struct strbuf *ret, struct coati_error *err)
{
	int (*const parts[])(struct page *) = { coati_page_put_threads,	 coati_page_put_samples,
						coati_page_put_timeline, coati_page_put_live,
						coati_page_put_sources,	 coati_page_put_meta };
	int r = coati_live_finish(&p->live, err);

	if (r == 0)
		r = make_views(p, err);
	if (r == 0)
		r = read_timeline(p, err);
	if (r < 0)
		return r;
	find_bounds(p);
	take_notes(p);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && r == 0; i++)
		r = parts[i](p);
	if (r == 0)
		coati_page_put_names(&p->names, &p->columns);
	if (r == 0)
		r = p->names.failed;
	if (r == 0)
		r = coati_columns_join(&p->columns, ret);
	return r < 0 ? coati_fail(err, r, "page: %m") : 0;
}
