/* SPDX-License-Identifier: MIT */
/* see btf.h. The number of a type is its place, and each kind has a tail of its own length. */
#include "bpf/btf.h"

#include <errno.h>
#include <string.h>

/* Bytes behind the three words of a type: a fixed part, and one for each member. */
static const struct {
	uint8_t fixed, member;
} tails[] = {
	[COATI_BTF_INT] = { 4, 0 },
	[COATI_BTF_PTR] = { 0, 0 },
	[3] = { 12, 0 }, /* ARRAY */
	[COATI_BTF_STRUCT] = { 0, 12 },
	[COATI_BTF_UNION] = { 0, 12 },
	[6] = { 0, 8 }, /* ENUM */
	[7] = { 0, 0 }, /* FWD */
	[COATI_BTF_TYPEDEF] = { 0, 0 },
	[COATI_BTF_VOLATILE] = { 0, 0 },
	[COATI_BTF_CONST] = { 0, 0 },
	[COATI_BTF_RESTRICT] = { 0, 0 },
	[COATI_BTF_FUNC] = { 0, 0 },
	[13] = { 0, 8 },  /* FUNC_PROTO */
	[14] = { 4, 0 },  /* VAR */
	[15] = { 0, 12 }, /* DATASEC */
	[16] = { 0, 0 },  /* FLOAT */
	[17] = { 4, 0 },  /* DECL_TAG */
	[COATI_BTF_TYPE_TAG] = { 0, 0 },
	[19] = { 0, 12 }, /* ENUM64 */
};
#define NR_KINDS (sizeof(tails) / sizeof(tails[0]))

int coati_btf_open(const void *bytes, size_t size, struct coati_btf *ret)
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
	if (c.bad || magic != COATI_BTF_MAGIC)
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

int coati_btf_next(struct coati_btf *b, struct coati_btf_type *ret)
{
	uint32_t info;

	if (!cursor_left(&b->types))
		return 0;
	ret->name = cursor_u32(&b->types);
	info = cursor_u32(&b->types);
	ret->size_or_type = cursor_u32(&b->types);
	ret->kind = info >> 24 & 31;
	ret->nr_members = info & 0xffff;
	ret->has_bits = (int)(info >> 31);
	if (!ret->kind || ret->kind >= NR_KINDS)
		return -EBADMSG;
	ret->tail = cursor_sub(&b->types, tails[ret->kind].fixed + (size_t)ret->nr_members *
									   tails[ret->kind].member);
	return b->types.bad ? -EBADMSG : 1;
}

const char *coati_btf_name(const struct coati_btf *b, uint32_t name, size_t *ret_len)
{
	if (name >= b->strings_size) {
		*ret_len = 0;
		return "";
	}
	*ret_len = strnlen(b->strings + name, b->strings_size - name);
	return b->strings + name;
}
