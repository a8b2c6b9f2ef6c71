/* SPDX-License-Identifier: MIT */
/*
 * Forward perf rings beyond the hot path of ring.h: the end of what was looked at, records that
 * wrap, losses that the kernel reports, impossible lengths, and the bytes as they are for a writer
 * of files.
 *
 * The kernel's head is trusted only as far as it can be true (a multiple of 8, at most one ring
 * ahead); a header's length only as far as the head goes. What fails is skipped up to the head and
 * comes as DAMAGE.
 */
#include "ring/ring.h"

#include <errno.h>
#include <string.h>

#include "ring/shared.h"

/* The @size bytes at pos in one piece. */
static const uint8_t *join(struct coati_ring *ring, uint32_t size)
{
	uint64_t at = ring->pos & ring->mask, first = ring->mask + 1 - at;

	if (size <= first)
		return ring->data + at;
	memcpy(ring->joined, ring->data + at, (size_t)first);
	memcpy(ring->joined + first, ring->data, (size_t)(size - first));
	return ring->joined;
}

static void fill(struct coati_ring *ring, const uint8_t *bytes, uint32_t size,
		 struct coati_ring_item *ret)
{
	ret->kind = COATI_ITEM_RECORD;
	ret->flags = 0;
	ret->key = ring->key;
	ret->size = size;
	ret->bytes = bytes;
	ret->position = ring->pos;
	ret->time = 0;
}

/* A LOST or LOST_SAMPLES record, already in @ret, becomes a loss. False when BALANCE items have
 * reported all of it. */
static bool told_by_kernel(struct coati_ring *ring, uint32_t type, struct coati_ring_item *ret)
{
	uint32_t need = type == RING_RECORD_LOST ? 24 : 16;
	uint64_t words[2] = { 0, 0 }, told;

	if (ret->size < need) {
		ret->flags |= COATI_ITEM_INNER;
		ring->records++;
		return true;
	}
	memcpy(words, ret->bytes + 8, need - 8);
	ret->kind = COATI_ITEM_LOSS;
	ret->id = type == RING_RECORD_LOST ? words[0] : 0;
	ret->count = type == RING_RECORD_LOST ? words[1] : words[0];
	ret->first_time = ret->last_time = 0;
	if (type == RING_RECORD_LOST) {
		told = ret->count < ring->credit ? ret->count : ring->credit;
		ring->credit -= told;
		ret->count -= told;
		ring->announced += ret->count;
	}
	ring->stats.lost += ret->count;
	return ret->count != 0;
}

/* At the end of what was looked at: what the head itself had to say, and the space goes back. */
static int exhausted(struct coati_ring *ring, struct coati_ring_item *ret)
{
	uint64_t left = ring->bad_head - ring->pos, size = ring->mask + 1;

	if (ring->damage) {
		ring->damage = false;
		return coati_ring_damaged(ring, ring->bad_head & ~UINT64_C(7),
					  left < size ? left : size, ret);
	}
	if (!(ring->flags & COATI_RING_HOLD))
		coati_ring_publish(ring);
	return 0;
}

int coati_forward_slow(struct coati_ring *ring, struct coati_ring_item *ret)
{
	struct ring_header header;
	uint64_t left;

	while ((left = ring->head - ring->pos) != 0) {
		if (ring->pos - ring->published >= ring->step)
			coati_ring_publish(ring);
		memcpy(&header, ring->data + (ring->pos & ring->mask), sizeof(header));
		if (header.size < sizeof(header) || header.size % 8 || header.size > left)
			return coati_ring_damaged(ring, ring->head, left, ret);
		fill(ring, join(ring, header.size), header.size, ret);
		ring->pos += header.size;
		ring_set_piece(ring);
		if (header.type == RING_RECORD_LOST || header.type == RING_RECORD_LOST_SAMPLES) {
			if (told_by_kernel(ring, header.type, ret))
				return 1;
			continue;
		}
		ring->records++;
		if (ring->raw_offset && header.type == RING_RECORD_SAMPLE)
			ret->flags = ring_inner(ring, ret->bytes, ret->size);
		return 1;
	}
	return exhausted(ring, ret);
}

int coati_ring_peek(struct coati_ring *ring, struct coati_span *ret_first,
		    struct coati_span *ret_second)
{
	uint64_t at, left, first;

	if (!ring || ring->kind != COATI_RING_FORWARD)
		return -EINVAL;
	coati_ring_look(ring);
	if (ring->damage) {
		struct coati_ring_item item;

		exhausted(ring, &item);
	}
	at = ring->pos & ring->mask;
	left = ring->head - ring->pos;
	first = left < ring->mask + 1 - at ? left : ring->mask + 1 - at;
	*ret_first = (struct coati_span){ ring->data + at, (size_t)first };
	*ret_second = (struct coati_span){ ring->data, (size_t)(left - first) };
	return 0;
}

void coati_ring_consume(struct coati_ring *ring, size_t bytes)
{
	if (!ring || ring->kind != COATI_RING_FORWARD)
		return;
	if (bytes > ring->head - ring->pos)
		bytes = (size_t)(ring->head - ring->pos);
	ring->pos += bytes & ~(size_t)7;
	ring->raw_use = true;
	coati_ring_publish(ring);
	ring_set_piece(ring);
}
