/* SPDX-License-Identifier: MIT */
/*
 * Samples as JSON, the way that is taken by the million. All samples of an event have the same
 * names in the same order: what stands between the values is put together once, and a line is then
 * pieces and numbers in turns. It is the very line that the walk over the record (dump/record.c,
 * dump/fields.c) would write; what that does not hold for (fields that only some samples have,
 * payloads without a format) is left to the walk.
 */
#pragma once

#include <stdbool.h>

#include <coati/recording.h>

#include "base/strbuf.h"
#include "cli/dump/fields.h"

struct dump_row;

struct dump_rows {
	struct dump_fields *fields; /* of the same recordings */
	struct dump_row *by_event[FIELDS_EVENTS];
};

/* The line of sample @rec, which came as @item; false and nothing written when the walk must do it.
 * Hot. */
bool coati_dump_row(struct dump_rows *rows, const struct coati_recording *r,
		    const struct coati_recording_item *item, const struct coati_record *rec,
		    struct strbuf *out);
void coati_dump_rows_fini(struct dump_rows *rows);
