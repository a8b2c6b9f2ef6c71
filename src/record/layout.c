/* SPDX-License-Identifier: MIT */
/*
 * From the attr of an event to the layout of its records: which words stand where. The order of
 * fields is that of the kernel's output functions, not that of the bits.
 */
#include "record/layout.h"

#include <string.h>

const uint64_t coati_layout_front[COATI_LAYOUT_FRONT] = {
	COATI_SAMPLE_IDENTIFIER, COATI_SAMPLE_IP,   COATI_SAMPLE_TID,
	COATI_SAMPLE_TIME,	 COATI_SAMPLE_ADDR, COATI_SAMPLE_ID,
	COATI_SAMPLE_STREAM_ID,	 COATI_SAMPLE_CPU,  COATI_SAMPLE_PERIOD,
};

const uint64_t coati_layout_trailer[COATI_LAYOUT_TRAILER] = {
	COATI_SAMPLE_TID,	COATI_SAMPLE_TIME, COATI_SAMPLE_ID,
	COATI_SAMPLE_STREAM_ID, COATI_SAMPLE_CPU,  COATI_SAMPLE_IDENTIFIER,
};

/* Bytes in front of the field @bit among the fields @order that are set in @type; -1 when it is not
 * set. */
static int32_t offset_of(const uint64_t *order, uint64_t type, uint64_t bit)
{
	int32_t at = 0;

	if (!(type & bit))
		return -1;
	for (; *order != bit; order++)
		at += type & *order ? 8 : 0;
	return at;
}

/* The same, back from the end. */
static int32_t offset_from_end(uint64_t type, uint64_t bit)
{
	int32_t at = offset_of(coati_layout_trailer, type, bit);

	return at < 0 ? -1 : 8 * __builtin_popcountll(type & LAYOUT_TRAILER_BITS) - at;
}

void coati_sample_format_init(const struct coati_attr *attr, struct coati_sample_format *ret)
{
	uint64_t type = attr->sample_type;
	bool trailer = attr->flags & COATI_ATTR_SAMPLE_ID_ALL;
	uint64_t id = type & COATI_SAMPLE_IDENTIFIER ? COATI_SAMPLE_IDENTIFIER : COATI_SAMPLE_ID;

	memset(ret, 0, sizeof(*ret));
	ret->sample_type = type;
	ret->read_format = attr->read_format;
	ret->branch_sample_type = attr->branch_sample_type;
	ret->regs_user = attr->sample_regs_user;
	ret->regs_intr = attr->sample_regs_intr;
	ret->nr_regs_user = (uint32_t)__builtin_popcountll(attr->sample_regs_user);
	ret->nr_regs_intr = (uint32_t)__builtin_popcountll(attr->sample_regs_intr);
	ret->fixed_size = 8 * (uint32_t)__builtin_popcountll(type & LAYOUT_FRONT_BITS);
	ret->trailer_size =
		trailer ? 8 * (uint32_t)__builtin_popcountll(type & LAYOUT_TRAILER_BITS) : 0;
	ret->unsupported = type & ~LAYOUT_KNOWN_BITS ||
			   (type & COATI_SAMPLE_READ && !layout_read_known(attr->read_format));
	ret->id_pos = offset_of(coati_layout_front, type, id);
	ret->time_pos = offset_of(coati_layout_front, type, COATI_SAMPLE_TIME);
	ret->id_end = trailer ? offset_from_end(type, id) : -1;
	ret->time_end = trailer ? offset_from_end(type, COATI_SAMPLE_TIME) : -1;
}
