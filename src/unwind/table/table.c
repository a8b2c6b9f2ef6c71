/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a table come in, perhaps from an untrusted file; a view of its parts goes out when
 * sizes, offsets, order and checksum hold. After that every look-up stays inside, whatever the
 * rules say.
 */
#include "unwind/table/table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
			      (b ^ UINT64_C(0xd6e8feb86659fd93));

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t coati_table_checksum(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	const size_t skip = offsetof(struct table_head, checksum);
	uint64_t lane[2] = { size, ~(uint64_t)size };
	size_t i = 0;

	for (; size - i >= 16; i += 16) {
		uint64_t a, b;

		memcpy(&a, p + i, 8);
		memcpy(&b, p + i + 8, 8);
		if (i == (skip & ~(size_t)15))
			b = 0;
		lane[i / 16 & 1] = mix(lane[i / 16 & 1] ^ a, b + i);
	}
	for (; i < size; i++)
		lane[0] = mix(lane[0] ^ p[i], i);
	return mix(lane[0], lane[1]);
}
_Static_assert(offsetof(struct table_head, checksum) % 16 == 8, "the second word of its pair");

/* @count things of @size at @offset lie inside and are aligned. */
static bool inside(const struct table_head *h, uint32_t offset, uint64_t count, size_t size)
{
	return offset % 8 == 0 && offset >= sizeof(*h) && offset <= h->size &&
	       count <= (h->size - offset) / size;
}

static bool ranges_hold(const struct table *t)
{
	uint64_t bucket = 0;

	for (uint32_t i = 0; i < t->nr_ranges; i++) {
		const struct table_range *r = &t->ranges[i];
		uint64_t end;

		if (r->first_bucket != bucket || !r->size ||
		    __builtin_add_overflow(r->start, (uint64_t)r->size, &end))
			return false;
		bucket += ((uint64_t)r->size + 1023) >> TABLE_BUCKET_BITS;
	}
	return bucket == t->nr_buckets;
}

static bool rows_hold(const struct table *t)
{
	uint32_t last = 1, mask = (1u << TABLE_RULE_BITS) - 1;

	for (uint32_t i = 0; i <= t->nr_buckets; i++) {
		if (t->dir[i] < last || t->dir[i] > t->nr_rows)
			return false;
		last = t->dir[i];
	}
	if (last != t->nr_rows || t->rows[0] != 0)
		return false;
	for (uint32_t i = 0; i < t->nr_rows; i++)
		if ((t->rows[i] & mask) >= t->nr_rules)
			return false;
	for (uint32_t i = 0; i < t->nr_rules; i++)
		if ((t->rules[i] & 15) >= TABLE_CFA_COUNT || (t->rules[i] >> 4 & 15) > TABLE_LOST)
			return false;
	return t->rules[0] == TABLE_CFA_GAP;
}

int coati_table_open(const void *bytes, size_t size, struct table *ret)
{
	const struct table_head *h = bytes;
	struct table t;

	if (size < sizeof(*h) || (uintptr_t)bytes % 8)
		return -EBADMSG;
	if (h->magic == __builtin_bswap64(TABLE_MAGIC))
		return -EOPNOTSUPP;
	if (h->magic != TABLE_MAGIC)
		return -EBADMSG;
	if (h->version != TABLE_VERSION)
		return -EOPNOTSUPP;
	if (h->size != size || size > UINT32_MAX || size % 8 || h->build_id_size > 20 ||
	    (h->machine != EM_X86_64 && h->machine != EM_AARCH64) || !h->nr_rows || !h->nr_rules ||
	    h->nr_rules > TABLE_RULES_MAX || h->nr_ranges > TABLE_RANGES_MAX ||
	    !inside(h, h->ranges, h->nr_ranges, sizeof(struct table_range)) ||
	    !inside(h, h->dir, (uint64_t)h->nr_buckets + 1, 4) ||
	    !inside(h, h->rows, h->nr_rows, 4) || !inside(h, h->rules, h->nr_rules, 8) ||
	    !inside(h, h->others, h->nr_rules, 4) ||
	    h->checksum != coati_table_checksum(bytes, size))
		return -EBADMSG;
	t = table_view(bytes);
	if (!ranges_hold(&t) || !rows_hold(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}
