/* SPDX-License-Identifier: MIT */
/* Texts and stacks in events: in line, or by a number from the tables. Safe. */
#pragma once

#include "live/tracer/emit.h"

/* Bytes that a stack of @count frames may take in an event: its definition, and the reference. */
static inline uint32_t stack_worst(uint32_t count)
{
	return count ? 4 * VAR_MAX + count * VAR_MAX : 0;
}

/* Bytes that a text may take, cut ones included. */
static inline uint32_t text_worst(size_t size)
{
	return (size < TRACER_TEXT ? (uint32_t)size : TRACER_TEXT) + 6 * VAR_MAX;
}

/* The stack of who called the function with the frame @frame, if it is wanted for @site; the number
 * of frames. */
uint32_t coati_tracer_frames(const struct coati_site *site, const void *frame,
			     uint64_t frames[LIVE_STACK_MAX]);
/* Its definition, unless that was written before; its number, 0 for none. */
uint8_t *coati_tracer_put_stack(struct tracer_slot *s, uint8_t *at, const uint64_t *frames,
				uint32_t count, uint32_t *ret);
/* The event just written has this stack; 0: nothing to be said. */
void coati_tracer_put_stacked(struct tracer_slot *s, uint32_t number);

/* A text for the next event. */
struct tracer_text {
	const char *text;
	uint32_t size;
	uint32_t number; /* 0: in line */
};

/* As it comes from the program. */
struct tracer_given {
	const char *text;
	size_t size;
	size_t full; /* that it was already cut from; 0: it is one that often comes again */
};

/* Its definition, when it has to be cut, or was already cut, or often comes again. */
uint8_t *coati_tracer_define_text(struct tracer_slot *s, uint8_t *at, struct tracer_given given,
				  struct tracer_text *ret);

static inline uint8_t *put_string(uint8_t *at, const struct tracer_text *text)
{
	if (text->number)
		return put_var(at, (uint64_t)text->number << 1 | 1);
	return put_text(at, text->text, text->size);
}
