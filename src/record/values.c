/* SPDX-License-Identifier: MIT */
/*
 * Values that stay in the bytes of their record until they are needed: numbers, counts of a read,
 * branches, registers, and the word that tells where data came from. In: a view made by the
 * decoder. Out: numbers in our byte order.
 */
#include <errno.h>

#include <coati/record.h>

#include "record/bytes.h"
#include "record/decode.h"
#include "record/layout.h"
#include "record/record.h"

uint64_t coati_u64_at(const struct coati_u64s *v, uint32_t i)
{
	if (i >= v->count)
		return 0;
	return load_u64(v->bytes + (size_t)i * 8, v->swap);
}

const uint64_t *coati_u64_array(const struct coati_u64s *v, uint64_t *buf)
{
	if (!v->swap && (uintptr_t)v->bytes % _Alignof(uint64_t) == 0)
		return (const uint64_t *)(const void *)v->bytes;
	for (uint32_t i = 0; i < v->count; i++)
		buf[i] = load_u64(v->bytes + (size_t)i * 8, v->swap);
	return buf;
}

int coati_read_block_get(const struct coati_read_block *b, uint64_t i, struct coati_read_value *ret)
{
	uint64_t times = layout_read_time_words(b->format);
	uint64_t words = layout_read_value_words(b->format);
	uint32_t at, rest;

	if (i >= b->nr)
		return -EINVAL;
	/* A group has its count in front of the times; a single value stands in front of them
	 * itself. */
	if (b->format & COATI_READ_GROUP) {
		at = (uint32_t)(1 + times + i * words);
		rest = at + 1;
	} else {
		at = 0;
		rest = (uint32_t)(1 + times);
	}
	ret->value = coati_u64_at(&b->raw, at);
	ret->id = b->format & COATI_READ_ID ? coati_u64_at(&b->raw, rest++) : 0;
	ret->lost = b->format & COATI_READ_LOST ? coati_u64_at(&b->raw, rest) : 0;
	return 0;
}

/* A C bitfield starts at the lowest bit on a little-endian machine and at the highest on a
 * big-endian one, and the bits inside each field keep their order. Moving field by field is
 * therefore its own inverse. */
static uint64_t mirror_fields(uint64_t word, const uint8_t *widths, size_t nr)
{
	uint64_t out = 0;
	unsigned int at = 0;

	for (size_t i = 0; i < nr; i++) {
		unsigned int width = widths[i];
		uint64_t field = word >> (64 - at - width) & ((UINT64_C(1) << width) - 1);

		out |= field << at;
		at += width;
	}
	return out;
}

uint64_t coati_branch_flags_mirror(uint64_t word)
{
	/* mispredicted, predicted, in_tx, abort, cycles, type, spec, new_type, priv, reserved */
	static const uint8_t widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31 };

	return mirror_fields(word, widths, sizeof(widths));
}

int coati_branches_get(const struct coati_branches *b, uint64_t i, struct coati_branch *ret)
{
	uint64_t flags;
	uint32_t at;

	if (i >= b->nr || i >= b->entries.count / 3)
		return -EINVAL;
	at = (uint32_t)i * 3;
	flags = coati_u64_at(&b->entries, at + 2);
	if (written_big_endian(b->entries.swap))
		flags = coati_branch_flags_mirror(flags);
	*ret = (struct coati_branch){
		.from = coati_u64_at(&b->entries, at),
		.to = coati_u64_at(&b->entries, at + 1),
		.flags = flags,
		.mispredicted = flags & 1,
		.predicted = flags >> 1 & 1,
		.in_tx = flags >> 2 & 1,
		.abort = flags >> 3 & 1,
		.cycles = (uint16_t)(flags >> 4),
		.type = flags >> 20 & 15,
		.spec = flags >> 24 & 3,
		.new_type = flags >> 26 & 15,
		.priv = flags >> 30 & 7,
		.counter = coati_u64_at(&b->counters, (uint32_t)i),
	};
	return 0;
}

int coati_regs_get(const struct coati_regs *r, uint32_t reg, uint64_t *ret)
{
	uint64_t below;
	uint32_t at;

	if (reg >= 64 || !(r->mask >> reg & 1))
		return -ENOENT;
	below = r->mask & ((UINT64_C(1) << reg) - 1);
	at = (uint32_t)__builtin_popcountll(below);
	if (at >= r->values.count)
		return -ENOENT;
	*ret = coati_u64_at(&r->values, at);
	return 0;
}

static uint32_t bits_at(uint64_t word, unsigned int shift, unsigned int width)
{
	return (uint32_t)(word >> shift & ((UINT64_C(1) << width) - 1));
}

void coati_data_src_get(uint64_t word, struct coati_data_src *ret)
{
	*ret = (struct coati_data_src){
		.op = bits_at(word, 0, 5),
		.level = bits_at(word, 5, 14),
		.snoop = bits_at(word, 19, 5),
		.lock = bits_at(word, 24, 2),
		.dtlb = bits_at(word, 26, 7),
		.level_num = bits_at(word, 33, 4),
		.remote = bits_at(word, 37, 1),
		.snoopx = bits_at(word, 38, 2),
		.block = bits_at(word, 40, 3),
		.hops = bits_at(word, 43, 3),
		.region = bits_at(word, 46, 5),
	};
}
