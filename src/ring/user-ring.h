/* SPDX-License-Identifier: MIT */
/* Writing to BPF programs: a map of the type BPF_MAP_TYPE_USER_RINGBUF. */
#pragma once

#include <stdint.h>

#include <coati/error.h>

struct coati_user_ring;

int coati_user_ring_open(int map_fd, struct coati_user_ring **ret, struct coati_error *err);

/* Room for one record of @size bytes, or NULL when the ring is full, the record could never fit or
 * one is open. One at a time; 8-byte aligned.  Hot. */
void *coati_user_ring_reserve(struct coati_user_ring *ring, uint32_t size);

void coati_user_ring_submit(struct coati_user_ring *ring);

void coati_user_ring_discard(struct coati_user_ring *ring);

/* A record that is open is discarded. */
void coati_user_ring_close(struct coati_user_ring **ring);
