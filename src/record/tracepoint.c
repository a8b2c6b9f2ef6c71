/* SPDX-License-Identifier: MIT */
/*
 * One tracepoint: its format file comes in once, payloads come in by the million, and go out field
 * by field or as the line that the kernel would print.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <coati/record.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "record/fields.h"
#include "record/format.h"
#include "record/print.h"
#include "record/tracepoint.h"

#define ARENA_MAX (16u << 20)

struct coati_tracepoint {
	struct arena arena;
	struct coati_tp_format format;
	struct coati_tracepoint_field *fields;
	struct ctype *elements;	      /* of each field */
	struct print_program program; /* without items: not understood */
};

static int describe_fields(struct coati_tracepoint *tp)
{
	size_t nr = tp->format.nr_fields + 1; /* there may be none */

	tp->fields = coati_arena_alloc(&tp->arena, nr * sizeof(*tp->fields));
	tp->elements = coati_arena_alloc(&tp->arena, nr * sizeof(*tp->elements));
	if (!tp->fields || !tp->elements)
		return -ENOMEM;
	for (uint32_t i = 0; i < tp->format.nr_fields; i++) {
		const struct coati_tp_field *f = &tp->format.fields[i];

		tp->fields[i] = (struct coati_tracepoint_field){
			.name = f->name,
			.type = f->type,
			.offset = f->offset,
			.size = f->size,
			.is_common = i < tp->format.nr_common,
			.is_signed = f->is_signed,
			.is_dynamic = f->place != COATI_TP_INLINE,
		};
		tp->elements[i] = coati_field_element(f);
	}
	return 0;
}

static int build(struct coati_tracepoint *tp, const char *text, size_t len)
{
	int r = coati_tp_format_parse(text, len, &tp->arena, &tp->format);

	if (!r)
		r = describe_fields(tp);
	if (r)
		return r;
	/* What is not understood is printed field by field; only memory is an error. */
	r = coati_print_parse(&tp->format, &tp->arena, &tp->program);
	return r == -ENOMEM ? r : 0;
}

int coati_tracepoint_parse(const char *text, size_t len, struct coati_tracepoint **ret,
			   struct coati_error *err)
{
	struct coati_tracepoint *tp = coati_alloc(sizeof(*tp));
	int r;

	if (!tp)
		return coati_fail(err, -ENOMEM, "out of memory for a tracepoint");
	coati_arena_init(&tp->arena, ARENA_MAX);
	r = build(tp, text, len);
	if (r) {
		coati_tracepoint_free(tp);
		if (r == -EBADMSG)
			return coati_fail(err, r, "this is not the format file of a tracepoint");
		return coati_fail(err, r, "format file of a tracepoint: %m");
	}
	*ret = tp;
	return 0;
}

void coati_tracepoint_free(struct coati_tracepoint *tp)
{
	if (!tp)
		return;
	coati_arena_fini(&tp->arena);
	coati_free(tp);
}

const char *coati_tracepoint_name(const struct coati_tracepoint *tp)
{
	return tp->format.name;
}

uint32_t coati_tracepoint_id(const struct coati_tracepoint *tp)
{
	return tp->format.id;
}

uint32_t coati_tracepoint_field_count(const struct coati_tracepoint *tp)
{
	return tp->format.nr_fields;
}

const struct coati_tracepoint_field *coati_tracepoint_field(const struct coati_tracepoint *tp,
							    uint32_t index)
{
	return index < tp->format.nr_fields ? &tp->fields[index] : NULL;
}

int coati_tracepoint_find(const struct coati_tracepoint *tp, const char *name)
{
	const struct coati_tp_field *f = coati_tp_format_find(&tp->format, name);

	return f ? (int)(f - tp->format.fields) : -ENOENT;
}

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

int coati_tracepoint_read(const struct coati_tracepoint *tp, uint32_t index,
			  const struct coati_payload *p, struct coati_field_value *ret)
{
	const struct coati_tp_field *f;
	struct ctype element;
	struct field_bytes b;
	int r;

	if (index >= tp->format.nr_fields)
		return -EINVAL;
	f = &tp->format.fields[index];
	element = tp->elements[index];
	r = coati_field_bytes(f, p, &b);
	if (r)
		return r;
	*ret = (struct coati_field_value){
		.kind = COATI_FIELD_BYTES,
		.is_signed = element.is_signed,
		.bytes = b.at,
		.size = b.size,
		.swap = p->swap,
	};
	if (f->is_string) {
		ret->kind = COATI_FIELD_STRING;
		ret->size = (uint32_t)strnlen((const char *)b.at, b.size);
	} else if (!f->is_array && f->place == COATI_TP_INLINE) {
		if (is_number_size(f->size))
			ret->kind = COATI_FIELD_NUMBER;
		ret->number = coati_field_number(b.at, f->size, f->is_signed, p->swap);
	} else if (is_number_size(element.size)) {
		ret->kind = COATI_FIELD_ARRAY;
		ret->element_size = element.size;
		ret->count = b.size / element.size;
	}
	return 0;
}

uint64_t coati_field_value_at(const struct coati_field_value *v, uint32_t i)
{
	if (v->kind != COATI_FIELD_ARRAY || i >= v->count)
		return 0;
	return coati_field_number(v->bytes + (size_t)i * v->element_size, v->element_size,
				  v->is_signed, v->swap);
}

int coati_tracepoint_is_understood(const struct coati_tracepoint *tp)
{
	return tp->program.items != NULL;
}

static void add_value(const struct coati_tp_field *f, const struct coati_field_value *v,
		      struct output *o)
{
	switch (v->kind) {
	case COATI_FIELD_STRING:
		return coati_output_add(o, (const char *)v->bytes, v->size);
	case COATI_FIELD_NUMBER:
		if (f->is_pointer)
			return coati_output_hex(o, v->number, 1);
		return coati_output_decimal(o, v->number, v->is_signed);
	default:
		break;
	}
	coati_output_char(o, '{', 1);
	for (uint32_t i = 0; i < (v->kind == COATI_FIELD_ARRAY ? v->count : v->size); i++) {
		if (i)
			coati_output_char(o, ',', 1);
		coati_output_hex(
			o, v->kind == COATI_FIELD_ARRAY ? coati_field_value_at(v, i) : v->bytes[i],
			1);
	}
	coati_output_char(o, '}', 1);
}

/* name=value for every field of its own. */
static bool print_fields(const struct coati_tracepoint *tp, const struct coati_payload *p,
			 struct output *o)
{
	for (uint32_t i = tp->format.nr_common; i < tp->format.nr_fields; i++) {
		const struct coati_tp_field *f = &tp->format.fields[i];
		struct coati_field_value v;

		if (coati_tracepoint_read(tp, i, p, &v))
			return false;
		if (i > tp->format.nr_common)
			coati_output_char(o, ' ', 1);
		coati_output_add(o, f->name, strlen(f->name));
		coati_output_char(o, '=', 1);
		add_value(f, &v, o);
	}
	return true;
}

int coati_tracepoint_print(const struct coati_tracepoint *tp, const struct coati_payload *p,
			   const struct coati_symbol_source *symbols, char *buf, size_t cap)
{
	struct output o = { .buf = buf, .cap = cap ? cap - 1 : 0 };
	bool inside = tp->program.items ? coati_print_run(&tp->program, p, symbols, &o)
					: print_fields(tp, p, &o);

	if (cap)
		buf[inside && o.len < o.cap ? o.len : inside ? o.cap : 0] = '\0';
	if (!inside)
		return -EBADMSG;
	return o.len > INT_MAX ? INT_MAX : (int)o.len;
}
