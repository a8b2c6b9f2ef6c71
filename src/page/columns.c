/* SPDX-License-Identifier: MIT */
/* see columns.h */
#include "page/columns.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/leb128.h"

#define COLUMNS_MAX 256
#define BYTES_MAX   ((size_t)1 << 30) /* of one column */
#define MAGIC	    "coatipg1"

static const char *const kinds[] = { "uint", "delta", "real", "json" };

struct column *coati_columns_add(struct columns *c, const char *name, enum column_kind kind)
{
	struct column **slot, *new = coati_alloc(sizeof(*new));

	c->v.max = COLUMNS_MAX;
	slot = new ? ARRAY_ADD(&c->v) : NULL;
	if (!slot) {
		coati_free(new);
		c->failed = -ENOMEM;
		c->spare = (struct column){ .bytes = STRBUF_INIT(0) };
		return &c->spare;
	}
	*new = (struct column){ .name = name, .kind = kind, .bytes = STRBUF_INIT(BYTES_MAX) };
	*slot = new;
	return new;
}

void coati_column_put(struct column *c, uint64_t v)
{
	char *at = strbuf_room(&c->bytes, LEB128_MAX), *end;

	c->count++;
	if (!at)
		return;
	if (c->kind == COLUMN_DELTA) {
		int64_t step = (int64_t)(v - c->last);

		c->last = v;
		v = (uint64_t)step << 1 ^ (uint64_t)(step >> 63);
	}
	end = (char *)uleb_put((uint8_t *)at, v);
	*end = '\0';
	c->bytes.len += (size_t)(end - at);
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
