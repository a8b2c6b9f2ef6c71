/* SPDX-License-Identifier: MIT */
/*
 * AUX areas: a second ring of raw bytes that a PMU writes (instruction traces). Head and tail are
 * in the control page and follow the same order as those of the data; there are no records in it,
 * AUX records in the data ring tell what is where. In overwrite mode the head is the only truth:
 * the oldest byte lies right behind it.
 */
#include "ring/ring.h"

#include <errno.h>

#include "ring/shared.h"

static void spans(const struct coati_ring *ring, uint64_t from, uint64_t bytes,
		  struct coati_span *ret_first, struct coati_span *ret_second)
{
	uint64_t at = from & (ring->aux_bytes - 1);
	uint64_t first = bytes < ring->aux_bytes - at ? bytes : ring->aux_bytes - at;

	*ret_first = (struct coati_span){ ring->aux + at, (size_t)first };
	*ret_second = (struct coati_span){ ring->aux, (size_t)(bytes - first) };
}

int coati_ring_aux(struct coati_ring *ring, struct coati_span *ret_first,
		   struct coati_span *ret_second)
{
	uint64_t head, fresh;

	if (!ring || !ring->aux)
		return -EOPNOTSUPP;
	/* pairs with: the release of aux_head in perf_aux_output_end() */
	head = shared_load_acquire(&ring->control->aux_head);
	if (ring->flags & COATI_RING_AUX_OVERWRITE) {
		spans(ring, head, ring->aux_bytes, ret_first, ret_second);
		return 0;
	}
	fresh = head - ring->aux_pos;
	if (fresh > ring->aux_bytes) {
		ring->aux_pos = head;
		ring->stats.damaged++;
		ring->stats.skipped_bytes += ring->aux_bytes;
		return -EBADMSG;
	}
	spans(ring, ring->aux_pos, fresh, ret_first, ret_second);
	return 0;
}

void coati_ring_aux_release(struct coati_ring *ring, uint64_t bytes)
{
	uint64_t fresh;

	if (!ring || !ring->aux || ring->flags & COATI_RING_AUX_OVERWRITE)
		return;
	fresh = shared_load_acquire(&ring->control->aux_head) - ring->aux_pos;
	ring->aux_pos += bytes < fresh ? bytes : fresh;
	/* pairs with: the acquire of aux_tail in perf_aux_output_begin() */
	shared_store_release(&ring->control->aux_tail, ring->aux_pos);
}
