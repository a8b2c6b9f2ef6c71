/* SPDX-License-Identifier: MIT */
/* Each event's format is parsed once. */
#include "cli/dump/fields.h"

#include "record/tracepoint.h"

const struct coati_tracepoint *coati_dump_format(struct dump_fields *f,
						 const struct coati_recording *r, uint32_t event)
{
	const struct coati_recording_event *e = coati_recording_event(r, event);
	const char *text;
	uint64_t size;

	if (event >= FIELDS_EVENTS || !e || e->attr.type != COATI_TYPE_TRACEPOINT)
		return NULL;
	if (!f->tried[event]) {
		f->tried[event] = 1;
		text = coati_recording_tracepoint(r, e->attr.config, &size);
		if (text)
			coati_tracepoint_parse(text, size, &f->by_event[event], NULL);
	}
	return f->by_event[event];
}

void coati_dump_array(struct json *j, const struct coati_field_value *v)
{
	coati_json_array(j);
	for (uint32_t i = 0; i < v->count; i++) {
		uint64_t n = coati_field_value_at(v, i);

		if (v->is_signed)
			coati_json_i64(j, (int64_t)n);
		else
			coati_json_u64(j, n);
	}
	coati_json_end(j);
}

static void add_field(struct sink *s, const char *name, const struct coati_field_value *v)
{
	switch (v->kind) {
	case COATI_FIELD_NUMBER:
		if (v->is_signed)
			coati_sink_i64(s, name, (int64_t)v->number);
		else
			coati_sink_u64(s, name, v->number);
		break;
	case COATI_FIELD_STRING:
		coati_sink_textn(s, name, (const char *)v->bytes, v->size);
		break;
	case COATI_FIELD_ARRAY:
		coati_json_key(&s->json, name);
		coati_dump_array(&s->json, v);
		break;
	default:
		coati_sink_bytes(s, name, v->bytes, v->size);
	}
}

static void json_fields(struct sink *s, const struct coati_tracepoint *tp,
			const struct coati_payload *p)
{
	uint32_t nr = coati_tracepoint_field_count(tp);

	coati_sink_object(s, "fields");
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_tracepoint_field *field = coati_tracepoint_field(tp, i);
		struct coati_field_value v;

		if (!field->is_common && coati_tracepoint_read(tp, i, p, &v) == 0)
			add_field(s, field->name, &v);
	}
	coati_sink_object_end(s);
}

static void text_fields(struct sink *s, const struct coati_tracepoint *tp,
			const struct coati_payload *p)
{
	char line[4096];
	int n = coati_tracepoint_print(tp, p, NULL, line, sizeof(line));

	if (n < 0) {
		coati_sink_bytes(s, "payload", p->bytes, p->size);
		return;
	}
	coati_strbuf_addc(s->out, ' ');
	coati_strbuf_clean(s->out, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

void coati_dump_fields(struct dump_fields *f, struct sink *s, const struct coati_recording *r,
		       uint32_t event, const struct coati_payload *payload)
{
	const struct coati_tracepoint *tp = coati_dump_format(f, r, event);

	if (!tp)
		coati_sink_bytes(s, "payload", payload->bytes, payload->size);
	else if (s->is_json)
		json_fields(s, tp, payload);
	else
		text_fields(s, tp, payload);
}

void coati_dump_fields_fini(struct dump_fields *f)
{
	for (uint32_t i = 0; i < FIELDS_EVENTS; i++)
		coati_tracepoint_free(f->by_event[i]);
}
