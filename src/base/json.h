/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON into a strbuf. Commas, nesting and escapes are the writer's business; text that is
 * not UTF-8 has each bad byte replaced by U+FFFD, numbers are numbers (a double that is not finite
 * becomes null). The caller flushes the strbuf as it likes. Failure is the strbuf's: besides its
 * own codes -E2BIG for nesting beyond JSON_DEPTH_MAX and -EINVAL for a call out of place (a value
 * without its key).
 *
 *	struct json j = json_to(&s);
 *	coati_json_object(&j);
 *	coati_json_key(&j, "schema");
 *	coati_json_str(&j, "coati.stat.v1");
 *	coati_json_end(&j);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_DEPTH_MAX 64

struct json {
	struct strbuf *out;
	uint32_t depth;
	uint64_t is_object; /* bit per level */
	uint64_t has_items; /* bit per level */
	bool after_key;
};

static inline struct json json_to(struct strbuf *out)
{
	return (struct json){ .out = out };
}

void coati_json_object(struct json *j);
void coati_json_array(struct json *j);
/* Closes the innermost object or array. */
void coati_json_end(struct json *j);
void coati_json_key(struct json *j, const char *key);
void coati_json_str(struct json *j, const char *text);
void coati_json_strn(struct json *j, const char *text, size_t len);
void coati_json_u64(struct json *j, uint64_t v);
void coati_json_i64(struct json *j, int64_t v);
/* @v / 10^@decimals to the last digit, for fractions that add up: 1234 with 3 is 1.234.  Hot. */
void coati_json_fixed(struct json *j, uint64_t v, uint32_t decimals);
/* Shortest digits that read back as the same number. */
void coati_json_double(struct json *j, double v);
void coati_json_bool(struct json *j, bool v);
void coati_json_null(struct json *j);
/* "0x1f" as a string: addresses do not fit JSON numbers. */
void coati_json_hex(struct json *j, uint64_t v);

/* Key and value in one. */
void coati_json_kstr(struct json *j, const char *key, const char *text);
void coati_json_ku64(struct json *j, const char *key, uint64_t v);
void coati_json_ki64(struct json *j, const char *key, int64_t v);
void coati_json_kbool(struct json *j, const char *key, bool v);
void coati_json_kdouble(struct json *j, const char *key, double v);
