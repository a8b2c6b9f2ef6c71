/* SPDX-License-Identifier: MIT */
/* What is read back: a good file of each format cut at every length, and files that contradict
 * themselves. */
#include "lib/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/proto.h"
#include "base/pprof-fields.h"
#include "format/format.h"
#include "readback/readback.h"
#include "unit/profile-tape.h"

static int read_bytes(enum coati_format format, const void *bytes, size_t size,
		      struct coati_error *err)
{
	struct tally t;
	int r;

	coati_tally_init(&t);
	r = coati_readback_get(format)->read(bytes, size, &t, err);
	coati_tally_fini(&t);
	return r;
}

/* A small export of @format, not compressed. */
static void write_small(enum coati_format format, struct strbuf *s)
{
	struct coati_export_opts o = { .size = sizeof(o),
				       .format = format,
				       .flags = COATI_EXPORT_PLAIN };
	struct coati_export *x = NULL;
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK_OK(coati_export_new(&o, &x, NULL));
	CHECK_OK(coati_export_read(x, "a", NULL, NULL, NULL));
	CHECK_OK(coati_export_write(x, fd, NULL));
	coati_export_free(&x);
	close(fd);
	CHECK_OK(coati_file_read(AT_FDCWD, "out", s));
}

static void tape_two(void)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_close(&t);
}

/* Bytes that were cut must not be read past their end, which the sanitizer sees; and are an error
 * or another sum, never a crash. */
TEST_LIMIT(export_readers_end_well_at_every_shorter_length, 120)
{
	tape_two();
	for (unsigned int i = 1; i < COATI_FORMAT_COUNT; i++) {
		const struct readback *f = coati_readback_get((enum coati_format)i);
		struct strbuf s = STRBUF_INIT(1 << 20);
		struct coati_error err = { 0 };

		if (!f || !f->read)
			continue;
		write_small((enum coati_format)i, &s);
		CHECK_OK(read_bytes((enum coati_format)i, s.text, s.len, &err));
		for (size_t cut = 0; cut < s.len; cut += 1 + cut / 3000) {
			uint8_t *copy = coati_alloc(cut ? cut : 1);
			int r;

			memcpy(copy, s.text, cut);
			r = read_bytes((enum coati_format)i, copy, cut, &err);
			CHECK(r == 0 || r == -EBADMSG);
			coati_free(copy);
		}
		coati_strbuf_fini(&s);
	}
}

TEST_LIMIT(export_readers_stand_bytes_that_were_changed, 120)
{
	tape_two();
	for (unsigned int i = 1; i < COATI_FORMAT_COUNT; i++) {
		const struct readback *f = coati_readback_get((enum coati_format)i);
		struct strbuf s = STRBUF_INIT(1 << 20);

		if (!f || !f->read)
			continue;
		write_small((enum coati_format)i, &s);
		for (unsigned int round = 0; round < 500; round++) {
			uint8_t *copy = coati_alloc(s.len);
			int r;

			memcpy(copy, s.text, s.len);
			for (int j = 0; j < 3; j++)
				copy[test_random() % s.len] = (uint8_t)test_random();
			r = read_bytes((enum coati_format)i, copy, s.len, NULL);
			CHECK(r == 0 || r == -EBADMSG || r == -E2BIG);
			coati_free(copy);
		}
		coati_strbuf_fini(&s);
	}
}

/* A profile that says nothing but what is given. */
static int read_pprof(const char *bytes, size_t size, struct coati_error *err)
{
	return read_bytes(COATI_FORMAT_PPROF, bytes, size, err);
}

TEST(export_reader_of_pprof_is_as_strict_as_pprof)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *why;
	} wrong[] = {
		{ "", 0, "no strings" },
		{ "\x32\x01"
		  "x",
		  3, "string 0 is not empty" },
		{ "\x32\x00", 2, "no types" },
		{ "\x32\x00\x0a\x00\x12\x02\x12\x00", 8, "more or fewer values" },
		{ "\x32\x00\x0a\x00\x12\x03\x12\x01\x05", 9, "no stack" },
		{ "\x32\x00\x0a\x00\x12\x06\x0a\x01\x01\x12\x01\x05", 12,
		  "location that is not there" },
		{ "\x32\x00\x0a\x00\x2a\x00", 6, "number 0" },
		{ "\x32\x00\x0a\x00\x2a\x02\x08\x01\x2a\x02\x08\x01", 12, "same number" },
		{ "\x32\x00\x0a\x00\x22\x04\x08\x01\x10\x07", 10, "mapping that is not there" },
		{ "\x32\x00\x0a\x00\x1a\x06\x08\x01\x10\x10\x18\x20"
		  "\x22\x06\x08\x01\x10\x01\x18\x20",
		  20, "outside of its mapping" },
		{ "\x32\x00\x0a\x00\x0b", 5, "not a protocol buffer" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct coati_error err = { 0 };

		CHECK_ERR(read_pprof(wrong[i].bytes, wrong[i].size, &err), -EBADMSG);
		CHECK_HAS(err.text, wrong[i].why);
	}
}

TEST(export_reader_of_folded_wants_stack_and_weight)
{
	static const char *const wrong[] = {
		"x\n",		"a-1/2;b\n",	 "a-1/2;b 1",	  "a-1/2;b x\n", "a-1/2;b 1 \n",
		"a;b 1\n",	"a-1;b 1\n",	 "a-x/2;b 1\n",	  "a-1/2; 1\n",	 "a-1/2 1\n",
		"a-1/2;b -1\n", "a-1/2;b 1.5\n", "a-1/2;b 1\n\n", "\n",
	};
	struct tally t;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct coati_error err = { 0 };

		if (read_bytes(COATI_FORMAT_FOLDED, wrong[i], strlen(wrong[i]), &err) != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "this was taken: %s", wrong[i]);
		CHECK_HAS(err.text, "line");
	}
	coati_tally_init(&t);
	CHECK_OK(coati_folded_read("a-1/2;main;b_[k] 12\na-1/2;b 3\n", 30, &t, NULL));
	CHECK_U64(t.weight, ==, 15);
	CHECK_U64(t.threads.sums.len, ==, 1);
	CHECK_STR(t.threads.sums.v[0].name, "1/2 a");
	CHECK_U64(t.functions.sums.len, ==, 1);
	CHECK_STR(t.functions.sums.v[0].name, "b");
	coati_tally_fini(&t);
}
