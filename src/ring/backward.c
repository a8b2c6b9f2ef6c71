/* SPDX-License-Identifier: MIT */
/*
 * Backward rings: the kernel writes downwards and overwrites the oldest, so that the newest record
 * is at the head and the way up leads into the past. There is no tail. A snapshot copies the ring
 * straight (its first byte is the head), with the writers paused or while they go on, and has a
 * second look at the head afterwards: what lies a ring's length above the second head has been
 * overwritten meanwhile, and a margin below it may be under the pen of writers that had not
 * finished. Pausing does not wait for those either: the kernel lets a record that was begun be
 * written to its end. It does so within one section of RCU, so that a caller who has stopped the
 * writers can wait for the end of the last one.
 *
 * The walk ends at the oldest whole record. Where the end was made by overwriting, a record that
 * crosses it is the normal case; where it is the head of the snapshot before, or the very start, it
 * is damage.
 */
#include "ring/ring.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ring/shared.h"

#define MARGIN_LEAST 4096u
/* a task, a soft and a hard interrupt and an NMI can be at it on one CPU */
#define MARGIN_NESTED 4u

static void copy_straight(struct coati_ring *ring, uint64_t head)
{
	uint64_t at = head & ring->mask, first = ring->mask + 1 - at;

	memcpy(ring->copy, ring->data + at, (size_t)first);
	memcpy(ring->copy + first, ring->data, (size_t)at);
}

/* The largest record that lies whole in the copy. */
static void measure(struct coati_ring *ring)
{
	uint64_t at = 0, size = ring->mask + 1;
	struct ring_header header;

	while (at + sizeof(header) <= size) {
		memcpy(&header, ring->copy + at, sizeof(header));
		if (header.size < sizeof(header) || header.size % 8 || header.size > size - at)
			break;
		if (header.size > ring->largest)
			ring->largest = header.size;
		at += header.size;
	}
}

/* How much may be under a pen: of writers that go on, or of those that were at it when they were
 * paused. */
static uint64_t margin(const struct coati_ring *ring, bool writing)
{
	uint64_t bytes = MARGIN_NESTED * ring->largest, half = (ring->mask + 1) / 2;

	if (writing && bytes < MARGIN_LEAST)
		bytes = MARGIN_LEAST;
	return bytes < half ? bytes : half;
}

/* Where the walk of the copy made at @head ends, when the head is at @later now. */
static void find_end(struct coati_ring *ring, uint64_t head, uint64_t later,
		     enum coati_snapshot_mode mode)
{
	bool writing = mode == COATI_SNAPSHOT_RUNNING;
	uint64_t size = ring->mask + 1, fresh = ring->seen - head, moved = head - later;
	uint64_t intact = moved < size ? size - moved : 0;

	/* there are no writers in saved memory, nor where the caller has stopped them all */
	if (writing || (ring->fd >= 0 && mode != COATI_SNAPSHOT_STOPPED)) {
		measure(ring);
		intact = intact > margin(ring, writing) ? intact - margin(ring, writing) : 0;
	}
	ring->overwritten = fresh > intact;
	ring->exact_end = !ring->overwritten;
	ring->copy_at = ring->pos = ring->head = head;
	ring->copy_end = head + (ring->overwritten ? intact : fresh);
	ring->seen = head;
	ring->have_snapshot = true;
}

/* A kernel that cannot is believed to have no writer left, as the caller says. */
static void wait_for_writers(const struct coati_ring *ring)
{
	if (ring->fd >= 0)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* What the walk may rely on. */
static enum coati_snapshot_mode seen_mode(const struct coati_ring *ring, int mode, bool moved)
{
	if (mode == COATI_SNAPSHOT_STOPPED)
		return moved ? COATI_SNAPSHOT_RUNNING : COATI_SNAPSHOT_STOPPED;
	return mode == COATI_SNAPSHOT_PAUSE || ring->paused ? COATI_SNAPSHOT_PAUSE
							    : COATI_SNAPSHOT_RUNNING;
}

int coati_ring_snapshot(struct coati_ring *ring, int mode, struct coati_error *err)
{
	bool resume = mode == COATI_SNAPSHOT_PAUSE && ring && !ring->paused && ring->fd >= 0;
	uint64_t head, later;
	int r;

	if (!ring || ring->kind != COATI_RING_BACKWARD)
		return coati_fail(err, -EINVAL, "snapshot: not a backward ring");
	if (mode < COATI_SNAPSHOT_RUNNING || mode > COATI_SNAPSHOT_STOPPED)
		return coati_fail(err, -EINVAL,
				  "snapshot of ring %d: there is no mode %d; COATI_SNAPSHOT_* are "
				  "accepted",
				  ring->key, mode);
	if (!ring->copy)
		ring->copy = coati_alloc((size_t)(ring->mask + 1));
	if (!ring->copy)
		return coati_fail(err, -ENOMEM, "snapshot of ring %d: out of memory", ring->key);
	if (resume && (r = coati_ring_pause(ring, 1, err)) < 0)
		return r;
	if (mode == COATI_SNAPSHOT_STOPPED)
		wait_for_writers(ring);
	head = shared_load_acquire(ring->head_word);
	copy_straight(ring, head);
	if (ring->after_copy)
		ring->after_copy(ring->after_copy_ctx);
	/* The copy must be over before the head is looked at again. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	later = shared_load_full(ring->head_word);
	r = resume ? coati_ring_pause(ring, 0, err) : 0;
	if (head % 8 || later % 8) {
		ring->copy_at = ring->pos = ring->copy_end = head & ~UINT64_C(7);
		ring->have_snapshot = ring->damage = true;
		ring->exact_end = true;
		ring->overwritten = false;
		return r;
	}
	find_end(ring, head, later, seen_mode(ring, mode, head != later));
	return r;
}

/* The walk is over: report once what could not be read. */
static int finished(struct coati_ring *ring, struct coati_ring_item *ret)
{
	if (ring->damage) {
		ring->damage = false;
		return coati_ring_damaged(ring, ring->pos, ring->mask + 1, ret);
	}
	ring->have_snapshot = false;
	if (!ring->overwritten)
		return 0;
	ring->overwritten = false;
	return coati_ring_loss(ring, 0, COATI_ITEM_UNKNOWN_COUNT, ret);
}

/* A LOST record, in @ret already. */
static int told_by_kernel(struct coati_ring *ring, struct coati_ring_item *ret)
{
	ret->kind = COATI_ITEM_LOSS;
	memcpy(&ret->id, ret->bytes + 8, sizeof(ret->id));
	memcpy(&ret->count, ret->bytes + 16, sizeof(ret->count));
	ret->first_time = ret->last_time = 0;
	ring->stats.lost += ret->count;
	ring->announced += ret->count;
	return 1;
}

int coati_backward_take(struct coati_ring *ring, struct coati_ring_item *ret)
{
	uint64_t left = ring->copy_end - ring->pos;
	struct ring_header header;

	if (!ring->have_snapshot)
		return 0;
	if (left < sizeof(header))
		return finished(ring, ret);
	memcpy(&header, ring->copy + (ring->pos - ring->copy_at), sizeof(header));
	if (header.size < sizeof(header) || header.size % 8 || header.size > left) {
		bool cut = header.size > left && header.size % 8 == 0 && !ring->exact_end;

		/* Never written yet, or the cut oldest one. */
		if (cut || (header.size == 0 && header.type == 0 && !ring->exact_end)) {
			ring->pos = ring->copy_end;
			return finished(ring, ret);
		}
		return coati_ring_damaged(ring, ring->copy_end, left, ret);
	}
	*ret = (struct coati_ring_item){
		.kind = COATI_ITEM_RECORD,
		.key = ring->key,
		.size = header.size,
		.bytes = ring->copy + (ring->pos - ring->copy_at),
		.position = ring->pos,
	};
	ring->pos += header.size;
	ring->stats.bytes += header.size;
	if (header.size > ring->largest)
		ring->largest = header.size;
	if (header.type == RING_RECORD_LOST && header.size >= 24)
		return told_by_kernel(ring, ret);
	ring->records++;
	if (ring->raw_offset && header.type == RING_RECORD_SAMPLE)
		ret->flags = ring_inner(ring, ret->bytes, ret->size);
	return 1;
}
