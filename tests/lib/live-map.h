/* SPDX-License-Identifier: MIT */
/* The memory of a flight recorder, made from a trace as text (live-read/text.h): what a process
 * that died would have left. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#define LIVE_MAP_BYTES 32768u

/* Into @ret, LIVE_MAP_BYTES large. Batches of kind sites become the area of sites, the others lie
 * in chunks of 4096 bytes by generation; an open batch keeps the capacity that its line gives it.
 * @start: start ticks of its process 4242. -E2BIG: it does not fit. */
int live_map_make(const char *text, uint64_t start, uint8_t *ret, struct coati_error *err);
