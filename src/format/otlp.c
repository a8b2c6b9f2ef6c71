/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry profiles, v1development (proto 1.10 and 1.11): one message ProfilesData with its
 * dictionary, as files and the body of an export request have it. One profile for each event, or
 * one of "samples" where the weights of several events are counted. Samples have attributes
 * process.pid, process.executable.name, thread.id, thread.name, cpu.logical_number where CPUs were
 * asked for, and the labels of the recording; mappings their build id; locations
 * profile.frame.type; profiles the account as pprof.profile.comment.
 *
 * Names: bytes that are no UTF-8 become U+FFFD, everything else stays. Weights over 2^63 - 1 are
 * cut to that.
 */
#include "format/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/proto.h"
#include "format/dictionary.h"
#include "format/format.h"
#include "format/text.h"
#include "format/weights.h"
#include "profile/walk.h"
#include "reading/parts.h"

#define ATTRIBUTES_MAX ((size_t)1 << 28)

struct attribute {
	uint32_t key;	  /* string */
	const char *text; /* NULL: a number */
	int64_t number;
	bool is_comments; /* the list of comments: there is one */
};

struct otlp {
	struct format_input *in;
	struct format_output *out;
	struct proto p;
	struct dictionary d;
	struct weights weights;
	ARRAY(struct attribute) attributes; /* [0] is number 1 */
	struct map attribute_index;	    /* by "key=value" */
	uint32_t (*thread_attributes)[4];
	ARRAY(uint32_t) label_attributes; /* of all sets, one behind the other */
	uint32_t *label_start;		  /* by set; one more */
	uint32_t *stacks;		  /* by stack of the profile: its number, 0: not met */
	uint32_t nr_stacks;
	/* one entry for each stack, in the order of their numbers */
	ARRAY(struct coati_view_entry) met;
	uint32_t comments;
	uint32_t kernel, native; /* attributes of locations */
	int failed;
};

static void fail(struct otlp *w)
{
	if (!w->failed)
		w->failed = -ENOMEM;
}

/* ---- attributes ---- */

/* The same pair is the same number. */
static uint32_t add_attribute(struct otlp *w, const struct attribute *a, const char *pair)
{
	struct attribute *slot;
	uint64_t number;

	if (!pair) {
		fail(w);
		return 0;
	}
	if (coati_map_get_str(&w->attribute_index, pair, &number))
		return (uint32_t)number;
	slot = ARRAY_ADD(&w->attributes);
	if (!slot || coati_map_put_str(&w->attribute_index, pair, w->attributes.len) < 0) {
		fail(w);
		return 0;
	}
	*slot = *a;
	return (uint32_t)w->attributes.len;
}

static uint32_t text_attribute(struct otlp *w, const char *key, const char *text)
{
	struct attribute a = { .key = coati_dictionary_string(&w->d, key), .text = text };

	return add_attribute(w, &a, coati_arena_printf(&w->d.arena, "%s=%s", key, text));
}

static uint32_t number_attribute(struct otlp *w, const char *key, int64_t number)
{
	struct attribute a = { .key = coati_dictionary_string(&w->d, key), .number = number };

	return add_attribute(w, &a,
			     coati_arena_printf(&w->d.arena, "%s#%lld", key, (long long)number));
}

static int make_thread_attributes(struct otlp *w)
{
	uint32_t nr = coati_profile_thread_count(w->in->profile);

	w->thread_attributes = coati_alloc_array((size_t)nr + 1, sizeof(*w->thread_attributes));
	if (!w->thread_attributes)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_profile_thread *t = coati_profile_thread(w->in->profile, i);

		w->thread_attributes[i][0] = number_attribute(w, "process.pid", t->pid);
		w->thread_attributes[i][1] =
			text_attribute(w, "process.executable.name", t->process_comm);
		w->thread_attributes[i][2] = number_attribute(w, "thread.id", t->tid);
		w->thread_attributes[i][3] = text_attribute(w, "thread.name", t->comm);
	}
	return w->failed;
}

static int make_label_attributes(struct otlp *w)
{
	const struct coati_label *labels;
	uint32_t nr_sets = 0, nr;

	while (coati_profile_labels(w->in->profile, nr_sets, &nr))
		nr_sets++;
	w->label_start = coati_alloc_array((size_t)nr_sets + 1, sizeof(*w->label_start));
	if (!w->label_start)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_sets; i++) {
		labels = coati_profile_labels(w->in->profile, i, &nr);
		for (uint32_t k = 0; k < nr; k++) {
			uint32_t *slot = ARRAY_ADD(&w->label_attributes);

			if (!slot)
				return -ENOMEM;
			*slot = text_attribute(w, labels[k].key, labels[k].value);
		}
		w->label_start[i + 1] = (uint32_t)w->label_attributes.len;
	}
	return w->failed;
}

/* ---- profiles ---- */

static void put_type(struct otlp *w, uint32_t field, const char *type, const char *unit)
{
	size_t m = coati_proto_begin(&w->p, field);

	coati_proto_uint(&w->p, OTLP_TYPE_TYPE, coati_dictionary_string(&w->d, type));
	coati_proto_uint(&w->p, OTLP_TYPE_UNIT, coati_dictionary_string(&w->d, unit));
	coati_proto_end(&w->p, m);
}

static uint32_t number_stack(struct otlp *w, const struct coati_view_entry *e)
{
	struct coati_view_entry *slot;

	if (w->stacks[e->entry->stack])
		return w->stacks[e->entry->stack];
	slot = ARRAY_ADD(&w->met);
	if (!slot) {
		fail(w);
		return 0;
	}
	*slot = *e;
	w->stacks[e->entry->stack] = ++w->nr_stacks;
	return w->nr_stacks;
}

/* Hot. */
static void put_sample(struct otlp *w, const struct coati_view_entry *e)
{
	const uint32_t *thread = w->thread_attributes[e->entry->thread];
	uint32_t set = e->entry->labels;
	size_t sample = coati_proto_begin(&w->p, OTLP_SAMPLE), m;

	coati_proto_uint(&w->p, OTLP_SAMPLE_STACK, number_stack(w, e));
	m = coati_proto_begin(&w->p, OTLP_SAMPLE_ATTRIBUTE);
	for (int i = 0; i < 4; i++)
		coati_proto_varint(&w->p, thread[i]);
	for (uint32_t i = w->label_start[set]; i < w->label_start[set + 1]; i++)
		coati_proto_varint(&w->p, w->label_attributes.v[i]);
	if (e->entry->cpu >= 0)
		coati_proto_varint(&w->p, number_attribute(w, "cpu.logical_number", e->entry->cpu));
	coati_proto_end(&w->p, m);
	m = coati_proto_begin(&w->p, OTLP_SAMPLE_VALUE);
	coati_proto_varint(&w->p, coati_weights_int64(&w->weights, e->weight));
	coati_proto_end(&w->p, m);
	coati_proto_end(&w->p, sample);
}

/* The samples of one kind of weight; NULL: of all, counted. */
static void put_profile(struct otlp *w, const struct weight *kind)
{
	size_t profile = coati_proto_begin(&w->p, OTLP_PROFILE), m;
	const struct coati_profile_quality *q = &w->in->quality;
	struct coati_view_entry e;
	uint64_t pos = 0;

	put_type(w, OTLP_SAMPLE_TYPE, kind ? kind->type : "samples", kind ? kind->unit : "count");
	while (!w->failed && coati_view_next(w->in->view, &pos, &e))
		if (!kind || e.entry->event == kind->event)
			put_sample(w, &e);
	if (w->in->start_wall_ns)
		coati_proto_fixed64(&w->p, OTLP_TIME, w->in->start_wall_ns);
	coati_proto_uint(&w->p, OTLP_DURATION, q->last_time - q->first_time);
	if (kind && kind->period) {
		put_type(w, OTLP_PERIOD_TYPE, kind->type, kind->unit);
		coati_proto_uint(&w->p, OTLP_PERIOD, kind->period);
	}
	m = coati_proto_begin(&w->p, OTLP_PROFILE_ATTRIBUTE);
	coati_proto_varint(&w->p, w->comments);
	coati_proto_end(&w->p, m);
	coati_proto_end(&w->p, profile);
}

static void put_resource_text(struct otlp *w, const char *key, const char *text)
{
	size_t attribute, value;

	if (!*text)
		return;
	attribute = coati_proto_begin(&w->p, OTLP_RESOURCE_ATTRIBUTE);
	coati_proto_text(&w->p, OTLP_KEY, key);
	value = coati_proto_begin(&w->p, OTLP_VALUE);
	coati_proto_text(&w->p, OTLP_ANY_STRING, text);
	coati_proto_end(&w->p, value);
	coati_proto_end(&w->p, attribute);
}

static void put_resource(struct otlp *w)
{
	const struct coati_profile_file *f = coati_profile_file(w->in->profile, 0);
	size_t resource = coati_proto_begin(&w->p, OTLP_RESOURCE);

	if (f) {
		put_resource_text(w, "host.name", f->hostname);
		put_resource_text(w, "host.arch",
				  !strcmp(f->arch, "x86_64")	? "amd64"
				  : !strcmp(f->arch, "aarch64") ? "arm64"
								: f->arch);
		put_resource_text(w, "os.version", f->os_release);
		put_resource_text(w, "os.type", "linux");
	}
	coati_proto_end(&w->p, resource);
}

static void put_profiles(struct otlp *w)
{
	size_t all = coati_proto_begin(&w->p, OTLP_RESOURCE_PROFILES), scope, m;

	put_resource(w);
	scope = coati_proto_begin(&w->p, OTLP_SCOPE_PROFILES);
	m = coati_proto_begin(&w->p, OTLP_SCOPE);
	coati_proto_text(&w->p, OTLP_SCOPE_NAME, "coati");
	coati_proto_text(&w->p, OTLP_SCOPE_VERSION, coati_version());
	coati_proto_end(&w->p, m);
	if (w->weights.counts)
		put_profile(w, NULL);
	for (uint32_t i = 0; i < w->weights.nr && !w->weights.counts; i++)
		put_profile(w, &w->weights.v[i]);
	coati_proto_end(&w->p, scope);
	coati_proto_end(&w->p, all);
}

/* ---- the dictionary ---- */

static void put_stacks(struct otlp *w)
{
	coati_proto_bytes(&w->p, OTLP_STACKS, "", 0);
	for (size_t i = 0; i < w->met.len && !w->d.failed; i++) {
		uint32_t nr =
			coati_dictionary_stack(&w->d, w->met.v[i].frames, w->met.v[i].nr_frames);
		size_t stack = coati_proto_begin(&w->p, OTLP_STACKS);
		size_t m = coati_proto_begin(&w->p, OTLP_STACK_LOCATION);

		for (uint32_t k = 0; k < nr; k++)
			coati_proto_varint(&w->p, w->d.room[k]);
		coati_proto_end(&w->p, m);
		coati_proto_end(&w->p, stack);
	}
}

static void put_mappings(struct otlp *w)
{
	struct proto *p = &w->p;

	coati_proto_bytes(p, OTLP_MAPPINGS, "", 0);
	for (size_t i = 0; i < w->d.mappings.len; i++) {
		const struct dictionary_mapping *mapping = &w->d.mappings.v[i];
		size_t m = coati_proto_begin(p, OTLP_MAPPINGS), attributes;

		coati_proto_uint(p, OTLP_MAPPING_START, mapping->start);
		coati_proto_uint(p, OTLP_MAPPING_LIMIT, mapping->end);
		coati_proto_uint(p, OTLP_MAPPING_OFFSET, mapping->offset);
		coati_proto_uint(p, OTLP_MAPPING_FILE, mapping->file);
		if (mapping->build_id) {
			attributes = coati_proto_begin(p, OTLP_MAPPING_ATTRIBUTE);
			coati_proto_varint(p, text_attribute(w, "process.executable.build_id.gnu",
							     w->d.strings.v[mapping->build_id]));
			coati_proto_end(p, attributes);
		}
		coati_proto_end(p, m);
	}
}

static void put_locations(struct otlp *w)
{
	struct proto *p = &w->p;

	coati_proto_bytes(p, OTLP_LOCATIONS, "", 0);
	for (size_t i = 0; i < w->d.locations.len; i++) {
		const struct dictionary_location *l = &w->d.locations.v[i];
		size_t m = coati_proto_begin(p, OTLP_LOCATIONS), part;

		coati_proto_uint(p, OTLP_LOCATION_MAPPING, l->mapping);
		coati_proto_uint(p, OTLP_LOCATION_ADDRESS, l->address);
		for (uint32_t k = 0; k < l->nr_lines; k++) {
			const struct dictionary_line *line = &w->d.lines.v[l->first_line + k];

			part = coati_proto_begin(p, OTLP_LOCATION_LINE);
			coati_proto_uint(p, OTLP_LINE_FUNCTION, line->function);
			coati_proto_uint(p, OTLP_LINE_LINE, line->line);
			coati_proto_uint(p, OTLP_LINE_COLUMN, line->column);
			coati_proto_end(p, part);
		}
		part = coati_proto_begin(p, OTLP_LOCATION_ATTRIBUTE);
		coati_proto_varint(p, l->is_kernel ? w->kernel : w->native);
		coati_proto_end(p, part);
		coati_proto_end(p, m);
	}
}

static void put_functions(struct otlp *w)
{
	coati_proto_bytes(&w->p, OTLP_FUNCTIONS, "", 0);
	for (size_t i = 0; i < w->d.functions.len; i++) {
		const struct dictionary_function *f = &w->d.functions.v[i];
		size_t m = coati_proto_begin(&w->p, OTLP_FUNCTIONS);

		coati_proto_uint(&w->p, OTLP_FUNCTION_NAME, f->name);
		coati_proto_uint(&w->p, OTLP_FUNCTION_SYMBOL, f->symbol);
		coati_proto_uint(&w->p, OTLP_FUNCTION_FILE, f->file);
		coati_proto_uint(&w->p, OTLP_FUNCTION_LINE, f->line);
		coati_proto_end(&w->p, m);
	}
}

/* The one that means none: zeros of the right length. */
static void put_links(struct otlp *w)
{
	static const char zeros[16];
	size_t m = coati_proto_begin(&w->p, OTLP_LINKS);

	coati_proto_bytes(&w->p, OTLP_LINK_TRACE, zeros, 16);
	coati_proto_bytes(&w->p, OTLP_LINK_SPAN, zeros, 8);
	coati_proto_end(&w->p, m);
}

static void put_comment(struct otlp *w, const char *text)
{
	size_t value;

	if (!*text)
		return;
	value = coati_proto_begin(&w->p, OTLP_ARRAY_VALUE);
	coati_proto_text(&w->p, OTLP_ANY_STRING, text);
	coati_proto_end(&w->p, value);
}

static void put_comments(struct otlp *w)
{
	size_t list = coati_proto_begin(&w->p, OTLP_ANY_ARRAY);

	put_comment(w, w->in->comment);
	put_comment(w, w->in->account);
	for (size_t i = 0; i < w->in->notes->v.len; i++)
		put_comment(w, w->in->notes->v.v[i]);
	coati_proto_end(&w->p, list);
}

static void put_attributes(struct otlp *w)
{
	coati_proto_bytes(&w->p, OTLP_ATTRIBUTES, "", 0);
	for (size_t i = 0; i < w->attributes.len; i++) {
		const struct attribute *a = &w->attributes.v[i];
		size_t m = coati_proto_begin(&w->p, OTLP_ATTRIBUTES), value;

		coati_proto_uint(&w->p, OTLP_ATTRIBUTE_KEY, a->key);
		value = coati_proto_begin(&w->p, OTLP_ATTRIBUTE_VALUE);
		if (a->is_comments)
			put_comments(w);
		else if (a->text)
			coati_proto_text(&w->p, OTLP_ANY_STRING, a->text);
		else
			coati_proto_int(&w->p, OTLP_ANY_INT, a->number);
		coati_proto_end(&w->p, value);
		coati_proto_end(&w->p, m);
	}
}

static void put_dictionary(struct otlp *w)
{
	size_t all = coati_proto_begin(&w->p, OTLP_DICTIONARY);

	put_stacks(w);
	put_mappings(w);
	put_locations(w);
	put_functions(w);
	put_links(w);
	put_attributes(w);
	for (size_t i = 0; i < w->d.strings.len && !w->d.failed; i++)
		coati_proto_text(&w->p, OTLP_STRINGS, w->d.strings.v[i]);
	coati_proto_end(&w->p, all);
}

static int write_all(struct otlp *w)
{
	int r = coati_dictionary_init(&w->d, w->in);

	if (r == 0)
		r = coati_weights_init(&w->weights, w->in);
	if (r == 0)
		r = make_thread_attributes(w);
	if (r == 0)
		r = make_label_attributes(w);
	if (r < 0)
		return r;
	w->stacks = coati_alloc_array((size_t)coati_profile_stack_count(w->in->profile) + 1,
				      sizeof(*w->stacks));
	if (!w->stacks)
		return -ENOMEM;
	w->comments = add_attribute(
		w,
		&(struct attribute){ .key = coati_dictionary_string(&w->d, "pprof.profile.comment"),
				     .is_comments = true },
		"pprof.profile.comment");
	w->kernel = text_attribute(w, "profile.frame.type", "kernel");
	w->native = text_attribute(w, "profile.frame.type", "native");
	put_profiles(w);
	format_output_drain(w->out);
	if (w->weights.is_cut)
		coati_format_note(w->in, "weights over 2^63 - 1 do not fit OTLP: they are cut");
	if (!w->failed && !w->d.failed)
		put_dictionary(w);
	return w->failed ? w->failed : w->d.failed;
}

static int write_otlp(struct format_input *in, struct format_output *out, struct coati_error *err)
{
	struct otlp w = { .in = in, .out = out, .p = proto_to(&out->text) };
	int r;

	w.attributes.max = w.met.max = w.label_attributes.max = ATTRIBUTES_MAX;
	coati_map_init_strings(&w.attribute_index, ATTRIBUTES_MAX);
	if (in->quality.last_time > in->quality.first_time)
		coati_format_note(in,
				  "the times of single samples are left out, %.3f s of timeline",
				  (double)(in->quality.last_time - in->quality.first_time) / 1e9);
	r = write_all(&w);
	coati_dictionary_fini(&w.d);
	coati_weights_fini(&w.weights);
	ARRAY_FINI(&w.attributes);
	ARRAY_FINI(&w.met);
	coati_map_fini(&w.attribute_index);
	ARRAY_FINI(&w.label_attributes);
	coati_free(w.thread_attributes);
	coati_free(w.label_start);
	coati_free(w.stacks);
	return r < 0 ? coati_fail(err, r, "writing OTLP: %m") : 0;
}

const struct format coati_format_otlp = {
	.name = "otlp",
	.suffix = ".otlp",
	.flags = FORMAT_BINARY | FORMAT_LINES,
	.write = write_otlp,
};
