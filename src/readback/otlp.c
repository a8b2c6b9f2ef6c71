/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry profiles are added up and judged: every table of the dictionary has its zero at 0,
 * all that is named is there, a profile has one type and a sample one value without times.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/proto.h"
#include "format/otlp.h"
#include "readback/readback.h"

#define TABLE_MAX ((size_t)1 << 28)

struct piece {
	const uint8_t *bytes;
	size_t size;
};

/* The rows of each table of the dictionary, as they lie there. */
struct otlp_reading {
	ARRAY(struct piece) tables[OTLP_STACKS + 1];
	struct tally *t;
	struct strbuf text;
	struct coati_error *err;
};

static int bad(struct otlp_reading *r, const char *why)
{
	return coati_fail(r->err, -EBADMSG, "%s", why);
}

static const struct piece *row(const struct otlp_reading *r, uint32_t table, uint64_t i)
{
	return i < r->tables[table].len ? &r->tables[table].v[i] : NULL;
}

/* Field @field of row @i, a number; 0 when it is not there. */
static uint64_t number_in(const struct otlp_reading *r, uint32_t table, uint64_t i, uint32_t field)
{
	const struct piece *p = row(r, table, i);
	struct proto_reader f = proto_over(p ? p->bytes : NULL, p ? p->size : 0);
	uint64_t v = 0;

	while (coati_proto_next(&f))
		if (f.field == field && f.wire == PROTO_VARINT)
			v = f.value;
	return v;
}

static bool is_string(const struct otlp_reading *r, uint64_t i, const char *text)
{
	const struct piece *p = row(r, OTLP_STRINGS, i);

	return p && p->size == strlen(text) && !memcmp(p->bytes, text, p->size);
}

/* Bytes as a terminated text; NULL: without memory or with a zero in it. */
static const char *text_of(struct otlp_reading *r, const void *bytes, size_t size)
{
	coati_strbuf_clear(&r->text);
	coati_strbuf_add(&r->text, bytes, size);
	if (r->text.failed || strlen(r->text.text) != size)
		return NULL;
	return r->text.text;
}

/* ---- the dictionary ---- */

static int take_dictionary(struct otlp_reading *r, struct proto_reader f)
{
	while (coati_proto_next(&f)) {
		struct piece *p;

		if (f.field > OTLP_STACKS || f.wire != PROTO_BYTES)
			continue;
		p = ARRAY_ADD(&r->tables[f.field]);
		if (!p)
			return -ENOMEM;
		*p = (struct piece){ f.bytes, f.size };
	}
	if (f.bad)
		return bad(r, "the dictionary is malformed");
	for (uint32_t i = OTLP_MAPPINGS; i <= OTLP_STACKS; i++)
		if (!r->tables[i].len || (i != OTLP_LINKS && r->tables[i].v[0].size))
			return bad(r, "a table of the dictionary does not begin with its zero");
	return 0;
}

/* The innermost location of a stack, after a look at all of them. */
static int innermost_of(struct otlp_reading *r, uint64_t stack, uint64_t *ret)
{
	const struct piece *p = row(r, OTLP_STACKS, stack);
	struct proto_reader f = proto_over(p ? p->bytes : NULL, p ? p->size : 0);
	uint64_t location;

	*ret = 0;
	if (!p || !stack)
		return bad(r, "a sample names a stack that is not there");
	while (coati_proto_next(&f)) {
		struct cursor c = coati_proto_numbers(&f);

		while (f.field == OTLP_STACK_LOCATION && coati_proto_number(&f, &c, &location)) {
			if (!location || !row(r, OTLP_LOCATIONS, location))
				return bad(r, "a stack names a location that is not there");
			*ret = *ret ? *ret : location;
		}
	}
	return f.bad || !*ret ? bad(r, "a stack is malformed") : 0;
}

/* The number of the function of the innermost line, in the tally. */
static int function_of(struct otlp_reading *r, uint64_t location, uint32_t *ret)
{
	const struct piece *p = row(r, OTLP_LOCATIONS, location), *name;
	struct proto_reader f = proto_over(p->bytes, p->size), line;
	uint64_t function = 0;
	const char *text;

	while (coati_proto_next(&f) && !function) {
		if (f.field != OTLP_LOCATION_LINE)
			continue;
		line = proto_sub(&f);
		while (coati_proto_next(&line))
			if (line.field == OTLP_LINE_FUNCTION)
				function = line.value;
	}
	if (number_in(r, OTLP_LOCATIONS, location, OTLP_LOCATION_MAPPING) >=
	    r->tables[OTLP_MAPPINGS].len)
		return bad(r, "a location names a mapping that is not there");
	if (!function || !row(r, OTLP_FUNCTIONS, function))
		return bad(r, "a location names a function that is not there");
	name = row(r, OTLP_STRINGS, number_in(r, OTLP_FUNCTIONS, function, OTLP_FUNCTION_NAME));
	text = name ? text_of(r, name->bytes, name->size) : NULL;
	if (r->text.failed)
		return r->text.failed;
	if (!text)
		return bad(r, "a function has no name");
	*ret = coati_tally_function(r->t, text);
	return 0;
}

/* ---- samples ---- */

struct sample {
	uint64_t stack, value;
	uint32_t nr_values;
	int64_t pid, tid;
	struct piece thread_name;
	uint32_t found; /* of the three above */
};

static int take_attribute(struct otlp_reading *r, uint64_t i, struct sample *s)
{
	const struct piece *p = row(r, OTLP_ATTRIBUTES, i);
	uint64_t key = number_in(r, OTLP_ATTRIBUTES, i, OTLP_ATTRIBUTE_KEY);
	struct proto_reader f = proto_over(p ? p->bytes : NULL, p ? p->size : 0), value = { 0 };

	if (!p || !i || !row(r, OTLP_STRINGS, key))
		return bad(r, "a sample names an attribute that is not there");
	while (coati_proto_next(&f))
		if (f.field == OTLP_ATTRIBUTE_VALUE)
			value = proto_sub(&f);
	while (coati_proto_next(&value)) {
		if (value.field == OTLP_ANY_INT && is_string(r, key, "process.pid"))
			s->pid = (int64_t)value.value, s->found |= 1;
		else if (value.field == OTLP_ANY_INT && is_string(r, key, "thread.id"))
			s->tid = (int64_t)value.value, s->found |= 2;
		else if (value.field == OTLP_ANY_STRING && is_string(r, key, "thread.name"))
			s->thread_name = (struct piece){ value.bytes, value.size }, s->found |= 4;
	}
	return 0;
}

static int add_sample(struct otlp_reading *r, const struct sample *s)
{
	uint32_t thread, function = 0;
	uint64_t location;
	const char *name;
	int n = innermost_of(r, s->stack, &location);

	if (n < 0)
		return n;
	if (s->nr_values != 1)
		return bad(r, "a sample has not one value");
	if (s->found != 7)
		return bad(r, "a sample does not say its thread");
	name = text_of(r, s->thread_name.bytes, s->thread_name.size);
	if (!name)
		return r->text.failed ? r->text.failed : bad(r, "a name has a zero in it");
	thread = coati_tally_thread(r->t, s->pid, s->tid, name);
	n = function_of(r, location, &function);
	if (n == 0)
		coati_tally_add(r->t, thread, function, s->value);
	return n < 0 ? n : r->t->failed;
}

static int take_sample(struct otlp_reading *r, struct proto_reader f)
{
	struct sample s = { 0 };
	uint64_t v;
	int n = 0;

	while (n == 0 && coati_proto_next(&f)) {
		struct cursor c = coati_proto_numbers(&f);

		if (f.field == OTLP_SAMPLE_STACK)
			s.stack = f.value;
		else if (f.field == OTLP_SAMPLE_ATTRIBUTE)
			while (n == 0 && coati_proto_number(&f, &c, &v))
				n = take_attribute(r, v, &s);
		else if (f.field == OTLP_SAMPLE_VALUE)
			while (coati_proto_number(&f, &c, &v))
				s.value = v, s.nr_values++;
	}
	if (n == 0 && f.bad)
		n = bad(r, "a sample is malformed");
	return n == 0 ? add_sample(r, &s) : n;
}

static int take_profile(struct otlp_reading *r, struct proto_reader f)
{
	uint32_t types = 0;
	int n = 0;

	while (n == 0 && coati_proto_next(&f)) {
		if (f.field == OTLP_SAMPLE)
			n = take_sample(r, proto_sub(&f));
		types += f.field == OTLP_SAMPLE_TYPE;
	}
	if (n == 0 && (f.bad || types != 1))
		n = bad(r, f.bad ? "a profile is malformed" : "a profile has not one type");
	return n;
}

/* Fields @field of a message, each given to @take. */
static int each(struct otlp_reading *r, struct proto_reader f, uint32_t field,
		int (*take)(struct otlp_reading *r, struct proto_reader f))
{
	int n = 0;

	while (n == 0 && coati_proto_next(&f))
		if (f.field == field && f.wire == PROTO_BYTES)
			n = take(r, proto_sub(&f));
	return n == 0 && f.bad ? bad(r, "it is not a protocol buffer") : n;
}

static int take_scope(struct otlp_reading *r, struct proto_reader f)
{
	return each(r, f, OTLP_PROFILE, take_profile);
}

static int take_resource(struct otlp_reading *r, struct proto_reader f)
{
	return each(r, f, OTLP_SCOPE_PROFILES, take_scope);
}

int coati_otlp_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct otlp_reading r = { .t = t, .err = err, .text = STRBUF_INIT(SIZE_MAX / 4) };
	int n;

	for (uint32_t i = 0; i <= OTLP_STACKS; i++)
		r.tables[i].max = TABLE_MAX;
	n = each(&r, proto_over(bytes, size), OTLP_DICTIONARY, take_dictionary);
	if (n == 0 && !r.tables[OTLP_STRINGS].len)
		n = bad(&r, "it has no dictionary");
	if (n == 0)
		n = each(&r, proto_over(bytes, size), OTLP_RESOURCE_PROFILES, take_resource);
	if (n < 0 && n != -EBADMSG)
		coati_fail(err, n, "reading back: %m");
	for (uint32_t i = 0; i <= OTLP_STACKS; i++)
		ARRAY_FINI(&r.tables[i]);
	coati_strbuf_fini(&r.text);
	return n;
}
