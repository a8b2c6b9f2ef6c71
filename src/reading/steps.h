/* SPDX-License-Identifier: MIT */
/*
 * From when on which state of a thread holds: a few bytes for each change, behind a mark for each
 * 64 of them. Times rise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* The first step of a block. */
struct steps_mark {
	uint64_t time, at; /* at: of the bytes of those behind it */
	uint32_t state;
};

/* Zeros are an empty one. */
struct steps {
	ARRAY(struct steps_mark) marks;
	uint8_t *bytes;
	size_t used, room;
	/* the last one is not written yet */
	uint64_t last_time;
	uint32_t last_state;
	uint64_t written_time; /* the one before it */
	uint32_t nr_block;     /* steps of the last block that are written */
	bool any;
};

/* -ENOMEM. Hot. */
int coati_steps_add(struct steps *s, uint64_t time, uint32_t state);
/* The state at @time; 0 before the first. */
uint32_t coati_steps_find(const struct steps *s, uint64_t time);
/* Times before @before are not asked for again. */
void coati_steps_trim(struct steps *s, uint64_t before);
/* Empty again. */
void coati_steps_fini(struct steps *s);
