/* SPDX-License-Identifier: MIT */
/*
 * What a recording says about itself, whichever way it came: from the header and sections of a
 * file, or from the records at the front of a pipe. Everything lives in one arena and stays until
 * the recording is closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/recording.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cursor.h"
#include "recording/recording.h"

#define MODEL_EVENTS_MAX  65536
#define MODEL_IDS_MAX	  (1u << 22)
#define MODEL_SECTION_MAX (64u << 20) /* the largest section that is read into memory */
#define MODEL_ARENA_MAX	  (256u << 20)

struct model_section {
	const uint8_t *bytes;
	uint64_t size;
};

struct model_format { /* text of a tracepoint's format file */
	uint64_t id;
	const char *text;
	uint64_t size;
};

/* Parts about the recording that made no sense and were left out. */
struct damage {
	uint64_t count;
	struct coati_error first;
};

struct model {
	struct arena arena;
	bool swap;
	ARRAY(struct coati_recording_event) events;
	ARRAY(struct model_format) formats;
	struct coati_format_table *table;
	uint64_t nr_ids;
	struct model_section features[COATI_FEATURE_MAX];
	struct coati_recording_info info;
};

/* One more; the sentence of the first one is kept. */
void coati_damage_add(struct damage *d, int code, const char *fmt, ...) COATI_PRINTF(3, 4);

int coati_model_init(struct model *m);
void coati_model_fini(struct model *m);

/* An attr as it lies in a file, @size bytes: cut or zero-extended to ours, byte order and flag bits
 * set right. */
int coati_model_attr(struct cursor *c, size_t size, struct coati_attr *ret);
/* A new event with the ids that the rest of @ids holds (8 bytes each). */
int coati_model_add_event(struct model *m, const struct coati_attr *attr, struct cursor *ids);
/* What a feature section is called, "?" for one that we do not know. */
const char *coati_model_feature_name(uint32_t bit);
/* A feature section has come; the bytes stay valid. Malformed ones are kept as bytes and otherwise
 * ignored: -EBADMSG. */
int coati_model_feature(struct model *m, uint32_t bit, const uint8_t *bytes, uint64_t size);
/* The recorder's account, which a stream has behind its records; copied. */
int coati_model_account(struct model *m, const uint8_t *bytes, size_t size);
/* An EVENT_UPDATE record. */
int coati_model_event_update(struct model *m, struct cursor *c);
/* The tracing data blob; the bytes stay valid. */
int coati_model_tracing_data(struct model *m, const uint8_t *bytes, uint64_t size);
/* Text of tracepoint @id, or NULL. */
const struct model_format *coati_model_format(const struct model *m, uint64_t id);
