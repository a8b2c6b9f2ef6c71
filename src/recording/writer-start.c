/* SPDX-License-Identifier: MIT */
/* The head of a recording: written when it starts, and in file mode once more at its end, with the
 * sections behind the data. */
#include "recording/writer-parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "recording/header.h"
#include "recording/section-table.h"
#include "recording/sections.h"
#include "recording/tracing-writer.h"
#include "recording/zstd.h"

#define UPDATE_NAME 2

/* One record per event with its name: where the section that describes all of them is too long for
 * a record. */
static int write_event_names(struct coati_writer *w)
{
	struct strbuf body = STRBUF_INIT(RECORD_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		if (!e->nr_ids)
			continue;
		coati_strbuf_clear(&body);
		coati_section_u64(&body, UPDATE_NAME);
		coati_section_u64(&body, e->ids[0]);
		coati_strbuf_add(&body, e->name, strlen(e->name) + 1);
		coati_strbuf_pad(&body, '\0', -body.len & 7);
		r = coati_writer_body(w, COATI_RECORD_EVENT_UPDATE, &body);
	}
	coati_strbuf_fini(&body);
	return r;
}

/* The only section that is too long for a record of its own: it lies behind one. */
static int write_pipe_tracing(struct coati_writer *w)
{
	struct strbuf *blob = &w->features[COATI_FEATURE_TRACING_DATA];
	uint8_t rec[12] = { 0 };
	uint32_t size;

	if (!blob->len)
		return 0;
	coati_strbuf_pad(blob, '\0', -blob->len & 7); /* the size counts the padding */
	if (blob->failed)
		return coati_writer_fail(w, blob->failed);
	size = (uint32_t)blob->len;
	coati_writer_head(rec, COATI_RECORD_TRACING_DATA, 0, sizeof(rec));
	memcpy(rec + 8, &size, sizeof(size));
	coati_writer_flush(w);
	coati_writer_plain(w, rec, sizeof(rec));
	return coati_writer_plain(w, blob->text, blob->len);
}

static int start_pipe(struct coati_writer *w)
{
	uint64_t head[2] = { UINT64_C(0x32454c4946524550), HEADER_PIPE_BYTES };
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	/* what describes the stream is not compressed */
	struct packer *packer = TAKE_PTR(w->packer);
	int r = coati_writer_plain(w, head, sizeof(head));

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		coati_strbuf_clear(&body);
		coati_section_attr(&body, &e->attr, w->attr_bytes);
		coati_strbuf_add(&body, e->ids, e->nr_ids * sizeof(*e->ids));
		r = coati_writer_body(w, COATI_RECORD_HEADER_ATTR, &body);
	}
	coati_strbuf_clear(&body);
	coati_writer_describe_events(w, &body);
	if (r == 0)
		r = coati_writer_pipe_feature(w, COATI_FEATURE_EVENT_DESC, body.text, body.len);
	if (r == -E2BIG)
		r = write_event_names(w);
	coati_strbuf_clear(&body);
	coati_writer_describe_groups(w, &body);
	if (r == 0 && body.len)
		r = coati_writer_pipe_feature(w, COATI_FEATURE_GROUP_DESC, body.text, body.len);
	coati_strbuf_clear(&body);
	coati_writer_describe_packing(w, &body);
	if (r == 0 && packer)
		r = coati_writer_pipe_feature(w, COATI_FEATURE_COMPRESSED, body.text, body.len);
	for (uint32_t bit = 0; r == 0 && bit < COATI_FEATURE_MAX; bit++)
		if (w->features[bit].len && bit != COATI_FEATURE_TRACING_DATA)
			r = coati_writer_pipe_feature(w, bit, w->features[bit].text,
						      w->features[bit].len);
	coati_strbuf_fini(&body);
	if (r == 0)
		r = write_pipe_tracing(w);
	if (r == 0)
		r = coati_writer_flush(w);
	w->packer = packer;
	return r;
}

/* The header with what is known: @data_size and the bits of @features. */
static int write_header(struct coati_writer *w, uint64_t data_size, const uint64_t features[4])
{
	uint64_t entry = w->attr_bytes + 16;
	uint64_t head[13] = {
		UINT64_C(0x32454c4946524550),
		HEADER_FILE_BYTES,
		entry,
		w->attrs_offset,
		entry * w->events.len,
		w->data_offset,
		data_size,
		0,
		0,
		features[0],
		features[1],
		features[2],
		features[3],
	};

	return coati_writer_at(w, head, sizeof(head), 0);
}

/* Ids of all events, then the attrs that point to them, then all that is known about the recording:
 * who is killed has no time left to write it. */
static int start_file(struct coati_writer *w)
{
	static const uint64_t none[4];
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	uint64_t ids_at = HEADER_FILE_BYTES;
	int r;

	coati_strbuf_pad(&body, '\0', HEADER_FILE_BYTES);
	for (size_t i = 0; i < w->events.len; i++)
		coati_strbuf_add(&body, w->events.v[i].ids, w->events.v[i].nr_ids * 8);
	w->attrs_offset = body.len;
	for (size_t i = 0; i < w->events.len; i++) {
		coati_section_attr(&body, &w->events.v[i].attr, w->attr_bytes);
		coati_section_u64(&body, ids_at);
		coati_section_u64(&body, w->events.v[i].nr_ids * 8);
		ids_at += w->events.v[i].nr_ids * 8;
	}
	coati_writer_describe(w);
	coati_foreword_add(w->features, &body);
	r = body.failed ? coati_writer_fail(w, body.failed)
			: coati_writer_plain(w, body.text, body.len);
	coati_strbuf_fini(&body);
	w->data_offset = w->written;
	return r < 0 ? r : write_header(w, 0, none);
}

/* A reader refuses attrs that are longer than those it knows, so write no longer ones than the
 * fields in use need. */
static uint32_t needed_attr_bytes(const struct coati_writer *w)
{
	uint32_t bytes = offsetof(struct coati_attr, config3);

	for (size_t i = 0; i < w->events.len; i++) {
		const struct coati_attr *a = &w->events.v[i].attr;

		if (a->config3 && bytes < offsetof(struct coati_attr, config4))
			bytes = offsetof(struct coati_attr, config4);
		if (a->config4)
			bytes = sizeof(*a);
	}
	return bytes;
}

int coati_writer_start(struct coati_writer *w, struct coati_error *err)
{
	int r;

	if (!w || w->started || !w->events.len)
		return coati_fail(err, -EINVAL,
				  "a recording needs at least one event and starts once");
	w->started = true;
	w->attr_bytes = needed_attr_bytes(w);
	r = w->pipe ? start_pipe(w) : start_file(w);
	return r < 0 ? coati_fail(err, r, "writing %s: %m", w->path) : 0;
}

/* The ids of an event that got more, at the end of the file, and where they are into its attr. */
static int write_more_ids(struct coati_writer *w)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];
		uint64_t where[2] = { w->written, e->nr_ids * UINT64_C(8) };

		if (!e->more_ids)
			continue;
		r = coati_writer_plain(w, e->ids, e->nr_ids * sizeof(*e->ids));
		if (r == 0)
			r = coati_writer_at(w, where, sizeof(where),
					    (off_t)(w->attrs_offset + i * (w->attr_bytes + 16) +
						    w->attr_bytes));
	}
	return r;
}

/* The table of sections and their bodies behind the data, then the header once more. */
int coati_writer_finish(struct coati_writer *w)
{
	uint64_t bits[4] = { 0 }, end = w->written;
	struct strbuf all = STRBUF_INIT(SECTIONS_MAX);
	int r;

	coati_writer_describe(w);
	coati_section_table_add(w->features, end, &all, bits);
	r = all.failed ? coati_writer_fail(w, all.failed)
		       : coati_writer_plain(w, all.text, all.len);
	coati_strbuf_fini(&all);
	if (r == 0)
		r = write_more_ids(w);
	if (r == 0)
		return write_header(w, end - w->data_offset, bits);
	/* the records are readable without */
	w->written = end;
	return ftruncate(w->fd, (off_t)end) < 0 ? -errno : r;
}
