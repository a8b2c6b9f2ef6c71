/* SPDX-License-Identifier: MIT */
/*
 * Records as they lie in memory: cut them off one after the other, and find the id and the time
 * that they carry without taking them apart.
 */
#include <coati/record.h>

#include "record/raw-word.h"
#include "record/record.h"

extern inline int coati_raw_next(const uint8_t **bytes, size_t *left, uint32_t swap,
				 struct coati_raw *ret);

int coati_raw_id(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		 uint64_t *ret_id)
{
	return raw_word(raw, fmt->id_pos, fmt->id_end, ret_id);
}

int coati_raw_time(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		   uint64_t *ret_time)
{
	return raw_word(raw, fmt->time_pos, fmt->time_end, ret_time);
}
