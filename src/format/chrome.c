/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events as JSON, with sampled stacks: "stackFrames" is a tree of functions, each with the file of its code as category; "samples" has for each sample
 * the node of its innermost function, thread, CPU, event, weight and time. Times are microseconds since the first sample with all digits of the nanoseconds. Names of
 * processes and threads are metadata events; one whose name changes has several, whose "sample" says from which sample on it holds. Losses are instants.
 * Names by the common rule.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/map.h"
#include "base/parse.h"
#include "format/numbers.h"
#include "format/stacktree.h"
#include "format/timeline.h"
#include "format/who.h"

#define US_DECIMALS 3 /* nanoseconds as microseconds */

struct chrome {
	struct format_input *in;
	struct format_output *out;
	struct json json;
	struct timeline timeline;
	struct stacktree tree; /* of functions */
	uint32_t *frames;      /* a frame of each function */
};

static int make_tree(struct chrome *x)
{
	uint32_t nr = coati_view_frame_count(x->in->view), leaf;
	int r = coati_stacktree_init(&x->tree, x->in->profile);

	x->frames = coati_alloc_array((size_t)coati_view_function_count(x->in->view) + 1,
				      sizeof(*x->frames));
	if (!x->frames)
		return -ENOMEM;
	for (uint32_t i = nr; i > 0; i--)
		x->frames[coati_view_frame(x->in->view, i - 1)->function_id] = i - 1;
	for (size_t i = 0; i < x->in->nr_samples && r == 0; i++)
		r = coati_stacktree_add(&x->tree, x->in, i, 1, &leaf);
	return r;
}

static void begin_event(struct json *j, const char *phase, const char *name, int32_t pid,
			int32_t tid)
{
	coati_json_object(j);
	coati_json_kstr(j, "ph", phase);
	coati_json_kstr(j, "name", name);
	coati_json_ki64(j, "pid", pid);
	coati_json_ki64(j, "tid", tid);
}

static void put_name(struct chrome *x, const char *what, const struct coati_profile_thread *t,
		     const char *name, size_t sample)
{
	struct json *j = &x->json;

	begin_event(j, "M", what, t->pid, t->tid);
	coati_json_key(j, "args");
	coati_json_object(j);
	coati_json_kstr(j, "name", name);
	coati_json_ku64(j, "sample", sample);
	coati_json_end(j);
	coati_json_end(j);
	format_output_drain(x->out);
}

static int put_names(struct chrome *x)
{
	struct who who;
	int r = 0;

	coati_who_init(&who, x->in->profile);
	for (size_t i = 0; i < x->in->nr_samples && r == 0; i++) {
		uint32_t thread = x->in->samples[i].thread;
		const struct coati_profile_thread *t = coati_profile_thread(x->in->profile, thread);
		bool process, itself;

		r = coati_who_meet(&who, thread, &process, &itself);
		if (r == 0 && process)
			put_name(x, "process_name", t, t->process_comm, i);
		if (r == 0 && itself)
			put_name(x, "thread_name", t, t->comm, i);
	}
	coati_who_fini(&who);
	return r;
}

static void put_loss(struct chrome *x, const struct coati_profile_loss *l)
{
	static const char *const names[] = { "lost records", "lost samples", "throttled" };
	struct json *j = &x->json;

	begin_event(j, "i", names[l->kind], 0, 0);
	coati_json_kstr(j, "cat", "loss");
	coati_json_kstr(j, "s", "g"); /* of everything */
	coati_json_key(j, "ts");
	coati_json_fixed(j, timeline_since_ns(&x->timeline, l->time), US_DECIMALS);
	coati_json_key(j, "args");
	coati_json_object(j);
	coati_json_ku64(j, "count", l->count);
	if (l->cpu >= 0)
		coati_json_ki64(j, "cpu", l->cpu);
	coati_json_end(j);
	coati_json_end(j);
	format_output_drain(x->out);
}

static int put_events(struct chrome *x)
{
	static const struct coati_profile_thread nobody = { 0 };
	struct json *j = &x->json;
	int r;

	coati_json_key(j, "traceEvents");
	coati_json_array(j);
	r = put_names(x);
	if (!x->in->nr_samples) /* readers want one event to know the format by */
		put_name(x, "process_name", &nobody, "no samples", 0);
	for (size_t i = 0; i < x->in->nr_losses; i++)
		put_loss(x, &x->in->losses[i]);
	coati_json_end(j);
	return r;
}

/* Numbers count from 1: to some readers 0 is none. */
static void put_nodes(struct chrome *x)
{
	struct json *j = &x->json;
	char key[24];

	coati_json_key(j, "stackFrames");
	coati_json_object(j);
	for (size_t i = 0; i < x->tree.nodes.len; i++) {
		const struct stacktree_node *n = &x->tree.nodes.v[i];
		const struct coati_view_frame *f = coati_view_frame(x->in->view, x->frames[n->key]);

		snprintf(key, sizeof(key), "%zu", i + 1);
		coati_json_key(j, key);
		coati_json_object(j);
		coati_json_kstr(j, "name", f->function);
		coati_json_kstr(j, "category", f->image);
		if (n->parent != STACKTREE_ROOT)
			coati_json_ku64(j, "parent", (uint64_t)n->parent + 1);
		coati_json_end(j);
		format_output_drain(x->out);
	}
	coati_json_end(j);
}

static void put_sample(struct chrome *x, size_t number)
{
	const struct coati_profile_sample *s = &x->in->samples[number];
	const struct coati_profile_thread *t = coati_profile_thread(x->in->profile, s->thread);
	struct coati_view_entry e = { 0 };
	struct json *j = &x->json;

	coati_view_sample(x->in->view, s, &e);
	coati_json_object(j);
	coati_json_ki64(j, "cpu", s->cpu);
	coati_json_ki64(j, "pid", t->pid);
	coati_json_ki64(j, "tid", t->tid);
	coati_json_key(j, "ts");
	coati_json_fixed(j, timeline_time_ns(&x->timeline, number), US_DECIMALS);
	coati_json_kstr(j, "name", coati_profile_event(x->in->profile, s->event)->name);
	coati_json_ku64(j, "sf", x->tree.leaf[s->stack]); /* plus 1 already */
	coati_json_ku64(j, "weight", e.weight);
	coati_json_end(j);
	format_output_drain(x->out);
}

static void put_other_data(struct chrome *x)
{
	struct json *j = &x->json;
	char exporter[64];

	snprintf(exporter, sizeof(exporter), "coati %s", coati_version());
	coati_json_key(j, "otherData");
	coati_json_object(j);
	coati_json_kstr(j, "exporter", exporter);
	coati_json_kstr(j, "quality", x->in->account);
	coati_json_kstr(j, "unit of weights", x->in->info.unit);
	if (*x->in->comment)
		coati_json_kstr(j, "comment", x->in->comment);
	coati_timeline_put_notes(x->in, j);
	coati_json_end(j);
}

static int put_file(struct chrome *x)
{
	struct json *j = &x->json;
	int r;

	coati_json_object(j);
	coati_json_kstr(j, "displayTimeUnit", "ns");
	put_other_data(x);
	r = put_events(x);
	put_nodes(x);
	coati_json_key(j, "samples");
	coati_json_array(j);
	for (size_t i = 0; i < x->in->nr_samples; i++)
		put_sample(x, i);
	coati_json_end(j);
	coati_json_end(j);
	return r;
}

/* What the format has no room for. */
static void say_what_is_lacking(struct format_input *in)
{
	if (in->nr_samples)
		coati_format_note(
			in,
			"Chrome's traces have no addresses, lines and build ids: they are left out");
	coati_timeline_say_labels(in, "Chrome's sample");
	if (in->quality.files > 1)
		coati_format_note(
			in,
			"Chrome's traces know processes by number alone: those of several files with the same number become one");
}

static int write_chrome(struct format_input *in, struct format_output *out, struct coati_error *err)
{
	struct chrome x = { .in = in, .out = out, .json = json_to(&out->text) };
	int r = coati_timeline_init(&x.timeline, in, err);

	if (r == 0) {
		say_what_is_lacking(in);
		r = make_tree(&x);
		if (r == 0)
			r = put_file(&x);
		if (r < 0)
			coati_fail(err, r, "chrome: %m");
	}
	coati_stacktree_fini(&x.tree);
	coati_free(x.frames);
	coati_timeline_fini(&x.timeline);
	return r;
}

/* ---- reading ---- */

#define NAMES_MAX ((size_t)1 << 28)

/* From which sample on a thread has which name. */
struct naming {
	uint64_t sample, task; /* pid and tid */
	uint32_t thread;       /* of the tally */
};

struct reading {
	struct json_reader json;
	struct tally *tally;
	ARRAY(struct naming) namings;
	struct map functions; /* by number of the node: the tally's */
	struct map threads;   /* by pid and tid: the tally's, at the sample that is read */
	size_t next_naming;
	uint64_t sample;
};

static bool is_key(const char *key, const char *wanted)
{
	return key && !strcmp(key, wanted);
}

static void bad(struct reading *r, int code)
{
	if (!r->json.failed)
		r->json.failed = code;
}

static uint64_t task_of(int64_t pid, int64_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* What an event says: only names of threads are of interest. */
struct event {
	bool is_thread_name, has_phase;
	int64_t pid, tid;
	uint64_t sample;
	char *name;
};

static void read_args(struct reading *r, struct event *e)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			key = coati_json_read_str(&r->json, NULL);
			coati_free(e->name);
			e->name = coati_strdup(key ? key : "");
			if (!e->name)
				bad(r, -ENOMEM);
		} else if (is_key(key, "sample")) {
			e->sample = coati_json_read_u64(&r->json);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
}

static void add_naming(struct reading *r, const struct event *e)
{
	struct naming *n = ARRAY_ADD(&r->namings);

	if (!n || !e->name) {
		bad(r, n ? -EBADMSG : -ENOMEM);
		return;
	}
	*n = (struct naming){ .sample = e->sample,
			      .task = task_of(e->pid, e->tid),
			      .thread = coati_tally_thread(r->tally, e->pid, e->tid, e->name) };
	if (r->namings.len > 1 && n->sample < n[-1].sample)
		bad(r, -EBADMSG);
}

static void read_event(struct reading *r)
{
	struct event e = { 0 };
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			e.is_thread_name =
				is_key(coati_json_read_str(&r->json, NULL), "thread_name");
		} else if (is_key(key, "ph")) {
			e.has_phase = coati_json_read_str(&r->json, NULL);
		} else if (is_key(key, "pid")) {
			e.pid = coati_json_read_i64(&r->json);
		} else if (is_key(key, "tid")) {
			e.tid = coati_json_read_i64(&r->json);
		} else if (is_key(key, "args")) {
			read_args(r, &e);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	if (!e.has_phase)
		bad(r, -EBADMSG);
	else if (e.is_thread_name)
		add_naming(r, &e);
	coati_free(e.name);
}

static void read_node(struct reading *r, const char *id)
{
	uint64_t number, parent = 0, value;
	uint32_t function = UINT32_MAX;
	const char *key;
	int put;

	if (coati_parse_u64(id, 1, UINT32_MAX, &number) < 0)
		bad(r, -EBADMSG);
	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			key = coati_json_read_str(&r->json, NULL);
			function = coati_tally_function(r->tally, key ? key : "");
		} else if (is_key(key, "parent")) {
			parent = coati_json_read_u64(&r->json);
			if (!coati_map_get(&r->functions, parent, &value))
				bad(r, -EBADMSG);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	if (r->json.failed)
		return;
	put = function == UINT32_MAX ? 0 : coati_map_put(&r->functions, number, function);
	if (put <= 0)
		bad(r, r->tally->failed ? r->tally->failed : put ? put : -EBADMSG);
}

/* Names and nodes, wherever in the file they stand. */
static void read_tables(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "traceEvents")) {
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_event(r);
		} else if (is_key(key, "stackFrames")) {
			coati_json_read_object(&r->json);
			while ((key = coati_json_read_key(&r->json)))
				read_node(r, key);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
}

static void add_sample(struct reading *r, uint64_t task, uint64_t node, uint64_t weight)
{
	uint64_t thread, function;

	for (; r->next_naming < r->namings.len; r->next_naming++) {
		const struct naming *n = &r->namings.v[r->next_naming];

		if (n->sample > r->sample)
			break;
		if (coati_map_put(&r->threads, n->task, n->thread) < 0)
			bad(r, -ENOMEM);
	}
	r->sample++;
	if (coati_map_get(&r->threads, task, &thread) &&
	    coati_map_get(&r->functions, node, &function))
		coati_tally_add(r->tally, (uint32_t)thread, (uint32_t)function, weight);
	else
		bad(r, -EBADMSG);
}

static void read_sample(struct reading *r)
{
	uint64_t node = 0, weight = 0;
	int64_t pid = 0, tid = 0;
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "pid"))
			pid = coati_json_read_i64(&r->json);
		else if (is_key(key, "tid"))
			tid = coati_json_read_i64(&r->json);
		else if (is_key(key, "sf"))
			node = coati_json_read_u64(&r->json);
		else if (is_key(key, "weight"))
			weight = coati_json_read_u64(&r->json);
		else if (is_key(key, "ts"))
			coati_json_read_fixed(&r->json, US_DECIMALS);
		else
			coati_json_read_skip(&r->json);
	}
	if (!r->json.failed)
		add_sample(r, task_of(pid, tid), node, weight);
}

static void read_samples(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "samples")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
			read_sample(r);
	}
}

static int read_chrome(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = { .tally = t, .namings = ARRAY_INIT(NAMES_MAX) };
	int ret;

	t->has_samples = true;
	coati_map_init(&r.functions, NAMES_MAX);
	coati_map_init(&r.threads, NAMES_MAX);
	coati_json_read_init(&r.json, bytes, size);
	read_tables(&r);
	ret = coati_json_read_end(&r.json);
	if (ret == 0) {
		coati_json_read_fini(&r.json);
		coati_json_read_init(&r.json, bytes, size);
		read_samples(&r);
		ret = coati_json_read_end(&r.json);
	}
	t->samples = r.sample;
	if (ret < 0)
		coati_fail(err, ret, "chrome: at byte %zu: %m", coati_json_read_offset(&r.json));
	coati_json_read_fini(&r.json);
	ARRAY_FINI(&r.namings);
	coati_map_fini(&r.functions);
	coati_map_fini(&r.threads);
	return ret;
}

const struct format coati_format_chrome = {
	.name = "chrome",
	.suffix = ".trace.json",
	.flags = FORMAT_TIMELINE,
	.write = write_chrome,
	.read = read_chrome,
};
