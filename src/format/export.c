/* SPDX-License-Identifier: MIT */
/*
 * An export as an object: a profile is read and one view of it is written. What the formats have in
 * common is here; what they do not, in a file each.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "format/export.h"
#include "format/format.h"
#include "format/gzip.h"
#include "format/live-events.h"
#include "profile/walk.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"

#define NOTES_MAX	4096
#define DEFAULT_SAMPLES (UINT64_C(1) << 26)
#define LOSSES_MAX	((size_t)1 << 20)
#define RECORDS_MAX	((size_t)1 << 30)

struct coati_export {
	const struct format *format;
	struct coati_export_opts opts;
	struct coati_filter filter;
	struct coati_images_opts images;
	struct coati_profile *profile;
	struct coati_view *view;
	ARRAY(struct coati_profile_sample) samples;
	ARRAY(struct coati_profile_loss) losses;
	ARRAY(uint32_t) sample_stacks;
	int samples_failed;		 /* what stopped their collection */
	struct coati_contexts *contexts; /* what samples belong to */
	struct coati_context_source source;
	struct live live;
	bool has_live; /* the format wants live events */
	uint32_t nr_files;
	struct format_notes notes;
	struct coati_view_info info;
	uint64_t bytes;
	char account[512];
};

static int add_note(struct format_notes *notes, const char *text)
{
	char **slot, *copy;

	for (size_t i = 0; i < notes->v.len; i++)
		if (!strcmp(notes->v.v[i], text))
			return 0;
	copy = coati_strdup(text);
	slot = copy ? ARRAY_ADD(&notes->v) : NULL;
	if (!slot) {
		coati_free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

void coati_format_note(struct format_input *in, const char *fmt, ...)
{
	char text[COATI_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_note(in->notes, text);
}

/* ---- reading ---- */

static void keep_sample(void *ctx, const struct coati_profile_sample *s)
{
	struct coati_export *x = ctx;
	struct coati_profile_sample *slot;

	if (x->samples_failed)
		return;
	slot = ARRAY_ADD(&x->samples);
	if (slot)
		*slot = *s;
	else
		x->samples_failed = x->samples.len >= x->samples.max ? -E2BIG : -ENOMEM;
}

/* Which records are in: those in between were left out. */
static void keep_number(void *ctx, const struct coati_profile_sample *s)
{
	struct coati_export *x = ctx;

	while (!x->samples_failed && x->sample_stacks.len <= s->number)
		if (!ARRAY_ADD(&x->sample_stacks))
			x->samples_failed =
				x->sample_stacks.len >= x->sample_stacks.max ? -E2BIG : -ENOMEM;
	if (!x->samples_failed)
		x->sample_stacks.v[s->number] = s->stack + 1;
}

static void keep_loss(void *ctx, const struct coati_profile_loss *loss)
{
	struct coati_export *x = ctx;
	struct coati_profile_loss *slot = ARRAY_ADD(&x->losses);

	/* the account has their sum anyway */
	if (slot)
		*slot = *loss;
}

static int keep_live(void *ctx, const struct coati_recording *r,
		     const struct coati_recording_item *item)
{
	struct coati_export *x = ctx;

	return coati_live_take(&x->live, r, item);
}

static int keep_samples(void *ctx, const struct coati_recording *r,
			const struct coati_recording_item *items, uint32_t nr)
{
	struct coati_export *x = ctx;

	return coati_live_take_samples(&x->live, r, items, nr);
}

static int make_profile(struct coati_export *x, struct coati_error *err)
{
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = x->filter.cpu && *x->filter.cpu ? COATI_PROFILE_PER_CPU : 0,
		.images = x->opts.images,
		.filter = &x->filter,
	};
	struct coati_profile_hooks hooks = { .ctx = x };

	if (x->format->flags & FORMAT_TIMELINE) {
		hooks.on_sample = keep_sample;
		hooks.on_loss = keep_loss;
	}
	if (x->format->flags & FORMAT_LIVE) {
		int r = coati_live_init(&x->live, &x->filter, err);

		x->has_live = true;
		x->live.wants_sched = x->format->flags & FORMAT_SCHED;
		x->live.by_thread = x->format->flags & FORMAT_BY_THREAD;
		hooks.on_item = keep_live;
		hooks.on_items = keep_samples;
		if (r < 0)
			return r;
	}
	if (x->format->flags & FORMAT_RECORDS) {
		o.flags |= COATI_PROFILE_NO_OFF_CPU; /* they are copied, not paired */
		hooks.on_sample = keep_number;
	}
	if (coati_contexts_new(&x->contexts, err) < 0)
		return -ENOMEM;
	x->source = *coati_contexts_source(x->contexts);
	/* the records that they are in are copied */
	if (x->format->flags & FORMAT_RECORDS)
		x->source.feed = NULL;
	hooks.contexts = &x->source;
	return coati_profile_make(&o, &hooks, &x->profile, err);
}

int coati_export_new(const struct coati_export_opts *opts, struct coati_export **ret,
		     struct coati_error *err)
{
	struct coati_export *x = ret ? coati_alloc(sizeof(*x)) : NULL;
	int r;

	if (!x)
		return coati_fail(err, ret ? -ENOMEM : -EINVAL, "no room for the export");
	r = SIZED_COPY(&x->opts, opts);
	if (r == 0)
		r = SIZED_COPY(&x->filter, x->opts.filter);
	if (r == 0)
		r = SIZED_COPY(&x->images, x->opts.images);
	x->opts.filter = &x->filter;
	x->opts.images = &x->images;
	if (r < 0)
		coati_fail(err, r, "options of a newer library, or a wrong size field");
	x->notes.v.max = NOTES_MAX;
	x->samples.max = x->opts.max_samples ? x->opts.max_samples : DEFAULT_SAMPLES;
	x->losses.max = LOSSES_MAX;
	x->sample_stacks.max = RECORDS_MAX;
	x->format = coati_format_get(x->opts.format);
	if (r == 0 && !x->format)
		r = coati_fail(err, -EINVAL, "there is no such format");
	if (r == 0 && x->format->accept)
		r = x->format->accept(&x->opts, err);
	if (r == 0)
		r = make_profile(x, err);
	if (r < 0)
		coati_export_free(&x);
	else
		*ret = x;
	return r;
}

void coati_export_free(struct coati_export **xp)
{
	struct coati_export *x = xp ? *xp : NULL;

	if (!x)
		return;
	if (x->has_live)
		coati_live_fini(&x->live);
	coati_view_free(&x->view);
	coati_profile_free(&x->profile);
	coati_contexts_free(&x->contexts);
	for (size_t i = 0; i < x->notes.v.len; i++)
		coati_free(x->notes.v.v[i]);
	ARRAY_FINI(&x->notes.v);
	ARRAY_FINI(&x->samples);
	ARRAY_FINI(&x->losses);
	ARRAY_FINI(&x->sample_stacks);
	coati_free(x);
	*xp = NULL;
}

static int read_file(struct coati_export *x, const char *path, coati_progress_fn fn, void *ctx,
		     struct coati_error *err)
{
	int r = x->has_live ? coati_live_begin_file(&x->live, x->profile, x->nr_files, err) : 0, n;

	if (r < 0)
		return r;
	r = coati_profile_read(x->profile, path, fn, ctx, err);
	x->nr_files++;
	n = x->has_live && (r == 0 || r == -EINTR || r == -E2BIG)
		    ? coati_live_end_file(&x->live, err)
		    : 0;
	return n < 0 ? n : r;
}

int coati_export_read(struct coati_export *x, const char *path, coati_progress_fn fn, void *ctx,
		      struct coati_error *err)
{
	int r;

	if (x->view)
		return coati_fail(err, -EINVAL, "the export was written already");
	r = read_file(x, path, fn, ctx, err);
	if (r == -EINTR)
		add_note(&x->notes, "reading was interrupted: the file has what was read so far");
	if (r == 0 && x->samples_failed == -E2BIG)
		return coati_fail(
			err, -E2BIG,
			"%s: more than %zu samples are too many for one timeline; --time and "
			"--thread take fewer, and pprof or folded have room for all",
			path, x->samples.max);
	if (r == 0 && x->samples_failed)
		return coati_fail(err, x->samples_failed, "%s: %m", path);
	return r;
}

/* ---- writing ---- */

static int by_time(const void *a, const void *b)
{
	const struct coati_profile_sample *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* They come by time already, but for several files and what came too late. */
static void sort_samples(struct coati_export *x)
{
	for (size_t i = 1; i < x->samples.len; i++)
		if (x->samples.v[i].time < x->samples.v[i - 1].time) {
			qsort(x->samples.v, x->samples.len, sizeof(*x->samples.v), by_time);
			return;
		}
}

/* Timelines are of what the view shows. */
static void drop_hidden(struct coati_export *x)
{
	struct coati_view_entry e;
	size_t kept = 0;

	for (size_t i = 0; i < x->samples.len; i++)
		if (coati_view_sample(x->view, &x->samples.v[i], &e))
			x->samples.v[kept++] = x->samples.v[i];
	x->samples.len = kept;
}

/* What was lost at other times than those asked for is no part of the picture; the account has
 * it. */
static void drop_other_losses(struct coati_export *x)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	size_t kept = 0;

	coati_profile_quality(x->profile, &q);
	for (size_t i = 0; i < x->losses.len; i++)
		if (!x->filter.time ||
		    (x->losses.v[i].time >= q.first_time && x->losses.v[i].time <= q.last_time))
			x->losses.v[kept++] = x->losses.v[i];
	x->losses.len = kept;
}

/* Which part of the time. Without a word it is that on CPUs, where there is any. */
static uint32_t mode_of(const struct coati_export *x)
{
	const uint32_t both = COATI_EXPORT_ON_CPU | COATI_EXPORT_OFF_CPU;
	uint32_t mode = x->opts.flags & both;
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(x->profile, &q);
	if (!mode && x->opts.filter && x->opts.filter->wait)
		mode = COATI_EXPORT_OFF_CPU;
	if (!mode)
		mode = q.off_intervals && !q.samples ? COATI_EXPORT_OFF_CPU : COATI_EXPORT_ON_CPU;
	if (mode == both)
		return 0;
	return mode == COATI_EXPORT_ON_CPU ? COATI_VIEW_NO_OFF_CPU : COATI_VIEW_NO_ON_CPU;
}

/* What was left out while reading needs no second look. */
static int make_view(struct coati_export *x, struct coati_error *err)
{
	struct coati_filter filter = x->filter;
	struct coati_view_opts o = { .size = sizeof(o),
				     .filter = &filter,
				     .nameless_bytes = x->opts.nameless_bytes };

	filter.time = NULL;
	if (x->opts.flags & COATI_EXPORT_NO_INLINES)
		o.flags |= COATI_VIEW_NO_INLINES;
	if (x->opts.flags & COATI_EXPORT_COUNTS)
		o.flags |= COATI_VIEW_COUNTS;
	if (x->format->flags & FORMAT_LINES)
		o.flags |= COATI_VIEW_LINES;
	o.flags |= mode_of(x);
	return coati_view_new(x->profile, &o, &x->view, err);
}

/* As the recording says, or the programs in it. */
static uint64_t wall_of(const struct coati_export *x, uint64_t time)
{
	const struct coati_profile_file *f = coati_profile_file(x->profile, 0);

	if (!time)
		return 0;
	if (f && f->wall_ns)
		return f->wall_ns - f->clock_ns + time;
	return x->has_live && x->live.wall_ns ? x->live.wall_ns - x->live.clock_ns + time : 0;
}

/* Live events that are not in the file, or not as they were. */
static void add_live_notes(struct format_input *in, const struct live *l)
{
	const struct coati_trace_quality *q = &l->quality;

	if (l->nr_stacks)
		coati_format_note(in, "the stacks of %llu live events are left out",
				  (unsigned long long)l->nr_stacks);
	if (l->no_begin)
		coati_format_note(in, "%llu ends of live events have no begin: they are left out",
				  (unsigned long long)l->no_begin);
	if (l->not_finite)
		coati_format_note(in, "%llu values of gauges are not numbers and are omitted",
				  (unsigned long long)l->not_finite);
	if (q->lost || q->missing)
		coati_format_note(
			in, "%llu live events and %llu batches of them were lost while recording",
			(unsigned long long)q->lost, (unsigned long long)q->missing);
	if (q->damaged)
		coati_format_note(in, "%llu parts of the live events are malformed",
				  (unsigned long long)q->damaged);
	if (q->clock_unknown)
		coati_format_note(in, "the time of live events in %llu batches is a guess",
				  (unsigned long long)q->clock_unknown);
	if (l->first_sample && in->live && q->clock_error_ns)
		coati_format_note(in, "live events may be off by up to %llu ns against samples",
				  (unsigned long long)q->clock_error_ns);
	if (l->first_sample && in->live && in->quality.clockid != 1) /* CLOCK_MONOTONIC */
		coati_format_note(
			in,
			"samples are not on CLOCK_MONOTONIC: live events may lie far from them");
}

static void add_common_notes(struct format_input *in)
{
	const char *note;

	for (uint32_t i = 0; (note = coati_profile_note(in->profile, i)); i++)
		coati_format_note(in, "%s", note);
	if (!in->quality.samples && !in->quality.filtered && !in->live)
		coati_format_note(in, "the recording has no samples: the file is empty");
	else if (!in->info.samples && !in->live)
		coati_format_note(in, "no sample matches the filters: the file is empty");
	if (in->info.nr_events > 1 && !strcmp(in->info.unit, "samples") &&
	    !(in->opts->flags & COATI_EXPORT_COUNTS))
		coati_format_note(
			in,
			"samples of several events are counted together; --event (-e) chooses one");
	if (in->quality.off_intervals && !(in->opts->flags & COATI_EXPORT_OFF_CPU) &&
	    in->quality.samples && !(in->opts->filter && in->opts->filter->wait))
		coati_format_note(in,
				  "%.3f s off the CPUs are left out; --mode off or both has them",
				  (double)in->quality.off_ns / 1e9);
	if (in->quality.lost)
		coati_format_note(in,
				  "%llu records were lost while recording: their weight is missing",
				  (unsigned long long)in->quality.lost);
}

static void fill_input(struct coati_export *x, struct format_input *in)
{
	*in = (struct format_input){ .profile = x->profile,
				     .view = x->view,
				     .samples = x->samples.v,
				     .nr_samples = x->samples.len,
				     .losses = x->losses.v,
				     .nr_losses = x->losses.len,
				     .sample_stacks = x->sample_stacks.v,
				     .nr_sample_stacks = x->sample_stacks.len,
				     .account = x->account,
				     .comment = x->opts.comment ? x->opts.comment : "",
				     .opts = &x->opts,
				     .notes = &x->notes };
	in->info.size = sizeof(in->info);
	coati_view_info(x->view, &in->info);
	in->quality.size = sizeof(in->quality);
	coati_profile_quality(x->profile, &in->quality);
	coati_profile_quality_format(&in->quality, x->account, sizeof(x->account));
	in->start_ns = in->quality.first_time;
	if (x->has_live && (x->live.nr_items || x->live.nr_sched)) {
		in->live = &x->live;
		if (x->live.nr_items && (!in->start_ns || x->live.first < in->start_ns))
			in->start_ns = x->live.first;
		if (x->live.nr_sched && (!in->start_ns || x->live.first_sched < in->start_ns))
			in->start_ns = x->live.first_sched;
	}
	in->start_wall_ns = wall_of(x, in->start_ns);
	x->info = in->info;
}

/* What was asked for and cannot be in such a file. */
static void note_unused(const struct coati_export *x, struct format_input *in)
{
	const struct format *f = x->format;

	if (*in->comment && f->flags & FORMAT_NO_WORDS)
		coati_format_note(in, "%s has no room for --comment: it is left out", f->name);
	if (x->opts.flags & COATI_EXPORT_PLAIN && !(f->flags & FORMAT_GZIP))
		coati_format_note(in, "%s is never compressed: --no-compress changes nothing in it",
				  f->name);
}

static int write_out(struct coati_export *x, struct format_input *in, int fd,
		     struct coati_error *err)
{
	struct format_output out;
	struct coati_error late = { 0 };
	int gzip = x->format->flags & FORMAT_GZIP && !(x->opts.flags & COATI_EXPORT_PLAIN), r;

	note_unused(x, in);
	if (gzip && !coati_gzip_works()) {
		coati_format_note(in, "the file is not compressed: libz.so.1 is not installed");
		gzip = 0;
	}
	r = coati_format_output_init(&out, fd, gzip, err);
	if (r == 0)
		r = x->format->write(in, &out, err);
	if (coati_format_output_end(&out, &late) < 0 && r == 0) {
		r = late.code;
		coati_fail(err, r, "%s", late.text);
	}
	x->bytes = out.written;
	return r;
}

int coati_export_write(struct coati_export *x, int fd, struct coati_error *err)
{
	struct format_input in;
	int r = x->view ? 0 : make_view(x, err);

	if (r < 0)
		return r;
	if (x->has_live)
		r = coati_live_finish(&x->live, err);
	if (r < 0)
		return r;
	drop_hidden(x);
	drop_other_losses(x);
	sort_samples(x);
	fill_input(x, &in);
	add_common_notes(&in);
	if (x->has_live)
		add_live_notes(&in, &x->live);
	return write_out(x, &in, fd, err);
}

const char *coati_export_note(const struct coati_export *x, uint32_t i)
{
	return i < x->notes.v.len ? x->notes.v.v[i] : NULL;
}

void coati_export_summary(const struct coati_export *x, struct coati_export_summary *ret)
{
	*ret = (struct coati_export_summary){ .samples = x->info.samples,
					      .weight = x->info.total,
					      .unit = x->info.unit ? x->info.unit : "samples",
					      .bytes = x->bytes,
					      .account = x->account };
}

struct coati_profile *coati_export_profile(const struct coati_export *x)
{
	return x->profile;
}

const struct live_counts *coati_export_live_counts(const struct coati_export *x)
{
	return x->has_live ? &x->live.counts : NULL;
}

const struct format *coati_export_format(const struct coati_export *x, struct coati_view **ret_view,
					 const struct coati_export_opts **ret_opts)
{
	*ret_view = x->view;
	*ret_opts = &x->opts;
	return x->format;
}
