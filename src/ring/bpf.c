/* SPDX-License-Identifier: MIT */
/*
 * BPF ring buffers. Positions are counters of bytes; a record is an 8-byte header (length with a
 * busy and a discard bit, and a word for the kernel) and its bytes, rounded up to 8. The data is
 * mapped twice, so nothing wraps.
 *
 * The length is loaded with acquire: it is what a program stores last, so that the bytes behind it
 * are whole. A record that is still being written is waited for in a bounded spin. The kernel wakes
 * us for a record only when the consumer position that it sees is that of the record: before we
 * sleep the position is published and everything is looked at again (coati_bpf_idle()).
 */
#include "ring/ring.h"

#include <string.h>

#include "arch/relax.h"
#include "ring/drops.h"
#include "ring/shared.h"

#define BUSY	(UINT32_C(1) << 31)
#define DISCARD (UINT32_C(1) << 30)
#define HEADER	8u
#define SPINS	100

static const uint32_t *length_word(const struct coati_ring *ring)
{
	return (const uint32_t *)(const void *)(ring->data + (ring->pos & ring->mask));
}

/* The length of the record at pos; BUSY set when it did not come in time. */
static uint32_t committed_length(const struct coati_ring *ring)
{
	const uint32_t *word = length_word(ring);
	/* pairs with: the xchg of the header in bpf_ringbuf_commit() */
	uint32_t length = shared_load_acquire_u32(word);

	for (int i = 0; length & BUSY && i < SPINS; i++) {
		arch_relax();
		length = shared_load_acquire_u32(word);
	}
	return length;
}

/* At the end of what was looked at, or in front of a record that is not finished. */
static int exhausted(struct coati_ring *ring, struct coati_ring_item *ret)
{
	uint64_t left = ring->bad_head - ring->pos, size = ring->mask + 1, dropped;

	if (ring->damage) {
		ring->damage = false;
		return coati_ring_damaged(ring, ring->bad_head & ~UINT64_C(7),
					  left < size ? left : size, ret);
	}
	if (!(ring->flags & COATI_RING_HOLD))
		coati_ring_publish(ring);
	if (!ring->drops_due)
		return 0;
	ring->drops_due = false;
	dropped = coati_drops_take(ring->drops);
	return dropped ? coati_ring_loss(ring, dropped, 0, ret) : 0;
}

int coati_bpf_take(struct coati_ring *ring, struct coati_ring_item *ret)
{
	for (;;) {
		uint64_t left = ring->head - ring->pos, total;
		uint32_t length, size;

		if (!left)
			return exhausted(ring, ret);
		if (ring->pos - ring->published >= ring->step)
			coati_ring_publish(ring);
		length = committed_length(ring);
		if (length & BUSY)
			return exhausted(ring, ret);
		size = length & ~(BUSY | DISCARD);
		total = ((uint64_t)size + HEADER + 7) & ~UINT64_C(7);
		if (total > left)
			return coati_ring_damaged(ring, ring->head, left, ret);
		ret->position = ring->pos;
		ret->bytes = (const uint8_t *)length_word(ring) + HEADER;
		ring->pos += total;
		if (length & DISCARD) {
			ring->stats.discarded++;
			if (!(ring->flags & COATI_RING_DISCARDS))
				continue;
		} else {
			ring->records++;
		}
		ret->kind = COATI_ITEM_RECORD;
		ret->flags = length & DISCARD ? COATI_ITEM_DISCARD : 0;
		ret->key = ring->key;
		ret->size = size;
		ret->time = 0;
		return 1;
	}
}

bool coati_bpf_idle(struct coati_ring *ring)
{
	uint64_t head;

	if (ring->flags & COATI_RING_HOLD)
		return shared_load_acquire(ring->head_word) == ring->pos;
	shared_store_full(ring->tail_word, ring->pos);
	ring->published = ring->pos;
	head = shared_load_full(ring->head_word);
	if (head == ring->pos || (ring->had_bad && head == ring->bad_head))
		return true;
	/* Its commit finds our position and wakes us, unless it has just been. */
	return shared_load_full_u32(length_word(ring)) & BUSY;
}
