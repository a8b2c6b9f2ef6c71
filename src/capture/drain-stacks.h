/* SPDX-License-Identifier: MIT */
/* The drain of a capture that unwinds stacks: see drain-stacks.c. */
#pragma once

#include <stdint.h>

#include "capture/stacks.h"

struct coati_capture;
struct drain_stacks;

int coati_drain_stacks_new(struct coati_images *images, const char *procfs,
			   struct drain_stacks **ret, struct coati_error *err);
/* NULL in it is fine. */
void coati_drain_stacks_free(struct drain_stacks **d);
struct stacks *coati_drain_stacks_get(struct drain_stacks *d);

/* All rings, once: 1 something was written, 0 nothing was there, negative: it failed. */
int coati_drain_stacks_round(struct coati_capture *cap);
/* One record of a snapshot; flush after the last. */
int coati_drain_stacks_put(struct coati_capture *cap, const uint8_t *record);
int coati_drain_stacks_flush(struct coati_capture *cap);
