/* SPDX-License-Identifier: MIT */
/* Which fields a record has, in their order. Shared by the decoder and its mirror. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>

/* The identity behind records other than samples, 8 bytes each. */
#define LAYOUT_TRAILER_BITS                                                                \
	(COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_ID | COATI_SAMPLE_STREAM_ID | \
	 COATI_SAMPLE_CPU | COATI_SAMPLE_IDENTIFIER)
/* The fields of 8 bytes with which a sample starts. */
#define LAYOUT_FRONT_BITS \
	(LAYOUT_TRAILER_BITS | COATI_SAMPLE_IP | COATI_SAMPLE_ADDR | COATI_SAMPLE_PERIOD)
/* All bits of samples and reads that we know. */
#define LAYOUT_KNOWN_BITS      ((COATI_SAMPLE_WEIGHT_STRUCT << 1) - 1)
#define LAYOUT_KNOWN_READ_BITS ((COATI_READ_LOST << 1) - 1)

#define COATI_LAYOUT_FRONT   9
#define COATI_LAYOUT_TRAILER 6

extern const uint64_t coati_layout_front[COATI_LAYOUT_FRONT];
extern const uint64_t coati_layout_trailer[COATI_LAYOUT_TRAILER];

static inline bool layout_read_known(uint64_t read_format)
{
	return !(read_format & ~LAYOUT_KNOWN_READ_BITS);
}

/* Words of one value in a read block. */
static inline uint64_t layout_read_value_words(uint64_t read_format)
{
	return 1 + !!(read_format & COATI_READ_ID) + !!(read_format & COATI_READ_LOST);
}

/* Words of the two times in a read block. */
static inline uint64_t layout_read_time_words(uint64_t read_format)
{
	return !!(read_format & COATI_READ_ENABLED) + !!(read_format & COATI_READ_RUNNING);
}
