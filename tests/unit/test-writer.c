/* SPDX-License-Identifier: MIT */
/* Writing bytes: what the writer writes the cursor reads. */
#include "lib/test.h"

#include "base/cursor.h"
#include "base/writer.h"

static void write_all(struct writer *w)
{
	writer_u8(w, 0x11);
	writer_u16(w, 0x2233);
	writer_u32(w, 0x44556677);
	writer_u64(w, 0x8899aabbccddeeff);
	writer_text(w, "name", 8);
	writer_zeros(w, 3);
	writer_bytes(w, "end", 3);
}

#define ALL_BYTES (1 + 2 + 4 + 8 + 8 + 3 + 3)

TEST(writer_is_read_back_by_the_cursor_in_both_byte_orders)
{
	for (int swap = 0; swap < 2; swap++) {
		uint8_t buf[ALL_BYTES];
		struct writer w = writer_over(buf, sizeof(buf));
		struct cursor c = cursor_over(buf, sizeof(buf));

		w.swap = c.swap = swap;
		write_all(&w);
		CHECK(!w.full);
		CHECK_U64(w.len, ==, sizeof(buf));
		CHECK_U64(cursor_u8(&c), ==, 0x11);
		CHECK_U64(cursor_u16(&c), ==, 0x2233);
		CHECK_U64(cursor_u32(&c), ==, 0x44556677);
		CHECK_U64(cursor_u64(&c), ==, 0x8899aabbccddeeff);
		CHECK_STR(cursor_text(&c, 8), "name");
		CHECK_MEM(cursor_bytes(&c, 6), "\0\0\0end", 6);
		CHECK(!c.bad && !cursor_left(&c));
	}
}

TEST(writer_measures_in_a_dry_run)
{
	struct writer w = writer_over(NULL, 1000);

	write_all(&w);
	CHECK(w.full);
	CHECK_U64(w.len, ==, ALL_BYTES);
}

TEST(writer_stays_inside_a_buffer_of_every_length)
{
	uint8_t whole[ALL_BYTES];
	struct writer full = writer_over(whole, sizeof(whole));

	write_all(&full);
	for (size_t cap = 0; cap <= ALL_BYTES; cap++) {
		uint8_t buf[ALL_BYTES + 1];
		struct writer w = writer_over(buf, cap);
		size_t written = 0;

		memset(buf, 0xee, sizeof(buf));
		write_all(&w);
		CHECK_U64(w.full, ==, cap < ALL_BYTES);
		CHECK_U64(w.len, ==, ALL_BYTES);
		while (written < cap && buf[written] == whole[written])
			written++;
		for (size_t i = written; i < sizeof(buf); i++)
			CHECK_U64(buf[i], ==, 0xee);
	}
}

TEST(writer_writes_nothing_small_behind_something_that_did_not_fit)
{
	uint8_t buf[4] = { 9, 9, 9, 9 };
	struct writer w = writer_over(buf, sizeof(buf));

	writer_u64(&w, 0);
	writer_u8(&w, 1);
	CHECK_U64(w.len, ==, 9);
	CHECK_MEM(buf, "\t\t\t\t", 4);
}

TEST(writer_pads_text_of_every_length_to_its_alignment)
{
	for (size_t len = 0; len < 20; len++) {
		char text[21] = { 0 };
		uint8_t buf[32];
		struct writer w = writer_over(buf, sizeof(buf));

		memset(text, 'x', len);
		memset(buf, 0xee, sizeof(buf));
		writer_text(&w, text, 8);
		CHECK_U64(w.len, ==, (len + 1 + 7) / 8 * 8);
		CHECK_STR((const char *)buf, text);
		for (size_t i = len; i < w.len; i++)
			CHECK_U64(buf[i], ==, 0);
	}
}
