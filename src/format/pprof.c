/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, gzip: what go tool pprof, pyroscope, speedscope and many others read. One
 * value "samples" and one for each event ("cpu" in nanoseconds for clocks); labels thread_id,
 * thread_name, process_id, process_name, cpu where CPUs were asked for, and those of the recording;
 * mappings with build ids; locations with inlined functions, innermost first; the account and the
 * notes as comments.
 *
 * Names: bytes that are no UTF-8 become U+FFFD, everything else stays. Weights over 2^63 - 1, which
 * the format cannot hold, are cut to that.
 */
#include <errno.h>
#include <string.h>

#include <coati/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pprof-fields.h"
#include "base/proto.h"
#include "format/dictionary.h"
#include "format/format.h"
#include "format/text.h"
#include "format/weights.h"
#include "profile/walk.h"
#include "reading/parts.h"

/* The bytes of what many samples have in common, written once. */
struct pieces {
	struct strbuf bytes;
	size_t *start; /* of each; one more */
};

struct pprof {
	struct format_input *in;
	struct format_output *out;
	struct proto p;
	struct dictionary d;
	struct weights weights;
	struct pieces threads, label_sets;
};

/* Readers take an empty text for a number that is not there: it is left out. */
static void put_label(struct dictionary *d, struct strbuf *s, const char *key, const char *value)
{
	struct proto p = proto_to(s);
	size_t label;

	if (!*value)
		return;
	label = coati_proto_begin(&p, PPROF_SAMPLE_LABEL);
	coati_proto_uint(&p, PPROF_LABEL_KEY, coati_dictionary_string(d, key));
	coati_proto_uint(&p, PPROF_LABEL_STR, coati_dictionary_copy(d, value));
	coati_proto_end(&p, label);
}

static void put_number_label(struct dictionary *d, struct strbuf *s, const char *key, int32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	put_label(d, s, key, text);
}

static int start_pieces(struct pieces *pc, size_t nr)
{
	pc->bytes = (struct strbuf)STRBUF_INIT(SIZE_MAX / 4);
	pc->start = coati_alloc_array(nr + 1, sizeof(*pc->start));
	return pc->start ? 0 : -ENOMEM;
}

static void put_piece(struct strbuf *s, const struct pieces *pc, uint32_t i)
{
	coati_strbuf_add(s, pc->bytes.text + pc->start[i], pc->start[i + 1] - pc->start[i]);
}

static int make_thread_labels(struct pprof *w)
{
	uint32_t nr = coati_profile_thread_count(w->in->profile);
	struct strbuf *s = &w->threads.bytes;

	if (start_pieces(&w->threads, nr) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_profile_thread *t = coati_profile_thread(w->in->profile, i);

		put_number_label(&w->d, s, "thread_id", t->tid);
		put_label(&w->d, s, "thread_name", t->comm);
		put_number_label(&w->d, s, "process_id", t->pid);
		put_label(&w->d, s, "process_name", t->process_comm);
		w->threads.start[i + 1] = s->len;
	}
	return s->failed;
}

static int make_label_sets(struct pprof *w)
{
	uint32_t nr = 0, nr_labels;
	const struct coati_label *labels;
	struct strbuf *s = &w->label_sets.bytes;

	while (coati_profile_labels(w->in->profile, nr, &nr_labels))
		nr++;
	if (start_pieces(&w->label_sets, nr) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		labels = coati_profile_labels(w->in->profile, i, &nr_labels);
		for (uint32_t j = 0; j < nr_labels; j++)
			put_label(&w->d, s, labels[j].key, labels[j].value);
		w->label_sets.start[i + 1] = s->len;
	}
	return s->failed;
}

static void put_value_type(struct pprof *w, uint32_t field, const char *type, const char *unit)
{
	size_t m = coati_proto_begin(&w->p, field);

	coati_proto_uint(&w->p, PPROF_TYPE_TYPE, coati_dictionary_string(&w->d, type));
	coati_proto_uint(&w->p, PPROF_TYPE_UNIT, coati_dictionary_string(&w->d, unit));
	coati_proto_end(&w->p, m);
}

static void put_sample_types(struct pprof *w)
{
	put_value_type(w, PPROF_SAMPLE_TYPE, "samples", "count");
	for (uint32_t i = 0; i < w->weights.nr; i++)
		put_value_type(w, PPROF_SAMPLE_TYPE, w->weights.v[i].type, w->weights.v[i].unit);
}

/* Hot. */
static void put_sample(struct pprof *w, const struct coati_view_entry *e)
{
	uint32_t nr = coati_dictionary_stack(&w->d, e->frames, e->nr_frames);
	uint32_t column = w->weights.of_event[e->entry->event];
	size_t sample = coati_proto_begin(&w->p, PPROF_SAMPLE), m;

	m = coati_proto_begin(&w->p, PPROF_SAMPLE_LOCATION);
	for (uint32_t i = 0; i < nr; i++)
		coati_proto_varint(&w->p, w->d.room[i]);
	coati_proto_end(&w->p, m);
	m = coati_proto_begin(&w->p, PPROF_SAMPLE_VALUE);
	coati_proto_varint(&w->p, coati_weights_int64(&w->weights, e->entry->count));
	for (uint32_t i = 0; i < w->weights.nr; i++)
		coati_proto_varint(&w->p,
				   i == column ? coati_weights_int64(&w->weights, e->entry->weight)
					       : 0);
	coati_proto_end(&w->p, m);
	put_piece(&w->out->text, &w->threads, e->entry->thread);
	put_piece(&w->out->text, &w->label_sets, e->entry->labels);
	if (e->entry->cpu >= 0)
		put_number_label(&w->d, &w->out->text, "cpu", e->entry->cpu);
	coati_proto_end(&w->p, sample);
	format_output_drain(w->out);
}

static void put_mappings(struct pprof *w)
{
	struct proto *p = &w->p;

	for (size_t i = 0; i < w->d.mappings.len; i++) {
		const struct dictionary_mapping *mapping = &w->d.mappings.v[i];
		size_t m = coati_proto_begin(p, PPROF_MAPPING);

		coati_proto_uint(p, PPROF_MAPPING_ID, i + 1);
		coati_proto_uint(p, PPROF_MAPPING_START, mapping->start);
		coati_proto_uint(p, PPROF_MAPPING_LIMIT, mapping->end);
		coati_proto_uint(p, PPROF_MAPPING_OFFSET, mapping->offset);
		coati_proto_uint(p, PPROF_MAPPING_FILE, mapping->file);
		coati_proto_uint(p, PPROF_MAPPING_BUILD_ID, mapping->build_id);
		/* all names are known: the reader need not symbolize again */
		for (uint32_t f = PPROF_MAPPING_HAS_FUNCTIONS; f <= PPROF_MAPPING_HAS_INLINES; f++)
			coati_proto_uint(p, f, 1);
		coati_proto_end(p, m);
		format_output_drain(w->out);
	}
}

static void put_locations(struct pprof *w)
{
	struct proto *p = &w->p;

	for (size_t i = 0; i < w->d.locations.len; i++) {
		const struct dictionary_location *l = &w->d.locations.v[i];
		size_t m = coati_proto_begin(p, PPROF_LOCATION), line;

		coati_proto_uint(p, PPROF_LOCATION_ID, i + 1);
		coati_proto_uint(p, PPROF_LOCATION_MAPPING, l->mapping);
		coati_proto_uint(p, PPROF_LOCATION_ADDRESS, l->address);
		for (uint32_t j = 0; j < l->nr_lines; j++) {
			const struct dictionary_line *from = &w->d.lines.v[l->first_line + j];

			line = coati_proto_begin(p, PPROF_LOCATION_LINE);
			coati_proto_uint(p, PPROF_LINE_FUNCTION, from->function);
			coati_proto_uint(p, PPROF_LINE_LINE, from->line);
			coati_proto_uint(p, PPROF_LINE_COLUMN, from->column);
			coati_proto_end(p, line);
		}
		coati_proto_end(p, m);
		format_output_drain(w->out);
	}
}

static void put_functions(struct pprof *w)
{
	struct proto *p = &w->p;

	for (size_t i = 0; i < w->d.functions.len; i++) {
		const struct dictionary_function *f = &w->d.functions.v[i];
		size_t m = coati_proto_begin(p, PPROF_FUNCTION);

		coati_proto_uint(p, PPROF_FUNCTION_ID, i + 1);
		coati_proto_uint(p, PPROF_FUNCTION_NAME, f->name);
		coati_proto_uint(p, PPROF_FUNCTION_SYMBOL, f->symbol);
		coati_proto_uint(p, PPROF_FUNCTION_FILE, f->file);
		coati_proto_uint(p, PPROF_FUNCTION_LINE, f->line);
		coati_proto_end(p, m);
		format_output_drain(w->out);
	}
}

static void put_strings(struct pprof *w)
{
	for (size_t i = 0; i < w->d.strings.len; i++) {
		coati_proto_text(&w->p, PPROF_STRING, w->d.strings.v[i]);
		format_output_drain(w->out);
	}
}

static void put_comment(struct pprof *w, const char *text)
{
	if (*text)
		coati_proto_uint(&w->p, PPROF_COMMENT, coati_dictionary_copy(&w->d, text));
}

static void put_comments(struct pprof *w)
{
	const struct coati_profile_file *f;
	char line[4096];

	put_comment(w, w->in->comment);
	for (uint32_t i = 0; (f = coati_profile_file(w->in->profile, i)); i++) {
		snprintf(line, sizeof(line), "coati %s: %s", coati_version(), f->path);
		put_comment(w, line);
		put_comment(w, f->command);
	}
	put_comment(w, w->in->account);
	for (size_t i = 0; i < w->in->notes->v.len; i++)
		put_comment(w, w->in->notes->v.v[i]);
}

static void put_facts(struct pprof *w)
{
	const struct coati_profile_quality *q = &w->in->quality;
	const struct weight *last = w->weights.nr ? &w->weights.v[w->weights.nr - 1] : NULL;

	if (w->in->start_wall_ns)
		coati_proto_uint(&w->p, PPROF_TIME, w->in->start_wall_ns);
	coati_proto_uint(&w->p, PPROF_DURATION, q->last_time - q->first_time);
	if (w->weights.nr == 1 && last->period) {
		put_value_type(w, PPROF_PERIOD_TYPE, last->type, last->unit);
		coati_proto_uint(&w->p, PPROF_PERIOD, last->period);
	}
	put_comments(w);
	coati_proto_uint(&w->p, PPROF_DEFAULT_TYPE,
			 coati_dictionary_string(&w->d, w->weights.counts || !last ? "samples"
										   : last->type));
}

static int write_all(struct pprof *w)
{
	struct coati_view_entry e;
	uint64_t pos = 0;
	int r = coati_dictionary_init(&w->d, w->in);

	if (r == 0)
		r = coati_weights_init(&w->weights, w->in);
	if (r == 0)
		r = make_thread_labels(w);
	if (r == 0)
		r = make_label_sets(w);
	if (r < 0)
		return r;
	put_sample_types(w);
	while (!w->d.failed && coati_view_next(w->in->view, &pos, &e))
		put_sample(w, &e);
	if (w->d.failed)
		return w->d.failed;
	if (w->weights.is_cut)
		coati_format_note(w->in, "weights over 2^63 - 1 do not fit pprof: they are cut");
	put_mappings(w);
	put_locations(w);
	put_functions(w);
	put_facts(w);
	put_strings(w); /* the last: all others may add some */
	return w->d.failed;
}

static int write_pprof(struct format_input *in, struct format_output *out, struct coati_error *err)
{
	struct pprof w = { .in = in, .out = out, .p = proto_to(&out->text) };
	int r;

	if (in->quality.last_time > in->quality.first_time)
		coati_format_note(
			in, "pprof has no times: the times of samples, in %.3f s, are left out",
			(double)(in->quality.last_time - in->quality.first_time) / 1e9);
	r = write_all(&w);
	coati_dictionary_fini(&w.d);
	coati_weights_fini(&w.weights);
	coati_strbuf_fini(&w.threads.bytes);
	coati_free(w.threads.start);
	coati_strbuf_fini(&w.label_sets.bytes);
	coati_free(w.label_sets.start);
	return r < 0 ? coati_fail(err, r, "writing pprof: %m") : 0;
}

const struct format coati_format_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.flags = FORMAT_BINARY | FORMAT_GZIP | FORMAT_LINES,
	.write = write_pprof,
};
