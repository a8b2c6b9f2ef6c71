/* SPDX-License-Identifier: MIT */
/* Whole records in what a ring holds: two pieces, the second of which begins where the ring
 * wraps. */
#pragma once

#include <stdint.h>
#include <string.h>

#include <coati/record.h>
#include <coati/ring.h>

#define SPANS_RECORD_MAX 65536 /* bytes of any record */

static inline uint16_t record_size(const uint8_t *record)
{
	uint16_t size;

	memcpy(&size, record + 6, sizeof(size));
	return size;
}

static inline uint32_t record_type(const uint8_t *record)
{
	uint32_t type;

	memcpy(&type, record, sizeof(type));
	return type;
}

/* The record as the decoder wants it; it is whole and of our own byte order. */
static inline struct coati_raw record_raw(const uint8_t *record)
{
	struct coati_raw raw = { .type = record_type(record),
				 .size = record_size(record),
				 .body = record + COATI_RAW_HEADER };

	memcpy(&raw.misc, record + 4, sizeof(raw.misc));
	return raw;
}

/* The whole record that begins at @at of the two pieces; NULL if there is none. A record that wraps
 * is joined in @joined, SPANS_RECORD_MAX bytes. A header never wraps. */
static inline const uint8_t *record_at(const struct coati_span s[2], size_t at, uint8_t *joined)
{
	const uint8_t *p = at < s[0].size ? s[0].bytes + at : s[1].bytes + (at - s[0].size);
	size_t left = s[0].size + s[1].size - at, here = at < s[0].size ? s[0].size - at : left;
	size_t size;

	if (left < COATI_RAW_HEADER || here < COATI_RAW_HEADER)
		return NULL;
	size = record_size(p);
	if (size < COATI_RAW_HEADER || size > left)
		return NULL;
	if (size <= here)
		return p;
	memcpy(joined, p, here);
	memcpy(joined + here, s[1].bytes, size - here);
	return joined;
}
