/* SPDX-License-Identifier: MIT */
/*
 * The encoder is the mirror of the decoder, for every kind of record, every format and both byte
 * orders: over records that were built field by field, and over bytes that were not.
 */
#include <coati/record.h>

#include "lib/record-builder.h"
#include "lib/record-views.h"
#include "lib/test.h"
#include "record/record.h"

#define NR_TYPES 30 /* the 22 of the kernel, some unknown */

static uint32_t type_at(uint64_t i)
{
	static const uint32_t others[] = { 0, 23, 40, 63, 64, 69, 90, 32770 };

	i %= NR_TYPES;
	return i < COATI_RECORD_CALLCHAIN_DEFERRED ? (uint32_t)i + 1
						   : others[i - COATI_RECORD_CALLCHAIN_DEFERRED];
}

TEST(record_of_every_type_and_format_is_encoded_as_it_was_decoded)
{
	static struct builder b;
	static uint8_t back[UINT16_MAX];
	struct coati_sample_format fmt;
	struct coati_record rec;

	for (uint64_t seed = 0; seed < 6000; seed++) {
		struct coati_attr attr = builder_attr(seed);
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		struct coati_raw raw = builder_record(&b, type_at(seed), &attr, big, seed);

		coati_sample_format_init(&attr, &fmt);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK(record_views_inside(&rec, &raw));
		CHECK_INT(coati_record_encode(&rec, &fmt, back, sizeof(back)), ==, raw.size);
		CHECK_MEM(back, b.bytes, raw.size);
	}
}

/* Payloads and unknown bytes are not numbers: they are the same in both orders, so the builder's
 * numbers may not be compared when a record type is unknown; all others must agree to the last bit.
 */
TEST(record_of_the_other_byte_order_has_the_same_contents)
{
	static struct builder ours, other;
	static uint8_t back[UINT16_MAX];
	struct coati_sample_format fmt;
	struct coati_record rec;
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	for (uint64_t seed = 0; seed < 6000; seed++) {
		struct coati_attr attr = builder_attr(seed);
		struct coati_raw a = builder_record(&ours, type_at(seed), &attr, big, seed);
		struct coati_raw o = builder_record(&other, type_at(seed), &attr, !big, seed);

		CHECK_INT(a.swap, ==, 0);
		CHECK_INT(o.swap, ==, 1);
		CHECK_INT(a.size, ==, o.size);
		coati_sample_format_init(&attr, &fmt);
		CHECK_OK(coati_record_decode(&o, &fmt, &rec));
		CHECK(record_views_inside(&rec, &o));
		CHECK_INT(coati_record_encode(&rec, &fmt, back, sizeof(back)), ==, a.size);
		CHECK_MEM(back, ours.bytes, a.size);
	}
}

/* Numbers are small half of the time, so that counts have a chance to be right. */
static void fill(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t v = test_random();

		if (v & 1)
			v = test_random() % 8;
		memcpy(bytes + i, &v, size - i < 8 ? size - i : 8);
	}
}

TEST(record_of_random_bytes_is_refused_or_encoded_as_it_was_decoded)
{
	_Alignas(8) static uint8_t bytes[264], back[UINT16_MAX];
	struct coati_sample_format fmt;
	struct coati_record rec;
	struct coati_raw raw;
	size_t decoded = 0;

	for (int i = 0; i < 60000; i++) {
		struct coati_attr attr = builder_attr(test_random());
		uint16_t size = (uint16_t)(8 + test_random() % 256);
		uint32_t type = type_at(test_random());
		const uint8_t *at = bytes;
		size_t left = size;
		int r;

		fill(bytes, sizeof(bytes));
		memcpy(bytes, &type, 4);
		memcpy(bytes + 6, &size, 2);
		coati_sample_format_init(&attr, &fmt);
		CHECK_INT(coati_raw_next(&at, &left, 0, &raw), ==, 1);
		r = coati_record_decode(&raw, &fmt, &rec);
		if (r) {
			CHECK_ERR(r, -EBADMSG);
			continue;
		}
		decoded++;
		CHECK(record_views_inside(&rec, &raw));
		record_clear_padding(&rec);
		CHECK_INT(coati_record_encode(&rec, &fmt, back, sizeof(back)), ==, size);
		CHECK_MEM(back, bytes, size);
	}
	test_note("%zu of 60000 were records", decoded);
	CHECK_U64(decoded, >, 1000);
}

TEST(record_that_is_written_by_hand_gets_padding_and_trailer)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TIME | COATI_SAMPLE_IDENTIFIER,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .misc = COATI_MISC_USER,
				    .id = { .present = attr.sample_type, .time = 5, .id = 6 },
				    .u.comm = { .pid = 1, .tid = 2, .name = "longer name" } };
	struct coati_sample_format fmt;
	struct coati_record back;
	struct coati_raw raw;
	uint8_t buf[64];
	const uint8_t *at = buf;
	size_t left = 48;

	coati_sample_format_init(&attr, &fmt);
	for (size_t cap = 0; cap < 48; cap++)
		CHECK_ERR(coati_record_encode(&rec, &fmt, buf, cap), -ENOSPC);
	CHECK_INT(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), ==, 48);
	CHECK_INT(coati_raw_next(&at, &left, 0, &raw), ==, 1);
	CHECK_OK(coati_record_decode(&raw, &fmt, &back));
	CHECK_STR(back.u.comm.name, "longer name");
	CHECK_U64(back.id.time, ==, 5);
	CHECK_U64(back.id.id, ==, 6);
	rec.id.present = COATI_SAMPLE_TIME;
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
}

/* Counts that do not fit their views: a caller's mistake, found before anything is read. */
TEST(record_whose_parts_disagree_is_not_encoded)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_BRANCH_STACK,
				   .sample_regs_user = 7,
				   .read_format = COATI_READ_GROUP };
	struct coati_record rec = { .type = COATI_RECORD_SAMPLE };
	struct coati_sample_format fmt;
	uint8_t buf[256];

	rec.u.sample.present = UINT64_MAX;
	rec.id.present = UINT64_MAX;
	rec.u.sample.branches.nr = UINT64_MAX;
	coati_sample_format_init(&attr, &fmt);
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
	attr.sample_type = COATI_SAMPLE_REGS_USER;
	rec.u.sample.regs_user.abi = 2;
	coati_sample_format_init(&attr, &fmt);
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
	attr.sample_type = COATI_SAMPLE_STACK_USER;
	rec.u.sample.stack_dyn_size = 1;
	coati_sample_format_init(&attr, &fmt);
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
	attr.sample_type = COATI_SAMPLE_READ;
	rec.u.sample.read = (struct coati_read_block){ .format = COATI_READ_GROUP, .nr = 2 };
	coati_sample_format_init(&attr, &fmt);
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
	rec.type = COATI_RECORD_NAMESPACES;
	rec.u.namespaces = (struct coati_namespaces){ .nr = UINT64_C(1) << 63 };
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
}
