/* SPDX-License-Identifier: MIT */
/* see proto.h */
#include "base/proto.h"

#include <string.h>

#include "base/leb128.h"

/* ---- writing ---- */

static inline char *put_varint(char *at, uint64_t v)
{
	return (char *)uleb_put((uint8_t *)at, v);
}

static inline void wrote(struct strbuf *out, char *end)
{
	*end = '\0';
	out->len = (size_t)(end - out->text);
}

static inline char *put_key(char *at, uint32_t field, enum proto_wire wire)
{
	return put_varint(at, (uint64_t)field << 3 | wire);
}

void coati_proto_varint(struct proto *p, uint64_t v)
{
	char *at = strbuf_room(p->out, LEB128_MAX);

	if (at)
		wrote(p->out, put_varint(at, v));
}

void coati_proto_uint(struct proto *p, uint32_t field, uint64_t v)
{
	char *at = strbuf_room(p->out, 2 * LEB128_MAX);

	if (at)
		wrote(p->out, put_varint(put_key(at, field, PROTO_VARINT), v));
}

void coati_proto_int(struct proto *p, uint32_t field, int64_t v)
{
	coati_proto_uint(p, field, (uint64_t)v);
}

void coati_proto_fixed64(struct proto *p, uint32_t field, uint64_t v)
{
	char *at = strbuf_room(p->out, LEB128_MAX + 8);

	if (!at)
		return;
	at = put_key(at, field, PROTO_FIXED64);
	for (int i = 0; i < 64; i += 8)
		*at++ = (char)(v >> i);
	wrote(p->out, at);
}

void coati_proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t size)
{
	char *at = strbuf_room(p->out, 2 * LEB128_MAX);

	if (!at)
		return;
	wrote(p->out, put_varint(put_key(at, field, PROTO_BYTES), size));
	coati_strbuf_add(p->out, bytes, size);
}

size_t coati_proto_begin(struct proto *p, uint32_t field)
{
	char *at = strbuf_room(p->out, LEB128_MAX + 1);

	if (!at)
		return 0;
	wrote(p->out, put_key(at, field, PROTO_BYTES) + 1);
	return p->out->len;
}

void coati_proto_end(struct proto *p, size_t begun)
{
	struct strbuf *out = p->out;
	size_t size = out->len - begun, more;
	char length[LEB128_MAX];

	if (out->failed)
		return;
	more = (size_t)(put_varint(length, size) - length) - 1;
	if (more) {
		if (!strbuf_room(out, more))
			return;
		memmove(out->text + begun + more, out->text + begun, size);
		wrote(out, out->text + out->len + more);
	}
	memcpy(out->text + begun - 1, length, more + 1);
}

/* ---- reading ---- */

bool coati_proto_next(struct proto_reader *r)
{
	uint64_t key;

	if (r->bad || r->c.at == r->c.end)
		return false;
	key = cursor_uleb(&r->c);
	r->field = (uint32_t)(key >> 3);
	r->wire = (enum proto_wire)(key & 7);
	r->bytes = NULL;
	r->size = 0;
	r->value = 0;
	switch (r->wire) {
	case PROTO_VARINT:
		r->value = cursor_uleb(&r->c);
		break;
	case PROTO_FIXED64:
		r->value = cursor_u64(&r->c);
		break;
	case PROTO_FIXED32:
		r->value = cursor_u32(&r->c);
		break;
	case PROTO_BYTES:
		r->value = cursor_uleb(&r->c);
		r->size = r->value > cursor_left(&r->c) ? SIZE_MAX : (size_t)r->value;
		r->bytes = cursor_bytes(&r->c, r->size);
		break;
	default:
		r->bad = true;
	}
	r->bad |= r->c.bad || !r->field || key >> 3 > PROTO_FIELD_MAX;
	return !r->bad;
}

struct cursor coati_proto_numbers(const struct proto_reader *r)
{
	return cursor_over(r->bytes, r->size);
}

bool coati_proto_number(struct proto_reader *r, struct cursor *c, uint64_t *ret)
{
	if (r->wire == PROTO_VARINT && r->field) {
		*ret = r->value;
		r->field = 0; /* it is one number */
		return true;
	}
	if (r->bad || c->at == c->end)
		return false;
	*ret = cursor_uleb(c);
	r->bad |= c->bad;
	return !c->bad;
}
