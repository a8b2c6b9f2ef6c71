/* SPDX-License-Identifier: MIT */
/* What must hold of every decoded record, whatever its bytes were. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coati/record.h>

/* Every pointer of @rec looks into the bytes of @raw, with all that its length says. Reads all of
 * it. */
bool record_views_inside(const struct coati_record *rec, const struct coati_raw *raw);
/* The text of @rec and the bytes that it takes; NULL when it has none. */
const char *record_text(const struct coati_record *rec, size_t *ret_size);
/* Bytes behind the terminator are not kept by the encoder: make them zero in the record's own
 * memory. */
void record_clear_padding(const struct coati_record *rec);
/* What decodes is encoded as the same bytes (cleared of padding), which decode to the same. Writes
 * into the record's memory. */
bool record_mirrors(const struct coati_raw *raw, const struct coati_sample_format *fmt);
