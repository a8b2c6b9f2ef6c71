/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers on the wire: keys, varints, fixed numbers, bytes. The writer puts fields behind
 * a strbuf; messages nest without their size being known before: one byte is kept free for it, and
 * what is longer than 127 bytes is moved when it ends.
 *
 *	struct proto p = proto_to(&out->text);
 *	size_t sample = coati_proto_begin(&p, 2);
 *	coati_proto_uint(&p, 1, 42);
 *	coati_proto_end(&p, sample);
 *
 * The reader goes through the fields of a message that lies in memory, never past its end.
 *
 *	struct proto_reader r = proto_over(bytes, size);
 *	while (coati_proto_next(&r))
 *		if (r.field == 2 && r.wire == PROTO_BYTES)
 *			use(r.bytes, r.size);
 *	if (r.bad) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"

#define PROTO_FIELD_MAX ((1u << 29) - 1)

enum proto_wire {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2, /* text, messages, packed numbers */
	PROTO_FIXED32 = 5,
};

/* ---- writing ---- */

struct proto {
	struct strbuf *out;
};

static inline struct proto proto_to(struct strbuf *out)
{
	return (struct proto){ .out = out };
}

/* A bare number: an element of a packed field.  Hot. */
void coati_proto_varint(struct proto *p, uint64_t v);
/* Fields. A zero is written too: who may leave it out does so.  Hot. */
void coati_proto_uint(struct proto *p, uint32_t field, uint64_t v);
/* Negative ones take ten bytes. */
void coati_proto_int(struct proto *p, uint32_t field, int64_t v);
void coati_proto_fixed64(struct proto *p, uint32_t field, uint64_t v);
void coati_proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t size);
/* A message or a packed field, until the end that takes what the beginning gave. */
size_t coati_proto_begin(struct proto *p, uint32_t field);
void coati_proto_end(struct proto *p, size_t begun);

/* ---- reading ---- */

struct proto_reader {
	struct cursor c;
	uint32_t field;
	enum proto_wire wire;
	uint64_t value;	      /* VARINT, FIXED64, FIXED32 */
	const uint8_t *bytes; /* BYTES */
	size_t size;
	bool bad; /* sticky: it was no protocol buffer */
};

static inline struct proto_reader proto_over(const void *bytes, size_t size)
{
	return (struct proto_reader){ .c = cursor_over(bytes, size) };
}

/* The next field; false at the end or when it is malformed. Groups, which are obsolete, count as
 * malformed. */
bool coati_proto_next(struct proto_reader *r);
/* The message that the last field is. */
static inline struct proto_reader proto_sub(const struct proto_reader *r)
{
	return proto_over(r->bytes, r->wire == PROTO_BYTES ? r->size : 0);
}
/* The numbers that the last field is, packed or a single one: start with a cursor from
 * proto_numbers(), false at the end (c->bad: cut). */
struct cursor coati_proto_numbers(const struct proto_reader *r);
bool coati_proto_number(struct proto_reader *r, struct cursor *c, uint64_t *ret);
