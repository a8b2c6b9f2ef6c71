/* SPDX-License-Identifier: MIT */
/*
 * Our own format, for scripts: everything that a profile holds, as tables whose rows are named by
 * their number. A table stands before those that refer to it. Schema coati.profile.v1;
 * docs/formats/export.md describes each member.
 *
 * Names: bytes that are no UTF-8 become U+FFFD; control characters are escaped. Weights are whole
 * numbers as they are, up to 2^64 - 1: readers whose numbers are doubles lose digits over 2^53.
 */
#include <errno.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "format/format.h"
#include "format/json.h"
#include "format/text.h"
#include "profile/walk.h"
#include "reading/parts.h"

struct json_writing {
	struct format_input *in;
	struct format_output *out;
	struct json j;
	uint32_t *stacks;    /* by stack of the profile: its number in the file, plus 1 */
	uint32_t *functions; /* by function: one frame of it, plus 1 */
};

static void put_recordings(struct json_writing *w)
{
	const struct coati_profile_file *f;
	struct json *j = &w->j;

	coati_json_key(j, "recordings");
	coati_json_array(j);
	for (uint32_t i = 0; (f = coati_profile_file(w->in->profile, i)); i++) {
		coati_json_object(j);
		coati_json_kstr(j, "path", f->path);
		coati_json_kstr(j, "hostname", f->hostname);
		coati_json_kstr(j, "os_release", f->os_release);
		coati_json_kstr(j, "arch", f->arch);
		coati_json_kstr(j, "command", f->command);
		coati_json_ku64(j, "wall_ns", f->wall_ns);
		coati_json_ku64(j, "clock_ns", f->clock_ns);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_quality(struct json_writing *w)
{
	const struct coati_profile_quality *q = &w->in->quality;
	struct json *j = &w->j;

	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_ku64(j, "samples", q->samples);
	coati_json_ku64(j, "filtered", q->filtered);
	coati_json_ku64(j, "lost", q->lost);
	coati_json_ku64(j, "throttled", q->throttled);
	coati_json_ku64(j, "damaged", q->damaged);
	coati_json_ku64(j, "late", q->late);
	coati_json_ku64(j, "refused", q->refused);
	coati_json_ku64(j, "unsymbolized", q->unsymbolized);
	coati_json_ku64(j, "first_time_ns", q->first_time);
	coati_json_ku64(j, "last_time_ns", q->last_time);
	coati_json_ku64(j, "recorder_cpu_ns", q->recorder_cpu_ns);
	coati_json_kbool(j, "is_truncated", q->is_truncated);
	coati_json_kstr(j, "account", w->in->account);
	coati_json_end(j);
}

static void put_notes(struct json_writing *w)
{
	coati_json_key(&w->j, "notes");
	coati_json_array(&w->j);
	for (size_t i = 0; i < w->in->notes->v.len; i++)
		coati_json_str(&w->j, w->in->notes->v.v[i]);
	coati_json_end(&w->j);
}

static void put_head(struct json_writing *w)
{
	struct json *j = &w->j;

	coati_json_kstr(j, "schema", JSON_SCHEMA);
	coati_json_kstr(j, "version", coati_version());
	coati_json_kstr(j, "comment", w->in->comment);
	put_recordings(w);
	put_quality(w);
	put_notes(w);
	coati_json_kstr(j, "unit", w->in->info.unit);
	coati_json_ku64(j, "weight", w->in->info.total);
	coati_json_ku64(j, "samples", w->in->info.samples);
}

static void begin_table(struct json_writing *w, const char *name)
{
	coati_json_key(&w->j, name);
	coati_json_array(&w->j);
}

static void put_events(struct json_writing *w)
{
	const struct coati_profile_event *e;

	begin_table(w, "events");
	for (uint32_t i = 0; (e = coati_profile_event(w->in->profile, i)); i++) {
		coati_json_object(&w->j);
		coati_json_kstr(&w->j, "name", e->name);
		coati_json_kstr(&w->j, "unit", e->unit);
		coati_json_end(&w->j);
	}
	coati_json_end(&w->j);
}

static void put_threads(struct json_writing *w)
{
	const struct coati_profile_thread *t;
	struct json *j = &w->j;

	begin_table(w, "threads");
	for (uint32_t i = 0; (t = coati_profile_thread(w->in->profile, i)); i++) {
		coati_json_object(j);
		coati_json_ki64(j, "pid", t->pid);
		coati_json_ki64(j, "tid", t->tid);
		coati_json_ki64(j, "ppid", t->ppid);
		coati_json_kstr(j, "name", t->comm);
		coati_json_kstr(j, "process", t->process_comm);
		coati_json_ku64(j, "recording", t->file);
		coati_json_end(j);
		format_output_drain(w->out);
	}
	coati_json_end(j);
}

static void put_labels(struct json_writing *w)
{
	const struct coati_label *labels;
	uint32_t nr;

	begin_table(w, "labels");
	for (uint32_t i = 0; (labels = coati_profile_labels(w->in->profile, i, &nr)); i++) {
		coati_json_object(&w->j);
		for (uint32_t k = 0; k < nr; k++)
			coati_json_kstr(&w->j, labels[k].key, labels[k].value);
		coati_json_end(&w->j);
		format_output_drain(w->out);
	}
	coati_json_end(&w->j);
}

static void put_images(struct json_writing *w)
{
	struct coati_images *images = coati_profile_images(w->in->profile);
	struct coati_image_info info = { .size = sizeof(info) };
	struct json *j = &w->j;

	begin_table(w, "images");
	for (uint32_t i = 0; coati_image_info(images, i, &info) == 0; i++) {
		char hex[2 * COATI_BUILD_ID_MAX + 1];

		coati_format_build_id(&info, hex);
		coati_json_object(j);
		coati_json_kstr(j, "name", info.name ? info.name : "");
		coati_json_kstr(j, "path", info.path ? info.path : "");
		coati_json_kstr(j, "build_id", hex);
		coati_json_end(j);
		format_output_drain(w->out);
	}
	coati_json_end(j);
}

static void put_image(struct json *j, uint32_t image)
{
	coati_json_key(j, "image");
	if (image == COATI_IMAGE_NONE)
		coati_json_null(j);
	else
		coati_json_u64(j, image);
}

static void put_functions(struct json_writing *w)
{
	uint32_t nr = coati_view_function_count(w->in->view);
	struct json *j = &w->j;

	begin_table(w, "functions");
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_view_frame *f =
			coati_view_frame(w->in->view, w->functions[i] - 1);

		coati_json_object(j);
		coati_json_kstr(j, "name", f->function);
		if (f->symbol && strcmp(f->symbol, f->function) != 0)
			coati_json_kstr(j, "symbol", f->symbol);
		put_image(j, f->image_id);
		coati_json_end(j);
		format_output_drain(w->out);
	}
	coati_json_end(j);
}

static void put_frames(struct json_writing *w)
{
	const struct coati_view_frame *f;
	struct json *j = &w->j;

	begin_table(w, "frames");
	for (uint32_t i = 0; (f = coati_view_frame(w->in->view, i)); i++) {
		coati_json_object(j);
		coati_json_ku64(j, "function", f->function_id);
		coati_json_key(j, "address");
		coati_json_hex(j, f->address);
		if (f->file) {
			coati_json_kstr(j, "file", f->file);
			coati_json_ku64(j, "line", f->line);
		}
		if (f->flags & COATI_NAME_INLINE)
			coati_json_kbool(j, "inlined", true);
		if (f->location_flags & COATI_LOCATION_KERNEL)
			coati_json_kbool(j, "kernel", true);
		coati_json_end(j);
		format_output_drain(w->out);
	}
	coati_json_end(j);
}

static void put_stack(struct json_writing *w, const struct coati_view_entry *e)
{
	coati_json_array(&w->j);
	for (uint32_t i = 0; i < e->nr_frames; i++)
		coati_json_u64(&w->j, e->frames[i]);
	coati_json_end(&w->j);
	format_output_drain(w->out);
}

/* Those that have weight, as they are met. */
static void put_stacks(struct json_writing *w)
{
	struct coati_view_entry e;
	uint64_t pos = 0;
	uint32_t nr = 0;

	begin_table(w, "stacks");
	while (coati_view_next(w->in->view, &pos, &e)) {
		if (w->stacks[e.entry->stack])
			continue;
		w->stacks[e.entry->stack] = ++nr;
		put_stack(w, &e);
	}
	coati_json_end(&w->j);
}

/* Hot. */
static void put_entries(struct json_writing *w)
{
	static const char *const columns[] = { "stack", "thread",  "event", "labels",
					       "cpu",	"samples", "weight" };
	struct coati_view_entry e;
	struct json *j = &w->j;
	uint64_t pos = 0;

	begin_table(w, "columns");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		coati_json_str(j, columns[i]);
	coati_json_end(j);
	begin_table(w, "entries");
	while (coati_view_next(w->in->view, &pos, &e)) {
		coati_json_array(j);
		coati_json_u64(j, w->stacks[e.entry->stack] - 1);
		coati_json_u64(j, e.entry->thread);
		coati_json_u64(j, e.entry->event);
		coati_json_u64(j, e.entry->labels);
		coati_json_i64(j, e.entry->cpu);
		coati_json_u64(j, e.entry->count);
		coati_json_u64(j, e.weight);
		coati_json_end(j);
		format_output_drain(w->out);
	}
	coati_json_end(j);
}

static int find_functions(struct json_writing *w)
{
	const struct coati_view_frame *f;

	w->stacks = coati_alloc_array((size_t)coati_profile_stack_count(w->in->profile) + 1,
				      sizeof(*w->stacks));
	w->functions = coati_alloc_array((size_t)coati_view_function_count(w->in->view) + 1,
					 sizeof(*w->functions));
	if (!w->stacks || !w->functions)
		return -ENOMEM;
	for (uint32_t i = 0; (f = coati_view_frame(w->in->view, i)); i++)
		if (!w->functions[f->function_id])
			w->functions[f->function_id] = i + 1;
	return 0;
}

static int write_json(struct format_input *in, struct format_output *out, struct coati_error *err)
{
	struct json_writing w = { .in = in, .out = out, .j = json_to(&out->text) };
	int r = find_functions(&w);

	if (in->quality.last_time > in->quality.first_time)
		coati_format_note(in,
				  "the times of single samples are left out, %.3f s of timeline",
				  (double)(in->quality.last_time - in->quality.first_time) / 1e9);
	if (r == 0) {
		coati_json_object(&w.j);
		put_head(&w);
		put_events(&w);
		put_threads(&w);
		put_labels(&w);
		put_images(&w);
		put_functions(&w);
		put_frames(&w);
		put_stacks(&w);
		put_entries(&w);
		coati_json_end(&w.j);
		coati_strbuf_addc(&out->text, '\n');
	}
	coati_free(w.stacks);
	coati_free(w.functions);
	return r < 0 ? coati_fail(err, r, "out of memory") : 0;
}

const struct format coati_format_json = {
	.name = "json",
	.suffix = ".json",
	.flags = FORMAT_LINES,
	.write = write_json,
};
