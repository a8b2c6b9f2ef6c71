/* SPDX-License-Identifier: MIT */
/*
 * Damaged and odd records: cut at every length, counts that no record can hold, texts of every
 * length. Whatever is in the bytes, the answer is a code or a record whose views lie inside.
 */
#include <stdlib.h>

#include <coati/record.h>

#include "base/alloc.h"
#include "lib/record-builder.h"
#include "lib/record-views.h"
#include "lib/test.h"
#include "record/record.h"

#define ROUNDS 24

static const uint32_t odd_types[] = { 0, 23, 63, 64, 81, 86, 87, 32770, UINT32_MAX };

/* All types that we know, then some that we do not. */
static uint32_t type_at(uint32_t i)
{
	return i < COATI_RECORD_CALLCHAIN_DEFERRED ? i + 1
						   : odd_types[i - COATI_RECORD_CALLCHAIN_DEFERRED];
}
#define NR_TYPES (COATI_RECORD_CALLCHAIN_DEFERRED + sizeof(odd_types) / sizeof(odd_types[0]))

/* Decode the first @size bytes of @b as if the header said so, from memory that ends there. */
static int decode_cut(const struct builder *b, size_t size, const struct coati_sample_format *fmt)
{
	uint8_t *copy = malloc(size);
	struct coati_record rec;
	struct coati_raw raw;
	const uint8_t *at = copy;
	int r;

	CHECK(copy);
	memcpy(copy, b->bytes, size);
	copy[b->big ? 7 : 6] = (uint8_t)size;
	copy[b->big ? 6 : 7] = (uint8_t)(size >> 8);
	CHECK_INT(coati_raw_next(&at, &size, builder_swap(b->big), &raw), ==, 1);
	r = coati_record_decode(&raw, fmt, &rec);
	if (!r)
		CHECK(record_views_inside(&rec, &raw));
	free(copy);
	return r;
}

TEST(record_cut_at_any_length_is_malformed_or_still_a_record)
{
	/* Elsewhere any truncated record crashed the process. */
	static struct builder b;
	struct coati_sample_format fmt;

	for (uint64_t seed = 0; seed < ROUNDS * NR_TYPES; seed++) {
		struct coati_attr attr = builder_attr(seed);
		struct coati_raw raw = builder_record(&b, type_at((uint32_t)(seed % NR_TYPES)),
						      &attr, seed / NR_TYPES & 1, seed);

		coati_sample_format_init(&attr, &fmt);
		for (size_t size = COATI_RAW_HEADER; size < raw.size; size++) {
			int r = decode_cut(&b, size, &fmt);

			CHECK(!r || r == -EBADMSG);
		}
		CHECK_OK(decode_cut(&b, raw.size, &fmt));
	}
}

TEST(record_trailer_is_found_behind_a_text_of_any_length)
{
	/* Elsewhere it was looked for behind the terminator instead of behind the padding. */
	static const uint32_t types[] = { COATI_RECORD_COMM, COATI_RECORD_MMAP, COATI_RECORD_MMAP2,
					  COATI_RECORD_KSYMBOL, COATI_RECORD_CGROUP };
	static const size_t words[] = { 1, 4, 8, 2, 1 };
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_sample_format fmt;
	static struct builder b;
	struct coati_record rec;
	struct coati_raw raw;
	size_t text_size;

	coati_sample_format_init(&attr, &fmt);
	for (size_t i = 0; i < 5 * 17; i++) {
		char text[17] = "";

		memset(text, 'x', i % 17);
		builder_start(&b, types[i / 17], 0, false);
		for (size_t w = 0; w < words[i / 17]; w++)
			builder_u64(&b, 0x0101010101010101);
		builder_text(&b, text);
		builder_u32(&b, 0x1234);
		builder_u32(&b, 0x5678);
		builder_u64(&b, 0xabcdef);
		raw = builder_end(&b);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK_STR(record_text(&rec, &text_size), text);
		CHECK_U64(rec.id.pid, ==, 0x1234);
		CHECK_U64(rec.id.tid, ==, 0x5678);
		CHECK_U64(rec.id.time, ==, 0xabcdef);
	}
}

TEST(record_text_without_an_end_is_malformed)
{
	/* Elsewhere a KSYMBOL name without terminator crashed; the trailer may not lend its
	 * zeros. */
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TIME,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_sample_format fmt;
	static struct builder b;
	struct coati_record rec;
	struct coati_raw raw;

	coati_sample_format_init(&attr, &fmt);
	builder_start(&b, COATI_RECORD_KSYMBOL, 0, false);
	builder_u64(&b, 1);
	builder_u64(&b, 2);
	builder_bytes(&b, "abcdefgh", 8);
	builder_u64(&b, 0);
	raw = builder_end(&b);
	CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EBADMSG);
}

struct count_case {
	uint32_t type;
	uint64_t sample_type;
	size_t words_before;
};

TEST(record_counts_that_no_record_can_hold_are_malformed)
{
	static const struct count_case cases[] = {
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_CALLCHAIN, 0 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_IP, 1 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_WEIGHT, 0 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_BRANCH_STACK, 0 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_STACK_USER, 0 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_AUX, 0 },
		{ COATI_RECORD_SAMPLE, COATI_SAMPLE_READ, 0 },
		{ COATI_RECORD_READ, 0, 1 },
		{ COATI_RECORD_NAMESPACES, 0, 1 },
		{ COATI_RECORD_CALLCHAIN_DEFERRED, 0, 1 },
	};
	static const uint64_t counts[] = {
		9,
		UINT64_C(1) << 16,
		UINT64_C(1) << 29,
		UINT64_C(1) << 32,
		UINT64_C(1) << 61,
		(UINT64_C(1) << 61) + 1,
		UINT64_C(1) << 63,
		UINT64_MAX / 24 + 1,
		UINT64_MAX / 24 + 2,
		UINT64_MAX / 16 + 1,
		UINT64_MAX - 7,
		UINT64_MAX,
	};
	static struct builder b;
	struct coati_record rec;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coati_attr attr = { .sample_type = cases[i].sample_type,
					   .read_format = COATI_READ_GROUP | COATI_READ_ID,
					   .branch_sample_type = COATI_BRANCH_COUNTERS };
		struct coati_sample_format fmt;

		coati_sample_format_init(&attr, &fmt);
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			struct coati_raw raw;

			builder_start(&b, cases[i].type, 0, c & 1);
			for (size_t w = 0; w < cases[i].words_before; w++)
				builder_u64(&b, 0);
			builder_u64(&b, counts[c]);
			builder_u64(&b, 0);
			raw = builder_end(&b);
			CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EBADMSG);
		}
	}
}

TEST(raw_next_walks_records_and_tells_a_cut_one_from_a_wrong_one)
{
	uint8_t bytes[] = { 14, 0, 0, 0, 0, 0, 8, 0, 68, 0, 0, 0, 0, 0, 12, 0, 1, 2, 3, 4 };
	const uint8_t *at = bytes;
	size_t left = sizeof(bytes);
	uint32_t swap = builder_swap(false);
	struct coati_raw raw;

	CHECK_INT(coati_raw_next(&at, &left, swap, &raw), ==, 1);
	CHECK_INT(raw.type, ==, COATI_RECORD_SWITCH);
	CHECK_INT(raw.size, ==, 8);
	CHECK_INT(coati_raw_next(&at, &left, swap, &raw), ==, 1);
	CHECK_INT(raw.type, ==, COATI_RECORD_FINISHED_ROUND);
	CHECK(raw.body == bytes + 16);
	CHECK_INT(coati_raw_next(&at, &left, swap, &raw), ==, 0);
	for (size_t cut = 1; cut < 12; cut++) {
		at = bytes + 8;
		left = cut;
		CHECK_ERR(coati_raw_next(&at, &left, swap, &raw), -ENODATA);
		CHECK(at == bytes + 8 && left == cut);
	}
	for (uint8_t size = 0; size < 8; size++) {
		bytes[6] = size;
		at = bytes;
		left = sizeof(bytes);
		CHECK_ERR(coati_raw_next(&at, &left, swap, &raw), -EBADMSG);
	}
}

TEST(record_decoding_allocates_nothing)
{
	static struct builder b;
	static uint8_t back[UINT16_MAX];
	struct coati_attr attr = builder_attr(1);
	struct coati_sample_format fmt;
	struct coati_record rec;
	struct coati_raw raw;
	uint64_t before;

	coati_sample_format_init(&attr, &fmt);
	raw = builder_record(&b, COATI_RECORD_SAMPLE, &attr, false, 1);
	before = coati_alloc_count();
	CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
	CHECK_OK(coati_record_encode(&rec, &fmt, back, sizeof(back)));
	CHECK_U64(coati_alloc_count(), ==, before);
}
