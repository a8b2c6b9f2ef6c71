/* SPDX-License-Identifier: MIT */
/*
 * Records put together byte by byte in a byte order of choice, without any help from the library:
 * what tests hold the decoder and the encoder against.
 *
 *	struct builder b;
 *	builder_start(&b, COATI_RECORD_LOST, 0, false);
 *	builder_u64(&b, id);
 *	builder_u64(&b, lost);
 *	struct coati_raw raw = builder_end(&b);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

struct builder {
	uint8_t bytes[70000];
	size_t len;
	bool big; /* most significant byte first */
};

void builder_start(struct builder *b, uint32_t type, uint16_t misc, bool big);
void builder_u8(struct builder *b, uint8_t v);
void builder_u16(struct builder *b, uint16_t v);
void builder_u32(struct builder *b, uint32_t v);
void builder_u64(struct builder *b, uint64_t v);
void builder_bytes(struct builder *b, const void *bytes, size_t size);
/* With terminator, zero-padded to a multiple of 8. */
void builder_text(struct builder *b, const char *text);
/* A word of C bitfields as the machine of that byte order would lay it out; @widths ends with 0. */
void builder_bitfields(struct builder *b, const uint64_t *values, const uint8_t *widths);
/* Write the size; the record lives in @b. */
struct coati_raw builder_end(struct builder *b);
/* Do bytes of that order need swapping here? */
uint32_t builder_swap(bool big);

/* A well-formed body for @type with made-up contents from @seed, trailer or sample fields by
 * @attr. */
struct coati_raw builder_record(struct builder *b, uint32_t type, const struct coati_attr *attr,
				bool big, uint64_t seed);
/* An attr with every field that decides a layout, from @seed. */
struct coati_attr builder_attr(uint64_t seed);
