/* SPDX-License-Identifier: MIT */
/*
 * Records as they lie in memory: cut them off one after the other, and find the id and the time
 * that they carry without taking them apart.
 */
#include <coati/record.h>

#include "record/bytes.h"
#include "record/record.h"

extern inline int coati_raw_next(const uint8_t **bytes, size_t *left, uint32_t swap,
				 struct coati_raw *ret);

/* The word at @pos of a sample's body or @end bytes before the end of another record of the
 * kernel. */
static int word_at(const struct coati_raw *raw, int32_t pos, int32_t end, uint64_t *ret)
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

int coati_raw_id(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		 uint64_t *ret_id)
{
	return word_at(raw, fmt->id_pos, fmt->id_end, ret_id);
}

int coati_raw_time(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		   uint64_t *ret_time)
{
	return word_at(raw, fmt->time_pos, fmt->time_end, ret_time);
}
