/* SPDX-License-Identifier: MIT */
/*
 * Payload and field description come in, numbers, texts and arrays go out as views. Nothing in a
 * payload is trusted: fields of a shorter record are outside, locations may point anywhere.
 */
#include "record/fields.h"

#include <errno.h>
#include <string.h>

#include "record/bytes.h"

struct ctype coati_field_element(const struct coati_tp_field *f)
{
	struct ctype t;

	if (!f->is_array && f->place == COATI_TP_INLINE)
		return (struct ctype){ .size = f->size, .is_signed = f->is_signed };
	if (f->is_string)
		return (struct ctype){ .size = 1, .is_signed = f->is_signed };
	t = coati_ctype_element(f->type);
	/* The kernel's own arithmetic is better than our table of names. */
	if (f->array_len && f->size % f->array_len == 0)
		t = (struct ctype){ .size = f->size / f->array_len, .is_signed = f->is_signed };
	return t;
}

int coati_field_bytes(const struct coati_tp_field *f, const struct coati_payload *p,
		      struct field_bytes *ret)
{
	uint64_t at = f->offset, size = f->size;

	if (at + size > p->size)
		return -EBADMSG;
	if (f->place != COATI_TP_INLINE) {
		uint32_t where = load_u32(p->bytes + at, p->swap);

		at = (f->place == COATI_TP_REL_LOC ? at + size : 0) + (where & 0xffff);
		size = where >> 16;
		if (at + size > p->size)
			return -EBADMSG;
	} else if (!size && f->is_array) {
		/* "char buf[]" at the end: what is left of the record. */
		size = p->size - at;
	}
	ret->at = p->bytes + at;
	ret->size = (uint32_t)size;
	return 0;
}

uint64_t coati_field_number(const uint8_t *at, uint32_t size, bool is_signed, bool swap)
{
	uint16_t half;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*at : *at;
	case 2:
		memcpy(&half, at, sizeof(half));
		half = swap ? __builtin_bswap16(half) : half;
		return is_signed ? (uint64_t)(int16_t)half : half;
	case 4:
		return is_signed ? (uint64_t)(int32_t)load_u32(at, swap) : load_u32(at, swap);
	case 8:
		return load_u64(at, swap);
	default:
		return 0;
	}
}
