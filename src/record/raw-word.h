/* SPDX-License-Identifier: MIT */
/* One word of a record that is not taken apart: its id, its time. */
#pragma once

#include <stdint.h>

#include <coati/record.h>

#include "record/bytes.h"

/* The word at @pos of a sample's body or @end bytes before the end of another record of the kernel:
 * 1, or 0 when there is none. */
static inline int raw_word(const struct coati_raw *raw, int32_t pos, int32_t end, uint64_t *ret)
{
	int32_t size = raw->size - COATI_RAW_HEADER;

	if (raw->type != COATI_RECORD_SAMPLE) {
		if (raw->type >= COATI_RECORD_HEADER_ATTR || end < 0)
			return 0;
		pos = size - end;
	}
	if (pos < 0 || pos > size - 8)
		return 0;
	*ret = load_u64(raw->body + pos, raw->swap);
	return 1;
}
