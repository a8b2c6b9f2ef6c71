/* SPDX-License-Identifier: MIT */
/*
 * Strings and stacks that were seen before in this generation: bytes in, a number out. Append-only,
 * without a lock, safe in handlers; memory is taken by counting up, and given back all at once when
 * no thread can be in it any more (generation.c).
 *
 * An entry is written whole before its place in the table is set with one compare-and-swap. Litmus:
 * insert "bytes; head (release, by the swap)", look-up "head (acquire); bytes": who sees the head
 * sees the bytes. Who loses the swap looks again, as the winner may have had the same key; its own
 * entry is wasted. tests/models/table.pml is the model.
 *
 * The definition goes into a batch of the thread that needs it, before the event that uses it.
 * Until the first has done so ("told", released after its bytes), others write it too: a number is
 * never used in a batch before its definition stands in that batch or is published in another one.
 */
#include "live/tracer/emit.h"

static uint64_t hash_of(const uint8_t *p, uint32_t size)
{
	uint64_t state = size, word;

	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		state = live_mix(state, word);
	}
	word = 0;
	memcpy(&word, p, size);
	return live_mix(live_mix(state, word), size);
}

/* A new entry with its key, UINT32_MAX when there is no room. */
static uint32_t make(struct tracer_table *t, const void *key, uint32_t size, uint64_t hash)
{
	uint64_t at;
	uint32_t number;

	if (atomic_load_explicit(&t->count, memory_order_relaxed) >= t->max ||
	    atomic_load_explicit(&t->used, memory_order_relaxed) + size > t->bytes)
		return UINT32_MAX;
	number = atomic_fetch_add_explicit(&t->count, 1, memory_order_relaxed);
	at = atomic_fetch_add_explicit(&t->used, (size + 7) & ~7u, memory_order_relaxed);
	if (number >= t->max || at + size > t->bytes)
		return UINT32_MAX;
	memcpy(t->keys + at, key, size);
	t->entries[number].hash = hash;
	t->entries[number].at = (uint32_t)at;
	t->entries[number].size = size;
	atomic_store_explicit(&t->entries[number].told, 0, memory_order_relaxed);
	return number;
}

static bool same(const struct tracer_table *t, const struct tracer_entry *e, const void *key,
		 uint32_t size, uint64_t hash)
{
	return e->hash == hash && e->size == size && !memcmp(t->keys + e->at, key, size);
}

uint32_t coati_tracer_intern(struct tracer_table *t, const void *key, uint32_t size,
			     struct tracer_entry **ret)
{
	uint64_t hash = hash_of(key, size);
	uint32_t mine = UINT32_MAX, place = (uint32_t)hash & t->mask;

	for (uint32_t tries = 0; tries <= t->mask;) {
		/* pairs with: release of the swap below */
		uint32_t head = atomic_load_explicit(&t->heads[place], memory_order_acquire);

		if (head && same(t, &t->entries[head - 1], key, size, hash)) {
			*ret = &t->entries[head - 1];
			return head;
		}
		if (head) {
			place = (place + 1) & t->mask;
			tries++;
			continue;
		}
		if (mine == UINT32_MAX)
			mine = make(t, key, size, hash);
		if (mine == UINT32_MAX)
			return 0;
		/* pairs with: acquire above */
		if (atomic_compare_exchange_strong_explicit(&t->heads[place], &head, mine + 1,
							    memory_order_release,
							    memory_order_relaxed)) {
			*ret = &t->entries[mine];
			return mine + 1;
		}
	}
	return 0;
}

void coati_tracer_table_reset(struct tracer_table *t)
{
	if (!atomic_load_explicit(&t->count, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i <= t->mask; i++)
		atomic_store_explicit(&t->heads[i], 0, memory_order_relaxed);
	atomic_store_explicit(&t->count, 0, memory_order_relaxed);
	atomic_store_explicit(&t->used, 0, memory_order_relaxed);
}
