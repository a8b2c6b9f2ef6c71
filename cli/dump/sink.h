/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a record go: a line of text or a JSON object. The walk over the record
 * (dump/record.c) is the same for both, so the two forms cannot disagree about what a record holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"

struct sink {
	struct strbuf *out;
	bool is_json;
	const char *arch; /* of the recording, "": not said */
	struct json json;
	struct strbuf chain; /* text: lines below the record's line */
};

/* Fields of the record that is being written. */
void coati_sink_u64(struct sink *s, const char *name, uint64_t v);
void coati_sink_i64(struct sink *s, const char *name, int64_t v);
void coati_sink_hex(struct sink *s, const char *name, uint64_t v);
void coati_sink_text(struct sink *s, const char *name, const char *text);
void coati_sink_textn(struct sink *s, const char *name, const char *text, size_t len);
void coati_sink_bytes(struct sink *s, const char *name, const uint8_t *bytes, size_t size);
void coati_sink_flag(struct sink *s, const char *name);
/* A list of addresses: JSON array; in text lines of their own below. @mark names a context marker,
 * or NULL. */
void coati_sink_list(struct sink *s, const char *name);
void coati_sink_address(struct sink *s, uint64_t v, const char *mark);
void coati_sink_list_end(struct sink *s);
/* An object inside: JSON nests, text puts braces around its fields. */
void coati_sink_object(struct sink *s, const char *name);
void coati_sink_object_end(struct sink *s);
