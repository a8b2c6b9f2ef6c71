/* SPDX-License-Identifier: MIT */
/* What a writer knows about its recording: events with their ids and groups, feature sections,
 * build IDs, batches. In pipe mode each is a record at once. */
#include "recording/writer-parts.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "recording/header.h"
#include "recording/section-table.h"
#include "recording/sections.h"
#include "recording/tracing-writer.h"
#include "recording/zstd.h"

/* What readers must have room for to unpack one record. */
#define PACK_MAPPED (512 * 1024)

int coati_writer_add_event(struct coati_writer *w, const struct coati_recording_event *from,
			   struct coati_error *err)
{
	struct event_out *e;

	if (!w || w->started || !from || !from->name || (from->nr_ids && !from->ids))
		return coati_fail(err, -EINVAL, "events are added before the recording starts");
	e = ARRAY_ADD(&w->events);
	if (!e)
		return coati_fail(err, -ENOMEM, "out of memory, or more than %d events",
				  EVENTS_MAX);
	e->attr = from->attr;
	e->name = coati_strdup(from->name);
	e->ids = coati_alloc_array(from->nr_ids, sizeof(*from->ids));
	if (!e->name || !e->ids) {
		coati_free(e->name);
		coati_free(e->ids);
		w->events.len--;
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	if (from->nr_ids)
		memcpy(e->ids, from->ids, from->nr_ids * sizeof(*from->ids));
	e->nr_ids = from->nr_ids;
	return 0;
}

static struct event_out *find_event(struct coati_writer *w, uint64_t id)
{
	for (size_t i = 0; i < w->events.len; i++)
		for (uint32_t k = 0; k < w->events.v[i].nr_ids; k++)
			if (w->events.v[i].ids[k] == id)
				return &w->events.v[i];
	return NULL;
}

int coati_writer_add_ids(struct coati_writer *w, uint64_t id, const uint64_t *ids, uint32_t nr_ids)
{
	struct event_out *e = w ? find_event(w, id) : NULL;
	uint64_t *all;

	if (!e)
		return -ENOENT;
	if (w->pipe && w->started)
		return -EOPNOTSUPP;
	if (nr_ids > UINT32_MAX - e->nr_ids)
		return -E2BIG;
	all = coati_realloc_array(e->ids, e->nr_ids + nr_ids, sizeof(*ids));
	if (!all)
		return -ENOMEM;
	memcpy(all + e->nr_ids, ids, nr_ids * sizeof(*ids));
	e->ids = all;
	e->nr_ids += nr_ids;
	e->more_ids = w->started;
	return 0;
}

int coati_writer_group(struct coati_writer *w, uint32_t leader, uint32_t nr_members)
{
	if (!w || leader >= w->events.len || nr_members > w->events.len - leader)
		return -EINVAL;
	w->events.v[leader].nr_members = nr_members;
	return 0;
}

/* A record around a body; longer ones than 64 KiB do not exist. No padding: readers take what is
 * left for more of the same. */
int coati_writer_body(struct coati_writer *w, uint32_t type, const struct strbuf *body)
{
	size_t size = 8 + body->len;
	uint8_t *rec;
	int r;

	if (body->failed)
		return coati_writer_fail(w, body->failed);
	if (size > RECORD_MAX)
		return -E2BIG;
	rec = coati_alloc(size);
	if (!rec)
		return coati_writer_fail(w, -ENOMEM);
	coati_writer_head(rec, type, 0, size);
	memcpy(rec + 8, body->text, body->len);
	r = coati_writer_record(w, rec, size);
	coati_free(rec);
	return r;
}

int coati_writer_pipe_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size)
{
	struct strbuf body = STRBUF_INIT(SECTION_MAX + 8);
	int r;

	coati_section_u64(&body, bit);
	coati_strbuf_add(&body, bytes, size);
	r = coati_writer_body(w, COATI_RECORD_HEADER_FEATURE, &body);
	coati_strbuf_fini(&body);
	return r;
}

int coati_writer_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size)
{
	if (!w || bit >= COATI_FEATURE_MAX || (size && !bytes))
		return -EINVAL;
	if (w->pipe && w->started)
		return coati_writer_pipe_feature(w, bit, bytes, size);
	coati_strbuf_clear(&w->features[bit]);
	coati_strbuf_add(&w->features[bit], bytes, size);
	return w->features[bit].failed;
}

void coati_writer_describe_events(const struct coati_writer *w, struct strbuf *s)
{
	coati_section_u32(s, (uint32_t)w->events.len);
	coati_section_u32(s, w->attr_bytes);
	for (size_t i = 0; i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		coati_section_attr(s, &e->attr, w->attr_bytes);
		coati_section_u32(s, e->nr_ids);
		coati_section_string(s, e->name);
		coati_strbuf_add(s, e->ids, e->nr_ids * sizeof(*e->ids));
	}
}

void coati_writer_describe_groups(const struct coati_writer *w, struct strbuf *s)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < w->events.len; i++)
		nr += w->events.v[i].nr_members > 1;
	if (!nr)
		return;
	coati_section_u32(s, nr);
	for (size_t i = 0; i < w->events.len; i++) {
		if (w->events.v[i].nr_members < 2)
			continue;
		coati_section_string(s, "{anon_group}");
		coati_section_u32(s, (uint32_t)i);
		coati_section_u32(s, w->events.v[i].nr_members);
	}
}

void coati_writer_describe_packing(const struct coati_writer *w, struct strbuf *s)
{
	uint64_t ratio = w->packed_out ? w->packed_in / w->packed_out : 1;

	coati_section_u32(s, 1); /* version */
	coati_section_u32(s, 1); /* zstd */
	coati_section_u32(s, (uint32_t)w->zstd_level);
	coati_section_u32(s, ratio > UINT32_MAX ? UINT32_MAX : (uint32_t)ratio);
	coati_section_u32(s, PACK_MAPPED);
}

/* The sections that only the writer can make. */
void coati_writer_describe(struct coati_writer *w)
{
	static const uint32_t bits[] = { COATI_FEATURE_EVENT_DESC, COATI_FEATURE_GROUP_DESC,
					 COATI_FEATURE_COMPRESSED };

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		coati_strbuf_clear(&w->features[bits[i]]);
	coati_writer_describe_events(w, &w->features[COATI_FEATURE_EVENT_DESC]);
	coati_writer_describe_groups(w, &w->features[COATI_FEATURE_GROUP_DESC]);
	if (w->packer)
		coati_writer_describe_packing(w, &w->features[COATI_FEATURE_COMPRESSED]);
}

int coati_writer_host_features(struct coati_writer *w, int argc, const char *const *argv)
{
	static const struct {
		uint32_t bit;
		void (*fn)(struct strbuf *s);
	} facts[] = {
		{ COATI_FEATURE_HOSTNAME, coati_section_hostname },
		{ COATI_FEATURE_OSRELEASE, coati_section_osrelease },
		{ COATI_FEATURE_ARCH, coati_section_arch },
		{ COATI_FEATURE_NRCPUS, coati_section_nrcpus },
		{ COATI_FEATURE_CPUDESC, coati_section_cpudesc },
		{ COATI_FEATURE_CPUID, coati_section_cpuid },
		{ COATI_FEATURE_TOTAL_MEM, coati_section_total_mem },
		{ COATI_FEATURE_CPU_TOPOLOGY, coati_section_cpu_topology },
		{ COATI_FEATURE_PMU_MAPPINGS, coati_section_pmu_mappings },
		{ COATI_FEATURE_CLOCKID, coati_section_clockid },
		{ COATI_FEATURE_CLOCK_DATA, coati_section_clock_data },
	};
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++) {
		coati_strbuf_clear(&body);
		facts[i].fn(&body);
		if (body.len && !body.failed)
			r = coati_writer_feature(w, facts[i].bit, body.text, body.len);
	}
	coati_strbuf_clear(&body);
	coati_section_string(&body, "coati");
	if (r == 0)
		r = coati_writer_feature(w, COATI_FEATURE_VERSION, body.text, body.len);
	coati_strbuf_clear(&body);
	coati_section_cmdline(&body, argc, argv);
	if (r == 0 && argc > 0)
		r = coati_writer_feature(w, COATI_FEATURE_CMDLINE, body.text, body.len);
	coati_strbuf_fini(&body);
	return r;
}

int coati_writer_tracing_data(struct coati_writer *w, const char *tracefs, struct coati_error *err)
{
	struct strbuf blob = STRBUF_INIT(SECTION_MAX);
	CLEANUP(freep) struct tracing_event *v = NULL;
	uint32_t nr = 0;
	int r;

	if (!w || !tracefs || w->started)
		return coati_fail(err, -EINVAL,
				  "tracing data comes from a tracefs, before the recording starts");
	v = coati_alloc_array(w->events.len, sizeof(*v));
	if (!v)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < w->events.len; i++)
		if (w->events.v[i].attr.type == COATI_TYPE_TRACEPOINT)
			v[nr++] = (struct tracing_event){ w->events.v[i].attr.config,
							  w->events.v[i].name };
	r = nr ? coati_tracing_data(tracefs, v, nr, &blob, err) : 0;
	if (r == 0 && nr)
		r = coati_writer_feature(w, COATI_FEATURE_TRACING_DATA, blob.text, blob.len);
	coati_strbuf_fini(&blob);
	return r;
}

int coati_writer_build_id(struct coati_writer *w, const struct coati_build_id *id)
{
	size_t len = (strlen(id->path) + 1 + 63) & ~(size_t)63, size = 36 + len;
	uint8_t rec[36 + 4160] = { 0 };

	if (!w || id->size > sizeof(id->id) || len > 4160)
		return -EINVAL;
	coati_writer_head(rec, COATI_RECORD_BUILD_ID, id->misc | COATI_MISC_BUILD_ID_SIZE, size);
	memcpy(rec + 8, &id->pid, 4);
	memcpy(rec + 12, id->id, id->size);
	rec[32] = id->size;
	memcpy(rec + 36, id->path, strlen(id->path));
	if (w->pipe)
		return coati_writer_record(w, rec, size);
	coati_strbuf_add(&w->features[COATI_FEATURE_BUILD_ID], rec, size);
	return w->features[COATI_FEATURE_BUILD_ID].failed;
}

int coati_writer_batch(struct coati_writer *w, const struct coati_batch *batch)
{
	uint8_t record[COATI_LIVE_BATCH_MAX + 128];
	struct coati_batch b = *batch;
	int size;

	for (size_t i = 0; i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		if (strcmp(e->name, COATI_LIVE_EVENT) != 0 || !e->nr_ids)
			continue;
		b.id = e->ids[0];
		size = coati_batch_encode(&b, record, sizeof(record));
		if (size < 0)
			return size;
		w->live_batches += b.kind == COATI_BATCH_TRACE;
		return coati_writer_record(w, record, (size_t)size);
	}
	return -EINVAL;
}
