/* SPDX-License-Identifier: MIT */
/* Functions that keep no frame pointers and write down from where they were called. In the test
 * programs, and in a module that they load. */
#pragma once

#include <stdint.h>

#define FRAMES_MAX 64

struct frames {
	uint64_t callers[FRAMES_MAX]; /* return addresses, the outermost first */
	uint32_t len;
	void (*leaf)(void *);
	void *ctx;
};

/* @depth functions deep, then the leaf. Every fourth frame has 3 KiB. */
void coati_frames_down(struct frames *f, uint32_t depth);
/* At that depth count so far, again and again: work that is seen. */
void coati_frames_burn(uint32_t depth, uint64_t rounds);
/* A leaf: wait until there is something to read at the descriptor that @fd points to. */
void coati_frames_sleep(void *fd);
/* A leaf: sleep for a number of nanoseconds, or until a signal arrives. */
void coati_frames_nap(void *ns);
typedef void (*frames_down_fn)(struct frames *f, uint32_t depth);
typedef void (*frames_burn_fn)(uint32_t depth, uint64_t rounds);
