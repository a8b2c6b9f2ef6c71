/* SPDX-License-Identifier: MIT */
/* Perf maps and jitdump files: well-formed, malformed, and files that must not be read. */
#include "image/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/image.h>

#include "base/alloc.h"
#include "image/image.h"
#include "image/jit-file.h"
#include "lib/fake-tree.h"
#include "lib/test.h"

static const char *name_at(struct jit *j, uint64_t addr, uint64_t time)
{
	uint64_t since;
	const struct jit_function *f = coati_jit_find(j, addr, time, &since);

	return f ? f->name : "-";
}

static void parse_map(struct jit *j, const char *text)
{
	coati_jit_init(j);
	CHECK_OK(coati_perf_map_parse(j, text, strlen(text)));
}

TEST(perf_map_line_gives_start_size_and_name)
{
	struct jit j;

	parse_map(&j, "1000 10 foo\n0x2000 0x20 bar baz(int, long)\n 3000\t8 \tx \r\nFF00 0a Up\n");
	CHECK_STR(name_at(&j, 0x1000, 0), "foo");
	CHECK_STR(name_at(&j, 0x100f, 0), "foo");
	CHECK_STR(name_at(&j, 0x1010, 0), "-");
	CHECK_STR(name_at(&j, 0xfff, 0), "-");
	CHECK_STR(name_at(&j, 0x201f, 0), "bar baz(int, long)");
	CHECK_STR(name_at(&j, 0x3007, 0), "x");
	CHECK_STR(name_at(&j, 0xff09, 0), "Up");
	CHECK_U64(j.stats.malformed, ==, 0);
	CHECK_U64(j.stats.functions, ==, 4);
	coati_jit_fini(&j);
}

TEST(perf_map_line_that_is_written_last_wins)
{
	struct jit j;

	parse_map(&j, "1000 100 old\n1010 10 new\n2000 10 a\n2000 10 b\n");
	CHECK_STR(name_at(&j, 0x100f, 0), "old");
	CHECK_STR(name_at(&j, 0x1010, 0), "new");
	CHECK_STR(name_at(&j, 0x1020, 0), "old");
	CHECK_STR(name_at(&j, 0x2000, 12345), "b");
	coati_jit_fini(&j);
}

TEST(perf_map_lines_that_are_none_are_counted)
{
	static const char *const bad[] = {
		"x",
		"1000",
		"1000 10",
		"1000 10 ",
		"1000  ",
		"10g0 10 name",
		"1000 1z name",
		"0x 10 name",
		"1000 0x name",
		"-1000 10 name",
		"1000 -10 name",
		"1000 0 empty",
		"ffffffffffffffff 10 wraps",
		"fffffffffffffff8 9 wraps",
		"10000000000000000 10 too-long",
		"1000 10000000000000000 too-long",
		"1000,10,name",
		"0x0x1000 10 name",
		"+1000 10 name",
		"# comment",
		"name 1000 10",
		"\x7f\x45LF",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[128];
		struct jit j;

		snprintf(text, sizeof(text), "%s\n5000 10 good\n", bad[i]);
		parse_map(&j, text);
		if (j.stats.malformed != 1)
			test_note("%s", bad[i]);
		CHECK_U64(j.stats.malformed, ==, 1);
		CHECK_STR(name_at(&j, 0x5000, 0), "good");
		CHECK_STR(name_at(&j, 0x1000, 0), "-");
		coati_jit_fini(&j);
	}
}

TEST(perf_map_with_zero_bytes_and_without_a_last_line_end)
{
	static const char text[] = "1000 10 fo\0o\n2000 10 bar\n3000 10 hal";
	struct jit j;

	coati_jit_init(&j);
	CHECK_OK(coati_perf_map_parse(&j, text, sizeof(text) - 1));
	CHECK_U64(j.stats.malformed, ==, 2);
	CHECK_STR(name_at(&j, 0x2000, 0), "bar");
	CHECK_STR(name_at(&j, 0x3000, 0), "-");
	coati_jit_fini(&j);
}

TEST(perf_map_name_is_cut_at_a_ceiling)
{
	static char text[3 * JIT_NAME_MAX];
	struct jit j;

	memset(text, 'n', sizeof(text));
	memcpy(text, "1000 10 ", 8);
	text[sizeof(text) - 1] = '\n';
	coati_jit_init(&j);
	CHECK_OK(coati_perf_map_parse(&j, text, sizeof(text)));
	CHECK_U64(strlen(name_at(&j, 0x1000, 0)), ==, JIT_NAME_MAX);
	coati_jit_fini(&j);
}

/* ---- jitdump ---- */

struct dump {
	uint8_t bytes[4096];
	size_t len, record;
	bool big;
};

static void put(struct dump *d, uint64_t v, int size)
{
	for (int i = 0; i < size; i++)
		d->bytes[d->len++] = (uint8_t)(v >> 8 * (d->big ? size - 1 - i : i));
}

static void put_text(struct dump *d, const char *text)
{
	memcpy(d->bytes + d->len, text, strlen(text) + 1);
	d->len += strlen(text) + 1;
}

static void dump_start(struct dump *d, bool big, uint64_t flags)
{
	*d = (struct dump){ .big = big };
	put(d, 0x4a695444, 4);
	put(d, 1, 4);
	put(d, 40, 4);
	put(d, 62, 4);
	put(d, 0, 4);
	put(d, 77, 4);
	put(d, 1000, 8);
	put(d, flags, 8);
}

static void record_start(struct dump *d, uint32_t id, uint64_t time)
{
	d->record = d->len;
	put(d, id, 4);
	put(d, 0, 4);
	put(d, time, 8);
}

static void record_end(struct dump *d)
{
	size_t end = d->len;

	d->len = d->record + 4;
	put(d, end - d->record, 4);
	d->len = end;
}

static void put_load(struct dump *d, uint64_t time, uint64_t addr, uint64_t index, const char *name)
{
	record_start(d, 0, time);
	put(d, 77, 4);
	put(d, 78, 4);
	put(d, addr, 8);
	put(d, addr, 8);
	put(d, 16, 8);
	put(d, index, 8);
	put_text(d, name);
	for (int i = 0; i < 16; i++)
		put(d, 0x90, 1);
	record_end(d);
}

static void put_move(struct dump *d, uint64_t time, uint64_t from, uint64_t to, uint64_t index)
{
	record_start(d, 1, time);
	put(d, 77, 4);
	put(d, 78, 4);
	put(d, to, 8);
	put(d, from, 8);
	put(d, to, 8);
	put(d, 16, 8);
	put(d, index, 8);
	record_end(d);
}

static void put_lines(struct dump *d, uint64_t addr)
{
	record_start(d, 2, 9);
	put(d, addr, 8);
	put(d, 2, 8);
	put(d, addr, 8);
	put(d, 11, 4);
	put(d, 0, 4);
	put_text(d, "a.js");
	put(d, addr + 8, 8);
	put(d, 12, 4);
	put(d, 3, 4);
	put_text(d, "\xff");
	record_end(d);
}

/* Lines, a function, what replaces it, a move, unwinding data, an unknown record, the end. */
static void whole_dump(struct dump *d, bool big)
{
	dump_start(d, big, 0);
	put_lines(d, 0x1000);
	put_load(d, 10, 0x1000, 1, "first");
	put_load(d, 20, 0x1000, 2, "second");
	put_move(d, 30, 0x1000, 0x2000, 2);
	record_start(d, 4, 35);
	put(d, 0, 8);
	put(d, 0, 8);
	put(d, 0, 8);
	record_end(d);
	record_start(d, 99, 36);
	put(d, 1, 8);
	record_end(d);
	record_start(d, 3, 40);
	record_end(d);
}

TEST(jitdump_code_is_found_by_time_in_both_byte_orders)
{
	for (int big = 0; big < 2; big++) {
		struct dump d;
		struct jit j;

		whole_dump(&d, big);
		coati_jit_init(&j);
		CHECK_OK(coati_jitdump_parse(&j, d.bytes, d.len, NULL));
		CHECK_STR(name_at(&j, 0x1000, 9), "-");
		CHECK_STR(name_at(&j, 0x1000, 10), "first");
		CHECK_STR(name_at(&j, 0x100f, 19), "first");
		CHECK_STR(name_at(&j, 0x1000, 20), "second");
		CHECK_STR(name_at(&j, 0x2000, 29), "-");
		CHECK_STR(name_at(&j, 0x2008, 30), "second");
		CHECK_STR(name_at(&j, 0x1000, 30), "-");
		CHECK_STR(name_at(&j, 0x2000, 0), "second");
		CHECK_U64(j.stats.malformed, ==, 0);
		CHECK_U64(j.stats.moves, ==, 1);
		CHECK_U64(j.stats.unwinding, ==, 1);
		CHECK_U64(j.stats.closes, ==, 1);
		coati_jit_fini(&j);
	}
}

TEST(jitdump_lines_belong_to_the_code_behind_them)
{
	const struct jit_function *f;
	uint64_t since;
	struct dump d;
	struct jit j;

	whole_dump(&d, false);
	coati_jit_init(&j);
	CHECK_OK(coati_jitdump_parse(&j, d.bytes, d.len, NULL));
	f = coati_jit_find(&j, 0x1000, 10, &since);
	CHECK(f);
	CHECK_U64(since, ==, 10);
	CHECK_U64(coati_jit_line(&j, f, 0x1007)->line, ==, 11);
	CHECK_U64(coati_jit_line(&j, f, 0x1008)->line, ==, 12);
	CHECK_STR(coati_jit_line(&j, f, 0x1008)->file, "a.js");
	CHECK(!coati_jit_line(&j, f, 0xfff));
	f = coati_jit_find(&j, 0x1000, 20, &since);
	CHECK(!coati_jit_line(&j, f, 0x1008));
	coati_jit_fini(&j);
}

TEST(jitdump_with_times_of_a_cycle_counter_has_none)
{
	struct dump d;
	struct jit j;

	dump_start(&d, false, 1);
	put_load(&d, 1u << 30, 0x1000, 1, "f");
	coati_jit_init(&j);
	CHECK_OK(coati_jitdump_parse(&j, d.bytes, d.len, NULL));
	CHECK_STR(name_at(&j, 0x1000, 5), "f");
	coati_jit_fini(&j);
}

TEST(jitdump_cut_anywhere_keeps_what_came_before)
{
	struct dump d;

	whole_dump(&d, false);
	for (size_t n = 0; n < d.len; n++) {
		struct coati_error err;
		uint8_t *exact = coati_alloc(n);
		struct jit j;
		int r;

		memcpy(exact, d.bytes, n);
		coati_jit_init(&j);
		r = coati_jitdump_parse(&j, exact, n, &err);
		if (n < 40)
			CHECK_ERR(r, -EBADMSG);
		else
			CHECK(r == 0 || r == -ENODATA);
		CHECK(r == 0 || err.text[0]);
		coati_jit_fini(&j);
		coati_free(exact);
	}
}

TEST(jitdump_with_any_byte_changed_does_no_harm)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct dump d;

	whole_dump(&d, false);
	for (size_t i = 0; i < d.len; i++) {
		for (size_t k = 0; k < sizeof(values); k++) {
			uint8_t old = d.bytes[i];
			struct jit j;

			d.bytes[i] = values[k];
			coati_jit_init(&j);
			(void)coati_jitdump_parse(&j, d.bytes, d.len, NULL);
			CHECK_U64(j.functions.len, <=, 6); /* as many as records */
			coati_jit_fini(&j);
			d.bytes[i] = old;
		}
	}
}

/* Each is a record that makes no sense in an otherwise good file. */
static void put_bad(struct dump *d, int which)
{
	record_start(d, which < 4 ? 0 : which < 8 ? 1 : 2, 5);
	switch (which) {
	case 0: /* no body */
		break;
	case 1: /* no name */
	case 2: /* a name without an end */
	case 3: /* no size */
		put(d, 0, 8);
		put(d, 0x5000, 8);
		put(d, 0x5000, 8);
		put(d, which == 3 ? 0 : 16, 8);
		put(d, 9, 8);
		if (which == 2)
			put(d, 0x41414141, 4);
		if (which == 3)
			put_text(d, "none");
		break;
	case 4: /* no body */
		break;
	case 5: /* of code that nobody loaded */
		for (int i = 0; i < 6; i++)
			put(d, 0x7777, 8);
		break;
	case 6: /* half a body */
		put(d, 0, 8);
		break;
	case 7: /* to a place that wraps */
		put(d, 0, 8);
		put(d, 0, 8);
		put(d, 0x1000, 8);
		put(d, UINT64_MAX - 3, 8);
		put(d, 16, 8);
		put(d, 1, 8);
		break;
	case 8: /* more lines than there are */
		put(d, 0x1000, 8);
		put(d, UINT64_MAX, 8);
		break;
	case 9: /* a line without the end of its name */
		put(d, 0x1000, 8);
		put(d, 1, 8);
		put(d, 0x1000, 8);
		put(d, 1, 8);
		put(d, 0x41, 1);
		break;
	case 10: /* lines out of order */
		put(d, 0x1000, 8);
		put(d, 2, 8);
		put(d, 0x1008, 8);
		put(d, 1, 8);
		put_text(d, "a");
		put(d, 0x1000, 8);
		put(d, 1, 8);
		put_text(d, "a");
		break;
	default: /* a file that is that of no line before */
		put(d, 0x1000, 8);
		put(d, 1, 8);
		put(d, 0x1000, 8);
		put(d, 1, 8);
		put_text(d, "\xff");
		break;
	}
	record_end(d);
}

TEST(jitdump_records_that_make_no_sense_are_counted)
{
	for (int which = 0; which < 12; which++) {
		struct dump d;
		struct jit j;

		dump_start(&d, false, 0);
		put_load(&d, 1, 0x1000, 1, "before");
		put_bad(&d, which);
		put_load(&d, 9, 0x3000, 3, "after");
		coati_jit_init(&j);
		CHECK_OK(coati_jitdump_parse(&j, d.bytes, d.len, NULL));
		if (!j.stats.malformed)
			test_note("record %d", which);
		CHECK_U64(j.stats.malformed, ==, 1);
		CHECK_STR(name_at(&j, 0x1000, 4), "before");
		CHECK_STR(name_at(&j, 0x3000, 9), "after");
		coati_jit_fini(&j);
	}
}

TEST(jitdump_with_a_bad_header_says_what_is_wrong)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *says;
	} cases[] = {
		{ 0, 0, "does not begin" }, { 4, 0, "version" },	{ 4, 9, "version" },
		{ 8, 39, "claims" },	    { 11, 0xff, "claims" },	{ 44, 15, "record of 15" },
		{ 44, 0, "record of 0" },   { 47, 0x7f, "mid-record" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coati_error err = { 0 };
		struct dump d;
		struct jit j;

		dump_start(&d, false, 0);
		put_load(&d, 1, 0x1000, 1, "f");
		d.bytes[cases[i].at] = cases[i].value;
		coati_jit_init(&j);
		CHECK_INT(coati_jitdump_parse(&j, d.bytes, d.len, &err), <, 0);
		CHECK_HAS(err.text, cases[i].says);
		coati_jit_fini(&j);
	}
}

TEST(jit_readers_say_so_when_memory_ends)
{
	static const char text[] = "1000 10 a\n2000 10 b\n";
	struct dump d;

	whole_dump(&d, false);
	for (uint64_t n = 0;; n++) {
		struct jit j;
		int r;

		coati_jit_init(&j);
		coati_alloc_fail_after(n);
		r = coati_perf_map_parse(&j, text, sizeof(text) - 1);
		r = r < 0 ? r : coati_jitdump_parse(&j, d.bytes, d.len, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		coati_jit_fini(&j);
		if (r == 0)
			break;
		CHECK_ERR(r, -ENOMEM);
		CHECK_U64(n, <, 200);
	}
}

/* ---- files ---- */

/* A process 42 that is 7 in its namespace, with a root folder of its own; owned by @uid. */
static void fake_process(unsigned int uid)
{
	char status[128];

	snprintf(status, sizeof(status), "Name:\tx\nUid:\t%u\t%u\t0\t0\nNSpid:\t42\t7\n", uid, uid);
	CHECK_OK(fake_file("proc/42", "status", status));
	CHECK_OK(fake_file("proc/42", "root/tmp/perf-7.map", "1000 10 inner\n"));
	CHECK_OK(fake_file("here", "tmp/perf-42.map", "1000 10 outer\n"));
	CHECK_OK(fake_file("here", "tmp/perf-43.map", "1000 10 dead\n"));
}

static int read_map(int32_t pid, const char *path, struct jit *j, struct coati_error *err)
{
	struct jit_source from = { .procfs = "proc", .root = "here", .pid = pid, .path = path };

	coati_jit_init(j);
	return coati_perf_map_read(j, &from, err);
}

TEST(perf_map_is_that_of_the_namespace_of_a_living_process)
{
	struct jit j;

	fake_process(geteuid());
	CHECK_OK(read_map(42, NULL, &j, NULL));
	CHECK_STR(name_at(&j, 0x1000, 0), "inner");
	coati_jit_fini(&j);
	CHECK_OK(read_map(43, NULL, &j, NULL));
	CHECK_STR(name_at(&j, 0x1000, 0), "dead");
	coati_jit_fini(&j);
	CHECK_ERR(read_map(44, NULL, &j, NULL), -ENOENT);
	coati_jit_fini(&j);
}

TEST(perf_map_that_is_no_plain_file_is_refused_with_its_reason)
{
	struct coati_error err;
	struct jit j;

	fake_process(geteuid());
	CHECK_OK(unlink("here/tmp/perf-43.map"));
	CHECK_OK(symlink("perf-42.map", "here/tmp/perf-43.map"));
	CHECK_ERR(read_map(43, NULL, &j, &err), -ELOOP);
	CHECK_HAS(err.text, "link");
	coati_jit_fini(&j);
	CHECK_OK(mkfifo("here/tmp/perf-44.map", 0600));
	CHECK_ERR(read_map(44, NULL, &j, &err), -EINVAL);
	CHECK_HAS(err.text, "not a regular file");
	coati_jit_fini(&j);
	CHECK_OK(mkdir("here/tmp/perf-45.map", 0700));
	CHECK_ERR(read_map(45, NULL, &j, &err), -EINVAL);
	coati_jit_fini(&j);
	/* the folder on the way is a link; the emulator has no openat2(), and then it is just no
	 * folder */
	CHECK_OK(symlink("tmp", "here/way"));
	CHECK_ERR(read_map(1, "/way/perf-42.map", &j, &err), test_emulated() ? -ENOTDIR : -ELOOP);
	coati_jit_fini(&j);
	CHECK_INT(read_map(1, "/../proc/42/status", &j, &err), <, 0);
	coati_jit_fini(&j);
}

TEST(perf_map_of_100_gigabytes_is_refused_with_its_reason)
{
	struct coati_error err;
	struct jit j;
	int fd;

	fake_process(geteuid());
	fd = open("here/tmp/perf-43.map", O_WRONLY | O_CLOEXEC);
	CHECK_OK(ftruncate(fd, (off_t)100 << 30));
	close(fd);
	CHECK_ERR(read_map(43, NULL, &j, &err), -EFBIG);
	CHECK_HAS(err.text, "107374182400 bytes");
	coati_jit_fini(&j);
}

TEST(perf_map_of_another_user_is_refused_with_its_reason)
{
	struct coati_error err;
	struct jit j;

	if (geteuid() != 0)
		test_skip_need("root", "only root can give files away");
	fake_process(1234);
	CHECK_OK(read_map(42, NULL, &j, NULL)); /* root's */
	coati_jit_fini(&j);
	CHECK_OK(chown("proc/42/root/tmp/perf-7.map", 1234, 0));
	CHECK_OK(read_map(42, NULL, &j, NULL)); /* the process' own */
	coati_jit_fini(&j);
	CHECK_OK(chown("proc/42/root/tmp/perf-7.map", 999, 0));
	CHECK_ERR(read_map(42, NULL, &j, &err), -EPERM);
	CHECK_HAS(err.text, "user 999");
	coati_jit_fini(&j);
	CHECK_OK(chown("here/tmp/perf-43.map", 999, 0));
	CHECK_ERR(read_map(43, NULL, &j, &err), -EPERM);
	coati_jit_fini(&j);
}

TEST(perf_map_over_many_chunks_loses_no_line)
{
	struct jit j;
	FILE *f;

	fake_process(geteuid());
	f = fopen("here/tmp/perf-43.map", "we");
	for (int i = 0; i < 100000; i++)
		fprintf(f, "%x 10 function_number_%d with blanks\n", 0x1000 + i * 16, i);
	fclose(f);
	CHECK_OK(read_map(43, NULL, &j, NULL));
	CHECK_U64(j.stats.functions, ==, 100000);
	CHECK_U64(j.stats.malformed, ==, 0);
	for (int i = 0; i < 100000; i += 777) {
		char name[64];

		snprintf(name, sizeof(name), "function_number_%d with blanks", i);
		CHECK_STR(name_at(&j, 0x1000 + (uint64_t)i * 16 + 15, 0), name);
	}
	coati_jit_fini(&j);
}

TEST(jitdump_is_read_from_a_file_as_from_memory)
{
	struct jit_source from = {
		.procfs = "proc", .root = "here", .pid = 9, .path = "/d/jit-9.dump"
	};
	struct coati_error err;
	struct dump d;
	struct jit j;
	FILE *f;

	fake_process(geteuid());
	CHECK_OK(fake_file("here", "d/x", ""));
	whole_dump(&d, false);
	f = fopen("here/d/jit-9.dump", "we");
	fwrite(d.bytes, 1, d.len, f);
	fclose(f);
	coati_jit_init(&j);
	CHECK_OK(coati_jitdump_read(&j, &from, NULL));
	CHECK_STR(name_at(&j, 0x2000, 31), "second");
	coati_jit_fini(&j);
	CHECK_OK(truncate("here/d/jit-9.dump", 100));
	coati_jit_init(&j);
	CHECK_ERR(coati_jitdump_read(&j, &from, &err), -ENODATA);
	CHECK_HAS(err.text, "/d/jit-9.dump of process 9: ");
	coati_jit_fini(&j);
}

/* ---- images ---- */

static struct coati_name resolve(struct coati_images *images, uint32_t image, uint64_t addr,
				 uint64_t time)
{
	struct coati_address a = { .image = image, .vaddr = addr, .time = time };

	CHECK_OK(coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES, NULL));
	CHECK_U64(a.nr_names, ==, 1);
	return a.names[0];
}

static struct coati_images *images_here(uint32_t flags)
{
	struct coati_images_opts o = { .size = sizeof(o),
				       .flags = flags | COATI_IMAGES_NO_CACHE,
				       .procfs = "proc",
				       .root = "here" };
	struct coati_images *images = NULL;

	CHECK_OK(coati_images_new(&o, &images, NULL));
	return images;
}

static uint32_t jit_image(struct coati_images *images, int32_t pid)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .pid = pid };
	uint32_t image;

	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	return image;
}

TEST(jit_image_names_an_address_by_its_time)
{
	struct coati_images *images = images_here(0);
	uint32_t image = jit_image(images, 9);
	const struct coati_name *name, *again;
	uint64_t since;
	struct dump d;
	FILE *f;

	CHECK_OK(fake_file("here", "d/x", ""));
	whole_dump(&d, false);
	f = fopen("here/d/jit-9.dump", "we");
	fwrite(d.bytes, 1, d.len, f);
	fclose(f);
	CHECK_OK(coati_image_load_jitdump(images, image, 9, "/d/jit-9.dump", NULL));
	CHECK_STR(resolve(images, image, 0x1008, 10).function, "first");
	CHECK_STR(resolve(images, image, 0x1008, 10).file, "a.js");
	CHECK_U64(resolve(images, image, 0x1008, 10).line, ==, 12);
	CHECK_STR(resolve(images, image, 0x1008, 20).function, "second");
	CHECK_STR(resolve(images, image, 0x1008, 10).function, "first");
	/* it is made once, however often it is asked for */
	CHECK_OK(
		coati_image_jit_function(coati_image_at(images, image), 0x1008, 20, &name, &since));
	CHECK_OK(coati_image_jit_function(coati_image_at(images, image), 0x1008, 20, &again,
					  &since));
	CHECK(name && name == again);
	CHECK(resolve(images, image, 0x1008, 35).flags & COATI_NAME_SYNTHETIC);
	CHECK(resolve(images, image, 0x1008, 5).flags & COATI_NAME_SYNTHETIC);
	coati_images_free(&images);
}

TEST(jit_image_reads_a_map_that_has_grown_again)
{
	struct coati_images *images = images_here(0);
	uint32_t image = jit_image(images, 43);

	fake_process(geteuid());
	CHECK_OK(coati_image_load_perf_map(images, image, 43, NULL, NULL));
	CHECK_STR(resolve(images, image, 0x1000, 0).function, "dead");
	CHECK_OK(fake_file("here", "tmp/perf-43.map", "1000 10 dead\n1000 10 \x1b[31mred\n"));
	CHECK_OK(coati_image_load_perf_map(images, image, 43, NULL, NULL));
	CHECK_STR(resolve(images, image, 0x1000, 0).function, "?[31mred");
	coati_images_free(&images);
}

TEST(jit_image_says_why_it_has_no_names)
{
	struct coati_images *images = images_here(0);
	uint32_t image = jit_image(images, 43);
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_error err;

	fake_process(geteuid());
	CHECK_OK(unlink("here/tmp/perf-43.map"));
	CHECK_OK(symlink("perf-42.map", "here/tmp/perf-43.map"));
	CHECK_ERR(coati_image_load_perf_map(images, image, 43, NULL, &err), -ELOOP);
	CHECK_OK(coati_image_info(images, image, &info));
	CHECK_HAS(info.why, "is a symlink");
	CHECK_ERR(coati_image_load_perf_map(images, 99, 43, NULL, &err), -EINVAL);
	CHECK_ERR(coati_image_load_jitdump(images, image, 43, NULL, &err), -EINVAL);
	CHECK_ERR(coati_image_add_symbol(images, 99, &(struct image_symbol){ 1, 1, "x", 0 }),
		  -EINVAL);
	coati_images_free(&images);
	images = images_here(COATI_IMAGES_NO_LOCAL);
	image = jit_image(images, 42);
	CHECK_ERR(coati_image_load_perf_map(images, image, 42, NULL, &err), -ENOENT);
	coati_images_free(&images);
}
