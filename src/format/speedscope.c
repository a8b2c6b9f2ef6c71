/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own JSON: functions once, and for each thread a list of stacks (outermost function
 * first) with a list of their weights. The page draws weight after weight: there is no clock, no
 * label and no room for libraries but the place of the source file. Names by the common rule.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "format/timeline.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

struct speedscope {
	struct format_input *in;
	struct format_output *out;
	struct json json;
	struct timeline timeline;
	uint32_t *numbers; /* by function of the view: its place in the list of frames */
	uint32_t nr_functions;
	uint32_t *frames; /* a frame of each, by place */
};

static const char *unit_name(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "none";
}

/* Which frame tells of each function. */
static int choose_frames(struct speedscope *s)
{
	uint32_t nr = coati_view_frame_count(s->in->view);

	s->numbers = coati_timeline_functions(&s->timeline, &s->nr_functions);
	s->frames = coati_alloc_array((size_t)s->nr_functions + 1, sizeof(*s->frames));
	if (!s->numbers || !s->frames)
		return -ENOMEM;
	for (uint32_t i = nr; i > 0; i--) {
		uint32_t number = s->numbers[coati_view_frame(s->in->view, i - 1)->function_id];

		if (number != UINT32_MAX)
			s->frames[number] = i - 1;
	}
	return 0;
}

/* A function: the place of its declaration, or else the file of its code. */
static void put_function(struct speedscope *s, const struct coati_view_frame *f)
{
	coati_json_object(&s->json);
	coati_json_kstr(&s->json, "name", f->function);
	coati_json_kstr(&s->json, "file", f->file ? f->file : f->image);
	if (f->file && f->decl_line)
		coati_json_ku64(&s->json, "line", f->decl_line);
	coati_json_end(&s->json);
	format_output_drain(s->out);
}

static void put_stack(struct speedscope *s, const struct coati_profile_sample *sample)
{
	struct coati_view_entry e = { 0 };

	coati_view_sample(s->in->view, sample, &e);
	coati_json_array(&s->json);
	for (uint32_t i = e.nr_frames; i > 0; i--) {
		const struct coati_view_frame *f = coati_view_frame(s->in->view, e.frames[i - 1]);

		coati_json_u64(&s->json, s->numbers[f->function_id]);
	}
	coati_json_end(&s->json);
	format_output_drain(s->out);
}

static void put_weight(struct speedscope *s, const struct coati_profile_sample *sample)
{
	struct coati_view_entry e = { 0 };

	coati_view_sample(s->in->view, sample, &e);
	coati_json_u64(&s->json, e.weight);
	format_output_drain(s->out);
}

static void put_column(struct speedscope *s, const char *key, uint32_t thread,
		       void (*put)(struct speedscope *, const struct coati_profile_sample *))
{
	const struct timeline *t = &s->timeline;

	coati_json_key(&s->json, key);
	coati_json_array(&s->json);
	for (size_t i = t->first[thread]; i < t->first[thread + 1]; i++)
		put(s, &s->in->samples[t->order[i]]);
	coati_json_end(&s->json);
}

static int put_thread(struct speedscope *s, uint32_t number)
{
	const struct coati_profile_thread *thread = coati_profile_thread(s->in->profile, number);
	struct strbuf name = STRBUF_INIT(1u << 20);
	int r;

	coati_strbuf_printf(&name, "%s (pid %d, tid %d)", thread->comm, thread->pid, thread->tid);
	coati_json_object(&s->json);
	coati_json_kstr(&s->json, "type", "sampled");
	coati_json_kstr(&s->json, "name", name.text);
	coati_json_kstr(&s->json, "unit", unit_name(s->in->info.unit));
	coati_json_ku64(&s->json, "startValue", 0);
	coati_json_ku64(&s->json, "endValue", s->timeline.weights[number]);
	put_column(s, "samples", number, put_stack);
	put_column(s, "weights", number, put_weight);
	coati_json_end(&s->json);
	r = name.failed;
	coati_strbuf_fini(&name);
	return r;
}

/* The page wants something to show. */
static void put_nothing(struct json *j)
{
	coati_json_object(j);
	coati_json_kstr(j, "type", "sampled");
	coati_json_kstr(j, "name", "no samples");
	coati_json_kstr(j, "unit", "none");
	coati_json_ku64(j, "startValue", 0);
	coati_json_ku64(j, "endValue", 0);
	coati_json_key(j, "samples");
	coati_json_array(j);
	coati_json_end(j);
	coati_json_key(j, "weights");
	coati_json_array(j);
	coati_json_end(j);
	coati_json_end(j);
}

static int put_file(struct speedscope *s)
{
	struct json *j = &s->json;
	char exporter[64];
	int r = 0;

	snprintf(exporter, sizeof(exporter), "coati@%s", coati_version());
	coati_json_object(j);
	coati_json_kstr(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	coati_json_kstr(j, "exporter", exporter);
	coati_json_kstr(j, "name", *s->in->comment ? s->in->comment : s->in->account);
	coati_json_ku64(j, "activeProfileIndex", 0);
	coati_json_key(j, "shared");
	coati_json_object(j);
	coati_json_key(j, "frames");
	coati_json_array(j);
	for (uint32_t i = 0; i < s->nr_functions; i++)
		put_function(s, coati_view_frame(s->in->view, s->frames[i]));
	coati_json_end(j);
	coati_json_end(j);
	coati_json_key(j, "profiles");
	coati_json_array(j);
	for (uint32_t i = 0; i < s->timeline.nr_threads && r == 0; i++)
		r = put_thread(s, s->timeline.threads[i]);
	if (!s->timeline.nr_threads)
		put_nothing(j);
	coati_json_end(j);
	coati_json_key(j, "coati"); /* for who looks: readers leave it alone */
	coati_json_object(j);
	coati_json_kstr(j, "quality", s->in->account);
	coati_json_kstr(j, "comment", s->in->comment);
	coati_json_kstr(j, "unit", s->in->info.unit);
	coati_timeline_put_notes(s->in, j);
	coati_json_end(j);
	coati_json_end(j);
	return r;
}

/* What the page has no room for. */
static void say_what_is_lacking(struct format_input *in)
{
	const struct coati_profile_quality *q = &in->quality;

	if (in->nr_samples && q->last_time > q->first_time)
		coati_format_note(
			in,
			"speedscope draws weight after weight and has no clock: %.3f s of "
			"timeline are left out",
			(double)(q->last_time - q->first_time) / 1e9);
	coati_timeline_say_labels(in, "speedscope");
}

static int write_speedscope(struct format_input *in, struct format_output *out,
			    struct coati_error *err)
{
	struct speedscope s = { .in = in, .out = out, .json = json_to(&out->text) };
	int r = coati_timeline_init(&s.timeline, in, err);

	if (r == 0) {
		say_what_is_lacking(in);
		r = choose_frames(&s);
		if (r == 0)
			r = put_file(&s);
		if (r < 0)
			coati_fail(err, r, "speedscope: %m");
	}
	coati_free(s.numbers);
	coati_free(s.frames);
	coati_timeline_fini(&s.timeline);
	return r;
}

const struct format coati_format_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.flags = FORMAT_TIMELINE | FORMAT_LINES,
	.write = write_speedscope,
};
