/* SPDX-License-Identifier: MIT */
/* Reading foreign bytes: every short length, both byte orders. */
#include "lib/test.h"

#include "base/cursor.h"

static const uint8_t counting[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

TEST(cursor_reads_every_width_in_order)
{
	struct cursor c = cursor_over(counting, sizeof(counting));
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	memcpy(&v16, counting + 1, sizeof(v16));
	memcpy(&v32, counting + 3, sizeof(v32));
	memcpy(&v64, counting + 7, sizeof(v64));
	CHECK_U64(cursor_u8(&c), ==, 1);
	CHECK_U64(cursor_u16(&c), ==, v16);
	CHECK_U64(cursor_u32(&c), ==, v32);
	CHECK_U64(cursor_u64(&c), ==, v64);
	CHECK_U64(cursor_left(&c), ==, 0);
	CHECK(!c.bad);
}

TEST(cursor_turns_the_bytes_of_the_other_order)
{
	struct cursor native = cursor_over(counting, sizeof(counting));
	struct cursor other = native;

	other.swap = true;
	CHECK_U64(cursor_u8(&native), ==, cursor_u8(&other));
	CHECK_U64(cursor_u16(&native), ==, __builtin_bswap16(cursor_u16(&other)));
	CHECK_U64(cursor_u32(&native), ==, __builtin_bswap32(cursor_u32(&other)));
	CHECK_U64(cursor_u64(&native), ==, __builtin_bswap64(cursor_u64(&other)));
}

static uint64_t read_width(struct cursor *c, size_t width)
{
	switch (width) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 4:
		return cursor_u32(c);
	default:
		return cursor_u64(c);
	}
}

TEST(cursor_past_the_end_reads_zero_and_stays_bad_at_every_length)
{
	for (size_t width = 1; width <= 8; width *= 2) {
		for (size_t size = 0; size < width; size++) {
			struct cursor c = cursor_over(counting, size);

			CHECK_U64(read_width(&c, width), ==, 0);
			CHECK(c.bad);
			/* one byte would be left, but nothing is read after a failure */
			CHECK_U64(cursor_u8(&c), ==, 0);
			CHECK(c.bad);
			CHECK_U64(cursor_left(&c), ==, size);
		}
	}
}

TEST(cursor_past_the_end_reads_zero_in_the_other_byte_order_too)
{
	struct cursor c = cursor_over(counting, 3);

	c.swap = true;
	CHECK_U64(cursor_u32(&c), ==, 0);
	CHECK(c.bad);
}

TEST(cursor_over_nothing_has_nothing)
{
	struct cursor c = cursor_over(NULL, 100);

	CHECK_U64(cursor_left(&c), ==, 0);
	CHECK(cursor_bytes(&c, 0));
	CHECK(!c.bad);
	CHECK(!cursor_bytes(&c, 1));
	CHECK(c.bad);
}

TEST(cursor_refuses_a_size_that_would_wrap)
{
	struct cursor c = cursor_over(counting, sizeof(counting));

	cursor_u8(&c);
	CHECK(!cursor_bytes(&c, SIZE_MAX));
	CHECK(c.bad);
}

TEST(cursor_skips_exactly_to_the_end_and_no_further)
{
	struct cursor c = cursor_over(counting, 5);

	cursor_skip(&c, 5);
	CHECK(!c.bad);
	cursor_skip(&c, 0);
	CHECK(!c.bad);
	cursor_skip(&c, 1);
	CHECK(c.bad);
}

TEST(cursor_text_needs_its_terminator_inside_its_size)
{
	static const char bytes[] = "ab\0cd";

	for (size_t size = 0; size <= sizeof(bytes); size++) {
		struct cursor c = cursor_over(bytes, sizeof(bytes));
		const char *text = cursor_text(&c, size);

		if (size < 3) {
			CHECK(!text && c.bad);
			continue;
		}
		CHECK_STR(text, "ab");
		CHECK_U64(cursor_left(&c), ==, sizeof(bytes) - size);
	}
}

TEST(cursor_sub_ends_where_it_was_told_and_keeps_the_byte_order)
{
	struct cursor c = cursor_over(counting, sizeof(counting));
	struct cursor sub;

	c.swap = true;
	sub = cursor_sub(&c, 2);
	CHECK(sub.swap);
	CHECK_U64(cursor_left(&sub), ==, 2);
	CHECK_U64(cursor_u8(&c), ==, 3);
	cursor_u16(&sub);
	CHECK(!sub.bad);
	cursor_u8(&sub);
	CHECK(sub.bad && !c.bad);
}

TEST(cursor_sub_of_too_much_makes_both_bad)
{
	struct cursor c = cursor_over(counting, 3);
	struct cursor sub = cursor_sub(&c, 4);

	CHECK(c.bad && sub.bad);
	CHECK_U64(cursor_left(&sub), ==, 0);
}
