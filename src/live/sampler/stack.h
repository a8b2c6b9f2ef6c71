/* SPDX-License-Identifier: MIT */
/* Stacks inside a signal handler. All of it is safe there, keeps to memory that is mapped, and may
 * be called by any number of threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "live/sampler/objects.h"
#include "unwind/table/walk.h"

/* Frames of the code that a signal interrupted, leaf first; *ret_cut when there would be more. By
 * frame pointers. */
uint32_t coati_sampler_walk(const void *context, uint64_t *frames, uint32_t max, bool can_probe,
			    bool *ret_cut);
/* Where a walk by frame pointers begins: the frame at @fp, on the stack at and above @sp. */
struct stack_start {
	uint64_t sp, fp;
};

/* The callers of the code whose frame that is, the nearest first. For code that asks for its own
 * stack, too. */
uint32_t coati_sampler_walk_on(struct stack_start at, uint64_t *frames, uint32_t max,
			       bool can_probe, bool *ret_cut);
/* The stack pointer of the code that a signal interrupted. */
uint64_t coati_sampler_sp(const void *context);
/* Whether eight bytes can be read at @addr. */
bool coati_sampler_probe(uint64_t addr);

/* A part of a stack that is known to be there, for who walks the same one again and again. */
struct stack_memory {
	uint64_t low, end;
	bool can_probe;
};

/* As coati_sampler_walk_on(), with what was known after the last walk: only what is new is asked
 * for. */
uint32_t coati_sampler_walk_known(struct stack_memory *known, uint64_t fp, uint64_t *frames,
				  uint32_t max, bool *ret_cut);

/* What a walk over tables works with: of one walk at a time, and too large for small alternate
 * stacks. */
struct sampler_scratch {
	struct walk walk;
	uint64_t regs[WALK_REGS];
	struct walk_cache *cache; /* NULL: none */
	bool is_full;		  /* without the short way through common code, for tests */
};

struct sampler_limits {
	uint64_t *frames;
	uint32_t max;
	bool can_probe;
	uint64_t above; /* frames whose stack pointer is not above this are passed over */
};

/* By tables, and by frame pointers where there is none. The number of frames; *ret_cut as above. */
uint32_t coati_sampler_walk_tables(const void *context, const struct sampler_objects *objects,
				   struct sampler_scratch *scratch, const struct sampler_limits *l,
				   bool *ret_cut);
/* The callers of the code whose frame is at @frame, the nearest first, for code that asks for its
 * own stack and has not returned from there. By tables; 0: there is no way out of this library by
 * them. */
uint32_t coati_sampler_walk_here(const void *frame, const struct sampler_objects *objects,
				 const struct sampler_limits *l, bool *ret_cut);
