/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON from memory, by asking for what should come next. Failure is sticky: after the first
 * thing that is not JSON, not UTF-8, nested deeper than JSON_READ_DEPTH or not what was asked for,
 * every call gives nothing (NULL, 0, false), so that all loops end, and coati_json_read_end()
 * tells.
 *
 *	struct json_reader r;
 *	coati_json_read_init(&r, bytes, size);
 *	coati_json_read_object(&r);
 *	while ((key = coati_json_read_key(&r))) {
 *		if (!strcmp(key, "weights"))
 *			for (coati_json_read_array(&r); coati_json_read_more(&r);)
 *				sum += coati_json_read_u64(&r);
 *		else
 *			coati_json_read_skip(&r);
 *	}
 *	if (coati_json_read_end(&r) < 0) ...      -EBADMSG, -ENOMEM, -E2BIG
 *	coati_json_read_fini(&r);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_READ_DEPTH 64
#define JSON_READ_TEXT	(64u << 20) /* the longest string */

struct json_reader {
	const unsigned char *start, *at, *end;
	struct strbuf text; /* of the last key or string */
	uint32_t depth;
	uint64_t is_object; /* bit per level */
	uint64_t has_items; /* bit per level */
	bool after_key, started;
	int failed;
};

enum json_kind {
	JSON_NOTHING = 0, /* the end, or a failure */
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_BOOL,
	JSON_NULL,
};

void coati_json_read_init(struct json_reader *r, const void *bytes, size_t size);
void coati_json_read_fini(struct json_reader *r);

/* What the next value is; it is not taken. */
enum json_kind coati_json_read_peek(struct json_reader *r);
/* Enter an object or an array. */
bool coati_json_read_object(struct json_reader *r);
bool coati_json_read_array(struct json_reader *r);
/* The next key of the object, NULL at its end, which is left then. Lives until the next key or
 * string. */
const char *coati_json_read_key(struct json_reader *r);
/* Is there one more item in the array? False at its end, which is left then. */
bool coati_json_read_more(struct json_reader *r);
/* Values. A string lives until the next key or string; one with a zero character in it is cut there
 * for who looks for a terminator, *ret_len (may be NULL) has its length. */
const char *coati_json_read_str(struct json_reader *r, size_t *ret_len);
/* A whole number from 0 to 2^64 - 1, with neither point nor exponent. */
uint64_t coati_json_read_u64(struct json_reader *r);
int64_t coati_json_read_i64(struct json_reader *r);
/* A number from 0 on with at most @decimals digits behind its point and no exponent, times
 * 10^@decimals: as coati_json_fixed() wrote it. */
uint64_t coati_json_read_fixed(struct json_reader *r, uint32_t decimals);
double coati_json_read_double(struct json_reader *r);
bool coati_json_read_bool(struct json_reader *r);
/* Take a null, if it is one; else false, and nothing is taken. */
bool coati_json_read_null(struct json_reader *r);
/* Any value, whatever it is. */
void coati_json_read_skip(struct json_reader *r);
/* One value was read as a whole and nothing stands behind it: 0; what failed; -EBADMSG. */
int coati_json_read_end(struct json_reader *r);
/* Where the reader is: bytes from the start. */
size_t coati_json_read_offset(const struct json_reader *r);
