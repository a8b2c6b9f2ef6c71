/* SPDX-License-Identifier: MIT */
/* The fields of a tracepoint's payload: where they lie, bounds checked, and what they hold. */
#pragma once

#include <coati/record.h>

#include "record/ctype.h"
#include "record/format.h"

/* Bytes of a field inside a payload. */
struct field_bytes {
	const uint8_t *at;
	uint32_t size;
};

/* Where the value of @f lies: in place, or where its location says. -EBADMSG when that is not
 * inside. */
int coati_field_bytes(const struct coati_tp_field *f, const struct coati_payload *p,
		      struct field_bytes *ret);
/* A number of 1, 2, 4 or 8 bytes, extended to 64 bits; 0 for any other size. */
uint64_t coati_field_number(const uint8_t *at, uint32_t size, bool is_signed, bool swap);
/* The type of one element, or of the field itself when it is no array. */
struct ctype coati_field_element(const struct coati_tp_field *f);
