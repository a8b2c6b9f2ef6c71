/* SPDX-License-Identifier: MIT */
/* The payload of tracepoint samples: fields by name for JSON, the kernel's own words for text. */
#pragma once

#include <coati/recording.h>

#include "cli/dump/sink.h"

#define FIELDS_EVENTS 4096

/* Formats of the events of a recording, parsed when first met. */
struct dump_fields {
	struct coati_tracepoint *by_event[FIELDS_EVENTS];
	uint8_t tried[FIELDS_EVENTS];
};

/* The format of @event's payload, NULL: it has none, or one that is malformed. Lives: until
 * fini. */
const struct coati_tracepoint *coati_dump_format(struct dump_fields *f,
						 const struct coati_recording *r, uint32_t event);
void coati_dump_array(struct json *j, const struct coati_field_value *v);
/* The payload of @rec, a sample of @event with RAW, into @s; its bytes as hex when the recording
 * has no format for it. */
void coati_dump_fields(struct dump_fields *f, struct sink *s, const struct coati_recording *r,
		       uint32_t event, const struct coati_payload *payload);
void coati_dump_fields_fini(struct dump_fields *f);
