/* SPDX-License-Identifier: MIT */
/*
 * Live batches as bytes: what a head says, and the events behind it one after the other. Nothing is
 * believed: sizes are compared with what is there before they are used, numbers have at most ten
 * bytes and fit 64 bits, and a batch that contradicts itself is damaged from the place that the
 * walk names. Allocates nothing; what comes out looks into the bytes that were given.
 *
 *	struct live_view b;
 *	const char *why = coati_live_open(bytes, size, &b);
 *	struct live_walk w = coati_live_walk(&b, schema, fields, ctx);
 *	while ((r = coati_live_next(&w, &e)) > 0)
 *		use(&e);
 *	if (r < 0) damaged from w.offset on: w.why
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/live-format.h"

_Static_assert(LIVE_REGION_END == LIVE_REGION_BEGIN + 1, "see live_next_region()");

#define LIVE_HEAD  sizeof(struct live_batch)
#define LIVE_KINDS 32

/* A batch whose head was checked. */
struct live_view {
	struct live_batch head;
	const uint8_t *payload; /* head.used bytes */
};

/* A batch that stands for itself: @size bytes from the head on. NULL and *ret filled, or what is
 * wrong with it. The checksum of a closed batch is checked, too. Hot. */
const char *coati_live_open(const void *bytes, size_t size, struct live_view *ret);

/* Text in an event: bytes where they lie, or the number of an interned string. */
struct live_text {
	const char *text;
	uint32_t size;
	bool is_ref;
	uint64_t ref;
};

struct live_event {
	uint8_t kind; /* LIVE_*; LIVE_NONE: one that was skipped by its schema */
	uint8_t more; /* the real kind behind LIVE_MORE */
	uint16_t nr_texts;
	uint32_t offset; /* of its first byte, in the payload */
	uint64_t time;	 /* in units of the batch's clock */
	uint64_t v[6];	 /* v, z (as int64_t), t and k, in the order of the letters */
	double real;
	struct live_text text[5];
	/* b and f; addresses of a stack, states of a type: see coati_live_stack_next() and
	 * coati_live_state_next() */
	const uint8_t *rest;
	uint32_t rest_size;
};

/* What the arguments of each kind are: what the code knows, or what a schema of the stream said
 * instead. */
/* In line: programs have it in them, and each address would be a relocation. */
struct live_kind_info {
	char name[14], letters[10];
};
extern const struct live_kind_info coati_live_kinds[LIVE_KINDS];
/* Names of the arguments, a blank between them. */
extern const char *const coati_live_arguments[LIVE_KINDS];

struct live_schema {
	char extra[LIVE_KINDS][12]; /* letters behind those that we know */
	/* letters of kinds that mean something else than here: skipped by them */
	char foreign[LIVE_KINDS][24];
	bool is_foreign[LIVE_KINDS];
	bool is_other; /* any of these: kinds are not what the code knows */
};

/* Text of the fields of a site, for LIVE_INSTANT; false: such a site is not known. */
typedef bool (*live_fields_fn)(void *ctx, uint64_t site, const char **ret, uint32_t *ret_size);

struct live_walk {
	const uint8_t *start, *at, *end;
	/* before it an event of a few bytes may be read without a look at the end; start: kinds are
	 * not what the code knows */
	const uint8_t *safe;
	uint64_t time;
	uint16_t batch_kind;
	const struct live_schema *schema; /* NULL: what the code knows */
	live_fields_fn fields;
	void *ctx;
	uint32_t offset; /* of the event that is damaged */
	const char *why;
};

struct live_walk coati_live_walk(const struct live_view *b, const struct live_schema *schema,
				 live_fields_fn fields, void *ctx);
/* 1 and an event, 0 at the end, -EBADMSG: no sense from w->offset on.  Hot. */
int coati_live_next(struct live_walk *w, struct live_event *ret);

extern const uint64_t coati_live_masks[8]; /* of one to eight bytes */

/* The same, if the next event is a short one that begins or ends a region: kind, time and v[0] of
 * *ret. Else false, and nothing has changed. Threads alternate as they like, and with them begins
 * and ends: there is no branch between the two. Hot. */
static inline bool live_next_region(struct live_walk *w, struct live_event *ret)
{
	const uint8_t *at = w->at;
	unsigned int kind, is_end, more;
	uint64_t delta, site, time;

	if (at >= w->safe)
		return false;
	kind = *at & 31;
	more = *at >> 5;
	is_end = kind - LIVE_REGION_BEGIN;
	memcpy(&delta, at + 1, sizeof(delta));
	at += 2 + more;
	site = *at & (is_end - 1u);
	if (is_end > 1 || site > 0x7f ||
	    __builtin_add_overflow(w->time, delta & coati_live_masks[more], &time))
		return false;
	ret->kind = (uint8_t)kind;
	ret->v[0] = site;
	ret->time = w->time = time;
	w->at = at + 1 - is_end;
	return true;
}

/* The same of kinds that have no more than one or two numbers, a double or a text: nothing has
 * changed if it is none or longer, or near the end. Hot. */
bool coati_live_next_short(struct live_walk *w, struct live_event *ret);

/* Entries of a SCHEMA batch: 1, 0, -EBADMSG. */
struct live_schema_entry {
	uint64_t kind;
	struct live_text name, letters;
};
int coati_live_schema_next(struct live_walk *w, struct live_schema_entry *ret);
/* Learn an entry: -EBADMSG when its letters are unknown. */
int coati_live_schema_add(struct live_schema *s, const struct live_schema_entry *entry);

/* Addresses of a LIVE_STACK, innermost first: start with *pos = 0 and *address = 0. 1, 0,
 * -EBADMSG. */
int coati_live_stack_next(const struct live_event *e, uint32_t *pos, uint64_t *address);
/* States of a LIVE_TYPE: 1, 0, -EBADMSG. */
int coati_live_state_next(const struct live_event *e, uint32_t *pos, struct live_text *ret_name,
			  uint64_t *ret_next);

/* Fields of a LIVE_INSTANT: @fields is the text of its site. 1, 0, -EBADMSG. */
struct live_field {
	const char *name;
	uint32_t name_size;
	char letter;	/* i u d s x */
	uint64_t value; /* i: as int64_t */
	double real;
	struct live_text text;
};
struct live_fields {
	const char *at, *end;
	const uint8_t *bytes, *bytes_end;
};
struct live_fields coati_live_fields(const char *fields, uint32_t size, const uint8_t *bytes,
				     uint32_t bytes_size);
int coati_live_field_next(struct live_fields *f, struct live_field *ret);
