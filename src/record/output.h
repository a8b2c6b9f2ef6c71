/* SPDX-License-Identifier: MIT */
/*
 * Text into a caller's buffer. Like snprintf the length keeps growing past the end, so that the
 * caller learns what would have been needed; what does not fit is not written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	char *buf;
	size_t cap; /* bytes that may be written, without the terminator */
	size_t len; /* of the whole text */
};

/* One conversion of a printf format. */
struct conversion {
	bool left, zero, plus, space, alternate;
	int width, precision; /* -1: none */
	char letter;	      /* d u x X o c s p */
	uint8_t size;	      /* bytes of a number: 1, 2, 4, 8 */
	char extension[8];    /* what follows %p */
};

void coati_output_add(struct output *o, const char *text, size_t len);
void coati_output_char(struct output *o, char c, size_t count);
/* Lower case hexadecimal with 0x, and at least @digits digits. */
void coati_output_hex(struct output *o, uint64_t v, unsigned int digits);
void coati_output_decimal(struct output *o, uint64_t v, bool is_signed);
/* @v, of which the low c->size bytes count, as the conversion says. */
void coati_output_number(struct output *o, const struct conversion *c, uint64_t v);
/* Cut what was added since @start to the precision, and pad it to the width. */
void coati_output_fit(struct output *o, const struct conversion *c, size_t start);
