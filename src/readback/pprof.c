/* SPDX-License-Identifier: MIT */
/*
 * A profile.proto is added up, and judged as strictly as go tool pprof does: string 0 is "", each
 * sample has as many values as there are types, ids are not 0 and occur once, everything that is
 * named is there, addresses lie in their mappings.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/pprof-fields.h"
#include "base/proto.h"
#include "readback/readback.h"

#define TABLE_MAX ((size_t)1 << 28)

struct text {
	const uint8_t *bytes;
	size_t size;
};

struct range {
	uint64_t start, limit;
};

struct pprof_reading {
	ARRAY(struct text) strings;
	ARRAY(uint32_t) function_names;	 /* as met: string */
	ARRAY(uint64_t) innermost;	 /* of locations, as met: id of the function */
	ARRAY(struct range) mappings;	 /* as met */
	struct map functions, locations; /* by id: number as met */
	struct map mapping_ids;
	uint64_t nr_types, default_type;
	struct tally *t;
	struct strbuf name;
	struct coati_error *err;
};

static int bad(struct pprof_reading *r, const char *why)
{
	return coati_fail(r->err, -EBADMSG, "%s", why);
}

/* ---- the tables ---- */

static int take_string(struct pprof_reading *r, const struct proto_reader *field)
{
	struct text *text = ARRAY_ADD(&r->strings);

	if (!text)
		return -ENOMEM;
	*text = (struct text){ field->bytes, field->size };
	if (field->size && memchr(field->bytes, 0, field->size))
		return bad(r, "a string has a zero byte");
	return r->strings.len == 1 && field->size ? bad(r, "string 0 is not empty") : 0;
}

/* Once and not 0. */
static int take_id(struct pprof_reading *r, struct map *ids, uint64_t id, uint64_t number)
{
	int n;

	if (!id)
		return bad(r, "something has the number 0");
	n = coati_map_put(ids, id, number);
	return n == 0 ? bad(r, "two things have the same number") : n < 0 ? n : 0;
}

static int take_function(struct pprof_reading *r, struct proto_reader f)
{
	uint32_t *name = ARRAY_ADD(&r->function_names);
	uint64_t id = 0;

	if (!name)
		return -ENOMEM;
	while (coati_proto_next(&f)) {
		if (f.field == PPROF_FUNCTION_ID)
			id = f.value;
		else if (f.field == PPROF_FUNCTION_NAME)
			*name = f.value < UINT32_MAX ? (uint32_t)f.value : UINT32_MAX;
	}
	return f.bad ? bad(r, "a function is malformed")
		     : take_id(r, &r->functions, id, r->function_names.len - 1);
}

static int take_mapping(struct pprof_reading *r, struct proto_reader f)
{
	struct range *range = ARRAY_ADD(&r->mappings);
	uint64_t id = 0;

	if (!range)
		return -ENOMEM;
	while (coati_proto_next(&f)) {
		if (f.field == PPROF_MAPPING_ID)
			id = f.value;
		else if (f.field == PPROF_MAPPING_START)
			range->start = f.value;
		else if (f.field == PPROF_MAPPING_LIMIT)
			range->limit = f.value;
	}
	return f.bad ? bad(r, "a mapping is malformed")
		     : take_id(r, &r->mapping_ids, id, r->mappings.len - 1);
}

/* The function of the first line, which is the innermost. */
static uint64_t function_of_line(struct proto_reader f)
{
	uint64_t function = 0;

	while (coati_proto_next(&f))
		if (f.field == PPROF_LINE_FUNCTION)
			function = f.value;
	return f.bad ? 0 : function;
}

static int check_address(struct pprof_reading *r, uint64_t mapping, uint64_t address)
{
	const struct range *range;
	uint64_t number;

	if (!mapping)
		return 0;
	if (!coati_map_get(&r->mapping_ids, mapping, &number))
		return bad(r, "a location names a mapping that is not there");
	range = &r->mappings.v[number];
	if (range->limit && (address < range->start || address >= range->limit))
		return bad(r, "a location lies outside of its mapping");
	return 0;
}

static int take_location(struct pprof_reading *r, struct proto_reader f)
{
	uint64_t *innermost = ARRAY_ADD(&r->innermost);
	uint64_t id = 0, mapping = 0, address = 0;
	int n;

	if (!innermost)
		return -ENOMEM;
	while (coati_proto_next(&f)) {
		if (f.field == PPROF_LOCATION_ID)
			id = f.value;
		else if (f.field == PPROF_LOCATION_MAPPING)
			mapping = f.value;
		else if (f.field == PPROF_LOCATION_ADDRESS)
			address = f.value;
		else if (f.field == PPROF_LOCATION_LINE && !*innermost)
			*innermost = function_of_line(proto_sub(&f));
	}
	n = f.bad ? bad(r, "a location is malformed")
		  : take_id(r, &r->locations, id, r->innermost.len - 1);
	return n < 0 ? n : check_address(r, mapping, address);
}

/* ---- samples ---- */

static const char *string_at(struct pprof_reading *r, uint64_t i)
{
	if (i >= r->strings.len)
		return NULL;
	coati_strbuf_clear(&r->name);
	coati_strbuf_add(&r->name, r->strings.v[i].bytes, r->strings.v[i].size);
	return r->name.failed ? NULL : r->name.text;
}

static bool is_string(const struct pprof_reading *r, uint64_t i, const char *text)
{
	return i < r->strings.len && r->strings.v[i].size == strlen(text) &&
	       !memcmp(r->strings.v[i].bytes, text, strlen(text));
}

struct sample {
	uint64_t leaf; /* id of the innermost location */
	uint64_t nr_locations, nr_values;
	uint64_t count, weight;
	uint64_t thread_id, thread_name, process_id; /* strings */
};

static int take_label(struct pprof_reading *r, struct proto_reader f, struct sample *s)
{
	uint64_t key = 0, str = 0;

	while (coati_proto_next(&f)) {
		if (f.field == PPROF_LABEL_KEY)
			key = f.value;
		else if (f.field == PPROF_LABEL_STR)
			str = f.value;
	}
	if (f.bad || !key || key >= r->strings.len || str >= r->strings.len)
		return bad(r, "a label is malformed");
	if (!s->thread_id && is_string(r, key, "thread_id"))
		s->thread_id = str;
	else if (!s->thread_name && is_string(r, key, "thread_name"))
		s->thread_name = str;
	else if (!s->process_id && is_string(r, key, "process_id"))
		s->process_id = str;
	return 0;
}

static int take_locations(struct pprof_reading *r, struct proto_reader *f, struct sample *s)
{
	struct cursor c = coati_proto_numbers(f);
	uint64_t id, number;

	while (coati_proto_number(f, &c, &id)) {
		if (!coati_map_get(&r->locations, id, &number))
			return bad(r, "a sample names a location that is not there");
		if (!s->nr_locations++)
			s->leaf = number;
	}
	return 0;
}

static void take_values(struct pprof_reading *r, struct proto_reader *f, struct sample *s)
{
	struct cursor c = coati_proto_numbers(f);
	uint64_t value;

	while (coati_proto_number(f, &c, &value)) {
		if (!s->nr_values++)
			s->count = value;
		else if (__builtin_add_overflow(s->weight, value, &s->weight))
			s->weight = UINT64_MAX;
	}
}

static int number_in(struct pprof_reading *r, uint64_t string, int64_t *ret)
{
	const char *text = string_at(r, string);

	if (r->name.failed)
		return r->name.failed;
	return text && coati_parse_i64(text, INT32_MIN, INT32_MAX, ret) == 0
		       ? 0
		       : bad(r, "a sample does not say its thread");
}

static int add_sample(struct pprof_reading *r, const struct sample *s)
{
	uint64_t function, number;
	uint32_t thread;
	int64_t pid, tid;
	const char *text;
	int n;

	if (s->nr_values != r->nr_types)
		return bad(r, "a sample has more or fewer values than there are types");
	if (!s->nr_locations)
		return bad(r, "a sample has no stack");
	function = r->innermost.v[s->leaf];
	if (!coati_map_get(&r->functions, function, &number))
		return bad(r, "a location names a function that is not there");
	n = number_in(r, s->process_id, &pid);
	if (n == 0)
		n = number_in(r, s->thread_id, &tid);
	if (n < 0)
		return n;
	text = string_at(r, s->thread_name);
	thread = text ? coati_tally_thread(r->t, pid, tid, text) : 0;
	text = string_at(r, r->function_names.v[number]);
	if (r->name.failed)
		return r->name.failed;
	if (!text)
		return bad(r, "a name is not in the table of strings");
	coati_tally_add(r->t, thread, coati_tally_function(r->t, text),
			is_string(r, r->default_type, "samples") ? s->count : s->weight);
	r->t->samples += s->count;
	return r->t->failed;
}

static int take_sample(struct pprof_reading *r, struct proto_reader f)
{
	struct sample s = { 0 };
	int n = 0;

	while (n == 0 && coati_proto_next(&f)) {
		if (f.field == PPROF_SAMPLE_LOCATION)
			n = take_locations(r, &f, &s);
		else if (f.field == PPROF_SAMPLE_VALUE)
			take_values(r, &f, &s);
		else if (f.field == PPROF_SAMPLE_LABEL)
			n = take_label(r, proto_sub(&f), &s);
	}
	if (n == 0 && f.bad)
		n = bad(r, "a sample is malformed");
	return n == 0 ? add_sample(r, &s) : n;
}

/* ---- the whole ---- */

/* What others refer to, in the order in which they do. */
static int take_field(struct pprof_reading *r, const struct proto_reader *f, uint32_t wanted)
{
	if (f->field != wanted)
		return 0;
	switch (f->field) {
	case PPROF_STRING:
		return take_string(r, f);
	case PPROF_SAMPLE_TYPE:
		r->nr_types++;
		return 0;
	case PPROF_DEFAULT_TYPE:
		r->default_type = f->value;
		return 0;
	case PPROF_FUNCTION:
		return take_function(r, proto_sub(f));
	case PPROF_MAPPING:
		return take_mapping(r, proto_sub(f));
	case PPROF_LOCATION:
		return take_location(r, proto_sub(f));
	default:
		return take_sample(r, proto_sub(f));
	}
}

static int read_all(struct pprof_reading *r, const void *bytes, size_t size)
{
	static const uint32_t order[] = { PPROF_STRING,	  PPROF_SAMPLE_TYPE, PPROF_DEFAULT_TYPE,
					  PPROF_FUNCTION, PPROF_MAPPING,     PPROF_LOCATION,
					  PPROF_SAMPLE };
	int n = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && n == 0; i++) {
		struct proto_reader f = proto_over(bytes, size);

		while (n == 0 && coati_proto_next(&f))
			n = take_field(r, &f, order[i]);
		if (n == 0 && f.bad)
			n = bad(r, "it is not a protocol buffer");
		if (n == 0 && !r->strings.len)
			n = bad(r, "it has no strings, not even the empty one");
	}
	return n == 0 && !r->nr_types ? bad(r, "it has no types of samples") : n;
}

int coati_pprof_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct pprof_reading r = { .t = t, .err = err, .name = STRBUF_INIT(SIZE_MAX / 4) };
	int n;

	r.strings.max = r.function_names.max = r.innermost.max = r.mappings.max = TABLE_MAX;
	coati_map_init(&r.functions, TABLE_MAX);
	coati_map_init(&r.locations, TABLE_MAX);
	coati_map_init(&r.mapping_ids, TABLE_MAX);
	t->has_samples = true;
	n = read_all(&r, bytes, size);
	if (n < 0 && n != -EBADMSG)
		coati_fail(err, n, "reading back: %m");
	ARRAY_FINI(&r.strings);
	ARRAY_FINI(&r.function_names);
	ARRAY_FINI(&r.innermost);
	ARRAY_FINI(&r.mappings);
	coati_map_fini(&r.functions);
	coati_map_fini(&r.locations);
	coati_map_fini(&r.mapping_ids);
	coati_strbuf_fini(&r.name);
	return n;
}
