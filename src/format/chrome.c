/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events as JSON, with sampled stacks: "stackFrames" is a tree of functions, each
 * with the file of its code as category; "samples" has for each sample the node of its innermost
 * function, thread, CPU, event, weight and time. Times are microseconds since the first sample with
 * all digits of the nanoseconds. Names of processes and threads are metadata events; one whose name
 * changes has several, whose "sample" says from which sample on it holds. Losses are instants.
 * Perfetto knows no samples: for it they are slices as well (chrome-slices.c). Live events are in
 * live-chrome.c. Names by the common rule.
 */
#include <errno.h>
#include <stdio.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "format/chrome.h"
#include "format/live-events.h"
#include "format/stacktree.h"
#include "format/timeline.h"
#include "format/who.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

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

static void put_name(struct chrome *x, const char *what, const struct coati_profile_thread *t,
		     const char *name, size_t sample)
{
	struct json *j = &x->json;

	chrome_begin_event(j, "M", what, t->pid, t->tid);
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

	chrome_begin_event(j, "i", names[l->kind], 0, 0);
	coati_json_kstr(j, "cat", "loss");
	coati_json_kstr(j, "s", "g"); /* of everything */
	coati_json_key(j, "ts");
	coati_json_fixed(j, timeline_since_ns(&x->timeline, l->time), CHROME_DECIMALS);
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
	if (!x->in->nr_samples && !x->in->live) /* readers want one event to know the format by */
		put_name(x, "process_name", &nobody, "no samples", 0);
	for (size_t i = 0; i < x->in->nr_losses; i++)
		put_loss(x, &x->in->losses[i]);
	if (r == 0)
		r = coati_chrome_slices(x);
	if (r == 0 && x->in->live)
		r = coati_chrome_live(j, &x->timeline, x->out);
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
	coati_json_fixed(j, timeline_time_ns(&x->timeline, number), CHROME_DECIMALS);
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
	/* "ns" would make some versions of Perfetto take the times for nanoseconds */
	coati_json_kstr(j, "displayTimeUnit", "ms");
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
		coati_format_note(in, "Chrome's traces have no addresses, lines and build ids: "
				      "they are left out");
	coati_timeline_say_labels(in, "Chrome's sample");
	if (in->quality.files > 1)
		coati_format_note(
			in,
			"Chrome traces identify processes by PID only: processes of several files "
			"with the same PID are merged");
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
			coati_stacktree_fail(&x.tree, "chrome", r, err);
	}
	coati_stacktree_fini(&x.tree);
	coati_free(x.frames);
	coati_timeline_fini(&x.timeline);
	return r;
}

const struct format coati_format_chrome = {
	.name = "chrome",
	.suffix = ".trace.json",
	.flags = FORMAT_TIMELINE | FORMAT_LIVE,
	.write = write_chrome,
};
