/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed profile, version 60 of it: tables as columns of the same length,
 * shared by all threads, and a thread for each thread with its samples. Times and weights are
 * milliseconds with all digits of the nanoseconds; weights that are no time are counts. What was
 * lost is a marker at its time on the first thread, live events are markers of their threads
 * (live-firefox.c), the account is in the profile's extra information. Names by the common rule.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "format/firefox.h"
#include "image/image.h"
#include "profile/walk.h"
#include "reading/parts.h"

static const struct coati_view_frame *frame_at(const struct firefox *x, uint32_t i)
{
	return coati_view_frame(x->in->view, x->frames.v[i]);
}

/* ---- which of the view's frames, functions and images occur, and their places ---- */

static int place(uint32_t *places, uint32_t what, struct firefox_list *list)
{
	uint32_t *slot;

	if (places[what])
		return 0;
	slot = ARRAY_ADD(list);
	if (!slot)
		return -ENOMEM;
	*slot = what;
	places[what] = (uint32_t)list->len; /* plus 1 */
	return 0;
}

static int place_frame(struct firefox *x, uint32_t frame)
{
	const struct coati_view_frame *f = coati_view_frame(x->in->view, frame);
	bool is_new = !x->function_place[f->function_id];
	int r = place(x->frame_place, frame, &x->frames);

	if (r == 0)
		r = place(x->function_place, f->function_id, &x->functions);
	if (r == 0 && is_new)
		x->functions.v[x->functions.len - 1] = frame;
	if (r == 0 && f->image_id != COATI_IMAGE_NONE)
		r = place(x->image_place, f->image_id, &x->images);
	return r;
}

static int make_tables(struct firefox *x)
{
	int r = coati_stacktree_init(&x->tree, x->in->profile);
	uint32_t leaf;

	x->frame_place = coati_alloc_array((size_t)coati_view_frame_count(x->in->view) + 1, 4);
	x->function_place =
		coati_alloc_array((size_t)coati_view_function_count(x->in->view) + 1, 4);
	x->image_place = coati_alloc_array(
		(size_t)coati_images_count(coati_profile_images(x->in->profile)) + 1, 4);
	if (!x->frame_place || !x->function_place || !x->image_place)
		return -ENOMEM;
	for (size_t i = 0; i < x->in->nr_samples && r == 0; i++)
		r = coati_stacktree_add(&x->tree, x->in, i, 0, &leaf);
	for (size_t i = 0; i < x->tree.nodes.len && r == 0; i++)
		r = place_frame(x, x->tree.nodes.v[i].key);
	return r;
}

/* ---- tables ---- */

typedef void (*cell_fn)(struct firefox *x, uint32_t i);

static void column(struct firefox *x, const char *key, size_t nr, cell_fn cell)
{
	coati_json_key(&x->json, key);
	coati_json_array(&x->json);
	for (size_t i = 0; i < nr; i++) {
		cell(x, (uint32_t)i);
		format_output_drain(x->out);
	}
	coati_json_end(&x->json);
}

static void begin_table(struct firefox *x, const char *key, size_t length)
{
	coati_json_key(&x->json, key);
	coati_json_object(&x->json);
	coati_json_ku64(&x->json, "length", length);
}

static void cell_null(struct firefox *x, uint32_t i)
{
	(void)i;
	coati_json_null(&x->json);
}

static void cell_zero(struct firefox *x, uint32_t i)
{
	(void)i;
	coati_json_u64(&x->json, 0);
}

static void cell_one(struct firefox *x, uint32_t i)
{
	(void)i;
	coati_json_u64(&x->json, 1);
}

static void cell_false(struct firefox *x, uint32_t i)
{
	(void)i;
	coati_json_bool(&x->json, false);
}

static void cell_number(struct firefox *x, uint32_t i)
{
	coati_json_u64(&x->json, i);
}

static void stack_prefix(struct firefox *x, uint32_t i)
{
	uint32_t parent = x->tree.nodes.v[i].parent;

	if (parent == STACKTREE_ROOT)
		coati_json_null(&x->json);
	else
		coati_json_u64(&x->json, parent);
}

static void stack_frame(struct firefox *x, uint32_t i)
{
	coati_json_u64(&x->json, x->frame_place[x->tree.nodes.v[i].key] - 1);
}

/* In the file's own addresses. Those of the kernel and of code without a file are no such thing,
 * and do not fit into a number of JavaScript. */
static void frame_address(struct firefox *x, uint32_t i)
{
	const struct coati_view_frame *f = frame_at(x, i);
	struct coati_image_info info = { .size = sizeof(info) };

	if (f->image_id != COATI_IMAGE_NONE && f->address <= UINT32_MAX &&
	    coati_image_info(coati_profile_images(x->in->profile), f->image_id, &info) == 0 &&
	    (info.kind == COATI_IMAGE_FILE || info.kind == COATI_IMAGE_VDSO))
		coati_json_u64(&x->json, f->address);
	else
		coati_json_i64(&x->json, -1);
}

/* 0 is the outermost, which the linker knows. */
static void frame_inline_depth(struct firefox *x, uint32_t i)
{
	const struct coati_view_frame *f = frame_at(x, i);
	const struct coati_profile_location *l =
		coati_profile_location(x->in->profile, f->location);
	bool inlines = !(x->in->opts->flags & COATI_EXPORT_NO_INLINES);

	coati_json_u64(&x->json, inlines ? l->nr_names - 1 - f->depth : 0);
}

static void frame_category(struct firefox *x, uint32_t i)
{
	bool kernel = frame_at(x, i)->location_flags & COATI_LOCATION_KERNEL;

	coati_json_u64(&x->json, kernel ? FIREFOX_KERNEL : FIREFOX_USER);
}

static void frame_function(struct firefox *x, uint32_t i)
{
	coati_json_u64(&x->json, x->function_place[frame_at(x, i)->function_id] - 1);
}

static void frame_line(struct firefox *x, uint32_t i)
{
	const struct coati_view_frame *f = frame_at(x, i);

	if (f->file && f->line)
		coati_json_u64(&x->json, f->line);
	else
		coati_json_null(&x->json);
}

static const struct coati_view_frame *function_at(const struct firefox *x, uint32_t i)
{
	return coati_view_frame(x->in->view, x->functions.v[i]);
}

static void function_resource(struct firefox *x, uint32_t i)
{
	uint32_t image = function_at(x, i)->image_id;

	if (image == COATI_IMAGE_NONE)
		coati_json_i64(&x->json, -1);
	else
		coati_json_u64(&x->json, x->image_place[image] - 1);
}

static void function_source(struct firefox *x, uint32_t i)
{
	const char *file = function_at(x, i)->file;
	uint64_t number;

	if (file && coati_map_get_str(&x->source_index, file, &number))
		coati_json_u64(&x->json, number);
	else
		coati_json_null(&x->json);
}

static void function_line(struct firefox *x, uint32_t i)
{
	const struct coati_view_frame *f = function_at(x, i);

	if (f->file && f->decl_line)
		coati_json_u64(&x->json, f->decl_line);
	else
		coati_json_null(&x->json);
}

/* Strings: functions, then images, then sources, then names of markers. */
static void resource_name(struct firefox *x, uint32_t i)
{
	coati_json_u64(&x->json, x->functions.len + i);
}

static void source_name(struct firefox *x, uint32_t i)
{
	coati_json_u64(&x->json, x->functions.len + x->images.len + i);
}

const char *coati_firefox_image_name(const struct firefox *x, uint32_t i)
{
	struct coati_image_info info = { .size = sizeof(info) };

	return coati_image_info(coati_profile_images(x->in->profile), x->images.v[i], &info) == 0 &&
			       info.name
		       ? info.name
		       : "[unknown]";
}

static void put_string(struct firefox *x, const char *text)
{
	coati_json_str(&x->json, text);
	format_output_drain(x->out);
}

static void put_strings(struct firefox *x)
{
	coati_json_key(&x->json, "stringArray");
	coati_json_array(&x->json);
	for (uint32_t i = 0; i < x->functions.len; i++)
		put_string(x, function_at(x, i)->function);
	for (uint32_t i = 0; i < x->images.len; i++)
		put_string(x, coati_firefox_image_name(x, i));
	for (size_t i = 0; i < x->sources.len; i++)
		put_string(x, x->sources.v[i]);
	coati_firefox_marker_names(x);
	coati_json_end(&x->json);
}

static int find_sources(struct firefox *x)
{
	for (uint32_t i = 0; i < x->functions.len; i++) {
		const char *file = function_at(x, i)->file, **slot;
		uint64_t number;

		if (!file || coati_map_get_str(&x->source_index, file, &number))
			continue;
		slot = ARRAY_ADD(&x->sources);
		if (!slot || coati_map_put_str(&x->source_index, file, x->sources.len - 1) < 0)
			return -ENOMEM;
		*slot = file;
	}
	return 0;
}

static void put_stacks_and_frames(struct firefox *x)
{
	size_t nr = x->tree.nodes.len;

	begin_table(x, "stackTable", nr);
	column(x, "prefix", nr, stack_prefix);
	column(x, "frame", nr, stack_frame);
	coati_json_end(&x->json);
	nr = x->frames.len;
	begin_table(x, "frameTable", nr);
	column(x, "address", nr, frame_address);
	column(x, "inlineDepth", nr, frame_inline_depth);
	column(x, "category", nr, frame_category);
	column(x, "subcategory", nr, cell_zero);
	column(x, "func", nr, frame_function);
	column(x, "nativeSymbol", nr, cell_null);
	column(x, "innerWindowID", nr, cell_null);
	column(x, "line", nr, frame_line);
	column(x, "column", nr, cell_null);
	coati_json_end(&x->json);
}

static void put_functions_and_files(struct firefox *x)
{
	size_t nr = x->functions.len;

	begin_table(x, "funcTable", nr);
	column(x, "name", nr, cell_number);
	column(x, "isJS", nr, cell_false);
	column(x, "relevantForJS", nr, cell_false);
	column(x, "resource", nr, function_resource);
	column(x, "source", nr, function_source);
	column(x, "lineNumber", nr, function_line);
	column(x, "columnNumber", nr, cell_null);
	coati_json_end(&x->json);
	nr = x->images.len;
	begin_table(x, "resourceTable", nr);
	column(x, "lib", nr, cell_number);
	column(x, "name", nr, resource_name);
	column(x, "host", nr, cell_null);
	column(x, "type", nr, cell_one); /* a library */
	coati_json_end(&x->json);
	begin_table(x, "nativeSymbols", 0);
	column(x, "libIndex", 0, cell_null);
	column(x, "address", 0, cell_null);
	column(x, "name", 0, cell_null);
	column(x, "functionSize", 0, cell_null);
	coati_json_end(&x->json);
	begin_table(x, "sources", x->sources.len);
	column(x, "uuid", x->sources.len, cell_null);
	column(x, "filename", x->sources.len, source_name);
	coati_json_end(&x->json);
}

/* ---- threads ---- */

/* Each thread begins with a sample without a stack, at the time from which on its first real one
 * counts: CPU time is of the time since the sample before. The thread with the markers ends with
 * one where markers come later than its samples: what lies behind the last sample is not shown. */

static bool is_real(const struct firefox *x, uint32_t i)
{
	return i && i <= x->nr_samples;
}

static size_t number_of(const struct firefox *x, uint32_t i)
{
	return x->timeline.order[x->timeline.first[x->thread] + i - 1];
}

static uint64_t weight_of(const struct firefox *x, uint32_t i)
{
	struct coati_view_entry e = { 0 };

	if (is_real(x, i))
		coati_view_sample(x->in->view, &x->in->samples[number_of(x, i)], &e);
	return e.weight;
}

static uint64_t time_of(const struct firefox *x, uint32_t i)
{
	uint64_t first, before;

	if (is_real(x, i))
		return firefox_time_ns(x, timeline_time_ns(&x->timeline, number_of(x, i)));
	if (i)
		return x->last_marker_ns;
	if (!x->nr_samples)
		return 0;
	first = time_of(x, 1);
	before = x->is_time ? weight_of(x, 1) : x->interval_ns;
	return before < first ? first - before : 0;
}

static void sample_stack(struct firefox *x, uint32_t i)
{
	if (is_real(x, i))
		coati_json_u64(&x->json, x->tree.leaf[x->in->samples[number_of(x, i)].stack] - 1);
	else
		coati_json_null(&x->json);
}

static void sample_time(struct firefox *x, uint32_t i)
{
	coati_json_fixed(&x->json, time_of(x, i), FIREFOX_DECIMALS);
}

static void sample_weight(struct firefox *x, uint32_t i)
{
	coati_json_fixed(&x->json, weight_of(x, i), x->is_time ? FIREFOX_DECIMALS : 0);
}

/* A thread that waited used no CPU time meanwhile, whatever its sample weighs. */
static void sample_cpu(struct firefox *x, uint32_t i)
{
	uint32_t event = is_real(x, i) ? x->in->samples[number_of(x, i)].event : 0;
	bool waited = is_real(x, i) && coati_profile_event(x->in->profile, event)->is_off_cpu;

	coati_json_u64(&x->json, waited ? 0 : weight_of(x, i));
}

static void put_samples(struct firefox *x)
{
	size_t nr = x->nr_samples + 1;

	x->last_marker_ns = coati_firefox_live_last_ns(x);
	if (!x->threads_put && x->last_loss_ns > x->last_marker_ns)
		x->last_marker_ns = x->last_loss_ns;
	if (x->last_marker_ns > time_of(x, (uint32_t)x->nr_samples))
		nr++;
	begin_table(x, "samples", nr);
	coati_json_kstr(&x->json, "weightType", x->is_time ? "tracing-ms" : "samples");
	column(x, "stack", nr, sample_stack);
	column(x, "time", nr, sample_time);
	column(x, "weight", nr, sample_weight);
	if (x->is_time)
		column(x, "threadCPUDelta", nr, sample_cpu);
	coati_json_end(&x->json);
}

/* Numbers of processes may come again in another file: they are strings, and need not be
 * numbers. */
static void put_process(struct firefox *x, const struct coati_profile_thread *t)
{
	char pid[32];

	if (t->file)
		snprintf(pid, sizeof(pid), "%d.%u", t->pid, t->file);
	else
		snprintf(pid, sizeof(pid), "%d", t->pid);
	coati_json_kstr(&x->json, "pid", pid);
	coati_json_kstr(&x->json, "processName", t->process_comm);
}

static void put_thread(struct firefox *x, const struct coati_profile_thread *t)
{
	struct json *j = &x->json;

	coati_firefox_live_thread(x, t);
	coati_json_object(j);
	coati_json_kstr(j, "name", t->comm);
	coati_json_kbool(j, "isMainThread", t->pid == t->tid);
	coati_json_kstr(j, "processType", "default");
	put_process(x, t);
	coati_json_ki64(j, "tid", t->tid);
	coati_json_key(j, "registerTime");
	sample_time(x, 0);
	coati_json_key(j, "unregisterTime");
	coati_json_null(j);
	coati_json_ku64(j, "processStartupTime", 0);
	coati_json_key(j, "processShutdownTime");
	coati_json_null(j);
	coati_json_key(j, "pausedRanges");
	coati_json_array(j);
	coati_json_end(j);
	coati_json_kbool(j, "showMarkersInTimeline", true);
	put_samples(x);
	coati_firefox_markers(x, !x->threads_put);
	x->threads_put++;
	coati_json_end(j);
}

static void put_threads(struct firefox *x)
{
	static const struct coati_profile_thread nobody = { .comm = "no samples",
							    .process_comm = "no samples" };
	struct coati_profile_thread live;

	coati_json_key(&x->json, "threads");
	coati_json_array(&x->json);
	for (uint32_t i = 0; i < x->timeline.nr_threads; i++) {
		x->thread = x->timeline.threads[i];
		x->nr_samples = x->timeline.first[x->thread + 1] - x->timeline.first[x->thread];
		put_thread(x, coati_profile_thread(x->in->profile, x->thread));
	}
	x->nr_samples = 0;
	while (coati_firefox_live_next(x, &live))
		put_thread(x, &live);
	if (!x->threads_put) /* the page wants one */
		put_thread(x, &nobody);
	coati_json_end(&x->json);
}

static void put_file(struct firefox *x)
{
	struct json *j = &x->json;

	coati_json_object(j);
	coati_firefox_meta(x);
	coati_firefox_libs(x);
	coati_json_key(j, "pages");
	coati_json_array(j);
	coati_json_end(j);
	coati_json_key(j, "shared");
	coati_json_object(j);
	put_strings(x);
	put_stacks_and_frames(x);
	put_functions_and_files(x);
	coati_json_end(j);
	put_threads(x);
	if (x->live.live)
		coati_firefox_live_counters(x);
	coati_json_end(j);
}

static int write_firefox(struct format_input *in, struct format_output *out,
			 struct coati_error *err)
{
	struct firefox x = { .in = in,
			     .out = out,
			     .json = json_to(&out->text),
			     .is_time = !strcmp(in->info.unit, "ns") };
	int r = coati_timeline_init(&x.timeline, in, err);

	x.frames.max = x.functions.max = x.images.max = x.sources.max = FIREFOX_TABLE_MAX;
	coati_map_init_strings(&x.source_index, FIREFOX_TABLE_MAX);
	if (r == 0) {
		x.interval_ns = coati_firefox_interval_ns(&x);
		x.lead_ns = coati_firefox_lead_ns(&x);
		x.last_loss_ns = coati_firefox_last_loss_ns(&x);
		coati_timeline_say_labels(in, "the Firefox profile");
		if (!in->start_wall_ns)
			coati_format_note(
				in,
				"the recording does not say the time of day: Firefox shows it as "
				"of 1970");
		r = make_tables(&x);
		if (r == 0)
			r = coati_firefox_live_init(&x);
		if (r == 0)
			r = find_sources(&x);
		if (r == 0)
			put_file(&x);
		if (x.live.failed)
			r = -ENOMEM;
		if (r < 0)
			coati_stacktree_fail(&x.tree, "firefox", r, err);
	}
	ARRAY_FINI(&x.frames);
	ARRAY_FINI(&x.functions);
	ARRAY_FINI(&x.images);
	ARRAY_FINI(&x.sources);
	coati_map_fini(&x.source_index);
	coati_firefox_live_fini(&x);
	coati_stacktree_fini(&x.tree);
	coati_free(x.frame_place);
	coati_free(x.function_place);
	coati_free(x.image_place);
	coati_timeline_fini(&x.timeline);
	return r;
}

const struct format coati_format_firefox = {
	.name = "firefox",
	.suffix = ".firefox.json.gz",
	.flags = FORMAT_TIMELINE | FORMAT_LINES | FORMAT_GZIP | FORMAT_LIVE | FORMAT_BY_THREAD,
	.write = write_firefox,
};
