/* SPDX-License-Identifier: MIT */
/* Protocol buffers: what the writer writes byte by byte, and a reader that never reads past the
 * end. */
#include "lib/test.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "format/text.h"

static void check_bytes(struct strbuf *s, const char *want, size_t size)
{
	CHECK_INT(s->failed, ==, 0);
	CHECK_U64(s->len, ==, size);
	CHECK_MEM(s->text, want, size);
	coati_strbuf_fini(s);
}

TEST(proto_writes_fields_as_the_wire_has_them)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct proto p = proto_to(&s);
	size_t m;

	coati_proto_uint(&p, 1, 150);
	coati_proto_int(&p, 2, -1);
	coati_proto_fixed64(&p, 3, 0x0102030405060708);
	coati_proto_bytes(&p, 16, "ab", 2);
	m = coati_proto_begin(&p, 5);
	coati_proto_varint(&p, 0);
	coati_proto_varint(&p, 127);
	coati_proto_varint(&p, 128);
	coati_proto_end(&p, m);
	check_bytes(&s,
		    "\x08\x96\x01"
		    "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		    "\x19\x08\x07\x06\x05\x04\x03\x02\x01"
		    "\x82\x01\x02"
		    "ab"
		    "\x2a\x04\x00\x7f\x80\x01",
		    3 + 11 + 9 + 5 + 6);
}

TEST(proto_text_that_is_no_utf8_is_mended)
{
	struct strbuf s = STRBUF_INIT(1000);
	struct proto p = proto_to(&s);

	coati_proto_text(&p, 1, "a\xff\xc3\xa4");
	check_bytes(&s,
		    "\x0a\x06"
		    "a\xef\xbf\xbd\xc3\xa4",
		    8);
}

/* A message of @size bytes inside of another, inside of another. */
static void check_nesting(size_t size)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct proto p = proto_to(&s);
	size_t outer = coati_proto_begin(&p, 1), inner = coati_proto_begin(&p, 2);
	struct proto_reader r, sub;

	coati_strbuf_pad(&s, 'x', size);
	coati_proto_end(&p, inner);
	coati_proto_uint(&p, 3, 7);
	coati_proto_end(&p, outer);
	coati_proto_uint(&p, 4, 9);
	CHECK_INT(s.failed, ==, 0);
	r = proto_over(s.text, s.len);
	CHECK(coati_proto_next(&r));
	CHECK_U64(r.field, ==, 1);
	sub = proto_sub(&r);
	CHECK(coati_proto_next(&sub));
	CHECK_U64(sub.field, ==, 2);
	CHECK_U64(sub.size, ==, size);
	for (size_t i = 0; i < size; i++)
		CHECK_INT(sub.bytes[i], ==, 'x');
	CHECK(coati_proto_next(&sub));
	CHECK_U64(sub.value, ==, 7);
	CHECK(!coati_proto_next(&sub) && !sub.bad);
	CHECK(coati_proto_next(&r));
	CHECK_U64(r.value, ==, 9);
	CHECK(!coati_proto_next(&r) && !r.bad);
	coati_strbuf_fini(&s);
}

TEST(proto_messages_nest_at_every_length_of_their_length)
{
	static const size_t sizes[] = { 0,   1,	  120,	 124,	125,   126,
					127, 128, 16380, 16383, 16384, 70000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_nesting(sizes[i]);
}

static size_t write_all_kinds(struct strbuf *s)
{
	struct proto p = proto_to(s);
	size_t m = coati_proto_begin(&p, 7);

	coati_proto_uint(&p, 1, UINT64_MAX);
	coati_proto_text(&p, 2, "text");
	coati_proto_end(&p, m);
	coati_proto_fixed64(&p, 3, 1);
	coati_strbuf_add(s, "\x25\x01\x02\x03\x04", 5); /* field 4, 32 bits */
	return s->len;
}

TEST(proto_reader_ends_well_at_every_shorter_length)
{
	struct strbuf s = STRBUF_INIT(1000);
	size_t size = write_all_kinds(&s);

	for (size_t cut = 0; cut <= size; cut++) {
		uint8_t *copy = coati_alloc(cut ? cut : 1);
		struct proto_reader r;
		size_t fields = 0;

		memcpy(copy, s.text, cut);
		r = proto_over(copy, cut);
		while (coati_proto_next(&r))
			fields++;
		/* good only where a field ends */
		CHECK_INT(!r.bad, ==,
			  (cut == 0 || cut == size || cut == size - 5 || cut == size - 14));
		CHECK_U64(fields, <=, 3);
		CHECK(!coati_proto_next(&r));
		coati_free(copy);
	}
	coati_strbuf_fini(&s);
}

TEST(proto_reader_refuses_what_makes_no_sense)
{
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{ "\x00\x01", 2 },					/* field 0 */
		{ "\x0b", 1 },						/* a group */
		{ "\x0e\x01", 2 },					/* no such kind */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 }, /* more than 64 bits */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* longer than all memory */
		{ "\x80\x80\x80\x80\x10\x00", 6 },			/* too high a field */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct proto_reader r = proto_over(wrong[i].bytes, wrong[i].size);

		CHECK(!coati_proto_next(&r));
		CHECK(r.bad);
	}
}

TEST(proto_numbers_are_read_packed_and_single)
{
	struct proto_reader r = proto_over("\x0a\x03\x01\x80\x01\x08\x05\x0a\x01\x80", 10);
	uint64_t sum = 0, v;
	struct cursor c;

	for (int i = 0; i < 2; i++) {
		CHECK(coati_proto_next(&r));
		c = coati_proto_numbers(&r);
		while (coati_proto_number(&r, &c, &v))
			sum += v;
		CHECK(!r.bad);
	}
	CHECK_U64(sum, ==, 1 + 128 + 5);
	CHECK(coati_proto_next(&r));
	c = coati_proto_numbers(&r);
	CHECK(!coati_proto_number(&r, &c, &v));
	CHECK(r.bad);
}

TEST(proto_writer_fails_once_and_stays_so)
{
	for (uint64_t n = 0; n < 3; n++) {
		struct strbuf s = STRBUF_INIT(1000);
		struct proto p = proto_to(&s);
		size_t m;

		coati_alloc_fail_after(n);
		m = coati_proto_begin(&p, 1);
		for (int i = 0; i < 100; i++)
			coati_proto_text(&p, 2, "some text \xff");
		coati_proto_end(&p, m);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(s.failed == -ENOMEM || s.failed == -E2BIG);
		coati_strbuf_fini(&s);
	}
}
