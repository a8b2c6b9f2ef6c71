/* SPDX-License-Identifier: MIT */
/* see btf.h. One walk over all types: their ids are their places, and each kind has a tail of its
 * own length. */
#include "capture/btf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

#define BTF_MAGIC     0xeb9fu
#define BTF_KIND_FUNC 12

/* Bytes behind the three words of a type: a fixed part, and one for each member. */
static const struct {
	uint8_t fixed, member;
} tails[] = {
	[1] = { 4, 0 },	 /* INT */
	[2] = { 0, 0 },	 /* PTR */
	[3] = { 12, 0 }, /* ARRAY */
	[4] = { 0, 12 }, /* STRUCT */
	[5] = { 0, 12 }, /* UNION */
	[6] = { 0, 8 },	 /* ENUM */
	[7] = { 0, 0 },	 /* FWD */
	[8] = { 0, 0 },	 /* TYPEDEF */
	[9] = { 0, 0 },	 /* VOLATILE */
	[10] = { 0, 0 }, /* CONST */
	[11] = { 0, 0 }, /* RESTRICT */
	[BTF_KIND_FUNC] = { 0, 0 },
	[13] = { 0, 8 },  /* FUNC_PROTO */
	[14] = { 4, 0 },  /* VAR */
	[15] = { 0, 12 }, /* DATASEC */
	[16] = { 0, 0 },  /* FLOAT */
	[17] = { 4, 0 },  /* DECL_TAG */
	[18] = { 0, 0 },  /* TYPE_TAG */
	[19] = { 0, 12 }, /* ENUM64 */
};
#define NR_KINDS (sizeof(tails) / sizeof(tails[0]))

struct btf {
	struct cursor types;
	const char *strings;
	size_t strings_size;
};

static int open_btf(const void *bytes, size_t size, struct btf *ret)
{
	struct cursor c = cursor_over(bytes, size), strings;
	uint32_t header, type_off, type_len, str_off, str_len;
	uint16_t magic = cursor_u16(&c);

	cursor_skip(&c, 2); /* version, flags */
	header = cursor_u32(&c);
	type_off = cursor_u32(&c);
	type_len = cursor_u32(&c);
	str_off = cursor_u32(&c);
	str_len = cursor_u32(&c);
	if (c.bad || magic != BTF_MAGIC)
		return -EBADMSG;
	c = cursor_over(bytes, size);
	cursor_skip(&c, header);
	strings = c;
	cursor_skip(&c, type_off);
	ret->types = cursor_over(cursor_bytes(&c, type_len), type_len);
	cursor_skip(&strings, str_off);
	ret->strings = cursor_bytes(&strings, str_len);
	ret->strings_size = str_len;
	return c.bad || strings.bad ? -EBADMSG : 0;
}

static void set_name(const struct btf *b, uint32_t off, char *ret)
{
	size_t len;

	if (off >= b->strings_size)
		return;
	len = strnlen(b->strings + off, b->strings_size - off);
	if (len > BTF_NAME_BYTES - 1)
		len = BTF_NAME_BYTES - 1;
	memcpy(ret, b->strings + off, len);
	ret[len] = '\0';
}

int coati_btf_func_names(const void *bytes, size_t size, struct btf_func *funcs, size_t nr)
{
	struct btf b;
	int r = open_btf(bytes, size, &b);

	for (size_t i = 0; i < nr; i++)
		funcs[i].name[0] = '\0';
	for (uint32_t id = 1; r == 0 && cursor_left(&b.types); id++) {
		uint32_t name = cursor_u32(&b.types);
		uint32_t info = cursor_u32(&b.types);
		uint32_t kind = info >> 24 & 31;

		cursor_skip(&b.types, 4);
		if (!kind || kind >= NR_KINDS)
			return -EBADMSG;
		cursor_skip(&b.types, tails[kind].fixed + (info & 0xffff) * tails[kind].member);
		if (b.types.bad)
			return -EBADMSG;
		for (size_t i = 0; kind == BTF_KIND_FUNC && i < nr; i++)
			if (funcs[i].type_id == id)
				set_name(&b, name, funcs[i].name);
	}
	return r;
}
