/* SPDX-License-Identifier: MIT */
/* see columns.h */
#include "page/columns.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

#define COLUMNS_MAX 256
#define MAGIC	    "coatipg1"

static const char *const kinds[] = { "uint", "delta", "real", "json", "runs" };

struct column *coati_columns_add(struct columns *c, const char *name, enum column_kind kind)
{
	struct column **slot, *new = coati_alloc(sizeof(*new));

	c->v.max = COLUMNS_MAX;
	slot = new ? ARRAY_ADD(&c->v) : NULL;
	if (!slot) {
		coati_free(new);
		c->failed = -ENOMEM;
		coati_strbuf_fini(&c->spare.bytes);
		c->spare = (struct column){ .bytes = STRBUF_INIT(0) };
		return &c->spare;
	}
	*new = (struct column)COLUMN_INIT(kind);
	new->name = name;
	*slot = new;
	return new;
}

void coati_columns_move(struct columns *c, const char *name, struct column *from)
{
	struct column *to = coati_columns_add(c, name, from->kind);

	coati_column_end(from);
	coati_strbuf_fini(&to->bytes);
	*to = *from;
	to->name = name;
	*from = (struct column)COLUMN_INIT(to->kind);
}

void coati_column_end(struct column *c)
{
	uint8_t *to = c->run ? column_room(c, 1) : NULL;

	if (to)
		column_filled(c, column_run(to, c->last, c->run));
	c->run = 0;
}

/* Bytes that are none of a column give zeros. */
void coati_column_read_run(struct column_reader *r)
{
	uint8_t first = cursor_u8(&r->at);

	r->last = first >> 1 & 0x3f;
	if (first & 0x80)
		r->last |= cursor_uleb(&r->at) << 6;
	r->run = first & 1 ? cursor_uleb(&r->at) : 1;
	if (!r->run)
		r->run = 1;
}

void coati_column_put(struct column *c, uint64_t v)
{
	if (c->kind == COLUMN_RUNS)
		column_put_run(c, v);
	else if (c->kind == COLUMN_DELTA)
		column_put_delta(c, v);
	else
		column_put_uint(c, v);
}

void coati_column_real(struct column *c, double v)
{
	uint64_t bits;
	uint8_t bytes[8];

	memcpy(&bits, &v, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	coati_strbuf_add(&c->bytes, bytes, sizeof(bytes));
	c->count++;
}

static void put_index(const struct columns *c, struct strbuf *ret)
{
	struct json j = json_to(ret);

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.page.v1");
	coati_json_key(&j, "sections");
	coati_json_array(&j);
	for (size_t i = 0; i < c->v.len; i++) {
		coati_json_object(&j);
		coati_json_kstr(&j, "name", c->v.v[i]->name);
		coati_json_kstr(&j, "kind", kinds[c->v.v[i]->kind]);
		coati_json_ku64(&j, "count", c->v.v[i]->count);
		coati_json_ku64(&j, "size", c->v.v[i]->bytes.len);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	coati_json_end(&j);
}

int coati_columns_join(struct columns *c, struct strbuf *ret)
{
	struct strbuf index = STRBUF_INIT(1u << 20);
	uint8_t size[4];

	for (size_t i = 0; i < c->v.len; i++)
		coati_column_end(c->v.v[i]);
	put_index(c, &index);
	for (int i = 0; i < 4; i++)
		size[i] = (uint8_t)(index.len >> 8 * i);
	coati_strbuf_adds(ret, MAGIC);
	coati_strbuf_add(ret, size, sizeof(size));
	coati_strbuf_add(ret, index.text, index.len);
	for (size_t i = 0; i < c->v.len && !c->failed; i++) {
		coati_strbuf_add(ret, c->v.v[i]->bytes.text, c->v.v[i]->bytes.len);
		if (c->v.v[i]->bytes.failed)
			c->failed = c->v.v[i]->bytes.failed;
	}
	if (index.failed)
		c->failed = index.failed;
	coati_strbuf_fini(&index);
	return c->failed ? c->failed : ret->failed;
}

void coati_columns_fini(struct columns *c)
{
	for (size_t i = 0; i < c->v.len; i++) {
		coati_strbuf_fini(&c->v.v[i]->bytes);
		coati_free(c->v.v[i]);
	}
	coati_strbuf_fini(&c->spare.bytes);
	ARRAY_FINI(&c->v);
}
