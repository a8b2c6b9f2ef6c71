/* SPDX-License-Identifier: MIT */
/* The counter in which BPF programs count what they could not write into a ring buffer. */
#pragma once

#include <stdint.h>

#include <coati/error.h>

struct coati_drops;

/* The value at @index of an ARRAY or PERCPU_ARRAY of 64-bit values; growth is counted from now
 * on. */
int coati_drops_open(int map_fd, uint32_t index, struct coati_drops **ret, struct coati_error *err);
/* How much it has grown since the last call; 0 also when it cannot be read. */
uint64_t coati_drops_take(struct coati_drops *drops);
void coati_drops_close(struct coati_drops **drops);
