/* SPDX-License-Identifier: MIT */
/* The writer of pprof files: texts, locations and functions get their numbers when they are first
 * met, and are written there and then. */
#include "live/pprof/pprof.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/pprof-fields.h"
#include "base/proto.h"

#define TEXTS_BYTES_MAX ((size_t)64 << 20)
#define TEXT_MAX	(1u << 20)
#define LOCATIONS_MAX	(1u << 22)

/* ---- the wire ---- */

static void put_varint(struct strbuf *s, uint64_t v)
{
	struct proto p = proto_to(s);

	coati_proto_varint(&p, v);
}

static void put_uint(struct strbuf *s, uint32_t field, uint64_t v)
{
	struct proto p = proto_to(s);

	coati_proto_uint(&p, field, v);
}

static void put_bytes(struct strbuf *s, uint32_t field, const void *bytes, size_t size)
{
	struct proto p = proto_to(s);

	coati_proto_bytes(&p, field, bytes, size);
}

static void put_message(struct pprof *p, uint32_t field)
{
	put_bytes(&p->to, field, p->message.text, p->message.len);
	p->failed = p->message.failed ? p->message.failed : p->failed;
	coati_strbuf_clear(&p->message);
}

static void put_inner(struct pprof *p, uint32_t field)
{
	put_bytes(&p->message, field, p->inner.text, p->inner.len);
	p->failed = p->inner.failed ? p->inner.failed : p->failed;
	coati_strbuf_clear(&p->inner);
}

/* The number of a text in the table; fields of texts may come in any order. */
static uint64_t text_id(struct pprof *p, const char *text)
{
	uint64_t id;
	char *copy;

	if (coati_map_get_str(&p->text_ids, text, &id))
		return id;
	copy = coati_arena_strdup(&p->texts, text);
	if (!copy || coati_map_put_str(&p->text_ids, copy, p->nr_texts) < 0) {
		p->failed = -ENOMEM;
		return 0;
	}
	put_bytes(&p->to, PPROF_STRING, text, strlen(text));
	return p->nr_texts++;
}

/* ---- locations ---- */

/* 0 when it has no name. */
static uint64_t function_of(struct pprof *p, struct live_mapping *m, uint64_t addr)
{
	uint64_t into, id, name;
	const char *text = p->names ? coati_maps_name(&p->maps, m, addr, &into) : NULL;

	if (!text)
		return 0;
	if (coati_map_get(&p->function_ids, addr - into, &id))
		return id;
	id = p->function_ids.len + 1;
	if (coati_map_put(&p->function_ids, addr - into, id) < 0) {
		p->failed = -E2BIG;
		return 0;
	}
	name = text_id(p, text);
	put_uint(&p->message, PPROF_FUNCTION_ID, id);
	put_uint(&p->message, PPROF_FUNCTION_NAME, name);
	put_uint(&p->message, PPROF_FUNCTION_SYMBOL, name);
	put_message(p, PPROF_FUNCTION);
	return id;
}

/* 0 when the address lies in no code. */
static uint64_t location_of(struct pprof *p, uint64_t addr)
{
	struct live_mapping *mapping = coati_maps_find(&p->maps, addr);
	uint64_t id, function;

	if (!mapping)
		return 0;
	if (coati_map_get(&p->location_ids, addr, &id))
		return id;
	id = p->location_ids.len + 1;
	if (coati_map_put(&p->location_ids, addr, id) < 0) {
		p->failed = -E2BIG;
		return 0;
	}
	function = function_of(p, mapping, addr);
	if (function) {
		put_uint(&p->inner, PPROF_LINE_FUNCTION, function);
		put_inner(p, PPROF_LOCATION_LINE);
	}
	put_uint(&p->message, PPROF_LOCATION_ID, id);
	put_uint(&p->message, PPROF_LOCATION_MAPPING, (uint64_t)(mapping - p->maps.list) + 1);
	put_uint(&p->message, PPROF_LOCATION_ADDRESS, addr);
	put_message(p, PPROF_LOCATION);
	return id;
}

static void put_mapping(struct pprof *p, const struct live_mapping *m)
{
	uint64_t path = text_id(p, m->path), build_id = text_id(p, m->build_id);

	put_uint(&p->message, PPROF_MAPPING_ID, (uint64_t)(m - p->maps.list) + 1);
	put_uint(&p->message, PPROF_MAPPING_START, m->start);
	put_uint(&p->message, PPROF_MAPPING_LIMIT, m->end);
	put_uint(&p->message, PPROF_MAPPING_OFFSET, m->offset);
	put_uint(&p->message, PPROF_MAPPING_FILE, path);
	put_uint(&p->message, PPROF_MAPPING_BUILD_ID, build_id);
	put_uint(&p->message, PPROF_MAPPING_HAS_FUNCTIONS, m->names.len > 0);
	put_message(p, PPROF_MAPPING);
}

/* At the end: only then it is known whose names were read. Readers take the first for the program,
 * which need not have the lowest address. */
static void put_mappings(struct pprof *p)
{
	const struct live_mapping *program = coati_maps_find(&p->maps, getauxval(AT_ENTRY));

	if (program)
		put_mapping(p, program);
	for (uint32_t i = 0; i < p->maps.len; i++)
		if (&p->maps.list[i] != program)
			put_mapping(p, &p->maps.list[i]);
}

/* ---- samples ---- */

static void put_text_label(struct pprof *p, const char *key, const char *text)
{
	put_uint(&p->inner, PPROF_LABEL_KEY, text_id(p, key));
	put_uint(&p->inner, PPROF_LABEL_STR, text_id(p, text));
	put_inner(p, PPROF_SAMPLE_LABEL);
}

static void put_number_label(struct pprof *p, const char *key, uint64_t number, const char *unit)
{
	put_uint(&p->inner, PPROF_LABEL_KEY, text_id(p, key));
	put_uint(&p->inner, PPROF_LABEL_NUM, number);
	put_uint(&p->inner, PPROF_LABEL_UNIT, text_id(p, unit));
	put_inner(p, PPROF_SAMPLE_LABEL);
}

static void put_labels(struct pprof *p, const struct coati_labels *labels)
{
	char value[COATI_LABEL_VALUE_BYTES + 1];
	struct coati_label_item item;
	uint32_t pos = 0;

	while (coati_labels_next(labels, &pos, &item) == 1) {
		uint32_t size = item.size < sizeof(value) ? item.size : sizeof(value) - 1;

		memcpy(value, item.value, size);
		value[size] = '\0';
		put_text_label(p, item.key, value);
	}
}

static void put_stack(struct pprof *p, const struct pprof_sample *s)
{
	uint64_t ids[SAMPLER_DEPTH_MAX];
	uint32_t n = 0;

	for (; n < s->nr_frames && n < SAMPLER_DEPTH_MAX; n++) {
		/* callers: into the call, not behind it. What is no code was no frame pointer, and
		 * nor is what it led to. */
		ids[n] = location_of(p, s->frames[n] - (n > 0 || s->leaf_is_call));
		if (!ids[n] && n > 0)
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		if (ids[i])
			put_varint(&p->inner, ids[i]);
	put_inner(p, PPROF_SAMPLE_LOCATION);
}

void coati_pprof_add(struct pprof *p, const struct pprof_sample *s)
{
	put_stack(p, s);
	for (uint32_t i = 0; i < s->nr_values; i++)
		put_varint(&p->inner, s->values[i]);
	put_inner(p, PPROF_SAMPLE_VALUE);
	if (s->tid)
		put_number_label(p, "thread", s->tid, "id");
	if (s->bytes)
		put_number_label(p, "bytes", s->bytes, "bytes");
	for (uint32_t i = 0; i < PPROF_MORE && s->more[i][0]; i++)
		put_text_label(p, s->more[i][0], s->more[i][1]);
	if (s->labels)
		put_labels(p, s->labels);
	put_message(p, PPROF_SAMPLE);
}

/* ---- the whole ---- */

static void put_value_type(struct pprof *p, uint32_t field, const char *type, const char *unit)
{
	put_uint(&p->message, PPROF_TYPE_TYPE, text_id(p, type));
	put_uint(&p->message, PPROF_TYPE_UNIT, text_id(p, unit));
	put_message(p, field);
}

void coati_pprof_sample_type(struct pprof *p, const char *type, const char *unit)
{
	put_value_type(p, PPROF_SAMPLE_TYPE, type, unit);
}

void coati_pprof_default_type(struct pprof *p, const char *type)
{
	uint64_t id = text_id(p, type);

	put_uint(&p->to, PPROF_DEFAULT_TYPE, id);
}

void coati_pprof_period(struct pprof *p, const char *type, const char *unit, uint64_t period)
{
	put_value_type(p, PPROF_PERIOD_TYPE, type, unit);
	put_uint(&p->to, PPROF_PERIOD, period);
}

void coati_pprof_time(struct pprof *p, uint64_t time_ns, uint64_t duration_ns)
{
	put_uint(&p->to, PPROF_TIME, time_ns);
	put_uint(&p->to, PPROF_DURATION, duration_ns);
}

void coati_pprof_comment(struct pprof *p, const char *fmt, ...)
{
	uint64_t id;
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&p->inner, fmt, ap);
	va_end(ap);
	id = text_id(p, p->inner.text);
	put_uint(&p->to, PPROF_COMMENT, id);
	coati_strbuf_clear(&p->inner);
}

void coati_pprof_init(struct pprof *p, bool names, size_t max)
{
	*p = (struct pprof){ .to = STRBUF_INIT(max),
			     .message = STRBUF_INIT(TEXT_MAX),
			     .inner = STRBUF_INIT(TEXT_MAX),
			     .names = names };
	coati_arena_init(&p->texts, TEXTS_BYTES_MAX);
	coati_map_init_strings(&p->text_ids, TEXT_MAX);
	coati_map_init(&p->location_ids, LOCATIONS_MAX);
	coati_map_init(&p->function_ids, LOCATIONS_MAX);
	p->failed = coati_maps_open(&p->maps);
	text_id(p, ""); /* the first one must be */
}

void coati_pprof_fini(struct pprof *p)
{
	coati_maps_close(&p->maps);
	coati_map_fini(&p->function_ids);
	coati_map_fini(&p->location_ids);
	coati_map_fini(&p->text_ids);
	coati_arena_fini(&p->texts);
	coati_strbuf_fini(&p->inner);
	coati_strbuf_fini(&p->message);
	coati_strbuf_fini(&p->to);
}

int coati_pprof_finish(struct pprof *p, struct strbuf *ret)
{
	int r;

	put_mappings(p);
	r = p->failed ? p->failed : p->to.failed;
	if (r == 0)
		coati_gzip_store(ret, &p->to);
	return r ? r : ret->failed;
}
