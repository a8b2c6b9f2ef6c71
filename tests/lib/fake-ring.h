/* SPDX-License-Identifier: MIT */
/*
 * The kernel's half of a ring, in memory: writes records as the kernel would (forward with its one
 * free byte and LOST before the next record that fits, backward over the oldest, BPF with busy and
 * discard bits), from any start of the counters. The bytes of a record follow from its number, so
 * that a reader's view can be checked without keeping them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/ring.h>

#include "ring/ring.h"

struct fake_ring {
	uint8_t *memory; /* page-aligned, laid out as coati_ring_from_memory() wants it */
	size_t bytes;
	uint64_t size; /* of the data */
	enum coati_ring_kind kind;
	uint64_t head;	   /* the writer's own */
	uint64_t lost;	   /* not told yet */
	uint64_t lost_all; /* as an event's LOST count */
	uint64_t written;  /* records that fitted */
};

#define FAKE_SAMPLE 9u

/* Counters start at @start (a multiple of 8). Ends the test when there is no memory. */
void fake_ring_init(struct fake_ring *f, enum coati_ring_kind kind, uint64_t size, uint64_t start);
void fake_ring_fini(struct fake_ring *f);
/* Open it with coati_ring_from_memory(). @flags: COATI_RING_*. */
struct coati_ring *fake_ring_open(struct fake_ring *f, uint32_t flags);

/* Perf: a record of @size bytes in all, with its first word behind the header @number and the rest
 * derived from it. True when it fitted. BPF: the same as the payload of @size bytes. */
bool fake_ring_write(struct fake_ring *f, uint32_t type, uint32_t size, uint64_t number);
/* Perf: these bytes, as they are, at the head; the head moves by @size rounded up to 8. */
void fake_ring_write_raw(struct fake_ring *f, const void *bytes, uint32_t size);
/* A header alone: for lengths that cannot be. The head moves by @advance. */
void fake_ring_write_header(struct fake_ring *f, uint32_t type, uint16_t size, uint64_t advance);
/* The head word, as it is. */
void fake_ring_set_head(struct fake_ring *f, uint64_t head);
uint64_t fake_ring_tail(const struct fake_ring *f);

/* BPF in steps: reserve (busy) and finish. NULL when it does not fit. */
uint32_t *fake_ring_reserve(struct fake_ring *f, uint32_t size, uint64_t number);
void fake_ring_commit(uint32_t *header, bool discard);

/* Fails the test unless @item is record @number of @size bytes as written above. */
void fake_ring_check(const struct fake_ring *f, const struct coati_ring_item *item, uint32_t size,
		     uint64_t number);
/* The number in a record or payload. */
uint64_t fake_ring_number(const struct fake_ring *f, const struct coati_ring_item *item);
