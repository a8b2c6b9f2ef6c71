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
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/parse.h"
#include "format/numbers.h"
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

/* ---- reading ---- */

struct reading {
	struct json_reader json;
	struct tally *tally;
	struct format_numbers functions; /* the tally's, by place in the list of frames */
	/* of the profile's samples: a place; UINT64_MAX: an empty stack */
	struct format_numbers leaves;
	struct format_numbers weights;
	uint64_t end; /* what the profile says that its weights are together */
};

static bool is_key(const char *key, const char *wanted)
{
	return key && !strcmp(key, wanted);
}

static void read_frame(struct reading *r)
{
	uint32_t number = UINT32_MAX;
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			const char *name = coati_json_read_str(&r->json, NULL);

			if (name)
				number = coati_tally_function(r->tally, name);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	numbers_add(&r->functions, number);
}

/* The list of frames, wherever in the file it stands. */
static void read_shared(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "shared")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		coati_json_read_object(&r->json);
		while ((key = coati_json_read_key(&r->json))) {
			if (!is_key(key, "frames")) {
				coati_json_read_skip(&r->json);
				continue;
			}
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_frame(r);
		}
	}
}

static void read_stacks(struct reading *r)
{
	for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);) {
		uint64_t leaf = UINT64_MAX;

		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);) {
			leaf = coati_json_read_u64(&r->json);
			if (leaf >= r->functions.len)
				r->json.failed = -EBADMSG;
		}
		numbers_add(&r->leaves, leaf);
	}
}

/* "worker (pid 10, tid 11)"; the name may be anything. */
static bool parse_thread(char *text, int64_t *pid, int64_t *tid)
{
	static const char pid_mark[] = " (pid ", tid_mark[] = ", tid ";
	char *at = NULL, *comma, *end = text + strlen(text);

	for (char *p = text; (p = strstr(p, pid_mark)); p++)
		at = p;
	if (!at || end[-1] != ')')
		return false;
	end[-1] = '\0';
	*at = '\0';
	at += strlen(pid_mark);
	comma = strstr(at, tid_mark);
	if (!comma)
		return false;
	*comma = '\0';
	return coati_parse_i64(at, INT32_MIN, INT32_MAX, pid) == 0 &&
	       coati_parse_i64(comma + strlen(tid_mark), INT32_MIN, INT32_MAX, tid) == 0;
}

static int add_profile(struct reading *r, char *name)
{
	uint64_t sum = 0;
	int64_t pid, tid;
	uint32_t thread;

	if (r->leaves.failed || r->weights.failed || r->functions.failed)
		return -ENOMEM;
	if (r->leaves.len != r->weights.len)
		return -EBADMSG;
	if (!r->leaves.len)
		return r->end ? -EBADMSG : 0;
	if (!parse_thread(name, &pid, &tid))
		return -EBADMSG;
	thread = coati_tally_thread(r->tally, pid, tid, name);
	for (size_t i = 0; i < r->leaves.len; i++) {
		if (r->leaves.v[i] == UINT64_MAX)
			return -EBADMSG;
		coati_tally_add(r->tally, thread, (uint32_t)r->functions.v[r->leaves.v[i]],
				r->weights.v[i]);
		r->tally->samples++;
		if (__builtin_add_overflow(sum, r->weights.v[i], &sum))
			sum = UINT64_MAX;
	}
	return sum == r->end ? 0 : -EBADMSG;
}

static int read_profile(struct reading *r)
{
	CLEANUP(freep) char *name = NULL;
	bool no_memory = false;
	const char *key;

	r->leaves.len = r->weights.len = 0;
	r->end = 0;
	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			const char *text = coati_json_read_str(&r->json, NULL);

			coati_free(name);
			name = coati_strdup(text ? text : "");
			no_memory |= !name;
		} else if (is_key(key, "samples")) {
			read_stacks(r);
		} else if (is_key(key, "weights")) {
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				numbers_add(&r->weights, coati_json_read_u64(&r->json));
		} else if (is_key(key, "endValue")) {
			r->end = coati_json_read_u64(&r->json);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	if (r->json.failed)
		return r->json.failed;
	if (no_memory)
		return -ENOMEM;
	return name && *name ? add_profile(r, name) : -EBADMSG;
}

static int read_profiles(struct reading *r)
{
	const char *key;
	int ret = 0;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "profiles")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json) && ret == 0;)
			ret = read_profile(r);
	}
	return ret;
}

static int read_speedscope(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = { .tally = t };
	int ret;

	t->has_samples = true;
	coati_json_read_init(&r.json, bytes, size);
	read_shared(&r);
	ret = coati_json_read_end(&r.json);
	coati_json_read_fini(&r.json);
	coati_json_read_init(&r.json, bytes, size);
	if (ret == 0)
		ret = read_profiles(&r);
	if (ret == 0)
		ret = coati_json_read_end(&r.json);
	if (r.functions.failed)
		ret = -ENOMEM;
	if (ret < 0)
		coati_fail(err, ret, "speedscope: at byte %zu: %m",
			   coati_json_read_offset(&r.json));
	coati_json_read_fini(&r.json);
	numbers_fini(&r.functions);
	numbers_fini(&r.leaves);
	numbers_fini(&r.weights);
	return ret;
}

const struct format coati_format_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.flags = FORMAT_TIMELINE | FORMAT_LINES,
	.write = write_speedscope,
	.read = read_speedscope,
};
