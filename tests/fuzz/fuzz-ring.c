/* SPDX-License-Identifier: MIT */
/* Bytes are a ring and what its control page says: the walk stays inside, ends, and its sums
 * agree. */
#include <string.h>

#include <coati/abi.h>
#include <coati/ring.h>

#include "base/cursor.h"
#include "fuzz/fuzz.h"
#include "ring/ring.h"

#define PAGE 4096u

static uint8_t memory[4 * PAGE] __attribute__((aligned(4096)));

/* Two rounds, as a head that cannot be is told once. Every byte of every item is looked at. */
static void walk(struct coati_ring *ring, uint64_t *sum)
{
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring_item item;
	uint64_t records = 0, n = 0;

	for (int round = 0; round < 2; round++) {
		if (coati_ring_kind(ring) == COATI_RING_BACKWARD)
			FUZZ_CHECK(coati_ring_snapshot(ring, round, NULL) == 0);
		while (coati_ring_next(ring, &item) > 0) {
			FUZZ_CHECK(++n <= 2 * (PAGE / 8 + 2));
			records += item.kind == COATI_ITEM_RECORD &&
				   !(item.flags & COATI_ITEM_DISCARD);
			for (uint32_t i = 0; i < (item.bytes ? item.size : 0); i++)
				*sum += item.bytes[i];
		}
	}
	coati_ring_get_stats(ring, &stats);
	FUZZ_CHECK(stats.records == records && stats.bytes <= 2 * PAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	uint8_t how = cursor_u8(&c);
	struct coati_ring_opts o = { .size = sizeof(o),
				     .flags = how >> 4 & 3,
				     .raw_offset = how >> 6 };
	uint64_t head = cursor_u64(&c), tail = cursor_u64(&c), sum = 0;
	bool bpf = how % 3 == 2;
	struct coati_ring *ring = NULL;

	if (c.bad)
		return 0;
	o.kind = COATI_RING_FORWARD + how % 3;
	memset(memory, 0, sizeof(memory));
	memcpy(memory + (bpf ? PAGE : offsetof(struct coati_control_page, data_head)), &head, 8);
	memcpy(memory + (bpf ? 0 : offsetof(struct coati_control_page, data_tail)), &tail, 8);
	size = cursor_left(&c) < PAGE ? cursor_left(&c) : PAGE;
	memcpy(memory + (bpf ? 2 : 1) * PAGE, cursor_bytes(&c, size), size);
	memcpy(memory + 3 * PAGE, memory + 2 * PAGE, bpf ? PAGE : 0);
	if (coati_ring_from_memory(memory, (bpf ? 4 : 2) * PAGE, &o, &ring, NULL) == 0)
		walk(ring, &sum);
	coati_ring_close(&ring);
	return sum == UINT64_MAX;
}
