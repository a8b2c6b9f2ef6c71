/* SPDX-License-Identifier: MIT */
/*
 * The balance: produced = delivered + lost, exactly. The kernel tells losses in the ring only just
 * before the next record that fits; a stream that ends after an overflow never does. The events'
 * own counters (read format LOST) know at once. What they know beyond what items have announced
 * comes as a BALANCE loss, and is remembered as credit against the LOST record that may tell the
 * same later.
 */
#include "ring/reader.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ring/shared.h"

#define GROUP_WORDS 8192u /* a group of 2730 events with ids */

/* In the words of a read of @m's group: the lost count of the member with our id, else of the
 * leader. */
static int lost_in_group(const struct reader_member *m, const uint64_t *words, size_t nr,
			 uint64_t *ret)
{
	bool has_id = (m->read_format & COATI_READ_ID) != 0;
	size_t at = 1 + ((m->read_format & COATI_READ_ENABLED) != 0) +
		    ((m->read_format & COATI_READ_RUNNING) != 0);
	size_t each = 2 + (size_t)has_id;

	for (size_t i = at; i + each <= nr; i += each)
		if (!has_id || !m->id || words[i + 1] == m->id) {
			*ret = words[i + each - 1];
			return 1;
		}
	return 0;
}

int coati_member_read_lost(const struct reader_member *m, uint64_t *ret)
{
	uint64_t few[8], *words = few;
	size_t room = sizeof(few);
	ssize_t n;
	int r = 0;

	if (!(m->read_format & COATI_READ_LOST) || m->fd < 0)
		return 0;
	if (m->read_format & COATI_READ_GROUP) {
		room = GROUP_WORDS * sizeof(*words);
		words = coati_alloc(room);
		if (!words)
			return 0;
	}
	n = read(m->fd, words, room);
	if (n > 0 && m->read_format & COATI_READ_GROUP) {
		r = lost_in_group(m, words, (size_t)n / sizeof(*words), ret);
	} else if (n >= 16) {
		*ret = words[(size_t)n / sizeof(*words) - 1]; /* it is the last one */
		r = 1;
	}
	if (words != few)
		coati_free(words);
	return r;
}

/* All that the events of this ring have lost since they were added. */
static uint64_t lost_by_members(struct reader_ring *rr)
{
	uint64_t sum = 0;

	for (struct reader_member *m = rr->members; m; m = m->next) {
		uint64_t lost;

		if (coati_member_read_lost(m, &lost) > 0)
			m->lost = lost;
		sum += m->lost - m->lost_before;
	}
	return sum;
}

int coati_reader_settle(struct coati_reader *rd, struct reader_ring *rr,
			struct coati_ring_item *ret)
{
	struct coati_ring *ring = rr->ring;
	bool was_empty = rr->settled_empty && rr->settled_at == ring->pos && !ring->was_paused;
	uint64_t sum, missing;
	uint32_t flags = COATI_ITEM_BALANCE;
	bool empty;

	rr->settle = false;
	if (ring->kind == COATI_RING_BPF || ring->raw_use)
		return 0;
	sum = lost_by_members(rr);
	/* After the counters: when nothing was written up to now, nothing was while they grew. */
	empty = ring->kind == COATI_RING_FORWARD && ring->published == ring->pos &&
		shared_load_acquire(ring->head_word) == ring->pos;
	rr->settled_at = ring->pos;
	rr->settled_empty = empty;
	ring->was_paused = ring->paused;
	missing = sum - ring->announced;
	if (missing == 0 || missing > INT64_MAX)
		return 0;
	ring->announced += missing;
	ring->credit += missing;
	if (was_empty && empty)
		flags |= COATI_ITEM_TOO_BIG;
	coati_ring_loss(ring, missing, flags, ret);
	ret->id = rr->nr_members == 1 ? rr->members->id : 0;
	ret->first_time = rr->last_time;
	return 1;
}
