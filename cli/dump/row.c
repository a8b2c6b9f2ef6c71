/* SPDX-License-Identifier: MIT */
/* A row is its text, cut into pieces, each with the value that follows it. */
#include "cli/dump/row.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/dump/record.h"
#include "cli/dump/stats.h"
#include "record/tracepoint.h"

#define STEPS_MAX 1024
#define TEXT_MAX  65536

/* What a row can tell; samples with more than this are walked. */
#define ROW_BITS                                                                                \
	(COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_ID | COATI_SAMPLE_STREAM_ID | COATI_SAMPLE_IP | \
	 COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_ADDR | COATI_SAMPLE_CPU |          \
	 COATI_SAMPLE_PERIOD | COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_RAW)

enum row_value {
	ROW_END,
	ROW_PID,
	ROW_TID,
	ROW_TIME,
	ROW_CPU,
	ROW_IP,
	ROW_ADDR,
	ROW_PERIOD,
	ROW_CHAIN,
	ROW_FIELD,
};

struct row_step {
	uint32_t start, len; /* the piece in front of the value */
	uint32_t value, field;
};

struct dump_row {
	const char *event; /* the name in it: one that comes late in a stream makes another row */
	bool is_usable;
	const struct coati_tracepoint *tp;
	struct strbuf text;
	uint32_t cut; /* where the last piece ends */
	ARRAY(struct row_step) steps;
};

/* ---- putting it together ---- */

static void add_value(struct dump_row *row, uint32_t value, uint32_t field)
{
	struct row_step *step = ARRAY_ADD(&row->steps);

	if (!step) {
		row->text.failed = -ENOMEM;
		return;
	}
	*step = (struct row_step){ row->cut, (uint32_t)row->text.len - row->cut, value, field };
	row->cut = (uint32_t)row->text.len;
}

static void add_named(struct dump_row *row, const char *name, uint32_t value)
{
	coati_strbuf_printf(&row->text, ",\"%s\":", name);
	add_value(row, value, 0);
}

static void add_address(struct dump_row *row, const char *name, uint32_t value)
{
	coati_strbuf_printf(&row->text, ",\"%s\":\"0x", name);
	add_value(row, value, 0);
	coati_strbuf_addc(&row->text, '"');
}

static void add_fields(struct dump_row *row)
{
	struct json j = json_to(&row->text);

	coati_strbuf_adds(&row->text, ",\"fields\":");
	coati_json_object(&j);
	for (uint32_t i = 0; i < coati_tracepoint_field_count(row->tp); i++) {
		const struct coati_tracepoint_field *field = coati_tracepoint_field(row->tp, i);

		if (field->is_common)
			continue;
		coati_json_key(&j, field->name);
		add_value(row, ROW_FIELD, i);
		j.after_key = false; /* the value comes later */
	}
	coati_json_end(&j);
}

static void add_all(struct dump_row *row, uint64_t type)
{
	struct json j = json_to(&row->text);

	coati_json_object(&j);
	coati_json_kstr(&j, "type", "SAMPLE");
	coati_json_kstr(&j, "event", row->event);
	if (type & COATI_SAMPLE_TID) {
		add_named(row, "pid", ROW_PID);
		add_named(row, "tid", ROW_TID);
	}
	add_named(row, "time_ns", ROW_TIME);
	if (type & COATI_SAMPLE_CPU)
		add_named(row, "cpu", ROW_CPU);
	if (type & COATI_SAMPLE_IP)
		add_address(row, "ip", ROW_IP);
	if (type & COATI_SAMPLE_ADDR)
		add_address(row, "addr", ROW_ADDR);
	if (type & COATI_SAMPLE_PERIOD)
		add_named(row, "period", ROW_PERIOD);
	if (type & COATI_SAMPLE_CALLCHAIN)
		add_named(row, "callchain", ROW_CHAIN);
	if (type & COATI_SAMPLE_RAW)
		add_fields(row);
	coati_json_end(&j);
	coati_strbuf_addc(&row->text, '\n');
	add_value(row, ROW_END, 0);
}

static void free_row(struct dump_row *row)
{
	if (!row)
		return;
	coati_strbuf_fini(&row->text);
	ARRAY_FINI(&row->steps);
	coati_free(row);
}

static struct dump_row *new_row(struct dump_fields *fields, const struct coati_recording *r,
				uint32_t event, const char *name)
{
	uint64_t type = coati_recording_event(r, event)->attr.sample_type;
	struct dump_row *row = coati_alloc(sizeof(*row));

	if (!row)
		return NULL;
	row->event = name;
	row->text = (struct strbuf)STRBUF_INIT(TEXT_MAX);
	row->steps.max = STEPS_MAX;
	if (type & COATI_SAMPLE_RAW)
		row->tp = coati_dump_format(fields, r, event);
	if (type & ~ROW_BITS || (type & COATI_SAMPLE_RAW && !row->tp))
		return row;
	add_all(row, type);
	row->is_usable = !row->text.failed;
	return row;
}

/* ---- one line ---- */

static void put_chain(struct strbuf *out, const struct coati_u64s *chain)
{
	struct json j = json_to(out);

	coati_json_array(&j);
	for (uint32_t i = 0; i < chain->count; i++) {
		uint64_t v = coati_u64_at(chain, i);
		const char *mark = coati_context_name(v);

		if (mark)
			coati_json_str(&j, mark);
		else
			coati_json_hex(&j, v);
	}
	coati_json_end(&j);
}

/* False: it cannot be read, or is bytes of no known shape. */
static bool put_field(struct strbuf *out, const struct coati_tracepoint *tp, uint32_t field,
		      const struct coati_payload *p)
{
	struct coati_field_value v;
	struct json j = json_to(out);

	if (coati_tracepoint_read(tp, field, p, &v) != 0)
		return false;
	switch (v.kind) {
	case COATI_FIELD_NUMBER:
		if (v.is_signed)
			coati_strbuf_i64(out, (int64_t)v.number);
		else
			coati_strbuf_u64(out, v.number);
		return true;
	case COATI_FIELD_ARRAY:
		coati_dump_array(&j, &v);
		return true;
	case COATI_FIELD_STRING:
		coati_json_strn(&j, (const char *)v.bytes, v.size);
		return true;
	default:
		return false;
	}
}

static void put_number(struct strbuf *out, uint32_t value, const struct coati_recording_item *item,
		       const struct coati_record *rec)
{
	const struct coati_sample *s = &rec->u.sample;

	switch (value) {
	case ROW_PID:
		return coati_strbuf_i64(out, (int32_t)rec->id.pid);
	case ROW_TID:
		return coati_strbuf_i64(out, (int32_t)rec->id.tid);
	case ROW_TIME:
		return coati_strbuf_u64(out, item->time);
	case ROW_CPU:
		return coati_strbuf_u64(out, rec->id.cpu);
	case ROW_IP:
		return coati_strbuf_hex(out, s->ip);
	case ROW_ADDR:
		return coati_strbuf_hex(out, s->addr);
	case ROW_PERIOD:
		return coati_strbuf_u64(out, s->period);
	case ROW_CHAIN:
		return put_chain(out, &s->callchain);
	}
}

static bool put_row(const struct dump_row *row, const struct coati_recording_item *item,
		    const struct coati_record *rec, struct strbuf *out)
{
	const struct coati_payload payload = { rec->u.sample.raw, rec->u.sample.raw_size,
					       item->raw.swap };

	for (size_t i = 0; i < row->steps.len; i++) {
		const struct row_step *step = &row->steps.v[i];

		coati_strbuf_add(out, row->text.text + step->start, step->len);
		if (step->value != ROW_FIELD)
			put_number(out, step->value, item, rec);
		else if (!put_field(out, row->tp, step->field, &payload))
			return false;
	}
	return true;
}

static const struct dump_row *find_row(struct dump_rows *rows, const struct coati_recording *r,
				       uint32_t event)
{
	const struct coati_recording_event *e = coati_recording_event(r, event);
	struct dump_row **row;
	const char *name;

	if (event >= FIELDS_EVENTS || !e)
		return NULL;
	row = &rows->by_event[event];
	name = e->name;
	if (*row && (*row)->event != name) {
		free_row(*row);
		*row = NULL;
	}
	if (!*row)
		*row = new_row(rows->fields, r, event, name);
	return *row && (*row)->is_usable ? *row : NULL;
}

bool coati_dump_row(struct dump_rows *rows, const struct coati_recording *r,
		    const struct coati_recording_item *item, const struct coati_record *rec,
		    struct strbuf *out)
{
	size_t before = out->len;
	const struct dump_row *row;

	if (item->raw.type != COATI_RECORD_SAMPLE || item->flags || !item->time || rec->extra_size)
		return false;
	row = find_row(rows, r, item->event);
	if (!row)
		return false;
	if (put_row(row, item, rec, out))
		return true;
	out->len = before;
	out->text[before] = '\0';
	return false;
}

void coati_dump_rows_fini(struct dump_rows *rows)
{
	for (uint32_t i = 0; i < FIELDS_EVENTS; i++)
		free_row(rows->by_event[i]);
}
